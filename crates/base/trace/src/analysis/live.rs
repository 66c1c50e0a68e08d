//! The streams that are being watched.

use super::arrival::Arrival;
use super::copies::Copies;
use super::hosts::Hosts;
use super::table::{Index, Key, Links, List};
use super::tcp::{Connection, Teller};
use super::udp::Finder;
use super::{
    Config, End, Interval, Kind, Mark, Point, Points, Side, SpellKind, Spells, Stream, StreamId,
    Way,
};
use core::net::{IpAddr, SocketAddr};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ip;
use fairwave_wire::ipv4::{Ecn, PROTOCOL_DCCP, PROTOCOL_TCP, PROTOCOL_UDP};

/// All live streams: found by addresses and ports, forgotten in the order of their last packet.
#[derive(Debug)]
pub(super) struct Streams {
    config: Config,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    index: Index,
    links: Links,
    hosts: Hosts,
    open: List,
    closed: List,
    tcp: u32,
    udp: u32,
    dccp: u32,
    evicted: u64,
    /// Capture time of the first packet: intervals are counted from there.
    origin: Option<Instant>,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    live: Box<Live>,
}

/// A stream under way.
#[derive(Debug)]
struct Live {
    stream: Stream,
    closed: Option<End>,
    intervals: [(Instant, Interval); 2],
    copies: Copies,
    /// Number of the tunnel's network in the last packet of each end.
    networks: [Option<u64>; 2],
    transport: Transport,
}

/// Evidence that a packet of a tunnel belongs to a stream, the best first.
#[derive(Clone, Copy, Debug)]
enum Belonging {
    /// The last packet of its end had the same network.
    SameNetwork,
    /// Its end has sent none yet, and the other one had the same network.
    SameAsOther,
    /// Its end has sent none yet: the two directions may have different numbers.
    NewDirection,
    /// Its end had another network, but the sequence numbers continue those of the stream: a mobile
    /// host has a new tunnel after a handover.
    NewTunnel,
}

impl Belonging {
    const COUNT: usize = 4;
}

#[derive(Debug)]
enum Transport {
    Tcp(Box<Connection>),
    /// Of UDP or DCCP.
    Datagrams(Box<[Finder; 2]>),
}

