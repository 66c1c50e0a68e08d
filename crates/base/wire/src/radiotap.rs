//! Radiotap (radiotap.org): a radio's knowledge of a frame, in front of the frame.
//!
//! A header begins with a chain of presence words, each bit announcing a field; fields follow in
//! the order of bits, each aligned to its own size from the start of the header. Fairwave writes
//! and keeps nine fields and steps over the others. A field whose size is not known ends the
//! walk, since nothing behind it can be located; the stated length still leads to the frame.

mod modulation;
mod rate;

use crate::reader::{Reader, Truncated};
use fairwave_units::BitRate;
pub use modulation::{AmpduStatus, He, Mcs, Vht};
pub use rate::Rate;
use thiserror::Error;

/// Properties of the frame (radiotap.org, "Flags").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Sent or received with a short preamble.
    pub const SHORT_PREAMBLE: Self = Self(0x02);
    /// The frame check sequence is part of the bytes.
    pub const FCS_PRESENT: Self = Self(0x10);
    /// The frame check sequence did not match.
    pub const BAD_FCS: Self = Self(0x40);

    /// Both sets of flags.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A channel (radiotap.org, "Channel").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Centre frequency in MHz.
    pub frequency_mhz: u16,
    /// Flags: see the constants.
    pub flags: u16,
}

impl Channel {
    /// Flag of CCK modulation (802.11b).
    pub const CCK: u16 = 0x0020;
    /// Flag of OFDM modulation (802.11a and g).
    pub const OFDM: u16 = 0x0040;
    /// Flag of the 2.4 GHz band.
    pub const BAND_2_GHZ: u16 = 0x0080;
    /// Flag of the 5 GHz band.
    pub const BAND_5_GHZ: u16 = 0x0100;
}

/// Known properties of a frame; a field that is `None` is not in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Time at which the first bit arrived by the radio's clock, in microseconds.
    pub tsft_us: Option<u64>,
    /// Flags.
    pub flags: Option<Flags>,
    /// Rate in units of 500 kbps.
    pub rate_500kbps: Option<u8>,
    /// Channel.
    pub channel: Option<Channel>,
    /// Level at the antenna in dBm.
    pub signal_dbm: Option<i8>,
    /// Modulation of an HT frame; there is no rate then, nor for VHT and HE.
    pub mcs: Option<Mcs>,
    /// To which A-MPDU the frame belongs.
    pub ampdu: Option<AmpduStatus>,
    /// Modulation of a VHT frame.
    pub vht: Option<Vht>,
    /// Modulation of an HE frame.
    pub he: Option<He>,
}

/// Reason for which bytes have no radiotap header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes, or the length that the header states, ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// A version other than zero.
    #[error("version at offset 0 is {version}, not 0")]
    Version {
        /// The version found.
        version: u8,
    },
    /// A length that does not cover the fixed part.
    #[error("header length at offset 2 is {len} bytes, below 8")]
    Length {
        /// The length stated.
        len: usize,
    },
}

/// A rate in units of 500 kbps; `None` if it is no multiple or does not fit.
pub fn rate_500kbps(rate: BitRate) -> Option<u8> {
    let BitRate(bits_per_second) = rate;
    let whole = bits_per_second.is_multiple_of(500_000);
    whole.then(|| u8::try_from(bits_per_second / 500_000).ok()).flatten()
}

const FIXED_LEN: usize = 8;

const TSFT: u32 = 0;
const FLAGS: u32 = 1;
const RATE: u32 = 2;
const CHANNEL: u32 = 3;
const SIGNAL: u32 = 5;
const MCS: u32 = 19;
const AMPDU: u32 = 20;
const VHT: u32 = 21;
const HE: u32 = 23;
/// The next presence word counts from the first radiotap field again.
const RADIOTAP_NAMESPACE: u32 = 29;
/// The next presence word is a vendor's.
const VENDOR_NAMESPACE: u32 = 30;
/// Another presence word follows.
const EXTENDED: u32 = 31;

