//! How hosts share a network: [`Server`] is the end that all speak with, [`measure`] that of each
//! host. They start together, by the server's clock, and whoever receives counts bytes by interval.
//!
//! Flows are sockets of the kernel, a thread each; nothing of a flow goes through a machine of ours.

mod error;
mod flow;
mod host;
mod link;
mod message;
mod round;
mod serve;
#[cfg(test)]
mod tests;
mod udp;

pub use error::Error;
pub use host::{Measured, Progress, Request, measure};
pub use message::{Ending, Flow, Limits, Protocol, Refusal, Repetition, Station, Terms, Traffic};
pub use serve::{News, ServeConfig, Server};

/// The port of `fairwave fairness serve`, TCP and UDP, unless another is given. Nobody has it from
/// IANA.
pub const PORT: u16 = 17_981;

/// The congestion controls of this host, or that they are not known.
fn laws() -> String {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = std::fs::read_to_string(file).unwrap_or_else(|_| "(not known)".to_owned());
    text.split_whitespace().collect::<Vec<_>>().join(", ")
}
