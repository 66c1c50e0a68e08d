//! Fields in either byte order.

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

impl Order {
    pub(super) const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    pub(super) const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    pub(super) const fn i64(self, bytes: [u8; 8]) -> i64 {
        match self {
            Self::Big => i64::from_be_bytes(bytes),
            Self::Little => i64::from_le_bytes(bytes),
        }
    }
}

/// Reads fields in order; `None` after the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) order: Order,
    pub(super) rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(|bytes| self.order.u16(bytes))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(|bytes| self.order.u32(bytes))
    }

    /// Returns the next option of pcapng: its code and value. `None` at the end of the options, and
    /// where no option follows.
    pub(super) fn option(&mut self) -> Option<(u16, &'a [u8])> {
        let (code, len) = (self.u16()?, usize::from(self.u16()?));
        let value = self.rest.get(..len)?;
        self.rest = self.rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        (code != 0).then_some((code, value))
    }
}
