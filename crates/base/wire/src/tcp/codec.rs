//! TCP segments as bytes.

use super::{Flags, Header, OPTIONS_LEN_MAX, Options, SackBlocks, Timestamps, WINDOW_SCALE_MAX};
use crate::ipv4::PROTOCOL_TCP;
use crate::pseudo::Pseudo;
use crate::reader::{Reader, Truncated};
use fairwave_units::Seq32;
use thiserror::Error;

const FIXED_LEN: usize = 20;

/// Reason for which bytes are no TCP segment, or one cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// A data offset below five words.
    #[error("data offset at offset 12 is {words} words, below 5")]
    DataOffset {
        /// The offset stated, in words of four bytes.
        words: u8,
    },
    /// The segment was damaged.
    #[error("checksum at offset 16 is {found:#06x}, does not match the segment")]
    Checksum {
        /// Value in the header.
        found: u16,
    },
    /// An option whose length is impossible for its kind, or leads out of the header.
    #[error("option kind {kind} at offset {offset} has length {len}")]
    OptionLength {
        /// Its kind.
        kind: u8,
        /// Offset in the segment, in bytes.
        offset: usize,
        /// The length stated.
        len: u8,
    },
    /// An option of which only the kind fitted.
    #[error("option kind {kind} at offset {offset} has no length")]
    OptionCut {
        /// Its kind.
        kind: u8,
        /// Offset in the segment, in bytes.
        offset: usize,
    },
    /// A window scale that may not be sent.
    #[error("window scale {shift} is above 14")]
    WindowScale {
        /// The shift.
        shift: u8,
    },
    /// More options than a header holds.
    #[error("options of {len} bytes do not fit, the limit is 40")]
    OptionsLength {
        /// Their padded length in bytes.
        len: usize,
    },
    /// A longer segment than IPv4 carries.
    #[error("segment of {len} bytes does not fit, the limit is 65515")]
    SegmentLength {
        /// The segment's length in bytes.
        len: usize,
    },
}

/// Reads a segment that fills `bytes` and checks its sum; returns the payload.
///
/// Unknown options are skipped, of a repeated one the last counts, and a window scale above 14
/// counts as 14 (RFC 7323 section 2.3).
pub fn parse(bytes: &[u8], pseudo: Pseudo) -> Result<(Header, &[u8]), Error> {
    let fixed = fixed(bytes)?;
    let mut reader = fixed.reader;
    let options = reader.take(fixed.options_len, "options")?;
    check_sum(bytes, pseudo, fixed.checksum)?;
    let mut header = fixed.header;
    header.options.parse(options)?;
    Ok((header, reader.rest()))
}

/// Reads the header of a captured segment, perhaps cut, and gives its length in bytes with it.
/// No sum is checked, and of the options those before the first broken or missing one are read.
///
/// # Errors
/// [`Error::Truncated`] within the first 20 bytes, and [`Error::DataOffset`].
pub fn parse_captured(bytes: &[u8]) -> Result<(Header, usize), Error> {
    let Fixed { mut header, options_len, reader, .. } = fixed(bytes)?;
    let rest = reader.rest();
    // What is behind the first bad option may be anything; what is before it is as it was sent.
    let _ = header.options.parse(&rest[..options_len.min(rest.len())]);
    Ok((header, FIXED_LEN + options_len))
}

/// The first 20 bytes of a header.
struct Fixed<'a> {
    /// Without options.
    header: Header,
    options_len: usize,
    checksum: u16,
    /// Stands behind them.
    reader: Reader<'a>,
}

fn fixed(bytes: &[u8]) -> Result<Fixed<'_>, Error> {
    let mut reader = Reader::new(bytes);
    let source_port = reader.u16_be("source port")?;
    let destination_port = reader.u16_be("destination port")?;
    let seq = Seq32(reader.u32_be("sequence number")?);
    let ack = Seq32(reader.u32_be("acknowledgement number")?);
    let words = reader.u8("data offset")? >> 4;
    let flags = Flags::from_byte(reader.u8("flags")?);
    let window = reader.u16_be("window")?;
    let checksum = reader.u16_be("checksum")?;
    let urgent = reader.u16_be("urgent pointer")?;
    let options_len =
        (usize::from(words) * 4).checked_sub(FIXED_LEN).ok_or(Error::DataOffset { words })?;
    let options = Options::default();
    let header = Header { source_port, destination_port, seq, ack, flags, window, urgent, options };
    Ok(Fixed { header, options_len, checksum, reader })
}

fn check_sum(bytes: &[u8], pseudo: Pseudo, found: u16) -> Result<(), Error> {
    if u16::try_from(bytes.len()).is_err() {
        return Err(Error::SegmentLength { len: bytes.len() });
    }
    let rest = pseudo.sum(PROTOCOL_TCP, bytes.len()).add(bytes).finish();
    if rest == 0 { Ok(()) } else { Err(Error::Checksum { found }) }
}

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

