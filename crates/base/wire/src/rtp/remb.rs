//! Receiver Estimated Maximum Bitrate (draft-alvestrand-rmcat-remb-03 section 2.2): an RTCP packet
//! that gives a media sender its maximum rate. Also distinguishes RTCP from RTP on one port (RFC
//! 5761 section 4).

use super::Error;
use crate::reader::Reader;

/// Packet type of payload-specific feedback, and the format of messages of applications (RFC 4585
/// section 6.1).
const KIND: u8 = 206;
const FORMAT: u8 = 15;
/// Bits of the mantissa.
const MANTISSA: u32 = 18;
/// The unique identifier of REMB.
const NAME: [u8; 4] = *b"REMB";

/// A maximum rate for one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remb {
    /// Source of the feedback.
    pub sender_ssrc: u32,
    /// Source of the media.
    pub media_ssrc: u32,
    /// Rate in bits per second. The format has 18 bits of mantissa; the others are cut off.
    pub bps: u64,
}

impl Remb {
    /// Length of the packet in bytes.
    pub const LEN: usize = 24;

    /// The packet as bytes.
    pub fn bytes(self) -> [u8; Self::LEN] {
        let bits = u64::BITS - self.bps.leading_zeros();
        let exponent = bits.saturating_sub(MANTISSA);
        let [_, high, middle, low] = ((self.bps >> exponent) as u32).to_be_bytes();
        let mut out = [0; Self::LEN];
        (out[0], out[1]) = (2 << 6 | FORMAT, KIND);
        // In words of four bytes, without the first.
        out[3] = (Self::LEN / 4 - 1) as u8;
        out[4..8].copy_from_slice(&self.sender_ssrc.to_be_bytes());
        out[12..16].copy_from_slice(&NAME);
        // One source.
        out[16] = 1;
        out[17] = (exponent as u8) << 2 | high;
        (out[18], out[19]) = (middle, low);
        out[20..24].copy_from_slice(&self.media_ssrc.to_be_bytes());
        out
    }

    /// Reads a packet for one source.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Version`], and [`Error::Kind`] for other packets.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let first = reader.u8("first byte")?;
        if first >> 6 != 2 {
            return Err(Error::Version { version: first >> 6 });
        }
        let kind = reader.u8("packet type")?;
        reader.u16_be("length")?;
        let sender_ssrc = reader.u32_be("SSRC of the sender")?;
        reader.u32_be("SSRC of the media")?;
        let name = reader.take(4, "identifier")?;
        let count = reader.u8("number of SSRCs")?;
        if (first & 0x1f, kind, count) != (FORMAT, KIND, 1) || name != NAME {
            return Err(Error::Kind { kind, format: first & 0x1f });
        }
        let high = reader.u8("exponent")?;
        let low = reader.u16_be("mantissa")?;
        let mantissa = u64::from(high & 3) << 16 | u64::from(low);
        let bps = mantissa.checked_shl(u32::from(high >> 2)).unwrap_or(u64::MAX);
        Ok(Self { sender_ssrc, media_ssrc: reader.u32_be("SSRC")?, bps })
    }
}

/// Whether a datagram is RTCP rather than RTP (RFC 5761 section 4): its packet type is 192 to 223,
/// where RTP with a marker has payload types that are not used beside RTCP.
pub fn is_rtcp(bytes: &[u8]) -> bool {
    matches!(bytes, [first, kind, ..] if first >> 6 == 2 && (192..=223).contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 1 Mbps has 20 bits: exponent 2 and mantissa 250000, 0x3d090.
    #[test]
    fn a_rate_byte_by_byte() {
        let remb = Remb { sender_ssrc: 1, media_ssrc: 0x0a0b_0c0d, bps: 1_000_000 };
        let expected = [
            0x8f,
            206,
            0,
            5,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            0,
            b'R',
            b'E',
            b'M',
            b'B',
            1,
            2 << 2 | 3,
            0xd0,
            0x90,
            0x0a,
            0x0b,
            0x0c,
            0x0d,
        ];
        assert_eq!(remb.bytes(), expected);
        assert_eq!(Remb::parse(&expected), Ok(remb));
        assert!(is_rtcp(&expected));
        assert!(!is_rtcp(&[0x80, 96, 0, 0]) && !is_rtcp(&[0x80, 0xe0]) && !is_rtcp(&[0x8f]));
    }

    proptest! {
        #[test]
        fn rates_survive_to_their_precision(bps: u64, sender_ssrc: u32, media_ssrc: u32) {
            let remb = Remb { sender_ssrc, media_ssrc, bps };
            let read = Remb::parse(&remb.bytes()).expect("it was written");
            prop_assert!(read.bps <= bps && bps - read.bps <= bps >> (MANTISSA - 1));
            prop_assert_eq!(Remb { bps, ..read }, remb);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Remb::parse(&bytes);
            is_rtcp(&bytes);
        }
    }
}
