//! TCP Friendly Rate Control (RFC 5348): a rate as smooth as an application may wish, and over
//! seconds as much as a TCP connection would take.
//!
//! [`equation`] gives TCP's rate at a loss event rate and a round-trip time. [`history`] finds lost
//! packets and joins them to loss events, [`average`] makes a loss event rate of them; both run at
//! the receiver. [`Sender`] turns feedback into a rate and the rate into times of transmission.
//! [`Profile`] chooses between RFC 5348 and RFC 3448, the older one.
//!
//! Rates are bytes a second in f64, computed with `+ - * /` and `sqrt` alone, so that they are the
//! same to the last bit on every platform.

pub mod average;
pub mod equation;
pub mod history;
mod meter;
mod pacer;
mod receive_set;
mod receiver;
mod remedy;
mod sender;

pub use meter::Meter;
pub use pacer::Pacer;
pub use receiver::{Data, Feedback, Receiver, ReceiverConfig};
pub use remedy::{Remedies, Sensitivity};
pub use sender::{Headers, InitialWindow, Report, Sender, SenderConfig};

/// Edition of TFRC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// RFC 5348, of 2008.
    #[default]
    Rfc5348,
    /// RFC 3448, of 2003, with its errata, as in simulations before 2008. The rate is limited by
    /// twice the last receive rate alone, whether or not the application had more to send,
    /// discounting goes down to a half, and the first loss interval stands for the receive rate of
    /// the last round trip (RFC 5348, section 9, lists the changes).
    Rfc3448,
}

/// Rate of the interval before the first loss event, which is not measured as the later ones are.
/// Simulators of before 2008 differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstInterval {
    /// The largest receive rate reported: the interval at which the equation gives it (RFC 5348
    /// section 6.3.1).
    Reported,
    /// The receive rate of the last round trip, likewise (RFC 3448 section 6.3.1).
    Measured,
    /// The packets that came before the first loss, as for any other interval (RFC 3448 section
    /// 5.4 read alone).
    Counted,
}

impl Profile {
    /// Returns the rate of the interval before the first loss, in this edition.
    pub const fn first_interval(self) -> FirstInterval {
        match self {
            Self::Rfc5348 => FirstInterval::Reported,
            Self::Rfc3448 => FirstInterval::Measured,
        }
    }

    /// The smallest general discount factor, THRESHOLD of section 5.5 in either edition.
    pub const fn discount_threshold(self) -> f64 {
        match self {
            Self::Rfc5348 => 0.25,
            Self::Rfc3448 => 0.5,
        }
    }
}
