//! What several paths give together, of the sum of what they could, and against the best alone.

use crate::common;

use crate::common::{ID, Net, Plain};
use fairwave_machine::line::{End, Wire};
use fairwave_shake::{Config, Input, Profile, RETRANSMISSION_PATHS, Segment};
use fairwave_tcp::{Store, Virtual};
use fairwave_units::{BitRate, Duration, Instant, Seed, Stream};
use fairwave_wire::shake::{Body, Data, Header, Side};
use std::num::NonZeroU64;

/// A bottleneck; the way back is as fast and loses nothing.
#[derive(Clone, Copy, Debug)]
struct Way {
    mbps: u64,
    /// Round-trip time without queues.
    rtt_ms: u64,
    /// Of a thousand packets so many are lost at random.
    loss_permille: f64,
    /// The queue holds so much, instead of one bandwidth-delay product, twenty packets at least.
    queue_ms: Option<u64>,
    /// Datagrams of others take so much of the rate, at random intervals.
    cross_percent: u64,
}

/// Rate in Mbps and round-trip time in ms.
type PathSpec = (u64, u64);

impl From<PathSpec> for Way {
    fn from((mbps, rtt_ms): PathSpec) -> Self {
        Self { mbps, rtt_ms, loss_permille: 0.0, queue_ms: None, cross_percent: 0 }
    }
}

const MSS: u64 = 1400;
/// With the format's overhead, UDP and IPv4.
const PACKET: u64 = MSS + 52 + 28;
/// Slow start overshoots and recovers in this time.
const WARM_UP: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(5);

fn wires(way: &Way) -> (Wire, Wire) {
    let packets = |ms: u64| (way.mbps * 1000 * ms / 8 / PACKET).max(20) as usize;
    let back = Wire {
        delay: Duration::from_millis(way.rtt_ms) / 2,
        rate: Some(BitRate::mbps(way.mbps)),
        queue: Some(packets(way.queue_ms.unwrap_or(way.rtt_ms))),
        ..Wire::default()
    };
    (Wire { loss: way.loss_permille / 1000.0, ..back }, back)
}

/// Datagrams of others on a way.
struct Cross {
    path: u8,
    at: Instant,
    mean: Duration,
    random: Stream,
}

impl Cross {
    fn new((path, way): (usize, &Way), seed: Seed) -> Option<Self> {
        let rate = BitRate(way.mbps * 10_000 * way.cross_percent);
        let random = seed.stream(&format!("cross {path}"));
        let mean = rate.time_for(PACKET);
        (rate.0 > 0).then_some(Self { path: path as u8, at: Instant::ZERO, mean, random })
    }

    /// What belongs to nobody's connection here.
    fn datagram(&mut self) -> Segment<Virtual> {
        self.at += Duration::from_nanos(self.random.below(2 * self.mean.as_nanos()));
        let (number, body) = (NonZeroU64::MIN, Body::Data(Data { seq: 0, fin: false }));
        let (connection, from, path) = (ID + 1, Side::Opener, self.path);
        let header = Header { connection, from, path, number, sent_us: 0, body };
        Segment { header, payload: Virtual(MSS as u32) }
    }
}

fn run_until(net: &mut Net<Virtual, Plain>, cross: &mut [Cross], end: Instant) {
    while let Some(next) = cross.iter_mut().filter(|cross| cross.at <= end).min_by_key(|c| c.at) {
        net.run_until(next.at);
        let datagram = next.datagram();
        net.lines[usize::from(next.path)].send(net.now, End::A, datagram, PACKET);
    }
    net.run_until(end);
}

/// Goodput in bits per second, in order, of a transfer without end. Each path joins so much later
/// than the one before.
fn goodput(ways: &[Way], config: Config, seed: Seed, stagger: Duration) -> u64 {
    let wires: Vec<_> = ways.iter().map(wires).collect();
    let mut cross: Vec<_> =
        ways.iter().enumerate().filter_map(|way| Cross::new(way, seed)).collect();
    let mut net = Net::new(seed, config, common::rules, &wires, Plain);
    net.apps[0].to_write.push(Virtual(u32::MAX));
    net.apps[1].finishes = false;
    for path in 0..ways.len() as u8 {
        net.run_until(Instant::ZERO + stagger * u64::from(path));
        net.report(0, Input::Join { path, nominal: None });
    }
    let begin = Instant::ZERO + WARM_UP;
    run_until(&mut net, &mut cross, begin);
    let before = net.ends[1].received();
    run_until(&mut net, &mut cross, begin + MEASURED);
    BitRate::over(net.ends[1].received() - before, MEASURED).0
}

