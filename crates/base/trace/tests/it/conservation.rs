//! Whatever a capture holds: nothing panics, every frame and packet is in exactly one class, and
//! what is told fits together.

use fairwave_trace::analysis::compare::{self, Comparison, Place};
use fairwave_trace::analysis::{
    Analyzer, Captured, Config, End, Kind, Mark, Point, Points, Side, SpellKind, Spells, Stream,
    StreamId, Totals,
};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::pcapng::LinkType;
use fairwave_wire::tcp::{Flags, Header, Options, SackBlocks, Timestamps};
use proptest::prelude::*;
use std::net::Ipv4Addr;

/// Keeps streams, and counts what points say.
#[derive(Default)]
struct Told {
    streams: Vec<Stream>,
    interval_starts: Vec<Instant>,
    interval_packets: u64,
    interval_payload: u64,
    spells: Vec<Spell>,
    round_trips: u64,
    sacks: u64,
}

/// Stream, kind, end whose data it is about, beginning and length.
type Spell = (StreamId, SpellKind, Side, Instant, Duration);

impl Points for Told {
    fn stream(&mut self, stream: Stream) {
        self.streams.push(stream);
    }
    fn point(&mut self, point: &Point) {
        let known = self.streams.iter().any(|stream| stream.id == point.stream);
        assert!(!known, "a point of a stream that is over: {point:?}");
        match point.mark {
            Mark::Interval(interval) => {
                self.interval_starts.push(point.at);
                self.interval_packets += u64::from(interval.packets);
                self.interval_payload += interval.payload_bytes;
            }
            Mark::Spell { kind, length } => {
                // A stream is idle as a whole.
                let side = if kind == SpellKind::Idle { Side::A } else { point.side };
                self.spells.push((point.stream, kind, side, point.at, length));
            }
            Mark::Rtt(_) => self.round_trips += 1,
            Mark::Sack { .. } => self.sacks += 1,
            Mark::Segment { start, end, .. } => assert!(start <= end, "{point:?}"),
            Mark::Ack { ack, edge, .. } => assert!(ack <= edge, "{point:?}"),
        }
    }
}

type Frame = (u64, u16, Vec<u8>, u32);

/// A packet of few hosts and ports, its numbers close to each other or not.
fn packet() -> impl Strategy<Value = Datagram> {
    let number = prop_oneof![4 => 0u32..8_000, 1 => any::<u32>()];
    let ends = (0u8..3, 0u8..3, 0u16..2, 0u16..2, any::<u16>());
    let flags = prop_oneof![
        6 => Just(0b01_0000u8),
        1 => Just(0b00_0010),
        1 => Just(0b01_0010),
        1 => Just(0b01_0001),
        1 => any::<u8>()
    ];
    let blocks = prop::collection::vec((number.clone(), 0u32..4_000), 0..3);
    let header = (number.clone(), number, flags, 0u16..3, prop::option::of(0u32..50), blocks);
    let payload = prop_oneof![3 => Just(0u32), 1 => Just(1), 3 => 1u32..1_500];
    (ends, header, payload, any::<bool>()).prop_map(
        |((a, b, from, to, id), (seq, ack, flags, window, stamp, blocks), payload_len, tcp)| {
            let mut sack = SackBlocks::default();
            for (left, len) in blocks {
                sack.push(Seq32(left), Seq32(left.wrapping_add(len)));
            }
            let bit = |n: u8| flags >> n & 1 == 1;
            let options = Options {
                timestamps: stamp.map(|value| Timestamps { value, echo: value / 2 }),
                sack,
                ..Options::default()
            };
            let flags = Flags {
                fin: bit(0),
                syn: bit(1),
                rst: bit(2),
                psh: bit(3),
                ack: bit(4),
                urg: bit(5),
                ece: bit(6),
                cwr: bit(7),
            };
            let header = Header {
                source_port: from,
                destination_port: to,
                seq: Seq32(seq),
                ack: Seq32(ack),
                flags,
                window,
                options,
                ..Header::default()
            };
            let udp = Transport::Udp { source_port: from, destination_port: to };
            let [source, destination] = [a, b].map(|host| Ipv4Addr::new(10, 0, 0, host));
            let transport = if tcp { Transport::Tcp(header) } else { udp };
            Datagram {
                source,
                destination,
                id,
                ttl: 1,
                tos: u8::from(flags.ece) * 3,
                transport,
                payload_len,
            }
        },
    )
}

