//! From an ether type or a PPP protocol to IP, through all headers that may stand between.

use super::content::Content;
use super::frame::{Captured, Closed};
use crate::ethernet::EtherType;
use crate::reader::{Reader, Truncated};
use crate::soc::{self, Plain};

/// VLAN tags: 802.1Q, 802.1ad, and the number that cards used before it.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// LLC/SNAP in front of an ether type: without organisation (RFC 1042), and that of bridges
/// (802.1H).
const SNAPS: [[u8; 6]; 2] = [[0xaa, 0xaa, 0x03, 0, 0, 0], [0xaa, 0xaa, 0x03, 0, 0, 0xf8]];
/// PPPoE's ether type for frames of a session (RFC 2516 section 4).
pub(crate) const PPPOE_SESSION: u16 = 0x8864;
/// PPP within GRE (RFC 2637).
const PPP: u16 = 0x880b;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
/// An Ethernet frame within GRE and GENEVE (RFC 1701).
const BRIDGED: u16 = 0x6558;
/// Lengths of both addresses of Ethernet.
const ADDRESSES_LEN: usize = 12;
/// Offset of the type of the next payload in a report ([`soc::Report::next`]).
const NEXT_OF_REPORT: usize = 4;

/// Returns the IP packet of bytes that begin with an ether type.
pub(super) fn typed(from: Captured<'_>) -> Result<Captured<'_>, Closed> {
    let kind = ether_type(&mut Reader::new(from.bytes))?;
    behind(from.skip(2)?, kind)
}

/// Returns the IP packet of a payload of this ether type. Each header takes some bytes, so that
/// the number of headers is bounded by the length of the frame.
pub(crate) fn behind(from: Captured<'_>, mut kind: u16) -> Result<Captured<'_>, Closed> {
    let ip = [EtherType::IPV4.number(), EtherType::IPV6.number()];
    let mut reader = Reader::new(from.bytes);
    while !ip.contains(&kind) {
        kind = match kind {
            tag if TAGS.contains(&tag) => {
                reader.u16_be("VLAN tag")?;
                ether_type(&mut reader)?
            }
            PPPOE_SESSION => {
                reader.take(6, "PPPoE header")?;
                ppp(&mut reader)?
            }
            PPP => {
                address_of_ppp(&mut reader);
                ppp(&mut reader)?
            }
            MPLS | MPLS_MULTICAST => labelled(&mut reader)?,
            BRIDGED => {
                reader.take(ADDRESSES_LEN, "Ethernet addresses")?;
                ether_type(&mut reader)?
            }
            report if report == soc::ETHER_TYPE.number() => {
                // A report in front of the payload, whose type it names (zero for none).
                let rest = reader.rest();
                if let Some(next) = Plain::next(rest).filter(|_| Plain::is_meant(rest)) {
                    // The paper's format, with the type behind it.
                    reader.take(Plain::LEN + 2, "report")?;
                    kind = next.number();
                    continue;
                }
                let bytes = reader.take(soc::LEN, "report")?;
                let next = Reader::new(&bytes[NEXT_OF_REPORT..]).u16_be("next type")?;
                let next = EtherType::new(next).ok_or(Closed::NotIp(Content::EtherType(report)))?;
                next.number()
            }
            length if EtherType::new(length).is_none() => snap(&mut reader)?,
            other => return Err(Closed::NotIp(Content::EtherType(other))),
        };
    }
    Ok(from.skip(reader.offset())?)
}

fn ether_type(reader: &mut Reader<'_>) -> Result<u16, Truncated> {
    reader.u16_be("ether type")
}

/// Steps over LLC/SNAP and returns its ether type.
pub(super) fn snap(reader: &mut Reader<'_>) -> Result<u16, Closed> {
    let [destination, source] = reader.clone().array("LLC")?;
    if is_snap(reader.rest()) {
        reader.take(SNAPS[0].len(), "SNAP")?;
        return Ok(ether_type(reader)?);
    }
    Err(Closed::NotIp(Content::Llc(u16::from_be_bytes([destination, source]))))
}

/// Whether bytes begin with LLC/SNAP in front of an ether type.
pub(super) fn is_snap(bytes: &[u8]) -> bool {
    SNAPS.iter().any(|snap| bytes.starts_with(snap))
}

/// Steps over the labels of MPLS (RFC 3032). Nothing names the payload: IP shows by its version,
/// and Ethernet by an ether type of IP at its place, with or without the control word in front of
/// it (RFC 4448 section 4.6).
fn labelled(reader: &mut Reader<'_>) -> Result<u16, Closed> {
    const BOTTOM_OF_STACK: u32 = 0x100;
    while reader.u32_be("MPLS label")? & BOTTOM_OF_STACK == 0 {}
    let rest = reader.rest();
    let first = reader.clone().u8("payload of MPLS")?;
    let is_ethernet = |control_word: usize| {
        let kind = rest.get(control_word + ADDRESSES_LEN..).and_then(|rest| rest.first_chunk());
        let kind = kind.map(|kind| u16::from_be_bytes(*kind));
        kind.is_some_and(|kind| {
            matches!(EtherType::new(kind), Some(EtherType::IPV4 | EtherType::IPV6))
                || TAGS.contains(&kind)
        })
    };
    match first >> 4 {
        4 => Ok(EtherType::IPV4.number()),
        6 => Ok(EtherType::IPV6.number()),
        0 if is_ethernet(4) => {
            reader.take(4, "control word")?;
            Ok(BRIDGED)
        }
        _ if is_ethernet(0) => Ok(BRIDGED),
        _ => Err(Closed::NotIp(Content::EtherType(MPLS))),
    }
}

/// Steps over the address and control fields of PPP, which may be left out (RFC 1661 section 6.6).
pub(super) fn address_of_ppp(reader: &mut Reader<'_>) {
    if reader.rest().starts_with(&[0xff, 0x03]) {
        let _ = reader.take(2, "PPP address");
    }
}

/// Steps over the protocol of PPP, of one byte where that is odd (RFC 1661 section 6.5), and names
/// the ether type of its payload.
pub(super) fn ppp(reader: &mut Reader<'_>) -> Result<u16, Closed> {
    let first = u16::from(reader.u8("PPP protocol")?);
    let number = match first & 1 {
        1 => first,
        _ => first << 8 | u16::from(reader.u8("PPP protocol")?),
    };
    match number {
        0x0021 => Ok(EtherType::IPV4.number()),
        0x0057 => Ok(EtherType::IPV6.number()),
        0x0281 | 0x0283 => Ok(MPLS),
        other => Err(Closed::NotIp(Content::Ppp(other))),
    }
}
