//! The frame of the paper: unsealed, IPv4 only.

use super::{ANSWER_SUBTYPE, CentiDb, GREETING_SUBTYPE, LEN, SUBTYPE, Written, pair};
use crate::ethernet::EtherType;
use crate::reader::{Reader, Truncated};
use std::net::Ipv4Addr;

/// Marks at the beginning of Fairwave's own messages to an access point. An address that begins
/// so, of 83.65.0.0/16 and its kind, cannot be reported in this format.
const OTHERS: [u16; 4] = [SUBTYPE, GREETING_SUBTYPE, ANSWER_SUBTYPE, pair::SUBTYPE];

/// The frame of the paper (section 4.4.1, Fig. 8): unsealed, IPv4 only.
///
/// The paper names the fields' C types. That they are in network order and that the SoC is in
/// whole decibels is Fairwave's reading; so is the type [`ETHER_TYPE`](super::ETHER_TYPE), whose
/// number for `ETHERTYPE_SOC` it does not give.
///
/// A report may ride on a data packet (section 4.2), and the paper does not say in which form.
/// Fairwave's form is that of a VLAN tag: the 8 bytes, the type of the payload that follows, and
/// that payload. In a frame of its own nothing follows but padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// "Sender protocol address".
    pub ipv4: Ipv4Addr,
    /// The SoC in decibels; unsigned, so levels below the noise cannot be reported.
    pub soc_db: u32,
}

impl Plain {
    /// Length in bytes.
    pub const LEN: usize = 8;

    /// The report of a level: the nearest whole number of decibels, 0 below that.
    pub fn new(ipv4: Ipv4Addr, soc: CentiDb) -> Self {
        Self { ipv4, soc_db: soc.db().round() as u32 }
    }

    /// Reads one; the rest is padding, or begins with [`Self::next`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Truncated> {
        let mut reader = Reader::new(bytes);
        let ipv4 = Ipv4Addr::from(reader.array::<4>("sender protocol address")?);
        Ok(Self { ipv4, soc_db: reader.u32_be("soc")? })
    }

    /// Type of the payload that follows in the same frame; `None` for a frame of its own.
    pub fn next(bytes: &[u8]) -> Option<EtherType> {
        let next = *bytes.get(Self::LEN..)?.first_chunk()?;
        EtherType::new(u16::from_be_bytes(next))
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&self.ipv4.octets());
        bytes[4..].copy_from_slice(&self.soc_db.to_be_bytes());
        bytes
    }

    /// Its bytes in front of a payload of this type; `None` writes a frame of its own.
    pub fn written(&self, next: Option<EtherType>) -> Written {
        let next = next.map(|next| next.number().to_be_bytes());
        Written::of(&[&self.bytes(), next.as_ref().map_or(&[], |next| next)])
    }

    /// Whether the payload of a frame of type [`ETHER_TYPE`](super::ETHER_TYPE) is to be read as
    /// this format: it does not begin as another message, and is shorter than a report even with
    /// Ethernet's padding, or has a payload behind it.
    pub fn is_meant(bytes: &[u8]) -> bool {
        let is_other = OTHERS.iter().any(|mark| bytes.starts_with(&mark.to_be_bytes()));
        !is_other && (bytes.len() < LEN || Self::next(bytes).is_some())
    }
}
