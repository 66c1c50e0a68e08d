//! The Strength of Connection (SoC) of Aida, Tobe and Tokuda (2003): the quality of a station's
//! channel over some hundred milliseconds, reported to its access point, and turned into the weight
//! with which the access point serves it.
//!
//! ```text
//! SNR samples -> filter -> Reporter  ~~ frame or piggyback ~~>  Table -> policy -> weight -> queue
//!                 (station)                                  (access point)
//! ```
//!
//! [`Reporter`] and [`Table`] are sans-IO machines: the one takes samples and data frames about to
//! leave, and gives reports; the other takes received frames, and gives a [`Weight`] whenever one
//! changes. The scheduler is not known here. [`AccessPoint`] is the loop around the table for a
//! real access point: it adds the access point's own view of stations, and asks for changes only
//! where they are worth their cost.
//!
//! Reports are sealed ([`fairwave_wire::soc`]), since the weights of others are at stake: the table
//! counts refused ones by [`Refusal`], and no frame of a stranger changes the weight of a
//! registered station. Open points of the paper, and their reading here, are in
//! `docs/models/soc.md`.
//!
//! The estimate of a filter, from samples of one interval:
//!
//! ```
//! use fairwave_soc::{Filter, FilterSpec};
//! use fairwave_units::{Db, Instant};
//!
//! let mut filter = FilterSpec::Median.build();
//! for level in [20.0, 21.0, 3.0] {
//!     filter.sample(Instant::ZERO, Db(level));
//! }
//! assert_eq!(filter.close(Instant::ZERO), Some(Db(20.0)), "a fade does not move the median");
//! ```

mod access_point;
mod contact;
mod evaluate;
mod filter;
pub mod pairing;
mod policy;
mod reporter;
mod stations;
mod table;

pub use access_point::{
    AccessPoint, Action, ApConfig, ApCounters, ApInput, Decision, KEY_LEN, NOISE, Reach, Routed,
    Source, StationStatus, StationView, WeightReason, station_secret,
};
pub use contact::Contact;
pub use evaluate::{Evaluation, Point, compare, evaluate};
pub use filter::{ALL as FILTERS, Filter, FilterKind, FilterSpec};
pub use policy::{
    ALL as POLICIES, AllZero, Class, Curve, CurveError, CurvePoint, Policies, PolicyKind, Rule,
    Weight, shares,
};
pub use reporter::{
    Format, INTERVAL_DESIGN, MIN_INTERVAL, Made, Reporter, ReporterConfig, ReporterConfigError,
    ReporterInput, Sent,
};
pub use table::{
    Counters, Decay, Observation, ReceivedFrame, Refusal, Station, Table, TableConfig, TableInput,
    WeightChange,
};
