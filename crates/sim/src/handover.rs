//! What the MAC of a roaming station tells transports that ask.
//!
//! A transport may hear that its station leaves an access point and that it has come to another,
//! and which rate it may hope for there. From where the station knows that is told in
//! [`crate::announcer`].

use fairwave_units::BitRate;

/// What happens to a station; `share` is the rate of its flow's payload that it may hope for at
/// the new access point, `None` where that has not announced its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It leaves its access point, and has none for now. It chose the new one by its beacons, and
    /// so knows the load.
    Leaves { share: Option<BitRate> },
    /// It is associated with the new one.
    Arrives { share: Option<BitRate> },
}
