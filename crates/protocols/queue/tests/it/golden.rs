//! The golden table: what each discipline makes of one trace. A change of behaviour shows as a
//! diff of `golden/trace.txt`.

use fairwave_queue::{ALL, Discipline, FlowKey, Item, Limit, Segment};
use fairwave_trace::DropCause;
use fairwave_units::{Duration, Instant, Seed, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::tcp;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/trace.txt");
const TICK: Duration = Duration::from_micros(100);
/// Two seconds.
const TICKS: u64 = 20_000;

/// Two downloads, one in bursts, the ACKs of two uploads, and a voice stream, to three receivers.
/// Name, receiver, packets at tick `t`, payload bytes.
type Source = (&'static str, u32, fn(u64) -> u64, u32);
const SOURCES: [Source; 5] = [
    ("download", 0, |t| u64::from(t.is_multiple_of(12)), 1460),
    ("bursts", 1, |t| if t.is_multiple_of(1000) { 60 } else { 0 }, 1460),
    ("upload a", 1, |t| u64::from(t.is_multiple_of(7)), 0),
    ("upload b", 2, |t| u64::from(t.is_multiple_of(9)), 0),
    ("voice", 2, |t| u64::from(t.is_multiple_of(300)), 172),
];

#[derive(Clone, Copy, Debug)]
struct Packet {
    source: usize,
    receiver: u32,
    at: Instant,
    datagram: Datagram,
}

impl Packet {
    fn new(source: usize, number: u64, at: Instant) -> Self {
        let (name, receiver, _, payload_len) = SOURCES[source];
        let flags = tcp::Flags { ack: true, ..tcp::Flags::default() };
        let header = tcp::Header { ack: Seq32(number as u32), flags, ..Default::default() };
        let voice = Transport::Udp { source_port: 1, destination_port: 2 };
        let datagram = Datagram {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 1, source as u8),
            id: 0,
            ttl: 64,
            tos: 0,
            transport: if name == "voice" { voice } else { Transport::Tcp(header) },
            payload_len,
        };
        Self { source, receiver, at, datagram }
    }
}

impl Item for Packet {
    fn bytes(&self) -> u32 {
        self.datagram.wire_len()
    }

    fn receiver(&self) -> u32 {
        self.receiver
    }

    fn flow(&self) -> FlowKey {
        FlowKey::of(&self.datagram)
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        match &self.datagram.transport {
            Transport::Tcp(header) => {
                Some(Segment { header, payload_len: self.datagram.payload_len })
            }
            Transport::Udp { .. } | Transport::Dccp(_) => None,
        }
    }

    fn clamp_window(&mut self, _: u16) {}

    fn mark_ce(&mut self) -> bool {
        self.datagram.mark_ce()
    }
}

/// What became of one source's packets.
#[derive(Clone, Copy, Default)]
struct Row {
    sent: u64,
    drops: [u64; DropCause::ALL.len()],
    waited: u64,
    longest: u64,
}

/// Runs the trace over a link that takes 250 us for a packet and 250 us more for a large one;
/// receiver 0 is slow and takes twice that.
fn run(queue: &mut dyn Discipline<Packet>) -> [Row; SOURCES.len()] {
    let mut rows = [Row::default(); SOURCES.len()];
    let mut free_at = Instant::ZERO;
    for t in 0..TICKS {
        let now = Instant::ZERO + Duration::from_nanos(t * TICK.as_nanos());
        for (source, (_, _, packets, _)) in SOURCES.iter().enumerate() {
            for _ in 0..packets(t) {
                queue.push(now, Packet::new(source, t, now));
            }
        }
        if free_at <= now
            && let Some(packet) = queue.pop(now)
        {
            let large = u64::from(packet.bytes() > 1000);
            let slow = if packet.receiver == 0 { 2 } else { 1 };
            let airtime = Duration::from_micros(250 * (1 + large) * slow);
            queue.charge(now, packet.receiver, airtime);
            free_at = now + airtime;
            let waited = now.since(packet.at).as_micros();
            let row = &mut rows[packet.source];
            (row.sent, row.waited) = (row.sent + 1, row.waited + waited);
            row.longest = row.longest.max(waited);
        }
        while let Some((packet, cause)) = queue.dropped() {
            rows[packet.source].drops[cause as usize] += 1;
        }
    }
    rows
}

fn table() -> String {
    let mut text = String::from(
        "discipline    source     sent  full   aqm  filtered  mean wait ms  longest ms\n",
    );
    for kind in ALL {
        let random = Seed(1).stream("queue");
        let mut queue = (kind.spec)(Limit::Packets(100)).build(random);
        for ((source, ..), row) in SOURCES.iter().zip(run(&mut *queue)) {
            let mean = row.waited as f64 / row.sent.max(1) as f64 / 1e3;
            let drops = |cause: DropCause| row.drops[cause as usize];
            let _ = writeln!(
                text,
                "{:<13} {source:<9} {:>5} {:>5} {:>5} {:>9} {mean:>13.1} {:>11.1}",
                kind.name,
                row.sent,
                drops(DropCause::QueueFull),
                drops(DropCause::Aqm),
                drops(DropCause::AckFiltered),
                row.longest as f64 / 1e3,
            );
        }
    }
    text
}

#[test]
fn the_trace_comes_out_as_recorded() {
    let recorded = fs::read_to_string(PATH).expect("the golden table is part of the source");
    let now = table();
    assert!(recorded == now, "it changed; if meant, run `cargo xtask golden`\n{now}");
}

#[test]
#[ignore = "rewrites the golden table; cargo xtask golden calls it"]
fn bless() {
    fs::write(PATH, table()).expect("the golden table can be written");
}
