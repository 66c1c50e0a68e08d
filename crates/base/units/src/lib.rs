//! Values with units. The ground floor of Fairwave: everything here is plain data.
//!
//! A quantity carries its unit in its type ([`Instant`], [`Duration`], [`Bytes`], [`BitRate`],
//! [`Db`], [`Dbm`], [`Hertz`], [`Metres`]) and is written and parsed with it (`"100 ms"`,
//! `"54 Mbps"`, `"64 KiB"`). Prefixes are decimal; the binary ones are spelt `Ki`, `Mi`, `Gi`.
//!
//! [`stats`] is the one place where a confidence interval is computed.
//!
//! [`math`] is the only door to `exp`, `ln` and their kind, and [`Seed`] the only source of
//! randomness, so that the same scenario and seed give the same bytes on any machine. Nothing here
//! reads a clock: whoever drives a machine passes the [`Instant`].
//!
//! ```
//! use fairwave_units::{BitRate, Duration, Instant, Seed};
//!
//! let rate: BitRate = "54 Mbps".parse()?;
//! let sent = Instant::ZERO + rate.time_for(1500);
//! assert_eq!(sent.since(Instant::ZERO), Duration::from_nanos(222_223));
//! assert_eq!(Duration::from_millis(100).to_string().parse(), Ok(Duration::from_millis(100)));
//!
//! // A stream of random numbers depends on the seed and its name alone.
//! let [mut one, mut same, mut other] =
//!     ["backoff/sta1", "backoff/sta1", "backoff/sta2"].map(|name| Seed(7).stream(name));
//! let drawn = one.next_u64();
//! assert!(drawn == same.next_u64() && drawn != other.next_u64());
//! # Ok::<(), fairwave_units::ParseQuantityError>(())
//! ```

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
