//! Messages of the buffer probe, Fairwave's own (`docs/models/probe.md` has them byte by byte).
//!
//! Sixteen bytes of head, a body by kind, zeros up to any length, a [seal](crate::seal) over all.
//! Nothing of a message is believed before its seal has been checked: [`open`] does both, and
//! [`Head::read`] serves to find the key.

mod body;
mod message;
#[cfg(test)]
mod tests;

pub use crate::message::Error;
pub use body::records_that_fit;
pub use message::{
    CHALLENGE_LEN, COOKIE_LEN, Chunk, Cookie, HEAD_LEN, Limits, MAGIC, MAX_FETCHED_LEN, MAX_LEN,
    MAX_REPORT_LEN, MIN_DATA_LEN, Message, Order, Record, Refusal, VERSION,
};

use crate::reader::Reader;
use crate::seal::{Key, TAG_LEN, Tag};
use message::{FORMAT, LABEL};

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The session.
    pub session: u64,
    /// The kind of message, as its number.
    pub kind: u8,
}

impl Head {
    /// Reads the head of unauthenticated bytes.
    ///
    /// # Errors
    /// If they cannot be a message of this version.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        FORMAT.read(&mut reader)?;
        let kind = reader.u8("kind")?;
        if reader.u16_be("reserved")? != 0 {
            return Err(Error::NotZero { field: "reserved at offset 6" });
        }
        let session = reader.u64_be("session")?;
        reader.take(TAG_LEN, "seal")?;
        Ok(Self { session, kind })
    }

    /// Whether a message of this kind is sealed with the key of the session, not the shared one.
    pub const fn is_within_session(self) -> bool {
        self.kind >= body::ACCEPT && self.kind != body::REFUSE
    }
}

/// Checks the seal, then reads the message; the session it belongs to.
///
/// # Errors
/// If the seal does not fit, or the sealed bytes are no message.
pub fn open(bytes: &[u8], key: &Key) -> Result<(u64, Message), Error> {
    let head = Head::read(bytes)?;
    let (sealed, tag) = bytes.split_at(bytes.len() - TAG_LEN);
    let tag = Tag(tag.try_into().expect("split at its length"));
    key.verify(LABEL, &[sealed], &tag)?;
    let mut reader = Reader::new(sealed);
    reader.take(HEAD_LEN, "head")?;
    let message = body::read(head.kind, &mut reader)?;
    if reader.rest().iter().any(|byte| *byte != 0) {
        return Err(Error::NotZero { field: "padding" });
    }
    Ok((head.session, message))
}

/// The key of one session, which no other session's messages fit.
#[must_use]
pub fn session_key(shared: &Key, session: u64, nonce: u64, cookie: &Cookie) -> Key {
    let parts: [&[u8]; 3] = [&session.to_be_bytes(), &nonce.to_be_bytes(), cookie];
    shared.derive(LABEL, &parts)
}

impl Message {
    /// Appends the message, sealed, in `len` bytes, or in as many as it takes if that is more.
    ///
    /// # Errors
    /// [`Error::TooLong`], or [`Error::Range`] for a chunk whose arrivals go back in time; then
    /// nothing is appended.
    pub fn write(
        &self,
        session: u64,
        key: &Key,
        len: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let start = out.len();
        FORMAT.write(out);
        out.extend([body::kind(self), 0, 0]);
        out.extend(session.to_be_bytes());
        let written = body::write(self, out);
        let len = len.max(out.len() - start + TAG_LEN);
        let fits = if len > MAX_LEN { Err(Error::TooLong { len, most: MAX_LEN }) } else { Ok(()) };
        if let Err(error) = written.and(fits) {
            out.truncate(start);
            return Err(error);
        }
        out.resize(start + len - TAG_LEN, 0);
        let tag = key.tag(LABEL, &[&out[start..]]);
        out.extend(tag.0);
        Ok(())
    }
}
