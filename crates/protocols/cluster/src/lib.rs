//! The cluster of SHAKE: hosts near each other form a local network and lend each other their
//! uplinks.
//!
//! The idea is of Mineno et al. (1999) and of Iida, Ishihara and Mizuno (TCP SHAKE, section 1); how
//! hosts find each other and agree is Fairwave's (`docs/models/cluster.md`).
//!
//! ```text
//! announce / query         hello, challenge, response, welcome       ask, grant, renew, revoke
//!   who lends?        ->     who has the key, and where is he?   ->     who may use how much?
//! ```
//!
//! [`Member`] is one host, lender, borrower or both, as a sans-IO machine. A borrower's
//! [`Event::Join`] and [`Event::Leave`] are a SHAKE connection's `Join` and `Leave`. A lender's
//! host asks [`Member::carry`] for each packet of a borrower, and reports its own traffic to
//! [`Member::own`]: that comes first, and the rest is shared max-min fairly.
//!
//! Messages of outsiders change no lease, never cause an answer longer than the question, and are
//! counted in [`Refused`]. A host with the key of the cluster is trusted on its identity.

mod borrower;
mod bucket;
mod config;
mod facts;
mod lender;
mod member;
mod neighbours;
mod pace;
mod post;
mod session;
mod share;

pub use config::{Config, ConfigError, Limits, Power, Uplink, Uplinks, UplinksError, Want};
pub use facts::{
    Census, End, Event, Excess, Held, Input, LeaseId, Lent, Neighbour, Output, Over, Refused, To,
    Way,
};
pub use member::Member;
