//! tshark counts what we count, on captures of simulated connections at both ends.

use crate::common::{MS, Shot, Transfer, analyse, pcapng};
use fairwave_machine::line::Wire;
use fairwave_tcp::Config;
use fairwave_trace::analysis::{Kind, TcpWay};
use fairwave_units::{BitRate, Instant, Seed};
use fairwave_wire::datagram::{Datagram, Transport};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Output};

const FLAGS: [&str; 10] = [
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "lost_segment",
    "duplicate_ack",
    "window_update",
    "keep_alive",
    "ack_lost_segment",
    "window_full",
];

/// Packets of each sender that have each of [`FLAGS`], and all its packets and payload bytes.
fn counted(name: &str, capture: &[u8]) -> BTreeMap<String, ([u64; FLAGS.len()], u64, u64)> {
    let mut args = vec!["-T", "fields", "-e", "ip.src", "-e", "tcp.len"];
    let flags = FLAGS.map(|flag| format!("tcp.analysis.{flag}"));
    args.extend(flags.iter().flat_map(|flag| ["-e", flag]));
    let mut counted = BTreeMap::new();
    for line in tshark(name, capture, &args).lines() {
        let mut cells = line.split('\t');
        let entry =
            counted.entry(cells.next().unwrap().to_owned()).or_insert(([0; FLAGS.len()], 0, 0));
        entry.1 += 1;
        entry.2 += cells.next().unwrap().parse::<u64>().unwrap();
        for (count, cell) in entry.0.iter_mut().zip(cells) {
            *count += u64::from(!cell.is_empty());
        }
    }
    counted
}

/// What tshark prints of a capture with these arguments.
fn tshark(name: &str, capture: &[u8], args: &[&str]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&path, capture).unwrap();
    let output = Command::new("tshark").arg("-r").arg(&path).args(args).output();
    let Output { status, stdout, stderr } = output.unwrap_or_else(|error| {
        panic!("tshark cannot be run ({error}); `cargo xtask test` installs what the tests need")
    });
    assert!(status.success(), "tshark failed: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn check(what: &str, tcp: &TcpWay, flags: [u64; FLAGS.len()]) {
    let [retransmissions, fast, spurious, late, holes, duplicates, updates, alive, unseen, full] =
        flags;
    let of = |kind| tcp.count(kind);
    // tshark 4.0 calls a retransmission within a round trip of the last new segment out of order,
    // even if it saw the first transmission; we do not.
    let ours = tcp.retransmissions() + of(Kind::OutOfOrder);
    assert_eq!(ours, retransmissions + late, "{what}: retransmissions and late segments");
    assert!(of(Kind::OutOfOrder) <= late, "{what}: late segments");
    // A retransmission that was lost goes again by the timer, in the midst of duplicate ACKs.
    assert!(of(Kind::FastRetransmission) <= fast, "{what}: fast retransmissions");
    // A packet that two others overtook arrives at the second duplicate ACK, as a retransmission.
    let others = of(Kind::Timeout) + of(Kind::OutOfOrder);
    assert!(of(Kind::FastRetransmission) + others >= fast, "{what}: fast retransmissions");
    assert_eq!(of(Kind::Spurious), spurious, "{what}: spurious retransmissions");
    assert_eq!(of(Kind::DuplicateAck), duplicates, "{what}: duplicate ACKs");
    assert_eq!(of(Kind::WindowUpdate), updates, "{what}: window updates");
    assert_eq!(of(Kind::KeepAlive), alive, "{what}: keep-alives");
    assert_eq!((tcp.holes, tcp.unseen_acked), (holes, unseen), "{what}: holes and unseen");
    assert_eq!(tcp.window_full, full, "{what}: full windows");
}