/// Alignment and size of the fields of the radiotap namespace, in bytes, by bit.
const LAYOUT: [(usize, usize); 28] = [
    (8, 8),  // TSFT
    (1, 1),  // flags
    (1, 1),  // rate
    (2, 4),  // channel
    (2, 2),  // FHSS
    (1, 1),  // antenna signal in dBm
    (1, 1),  // antenna noise in dBm
    (2, 2),  // lock quality
    (2, 2),  // transmit attenuation
    (2, 2),  // transmit attenuation in dB
    (1, 1),  // transmit power in dBm
    (1, 1),  // antenna
    (1, 1),  // antenna signal in dB
    (1, 1),  // antenna noise in dB
    (2, 2),  // receive flags
    (2, 2),  // transmit flags
    (1, 1),  // RTS retries
    (1, 1),  // data retries
    (4, 8),  // extended channel
    (1, 3),  // MCS
    (4, 8),  // A-MPDU status
    (2, 12), // VHT
    (8, 12), // timestamp
    (2, 12), // HE
    (2, 12), // HE multi-user
    (2, 6),  // HE multi-user, other user
    (1, 1),  // zero-length PSDU
    (2, 4),  // L-SIG
];

/// Reads a header; returns the frame behind it. Of a repeated field the first counts.
pub fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    let version = reader.u8("version")?;
    if version != 0 {
        return Err(Error::Version { version });
    }
    reader.u8("padding")?;
    let len = usize::from(reader.u16_le("header length")?);
    if len < FIXED_LEN {
        return Err(Error::Length { len });
    }
    Reader::new(bytes).take(len, "header")?;
    let (header, frame) = bytes.split_at(len);
    Ok((fields(header)?, frame))
}

/// Reads the fields of a whole header.
fn fields(bytes: &[u8]) -> Result<Header, Truncated> {
    let mut presence = Reader::new(bytes);
    presence.take(4, "fixed part")?;
    let mut reader = presence;
    while is_set(reader.u32_le("presence word")?, EXTENDED) {}

    let mut header = Header::default();
    let mut namespace = Namespace::Radiotap;
    loop {
        let word = presence.u32_le("presence word")?;
        if !namespace.read(word, &mut reader, &mut header)? {
            return Ok(header);
        }
        namespace = namespace.after(word, &mut reader)?;
        if !is_set(word, EXTENDED) {
            return Ok(header);
        }
    }
}

const fn is_set(word: u32, bit: u32) -> bool {
    word >> bit & 1 == 1
}

/// Namespace of the fields that a presence word announces.
#[derive(Clone, Copy)]
enum Namespace {
    /// Radiotap's, from bit 0.
    Radiotap,
    /// Radiotap's, from bit 32 on: none of them is defined.
    RadiotapContinued,
    /// A vendor's: its data have been stepped over as a whole.
    Vendor,
}

impl Namespace {
    /// Reads the fields that `word` announces; false if the walk must end.
    fn read(
        self,
        word: u32,
        reader: &mut Reader<'_>,
        header: &mut Header,
    ) -> Result<bool, Truncated> {
        let announced = (0..RADIOTAP_NAMESPACE).filter(|&bit| is_set(word, bit));
        match self {
            Self::Vendor => Ok(true),
            Self::RadiotapContinued => Ok(announced.count() == 0),
            Self::Radiotap => {
                for bit in announced {
                    let Some(&(align, size)) = LAYOUT.get(bit as usize) else { return Ok(false) };
                    reader.align(align, "field padding")?;
                    header.set(bit, &mut Reader::new(reader.take(size, "field")?))?;
                }
                Ok(true)
            }
        }
    }

