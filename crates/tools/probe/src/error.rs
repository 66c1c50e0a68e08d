//! Errors of a measurement, in words for people.

use fairwave_probe::Failure;
use fairwave_wire::probe::Refusal;
use std::io;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Reason for which a measurement or a server ended.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel refused a socket, or one to that address.
    #[error("cannot open a UDP socket for {address}: {cause}")]
    Socket {
        /// The address.
        address: SocketAddr,
        /// Error from the kernel.
        cause: io::Error,
    },
    /// The socket has failed.
    #[error("the UDP socket failed: {0}")]
    Io(#[from] io::Error),
    /// The server does not answer.
    #[error(
        "no answer from {server}{}: is `fairwave probe serve` running there, with the same key or \
         pairing code, and does a firewall let UDP port {} pass?",
        cause.map_or_else(String::new, |cause| format!(" ({cause})")), server.port()
    )]
    Silent {
        /// The server.
        server: SocketAddr,
        /// Error from the network.
        cause: Option<io::ErrorKind>,
    },
    /// The server answered at first, and then no more.
    #[error(
        "{server} stopped answering during the run{}; measurements until then are kept",
        cause.map_or_else(String::new, |cause| format!(" ({cause})"))
    )]
    Gone {
        /// The server.
        server: SocketAddr,
        /// Error from the network.
        cause: Option<io::ErrorKind>,
    },
    /// This host's address has changed since the session began.
    #[error(
        "this host's address towards {server} changed from {before} to {now} during the run, and \
         the server keeps to the first; measurements until then are kept"
    )]
    Moved {
        /// The server.
        server: SocketAddr,
        /// The address that the session began with.
        before: IpAddr,
        /// The address now.
        now: IpAddr,
    },
    /// The path does not carry packets of the requested length.
    #[error(
        "no packet of {bytes} bytes came back from {server}: the path's MTU is lower. Without \
         --packet-size the longest that it carries are used"
    )]
    TooLong {
        /// The server.
        server: SocketAddr,
        /// Length of the IP packets.
        bytes: u64,
    },
    /// The server refused this session.
    #[error("{server} refused: {}", why(*.failure))]
    Refused {
        /// The server.
        server: SocketAddr,
        /// Ending of the session.
        failure: Failure,
    },
    /// The user interrupted the measurement.
    #[error("interrupted; measurements until then are kept")]
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
        Failure::Absurd => "its report of received packets is inconsistent",
        Failure::Silent => "it fell silent",
        Failure::Stopped => "the session was ended",
    }
}
