//! From a captured frame of any link to the IP packets within it.
//!
//! [`open`] takes the fields of a capture file (link type, bytes, original length) and gives the IP
//! packets of the frame: one, or those of an A-MSDU. Nothing is copied or allocated. Frames that a
//! capture may well hold are accepted: VLAN tags, cut frames, wrong check sequences of frames on
//! the air are reported, not refused.

use crate::dot11::FCS_LEN;
use crate::ethernet::Mac;
use crate::pcapng::LinkType;
use crate::radiotap::{self, Flags, Header};
use crate::reader::Reader;
use frame::Inner;
use typed::typed;

mod air;
mod content;
mod frame;
mod radio;
mod serial;
mod transmission;
mod typed;

pub use content::Content;
pub use frame::{Captured, Closed, Frame, Mpdu, Packets};
pub use transmission::{Transmission, TransmissionKind};
pub(crate) use typed::{PPPOE_SESSION, behind};

/// Link types by number (the registry at tcpdump.org/linktypes.html).
pub(crate) mod number {
    pub(super) const NULL: u16 = 0;
    pub(super) const ETHERNET: u16 = 1;
    pub(super) const PPP: u16 = 9;
    /// Link type that some systems write for raw IP instead of 101.
    pub(super) const RAW_BSD: u16 = 12;
    pub(super) const RAW_OPENBSD: u16 = 14;
    pub(super) const PPP_HDLC: u16 = 50;
    pub(super) const PPP_ETHER: u16 = 51;
    pub(super) const RAW: u16 = 101;
    pub(super) const C_HDLC: u16 = 104;
    pub(crate) const IEEE802_11: u16 = 105;
    pub(super) const LOOP: u16 = 108;
    pub(super) const LINUX_SLL: u16 = 113;
    pub(super) const PRISM: u16 = 119;
    pub(super) const RADIOTAP: u16 = 127;
    pub(super) const AVS: u16 = 163;
    pub(super) const PPP_PPPD: u16 = 166;
    pub(super) const PPI: u16 = 192;
    pub(super) const PPP_WITH_DIR: u16 = 204;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const NFLOG: u16 = 239;
    pub(super) const LINUX_SLL2: u16 = 276;
}

/// Opens a frame of which `bytes` were captured and `original_len` were on the wire.
pub fn open(link: LinkType, bytes: &[u8], original_len: u32) -> Result<Frame<'_>, Closed> {
    let whole = Captured::new(bytes, original_len);
    match link.number() {
        number::PPI => ppi(whole),
        number => of(number, whole),
    }
}

/// Reads the 802.11 header of a frame, encrypted or not; `None` if it has none that can be trusted.
pub fn transmission(link: LinkType, bytes: &[u8], original_len: u32) -> Option<Transmission> {
    let whole = Captured::new(bytes, original_len);
    let (header, frame) = match link.number() {
        number::IEEE802_11 => (Header::default(), whole),
        number::RADIOTAP => {
            let (header, frame) = radiotap::parse(bytes).ok()?;
            (header, whole.skip(bytes.len() - frame.len()).ok()?)
        }
        number::PRISM => radio::prism(whole).ok()?,
        number::AVS => radio::avs(whole).ok()?,
        number::PPI => match radio::ppi(whole).ok()? {
            (header, frame) if header.link == u32::from(number::IEEE802_11) => {
                (header.radio, frame)
            }
            _ => return None,
        },
        _ => return None,
    };
    transmission::transmission(frame, &header)
}

/// Opens a frame of any link but PPI, which itself contains one of another link.
fn of(number: u16, whole: Captured<'_>) -> Result<Frame<'_>, Closed> {
    match number {
        number::ETHERNET => ethernet(whole),
        number::RAW | number::RAW_BSD | number::RAW_OPENBSD | number::IPV4 | number::IPV6 => {
            Ok(Frame::of(whole))
        }
        number::NULL => null(whole, u32::from_ne_bytes),
        number::LOOP => null(whole, u32::from_be_bytes),
        number::LINUX_SLL => cooked(whole, 14, 16),
        number::LINUX_SLL2 => cooked(whole, 0, 20),
        number::PPP | number::PPP_HDLC => serial::point_to_point(whole).map(Frame::of),
        // A byte for the direction stands in front.
        number::PPP_PPPD | number::PPP_WITH_DIR => {
            serial::point_to_point(whole.skip(1)?).map(Frame::of)
        }
        number::PPP_ETHER => behind(whole, PPPOE_SESSION).map(Frame::of),
        number::C_HDLC => serial::cisco(whole).map(Frame::of),
        number::NFLOG => serial::nflog(whole).map(Frame::of),
        number::IEEE802_11 => air::open(whole, false),
        number::RADIOTAP => air::radiotap(whole),
        number::PRISM => air::open(radio::prism(whole)?.1, false),
        number::AVS => air::open(radio::avs(whole)?.1, false),
        other => Err(Closed::Unsupported(other)),
    }
}

/// PPI: a header of its own in front of a frame of another link.
fn ppi(whole: Captured<'_>) -> Result<Frame<'_>, Closed> {
    let (header, frame) = radio::ppi(whole)?;
    let number = u16::try_from(header.link).map_err(|_| Closed::Broken)?;
    let flags = header.radio.flags.unwrap_or_default();
    let has_fcs = flags.contains(Flags::FCS_PRESENT);
    let frame = if has_fcs { frame.shorten(FCS_LEN as u32) } else { frame };
    let mut frame = of(number, frame)?;
    if let Some(mpdu) = &mut frame.mpdu {
        mpdu.bad_fcs |= flags.contains(Flags::BAD_FCS);
    }
    Ok(frame)
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
        other => Err(Closed::NotIp(Content::Family(other))),
    }
}

/// Linux cooked captures, version 1 and 2: a protocol at an offset, then the payload; tags may
/// stand in front of it.
fn cooked(whole: Captured<'_>, protocol: usize, header: usize) -> Result<Frame<'_>, Closed> {
    let kind = Reader::new(whole.skip(protocol)?.bytes).u16_be("protocol")?;
    // The rest of a tag comes first in the payload: its value, and the next type.
    behind(whole.skip(header)?, kind).map(Frame::of)
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
