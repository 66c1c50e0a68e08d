//! The cluster of SHAKE: hosts near each other form a local network and lend each other their
//! uplinks. These are the rules of a lender.
//!
//! The idea is of Mineno et al. (1999) and of Iida, Ishihara and Mizuno (TCP SHAKE, section 1); the
//! rules are Fairwave's (`docs/models/cluster.md`). [`Ledger`] gives leases, each for datagrams to
//! one server, and accounts for every packet: the total rate, equal shares of it, bytes a day and
//! times. [`Reach`] decides which servers a borrower may name. Neither knows a socket, a clock or a
//! key: `fairwave-share-host` exchanges the messages and seals them.
//!
//! ```
//! use fairwave_cluster::{Ledger, Limits, Reach, Way};
//! use fairwave_units::{BitRate, Instant};
//!
//! let limits =
//!     Limits { rate: Some(BitRate::mbps(5)), day_bytes: Some(1_000), ..Limits::default() };
//! let reach = Reach { own: Vec::new(), allow: Vec::new() };
//! let now = Instant::ZERO;
//! let mut ledger = Ledger::new(limits, reach, now);
//! ledger.set_day(0, true);
//!
//! let borrower = "192.168.1.20".parse()?;
//! let lease = ledger.ask(now, borrower, "9.9.9.9:443".parse()?)?;
//! assert!(ledger.carry(now, lease, Way::Up, 900).is_ok());
//! assert!(ledger.carry(now, lease, Way::Up, 900).is_err(), "more than the bytes of a day");
//! let inside = "192.168.1.1:80".parse()?;
//! assert!(ledger.ask(now, borrower, inside).is_err(), "no host of the Internet");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bucket;
mod ledger;
mod reach;

pub use ledger::{Excess, LeaseId, Ledger, Lent, Limits, Way};
pub use reach::Reach;
