//! Scenario files: TOML in, [`Scenario`] out, and [`Diagnostics`] where that cannot be.
//!
//! A key acts or is an error; a quantity has a written unit; an omitted key has a documented
//! default, which [`Scenario::to_toml`] writes out. The fields of [`Scenario`] are the keys.
//!
//! ```toml
//! # Do sixteen uploads through one access point share it fairly?
//! duration = "120 s"
//! cell.standard = "802.11a"
//!
//! [[node]]
//! name = "ap"
//! kind = "access-point"
//!
//! [[node]]
//! name = "sta"
//! kind = "station"
//! count = 16
//!
//! [[node]]
//! name = "server"
//! kind = "host"
//!
//! [[link]]
//! ends = ["ap", "server"]
//! delay = "100 ms"
//!
//! [[flow]]
//! name = "up"
//! from = "sta*"
//! to = "server"
//!
//! [sweep]
//! "node.sta.count" = [2, 4, 8, 16]
//! seeds = 10
//! ```
//!
//! Beside the fields of [`Scenario`] a file may have a table `[tcp]` of defaults for every TCP
//! flow, and a table `[sweep]`, which [`crate::plan::Plan`] reads.

mod air;
mod aqm;
mod av;
mod carrier;
mod cell;
mod check;
mod dccp;
mod deep;
mod described;
mod diagnostic;
mod edca;
mod emissions;
mod emulate;
mod errors;
mod expand;
mod file;
mod flow;
mod flow_context;
mod frequency;
mod inert;
mod keys;
mod kinds;
mod limits;
mod link;
mod lints;
pub mod list;
mod mac;
mod medium;
mod model;
mod multi;
mod nearest;
mod node;
mod own;
pub(crate) mod path;
mod path_list;
mod phases;
mod phy;
mod ping;
pub mod plan;
mod probe;
mod proxy;
mod queue;
mod reader;
mod real;
mod record;
mod reference;
mod reference_page;
mod renamed;
pub mod report;
mod rtc;
mod schema;
mod sections;
mod service;
mod shake;
mod soc;
mod stacks;
mod steering;
mod tcp;
mod tcp_options;
mod transport;
mod udp;
pub(crate) mod value;
mod variants;
mod video;
mod web;
mod words;
mod world;

pub use air::{BySignal, Fading, Handover, Roaming, Shadowing, SnrTrace, WayPoint};
pub use av::Av;
pub use cell::Cell;
pub use dccp::{Dccp, Remedy};
pub use deep::MAX_NESTED;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use emulate::{Away, Emulate, Program};
pub use errors::Errors;
pub use flow::Flow;
pub use link::{Change, Link, Loss};
pub use model::Scenario;
pub use multi::{MultiTcp, WeightedPath};
pub use node::{AccessPoint, Host, Kind, Node, Radio, Station};
pub use own::{Failure, NameError, OwnAlgorithms};
pub use ping::Ping;
pub use probe::Probe;
pub use proxy::Proxy;
pub use queue::Queue;
pub use real::Started;
pub use record::Record;
pub use reference::{KeyHelp, TableHelp, explain, keys, tables};
pub use reference_page::reference;
pub use schema::schema;
pub use service::{Promise, Service};
pub use shake::{Shake, SharedPath};
pub use soc::{ByCategory, LinkMonitor, Policy, Soc};
pub use steering::Steering;
pub use tcp::Tcp;
pub use transport::Transport;
pub use udp::{Traffic, Udp};
pub use web::{Objects, Size, Web};
