//! What can go wrong with a run, in words for people.

use super::message::{Refusal, Terms};
use fairwave_units::Duration;
use std::io;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Reason for which a run or a server ended.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel gives no socket at that address.
    #[error("cannot listen at {address}, TCP and UDP: {cause}")]
    Socket {
        /// The address.
        address: SocketAddr,
        /// What the kernel says.
        cause: io::Error,
    },
    /// A socket does not work any more.
    #[error("a socket failed: {0}")]
    Io(#[from] io::Error),
    /// Nobody answers.
    #[error(
        "no connection to {server} ({cause}): is `fairwave fairness serve` running there, and does \
         a firewall let TCP port {} pass?", server.port()
    )]
    Silent {
        /// Who does not answer.
        server: SocketAddr,
        /// What the network said.
        cause: io::Error,
    },
    /// The server has another key.
    #[error(
        "{server} does not prove that it has our key: give both ends the same --key or --pairing"
    )]
    Key {
        /// Who answered.
        server: SocketAddr,
    },
    /// The server is not there any more.
    #[error("{server} ended the connection or fell silent; what was measured until then is kept")]
    Gone {
        /// Who is gone.
        server: SocketAddr,
    },
    /// This host has another address than when the run began.
    #[error(
        "this host's address towards {server} changed from {before} to {now} in mid-run, and its \
         connections went with the first; what was measured until then is kept"
    )]
    Moved {
        /// The server.
        server: SocketAddr,
        /// The address that the run began with.
        before: IpAddr,
        /// The address now.
        now: IpAddr,
    },
    /// The server does not want this host.
    #[error("{server} refused: {}", why(refusal))]
    Refused {
        /// Who refused.
        server: SocketAddr,
        /// Why.
        refusal: Refusal,
    },
    /// This host's kernel does not give the congestion control to this user.
    #[error("no congestion control {law:?} for this user on this host; there are {available}")]
    Law {
        /// What was asked for.
        law: String,
        /// What this user may choose.
        available: String,
    },
    /// A flow cannot be opened.
    #[error("cannot open a flow to {server}: {cause}{}", firewall(cause, *server))]
    Flow {
        /// Where to.
        server: SocketAddr,
        /// What the network said.
        cause: io::Error,
    },
    /// The user broke it off.
    #[error("interrupted; what was measured until then is kept")]
    Stopped,
}

/// Datagrams that are not answered.
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
        Refusal::Law(law) => format!("it cannot send with the congestion control {law}"),
        Refusal::Time(most) => format!(
            "all repetitions together may last {} there; take less, or raise --max-time there",
            Duration::from_nanos(*most)
        ),
        Refusal::Fault(fault) => fault.clone(),
    }
}
