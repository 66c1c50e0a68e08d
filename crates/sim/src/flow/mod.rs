//! The two ends of a flow and the application behind each.

mod backlog;
mod build;
mod carried;
mod contents;
mod datagrams;
mod dccp;
mod delivery;
mod ends;
mod feed;
mod multi;
mod ports;
mod probe;
mod reception;
mod rtc;
mod screen;
mod shake;
mod state;
mod tcp;
mod transport;
mod web;

pub(crate) use ends::End;
pub(crate) use multi::check as check_multi;
pub(crate) use ports::ports;
pub(crate) use state::FlowState;
pub(crate) use tcp::{check_law, law};
pub(crate) use transport::Notice;