impl Streams {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            slots: Vec::new(),
            free: Vec::new(),
            index: Index::default(),
            links: Links::default(),
            hosts: Hosts::default(),
            open: List::EMPTY,
            closed: List::EMPTY,
            tcp: 0,
            udp: 0,
            dccp: 0,
            evicted: 0,
            origin: None,
        }
    }

    /// Numbers of TCP, UDP and DCCP streams so far.
    pub(super) fn counts(&self) -> [u64; 3] {
        [self.tcp, self.udp, self.dccp].map(u64::from)
    }

    pub(super) const fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Takes a packet; those without ports belong to no stream. False if it was there before.
    pub(super) fn packet(&mut self, mut arrival: Arrival<'_>, to: &mut impl Points) -> bool {
        let ip::Packet { source, id, .. } = *arrival.packet;
        let (ports, protocol) = match &arrival.packet.transport {
            ip::Transport::Tcp(tcp) => {
                ([tcp.header.source_port, tcp.header.destination_port], PROTOCOL_TCP)
            }
            ip::Transport::Udp(udp) => ([udp.source_port, udp.destination_port], PROTOCOL_UDP),
            ip::Transport::Dccp(dccp) => ([dccp.source_port, dccp.destination_port], PROTOCOL_DCCP),
            ip::Transport::Other(protocol) | ip::Transport::Unreadable(protocol) => {
                self.hosts.packet(source, id, u64::from(*protocol));
                return true;
            }
        };
        let origin = *self.origin.get_or_insert(arrival.at);
        let key = key(arrival.packet, ports, protocol);
        arrival.has_shared_ids = self.hosts.packet(source, id, key.hash());
        let number = self.find(key, ports, arrival, to);
        let Some(slot) = &mut self.slots[number as usize] else { return true };
        let side = slot.live.side(arrival.packet, ports[0]);
        if slot.live.copies.is_one(arrival.at, side, arrival.packet) {
            return false;
        }
        let network = &mut slot.live.networks[side.index()];
        *network = arrival.network.or(*network);
        let was_closed = slot.live.closed.is_some();
        slot.live.packet(&self.config, origin, side, arrival, to);
        match (was_closed, slot.live.closed.is_some()) {
            (false, false) => self.links.touch(&mut self.open, number),
            (false, true) => {
                self.links.unlink(&mut self.open, number);
                self.links.push(&mut self.closed, number);
            }
            (true, _) => self.links.touch(&mut self.closed, number),
        }
        true
    }

    /// The stream of a packet, perhaps a new one.
    fn find(
        &mut self,
        key: Key,
        ports: [u16; 2],
        arrival: Arrival<'_>,
        to: &mut impl Points,
    ) -> u32 {
        let hash = key.hash();
        if let Some(number) = self.known(key, hash, ports, arrival) {
            let live = self.slots[number as usize].as_ref().map(|slot| &slot.live);
            if !live.is_some_and(|live| live.is_another(arrival.packet, ports[0])) {
                return number;
            }
            self.end(number, Some(End::Reused), None, to);
        }
        self.begin(key, hash, ports, arrival, to)
    }

    /// The stream of a packet, if it is being watched. Networks of tunnels may use the same
    /// addresses and ports, each for a stream of its own.
    fn known(&self, key: Key, hash: u64, ports: [u16; 2], arrival: Arrival<'_>) -> Option<u32> {
        let live = |number: u32| {
            let slot = self.slots[number as usize].as_ref();
            slot.filter(|slot| slot.key == key).map(|slot| &*slot.live)
        };
        // A capture of all interfaces also has the packets without their tunnel.
        let Some(network) = arrival.network else {
            return self.index.find(hash, |number| live(number).is_some());
        };
        (0..Belonging::COUNT).find_map(|rank| {
            self.index.find(hash, |number| {
                let belongs = |live: &Live| live.belonging(arrival.packet, ports[0], network);
                live(number).and_then(belongs).is_some_and(|found| found as usize == rank)
            })
        })
    }

    fn begin(
        &mut self,
        key: Key,
        hash: u64,
        ports: [u16; 2],
        arrival: Arrival<'_>,
        to: &mut impl Points,
    ) -> u32 {
        if self.slots.len() - self.free.len() >= self.config.streams_max.max(1) {
            self.make_room(to);
        }
        let live = Box::new(Live::new(self.next_id(arrival.packet), ports, arrival));
        let slot = Some(Slot { key, live });
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
        let (count, id): (_, fn(u32) -> StreamId) = match packet.transport {
            ip::Transport::Tcp(_) => (&mut self.tcp, StreamId::Tcp),
            ip::Transport::Dccp(_) => (&mut self.dccp, StreamId::Dccp),
            _ => (&mut self.udp, StreamId::Udp),
        };
        *count += 1;
        id(*count - 1)
    }

    /// Reports the stream idle for longest, a closed one if there is any.
    fn make_room(&mut self, to: &mut impl Points) {
        if let Some(number) = self.closed.oldest() {
            self.end(number, None, None, to);
        } else if let Some(number) = self.open.oldest() {
            self.evicted += 1;
            self.end(number, Some(End::Evicted), None, to);
        }
    }

    /// Reports a stream and drops it. `now` is the time for which it was watched, where that is
    /// longer than to its last packet.
    fn end(&mut self, number: u32, why: Option<End>, now: Option<Instant>, to: &mut impl Points) {
        let Some(slot) = self.slots[number as usize].take() else { return };
        self.index.remove(slot.key.hash(), number);
        let list = if slot.live.closed.is_some() { &mut self.closed } else { &mut self.open };
        self.links.unlink(list, number);
        self.free.push(number);
        let shared_ids = slot.live.stream.ends.map(|end| self.hosts.is_common(end.ip()));
        slot.live.end(&self.config, why, now, shared_ids, to);
    }

    /// Reports all that are left, in the order of their numbers; the capture ended at `now`.
    pub(super) fn finish(&mut self, now: Instant, to: &mut impl Points) {
        let slots = self.slots.iter().enumerate();
        let mut left: Vec<(StreamId, u32)> = slots
            .filter_map(|(number, slot)| Some((slot.as_ref()?.live.stream.id, number as u32)))
            .collect();
        left.sort_unstable();
        left.into_iter().for_each(|(_, number)| self.end(number, None, Some(now), to));
    }
}