    /// The namespace of the word after `word`. A vendor's data are stepped over here.
    fn after(self, word: u32, reader: &mut Reader<'_>) -> Result<Self, Truncated> {
        if is_set(word, VENDOR_NAMESPACE) {
            reader.align(2, "vendor padding")?;
            reader.take(4, "vendor")?;
            let len = reader.u16_le("vendor data length")?;
            reader.take(usize::from(len), "vendor data")?;
            return Ok(Self::Vendor);
        }
        if is_set(word, RADIOTAP_NAMESPACE) {
            return Ok(Self::Radiotap);
        }
        Ok(match self {
            Self::Radiotap | Self::RadiotapContinued => Self::RadiotapContinued,
            Self::Vendor => Self::Vendor,
        })
    }
}

impl Header {
    fn set(&mut self, bit: u32, field: &mut Reader<'_>) -> Result<(), Truncated> {
        match bit {
            TSFT => set_first(&mut self.tsft_us, field.u64_le("tsft")?),
            FLAGS => set_first(&mut self.flags, Flags(field.u8("flags")?)),
            RATE => set_first(&mut self.rate_500kbps, field.u8("rate")?),
            CHANNEL => {
                let frequency_mhz = field.u16_le("channel frequency")?;
                let flags = field.u16_le("channel flags")?;
                set_first(&mut self.channel, Channel { frequency_mhz, flags });
            }
            SIGNAL => set_first(&mut self.signal_dbm, field.u8("antenna signal")? as i8),
            MCS => set_first(&mut self.mcs, Mcs::parse(field)?),
            AMPDU => set_first(&mut self.ampdu, AmpduStatus::parse(field)?),
            VHT => set_first(&mut self.vht, Vht::parse(field)?),
            HE => set_first(&mut self.he, He::parse(field)?),
            _ => {}
        }
        Ok(())
    }

    /// Appends the header; the frame comes after it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; FIXED_LEN]);
        if let Some(tsft_us) = self.tsft_us {
            out.extend(tsft_us.to_le_bytes());
        }
        out.extend(self.flags.map(|flags| flags.0));
        out.extend(self.rate_500kbps);
        if let Some(Channel { frequency_mhz, flags }) = self.channel {
            align(out, start, 2);
            out.extend(frequency_mhz.to_le_bytes());
            out.extend(flags.to_le_bytes());
        }
        out.extend(self.signal_dbm.map(i8::cast_unsigned));
        if let Some(mcs) = self.mcs {
            mcs.write(out);
        }
        if let Some(ampdu) = self.ampdu {
            align(out, start, 4);
            ampdu.write(out);
        }
        if let Some(vht) = self.vht {
            align(out, start, 2);
            vht.write(out);
        }
        if let Some(he) = self.he {
            align(out, start, 2);
            he.write(out);
        }
        let len = (out.len() - start) as u16;
        out[start + 2..start + 4].copy_from_slice(&len.to_le_bytes());
        out[start + 4..start + 8].copy_from_slice(&self.presence().to_le_bytes());
    }

    fn presence(&self) -> u32 {
        u32::from(self.tsft_us.is_some()) << TSFT
            | u32::from(self.flags.is_some()) << FLAGS
            | u32::from(self.rate_500kbps.is_some()) << RATE
            | u32::from(self.channel.is_some()) << CHANNEL
            | u32::from(self.signal_dbm.is_some()) << SIGNAL
            | u32::from(self.mcs.is_some()) << MCS
            | u32::from(self.ampdu.is_some()) << AMPDU
            | u32::from(self.vht.is_some()) << VHT
            | u32::from(self.he.is_some()) << HE
    }
}

/// Pads the header that begins at `start` to a multiple of `to` bytes.
fn align(out: &mut Vec<u8>, start: usize, to: usize) {
    out.resize(start + (out.len() - start).next_multiple_of(to), 0);
}

fn set_first<T>(slot: &mut Option<T>, value: T) {
    slot.get_or_insert(value);
}

#[cfg(test)]
mod tests;
