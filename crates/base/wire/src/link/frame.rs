//! A frame of any link, and how the ether types in front of IP are stepped over.

use crate::ethernet::{EtherType, Mac};
use crate::reader::{Reader, Truncated};
use crate::soc;
use thiserror::Error;

/// A frame that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its 802.11 header, if it is a frame of the air.
    pub mpdu: Option<Mpdu>,
    /// The addresses of Ethernet or of the radio hop: destination and source.
    pub addresses: Option<[Mac; 2]>,
    pub(super) packets: Packets<'a>,
}

/// Fields that distinguish an MPDU from others and from its own retransmissions (802.11-2020 clause
/// 9.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpdu {
    /// Address 1: the receiver.
    pub receiver: Mac,
    /// Address 2: the transmitter.
    pub transmitter: Mac,
    /// Traffic identifier of QoS data; sequence numbers are counted for each.
    pub tid: Option<u8>,
    /// Sequence number, 0..4096.
    pub sequence: u16,
    /// Fragment number, 0..16.
    pub fragment: u8,
    /// Retry bit: it was sent before.
    pub retry: bool,
    /// Whether the capturing radio says that the check sequence is wrong.
    pub bad_fcs: bool,
}

/// The IP packets of a frame, as an iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets<'a>(pub(super) Inner<'a>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner<'a> {
    None,
    One(Captured<'a>),
    Amsdu(Captured<'a>),
}

/// Bytes of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Captured bytes, link padding included.
    pub bytes: &'a [u8],
    /// Length on the wire in bytes.
    pub wire_len: u32,
}

/// Reason for which a frame has no IP packet to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Closed {
    /// Cut before the IP header, or too short for its link.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// It carries something else; zero for frames without a type.
    #[error("carries no IP packet but type {0:#06x}")]
    NotIp(u16),
    /// An 802.11 frame that is no data frame: control, management, or data without payload.
    #[error("802.11 control or management")]
    Control,
    /// An encrypted 802.11 frame.
    #[error("encrypted")]
    Encrypted,
    /// A fragment of an MSDU other than the first.
    #[error("later fragment of an MSDU")]
    Fragment,
    /// A link header that breaks its own format.
    #[error("broken link header")]
    Broken,
    /// A link type that Fairwave does not open, by its number.
    #[error("link type {0} is not supported")]
    Unsupported(u16),
}

impl<'a> Frame<'a> {
    pub(super) fn of(packet: Captured<'a>) -> Self {
        Self { mpdu: None, addresses: None, packets: Packets(Inner::One(packet)) }
    }

    /// The IP packets within, in their order.
    pub const fn packets(&self) -> Packets<'a> {
        self.packets
    }
}

impl<'a> Captured<'a> {
    pub(super) fn new(bytes: &'a [u8], original_len: u32) -> Self {
        let wire_len = original_len.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        Self { bytes, wire_len }
    }

    /// Without its first bytes.
    pub(super) fn skip(self, len: usize) -> Result<Self, Truncated> {
        let mut reader = Reader::new(self.bytes);
        reader.take(len, "link header")?;
        Ok(Self { bytes: reader.rest(), wire_len: self.wire_len - len as u32 })
    }
}

/// VLAN tags: 802.1Q, 802.1ad, and the number that cards used before it.
pub(super) const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// LLC/SNAP with no organisation: an ether type follows (RFC 1042).
pub(super) const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
const PPPOE_SESSION: u16 = 0x8864;
/// Offset of the type of the next payload in a report ([`soc::Report::next`]).
const NEXT_OF_REPORT: usize = 4;

/// Returns the bytes after an ether type, tags, 802.3's LLC/SNAP, PPPoE and reports.
pub(super) fn typed(from: Captured<'_>) -> Result<Captured<'_>, Closed> {
    let mut reader = Reader::new(from.bytes);
    let mut kind = reader.u16_be("ether type")?;
    while TAGS.contains(&kind) {
        reader.u16_be("VLAN tag")?;
        kind = reader.u16_be("ether type")?;
    }
    if EtherType::new(kind).is_none() {
        if reader.array("LLC")? != SNAP {
            return Err(Closed::NotIp(0));
        }
        kind = reader.u16_be("ether type")?;
    }
    if kind == PPPOE_SESSION {
        kind = pppoe(&mut reader)?;
    }
    if kind == soc::ETHER_TYPE.number() {
        // A report in front of the payload, whose type it names (zero for none).
        let report = reader.take(soc::LEN, "report")?;
        kind = Reader::new(&report[NEXT_OF_REPORT..]).u16_be("next type")?;
    }
    ip_of(kind)?;
    Ok(from.skip(reader.offset())?)
}

/// Steps over PPPoE (RFC 2516 section 4) and names the ether type of PPP's payload.
fn pppoe(reader: &mut Reader<'_>) -> Result<u16, Closed> {
    reader.take(6, "PPPoE header")?;
    match reader.u16_be("PPP protocol")? {
        0x0021 => Ok(EtherType::IPV4.number()),
        0x0057 => Ok(EtherType::IPV6.number()),
        _ => Err(Closed::NotIp(PPPOE_SESSION)),
    }
}

/// Refuses any other ether type than that of IP.
pub(super) fn ip_of(kind: u16) -> Result<(), Closed> {
    let ip = [EtherType::IPV4.number(), EtherType::IPV6.number()];
    if ip.contains(&kind) { Ok(()) } else { Err(Closed::NotIp(kind)) }
}
