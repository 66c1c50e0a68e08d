//! Errors of a run, in words for people.

use super::message::{Refusal, Terms};
use fairwave_units::Duration;
use std::io;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Reason for which a run or a server ended.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel refused a socket at that address.
    #[error("cannot listen at {address}, TCP and UDP: {cause}")]
    Socket {
        /// The address.
        address: SocketAddr,
        /// Error from the kernel.
        cause: io::Error,
    },
    /// A socket has failed.
    #[error("a socket failed: {0}")]
    Io(#[from] io::Error),
    /// The server does not answer.
    #[error(
        "no connection to {server} ({cause}): is `fairwave fairness serve` running there, and does \
         a firewall let TCP port {} pass?", server.port()
    )]
    Silent {
        /// The server.
        server: SocketAddr,
        /// Error from the network.
        cause: io::Error,
    },
    /// The server has another key.
    #[error(
        "{server} does not prove that it has our key: give both ends the same --key or --pairing"
    )]
    Key {
        /// The server.
        server: SocketAddr,
    },
    /// The server has ended the connection, or has fallen silent.
    #[error("{server} ended the connection or fell silent; measurements until then are kept")]
    Gone {
        /// The server.
        server: SocketAddr,
    },
    /// This host's address has changed since the run began.
    #[error(
        "this host's address towards {server} changed from {before} to {now} during the run, and \
         its connections went with the first; measurements until then are kept"
    )]
    Moved {
        /// The server.
        server: SocketAddr,
        /// The address that the run began with.
        before: IpAddr,
        /// The address now.
        now: IpAddr,
    },
    /// The server refused this host.
    #[error("{server} refused: {}", why(refusal))]
    Refused {
        /// The server.
        server: SocketAddr,
        /// Reason.
        refusal: Refusal,
    },
    /// This host's kernel does not offer the congestion control algorithm to this user.
    #[error(
        "no congestion control {algorithm:?} for this user on this host; there are {available}"
    )]
    Algorithm {
        /// Requested algorithm.
        algorithm: String,
        /// Algorithms available to this user.
        available: String,
    },
    /// A flow could not be opened.
    #[error("cannot open a flow to {server}: {cause}{}", firewall(cause, *server))]
    Flow {
        /// The server.
        server: SocketAddr,
        /// Error from the network.
        cause: io::Error,
    },
    /// The user interrupted the run.
    #[error("interrupted; measurements until then are kept")]
    Stopped,
}

/// Advice if datagrams are not answered.
fn firewall(cause: &io::Error, server: SocketAddr) -> String {
    match cause.kind() {
        io::ErrorKind::TimedOut => format!("; does a firewall let port {} pass?", server.port()),
        _ => String::new(),
    }
}

fn why(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Busy => "a run is under way; try again when it is over".to_owned(),
        Refusal::Terms(Terms { hosts, duration_ns, interval_ns, repetitions }) => {
            let [duration, interval] = [*duration_ns, *interval_ns].map(Duration::from_nanos);
            format!(
                "the host that came first has chosen --hosts {hosts} --time '{duration}' \
                 --interval '{interval}' --repetitions {repetitions}; choose the same"
            )
        }
        Refusal::Name => "another host has this name; give --name".to_owned(),
        Refusal::Law(algorithm) => {
            format!("it cannot send with the congestion control {algorithm}")
        }
        Refusal::Time(max) => format!(
            "all repetitions together may last {} there; take less, or raise --max-time there",
            Duration::from_nanos(*max)
        ),
        Refusal::Fault(fault) => fault.clone(),
    }
}