/// With a time to the next one: now and then any at all, if clocks leap.
fn frame(leaps: bool) -> impl Strategy<Value = Frame> {
    let links = vec![0u16, 1, 9, 101, 104, 105, 113, 119, 127, 147, 163, 192, 239, 276];
    let garbage = (prop::sample::select(links), any::<Vec<u8>>(), any::<u32>());
    let near = prop_oneof![5 => 0u64..3_000_000, 3 => 0u64..900_000_000, 1 => 0u64..20_000_000_000];
    let far = if leaps { 0..u64::MAX } else { 0..1 };
    let at = prop_oneof![40 => near, 1 => far];
    let good = (packet(), 20usize..200).prop_map(|(packet, snap)| {
        let mut bytes = Vec::new();
        packet.write(&mut bytes).expect("options and payload fit");
        let len = bytes.len() as u32;
        bytes.truncate(snap);
        (101, bytes, len)
    });
    (at, prop_oneof![12 => good, 1 => garbage])
        .prop_map(|(at, (link, bytes, len))| (at, link, bytes, len))
}

/// Times add up, and now and then go back a little.
fn capture(leaps: bool) -> impl Strategy<Value = Vec<Frame>> {
    (prop::collection::vec(frame(leaps), 0..150), any::<bool>()).prop_map(
        |(mut frames, backward)| {
            let mut now = 0;
            for (index, (at, ..)) in frames.iter_mut().enumerate() {
                now = if *at > u64::MAX / 2 { *at } else { now.saturating_add(*at) };
                let back = backward && index % 7 == 3;
                *at = if back { now.saturating_sub(at.saturating_mul(2)) } else { now };
            }
            frames
        },
    )
}

fn captured((at, link, bytes, len): &Frame) -> Captured<'_> {
    let link = LinkType::from_number(*link);
    Captured { at: Instant::from_nanos(*at), link, bytes, original_len: *len }
}

