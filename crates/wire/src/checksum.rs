//! The Internet checksum (RFC 1071).

/// A ones' complement sum of big-endian 16-bit words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes; an odd last byte is padded with zero, so only the last part may be odd.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "it adds bytes, not another sum")]
    pub fn add(self, bytes: &[u8]) -> Self {
        // The sum of words of 32 bits folds to that of their halves, as 2^16 is 1 modulo 2^16 - 1.
        // With 64 bits for carries it overflows only after 16 GiB.
        let mut words = bytes.chunks_exact(4);
        let mut sum = self.0;
        for word in &mut words {
            sum += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        }
        let mut last = [0; 4];
        let rest = words.remainder();
        last[..rest.len()].copy_from_slice(rest);
        Self(sum + u64::from(u32::from_be_bytes(last)))
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
