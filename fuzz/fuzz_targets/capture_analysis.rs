//! Captures of any packets, analysed and compared with themselves.
//!
//! Each packet is one of TCP or UDP between few ports, so that connections have several packets.
//! Its header comes from the fuzzer, which may make it a fragment and put it into a tunnel.
#![no_main]

use fairwave_trace::analysis::compare::{self, Comparison};
use fairwave_trace::analysis::{Analyzer, Captured, Config, Stream};
use fairwave_units::Instant;
use fairwave_wire::pcapng::LinkType;
use libfuzzer_sys::fuzz_target;

/// Time to the next packet in microseconds, ports and protocol, header and options.
type Packet<'a> = (i32, u8, [u8; 16], &'a [u8]);

/// Puts an IPv4 header in front of the fuzzer's bytes.
fn bytes((_, ends, header, rest): &Packet<'_>) -> Vec<u8> {
    let options = &rest[..rest.len().min(200)];
    let mut bytes = vec![0x45, 0, 0, 0, header[0], ends >> 4, 0, 0, 64, 0, 0, 0];
    let len = 40 + options.len() as u16 + u16::from(header[1]) * 6;
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    bytes[9] = if ends & 8 == 0 { 6 } else { 17 };
    bytes.extend([10, 0, 0, ends & 1, 10, 0, 0, ends >> 1 & 1]);
    bytes.extend([0, ends >> 2 & 1, 0, 1]);
    bytes.extend(header);
    bytes.extend(options);
    if ends & 0x80 != 0 {
        // A fragment of one of few datagrams.
        bytes[4..8].copy_from_slice(&[0, header[0] & 3, header[14] & 0x20, header[15]]);
    }
    if ends & 0x40 != 0 {
        // In GRE between two routers, in one of few networks.
        let len = (28 + bytes.len() as u16).to_be_bytes();
        let outer = [0x45, 0, len[0], len[1], 0, 1, 0, 0, 64, 47, 0, 0, 10, 1, 0, 1, 10, 1, 0, 2];
        let gre = [0x20, 0, 8, 0, 0, 0, 0, header[13] & 3];
        bytes.splice(0..0, outer.into_iter().chain(gre));
    }
    bytes
}

fn frame((at, bytes): &(Instant, Vec<u8>)) -> Captured<'_> {
    Captured { at: *at, link: LinkType::RawIp, bytes, original_len: 0 }
}

fuzz_target!(|packets: Vec<Packet<'_>>| {
    let mut now = 1_000_000_000_000u64;
    let mut shots = Vec::new();
    for packet in &packets {
        now = now.saturating_add_signed(i64::from(packet.0) * 1_000);
        shots.push((Instant::from_nanos(now), bytes(packet)));
    }
    let config = Config { streams_max: 3, segments_max: 16, ..Config::default() };
    let mut analyzer = Analyzer::new(config);
    let mut streams: Vec<Stream> = Vec::new();
    shots.iter().for_each(|shot| analyzer.push(frame(shot), &mut streams));
    let totals = analyzer.finish(&mut streams);
    let counted: u64 = streams.iter().flat_map(|s| &s.ways).map(|way| way.volume.packets).sum();
    let p = totals.packets;
    assert_eq!(counted, p.tcp + p.udp);
    let parts = p.copies + p.fragments + p.joined + p.other + p.unreadable + p.broken;
    assert_eq!(p.seen, p.tcp + p.udp + p.dccp + parts);

    let mut comparison = Comparison::new(compare::Config { window: 8, ..Default::default() });
    let mut rest = [shots.iter(), shots.iter()];
    while let Some(place) = comparison.wants() {
        match rest[place as usize].next() {
            Some(shot) => comparison.push(place, frame(shot), &mut ()),
            None => comparison.ended(place),
        }
    }
    comparison.finish(&mut ());
});
