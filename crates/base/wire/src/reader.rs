//! A cursor over hostile bytes: every access is named, and fails instead of panicking.

use thiserror::Error;

/// The bytes ended before a field did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("truncated {field} at offset {offset}: needs {need} bytes, has {have}")]
pub struct Truncated {
    /// The field.
    pub field: &'static str,
    /// Its offset in bytes from the start of the parsed bytes.
    pub offset: usize,
    /// Number of bytes that it takes.
    pub need: usize,
    /// Number of available bytes.
    pub have: usize,
}

/// Reads fields one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) fn take(&mut self, need: usize, field: &'static str) -> Result<&'a [u8], Truncated> {
        let rest = self.rest();
        let Some(taken) = rest.get(..need) else {
            return Err(Truncated { field, offset: self.offset, need, have: rest.len() });
        };
        self.offset += need;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], Truncated> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, Truncated> {
        self.array(field).map(u8::from_be_bytes)
    }

    pub(crate) fn u16_be(&mut self, field: &'static str) -> Result<u16, Truncated> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u32_be(&mut self, field: &'static str) -> Result<u32, Truncated> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(crate) fn u64_be(&mut self, field: &'static str) -> Result<u64, Truncated> {
        self.array(field).map(u64::from_be_bytes)
    }

    pub(crate) fn u16_le(&mut self, field: &'static str) -> Result<u16, Truncated> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(crate) fn u32_le(&mut self, field: &'static str) -> Result<u32, Truncated> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64_le(&mut self, field: &'static str) -> Result<u64, Truncated> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// Skips to the next multiple of `align` from the start.
    pub(crate) fn align(&mut self, align: usize, field: &'static str) -> Result<(), Truncated> {
        let padding = self.offset.next_multiple_of(align) - self.offset;
        self.take(padding, field).map(|_| ())
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// Returns the unread bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }
}
