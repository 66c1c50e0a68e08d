//! TCP header and options (RFC 9293 section 3.1; RFC 7323; RFC 2018).

use fairwave_units::Seq32;

mod codec;

pub use codec::{Error, parse, parse_captured};

/// Largest window scale shift (RFC 7323 section 2.3).
pub const WINDOW_SCALE_MAX: u8 = 14;
/// Room for options in bytes: the data offset has four bits (RFC 9293 section 3.1).
pub const OPTIONS_LEN_MAX: usize = 40;

/// Control bits, in the order of the wire (RFC 9293, RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Congestion window reduced.
    pub cwr: bool,
    /// ECN echo.
    pub ece: bool,
    /// Urgent pointer is significant.
    pub urg: bool,
    /// Acknowledgement number is significant.
    pub ack: bool,
    /// Push.
    pub psh: bool,
    /// Reset the connection.
    pub rst: bool,
    /// Synchronise sequence numbers.
    pub syn: bool,
    /// No more data from the sender.
    pub fin: bool,
}

/// Timestamps option (RFC 7323 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the echoed clock; legal only with ACK.
    pub echo: u32,
}

/// Up to four SACK blocks (RFC 2018 section 3), most recent first: `[left, right)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(Seq32, Seq32); 4],
    len: u8,
}

impl SackBlocks {
    /// Number that fits beside a timestamps option.
    pub const MAX_WITH_TIMESTAMPS: usize = 3;
    /// Number that fits otherwise.
    pub const MAX: usize = 4;

    /// Adds a block; false if there is no room.
    pub fn push(&mut self, left: Seq32, right: Seq32) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = (left, right);
        self.len += 1;
        true
    }

    /// The blocks, most recent first.
    #[inline]
    pub fn as_slice(&self) -> &[(Seq32, Seq32)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Number of blocks.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The options that Fairwave speaks; unknown ones are skipped on reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size in bytes; SYN only.
    pub mss: Option<u16>,
    /// Window scale shift, at most 14; SYN only.
    pub window_scale: Option<u8>,
    /// SACK permitted; SYN only.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}

/// A TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first byte (of the SYN, if set).
    pub seq: Seq32,
    /// Next sequence number expected; significant with [`Flags::ack`].
    pub ack: Seq32,
    /// Control bits.
    pub flags: Flags,
    /// Window as on the wire: unscaled.
    pub window: u16,
    /// Urgent pointer; significant with [`Flags::urg`].
    pub urgent: u16,
    /// Options.
    pub options: Options,
}

impl Header {
    /// Length on the wire in bytes, options padded to a multiple of four: 20..=60.
    #[inline]
    pub fn wire_len(&self) -> usize {
        20 + self.options.wire_len()
    }
}

impl Options {
    /// Length on the wire in bytes, padded to a multiple of four, in the layout that `write`
    /// uses: MSS 4; SACK-permitted 2 (+2 padding, shared with timestamps); timestamps 10 + 2
    /// padding; window scale 3 + 1 padding; SACK 2 + 2 padding + 8 a block.
    #[inline]
    pub fn wire_len(&self) -> usize {
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let permitted = if self.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
        let sack = match self.sack.len() {
            0 => 0,
            n => 4 + 8 * n,
        };
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        mss + permitted + timestamps + scale + sack
    }
}
