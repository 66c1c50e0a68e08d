//! From an IP packet of a tunnel to the packets within it.
//!
//! A port alone does not make a tunnel: the header has to be valid, and an IP packet has to follow.
//! Fragments other than the first are not followed; of a first one the inner packet counts as cut.

use crate::ip::{self, Part, Transport};
use crate::link::{self, Captured, Closed, Frame, Packets};
use crate::pcapng::LinkType;
use crate::reader::Reader;

/// A kind of tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tunnel {
    /// Generic routing encapsulation (RFC 2784, 2890), with ERSPAN and uncompressed PPTP.
    Gre,
    /// IP within IP, of either version (RFC 2003, 4213, 2473).
    Ip,
    /// RFC 7348.
    Vxlan,
    /// RFC 8926.
    Geneve,
    /// User plane of GTP version 1 (3GPP TS 29.281).
    Gtp,
    /// Data of CAPWAP without DTLS (RFC 5415).
    Capwap,
}

impl Tunnel {
    /// Every kind, in the order of [`Self::index`].
    pub const ALL: [Self; 6] =
        [Self::Gre, Self::Ip, Self::Vxlan, Self::Geneve, Self::Gtp, Self::Capwap];

    /// Its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gre => "GRE",
            Self::Ip => "IP in IP",
            Self::Vxlan => "VXLAN",
            Self::Geneve => "GENEVE",
            Self::Gtp => "GTP-U",
            Self::Capwap => "CAPWAP",
        }
    }
}

/// Ports of VXLAN: that of the registry, and that of Linux before it.
const VXLAN: [u16; 2] = [4789, 8472];
const GENEVE: u16 = 6081;
const GTP: u16 = 2152;
const CAPWAP: u16 = 5247;

/// A frame within a packet of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within<'a> {
    /// The kind of the tunnel.
    pub tunnel: Tunnel,
    /// Number of the network or tunnel that the frame belongs to: the VNI of VXLAN and GENEVE, the
    /// TEID of GTP, the key of GRE and the call of PPTP. Both directions may have different ones.
    pub network: Option<u32>,
    /// The frame.
    pub frame: Frame<'a>,
}

/// Returns the IP packets within a packet of a tunnel, or else the packet itself.
pub fn packets(packet: Captured<'_>) -> (Option<Within<'_>>, Packets<'_>) {
    let outer = ip::parse(packet.bytes, packet.wire_len).ok();
    match outer.and_then(|outer| inner(&outer)) {
        Some(within) => (Some(within), within.frame.packets()),
        None => (None, Frame::of(packet).packets()),
    }
}

/// Returns the frame within a packet of a tunnel, if it has an IP packet; `None` if the packet
/// belongs to no tunnel, or to one with other content.
pub fn inner<'a>(packet: &ip::Packet<'a>) -> Option<Within<'a>> {
    if packet.part() == Part::Later {
        return None;
    }
    let (tunnel, (network, frame)) = match packet.transport {
        Transport::Other(protocol) => {
            let body = Captured::new(packet.body, packet.body_len);
            match protocol {
                4 | 41 => (Tunnel::Ip, (None, Frame::of(body))),
                47 => (Tunnel::Gre, gre(body).ok()?),
                _ => return None,
            }
        }
        Transport::Udp(datagram) => {
            let body = Captured::new(datagram.payload, datagram.payload_len);
            let ports = [datagram.source_port, datagram.destination_port];
            let [_, to] = ports;
            match to {
                _ if VXLAN.contains(&to) => (Tunnel::Vxlan, vxlan(body).ok()?),
                GENEVE => (Tunnel::Geneve, geneve(body).ok()?),
                GTP => (Tunnel::Gtp, gtp(body).ok()?),
                _ if ports.contains(&CAPWAP) => (Tunnel::Capwap, (None, capwap(body).ok()?)),
                _ => return None,
            }
        }
        _ => return None,
    };
    let first = frame.packets().next()?;
    ip::parse(first.bytes, first.wire_len).ok()?;
    Some(Within { tunnel, network, frame })
}

/// The network of a frame, and the frame.
type Numbered<'a> = (Option<u32>, Frame<'a>);

