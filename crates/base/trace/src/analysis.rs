//! Analysis of captures: TCP connections and streams of UDP and DCCP, packet by packet.
//!
//! An [`Analyzer`] receives frames in the order of a capture, and keeps a bounded state for each
//! live stream. Points for drawings are passed to [`Points`] at once, and the result of a stream
//! when it ends; the analyser itself keeps neither. `docs/models/trace.md` defines every figure,
//! and explains differences to tshark's.

use fairwave_units::Instant;
use fairwave_wire::ip;
use fairwave_wire::link::{self, Closed, Content};
use fairwave_wire::pcapng::LinkType;
use fairwave_wire::tunnel::{self, Tunnel, Within};

mod air;
mod arrival;
pub mod compare;
mod config;
mod contents;
mod copies;
mod cut;
mod fragments;
mod hosts;
mod jitter;
mod kind;
mod live;
mod packets;
mod points;
mod radio;
mod sketch;
mod stream;
mod table;
mod tcp;
mod udp;

use air::Air;
use arrival::Arrival;
pub use config::Config;
pub use contents::Contents;
use fragments::{Fragments, Held};
pub use jitter::Jitter;
pub use kind::Kind;
use live::Streams;
pub use packets::Packets;
pub use points::{Ignore, Interval, Mark, Point, Points, SpellKind};
use radio::Radio;
pub use radio::RadioPair;
pub use sketch::Quantiles;
pub use stream::{
    AcksLost, End, Evidence, Numbering, Numbers, Side, Spells, Stream, StreamId, TcpWay, Volume,
    Way,
};

/// A frame in a capture.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// Capture time, from the epoch of the capture.
    pub at: Instant,
    /// Link-layer type of its header.
    pub link: LinkType,
    /// Its captured bytes, which may be fewer than its length.
    pub bytes: &'a [u8],
    /// Length on the wire in bytes.
    pub original_len: u32,
}

/// Counts of the frames and packets of a capture; each is in exactly one count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Frames by content.
    pub frames: Frames,
    /// IP packets in them; of a tunnel, the packets within.
    pub packets: Packets,
    /// Packets of each tunnel that was followed, in the order of [`Tunnel::ALL`].
    pub tunnels: [u64; Tunnel::ALL.len()],
    /// Frames and packets of protocols that are not read.
    pub contents: Contents,
    /// Streams of TCP.
    pub tcp_streams: u64,
    /// Streams of UDP.
    pub udp_streams: u64,
    /// Streams of DCCP.
    pub dccp_streams: u64,
    /// Streams that were reported while they were open because of a limit
    /// ([`Config::streams_max`]).
    pub evicted: u64,
    /// Earliest and latest time of a frame.
    pub span: Option<(Instant, Instant)>,
    /// Frames with a time before that of the previous frame.
    pub backward: u64,
}

/// Frames of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// All frames: the sum of the following.
    pub seen: u64,
    /// Frames with readable content; an A-MSDU may have several IP packets, or none.
    pub opened: u64,
    /// Retransmitted MPDUs that had been captured before.
    pub repeated: u64,
    /// 802.11 frames with a wrong check sequence.
    pub bad_fcs: u64,
    /// ARP and other protocols that are not IP.
    pub not_ip: u64,
    /// 802.11 control and management.
    pub control: u64,
    /// Encrypted 802.11 data.
    pub encrypted: u64,
    /// Later fragments of an MSDU.
    pub fragments: u64,
    /// Truncated before the end of the IP header.
    pub truncated: u64,
    /// A link header that breaks its format.
    pub broken: u64,
    /// Of a link type that cannot be opened.
    pub unsupported: u64,
}

/// Analyses a capture, frame by frame.
#[derive(Debug)]
pub struct Analyzer {
    checksums: bool,
    totals: Totals,
    last: Instant,
    air: Air,
    radio: Radio,
    fragments: Fragments,
    streams: Streams,
}

impl Analyzer {
    /// Creates an analyser without frames.
    pub fn new(config: Config) -> Self {
        Self {
            checksums: config.checksums,
            totals: Totals::default(),
            last: Instant::ZERO,
            air: Air::default(),
            radio: Radio::default(),
            fragments: Fragments::default(),
            streams: Streams::new(config),
        }
    }

