//! How a station gets its key from an access point that it has never met.
//!
//! ```text
//! station                      access point
//!    Hello: hash of S  ----------->
//!    <----------------- Offer: A
//!    Reveal: S  ------------------>     both show a code of six digits
//!    <----------------- Grant: the station's key   (once somebody has compared the codes)
//!    Done  ----------------------->
//! ```
//!
//! S and A are X25519 public keys that are made for this pairing alone (RFC 7748). Whoever listens
//! learns nothing; whoever stands in between has another key with each end, and the codes differ
//! but for one time in a million. He cannot try more: the station commits itself to S before it
//! sees A, and the access point pairs with one station, once. Where nobody compares codes, the
//! first to come is trusted.

mod ends;
mod shared;

pub use ends::{Ended, Joiner, JoinerEvent, Registrar, RegistrarEvent, RegistrarInput};
pub use shared::Code;

#[cfg(test)]
mod tests;
