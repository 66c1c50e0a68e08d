//! Attributes of netlink messages: numbered pieces of bytes, in which there may be others.

use netlink_packet_core::NlasIterator;

/// An attribute to be sent.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    kind: u16,
    value: &'a [u8],
}

/// Attributes as they were received. Bytes that are no attribute end the list; a value of another
/// length than is asked for counts as absent, as it would be from an older kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes<'a> {
    bytes: &'a [u8],
}

impl<'a> Field<'a> {
    pub(super) const fn new(kind: u16, value: &'a [u8]) -> Self {
        Self { kind, value }
    }

    /// Header, value and padding.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let length = u16::try_from(4 + self.value.len()).expect("requests are short");
        let head = [length.to_ne_bytes(), self.kind.to_ne_bytes()].concat();
        let padding = vec![0; self.value.len().next_multiple_of(4) - self.value.len()];
        [&head, self.value, &padding].concat()
    }
}

impl<'a> Attributes<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// All of them as lists of others, with their numbers.
    pub(super) fn each(self) -> Vec<(u16, Self)> {
        let pieces = NlasIterator::new(self.bytes).map_while(Result::ok);
        let mut start = 0;
        let inside = |piece: netlink_packet_core::NlaBuffer<&[u8]>| {
            // The library lends a value no longer than its piece; our bytes live longer.
            let end = start + usize::from(piece.length());
            let value = self.bytes.get(start + 4..end).unwrap_or_default();
            start = end.next_multiple_of(4);
            (piece.kind(), Self::new(value))
        };
        pieces.map(inside).collect()
    }

    /// The first with this number as a list of others.
    pub(super) fn nested(self, kind: u16) -> Option<Self> {
        self.each().into_iter().find_map(|(found, inside)| (found == kind).then_some(inside))
    }

    /// Whether there is one with this number.
    pub(super) fn has(self, kind: u16) -> bool {
        self.nested(kind).is_some()
    }

    /// The value as it is.
    pub(super) fn value(self, kind: u16) -> Option<&'a [u8]> {
        self.nested(kind).map(|inside| inside.bytes)
    }

    /// A value of this number of bytes.
    pub(super) fn array<const N: usize>(self, kind: u16) -> Option<[u8; N]> {
        self.value(kind)?.try_into().ok()
    }

    pub(super) fn i8(self, kind: u16) -> Option<i8> {
        self.array(kind).map(i8::from_ne_bytes)
    }

    pub(super) fn u16(self, kind: u16) -> Option<u16> {
        self.array(kind).map(u16::from_ne_bytes)
    }

    pub(super) fn u32(self, kind: u16) -> Option<u32> {
        self.array(kind).map(u32::from_ne_bytes)
    }

    pub(super) fn u64(self, kind: u16) -> Option<u64> {
        self.array(kind).map(u64::from_ne_bytes)
    }

    /// Text that ends with a zero byte.
    pub(super) fn text(self, kind: u16) -> Option<String> {
        let text = self.value(kind)?.split(|byte| *byte == 0).next()?;
        String::from_utf8(text.to_vec()).ok()
    }
}
