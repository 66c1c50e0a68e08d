//! Properties of a packet for queues.

use fairwave_wire::datagram::Datagram;
use fairwave_wire::tcp;

/// Identifier of the packets of one direction of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// IPv4 source address.
    pub source: u32,
    /// IPv4 destination address.
    pub destination: u32,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// IP protocol number.
    pub protocol: u8,
}

impl FlowKey {
    /// The flow of a datagram.
    pub fn of(datagram: &Datagram) -> Self {
        let protocol = datagram.transport.protocol();
        let (source_port, destination_port) = datagram.transport.ports();
        let (source, destination) = (datagram.source.to_bits(), datagram.destination.to_bits());
        Self { source, destination, source_port, destination_port, protocol }
    }

    /// The other direction of the same connection.
    pub const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }

    /// A number that spreads flows over buckets: the same on every platform and in every run.
    /// Mixing as in SplitMix64 (Steele, Lea, Flood 2014).
    pub const fn hash(self) -> u64 {
        let ports = ((self.source_port as u64) << 16) | self.destination_port as u64;
        let low = mix(((self.source as u64) << 32) | self.destination as u64);
        mix(low ^ (ports | ((self.protocol as u64) << 32)))
    }
}

const fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A TCP segment as queues see it.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Its header.
    pub header: &'a tcp::Header,
    /// Its payload in bytes.
    pub payload_len: u32,
}

impl Segment<'_> {
    /// Whether it does nothing but acknowledge: no payload, no SYN, FIN or RST.
    pub const fn is_pure_ack(self) -> bool {
        let flags = self.header.flags;
        self.payload_len == 0 && flags.ack && !(flags.syn || flags.fin || flags.rst)
    }

    /// Whether a later ACK with a greater number says all that this one does: a pure ACK without
    /// SACK blocks and without an ECN signal, nothing urgent (RFC 3449 section 5.2.1).
    pub fn is_redundant_under_later_ack(self) -> bool {
        let flags = self.header.flags;
        let signals = flags.ece || flags.cwr || flags.urg;
        self.is_pure_ack() && !signals && self.header.options.sack.is_empty()
    }
}

/// A packet as queues see it.
pub trait Item {
    /// Length in bytes from the IP header on.
    fn bytes(&self) -> u32;

    /// Receiver behind the queue that it goes to next: numbers from zero on, without large gaps,
    /// because tables are as long as the largest. Of one flow's packets, the same.
    fn receiver(&self) -> u32;

    /// Its flow.
    fn flow(&self) -> FlowKey;

    /// Its TCP segment, if it carries one.
    fn tcp(&self) -> Option<Segment<'_>>;

    /// Lowers the window field of its TCP header to `most` (unscaled) where it is above.
    fn clamp_window(&mut self, max: u16);

    /// Marks it "congestion experienced"; false, and nothing is done, if its transport does not
    /// take part (RFC 3168 section 5).
    fn mark_ce(&mut self) -> bool;
}
