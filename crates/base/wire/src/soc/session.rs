//! Sessions: they invalidate a recorded report at another access point, and at the same one after a
//! restart.
//!
//! An access point draws a random number when it starts. Reports to it are sealed with a key
//! derived from the station's own key and that number. Therefore no other access point, and no
//! later start of the same one, accepts them. A station that does not know the number sends a
//! [`Greeting`] instead of a report. A greeting changes no weight, and the answer to it contains
//! the number.

use super::LEN;
use crate::ethernet::Mac;
use crate::reader::{Reader, Truncated};
use crate::seal::{Forged, Key, TAG_LEN, Tag};
use thiserror::Error;

/// Mark that distinguishes a greeting from other experiments under the same EtherType: "SG".
pub const GREETING_SUBTYPE: u16 = 0x5347;
/// Length of a session's number in bytes.
pub const SESSION_LEN: usize = 16;
/// Version of the format.
const VERSION: u8 = 1;
const COVERED: usize = LEN - TAG_LEN;
const LABEL: &str = "soc greeting";
/// Purpose for which the key of a session is derived.
const KEY_LABEL: &str = "soc session";

/// The number of an access point's start: random, but not secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session(pub [u8; SESSION_LEN]);

impl Session {
    /// The key for the seals of reports in this session; `own` is the station's own key.
    #[must_use]
    pub fn key(&self, own: &Key) -> Key {
        own.derive(KEY_LABEL, &[&self.0])
    }
}

/// Asks an access point for its session. A greeting is as long as a report, so that a datagram with
/// it is longer than the answer and cannot be used for amplification. It is sealed with the
/// station's own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The station's link address.
    pub station: Mac,
    /// Sequence number, which is shared with reports: it increases with each message of the
    /// station.
    pub sequence: u64,
}

/// Reason for which bytes are no greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GreetingError {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Another experiment under the same EtherType, or another version.
    #[error("begins with {found:02x?}, not as a greeting of version {VERSION}")]
    Beginning {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A station cannot have the address of a group.
    #[error("station address at offset 4 is {found}, that of a group")]
    Group {
        /// The address found.
        found: Mac,
    },
    /// The seal was not made with this station's key, or the bytes were changed.
    #[error(transparent)]
    Forged(#[from] Forged),
}

impl Greeting {
    /// Whether bytes begin as a greeting.
    pub fn is_meant(bytes: &[u8]) -> bool {
        bytes.starts_with(&GREETING_SUBTYPE.to_be_bytes())
    }

    /// Its bytes, sealed with the station's own key.
    pub fn seal(&self, own: &Key) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let (covered, tag) = bytes.split_at_mut(COVERED);
        covered[..4].copy_from_slice(&beginning());
        covered[4..10].copy_from_slice(&self.station.0);
        covered[10..18].copy_from_slice(&self.sequence.to_be_bytes());
        tag.copy_from_slice(&own.tag(LABEL, &[covered]).0);
        bytes
    }

    /// Parses a greeting without checking its seal.
    ///
    /// # Errors
    /// If the bytes are no greeting.
    pub fn unchecked(bytes: &[u8]) -> Result<Self, GreetingError> {
        Ok(read(bytes)?.0)
    }

    /// Parses a greeting, and checks that it was sealed with this key.
    ///
    /// # Errors
    /// If the bytes are no greeting, or the seal does not match.
    pub fn open(bytes: &[u8], own: &Key) -> Result<Self, GreetingError> {
        let (greeting, tag) = read(bytes)?;
        own.verify(LABEL, &[&bytes[..COVERED]], &tag)?;
        Ok(greeting)
    }
}

/// Mark of a notice that a key is refused: "SN".
const KEY_REFUSED: [u8; 4] = [0x53, 0x4e, 1, 0];

/// An access point's notice to a station that the seal of its greeting is not that of its key in
/// this network. It has no seal, as there is no key that both have: it is for a person, and a
/// station goes on as without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRefused {
    /// The station of the greeting.
    pub station: Mac,
    /// The greeting's number.
    pub sequence: u64,
}

