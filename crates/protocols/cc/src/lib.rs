//! Congestion control: numbers in, numbers out, integers only.
//!
//! An algorithm ([`Controller`]) has a method for each kind of event of the connection, and returns
//! a window ([`Controller::cwnd`]) and possibly a pacing rate. It never sees a segment, a timer or
//! a clock. Loss *detection* and fast recovery's mechanics belong to `fairwave-tcp`; the effect of
//! a loss on the window belongs here.
//!
//! [`ALL`] is the one list of algorithms: the command line, scenario schema, documentation and
//! golden tables are views of it.
//!
//! A sender calls [`Controller::on_ack`] for each ACK of new data, in recovery too, one method for
//! each kind of loss, and sends while less than [`Controller::cwnd`] is in flight:
//!
//! ```
//! use fairwave_cc::{AckEvent, AckLossOptions, Initial, RtoEvent, TcpAvConfig, build};
//! use fairwave_units::{Duration, Instant};
//!
//! let mut controller = build("cubic", Initial {
//!     mss: 1460,
//!     cwnd: 14_600,
//!     ssthresh: u32::MAX,
//!     byte_counting: true,
//!     slow_start_segments: 1,
//!     av: TcpAvConfig::DEFAULT,
//!     ack_loss: AckLossOptions::DEFAULT,
//! })?;
//! let now = Instant::ZERO + Duration::from_millis(50);
//! controller.on_ack(&AckEvent {
//!     now,
//!     acked: 1460,
//!     una: 1460,
//!     next: 14_600,
//!     flight: 14_600,
//!     flight_after: 13_140,
//!     delivered: 1460,
//!     rtt: Some(Duration::from_millis(50)),
//!     cwnd_limited: true,
//!     ..AckEvent::default()
//! });
//! assert_eq!(controller.cwnd(), 16_060, "slow start");
//! controller.on_rto(&RtoEvent { now, flight: 16_060, backoff: 1, keeps_ssthresh: false });
//! assert_eq!(controller.cwnd(), 1460, "a timeout leaves one segment");
//! # Ok::<(), fairwave_cc::UnknownAlgorithm>(())
//! ```

mod ack_loss;
mod bbr;
mod chosen;
mod compound;
mod controller;
mod cubic;
mod delay;
mod fraction;
mod growth;
mod hystart;
mod newreno;
mod registry;
mod reno;
mod stride;
mod tcp_av;
mod vegas;
mod westwood;

pub use ack_loss::{
    AckLoss, AckLossConfig, AckLossOptions, Decision, Exclusions, Response, Stride,
};
pub use bbr::Bbr;
pub use chosen::{Chosen, Make};
pub use compound::{Compound, CompoundConfig};
pub use controller::{AckEvent, Controller, Initial, LossEvent, RateSample, Recovery, RtoEvent};
pub use cubic::Cubic;
pub use fraction::Fraction;
pub use newreno::NewReno;
pub use registry::{ALL, Algorithm, UnknownAlgorithm, build, names};
pub use reno::Reno;
pub use tcp_av::{TcpAv, TcpAvConfig};
pub use vegas::Vegas;
pub use westwood::Westwood;
