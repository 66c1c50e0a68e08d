//! Agreement on a key between a station and an access point that have never met.
//!
//! ```text
//! station                      access point
//!    Hello: hash of S, n  -------->
//!    <-------------- Offer: A, hash of m
//!    Reveal: S, n  --------------->
//!    <---------------------- Opened: m     both show a code of six digits
//!    <----------------- Grant: the station's key   (once a person has compared the codes)
//!    Done  ----------------------->
//! ```
//!
//! S and A are X25519 public keys that are made for this pairing alone (RFC 7748), n and m are
//! random nonces, and the code follows from all four and the secret. An eavesdropper
//! learns nothing. A man in the middle has another secret with each end, and the codes differ but
//! for one time in a million. He cannot choose keys or nonces until the codes are the same: he
//! commits himself to his own towards each end before he can know that end's code.
//! Towards the station that is since his hash of m comes before S; towards the access point since
//! m comes after S, and to one station alone. (Bluetooth's numeric comparison has the same two
//! nonces, Core Specification volume 2, part H, section 7.2.1.) Where nobody compares codes, the
//! first to come is trusted.

mod ends;
mod shared;

pub use ends::{Ended, Joiner, JoinerEvent, Registrar, RegistrarEvent, RegistrarInput};
pub use shared::Code;

#[cfg(test)]
mod tests;
