//! The cluster of SHAKE: hosts near each other form a local network and lend each other their
//! uplinks. These are the rules of a lender.
//!
//! The idea is of Mineno et al. (1999) and of Iida, Ishihara and Mizuno (TCP SHAKE, section 1); the
//! rules are Fairwave's (`docs/models/cluster.md`). [`Ledger`] gives leases, each for datagrams to
//! one server, and accounts for every packet: the total rate, equal shares of it, bytes a day and
//! times. [`Reach`] decides which servers a borrower may name. Neither knows a socket, a clock or a
//! key: `fairwave-share-host` exchanges the messages and seals them.

mod bucket;
mod ledger;
mod reach;

pub use ledger::{Excess, LeaseId, Ledger, Lent, Limits, Way};
pub use reach::Reach;
