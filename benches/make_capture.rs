//! A capture of any length for `cargo xtask bench-trace`: `make-capture FILE BYTES`.
//!
//! Sixteen TCP connections between hosts of two Ethernets take turns. Full segments go one way, and
//! an ACK for every two of them the other way. Of each hundred segments one is missing. It is
//! retransmitted 40 segments later, after duplicate ACKs with the corresponding SACK block. The
//! format is classic pcap with microseconds, which the oldest of the compared programs reads.

use fairwave_units::Seq32;
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::tcp::{Flags, Header, Options};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;

const CONNECTIONS: u32 = 16;
const SEGMENT: u32 = 1448;
/// Number of segments of which one is lost.
const LOST: u32 = 100;
/// Number of segments after which the lost one is retransmitted.
const LATER: u32 = 40;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, bytes] = &arguments[..] else {
        return Err("usage: make-capture FILE BYTES".into());
    };
    let bytes: u64 = bytes.parse().map_err(|error| format!("{bytes}: {error}"))?;
    write(path, bytes).map_err(|error| format!("{path}: {error}"))
}

fn write(path: &str, bytes: u64) -> std::io::Result<()> {
    let mut out = Pcap::create(path)?;
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(Connection::new).collect();
    for connection in &mut connections {
        connection.open(&mut out)?;
    }
    while out.written < bytes {
        for connection in &mut connections {
            connection.next(&mut out)?;
        }
    }
    out.file.flush()
}

/// A connection whose data goes from the first host to the second.
struct Connection {
    number: u32,
    /// Number of segments sent so far; segments are numbered from zero.
    sent: u32,
    /// The missing segment.
    hole: Option<u32>,
    ids: [u16; 2],
}

/// Header fields of a packet of a connection.
#[derive(Clone, Copy)]
struct Said {
    flags: Flags,
    seq: u32,
    ack: u32,
    /// The SACK block, in segments.
    sack: Option<(u32, u32)>,
    payload_len: u32,
}

impl Connection {
    fn new(number: u32) -> Self {
        Self { number, sent: 0, hole: None, ids: [0; 2] }
    }

    fn open(&mut self, out: &mut Pcap) -> std::io::Result<()> {
        let syn = Flags { syn: true, ..Flags::default() };
        let (seq, ack) = (self.seq(0).wrapping_sub(1), 0);
        self.say(0, Said { flags: syn, seq, ack, sack: None, payload_len: 0 }, out)?;
        let flags = Flags { syn: true, ack: true, ..Flags::default() };
        self.say(1, Said { flags, seq: 0, ack: self.seq(0), sack: None, payload_len: 0 }, out)?;
        self.say(0, self.acking(self.seq(0), 1, None, 0), out)
    }

    /// Writes the next segment, and the ACK for it.
    fn next(&mut self, out: &mut Pcap) -> std::io::Result<()> {
        let number = self.sent;
        self.sent += 1;
        // In the middle of each hundred, so that the handshake is followed by segments in order.
        if number % LOST == LOST / 2 {
            self.hole = Some(number);
            return Ok(());
        }
        self.say(0, self.acking(self.seq(number), 1, None, SEGMENT), out)?;
        match self.hole {
            Some(hole) if number == hole + LATER => {
                self.say(0, self.acking(self.seq(hole), 1, None, SEGMENT), out)?;
                self.hole = None;
                self.say(1, self.acking(1, self.seq(self.sent), None, 0), out)
            }
            Some(hole) => {
                let sack = Some((hole + 1, self.sent));
                self.say(1, self.acking(1, self.seq(hole), sack, 0), out)
            }
            None if number % 2 == 1 => {
                self.say(1, self.acking(1, self.seq(self.sent), None, 0), out)
            }
            None => Ok(()),
        }
    }

    fn acking(&self, seq: u32, ack: u32, sack: Option<(u32, u32)>, payload_len: u32) -> Said {
        let flags = Flags { ack: true, ..Flags::default() };
        Said { flags, seq, ack, sack, payload_len }
    }

    /// Sequence number of a segment.
    fn seq(&self, segment: u32) -> u32 {
        (self.number << 24).wrapping_add(segment.wrapping_mul(SEGMENT)).wrapping_add(1)
    }

    /// Writes a packet from one of the two hosts.
    fn say(&mut self, host: usize, segment: Said, out: &mut Pcap) -> std::io::Result<()> {
        let addresses = [Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 2, 2)];
        let ports = [40_000 + self.number as u16, 5_001];
        let mut options = Options::default();
        if segment.flags.syn {
            options.mss = Some(1460);
            options.window_scale = Some(7);
            options.sack_permitted = true;
        }
        if let Some((left, right)) = segment.sack {
            options.sack.push(Seq32(self.seq(left)), Seq32(self.seq(right)));
        }
        let header = Header {
            source_port: ports[host],
            destination_port: ports[1 - host],
            seq: Seq32(segment.seq),
            ack: Seq32(segment.ack),
            flags: segment.flags,
            window: u16::MAX,
            urgent: 0,
            options,
        };
        self.ids[host] = self.ids[host].wrapping_add(1);
        let datagram = Datagram {
            source: addresses[host],
            destination: addresses[1 - host],
            id: self.ids[host],
            ttl: 64,
            tos: 0,
            transport: Transport::Tcp(header),
            payload_len: segment.payload_len,
        };
        out.packet(&datagram)
    }
}

/// A classic capture; packets are 10 microseconds apart.
struct Pcap {
    file: BufWriter<File>,
    written: u64,
    micros: u64,
    bytes: Vec<u8>,
}

impl Pcap {
    fn create(path: &str) -> std::io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1u32] {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { file, written: 24, micros: 1_700_000_000_000_000, bytes: Vec::new() })
    }

    fn packet(&mut self, datagram: &Datagram) -> std::io::Result<()> {
        self.bytes.clear();
        self.bytes.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        datagram.write(&mut self.bytes).map_err(std::io::Error::other)?;
        self.micros += 10;
        let (len, seconds) = (self.bytes.len() as u32, (self.micros / 1_000_000) as u32);
        for word in [seconds, (self.micros % 1_000_000) as u32, len, len] {
            self.file.write_all(&word.to_le_bytes())?;
        }
        self.written += 16 + u64::from(len);
        self.file.write_all(&self.bytes)
    }
}
