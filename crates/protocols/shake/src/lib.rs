//! SHAKE: one connection over the wireless links of several hosts, as a sans-IO state machine.
//!
//! After Iida, Ishihara and Mizuno, "Performance Evaluation of the method of connection-type
//! communication on multiple wireless links" (TCP SHAKE). [`Connection`] has one sequence space and
//! one pair of buffers, and for each path a window, a round-trip time and a timer. A [`Scheduler`]
//! chooses the path of new data, a [`Growth`] the growth of windows, a [`RetransmissionPath`] the
//! path of retransmissions. [`Profile`] has the paper's parameters and those of today.
//!
//! It speaks in [`Segment`]s, whose header is the wire's own; [`envelope`] seals and opens their
//! bytes. Path ids are the host's: which socket a path is, is not known here.
//!
//! [`multi`] is its predecessor: a library over one ordinary TCP connection for each path.
//!
//! `fairwave-shake-host` runs it on sockets: its `Host` has an example with two paths. Algorithms
//! are found by their names:
//!
//! ```
//! use fairwave_shake::SCHEDULERS;
//!
//! assert!(SCHEDULERS.iter().any(|scheduler| scheduler.name == "least-rtt"));
//! ```

mod chosen;
mod config;
mod connection;
pub mod envelope;
mod growth;
mod marks;
pub mod multi;
mod path;
mod receiver;
mod registry;
mod rtt;
mod scheduler;
mod scoreboard;

pub use chosen::ChosenScheduler;
pub use config::{Config, LossDetection, Profile, Rules, TimeoutRule};
pub use connection::{Connection, Event, Input, PathReport, Segment, Stats};
pub use fairwave_wire::shake::record::Priority;
pub use growth::{Balia, Growth, Lia, Olia, Uncoupled, Window};
pub use registry::{
    BuildGrowth, BuildScheduler, GROWTHS, Named, RETRANSMISSION_PATHS, SCHEDULERS, growth,
    scheduler,
};
pub use scheduler::{
    Blest, Ecf, Job, MinRtt, PathView, Redundant, RetransmissionPath, RoundRobin, Scheduler, Widest,
};
