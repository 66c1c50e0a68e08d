//! IPv6 with its extension headers (RFC 8200 sections 3 and 4).

use super::packet::{Error, Fragment, Packet, Part, Transport, transport, up_to};
use crate::reader::{Reader, Truncated};
use core::net::{IpAddr, Ipv6Addr};

const HEADER_LEN: u32 = 40;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;

pub(super) fn parse(bytes: &[u8], wire_len: u32) -> Result<Packet<'_>, Error> {
    let mut reader = Reader::new(bytes);
    let word = reader.u32_be("version and traffic class")?;
    let stated = u32::from(reader.u16_be("payload length")?);
    let mut next = reader.u8("next header")?;
    let hops = reader.u8("hop limit")?;
    let source = IpAddr::V6(Ipv6Addr::from(reader.array::<16>("source address")?));
    let destination = IpAddr::V6(Ipv6Addr::from(reader.array::<16>("destination address")?));
    // Zero: a jumbogram (RFC 2675), or a packet that the card would have cut.
    let len = if stated == 0 { wire_len } else { HEADER_LEN + stated };
    let mut walk = Walk { id: 0, place: None };
    let mut rest = Reader::new(up_to(reader.rest(), len - HEADER_LEN));
    let headers = loop {
        match walk.step(next, &mut rest) {
            Ok(Some(following)) => next = following,
            Ok(None) => break Ok(()),
            Err(cut) => break Err(cut),
        }
    };
    let body = rest.rest();
    let body_len = len - HEADER_LEN - rest.offset() as u32;
    let Walk { id, place } = walk;
    // The fragment begins behind its header, with further extension headers perhaps.
    let fragment = place.and_then(|Place { units, has_more, start }| {
        Fragment::new(units, has_more, len - HEADER_LEN - start as u32)
    });
    let transport = match headers {
        Ok(()) => transport(next, Part::of(fragment), body, body_len),
        Err(_) => Transport::Unreadable(next),
    };
    let traffic_class = (word >> 20) as u8;
    Ok(Packet {
        source,
        destination,
        id,
        traffic_class,
        hops,
        len,
        fragment,
        transport,
        body,
        body_len,
    })
}

/// Content of the extension headers.
struct Walk {
    id: u32,
    place: Option<Place>,
}

/// Content of a fragment header.
#[derive(Clone, Copy)]
struct Place {
    /// Offset in units of eight bytes.
    units: u16,
    has_more: bool,
    /// Offset of the byte behind the header.
    start: usize,
}

impl Walk {
    /// Steps over an extension header and names the one behind it; `None` if `kind` is none.
    fn step(&mut self, kind: u8, rest: &mut Reader<'_>) -> Result<Option<u8>, Truncated> {
        if self.place.is_some_and(|place| place.units > 0) {
            return Ok(None);
        }
        let unit = match kind {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | FRAGMENT => 8,
            AUTHENTICATION => 4,
            _ => return Ok(None),
        };
        let mut header = *rest;
        let next = header.u8("next header")?;
        let len = usize::from(header.u8("extension length")?);
        match kind {
            FRAGMENT => {
                let word = header.u16_be("fragment offset")?;
                self.id = header.u32_be("fragment identification")?;
                rest.take(8, "fragment header")?;
                let (units, has_more) = (word >> 3, word & 1 != 0);
                self.place = Some(Place { units, has_more, start: rest.offset() });
            }
            // RFC 4302 section 2.2: in units of four bytes, less two.
            AUTHENTICATION => rest.take((len + 2) * unit, "authentication header").map(|_| ())?,
            _ => rest.take((len + 1) * unit, "extension header").map(|_| ())?,
        }
        Ok(Some(next))
    }
}
