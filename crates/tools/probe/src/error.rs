//! What can go wrong with a measurement, in words for people.

use fairwave_probe::Failure;
use fairwave_wire::probe::Refusal;
use std::io;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Reason for which a measurement or a server ended.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel gives no socket, or none to that address.
    #[error("cannot open a UDP socket for {address}: {cause}")]
    Socket {
        /// The address.
        address: SocketAddr,
        /// What the kernel says.
        cause: io::Error,
    },
    /// The socket does not work any more.
    #[error("the UDP socket failed: {0}")]
    Io(#[from] io::Error),
    /// Nothing comes back.
    #[error(
        "no answer from {server}{}: is `fairwave probe serve` running there, with the same key or \
         pairing code, and does a firewall let UDP port {} pass?",
        cause.map_or_else(String::new, |cause| format!(" ({cause})")), server.port()
    )]
    Silent {
        /// Who does not answer.
        server: SocketAddr,
        /// What the network said.
        cause: Option<io::ErrorKind>,
    },
    /// It answered, and then no more.
    #[error(
        "{server} stopped answering in mid-run{}; what was measured until then is kept",
        cause.map_or_else(String::new, |cause| format!(" ({cause})"))
    )]
    Gone {
        /// Who does not answer any more.
        server: SocketAddr,
        /// What the network said.
        cause: Option<io::ErrorKind>,
    },
    /// This host has another address than when the session began.
    #[error(
        "this host's address towards {server} changed from {before} to {now} in mid-run, and the \
         server keeps to the first; what was measured until then is kept"
    )]
    Moved {
        /// The server.
        server: SocketAddr,
        /// The address that the session began with.
        before: IpAddr,
        /// The address now.
        now: IpAddr,
    },
    /// The server does not want this session.
    #[error("{server} refused: {}", why(*.failure))]
    Refused {
        /// Who refused.
        server: SocketAddr,
        /// How the session ended.
        failure: Failure,
    },
    /// The user broke it off.
    #[error("interrupted; what was measured until then is kept")]
    Stopped,
}

fn why(failure: Failure) -> &'static str {
    match failure {
        Failure::Refused(Refusal::Busy) => {
            "it serves as many sessions as it may; try again when they are over"
        }
        Failure::Refused(Refusal::Cookie) => {
            "the greeting was too old when it came back, or this host's address changed; try again"
        }
        Failure::NothingGranted => "its limits leave nothing to send; raise them there",
        Failure::OutOfTime => "the time that it grants was over; raise --max-time there",
        Failure::OutOfPackets => "the bytes that it grants were used up; raise --max-bytes there",
        Failure::Absurd => "its account of what arrived cannot be so",
        Failure::Silent => "it fell silent",
        Failure::Stopped => "the session was broken off",
    }
}
