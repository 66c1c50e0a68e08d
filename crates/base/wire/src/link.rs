//! From a captured frame of any link to the IP packets within it.
//!
//! [`open`] takes the fields of a capture file (link type, bytes, original length) and gives the IP
//! packets of the frame: one, or those of an A-MSDU. Nothing is copied or allocated. Frames that a
//! capture may well hold are accepted: VLAN tags, cut frames, wrong check sequences of frames on
//! the air are reported, not refused.

use crate::ethernet::Mac;
use crate::pcapng::LinkType;
use crate::reader::Reader;
use frame::{Inner, TAGS, ip_of, typed};

mod air;
mod frame;

pub use frame::{Captured, Closed, Frame, Mpdu, Packets};

/// Link types by number (the registry at tcpdump.org/linktypes.html).
mod number {
    pub(super) const NULL: u16 = 0;
    pub(super) const ETHERNET: u16 = 1;
    /// Link type that some systems write for raw IP instead of 101.
    pub(super) const RAW_BSD: u16 = 12;
    pub(super) const RAW_OPENBSD: u16 = 14;
    pub(super) const RAW: u16 = 101;
    pub(super) const IEEE802_11: u16 = 105;
    pub(super) const LOOP: u16 = 108;
    pub(super) const LINUX_SLL: u16 = 113;
    pub(super) const RADIOTAP: u16 = 127;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const LINUX_SLL2: u16 = 276;
}

/// Opens a frame of which `bytes` were captured and `original_len` were on the wire.
pub fn open(link: LinkType, bytes: &[u8], original_len: u32) -> Result<Frame<'_>, Closed> {
    let whole = Captured::new(bytes, original_len);
    match link.number() {
        number::ETHERNET => ethernet(whole),
        number::RAW | number::RAW_BSD | number::RAW_OPENBSD | number::IPV4 | number::IPV6 => {
            Ok(Frame::of(whole))
        }
        number::NULL => null(whole, u32::from_ne_bytes),
        number::LOOP => null(whole, u32::from_be_bytes),
        number::LINUX_SLL => cooked(whole, 14, 16),
        number::LINUX_SLL2 => cooked(whole, 0, 20),
        number::IEEE802_11 => air::open(whole, false),
        number::RADIOTAP => air::radiotap(whole),
        other => Err(Closed::Unsupported(other)),
    }
}

fn ethernet(whole: Captured<'_>) -> Result<Frame<'_>, Closed> {
    let mut reader = Reader::new(whole.bytes);
    let destination = Mac(reader.array("destination address")?);
    let source = Mac(reader.array("source address")?);
    let packet = typed(whole.skip(12)?)?;
    Ok(Frame { addresses: Some([destination, source]), ..Frame::of(packet) })
}

/// BSD loopback: an address family in the byte order of the machine, which a swapped number
/// shows to be another one.
fn null(whole: Captured<'_>, read: fn([u8; 4]) -> u32) -> Result<Frame<'_>, Closed> {
    let family = read(Reader::new(whole.bytes).array("address family")?);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    match family {
        2 | 10 | 24 | 28 | 30 => Ok(Frame::of(whole.skip(4)?)),
        other => Err(Closed::NotIp(other as u16)),
    }
}

/// Linux cooked captures, version 1 and 2: a protocol at an offset, then the payload; tags may
/// stand in front of it.
fn cooked(whole: Captured<'_>, protocol: usize, header: usize) -> Result<Frame<'_>, Closed> {
    let kind = Reader::new(whole.skip(protocol)?.bytes).u16_be("protocol")?;
    let packet = whole.skip(header)?;
    if TAGS.contains(&kind) {
        // A tag's value comes first here, and then a type: two bytes on.
        return Ok(Frame::of(typed(packet.skip(2)?)?));
    }
    ip_of(kind)?;
    Ok(Frame::of(packet))
}

impl<'a> Iterator for Packets<'a> {
    type Item = Captured<'a>;

    fn next(&mut self) -> Option<Captured<'a>> {
        loop {
            match core::mem::replace(&mut self.0, Inner::None) {
                Inner::None => return None,
                Inner::One(packet) => return Some(packet),
                Inner::Amsdu(body) => {
                    let (packet, rest) = air::subframe(body)?;
                    self.0 = Inner::Amsdu(rest);
                    if packet.is_some() {
                        return packet;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
