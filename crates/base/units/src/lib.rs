//! Values with units. The ground floor of Fairwave: everything here is plain data.
//!
//! A quantity carries its unit in its type ([`Instant`], [`Duration`], [`Bytes`], [`BitRate`],
//! [`Db`], [`Dbm`], [`Hertz`], [`Metres`]) and is written and parsed with it (`"100 ms"`,
//! `"54 Mbps"`, `"64 KiB"`). Prefixes are decimal; the binary ones are spelt `Ki`, `Mi`, `Gi`.
//!
//! [`stats`] is the one place where a confidence interval is computed.
//!
//! [`math`] is the only door to `exp`, `ln` and their kind, and [`Seed`] the only source of
//! randomness, so that the same scenario and seed give the same bytes on any machine.

mod count;
pub mod math;
mod parse;
mod quantity;
mod random;
mod seq;
pub mod stats;
mod time;

pub use count::several;
pub use parse::ParseQuantityError;
pub use quantity::{BitRate, Bytes, Db, Dbm, Hertz, Metres};
pub use random::{Seed, Stream};
pub use seq::Seq32;
pub use time::{Duration, Instant};
