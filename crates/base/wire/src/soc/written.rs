//! The bytes of a report in either format.

use super::LEN;
use core::ops::Deref;

/// A report as it is written, in either format: the payload of a frame of its own, or the bytes
/// in front of another payload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Written {
    len: u8,
    bytes: [u8; LEN],
}

impl Written {
    /// Appends bytes that fit: no format is longer than [`LEN`].
    pub(super) fn of(parts: &[&[u8]]) -> Self {
        let mut written = Self { len: 0, bytes: [0; LEN] };
        for part in parts {
            let end = usize::from(written.len) + part.len();
            written.bytes[usize::from(written.len)..end].copy_from_slice(part);
            written.len = end as u8;
        }
        written
    }
}

impl From<[u8; LEN]> for Written {
    fn from(bytes: [u8; LEN]) -> Self {
        Self { len: LEN as u8, bytes }
    }
}

impl Deref for Written {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl core::fmt::Debug for Written {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Written").field(&&**self).finish()
    }
}