impl Live {
    fn new(id: StreamId, ports: [u16; 2], arrival: Arrival<'_>) -> Self {
        let Arrival { at, packet, .. } = arrival;
        let source = SocketAddr::new(packet.source, ports[0]);
        let destination = SocketAddr::new(packet.destination, ports[1]);
        let (answers, transport) = match &packet.transport {
            ip::Transport::Tcp(tcp) => {
                let flags = tcp.header.flags;
                (flags.syn && flags.ack, Transport::Tcp(Box::default()))
            }
            _ => (false, Transport::Datagrams(Box::default())),
        };
        let stream = Stream {
            id,
            ends: if answers { [destination, source] } else { [source, destination] },
            first: at,
            last: at,
            end: End::Capture,
            idle: Spells::default(),
            ways: Default::default(),
        };
        let intervals = [(Instant::ZERO, Interval::default()); 2];
        let (copies, networks) = (Copies::default(), [None; 2]);
        Self { stream, closed: None, intervals, copies, networks, transport }
    }

    fn side(&self, packet: &ip::Packet<'_>, port: u16) -> Side {
        let [a, _] = self.stream.ends;
        if a.port() == port && a.ip() == packet.source { Side::A } else { Side::B }
    }

    /// Evidence that a packet of this network belongs to the stream, if there is any.
    fn belonging(&self, packet: &ip::Packet<'_>, port: u16, network: u64) -> Option<Belonging> {
        let side = self.side(packet, port);
        let continues = match (&self.transport, &packet.transport) {
            (Transport::Tcp(connection), ip::Transport::Tcp(segment)) => {
                connection.continues(side, segment)
            }
            _ => None,
        };
        match self.networks[side.index()] {
            Some(last) if last == network => Some(Belonging::SameNetwork),
            Some(_) => (continues == Some(true)).then_some(Belonging::NewTunnel),
            None if self.networks[side.other().index()] == Some(network) => {
                Some(Belonging::SameAsOther)
            }
            None => (continues != Some(false)).then_some(Belonging::NewDirection),
        }
    }

    /// Whether a packet begins another connection between the same ports.
    fn is_another(&self, packet: &ip::Packet<'_>, port: u16) -> bool {
        match (&self.transport, &packet.transport) {
            (Transport::Tcp(connection), ip::Transport::Tcp(segment)) => {
                connection.is_another(self.side(packet, port), segment)
            }
            _ => false,
        }
    }

    fn packet<P: Points>(
        &mut self,
        config: &Config,
        origin: Instant,
        side: Side,
        arrival: Arrival<'_>,
        to: &mut P,
    ) {
        let Arrival { at, packet, .. } = arrival;
        self.pause(config, at, side, to);
        let id = self.stream.id;
        let ways = &mut self.stream.ways;
        let mut kind = None;
        match (&mut self.transport, &packet.transport) {
            (Transport::Tcp(connection), ip::Transport::Tcp(segment)) => {
                let to = Teller { id, side, to };
                let (found, end) = connection.packet(config, arrival, segment, ways, to);
                kind = Some(found);
                self.closed = self.closed.or(end);
            }
            (Transport::Datagrams(finders), ip::Transport::Udp(datagram)) => {
                finders[side.index()].udp(at, datagram);
            }
            (Transport::Datagrams(finders), ip::Transport::Dccp(packet)) => {
                finders[side.index()].dccp(at, packet);
            }
            _ => {}
        }
        let payload = payload_len(packet);
        ways[side.index()].count(arrival, payload);
        self.stream.last = self.stream.last.max(at);
        if !config.interval.is_zero() {
            self.interval(config, origin, side, at, to);
            self.intervals[side.index()].1.count(packet, payload, kind);
        }
    }