#[test]
fn tshark_counts_alike() {
    for seed in 0..6 {
        let loss = |percent: u64| Wire { loss: percent as f64 / 100.0, ..wire(seed) };
        let wires = [loss([0, 2, 8][seed as usize % 3]), loss([0, 15][seed as usize % 2])];
        let receive_buffer = [20_000, 4_000_000][seed as usize / 3];
        let config = Config {
            sack: seed % 4 > 0,
            timestamps: seed % 5 > 1,
            receive_buffer,
            ..Config::default()
        };
        let config = Config { max_rto: MS(4_000), rack: seed % 3 == 0, ..config };
        let transfer = Transfer::new(Seed(seed), config, wires, 400_000).run(Instant::MAX);
        for (end, shots) in transfer.captures.iter().enumerate() {
            let name = format!("transfer-{seed}-{end}");
            let theirs = counted(&name, &pcapng(shots));
            let stream = analyse(shots).0.remove(0);
            for (way, end_of) in stream.ways.iter().zip(&stream.ends) {
                let what = format!("seed {seed}, capture {end}, from {end_of}");
                let (flags, packets, bytes) = theirs[&end_of.ip().to_string()];
                assert_eq!(
                    (way.volume.packets, way.volume.payload_bytes),
                    (packets, bytes),
                    "{what}"
                );
                check(&what, &way.tcp, flags);
            }
        }
    }
}

fn wire(seed: u64) -> Wire {
    let jitter = MS([0, 0, 4][seed as usize % 3]);
    Wire {
        delay: MS(10),
        jitter,
        rate: Some(BitRate::mbps(10)),
        queue: Some(30),
        ..Wire::default()
    }
}

/// A packet of telephony: 20 ms of G.711 (payload type 0, 8 kHz), sent as the `number`th.
fn telephony(number: u16, at: Instant) -> Shot {
    let mut rtp = vec![0x80, 0];
    // The numbers wrap.
    rtp.extend(number.wrapping_add(65_500).to_be_bytes());
    rtp.extend((160 * u32::from(number)).to_be_bytes());
    rtp.extend(0x1234_u32.to_be_bytes());
    rtp.extend([0; 160]);
    let datagram = Datagram {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        id: number,
        ttl: 64,
        tos: 0,
        transport: Transport::Udp { source_port: 5004, destination_port: 5004 },
        payload_len: rtp.len() as u32,
    };
    let mut bytes = Vec::new();
    datagram.write(&mut bytes).unwrap();
    // A datagram writes zeros as its payload. tshark is not told to verify the checksum.
    let payload = bytes.len() - rtp.len();
    bytes[payload..].copy_from_slice(&rtp);
    Shot { at, len: bytes.len() as u32, bytes }
}

/// Packets are up to 9 ms late, and two are lost.
#[test]
fn tshark_says_the_same_of_the_jitter_of_rtp() {
    let late = |number: u64| number * number * 7_919 % 9_000_000;
    let at = |number: u64| Instant::from_nanos(20_000_000 * number + late(number));
    let sent = (0..300).filter(|number| ![50, 51].contains(number));
    let shots: Vec<_> = sent.map(|number| telephony(number as u16, at(number))).collect();
    let stream = analyse(&shots).0.remove(0);
    let numbers = stream.ways[0].numbers.unwrap();
    let jitter = numbers.jitter.unwrap();

    let args = ["-n", "-q", "-d", "udp.port==5004,rtp", "-z", "rtp,streams"];
    let printed = tshark("rtp", &pcapng(&shots), &args);
    let row = printed.lines().find(|line| line.contains("0x00001234")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    // Behind the eighth: packets, lost, share of lost; differences and jitter, each as least, mean
    // and greatest, in ms.
    assert_eq!(cells[8..10], ["298", &numbers.lost.to_string()], "{printed}");
    let ms = |value: fairwave_units::Duration| format!("{:.3}", value.as_nanos() as f64 / 1e6);
    assert_eq!(cells[15..17], [ms(jitter.mean), ms(jitter.most)], "{printed}");
}