/// Half of the sum of rates times the longest round-trip time, so many times. RFC 8684 section
/// 3.3.1 asks for four.
fn with_buffer(ways: &[Way], halves: u64) -> Config {
    let sum: u64 = ways.iter().map(|way| way.mbps).sum();
    let longest = ways.iter().map(|way| way.rtt_ms).max().unwrap();
    let receive_buffer = (sum * 1000 * longest / 8 * halves / 2) as u32;
    Config { receive_buffer, ..Profile::Modern.config() }
}

/// Joins that follow each other so much later. Without random losses the sawteeth of the windows
/// stay as they began, together or in turns; a mean over these says more than one of them.
const STAGGERS_MS: [u64; 3] = [0, 70, 150];

/// Permille of the sum of capacities, and of the best path alone with the same buffer.
#[allow(clippy::print_stdout, reason = "the figures of docs/models/shake.md, with --nocapture")]
fn shares(paths: &[PathSpec], halves: u64) -> (u64, u64) {
    let ways: Vec<Way> = paths.iter().copied().map(Way::from).collect();
    let config = with_buffer(&ways, halves);
    let capacity: u64 = paths.iter().map(|path| path.0 * 1_000_000 * MSS / PACKET).sum();
    let staggers = STAGGERS_MS.map(Duration::from_millis);
    let together = staggers.map(|stagger| goodput(&ways, config, Seed(1), stagger));
    let together = together.iter().sum::<u64>() / staggers.len() as u64;
    let alone = |way: &Way| goodput(&[*way], config, Seed(1), Duration::ZERO);
    let best = ways.iter().map(alone).max().unwrap();
    let shares = (together * 1000 / capacity, together * 1000 / best);
    println!("{halves}/2 {paths:?}: {} of the sum, {} of the best", shares.0, shares.1);
    shares
}

/// Permille of the sum of what each path gives alone, and of the best alone, with the buffer of RFC
/// 8684 each; over seeds 1, 2, ...
#[allow(clippy::print_stdout, reason = "the figures of docs/models/shake.md, with --nocapture")]
fn shares_of_singles(what: &str, ways: &[Way], halves: u64, seeds: u64) -> (u64, u64) {
    let config = with_buffer(ways, halves);
    let one = |ways: &[Way], seed| goodput(ways, config, Seed(seed), Duration::ZERO);
    let over_seeds = |ways: &[Way]| (1..=seeds).map(|seed| one(ways, seed)).sum::<u64>();
    let together = over_seeds(ways);
    let alone: Vec<_> = ways.iter().map(|way| over_seeds(&[*way])).collect();
    let (sum, best) = (alone.iter().sum::<u64>(), *alone.iter().max().unwrap());
    let shares = (together * 1000 / sum, together * 1000 / best);
    let paths: Vec<_> = ways.iter().map(|way| (way.mbps, way.rtt_ms)).collect();
    let mbps: Vec<_> = alone.iter().map(|bps| bps / seeds / 1000).collect();
    println!(
        "{halves}/2 {what} {paths:?}: {} of the sum, {} of the best {mbps:?}",
        shares.0, shares.1
    );
    shares
}

const CASES: [&[PathSpec]; 10] = [
    &[(50, 20), (50, 20)],
    &[(50, 20), (50, 40)],
    &[(50, 20), (50, 80)],
    &[(50, 20), (20, 20)],
    &[(50, 20), (20, 40)],
    &[(50, 20), (20, 80)],
    &[(20, 20), (50, 40)],
    &[(20, 20), (50, 80)],
    &[(50, 20), (20, 40), (30, 80)],
    // Issue 7's rates of today: Wi-Fi, LTE, 5G.
    &[(50, 20), (20, 100), (100, 60)],
];

/// With the buffer of RFC 8684: at least 95 % of the sum at ratios of round-trip times up to two,
/// 85 % above.
#[test]
fn paths_add_up() {
    for paths in CASES {
        let ratio = paths.iter().map(|path| path.1).max().unwrap() / paths[0].1;
        let (sum, best) = shares(paths, 4);
        assert!(sum >= if ratio <= 2 { 950 } else { 850 }, "{paths:?}: {sum}");
        assert!(best >= 980, "{paths:?}: {best}");
    }
}

/// With half and a quarter of that buffer, which cannot hold all paths' flights and queues, they do
/// not add up; the best of them is still not undercut.
#[test]
fn the_best_path_is_not_undercut() {
    for (paths, halves) in [(CASES[3], 1), (CASES[5], 1), (CASES[5], 2), (CASES[9], 2)] {
        let (_, best) = shares(paths, halves);
        assert!(best >= 980, "{halves}/2 {paths:?}: {best}");
    }
}

