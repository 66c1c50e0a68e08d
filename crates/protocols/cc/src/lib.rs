//! Congestion control: numbers in, numbers out, integers only.
//!
//! An algorithm ([`Controller`]) has a method for each kind of event of the connection, and returns
//! a window ([`Controller::cwnd`]) and possibly a pacing rate. It never sees a segment, a timer or
//! a clock. Loss *detection* and fast recovery's mechanics belong to `fairwave-tcp`; the effect of
//! a loss on the window belongs here.
//!
//! [`ALL`] is the one list of algorithms: the command line, scenario schema, documentation and
//! golden tables are views of it.

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