impl KeyRefused {
    /// Its bytes, with padding to the length of an answer, which is at least 18 bytes.
    pub fn bytes<const LEN: usize>(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&KEY_REFUSED);
        bytes[4..10].copy_from_slice(&self.station.0);
        bytes[10..18].copy_from_slice(&self.sequence.to_be_bytes());
        bytes
    }

    /// Reads one; `None` for other bytes.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&KEY_REFUSED)?;
        let (station, rest) = rest.split_first_chunk()?;
        let sequence = u64::from_be_bytes(*rest.first_chunk()?);
        Some(Self { station: Mac(*station), sequence })
    }
}

fn read(bytes: &[u8]) -> Result<(Greeting, Tag), GreetingError> {
    let mut reader = Reader::new(bytes);
    let found = reader.array("subtype and version")?;
    if found != beginning() {
        return Err(GreetingError::Beginning { found });
    }
    let station = Mac(reader.array("station address")?);
    if station.is_group() {
        return Err(GreetingError::Group { found: station });
    }
    let sequence = u64::from_be_bytes(reader.array("sequence")?);
    // Reserved for later versions; covered by the seal.
    reader.array::<{ COVERED - 18 }>("room")?;
    Ok((Greeting { station, sequence }, Tag(reader.array("tag")?)))
}

const fn beginning() -> [u8; 4] {
    let [high, low] = GREETING_SUBTYPE.to_be_bytes();
    [high, low, VERSION, 0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn own() -> Key {
        Key::new(&[7; 32]).unwrap()
    }

    #[test]
    fn a_greeting_is_as_long_as_a_report_and_begins_with_its_subtype_and_version() {
        let bytes = Greeting { station: Mac::local(3), sequence: 0x0102 }.seal(&own());
        let expected = [0x53, 0x47, 1, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!((&bytes[..18], bytes.len()), (&expected[..], LEN));
        assert_eq!(bytes[18..COVERED], [0; COVERED - 18]);
        let group = Greeting { station: Mac::BROADCAST, sequence: 1 }.seal(&own());
        let found = Mac::BROADCAST;
        assert_eq!(Greeting::open(&group, &own()), Err(GreetingError::Group { found }));
    }

    #[test]
    fn keys_differ_by_session_and_from_the_stations_own() {
        let tag = |key: &Key| key.tag("test", &[b"x"]);
        let [first, second] = [[1; SESSION_LEN], [2; SESSION_LEN]].map(Session);
        assert_ne!(tag(&first.key(&own())), tag(&second.key(&own())));
        assert_ne!(tag(&first.key(&own())), tag(&own()));
        assert_eq!(tag(&first.key(&own())), tag(&first.key(&own())));
    }

    proptest! {
        #[test]
        fn only_the_sealed_greeting_is_read(
            end: [u8; 5], sequence: u64, bit in 0..8 * LEN, cut in 0..LEN,
        ) {
            let station = Mac([2, end[0], end[1], end[2], end[3], end[4]]);
            let greeting = Greeting { station, sequence };
            let mut bytes = greeting.seal(&own());
            prop_assert_eq!(Greeting::open(&bytes, &own()), Ok(greeting));
            prop_assert_eq!(Greeting::unchecked(&bytes), Ok(greeting));
            let cut = Greeting::open(&bytes[..cut], &own());
            prop_assert!(matches!(cut, Err(GreetingError::Truncated(_))), "{:?}", cut);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Greeting::open(&bytes, &own()).is_err());
        }
    }

    #[test]
    fn a_notice_names_the_greeting() {
        let notice = KeyRefused { station: Mac::local(3), sequence: 0x0102 };
        let bytes = notice.bytes::<50>();
        assert_eq!(bytes[..12], [0x53, 0x4e, 1, 0, 2, 0, 0, 0, 0, 3, 0, 0]);
        assert_eq!(KeyRefused::parse(&bytes), Some(notice));
        assert_eq!(KeyRefused::parse(&bytes[..17]), None);
        assert!(!Greeting::is_meant(&bytes));
    }
}
