//! The Internet checksum (RFC 1071).

/// A ones' complement sum of big-endian 16-bit words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes; an odd last byte is padded with zero, so only the last part may be odd.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "it adds bytes, not another sum")]
    pub fn add(self, bytes: &[u8]) -> Self {
        let (eights, rest) = bytes.as_chunks::<8>();
        let mut sum = self.0;
        for eight in eights {
            // 2^16 is 1 modulo 2^16 - 1, so words of 32 bits add up to the same checksum.
            let word = u64::from_be_bytes(*eight);
            sum += (word >> 32) + (word & 0xffff_ffff);
        }
        let (pairs, last) = rest.as_chunks::<2>();
        for pair in pairs {
            sum += u64::from(u16::from_be_bytes(*pair));
        }
        if let [last] = last {
            sum += u64::from(*last) << 8;
        }
        Self(sum)
    }

    /// The value for the checksum field; zero when the sum covered a correct one.
    pub fn finish(self) -> u16 {
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
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071_section_3() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().add(&bytes).finish(), !0xddf2);
    }

    /// Bytes are added eight at a time, and the rest two at a time.
    #[test]
    fn all_lengths_add_up_as_words_do() {
        let bytes: Vec<u8> = (0..40u8).map(|n| n.wrapping_mul(97) ^ 0xc5).collect();
        for len in 0..bytes.len() {
            let padded = [&bytes[..len], &[0]].concat();
            let words =
                padded.chunks_exact(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
            let sum: u32 = words.sum();
            let folded = (sum & 0xffff) + (sum >> 16);
            assert_eq!(Sum::default().add(&bytes[..len]).finish(), !(folded as u16), "{len}");
        }
        assert_eq!(Sum::default().add(&[0; 16]).finish(), 0xffff);
        assert_eq!(Sum::default().add(&[0xff; 16]).finish(), 0);
    }

    #[test]
    fn an_odd_byte_is_the_high_half_of_a_word() {
        assert_eq!(Sum::default().add(&[0x12]).finish(), !0x1200);
    }

    proptest! {
        /// In one part or in two, by the definition: words of 16 bits, carries added at the end.
        #[test]
        fn a_sum_is_that_of_its_words(
            bytes in prop::collection::vec(any::<u8>(), 0..70),
            cut in 0usize..35,
        ) {
            let byte = |pair: &[u8], i: usize| u32::from(*pair.get(i).unwrap_or(&0));
            let word = |pair: &[u8]| byte(pair, 0) << 8 | byte(pair, 1);
            let mut sum: u32 = bytes.chunks(2).map(word).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            let (head, tail) = bytes.split_at((2 * cut).min(bytes.len()));
            prop_assert_eq!(Sum::default().add(&bytes).finish(), !(sum as u16));
            prop_assert_eq!(Sum::default().add(head).add(tail).finish(), !(sum as u16));
        }
    }
}
