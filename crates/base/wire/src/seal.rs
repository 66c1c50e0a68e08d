//! Seals of Fairwave's own messages: HMAC-SHA-256 (RFC 2104, FIPS 180-4) cut to its first 16 bytes,
//! as RFC 4868 section 2.1.1 cuts it for IPsec.
//!
//! A seal covers a label and a list of parts, each with its length before it, so that neither a
//! message of one format nor a field moved across a boundary passes for another.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use thiserror::Error;

/// Length of a seal in bytes.
pub const TAG_LEN: usize = 16;

/// Fewest bytes of a secret: with fewer, it is easier to guess than the seal (RFC 2104 section 3).
pub const MIN_SECRET: usize = 16;

/// Bytes that are hashed at once: a label with a report of SoC, and its context.
const GATHERED: usize = 96;

/// First byte of the hashed bytes: no tag that is sent is the secret of a derived key.
const FOR_A_TAG: u8 = 0;
const FOR_A_KEY: u8 = 1;

/// Proof that a message was written with the key. The time that `==` takes depends on the two tags;
/// that of [`Key::verify`] does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub [u8; TAG_LEN]);

/// A secret shared by two ends. It shows nothing of itself.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

/// A message that the owner of the key did not write, or that was changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the seal does not fit the message: another key, or changed bytes")]
pub struct Forged;

/// A secret too short to keep anybody out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a secret of {len} bytes, needs at least {MIN_SECRET}")]
pub struct ShortSecret {
    /// Its length in bytes.
    pub len: usize,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// The key of a secret.
    ///
    /// # Errors
    /// [`ShortSecret`] below [`MIN_SECRET`] bytes.
    pub fn new(secret: &[u8]) -> Result<Self, ShortSecret> {
        if secret.len() < MIN_SECRET {
            return Err(ShortSecret { len: secret.len() });
        }
        Ok(Self::of_any_length(secret))
    }

    /// Derives a key for one use of this one, such as a session: it reveals no other key.
    #[must_use]
    pub fn derive(&self, label: &str, parts: &[&[u8]]) -> Self {
        let secret = self.framed(FOR_A_KEY, label, parts).finalize().into_bytes();
        Self::of_any_length(&secret)
    }

    /// The seal of `parts`, in the format that `label` names.
    #[must_use]
    pub fn tag(&self, label: &str, parts: &[&[u8]]) -> Tag {
        let whole = self.framed(FOR_A_TAG, label, parts).finalize().into_bytes();
        let mut tag = [0; TAG_LEN];
        tag.copy_from_slice(&whole[..TAG_LEN]);
        Tag(tag)
    }

    /// Returns whether `tag` is the seal of `parts`, in a time that does not depend on the number
    /// of right bytes.
    ///
    /// # Errors
    /// [`Forged`] if it is not.
    pub fn verify(&self, label: &str, parts: &[&[u8]], tag: &Tag) -> Result<(), Forged> {
        self.framed(FOR_A_TAG, label, parts).verify_truncated_left(&tag.0).map_err(|_| Forged)
    }

