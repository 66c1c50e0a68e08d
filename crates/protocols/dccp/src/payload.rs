//! Payload of a connection: bytes on a live host, lengths in a simulation.

use bytes::Bytes;
use core::fmt;

/// The application data of one packet.
pub trait Payload: Clone + fmt::Debug {
    /// Its length in bytes.
    fn len(&self) -> u32;

    /// Whether it has no bytes; a datagram may have none (RFC 4340 section 5.4).
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// CRC-32c of its bytes (RFC 4340 section 9.3); `None` if it has no bytes to look at.
    fn crc32c(&self) -> Option<u32> {
        None
    }

    /// Padding of `len` bytes for a probe of the path; `None` if there are no probes.
    fn padding(_len: u32) -> Option<Self> {
        None
    }
}

/// Data of which only the length is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Virtual(pub u32);

impl Payload for Virtual {
    fn len(&self) -> u32 {
        self.0
    }
}

impl Payload for Bytes {
    fn len(&self) -> u32 {
        u32::try_from(Self::len(self)).unwrap_or(u32::MAX)
    }

    fn crc32c(&self) -> Option<u32> {
        Some(crc32c::crc32c(self))
    }

    fn padding(len: u32) -> Option<Self> {
        Some(Self::from(vec![0; len as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720 appendix B.4: 32 bytes of zeros, of ones, and counting up. None of zero bytes is
    /// zero (RFC 4340 section 9.3).
    #[test]
    fn the_crc_of_iscsi() {
        let crc = |bytes: Vec<u8>| Payload::crc32c(&Bytes::from(bytes)).unwrap();
        assert_eq!(crc(vec![0; 32]), 0x8a91_36aa);
        assert_eq!(crc(vec![0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc((0..32).collect()), 0x46dd_794e);
        assert_eq!(crc(Vec::new()), 0);
    }
}
