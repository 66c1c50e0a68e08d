//! The streams that are being watched.

use super::table::{Index, Key, Links, List};
use super::{Config, End, Points, Side, Spells, Stream, StreamId, Way};
use core::net::{IpAddr, SocketAddr};
use fairwave_units::Instant;
use fairwave_wire::ip;
use fairwave_wire::ipv4::{PROTOCOL_TCP, PROTOCOL_UDP};

/// All live streams: found by addresses and ports, forgotten in the order of their last packet.
#[derive(Debug)]
pub(super) struct Streams {
    config: Config,
    slots: Vec<Slot>,
    free: Vec<u32>,
    index: Index,
    links: Links,
    open: List,
    closed: List,
    tcp: u32,
    udp: u32,
    evicted: u64,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    live: Live,
}

/// A stream under way.
#[derive(Debug)]
struct Live {
    stream: Stream,
    closed: Option<End>,
}

impl Streams {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            slots: Vec::new(),
            free: Vec::new(),
            index: Index::default(),
            links: Links::default(),
            open: List::EMPTY,
            closed: List::EMPTY,
            tcp: 0,
            udp: 0,
            evicted: 0,
        }
    }

    /// Numbers of TCP and of UDP streams so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        (u64::from(self.tcp), u64::from(self.udp))
    }

    pub(super) const fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(super) fn packet(
        &mut self,
        at: Instant,
        packet: &ip::Packet<'_>,
        wrong: bool,
        to: &mut impl Points,
    ) {
        let (ports, protocol) = match packet.transport {
            ip::Transport::Tcp(tcp) => {
                ([tcp.header.source_port, tcp.header.destination_port], PROTOCOL_TCP)
            }
            ip::Transport::Udp(udp) => ([udp.source_port, udp.destination_port], PROTOCOL_UDP),
            ip::Transport::Other(_) | ip::Transport::Unreadable(_) => return,
        };
        let key = key(packet, ports, protocol);
        let hash = key.hash();
        let slots = &self.slots;
        let found = self.index.find(hash, |number| slots[number as usize].key == key);
        let number = match found {
            Some(number) => number,
            None => self.begin(at, key, hash, packet, ports, to),
        };
        let _ = (wrong, &self.config);
        let live = &mut self.slots[number as usize].live;
        let list = if live.closed.is_some() { &mut self.closed } else { &mut self.open };
        self.links.touch(list, number);
        let source = SocketAddr::new(packet.source, ports[0]);
        let side = if live.stream.ends[0] == source { Side::A } else { Side::B };
        live.stream.last = live.stream.last.max(at);
        live.stream.ways[side.index()].volume.packets += 1;
        live.stream.ways[side.index()].volume.ip_bytes += u64::from(packet.len);
    }

    fn begin(
        &mut self,
        at: Instant,
        key: Key,
        hash: u64,
        packet: &ip::Packet<'_>,
        ports: [u16; 2],
        to: &mut impl Points,
    ) -> u32 {
        if self.slots.len() - self.free.len() >= self.config.streams_max.max(1) {
            self.make_room(to);
        }
        let source = SocketAddr::new(packet.source, ports[0]);
        let destination = SocketAddr::new(packet.destination, ports[1]);
        let answers = matches!(packet.transport, ip::Transport::Tcp(tcp)
            if tcp.header.flags.syn && tcp.header.flags.ack);
        let ends = if answers { [destination, source] } else { [source, destination] };
        let stream = Stream {
            id: self.next_id(packet),
            ends,
            first: at,
            last: at,
            end: End::Capture,
            idle: Spells::default(),
            ways: [Way::default(), Way::default()],
        };
        let slot = Slot { key, live: Live { stream, closed: None } };
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.index.insert(hash, number);
        self.links.push(&mut self.open, number);
        number
    }

    fn next_id(&mut self, packet: &ip::Packet<'_>) -> StreamId {
        match packet.transport {
            ip::Transport::Tcp(_) => {
                self.tcp += 1;
                StreamId::Tcp(self.tcp - 1)
            }
            _ => {
                self.udp += 1;
                StreamId::Udp(self.udp - 1)
            }
        }
    }

    /// Tells of the stream that was quiet for longest, a closed one if there is any.
    fn make_room(&mut self, to: &mut impl Points) {
        if let Some(number) = self.closed.oldest() {
            self.end(number, None, to);
        } else if let Some(number) = self.open.oldest() {
            self.evicted += 1;
            self.end(number, Some(End::Evicted), to);
        }
    }

    fn end(&mut self, number: u32, why: Option<End>, to: &mut impl Points) {
        let slot = &mut self.slots[number as usize];
        self.index.remove(slot.key.hash(), number);
        let list = if slot.live.closed.is_some() { &mut self.closed } else { &mut self.open };
        self.links.unlink(list, number);
        self.free.push(number);
        let mut stream = slot.live.stream.clone();
        stream.end = slot.live.closed.or(why).unwrap_or(End::Capture);
        to.stream(stream);
    }

    /// Tells of all that are left, in the order of their numbers.
    pub(super) fn finish(&mut self, to: &mut impl Points) {
        let mut left: Vec<(StreamId, u32)> = Vec::new();
        for list in [self.open, self.closed] {
            left.extend(self.links.iter(list).map(|n| (self.slots[n as usize].live.stream.id, n)));
        }
        left.sort_unstable();
        left.into_iter().for_each(|(_, number)| self.end(number, None, to));
    }
}

fn key(packet: &ip::Packet<'_>, ports: [u16; 2], protocol: u8) -> Key {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    let version = u16::from(packet.source.is_ipv6());
    let kind = u16::from(protocol) << 1 | version;
    let (source, destination) = (bits(packet.source), bits(packet.destination));
    match (source, ports[0]) <= (destination, ports[1]) {
        true => Key { addresses: [source, destination], ports, kind },
        false => Key { addresses: [destination, source], ports: [ports[1], ports[0]], kind },
    }
}
