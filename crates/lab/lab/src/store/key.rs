//! Keys of results.

use sha2::{Digest, Sha256};

/// Bytes of a SHA-256.
pub const HASH_BYTES: usize = 32;

/// Version of the code that makes results, which are kept apart by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u8; HASH_BYTES]);

impl Version {
    /// The version of this program: a hash over the sources of everything that a run depends on,
    /// taken when it was built. If the crate was built without the others' sources beside it, a
    /// hash of its version number.
    pub fn of_build() -> Self {
        let hex = env!("FAIRWAVE_SIMULATES").as_bytes();
        let digit = |at: usize| (hex[at] as char).to_digit(16).unwrap_or(0) as u8;
        Self(std::array::from_fn(|i| 16 * digit(2 * i) + digit(2 * i + 1)))
    }

    /// Its first bytes, for people.
    pub fn short(&self) -> String {
        self.0[..6].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Identity of a result: everything that affects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    hash: [u8; HASH_BYTES],
    text: String,
}

impl Key {
    /// The key of a `part` of the results, such as the summary, of this scenario with every default
    /// and the seed written out, in a version of the code.
    pub fn new(version: &Version, part: &str, scenario: &str) -> Self {
        let text = format!("{part}\n{scenario}");
        let hash = Sha256::new().chain_update(version.0).chain_update(&text).finalize().into();
        Self { hash, text }
    }

    /// Hash by which it is found.
    pub fn hash(&self) -> &[u8; HASH_BYTES] {
        &self.hash
    }

    /// All of it but the version, to be compared with the key in an entry.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_acts_is_told_apart() {
        let (one, other) = (Version([1; 32]), Version([2; 32]));
        let keys = [
            Key::new(&one, "summary", "seed = 1"),
            Key::new(&one, "summary", "seed = 2"),
            Key::new(&one, "series", "seed = 1"),
            Key::new(&other, "summary", "seed = 1"),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|before| before.hash() != key.hash()), "{i}");
        }
        assert_eq!(keys[0], Key::new(&one, "summary", "seed = 1"));
    }

    #[test]
    fn this_program_has_a_version() {
        let version = Version::of_build();
        assert_ne!(version.0, [0; 32]);
        assert_eq!(version.short().len(), 12);
    }
}
