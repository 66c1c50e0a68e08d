//! The two ends of a flow and the application behind each.

mod backlog;
mod carried;
mod delivery;
mod description;
mod ends;
mod feed;
mod ports;
mod reception;
pub(crate) mod screen;
mod state;
mod transport;
pub(crate) mod transports;

pub(crate) use description::Description;
pub(crate) use ends::End;
pub(crate) use ports::ports;
pub(crate) use state::FlowState;
pub(crate) use transport::Notice;
pub(crate) use transports::{check_law, law};
