//! Run-length encoded options on the packets before an acknowledgement number: Ack Vector (RFC 4340
//! section 11.4) and Data Dropped (section 11.7).

use super::Seq48;

/// State of a packet in an Ack Vector (RFC 4340 section 11.4, table 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It arrived.
    Received = 0,
    /// It arrived with a mark of congestion.
    Marked = 1,
    /// Reserved; says nothing.
    Reserved = 2,
    /// It has not arrived so far.
    Missing = 3,
}

impl Arrival {
    /// Maximum number of packets that one byte speaks of.
    pub const RUN_MAX: u64 = 64;

    /// The byte of a run of `count` packets, 1 to [`Arrival::RUN_MAX`]; more are cut.
    pub const fn byte(self, count: u64) -> u8 {
        let extra = if count > Self::RUN_MAX { Self::RUN_MAX } else { count }.saturating_sub(1);
        (self as u8) << 6 | extra as u8
    }

    /// State and number of packets of a byte.
    pub const fn of(byte: u8) -> (Self, u64) {
        let state = match byte >> 6 {
            0 => Self::Received,
            1 => Self::Marked,
            2 => Self::Reserved,
            _ => Self::Missing,
        };
        (state, (byte & 0x3f) as u64 + 1)
    }
}

/// Reason for which application data was not delivered (RFC 4340 section 11.7, table 7). Every
/// number up to 7 is legal; 4 to 6 are reserved and count as a mark of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropCode(u8);

impl DropCode {
    /// The protocol forbids it here.
    pub const PROTOCOL: Self = Self(0);
    /// The application does not listen any more.
    pub const NOT_LISTENING: Self = Self(1);
    /// The receive buffer was full.
    pub const RECEIVE_BUFFER: Self = Self(2);
    /// The data were damaged.
    pub const CORRUPT: Self = Self(3);
    /// The data were damaged and delivered.
    pub const DELIVERED_CORRUPT: Self = Self(7);

    /// The code of this number, if it has three bits.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 8 { Some(Self(number)) } else { None }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// State of a packet in a Data Dropped option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// Delivered, if it was received at all.
    Normal,
    /// Received, but not delivered as usual.
    Dropped(DropCode),
}

impl Dropped {
    /// Maximum number of packets that one block speaks of.
    pub const fn run_max(self) -> u64 {
        match self {
            Self::Normal => 128,
            Self::Dropped(_) => 16,
        }
    }

    /// The block of a run of `count` packets, from 1 on; more than [`Dropped::run_max`] are cut.
    pub const fn byte(self, count: u64) -> u8 {
        let max = self.run_max();
        let extra = if count > max { max } else { count }.saturating_sub(1) as u8;
        match self {
            Self::Normal => extra,
            Self::Dropped(code) => 0x80 | code.0 << 4 | extra,
        }
    }

    /// State and number of packets of a block.
    pub const fn of(byte: u8) -> (Self, u64) {
        if byte & 0x80 == 0 {
            (Self::Normal, byte as u64 + 1)
        } else {
            (Self::Dropped(DropCode(byte >> 4 & 7)), (byte & 0xf) as u64 + 1)
        }
    }
}

/// The runs of a vector, newest first, each with its first (greatest) sequence number.
#[derive(Clone, Debug)]
pub struct Runs<'a, S> {
    bytes: core::slice::Iter<'a, u8>,
    next: Seq48,
    of: fn(u8) -> (S, u64),
}

impl<'a> Runs<'a, Arrival> {
    /// The runs of an Ack Vector that begins at `ack`.
    pub fn ack_vector(ack: Seq48, vector: &'a [u8]) -> Self {
        Self { bytes: vector.iter(), next: ack, of: Arrival::of }
    }
}

impl<'a> Runs<'a, Dropped> {
    /// The runs of a Data Dropped option that begins at `ack`.
    pub fn data_dropped(ack: Seq48, vector: &'a [u8]) -> Self {
        Self { bytes: vector.iter(), next: ack, of: Dropped::of }
    }
}

impl<S> Runs<'_, S> {
    /// Offset at which a further option of the same kind continues.
    pub fn end(mut self) -> Seq48 {
        while self.next().is_some() {}
        self.next
    }
}

impl<S> Iterator for Runs<'_, S> {
    /// Greatest sequence number, state, and how many packets downwards have it.
    type Item = (Seq48, S, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let (state, count) = (self.of)(*self.bytes.next()?);
        let first = self.next;
        self.next = first - count;
        Some((first, state, count))
    }
}