    /// Handles the next frame of the capture.
    pub fn push(&mut self, frame: Captured<'_>, to: &mut impl Points) {
        self.clock(frame.at);
        if let Some(sent) = link::transmission(frame.link, frame.bytes, frame.original_len) {
            self.radio.frame(&sent);
        }
        let frames = &mut self.totals.frames;
        frames.seen += 1;
        match link::open(frame.link, frame.bytes, frame.original_len) {
            Ok(opened) => {
                if let Some(mpdu) = &opened.mpdu {
                    if mpdu.bad_fcs {
                        frames.bad_fcs += 1;
                        return;
                    }
                    if self.air.repeats(frame.at, mpdu) {
                        frames.repeated += 1;
                        return;
                    }
                }
                frames.opened += 1;
                for packet in opened.packets() {
                    self.push_ip(frame.at, packet, to);
                }
            }
            Err(closed) => {
                frames.closed(closed);
                match closed {
                    Closed::NotIp(content) => self.totals.contents.count(content),
                    Closed::Unsupported(link) => {
                        self.totals.contents.count(Content::LinkType(link));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns the counts of all frames so far.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the use of the air by transmitter and receiver so far, in the order of first frames.
    pub fn radio(&self) -> &[RadioPair] {
        self.radio.pairs()
    }

    /// Returns the number of frames of further pairs, which are not counted apart.
    pub const fn radio_left_out(&self) -> u64 {
        self.radio.left_out()
    }

    /// Reports all remaining streams, in the order of their numbers. Returns the totals.
    pub fn finish(mut self, to: &mut impl Points) -> Totals {
        let end = self.totals.span.map_or(Instant::ZERO, |(_, last)| last);
        while let Some(held) = self.fragments.rest() {
            self.held(&held, to);
        }
        self.fragments.finish(&mut self.totals.packets);
        self.streams.finish(end, to);
        self.totals.evicted = self.streams.evicted();
        self.totals
    }

    fn clock(&mut self, at: Instant) {
        let totals = &mut self.totals;
        totals.backward += u64::from(totals.frames.seen > 0 && at < self.last);
        self.last = at;
        let (first, last) = totals.span.unwrap_or((at, at));
        totals.span = Some((first.min(at), last.max(at)));
    }

    /// Handles an IP packet of a frame, or the one within it if it belongs to a tunnel. Tunnels
    /// within tunnels are not followed.
    fn push_ip(&mut self, at: Instant, bytes: link::Captured<'_>, to: &mut impl Points) {
        let (within, packets) = tunnel::packets(bytes);
        let mut network = None;
        if let Some(Within { tunnel, network: number, .. }) = within {
            self.totals.tunnels[tunnel.index()] += 1;
            network = number.map(|number| (tunnel.index() as u64) << 32 | u64::from(number));
        }
        for packet in packets {
            self.fragment(at, packet, network, to);
        }
    }

    /// Counts a packet, or holds it until all fragments of its datagram have come.
    fn fragment(
        &mut self,
        at: Instant,
        bytes: link::Captured<'_>,
        network: Option<u64>,
        to: &mut impl Points,
    ) {
        let packets = &mut self.totals.packets;
        packets.seen += 1;
        let Ok(packet) = ip::parse(bytes.bytes, bytes.wire_len) else {
            packets.broken += 1;
            return;
        };
        packets.ip_bytes += u64::from(packet.len);
        let (due, counts) = self.fragments.push(at, bytes, &packet, packets);
        due.iter().for_each(|held| self.held(held, to));
        if counts {
            self.packet(at, &packet, network, to);
        }
    }

    fn held(&mut self, held: &Held, to: &mut impl Points) {
        match held.packet() {
            // Its network is not kept: it belongs to the stream with its addresses and ports.
            Some(packet) => self.packet(held.at, &packet, None, to),
            None => self.totals.packets.broken += 1,
        }
    }

    fn packet(
        &mut self,
        at: Instant,
        packet: &ip::Packet<'_>,
        network: Option<u64>,
        to: &mut impl Points,
    ) {
        let packets = &mut self.totals.packets;
        match packet.transport {
            ip::Transport::Tcp(_) => packets.tcp += 1,
            ip::Transport::Udp(_) => packets.udp += 1,
            ip::Transport::Dccp(_) => packets.dccp += 1,
            ip::Transport::Other(protocol) => {
                packets.other += 1;
                self.totals.contents.count(Content::Ip(protocol));
            }
            ip::Transport::Unreadable(_) => packets.unreadable += 1,
        }
        let wrong = self.checksums && packet.checksum() == ip::Checksum::Wrong;
        let arrival = Arrival { at, packet, network, wrong, has_shared_ids: false };
        if !self.streams.packet(arrival, to) {
            let packets = &mut self.totals.packets;
            packets.copies += 1;
            match packet.transport {
                ip::Transport::Tcp(_) => packets.tcp -= 1,
                ip::Transport::Dccp(_) => packets.dccp -= 1,
                _ => packets.udp -= 1,
            }
        }
        let totals = &mut self.totals;
        [totals.tcp_streams, totals.udp_streams, totals.dccp_streams] = self.streams.counts();
    }
}

impl Frames {
    fn closed(&mut self, why: Closed) {
        let count = match why {
            Closed::Truncated(_) => &mut self.truncated,
            Closed::NotIp(_) => &mut self.not_ip,
            Closed::Control => &mut self.control,
            Closed::Encrypted => &mut self.encrypted,
            Closed::Fragment => &mut self.fragments,
            Closed::Broken => &mut self.broken,
            Closed::Unsupported(_) => &mut self.unsupported,
        };
        *count += 1;
    }
}
