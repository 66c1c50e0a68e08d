//! Links of serial lines and of Linux's packet filter: PPP, Cisco HDLC, NFLOG.

use super::content::Content;
use super::frame::{Captured, Closed};
use super::typed::{address_of_ppp, behind, ppp};
use crate::reader::Reader;

/// Returns the IP packet of a PPP frame (RFC 1661), or of one of Cisco HDLC on the same line.
pub(super) fn point_to_point(whole: Captured<'_>) -> Result<Captured<'_>, Closed> {
    if let [0x0f | 0x8f, 0x00, ..] = whole.bytes {
        return cisco(whole);
    }
    let mut reader = Reader::new(whole.bytes);
    address_of_ppp(&mut reader);
    let kind = ppp(&mut reader)?;
    behind(whole.skip(reader.offset())?, kind)
}

/// Returns the IP packet of a frame of Cisco HDLC: address, control, ether type (RFC 1547 section
/// 4.3).
pub(super) fn cisco(whole: Captured<'_>) -> Result<Captured<'_>, Closed> {
    let mut reader = Reader::new(whole.bytes);
    reader.take(2, "address and control")?;
    let kind = reader.u16_be("protocol")?;
    behind(whole.skip(reader.offset())?, kind)
}

/// Attribute of NFLOG that holds the packet.
const PAYLOAD: u16 = 9;
/// Length of an attribute's own length and type in bytes.
const ATTRIBUTE_LEN: u16 = 4;

/// Returns the packet of a message of Linux's netfilter log: address family, version and resource,
/// then attributes in the byte order of the machine.
pub(super) fn nflog(whole: Captured<'_>) -> Result<Captured<'_>, Closed> {
    let mut reader = Reader::new(whole.bytes);
    let family = reader.u8("address family")?;
    reader.take(3, "version and resource")?;
    // A bridge's packets come without their link header.
    if !matches!(family, 2 | 7 | 10) {
        return Err(Closed::NotIp(Content::Family(u32::from(family))));
    }
    let length: [u8; 2] = reader.clone().array("attribute length")?;
    let fits = |len: u16| len >= ATTRIBUTE_LEN && usize::from(len) <= reader.rest().len();
    let little = u16::from_le_bytes(length);
    let is_big = !fits(little) && fits(u16::from_be_bytes(length));
    let read = if is_big { u16::from_be_bytes } else { u16::from_le_bytes };
    loop {
        let len = read(reader.array("attribute length")?);
        let kind = read(reader.array("attribute type")?);
        let Some(len) = len.checked_sub(ATTRIBUTE_LEN) else { return Err(Closed::Broken) };
        if kind == PAYLOAD {
            let rest = reader.rest();
            let bytes = &rest[..rest.len().min(usize::from(len))];
            return Ok(Captured { bytes, wire_len: u32::from(len) });
        }
        reader.take(usize::from(len).next_multiple_of(4), "attribute")?;
    }
}
