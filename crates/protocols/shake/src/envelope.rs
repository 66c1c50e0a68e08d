//! Bytes of segments: sealed when they leave, checked when they arrive.
//!
//! [`Connection`](crate::Connection) trusts its inputs; a host passes it nothing that [`open`] has
//! not let through. Repeated numbers are the connection's to refuse.

use crate::Segment;
use bytes::Bytes;
use fairwave_wire::seal::{Forged, Key};
use fairwave_wire::shake;
use thiserror::Error;

/// Reason for which bytes are not for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// They are no message.
    #[error(transparent)]
    Malformed(#[from] shake::Error),
    /// They were not written with the key, or changed since.
    #[error(transparent)]
    Forged(#[from] Forged),
}

/// Appends the bytes of `segment`, sealed with the connection's key.
///
/// # Errors
/// If it does not fit a datagram, or its numbers are out of range; then nothing is appended.
pub fn seal(segment: &Segment<Bytes>, key: &Key, out: &mut Vec<u8>) -> Result<(), shake::Error> {
    segment.header.write(&segment.payload, key, out)
}

/// The segment that `bytes` are, if its seal was made with the connection's key. The payload is a
/// part of `bytes`, not copied.
///
/// # Errors
/// [`Refused`]: it is to be dropped, and counted.
pub fn open(bytes: &Bytes, key: &Key) -> Result<Segment<Bytes>, Refused> {
    let (header, payload) = shake::parse(bytes)?.open(key)?;
    Ok(Segment { header, payload: bytes.slice_ref(payload) })
}
