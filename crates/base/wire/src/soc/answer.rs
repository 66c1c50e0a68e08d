//! Answers of an access point to a station that reports to it, or that asks for its session.

use super::session::{SESSION_LEN, Session};
use crate::ethernet::{EtherType, Header, Mac};
use crate::reader::{Reader, Truncated};
use crate::seal::{Forged, Key, TAG_LEN, Tag};
use thiserror::Error;

/// Mark that distinguishes an answer from other experiments under the same EtherType: "SA".
pub const ANSWER_SUBTYPE: u16 = 0x5341;
/// Length of an answer in bytes, its tag included.
pub const ANSWER_LEN: usize = 50;
/// Version of the format.
const VERSION: u8 = 2;
const COVERED: usize = ANSWER_LEN - TAG_LEN;
const LABEL: &str = "soc answer";

/// An access point's answer: it listens, and this report was accepted, or this greeting was
/// understood. It is sealed with the station's own key: a stranger cannot keep a station reporting
/// into the void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The station that reported.
    pub station: Mac,
    /// The number of the report or the greeting.
    pub sequence: u64,
    /// Session that reports to this access point are sealed for from now on.
    pub session: Session,
}

/// Reason for which bytes are no answer to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AnswerError {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Something else under the same EtherType, or another version.
    #[error("begins with {found:02x?}, not as an answer of version {VERSION}")]
    Beginning {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// Not written by the access point, or changed since.
    #[error(transparent)]
    Forged(#[from] Forged),
}

impl Answer {
    /// Its bytes, with the tag that this key makes.
    pub fn seal(&self, key: &Key) -> [u8; ANSWER_LEN] {
        let mut bytes = [0; ANSWER_LEN];
        let (covered, tag) = bytes.split_at_mut(COVERED);
        covered[..4].copy_from_slice(&beginning());
        covered[4..10].copy_from_slice(&self.station.0);
        covered[10..18].copy_from_slice(&self.sequence.to_be_bytes());
        covered[18..18 + SESSION_LEN].copy_from_slice(&self.session.0);
        tag.copy_from_slice(&key.tag(LABEL, &[covered]).0);
        bytes
    }

    /// Reads one that was sealed with this key; the rest is padding.
    ///
    /// # Errors
    /// If the bytes are no answer, or the tag is not that of the key.
    pub fn open(bytes: &[u8], key: &Key) -> Result<Self, AnswerError> {
        let mut reader = Reader::new(bytes);
        let found = reader.array("subtype and version")?;
        if found != beginning() {
            return Err(AnswerError::Beginning { found });
        }
        let station = Mac(reader.array("station address")?);
        let sequence = u64::from_be_bytes(reader.array("sequence")?);
        let session = Session(reader.array("session")?);
        let tag = Tag(reader.array("tag")?);
        key.verify(LABEL, &[&bytes[..COVERED]], &tag)?;
        Ok(Self { station, sequence, session })
    }
}

const fn beginning() -> [u8; 4] {
    let [high, low] = ANSWER_SUBTYPE.to_be_bytes();
    [high, low, VERSION, 0]
}

/// A frame of a report or an answer.
pub fn frame(source: Mac, destination: Mac, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(crate::ethernet::HEADER_LEN + payload.len());
    let ether_type = EtherType::LOCAL_EXPERIMENT_1;
    Header { destination, source, ether_type }.write(&mut frame);
    frame.extend(payload);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::new(&[7; 32]).unwrap()
    }

    #[test]
    fn an_answer_begins_with_its_subtype_and_version() {
        let session = Session([9; SESSION_LEN]);
        let bytes = Answer { station: Mac::local(3), sequence: 0x0102, session }.seal(&key());
        let expected = [0x53, 0x41, 2, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!(bytes[..18], expected);
        assert_eq!(bytes[18..COVERED], [9; SESSION_LEN]);
    }

    proptest! {
        #[test]
        fn only_the_sealed_answer_is_read(
            mac: [u8; 6], sequence: u64, session: [u8; SESSION_LEN],
            bit in 0..8 * ANSWER_LEN, cut in 0..ANSWER_LEN,
        ) {
            let answer = Answer { station: Mac(mac), sequence, session: Session(session) };
            let mut bytes = answer.seal(&key());
            prop_assert_eq!(Answer::open(&bytes, &key()), Ok(answer));
            let cut = matches!(Answer::open(&bytes[..cut], &key()), Err(AnswerError::Truncated(_)));
            prop_assert!(cut);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Answer::open(&bytes, &key()).is_err());
        }
    }
}