    /// Ends a time in which neither side sent.
    fn pause(&mut self, config: &Config, at: Instant, side: Side, to: &mut impl Points) {
        let (from, length) = (self.stream.last, at.since(self.stream.last));
        if length < config.idle {
            return;
        }
        if matches!(&self.transport, Transport::Tcp(connection) if connection.is_busy()) {
            return;
        }
        self.stream.idle.add(from, length);
        let mark = Mark::Spell { kind: SpellKind::Idle, length };
        to.point(&Point { at: from, stream: self.stream.id, side, mark });
    }

    /// Ends the interval under way if `at` is in another one.
    fn interval(
        &mut self,
        config: &Config,
        origin: Instant,
        side: Side,
        at: Instant,
        to: &mut impl Points,
    ) {
        let (start, interval) = self.intervals[side.index()];
        if interval.packets > 0 && at >= start && at.since(start) < config.interval {
            return;
        }
        self.report_interval(side, to);
        let index = at.since(origin) / config.interval;
        self.intervals[side.index()] = (origin + config.interval * index, Interval::default());
    }

    fn report_interval(&self, side: Side, to: &mut impl Points) {
        let (at, interval) = self.intervals[side.index()];
        if interval.packets > 0 {
            let mark = Mark::Interval(interval);
            to.point(&Point { at, stream: self.stream.id, side, mark });
        }
    }

    fn end<P: Points>(
        mut self,
        config: &Config,
        why: Option<End>,
        now: Option<Instant>,
        shared_ids: [bool; 2],
        to: &mut P,
    ) {
        Side::ALL.into_iter().for_each(|side| self.report_interval(side, to));
        let last = self.stream.last;
        let now = match self.closed {
            Some(_) => last,
            None => now.unwrap_or(last).max(last),
        };
        if now > last {
            self.pause(config, now, Side::A, to);
        }
        let mut stream = self.stream;
        stream.end = self.closed.or(why).unwrap_or(End::Capture);
        match &mut self.transport {
            Transport::Tcp(connection) => {
                connection.finish(config, now, shared_ids, &mut stream, to);
            }
            Transport::Datagrams(finders) => {
                for (way, finder) in stream.ways.iter_mut().zip(finders.iter()) {
                    way.numbers = finder.numbers();
                }
            }
        }
        to.stream(stream);
    }
}

fn payload_len(packet: &ip::Packet<'_>) -> u32 {
    match &packet.transport {
        ip::Transport::Tcp(segment) => segment.payload_len,
        ip::Transport::Udp(datagram) => datagram.payload_len,
        ip::Transport::Dccp(packet) => packet.payload_len,
        ip::Transport::Other(_) | ip::Transport::Unreadable(_) => 0,
    }
}

impl Way {
    fn count(&mut self, arrival: Arrival<'_>, payload: u32) {
        let Arrival { at, packet, wrong, .. } = arrival;
        self.volume.packets += 1;
        self.volume.ip_bytes += u64::from(packet.len);
        self.volume.payload_bytes += u64::from(payload);
        self.volume.wrong_checksums += u64::from(wrong);
        self.volume.ce += u64::from(Ecn::of(packet.traffic_class) == Ecn::Ce);
        let (first, last) = self.span.unwrap_or((at, at));
        let gap = at.since(last);
        if self.gap_max.map_or(Duration::ZERO, |(_, longest)| longest) < gap {
            self.gap_max = Some((last, gap));
        }
        self.span = Some((first.min(at), last.max(at)));
    }
}

impl Interval {
    fn count(&mut self, packet: &ip::Packet<'_>, payload: u32, kind: Option<Kind>) {
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        self.payload_bytes += u64::from(payload);
        self.retransmissions += u32::from(kind.is_some_and(Kind::is_retransmission));
        self.pure_acks += u32::from(kind.is_some_and(Kind::is_acknowledgement));
    }
}

/// The key of a packet, the same for both ways.
pub(super) fn key(packet: &ip::Packet<'_>, ports: [u16; 2], protocol: u8) -> Key {
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
