//! Packet queues: limits, drops, and order of service.
//!
//! A [`Discipline`] holds items, which report their properties ([`Item`]). It has neither a clock
//! nor a link: the host passes the time, and takes an item whenever it can send one. Any call may
//! drop any item in the queue; [`Discipline::dropped`] returns the dropped items. [`Spec`] is a
//! discipline with its parameters, and [`ALL`] the list of disciplines.//!
//! `cargo run -p fairwave-queue --example by_hand` feeds schedulers by hand.
//!
//! ```
//! use fairwave_queue::ALL;
//!
//! assert!(ALL.iter().any(|discipline| discipline.name == "fq-codel"));
//! ```

mod ack_filter;
mod ack_split;
mod airtime_drr;
mod cake;
mod chain;
mod cif_q;
mod codel;
mod csdps;
mod discipline;
mod drop_tail;
mod drr;
mod fair;
mod fifo;
mod flows;
mod fq_codel;
mod heap;
mod hfsc;
mod hosts;
mod item;
mod iwfq;
mod lifetime;
mod limit;
mod own;
mod pie;
mod queue;
mod red;
mod ring;
mod scheduled;
mod service;
mod slab;
mod socps;
mod spec;
mod switching;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod waiting;
mod weight;
mod wf2q;
mod wfq;
mod window_clamp;

pub use ack_filter::AckFilter;
pub use ack_split::AckSplit;
pub use airtime_drr::{AirtimeConfig, AirtimeDrr, Mac80211Config, QueueLimits};
pub use cake::{Cake, CakeConfig, Isolation};
pub use cif_q::CifQConfig;
pub use codel::CodelConfig;
pub use discipline::{Discipline, Goes};
pub use drop_tail::DropTail;
pub use drr::DrrConfig;
pub use fair::FairConfig;
pub use fq_codel::FqCodel;
pub use hfsc::{HfscConfig, ServiceCurve};
pub use hosts::HostConfig;
pub use item::{FlowKey, Item, Segment};
pub use iwfq::IwfqConfig;
pub use lifetime::Lifetime;
pub use limit::Limit;
pub use own::{Backlog, MakeScheduler, OwnConfig, Scheduler};
pub use pie::{Pie, PieConfig};
pub use queue::Queue;
pub use red::{Red, RedConfig};
pub use ring::{Ring, RingConfig};
pub use service::Service;
pub use socps::SocpsConfig;
pub use spec::{ALL, Kind, Spec};
pub use switching::SwitchingConfig;
pub use weight::Weight;
pub use wf2q::wf2q_plus;
pub use wfq::WfqConfig;
pub use window_clamp::WindowClamp;
