//! Computations of both ends.

use crate::KEY_LEN;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key as CipherKey, Nonce};
use core::fmt;
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::{Key, Tag};
use fairwave_wire::soc::pair::{GRANT_LEN, NONCE_LEN, PROOF_LEN, PUBLIC_LEN};
use sha2::{Digest, Sha256};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

/// Code for people to compare: a number below a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u32);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03} {:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A pair of keys for one pairing.
pub(super) struct Ephemeral {
    secret: [u8; PUBLIC_LEN],
    pub(super) public: [u8; PUBLIC_LEN],
}

impl Ephemeral {
    pub(super) fn new(secret: [u8; PUBLIC_LEN]) -> Self {
        Self { secret, public: x25519(secret, X25519_BASEPOINT_BYTES) }
    }

    /// Whether a peer's public key gives a secret that not everybody has (RFC 7748 section 6.1).
    pub(super) fn agrees_with(&self, peer: &[u8; PUBLIC_LEN]) -> bool {
        x25519(self.secret, *peer) != [0; PUBLIC_LEN]
    }
}

/// Commitment of a station before it shows its public key.
pub(super) fn commitment(public: &[u8; PUBLIC_LEN], nonce: &[u8; NONCE_LEN]) -> [u8; PUBLIC_LEN] {
    Sha256::new()
        .chain_update(b"fairwave soc pair")
        .chain_update(public)
        .chain_update(nonce)
        .finalize()
        .into()
}

/// Commitment of an access point before a station shows its public key.
pub(super) fn promise(nonce: &[u8; NONCE_LEN]) -> [u8; PUBLIC_LEN] {
    Sha256::new().chain_update(b"fairwave soc pair offer").chain_update(nonce).finalize().into()
}

/// Public values by which a pairing differs from every other.
#[derive(Clone, Copy)]
pub(super) struct Transcript {
    pub(super) station: Mac,
    pub(super) of_station: [u8; PUBLIC_LEN],
    pub(super) nonce: [u8; NONCE_LEN],
    pub(super) of_access_point: [u8; PUBLIC_LEN],
    pub(super) nonce_of_access_point: [u8; NONCE_LEN],
}

/// The key that both ends have.
pub(super) struct Shared(Key);

impl Shared {
    /// `None` for a public key that gives everybody the same secret (RFC 7748 section 6.1).
    pub(super) fn of(
        own: &Ephemeral,
        peer: &[u8; PUBLIC_LEN],
        transcript: &Transcript,
    ) -> Option<Self> {
        let secret = x25519(own.secret, *peer);
        // Whoever sends such a key knows the secret anyway: comparing it takes what time it takes.
        if secret == [0; PUBLIC_LEN] {
            return None;
        }
        let Transcript { station, of_station, nonce, of_access_point, nonce_of_access_point } =
            transcript;
        let parts: [&[u8]; 5] =
            [&station.0, of_station, nonce, of_access_point, nonce_of_access_point];
        Some(Self(Key::new(&secret).ok()?.derive("soc pair", &parts)))
    }

    pub(super) fn code(&self) -> Code {
        let Tag(bytes) = self.0.tag("soc pair code", &[]);
        let number = u64::from_be_bytes([
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        ]);
        Code((number % 1_000_000) as u32)
    }

    pub(super) fn done(&self) -> [u8; PROOF_LEN] {
        self.0.tag("soc pair done", &[]).0
    }

    pub(super) fn refused(&self) -> [u8; PROOF_LEN] {
        self.0.tag("soc pair refused", &[]).0
    }

    /// Returns whether a proof is one of this key, in a time that does not depend on the number of
    /// right bytes.
    pub(super) fn is_proof(&self, is_done: bool, proof: [u8; PROOF_LEN]) -> bool {
        let label = if is_done { "soc pair done" } else { "soc pair refused" };
        self.0.verify(label, &[], &Tag(proof)).is_ok()
    }

    /// A cipher whose key is used once, so that its nonce may be zero.
    fn cipher(&self) -> ChaCha20Poly1305 {
        let mut key = [0; KEY_LEN];
        for (part, half) in key.chunks_exact_mut(KEY_LEN / 2).enumerate() {
            half.copy_from_slice(&self.0.tag("soc pair grant", &[&[part as u8]]).0);
        }
        ChaCha20Poly1305::new(&CipherKey::from(key))
    }

    pub(super) fn seal(&self, secret: &[u8; KEY_LEN]) -> [u8; GRANT_LEN] {
        let sealed = self.cipher().encrypt(&Nonce::default(), &secret[..]);
        let mut out = [0; GRANT_LEN];
        out.copy_from_slice(&sealed.expect("32 bytes can be encrypted"));
        out
    }

    pub(super) fn open(&self, sealed: &[u8; GRANT_LEN]) -> Option<[u8; KEY_LEN]> {
        let opened = self.cipher().decrypt(&Nonce::default(), &sealed[..]).ok()?;
        opened.try_into().ok()
    }
}
