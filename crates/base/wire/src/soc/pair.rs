//! Messages by which a station gets its key from an access point that it has never met.
//!
//! Each is the payload of a frame of its own of type [`super::ETHER_TYPE`]. Their purpose is in
//! `fairwave_soc::pairing`; the layout is in `docs/models/soc.md`.

use crate::ethernet::Mac;
use crate::reader::{Reader, Truncated};
use thiserror::Error;

/// Mark that distinguishes pairing from other messages under that type: "SP".
pub const SUBTYPE: u16 = 0x5350;
/// Length of a public key, and of a commitment, in bytes.
pub const PUBLIC_LEN: usize = 32;
/// Length of the nonce of a commitment in bytes.
pub const NONCE_LEN: usize = 32;
/// Length of a key that is sealed for its station, in bytes.
pub const GRANT_LEN: usize = 48;
/// Length of a proof in bytes.
pub const PROOF_LEN: usize = 16;
/// Version 1 had no nonce of the access point.
const VERSION: u8 = 2;

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The station wants a key, and has chosen a public key that hashes to this.
    Hello {
        /// Hash of the public key and a nonce.
        commitment: [u8; PUBLIC_LEN],
    },
    /// The access point's public key, and the hash of a nonce that it has chosen.
    Offer {
        /// An X25519 public key (RFC 7748 section 6.1).
        public: [u8; PUBLIC_LEN],
        /// Hash of the nonce.
        commitment: [u8; PUBLIC_LEN],
    },
    /// The station's random value.
    Reveal {
        /// An X25519 public key.
        public: [u8; PUBLIC_LEN],
        /// The value hashed beside it.
        nonce: [u8; NONCE_LEN],
    },
    /// The access point's random value.
    Opened {
        /// The value hashed for the offer.
        nonce: [u8; NONCE_LEN],
    },
    /// The station's key, which no other host can read.
    Grant {
        /// 32 bytes and the tag of ChaCha20-Poly1305 (RFC 8439 section 2.8).
        sealed: [u8; GRANT_LEN],
    },
    /// The station has it.
    Done {
        /// Made with the key that both have.
        proof: [u8; PROOF_LEN],
    },
    /// The access point gives none.
    Refused {
        /// Made with the key that both have.
        proof: [u8; PROOF_LEN],
    },
}

/// A message of the pairing of one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The station's link address, never that of a group.
    pub station: Mac,
    /// Its content.
    pub body: Body,
}

/// Reason for which bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Something else, or another version.
    #[error("begins with {found:02x?}, not as a message of pairing of version {VERSION}")]
    Beginning {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A station cannot have the address of a group.
    #[error("station address at offset 4 is {found}, that of a group")]
    Group {
        /// The address found.
        found: Mac,
    },
}

impl Body {
    const fn number(&self) -> u8 {
        match self {
            Self::Hello { .. } => 1,
            Self::Offer { .. } => 2,
            Self::Reveal { .. } => 3,
            Self::Grant { .. } => 4,
            Self::Done { .. } => 5,
            Self::Refused { .. } => 6,
            Self::Opened { .. } => 7,
        }
    }
}

impl Message {
    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let [high, low] = SUBTYPE.to_be_bytes();
        let mut bytes = vec![high, low, VERSION, self.body.number()];
        bytes.extend(self.station.0);
        match &self.body {
            Body::Hello { commitment } => bytes.extend(commitment),
            Body::Offer { public, commitment } => {
                bytes.extend(public);
                bytes.extend(commitment);
            }
            Body::Opened { nonce } => bytes.extend(nonce),
            Body::Reveal { public, nonce } => {
                bytes.extend(public);
                bytes.extend(nonce);
            }
            Body::Grant { sealed } => bytes.extend(sealed),
            Body::Done { proof } | Body::Refused { proof } => bytes.extend(proof),
        }
        bytes
    }

    /// Reads one; the rest is padding.
    ///
    /// # Errors
    /// If the bytes are none.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let found: [u8; 4] = reader.array("subtype, version and kind")?;
        let [high, low] = SUBTYPE.to_be_bytes();
        let wrong = Error::Beginning { found };
        let [a, b, VERSION, kind] = found else { return Err(wrong) };
        if [a, b] != [high, low] {
            return Err(wrong);
        }
        let station = Mac(reader.array("station address")?);
        let body = match kind {
            1 => Body::Hello { commitment: reader.array("commitment")? },
            2 => Body::Offer {
                public: reader.array("public key")?,
                commitment: reader.array("commitment")?,
            },
            3 => {
                Body::Reveal { public: reader.array("public key")?, nonce: reader.array("nonce")? }
            }
            4 => Body::Grant { sealed: reader.array("sealed key")? },
            5 => Body::Done { proof: reader.array("proof")? },
            6 => Body::Refused { proof: reader.array("proof")? },
            7 => Body::Opened { nonce: reader.array("nonce")? },
            _ => return Err(wrong),
        };
        if station.is_group() {
            return Err(Error::Group { found: station });
        }
        Ok(Self { station, body })
    }

    /// Whether the payload of a frame is meant as one.
    pub fn is_meant(bytes: &[u8]) -> bool {
        bytes.starts_with(&SUBTYPE.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bodies() -> impl Strategy<Value = Body> {
        prop_oneof![
            any::<[u8; 32]>().prop_map(|commitment| Body::Hello { commitment }),
            any::<([u8; 32], [u8; 32])>()
                .prop_map(|(public, commitment)| Body::Offer { public, commitment }),
            any::<[u8; 32]>().prop_map(|nonce| Body::Opened { nonce }),
            any::<([u8; 32], [u8; 32])>()
                .prop_map(|(public, nonce)| Body::Reveal { public, nonce }),
            any::<([u8; 32], [u8; 16])>().prop_map(|(key, tag)| {
                let mut sealed = [0; GRANT_LEN];
                sealed[..32].copy_from_slice(&key);
                sealed[32..].copy_from_slice(&tag);
                Body::Grant { sealed }
            }),
            any::<[u8; 16]>().prop_map(|proof| Body::Done { proof }),
            any::<[u8; 16]>().prop_map(|proof| Body::Refused { proof }),
        ]
    }

    #[test]
    fn a_hello_is_laid_out_by_hand() {
        let body = Body::Hello { commitment: [9; 32] };
        let bytes = Message { station: Mac::local(3), body }.bytes();
        assert_eq!(bytes[..11], [0x53, 0x50, 2, 1, 2, 0, 0, 0, 0, 3, 9]);
        assert_eq!(bytes.len(), 42);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(body in bodies(), number: u32, padding: [u8; 20], at: usize) {
            let message = Message { station: Mac::local(number), body };
            let bytes = message.bytes();
            prop_assert_eq!(Message::parse(&bytes), Ok(message));
            prop_assert_eq!(Message::parse(&[&bytes[..], &padding].concat()), Ok(message));
            prop_assert!(Message::parse(&bytes[..at % bytes.len()]).is_err());
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes: Vec<u8>, kind in 0..10u8) {
            let begun = [&[0x53, 0x50, 2, kind], &bytes[..]].concat();
            for bytes in [bytes, begun] {
                if let Ok(message) = Message::parse(&bytes) {
                    prop_assert!(bytes.starts_with(&message.bytes()));
                    prop_assert!(Message::is_meant(&bytes) && !message.station.is_group());
                }
            }
        }
    }
}
