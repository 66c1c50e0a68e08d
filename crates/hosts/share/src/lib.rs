//! Uplinks lent to hosts near by: the lender's relay, the borrower's link, and how they find each
//! other.
//!
//! [`Lender`] lends an interface of this host, and [`Link`] gives a SHAKE host a path over a
//! lender. Both run on tokio, over UDP sockets of the kernel. A session between them is a handshake
//! of Noise ([`fairwave_shake_host::noise`]) and sealed records with the frames of
//! [`fairwave_wire::cluster`]. [`discovery`] is DNS-SD over multicast DNS, by the library mdns-sd.
//!
//! The crate has no rules of lending: those of rates, bytes a day and permitted servers are in
//! `fairwave_cluster`. It carries datagrams to one server for each lease and is no general tunnel.
//! The SHAKE session has its own seal, so that a lender cannot read its datagrams.
//!
//! # The driver's contract
//!
//! [`Relay`] and [`Loan`] are the two ends of a session as machines, which know no socket and no
//! clock. Their owner hands over each datagram as an input with the present time, which never
//! decreases. After an input it takes outputs and events until there are none, and it wakes the
//! machine at its deadline. The owner of a relay also opens a socket at
//! [`machine::RelayOutput::Open`] and reports the result, closes it at
//! [`machine::RelayOutput::Shut`], and reports days, networks and the interface when they change.
//!
//! [`Lender`] owns a relay and its sockets; it works while [`Lender::poll_events`] is polled.
//! [`Link`] owns a loan in a task of its own until [`Link::close`].
//!
//! ```
//! use fairwave_cluster::{Limits, Reach};
//! use fairwave_shake_host::noise::Protocol;
//! use fairwave_shake_host::{Config, Host, Psk, Udp};
//! use fairwave_share_host::{At, Lender, LenderConfig, Link, State};
//! use fairwave_units::Duration;
//! use fairwave_wire::seal::Key;
//! use std::future::poll_fn;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let key = Key::new(b"a secret of lender and borrower")?;
//! let psk = Psk::new(&key, Protocol::Share);
//! let socket = Udp::bind("127.0.0.1:0".parse()?)?;
//! let at = socket.address()?;
//! // Loopback stands for the uplink here. Private addresses have to be allowed.
//! let reach = Reach { allow: vec!["127.0.0.0/8".parse()?], own: Vec::new() };
//! let via = "lo".to_owned();
//! let config = LenderConfig { psk: psk.clone(), limits: Limits::default(), reach, via, socket };
//! let mut lender = Lender::new(config)?;
//! tokio::spawn(async move {
//!     loop {
//!         poll_fn(|cx| lender.poll_events(cx)).await;
//!     }
//! });
//!
//! // A SHAKE session whose only path is the borrowed one.
//! let config = Config::new(Psk::of(&Key::new(b"a secret of client and server")?));
//! let server = Host::server(config.clone(), Udp::bind("127.0.0.1:0".parse()?)?)?;
//! let link = Link::new(psk, At::Address(at), server.address().expect("a server's"))?;
//! link.settled().await;
//! assert!(matches!(link.state(), State::Granted(_)));
//!
//! let client = Host::client(config)?;
//! let (socket, peer) = link.attach()?;
//! client.path_up(0, socket, peer);
//! let session = client.connect(Duration::from_secs(5)).await?;
//! assert_eq!(session.paths().len(), 1);
//! client.close().await;
//! link.close().await;
//! # Ok(())
//! # })
//! # }
//! ```
#![cfg(target_os = "linux")]

pub mod discovery;
mod lender;
mod link;
mod loan;
mod port;
mod relay;
mod sealed;

pub use lender::{Lender, LenderConfig};
pub use link::{At, Link, State};
pub use loan::Loan;
pub use relay::{Refused, Relay};

/// Inputs, outputs and events of the two machines.
pub mod machine {
    pub use crate::loan::{Event as LoanEvent, Input as LoanInput, Output as LoanOutput};
    pub use crate::relay::{Event as RelayEvent, Input as RelayInput, Output as RelayOutput};
}

/// Default port of a lender, which IANA has not assigned.
pub const PORT: u16 = 17_996;

/// Maximum length of a lender's name in bytes: with `fairwave-` it is a label of DNS (RFC 1035
/// section 2.3.4).
pub const MAX_NAME: usize = 54;