/// 128 combinations of two and three paths, with the buffer of RFC 8684; prints the worst ten.
#[test]
#[ignore = "a minute: cargo test -p fairwave-shake --test it -- efficiency:: --ignored --nocapture"]
#[allow(clippy::print_stdout, reason = "the figures of docs/models/shake.md")]
fn a_grid_of_paths_adds_up() {
    let rates = [(10, 10), (10, 50), (20, 50), (50, 50), (50, 20), (50, 10), (20, 100), (100, 20)];
    let thirds = [None, Some((30, 30)), Some((50, 20)), Some((10, 60))];
    let mut seen = Vec::new();
    for (first, second) in rates {
        for (ratio, third) in (1..=4).flat_map(|ratio| thirds.map(|third| (ratio, third))) {
            let mut paths = vec![(first, 20), (second, 20 * ratio)];
            paths.extend(third);
            let (sum, best) = shares(&paths, 4);
            seen.push((sum, best, paths));
        }
    }
    seen.sort();
    seen.iter().take(10).for_each(|case| println!("{case:?}"));
    assert!(seen.iter().all(|case| case.0 >= 940 && case.1 >= 980), "{:?}", seen[0]);
    let below = seen.iter().filter(|case| case.0 < 950).count();
    assert!(below <= 1, "{below} have less than 95 % of the sum");
}

/// Does something to one of the paths.
type Trouble = fn(&mut [Way]);

/// What may be wrong with one of the paths, by name.
const TROUBLES: [(&str, Trouble); 6] = [
    ("first loses 0.1 %", |ways| ways[0].loss_permille = 1.0),
    ("first loses 1 %", |ways| ways[0].loss_permille = 10.0),
    ("last loses 0.3 %", |ways| last(ways).loss_permille = 3.0),
    ("last loses 1 %", |ways| last(ways).loss_permille = 10.0),
    ("queue of 1 s on the last", |ways| last(ways).queue_ms = Some(1000)),
    ("others take 30 % of the first", |ways| ways[0].cross_percent = 30),
];

fn last(ways: &mut [Way]) -> &mut Way {
    ways.last_mut().expect("there are paths")
}

fn troubled(paths: &[PathSpec], trouble: Trouble) -> Vec<Way> {
    let mut ways: Vec<Way> = paths.iter().copied().map(Way::from).collect();
    trouble(&mut ways);
    ways
}

/// Loss, a queue of a second and others' traffic on one path of two: they add up all the same.
#[test]
fn a_troubled_path_adds_what_it_has() {
    for (what, trouble) in TROUBLES {
        let (sum, best) = shares_of_singles(what, &troubled(CASES[4], trouble), 4, 1);
        assert!(sum >= 950, "{what}: {sum}");
        assert!(best >= 980, "{what}: {best}");
    }
}

/// All troubles on all cases over three seeds; prints the worst ten.
#[test]
#[ignore = "minutes: cargo test -p fairwave-shake --test it -- efficiency:: --ignored --nocapture"]
#[allow(clippy::print_stdout, reason = "the figures of docs/models/shake.md")]
fn a_grid_of_troubles() {
    let mut seen = Vec::new();
    for (what, trouble) in TROUBLES {
        for paths in CASES {
            let (sum, best) = shares_of_singles(what, &troubled(paths, trouble), 4, 3);
            seen.push((sum, best, what, paths));
        }
    }
    seen.sort();
    seen.iter().take(10).for_each(|case| println!("{case:?}"));
    let worst = seen.iter().map(|case| case.1).min().unwrap();
    assert!(worst >= 980, "{worst} of the best path alone");
}

/// A quarter of RFC 8684's buffer is one flight of the second.
const FAR: &[PathSpec] = &[(20, 20), (20, 100)];

/// Losses of one path with buffers below that of RFC 8684.
const LOSSES: [(&str, Trouble); 6] = [
    ("first loses 1 %", |ways| ways[0].loss_permille = 10.0),
    ("first loses 5 %", |ways| ways[0].loss_permille = 50.0),
    ("first loses 10 %", |ways| ways[0].loss_permille = 100.0),
    ("last loses 1 %", |ways| last(ways).loss_permille = 10.0),
    ("last loses 5 %", |ways| last(ways).loss_permille = 50.0),
    ("last loses 10 %", |ways| last(ways).loss_permille = 100.0),
];

/// Without random losses most of what is sent is new, and the second path adds to the first, though
/// the buffer holds no more than three quarters of the sum of rates times the longest round-trip
/// time. A path full of copies of what the other carries would give the best path's goodput.
#[test]
fn small_buffers_do_not_send_everything_twice() {
    // The buffer over the longer round-trip time bounds the last two at 24.0 and 24.0 Mbps, if no
    // acknowledgement of the other path comes first.
    let cases = [(100, 375_000, 30_000), (100, 300_000, 24_000), (60, 180_000, 23_000)];
    for (ms, receive_buffer, minimum) in cases {
        let ways = [Way::from((20, 20)), Way::from((20, ms))];
        let wires = ways.each_ref().map(wires);
        let config = Config { receive_buffer, ..Profile::Modern.config() };
        let mut net = Net::new(Seed(1), config, common::rules, &wires, Plain);
        net.apps[0].to_write.push(Virtual(u32::MAX));
        net.join_all();
        net.run_until(Instant::ZERO + Duration::from_secs(15));
        let (stats, kbps) = (net.ends[0].stats(), net.ends[1].received() * 8 / 15_000);
        assert!(stats.reinjections * 4 < stats.segments, "{ms} ms: {stats:?}");
        assert!(kbps > minimum, "{ms} ms, {receive_buffer}: {kbps} kbps");
    }
}

