//! Messages of the cluster, hosts near each other that lend their uplinks: Fairwave's own format
//! (`docs/models/cluster.md` has it byte by byte).
//!
//! The system is of Mineno et al. (1999) and of Iida, Ishihara and Mizuno (TCP SHAKE, section 1),
//! which give no format. A message is a head of 40 bytes, a body by kind and a [seal](crate::seal).
//! Messages to all stations, and messages that open a session, are sealed with the key of the
//! cluster; the others with the key of a session between a borrower and a lender, which both have
//! proven to have. The sender, the receiver and the number are under the seal, so a message cannot
//! be reflected to its sender or redirected to another station.
//!
//! Announcements and queries have one length, and a greeting has that of its answer, so that a
//! sender with a forged address cannot cause more traffic than it sends.

mod codec;
mod message;
mod offers;
#[cfg(test)]
mod tests;

pub use crate::message::Error;
pub use codec::parse;
pub use message::{
    ANNOUNCE_LEN, Announce, Body, COOKIE_LEN, Claim, Cookie, Denial, Grant, HEAD_LEN, HELLO_LEN,
    LeaseRequest, MAGIC, Meeting, MemberId, Message, Refusal, Revocation, Role, VERSION,
    cluster_id,
};
pub use offers::{Cost, Kind, MAX_OFFERS, Name, NameError, Offer, Offers, Rates};
