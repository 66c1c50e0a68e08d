//! Offers: names, uplinks, rates.

use fairwave_units::BitRate;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Deref;
use thiserror::Error;

/// Maximum number of uplinks of one announcement.
pub const MAX_OFFERS: usize = 4;
/// Maximum number of bytes of a name.
const MAX_NAME: usize = 32;

/// Name of a member: up to 32 bytes of UTF-8 without control characters.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Name {
    len: u8,
    bytes: [u8; MAX_NAME],
}

/// A text that is no [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// More than 32 bytes.
    #[error("a name of {len} bytes, the limit is {MAX_NAME}: shorten it")]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// Not UTF-8, or a control character, which a terminal might obey.
    #[error("the name has a byte at {at} that is no printable text: leave it out")]
    Text {
        /// Position.
        at: usize,
    },
}

impl Name {
    /// The name that `text` is.
    ///
    /// # Errors
    /// [`NameError`].
    pub fn new(text: &str) -> Result<Self, NameError> {
        Self::from_bytes(text.as_bytes())
    }

    pub(super) fn from_bytes(text: &[u8]) -> Result<Self, NameError> {
        let len = text.len();
        if len > MAX_NAME {
            return Err(NameError::TooLong { len });
        }
        let valid =
            str::from_utf8(text).map_err(|error| NameError::Text { at: error.valid_up_to() })?;
        if let Some((at, _)) = valid.char_indices().find(|(_, c)| c.is_control()) {
            return Err(NameError::Text { at });
        }
        let mut bytes = [0; MAX_NAME];
        bytes[..len].copy_from_slice(text);
        Ok(Self { len: len as u8, bytes })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let text = &self.bytes[..usize::from(self.len)];
        str::from_utf8(text).expect("it was checked when the name was made")
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A rate for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Into the network outside.
    pub up: BitRate,
    /// Out of it.
    pub down: BitRate,
}

impl Rates {
    /// The smaller of both, each direction for itself.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self { up: self.up.min(other.up), down: self.down.min(other.down) }
    }

    /// Whether neither direction has more than `other` has there.
    #[must_use]
    pub fn is_within(self, other: Self) -> bool {
        self.up <= other.up && self.down <= other.down
    }
}

/// Kind of an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Of a mobile network.
    Cellular,
    /// A wireless LAN other than the cluster's.
    Wifi,
    /// A cable.
    Wired,
    /// Something else.
    Other,
}

impl Kind {
    /// All of them, in the order of their numbers on the wire, from 1.
    pub const ALL: [Self; 4] = [Self::Cellular, Self::Wifi, Self::Wired, Self::Other];
}

/// Whether its owner pays for the traffic of an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// By time, or not at all.
    Flat,
    /// By the byte, or up to a volume.
    Metered,
}

/// An uplink that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its number at its owner.
    pub uplink: u8,
    /// Its kind.
    pub kind: Kind,
    /// Whether its owner pays for it.
    pub cost: Cost,
    /// Number of further leases of it.
    pub places: u8,
    /// Round-trip time to a host outside in microseconds; `None` if it is unknown.
    pub rtt_us: Option<NonZeroU32>,
    /// Its own rates.
    pub nominal: Rates,
    /// The part of them that is lent and not taken; at most nominal.
    pub free: Rates,
}

const NOTHING: Rates = Rates { up: BitRate(0), down: BitRate(0) };
const NO_OFFER: Offer = Offer {
    uplink: 0,
    kind: Kind::Other,
    cost: Cost::Flat,
    places: 0,
    rtt_us: None,
    nominal: NOTHING,
    free: NOTHING,
};

/// Up to [`MAX_OFFERS`] uplinks by ascending number, without memory of their own.
#[derive(Clone, Copy)]
pub struct Offers {
    count: u8,
    offers: [Offer; MAX_OFFERS],
}

impl Offers {
    /// Appends `offer`; whether it could be: there is room, its number is above those before it,
    /// and no more is free than it has.
    pub fn push(&mut self, offer: Offer) -> bool {
        let ascends = self.last().is_none_or(|last| last.uplink < offer.uplink);
        let free = self.offers.get_mut(usize::from(self.count));
        let Some(place) = free.filter(|_| ascends && offer.free.is_within(offer.nominal)) else {
            return false;
        };
        *place = offer;
        self.count += 1;
        true
    }
}

impl Default for Offers {
    fn default() -> Self {
        Self { count: 0, offers: [NO_OFFER; MAX_OFFERS] }
    }
}

impl Deref for Offers {
    type Target = [Offer];

    fn deref(&self) -> &[Offer] {
        &self.offers[..usize::from(self.count)]
    }
}

impl PartialEq for Offers {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Offers {}

impl fmt::Debug for Offers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