/// A path that loses, beside one whose flight takes the whole receive window, is left alone rather
/// than that the other waits for what it loses.
#[test]
fn a_lossy_path_does_not_hold_up_the_best() {
    let cases = [(LOSSES[5], CASES[0], 1), (LOSSES[2], FAR, 1), (LOSSES[5], CASES[5], 2)];
    for ((what, trouble), paths, halves) in cases {
        let (_, best) = shares_of_singles(what, &troubled(paths, trouble), halves, 1);
        assert!(best >= 980, "{halves}/2 {paths:?} {what}: {best}");
    }
}

/// Losses of one path, with half and a quarter of the buffer of RFC 8684; prints the worst ten.
#[test]
#[ignore = "minutes: cargo test -p fairwave-shake --test it -- efficiency:: --ignored --nocapture"]
#[allow(clippy::print_stdout, reason = "the figures of docs/models/shake.md")]
fn a_grid_of_losses_with_small_buffers() {
    let mut seen = Vec::new();
    for halves in [1, 2] {
        for (what, trouble) in LOSSES {
            for paths in CASES.into_iter().chain([FAR]) {
                let (sum, best) = shares_of_singles(what, &troubled(paths, trouble), halves, 3);
                seen.push((best, sum, halves, what, paths));
            }
        }
    }
    seen.sort();
    seen.iter().take(10).for_each(|case| println!("{case:?}"));
    assert!(seen[0].0 >= 980, "{} of the best path alone", seen[0].0);
}

/// Milliseconds until 2 MB have arrived, in the mean over seeds, with bandwidths told.
fn completion_ms(ways: &[Way], config: Config, seeds: u64) -> u64 {
    let one = |seed: u64| {
        let wires: Vec<_> = ways.iter().map(wires).collect();
        let mut net = Net::new(Seed(seed), config, common::rules, &wires, Plain);
        net.apps[0].to_write.push(Virtual(2_000_000));
        for (path, (wire, _)) in (0u8..).zip(&wires) {
            net.report(0, Input::Join { path, nominal: wire.rate });
        }
        net.run_to_the_end(Instant::ZERO + Duration::from_secs(120), Seed(seed));
        net.now.since(Instant::ZERO).as_millis()
    };
    (1..=seeds).map(one).sum::<u64>() / seeds
}

/// Which path repeats what was lost: a transfer of 2 MB where the widest path is the lossy one, the
/// slow one, both or neither; with the next best path while that is full, and without. The choice
/// matters only without.
#[test]
#[ignore = "a minute: cargo test -p fairwave-shake --test it -- efficiency:: --ignored --nocapture"]
#[allow(clippy::print_stdout, reason = "the figures of docs/models/shake.md")]
fn policies_of_retransmission() {
    let lossy = |path: PathSpec, loss_permille| Way { loss_permille, ..Way::from(path) };
    let cases = [
        ("widest loses 2 %", [lossy((50, 40), 20.0), lossy((20, 40), 0.0)]),
        ("widest is slow, both lose 1 %", [lossy((50, 160), 10.0), lossy((20, 20), 10.0)]),
        ("widest is slow and loses 2 %", [lossy((50, 160), 20.0), lossy((20, 20), 1.0)]),
        ("widest is fast, other loses 2 %", [lossy((50, 20), 1.0), lossy((20, 160), 20.0)]),
        ("fastest loses 5 %", [lossy((20, 80), 1.0), lossy((20, 40), 50.0)]),
    ];
    let mut differs = false;
    for (what, ways) in cases {
        for spills in [false, true] {
            let times = RETRANSMISSION_PATHS.iter().map(|policy| {
                let config = Config {
                    retransmission: policy.part,
                    retransmission_spills: spills,
                    ..with_buffer(&ways, 4)
                };
                (policy.name, completion_ms(&ways, config, 20))
            });
            let times: Vec<_> = times.collect();
            println!("{what}, spills {spills}: {times:?}");
            let by_time = || times.iter().map(|(_, ms)| *ms);
            let (min, max) = (by_time().min().expect("some"), by_time().max().expect("some"));
            assert!(!spills || max * 100 <= min * 101, "{what}: {times:?}");
            differs |= max * 100 >= min * 120;
        }
    }
    assert!(differs, "without spilling, a policy is a fifth slower than another in some case");
}
