//! The Internet checksum (RFC 1071).

/// A ones' complement sum of big-endian 16-bit words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds bytes; an odd last byte is padded with zero, so only the last part may be odd.
    pub(crate) fn add(self, bytes: &[u8]) -> Self {
        let mut words = bytes.chunks_exact(2);
        let mut sum = self.0;
        for word in &mut words {
            sum += u64::from(u16::from_be_bytes([word[0], word[1]]));
        }
        if let [last] = words.remainder() {
            sum += u64::from(*last) << 8;
        }
        Self(sum)
    }

    /// The value for the checksum field; zero when the sum covered a correct one.
    pub(crate) fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_section_3() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().add(&bytes).finish(), !0xddf2);
    }

    #[test]
    fn an_odd_byte_is_the_high_half_of_a_word() {
        assert_eq!(Sum::default().add(&[0x12]).finish(), !0x1200);
    }
}
