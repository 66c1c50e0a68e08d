//! Counts with their nouns.

use core::fmt::Display;

/// Returns a number with its noun, `1 run` or `2 runs`, for nouns whose plural ends in `s`.
pub fn several<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let s = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_has_no_s() {
        let printed = [0_u64, 1, 2].map(|count| several(count, "run"));
        assert_eq!(printed, ["0 runs", "1 run", "2 runs"]);
    }
}