fn analysed(config: Config, frames: &[Frame]) -> (Told, Totals) {
    let mut analyzer = Analyzer::new(config);
    let mut reported = Told::default();
    frames.iter().for_each(|frame| analyzer.push(captured(frame), &mut reported));
    let totals = analyzer.finish(&mut reported);
    (reported, totals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn everything_is_counted_once(
        frames in capture(true),
        streams_max in 1usize..8,
        segments_max in 0usize..20,
        interval in prop::sample::select(vec![0u64, 1, 1_000_000, 1_000_000_000]),
    ) {
        let interval = Duration::from_nanos(interval);
        let bounds = Config { streams_max, segments_max, ..Config::default() };
        let config = Config { interval, checksums: true, ..bounds };
        let (reported, totals) = analysed(config, &frames);
        let f = totals.frames;
        prop_assert_eq!(f.seen, frames.len() as u64);
        let closed = f.not_ip + f.control + f.encrypted + f.fragments + f.truncated + f.broken;
        prop_assert_eq!(f.seen, f.opened + f.repeated + f.bad_fcs + f.unsupported + closed);
        let p = totals.packets;
        let carried = p.tcp + p.udp + p.dccp;
        let streams = totals.tcp_streams + totals.udp_streams + totals.dccp_streams;
        let parts = p.copies + p.fragments + p.joined;
        prop_assert_eq!(p.seen, carried + p.other + parts + p.unreadable + p.broken);
        let named: u64 = totals.contents.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(named + totals.contents.others(), f.not_ip + f.unsupported + p.other);
        prop_assert_eq!(reported.streams.len() as u64, streams);

        let ways = || reported.streams.iter().flat_map(|stream| &stream.ways);
        prop_assert_eq!(ways().map(|way| way.volume.packets).sum::<u64>(), carried);
        let kinds: u64 = ways().flat_map(|way| way.tcp.kinds).sum();
        prop_assert_eq!(kinds, p.tcp);
        if !interval.is_zero() {
            prop_assert_eq!(reported.interval_packets, carried);
            let first = reported.interval_starts.iter().min().copied().unwrap_or_default();
            let part = |at: &Instant| at.since(first).as_nanos() % interval.as_nanos();
            prop_assert!(reported.interval_starts.iter().all(|at| part(at) == 0), "one grid");
            let payload: u64 = ways().map(|way| way.volume.payload_bytes).sum();
            prop_assert_eq!(reported.interval_payload, payload);
        }
        let spells = |stream: &Stream| {
            let ways = stream.ways.iter().map(|way| &way.tcp);
            let counts = ways.map(|tcp| [tcp.ack_gaps, tcp.starvation, tcp.zero_window_spells]);
            counts.flatten().map(|spells| spells.count).sum::<u64>() + stream.idle.count
        };
        let counted: u64 = reported.streams.iter().map(spells).sum();
        prop_assert_eq!(reported.spells.len() as u64, counted);
        prop_assert_eq!(reported.round_trips, ways().map(|way| way.tcp.rtt.count()).sum::<u64>());
        prop_assert_eq!(reported.sacks, ways().map(|way| way.tcp.sack_blocks).sum::<u64>());
        for way in ways() {
            prop_assert!(way.tcp.unique_bytes <= way.volume.payload_bytes, "{:?}", way);
            prop_assert!(way.tcp.count(Kind::Reset) == way.tcp.rst, "{:?}", way);
        }
    }

    /// Whatever clocks do: spells of a kind do not overlap and lie within the time watched, no time
    /// of an end is longer than that, an end without data is not starved, and no more ACKs are lost
    /// than seen.
    #[test]
    fn no_share_of_the_time_is_above_all_of_it(
        mut frames in prop_oneof![capture(true), capture(false)],
        ids in prop::sample::select(vec![0u16, 1, 2, 9]),
    ) {
        // Identifications that count one by one, or with small gaps.
        for (n, (_, link, bytes, _)) in frames.iter_mut().enumerate() {
            if *link == 101 && bytes.len() > 20 && ids > 0 {
                let id = n as u16 * ids + n as u16 % ids;
                bytes[4..6].copy_from_slice(&id.to_be_bytes());
            }
        }
        let (mut reported, totals) = analysed(Config::default(), &frames);
        reported.spells.sort_unstable();
        for pair in reported.spells.windows(2) {
            let [(stream, kind, side, from, length), next] = [pair[0], pair[1]];
            let is_same = (stream, kind, side) == (next.0, next.1, next.2);
            prop_assert!(!is_same || from + length <= next.3, "{:?} overlap", pair);
        }
        for stream in &reported.streams {
            let end = totals.span.map_or(stream.last, |(_, last)| last);
            let end = if stream.end == End::Capture { end } else { stream.last };
            let watched = end.since(stream.first);
            let own = reported.spells.iter().filter(|one| one.0 == stream.id);
            for &(_, _, _, from, length) in own {
                prop_assert!(stream.first <= from && from + length <= end, "{:?}", stream);
            }
            let fits = |spells: &Spells| spells.total <= watched;
            prop_assert!(fits(&stream.idle), "{:?}", stream);
            for (way, other) in stream.ways.iter().zip(stream.ways.iter().rev()) {
                let tcp = &way.tcp;
                let spells = [&tcp.ack_gaps, &tcp.starvation, &tcp.zero_window_spells];
                prop_assert!(spells.into_iter().all(fits), "{:?}", stream);
                prop_assert!(tcp.application_limited <= watched, "{:?}", stream);
                prop_assert!(tcp.window_limited <= watched, "{:?}", stream);
                prop_assert!(tcp.unique_bytes > 0 || tcp.starvation.count == 0, "{:?}", stream);
                let lost = tcp.acks_lost.map_or(0, |lost| lost.count);
                prop_assert!(lost <= other.volume.packets, "{:?}", stream);
            }
        }
    }

    #[test]
    fn comparing_a_capture_with_itself_finds_nothing_missing(frames in capture(false)) {
        let mut comparison = Comparison::new(compare::Config::default());
        let mut rest = [frames.iter(), frames.iter()];
        while let Some(place) = comparison.wants() {
            match rest[place as usize].next() {
                Some(frame) => comparison.push(place, captured(frame), &mut ()),
                None => comparison.ended(place),
            }
        }
        let report = comparison.finish(&mut ());
        for way in report.flows.iter().flat_map(|flow| &flow.ways) {
            prop_assert_eq!(way.packets[0], way.packets[1]);
            for place in Place::ALL {
                let alone = way.all.alone[place as usize];
                let copies = way.duplicates[place as usize];
                prop_assert_eq!(way.all.crossed + alone + copies, way.packets[place as usize]);
                prop_assert_eq!(alone, 0);
            }
            prop_assert_eq!(way.reordered, 0);
        }
    }
}
