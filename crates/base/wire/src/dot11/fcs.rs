//! The frame check sequence: CRC-32 (IEEE 802.11-2020 clause 9.2.4.8).

use super::Error;

/// Length of the frame check sequence in bytes.
pub const FCS_LEN: usize = 4;

const POLYNOMIAL: u32 = 0xedb8_8320;

/// The remainder of each byte, least significant bit first.
static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let carry = remainder & 1;
            remainder = (remainder >> 1) ^ (POLYNOMIAL * carry);
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// The CRC-32 of `frame`, as its frame check sequence holds it.
pub fn fcs(frame: &[u8]) -> u32 {
    let mut crc = !0;
    for &byte in frame {
        crc = TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
    }
    !crc
}

/// Appends the check sequence of the frame that begins at `start`.
pub(super) fn append(out: &mut Vec<u8>, start: usize) {
    let crc = fcs(&out[start..]);
    out.extend(crc.to_le_bytes());
}

/// Takes a correct check sequence off the end of a frame.
///
/// # Errors
/// [`Error::Fcs`] if it is not correct, [`Error::NoFcs`] if there is no room for one.
pub fn strip_fcs(bytes: &[u8]) -> Result<&[u8], Error> {
    let Some((frame, found)) = bytes.split_last_chunk::<FCS_LEN>() else {
        return Err(Error::NoFcs { have: bytes.len() });
    };
    let (found, expected) = (u32::from_le_bytes(*found), fcs(frame));
    if found == expected { Ok(frame) } else { Err(Error::Fcs { found, expected }) }
}
