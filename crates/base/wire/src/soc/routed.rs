//! Reports of stations behind a router, which come as datagrams of UDP.
//!
//! A router removes the link addresses of a frame, so that an access point knows such a station by
//! its IP address. The address has to be the station's own: a report counts only with the token
//! that the access point sent to this address before, as in RFC 9000 section 8.1. A datagram to
//! the access point is longer than the one back, so that a forged address never receives more
//! bytes than were sent.

use super::LEN;
use super::session::{SESSION_LEN, Session};
use crate::ethernet::Mac;
use crate::reader::{Reader, Truncated};
use crate::seal::{Forged, Key, TAG_LEN, Tag};
use thiserror::Error;

/// Default port of an access point.
pub const PORT: u16 = 9437;
/// Length of a token in bytes.
pub const TOKEN_LEN: usize = 16;
/// Length of a report's datagram in bytes.
pub const DATAGRAM_LEN: usize = LEN + TOKEN_LEN;
/// Mark that distinguishes a reply from other messages: "SR".
pub const REPLY_SUBTYPE: u16 = 0x5352;
/// Length of a reply in bytes, its tag included.
pub const REPLY_LEN: usize = 66;
/// Version of the format.
const VERSION: u8 = 2;
const COVERED: usize = REPLY_LEN - TAG_LEN;
const LABEL: &str = "soc reply";

/// Token that an access point sent to an address, and expects back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token(pub [u8; TOKEN_LEN]);

/// The datagram of a report or a greeting; without a token, the default one.
pub fn datagram(report: &[u8; LEN], token: Token) -> [u8; DATAGRAM_LEN] {
    let mut bytes = [0; DATAGRAM_LEN];
    bytes[..LEN].copy_from_slice(report);
    bytes[LEN..].copy_from_slice(&token.0);
    bytes
}

/// Returns the report or greeting of a datagram, unexamined, and the token; the rest is ignored.
///
/// # Errors
/// If the bytes end early.
pub fn split(bytes: &[u8]) -> Result<([u8; LEN], Token), Truncated> {
    let mut reader = Reader::new(bytes);
    let report = reader.array("report")?;
    Ok((report, Token(reader.array("token")?)))
}

/// Reply of an access point, sealed with the station's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Whether the report was believed; if not, it had no token that counts, or was a greeting.
    pub is_believed: bool,
    /// The station that reported.
    pub station: Mac,
    /// The number of the report or the greeting.
    pub sequence: u64,
    /// Token for reports from this address from now on.
    pub token: Token,
    /// Session that reports to this access point are sealed for from now on.
    pub session: Session,
}

/// Reason for which bytes are no reply to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReplyError {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Something else, or another version.
    #[error("begins with {found:02x?}, not as a reply of version {VERSION}")]
    Beginning {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// Not written by the access point, or changed since.
    #[error(transparent)]
    Forged(#[from] Forged),
}

impl Reply {
    /// Its bytes, with the tag that this key makes.
    pub fn seal(&self, key: &Key) -> [u8; REPLY_LEN] {
        let mut bytes = [0; REPLY_LEN];
        let (covered, tag) = bytes.split_at_mut(COVERED);
        covered[..4].copy_from_slice(&beginning(self.is_believed));
        covered[4..10].copy_from_slice(&self.station.0);
        covered[10..18].copy_from_slice(&self.sequence.to_be_bytes());
        covered[18..18 + TOKEN_LEN].copy_from_slice(&self.token.0);
        covered[18 + TOKEN_LEN..].copy_from_slice(&self.session.0);
        tag.copy_from_slice(&key.tag(LABEL, &[covered]).0);
        bytes
    }

    /// Reads one that was sealed with this key.
    ///
    /// # Errors
    /// If the bytes are no reply, or the tag is not that of the key.
    pub fn open(bytes: &[u8], key: &Key) -> Result<Self, ReplyError> {
        let mut reader = Reader::new(bytes);
        let found: [u8; 4] = reader.array("subtype, version and verdict")?;
        let is_believed = found == beginning(true);
        if !is_believed && found != beginning(false) {
            return Err(ReplyError::Beginning { found });
        }
        let station = Mac(reader.array("station address")?);
        let sequence = u64::from_be_bytes(reader.array("sequence")?);
        let token = Token(reader.array("token")?);
        let session = Session(reader.array::<SESSION_LEN>("session")?);
        let tag = Tag(reader.array("tag")?);
        key.verify(LABEL, &[&bytes[..COVERED]], &tag)?;
        Ok(Self { is_believed, station, sequence, token, session })
    }
}

const fn beginning(is_believed: bool) -> [u8; 4] {
    let [high, low] = REPLY_SUBTYPE.to_be_bytes();
    [high, low, VERSION, is_believed as u8]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::new(&[7; 32]).unwrap()
    }

    #[test]
    fn a_reply_is_shorter_than_the_datagram_that_asks_for_it() {
        const { assert!(REPLY_LEN < DATAGRAM_LEN) }
        let (token, session) = (Token([9; TOKEN_LEN]), Session([8; SESSION_LEN]));
        let station = Mac::local(3);
        let reply = Reply { is_believed: true, station, sequence: 2, token, session };
        let bytes = reply.seal(&key());
        let expected = [0x53, 0x52, 2, 1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 9];
        assert_eq!(bytes[..19], expected);
        assert_eq!(bytes[33..35], [9, 8]);
    }

    proptest! {
        #[test]
        fn only_the_sealed_reply_is_read(
            mac: [u8; 6], sequence: u64, token: [u8; 16], session: [u8; 16], is_believed: bool,
            bit in 0..8 * REPLY_LEN, cut in 0..REPLY_LEN,
        ) {
            let (station, token, session) = (Mac(mac), Token(token), Session(session));
            let reply = Reply { is_believed, station, sequence, token, session };
            let mut bytes = reply.seal(&key());
            prop_assert_eq!(Reply::open(&bytes, &key()), Ok(reply));
            let cut = matches!(Reply::open(&bytes[..cut], &key()), Err(ReplyError::Truncated(_)));
            prop_assert!(cut);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Reply::open(&bytes, &key()).is_err());
        }

        #[test]
        fn a_datagram_is_a_report_and_a_token(
            report: [u8; 32], token: [u8; 16], cut in 0..DATAGRAM_LEN,
        ) {
            let report: [u8; LEN] = [report, report].concat().try_into().unwrap();
            let bytes = datagram(&report, Token(token));
            prop_assert_eq!(split(&bytes), Ok((report, Token(token))));
            prop_assert!(split(&bytes[..cut]).is_err());
        }
    }
}