    fn of_any_length(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    /// The hash over purpose, label and parts, each of the latter behind its length.
    fn framed(&self, purpose: u8, label: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        // The hash takes a few long pieces faster than many short ones.
        let (mut gathered, mut used) = ([0; GATHERED], 0);
        let mut take = |bytes: &[u8]| {
            if used + bytes.len() > GATHERED {
                mac.update(&gathered[..used]);
                used = 0;
            }
            match gathered.get_mut(used..used + bytes.len()) {
                Some(room) => {
                    room.copy_from_slice(bytes);
                    used += bytes.len();
                }
                None => mac.update(bytes),
            }
        };
        take(&[purpose]);
        for part in [label.as_bytes()].iter().chain(parts) {
            take(&(part.len() as u64).to_be_bytes());
            take(part);
        }
        mac.update(&gathered[..used]);
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hex, unhex};
    use proptest::prelude::*;

    fn plain(secret: &[u8], message: &[u8]) -> String {
        let mut mac = Key::of_any_length(secret).0;
        mac.update(message);
        hex(&mac.finalize().into_bytes())
    }

    #[test]
    fn the_hash_is_that_of_rfc_4231() {
        let first = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(plain(&[0x0b; 20], b"Hi There"), first);
        let second = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(plain(b"Jefe", b"what do ya want for nothing?"), second);
        let third = "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe";
        assert_eq!(plain(&[0xaa; 20], &[0xdd; 50]), third);
        let sixth = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(plain(&[0xaa; 131], message), sixth);
    }

    #[test]
    fn a_cut_tag_is_the_left_half_as_in_rfc_4231_test_5() {
        // Test case 5 states the first 128 bits alone.
        let cut = plain(&[0x0c; 20], b"Test With Truncation")[..32].to_owned();
        assert_eq!(cut, "a3b6167473100ee06e0c796c2955552b");
    }

    #[test]
    fn a_tag_covers_label_and_parts_behind_their_lengths() {
        let key = Key::new(&[0x0b; 20]).unwrap();
        let message = "00 0000000000000004 66756c6c 0000000000000002 4869 0000000000000000 \
                       0000000000000001 21";
        let tag = key.tag("full", &[b"Hi", b"", b"!"]);
        assert_eq!(hex(&tag.0), plain(&[0x0b; 20], &unhex(message))[..32]);
    }

    #[test]
    fn short_secrets_are_refused_and_none_is_shown() {
        let error = Key::new(b"fifteen bytes..").unwrap_err();
        assert_eq!(error.to_string(), "a secret of 15 bytes, needs at least 16");
        let key = Key::new(b"sixteen bytes...").unwrap();
        assert_eq!(format!("{key:?}"), "Key(..)");
    }

    #[test]
    fn derived_keys_differ_by_label_and_parts() {
        let key = Key::new(&[7; 32]).unwrap();
        let tags = [
            key.tag("m", &[b"x"]),
            key.derive("a", &[b"s"]).tag("m", &[b"x"]),
            key.derive("b", &[b"s"]).tag("m", &[b"x"]),
            key.derive("a", &[b"t"]).tag("m", &[b"x"]),
        ];
        let apart = |i: usize| tags[i + 1..].iter().all(|other| *other != tags[i]);
        assert!((0..tags.len()).all(apart), "{tags:?}");
    }

    proptest! {
        #[test]
        fn parts_of_any_length_are_hashed_behind_their_lengths(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..6),
        ) {
            let mut message = vec![FOR_A_TAG];
            for part in [&b"label".to_vec()].into_iter().chain(&parts) {
                message.extend((part.len() as u64).to_be_bytes());
                message.extend(part);
            }
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let tag = Key::of_any_length(&[7; 32]).tag("label", &parts);
            prop_assert_eq!(hex(&tag.0), &plain(&[7; 32], &message)[..32]);
        }

        #[test]
        fn only_the_sealed_message_passes(
            secret in prop::collection::vec(any::<u8>(), MIN_SECRET..40),
            first: Vec<u8>, second in prop::collection::vec(any::<u8>(), 1..40),
            bit in 0..128usize, at: prop::sample::Index,
        ) {
            let key = Key::new(&secret).unwrap();
            let tag = key.tag("test", &[&first, &second]);
            prop_assert_eq!(key.verify("test", &[&first, &second], &tag), Ok(()));
            let mut other = tag;
            other.0[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(key.verify("test", &[&first, &second], &other), Err(Forged));
            let mut changed = second.clone();
            changed[at.index(second.len())] ^= 1;
            prop_assert_eq!(key.verify("test", &[&first, &changed], &tag), Err(Forged));
            prop_assert_eq!(key.verify("best", &[&first, &second], &tag), Err(Forged));
            let joined = [first.as_slice(), second.as_slice()].concat();
            prop_assert_eq!(key.verify("test", &[&joined], &tag), Err(Forged));
            let unknown = key.derive("other", &[]);
            prop_assert_eq!(unknown.verify("test", &[&first, &second], &tag), Err(Forged));
        }
    }
}