fn ethernet(frame: Captured<'_>) -> Result<Frame<'_>, Closed> {
    link::open(LinkType::Ethernet, frame.bytes, frame.wire_len)
}

/// Frames of Ethernet.
const BRIDGED: u16 = 0x6558;
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

fn gre(body: Captured<'_>) -> Result<Numbered<'_>, Closed> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGEMENT: u16 = 0x0080;
    const VERSION: u16 = 0x0007;
    let mut reader = Reader::new(body.bytes);
    let flags = reader.u16_be("GRE flags")?;
    let kind = reader.u16_be("protocol of GRE")?;
    // Version 1 is that of PPTP (RFC 2637).
    let fields = match flags & VERSION {
        0 if flags & ROUTING == 0 => [CHECKSUM, KEY, SEQUENCE],
        1 if flags & (CHECKSUM | ROUTING) == 0 => [KEY, SEQUENCE, ACKNOWLEDGEMENT],
        _ => return Err(Closed::Broken),
    };
    let mut key = None;
    for field in fields.into_iter().filter(|field| flags & field != 0) {
        let word = reader.u32_be("field of GRE")?;
        key = key.or((field == KEY).then_some(word));
    }
    let network = key.map(|key| match (flags & VERSION, kind) {
        // The length of the payload stands before the call.
        (1, _) => key & 0xffff,
        // The last byte may be that of a flow (NVGRE, RFC 7637).
        (_, BRIDGED) => key >> 8,
        _ => key,
    });
    let has_sequence = flags & SEQUENCE != 0;
    let frame = match kind {
        // Mirrored frames: version I has no header, II has one of eight bytes.
        ERSPAN => ethernet(body.skip(reader.offset() + if has_sequence { 8 } else { 0 })?),
        ERSPAN_III => {
            let header = reader.take(12, "ERSPAN header")?;
            let optional = if header[11] & 1 == 0 { 0 } else { 8 };
            ethernet(body.skip(reader.offset() + optional)?)
        }
        _ => link::behind(body.skip(reader.offset())?, kind).map(Frame::of),
    };
    Ok((network, frame?))
}

fn vxlan(body: Captured<'_>) -> Result<Numbered<'_>, Closed> {
    const HAS_NETWORK: u8 = 0x08;
    /// Group policy, whose identifier follows (draft-smith-vxlan-group-policy).
    const HAS_POLICY: u8 = 0x80;
    let [flags, a, b, c, x, y, z, reserved]: [u8; 8] =
        Reader::new(body.bytes).array("VXLAN header")?;
    let is_plain = flags == HAS_NETWORK && [a, b, c] == [0; 3];
    if reserved != 0 || !(is_plain || flags == HAS_NETWORK | HAS_POLICY) {
        return Err(Closed::Broken);
    }
    Ok((Some(u32::from_be_bytes([0, x, y, z])), ethernet(body.skip(8)?)?))
}

fn geneve(body: Captured<'_>) -> Result<Numbered<'_>, Closed> {
    let mut reader = Reader::new(body.bytes);
    let [version, flags] = reader.array("GENEVE version")?;
    let kind = reader.u16_be("protocol of GENEVE")?;
    let [x, y, z, reserved]: [u8; 4] = reader.array("GENEVE network")?;
    if version & 0xc0 != 0 || flags & 0x3f != 0 || reserved != 0 {
        return Err(Closed::Broken);
    }
    reader.take(usize::from(version) * 4, "GENEVE options")?;
    let frame = Frame::of(link::behind(body.skip(reader.offset())?, kind)?);
    Ok((Some(u32::from_be_bytes([0, x, y, z])), frame))
}

fn gtp(body: Captured<'_>) -> Result<Numbered<'_>, Closed> {
    /// Version 1 of the protocol, and a bit that is spare.
    const FIXED: u8 = 0xf8;
    const EXTENDED: u8 = 0x04;
    const USER_DATA: u8 = 255;
    let mut reader = Reader::new(body.bytes);
    let [flags, message] = reader.array("GTP flags")?;
    reader.u16_be("GTP length")?;
    let tunnel = reader.u32_be("GTP tunnel")?;
    if flags & FIXED != 0x30 || message != USER_DATA {
        return Err(Closed::Broken);
    }
    if flags & 0x07 != 0 {
        reader.take(3, "GTP sequence number")?;
        let mut next = reader.u8("GTP extension type")?;
        while flags & EXTENDED != 0 && next != 0 {
            let len = usize::from(reader.u8("GTP extension length")?) * 4;
            reader.take(len.checked_sub(2).ok_or(Closed::Broken)?, "GTP extension")?;
            next = reader.u8("GTP extension type")?;
        }
    }
    Ok((Some(tunnel), Frame::of(body.skip(reader.offset())?)))
}

fn capwap(body: Captured<'_>) -> Result<Frame<'_>, Closed> {
    const NATIVE: u32 = 0x100;
    const KEEP_ALIVE: u32 = 0x08;
    const OF_802_11: u32 = 1;
    let mut reader = Reader::new(body.bytes);
    let word = reader.u32_be("CAPWAP header")?;
    let [_, offset]: [u16; 2] = [reader.u16_be("fragment")?, reader.u16_be("offset")?];
    // The first byte is zero for version 0 without DTLS.
    if word >> 24 != 0 || word & KEEP_ALIVE != 0 || offset >> 3 != 0 {
        return Err(Closed::Broken);
    }
    let len = (word >> 19 & 0x1f) as usize * 4;
    let frame = body.skip(len.max(8))?;
    match (word & NATIVE != 0, word >> 9 & 0x1f) {
        (false, _) => ethernet(frame),
        (true, OF_802_11) => {
            link::open(LinkType::Other(link::number::IEEE802_11), frame.bytes, frame.wire_len)
        }
        _ => Err(Closed::Broken),
    }
}

#[cfg(test)]
mod tests;