impl Options {
    /// Takes the options in `bytes`, up to the first that is broken.
    fn parse(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut reader = Reader::new(bytes);
        while let Ok(kind) = reader.u8("option kind") {
            let offset = FIXED_LEN + reader.offset() - 1;
            match kind {
                END => break,
                NOP => {}
                _ => {
                    let Ok(len) = reader.u8("option length") else {
                        return Err(Error::OptionCut { kind, offset });
                    };
                    let wrong = Error::OptionLength { kind, offset, len };
                    let data_len = usize::from(len).checked_sub(2).ok_or(wrong)?;
                    let data = reader.take(data_len, "option").map_err(|_| wrong)?;
                    self.set(kind, data).ok_or(wrong)?;
                }
            }
        }
        Ok(())
    }

    /// Takes an option; `None` if its length is not that of its kind.
    fn set(&mut self, kind: u8, data: &[u8]) -> Option<()> {
        match kind {
            MSS => self.mss = Some(u16::from_be_bytes(data.try_into().ok()?)),
            WINDOW_SCALE => {
                let [shift] = data.try_into().ok()?;
                self.window_scale = Some(WINDOW_SCALE_MAX.min(shift));
            }
            SACK_PERMITTED if data.is_empty() => self.sack_permitted = true,
            SACK_PERMITTED => return None,
            SACK => self.sack = SackBlocks::from_bytes(data)?,
            TIMESTAMPS => {
                let [value, echo] = words(data.try_into().ok()?);
                self.timestamps = Some(Timestamps { value, echo });
            }
            _ => {}
        }
        Some(())
    }

    /// Appends the options in the layout that [`Options::wire_len`] describes.
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            out.extend([MSS, 4]);
            out.extend(mss.to_be_bytes());
        }
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => out.extend([SACK_PERMITTED, 2]),
            (true, false) => out.extend([NOP, NOP, SACK_PERMITTED, 2]),
            (false, true) => out.extend([NOP, NOP]),
            (false, false) => {}
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            out.extend([TIMESTAMPS, 10]);
            out.extend(value.to_be_bytes());
            out.extend(echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            out.extend([NOP, WINDOW_SCALE, 3, shift]);
        }
        self.sack.write(out);
    }
}

impl SackBlocks {
    fn from_bytes(data: &[u8]) -> Option<Self> {
        let (blocks, []) = data.as_chunks::<8>() else { return None };
        if blocks.is_empty() {
            return None;
        }
        let mut sack = Self::default();
        for block in blocks {
            let [left, right] = words(*block);
            sack.push(Seq32(left), Seq32(right)).then_some(())?;
        }
        Some(sack)
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        out.extend([NOP, NOP, SACK, 2 + 8 * self.len]);
        for (left, right) in self.as_slice() {
            out.extend(left.0.to_be_bytes());
            out.extend(right.0.to_be_bytes());
        }
    }
}

fn words([a, b, c, d, e, f, g, h]: [u8; 8]) -> [u32; 2] {
    [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])]
}

impl Flags {
    fn from_byte(byte: u8) -> Self {
        let bit = |n: u8| byte >> n & 1 == 1;
        Self {
            cwr: bit(7),
            ece: bit(6),
            urg: bit(5),
            ack: bit(4),
            psh: bit(3),
            rst: bit(2),
            syn: bit(1),
            fin: bit(0),
        }
    }

    fn to_byte(self) -> u8 {
        let Self { cwr, ece, urg, ack, psh, rst, syn, fin } = self;
        [cwr, ece, urg, ack, psh, rst, syn, fin]
            .into_iter()
            .fold(0, |byte, flag| byte << 1 | u8::from(flag))
    }
}

impl Header {
    /// Appends header and payload, checksum included.
    ///
    /// # Errors
    /// [`Error::WindowScale`], [`Error::OptionsLength`] or [`Error::SegmentLength`]; then nothing
    /// is appended.
    pub fn write(&self, out: &mut Vec<u8>, pseudo: Pseudo, payload: &[u8]) -> Result<(), Error> {
        let len = self.wire_len() + payload.len();
        self.writable(len)?;
        let start = out.len();
        out.extend(self.source_port.to_be_bytes());
        out.extend(self.destination_port.to_be_bytes());
        out.extend(self.seq.0.to_be_bytes());
        out.extend(self.ack.0.to_be_bytes());
        out.extend([((self.wire_len() / 4) << 4) as u8, self.flags.to_byte()]);
        out.extend(self.window.to_be_bytes());
        out.extend([0, 0]);
        out.extend(self.urgent.to_be_bytes());
        self.options.write(out);
        out.extend(payload);
        let sum = pseudo.sum(PROTOCOL_TCP, len).add(&out[start..]).finish();
        out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }

    fn writable(&self, len: usize) -> Result<(), Error> {
        if let Some(shift) = self.options.window_scale.filter(|&shift| shift > WINDOW_SCALE_MAX) {
            return Err(Error::WindowScale { shift });
        }
        let options_len = self.options.wire_len();
        if options_len > OPTIONS_LEN_MAX {
            return Err(Error::OptionsLength { len: options_len });
        }
        if len > crate::ipv4::PAYLOAD_LEN_MAX as usize {
            return Err(Error::SegmentLength { len });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
