//! Uplinks lent to hosts near by: the lender's relay, the borrower's link, and how they find each
//! other.
//!
//! [`Relay`] and [`Loan`] are the two ends of a session as machines, which know no socket and no
//! clock; [`Lender`] and [`Link`] run them on tokio. A session is a handshake of Noise
//! ([`fairwave_shake_host::noise`]) and sealed records with the frames of
//! [`fairwave_wire::cluster`]. [`discovery`] is DNS-SD over multicast DNS, by the library mdns-sd.
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
