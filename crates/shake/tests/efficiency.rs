//! What several paths give together, of the sum of what they could, and against the best alone.

mod common;

use common::{Net, Plain};
use fairwave_machine::line::Wire;
use fairwave_shake::{Config, Profile};
use fairwave_tcp::{Store, Virtual};
use fairwave_units::{BitRate, Duration, Instant, Seed};

/// Rate in Mbps and round-trip time in ms.
type PathSpec = (u64, u64);

const MSS: u64 = 1400;
/// With the format's overhead, UDP and IPv4.
const PACKET: u64 = MSS + 52 + 28;
/// Slow start overshoots and recovers in this time.
const WARM_UP: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(5);

/// A bottleneck with a queue of one bandwidth-delay product, twenty packets at least; the way back
/// is as fast.
fn wires((mbps, rtt_ms): PathSpec) -> (Wire, Wire) {
    let queue = (mbps * 1000 * rtt_ms / 8 / PACKET).max(20) as usize;
    let wire = Wire {
        delay: Duration::from_millis(rtt_ms) / 2,
        rate: Some(BitRate::mbps(mbps)),
        queue: Some(queue),
        ..Wire::default()
    };
    (wire, wire)
}

/// Goodput in bits per second, in order, of a transfer without end.
fn goodput(paths: &[PathSpec], receive_buffer: u32) -> u64 {
    let config = Config { receive_buffer, ..Profile::Modern.config() };
    let wires: Vec<_> = paths.iter().copied().map(wires).collect();
    let mut net = Net::new(Seed(1), config, common::rules, &wires, Plain);
    net.apps[0].to_write.push(Virtual(u32::MAX));
    net.apps[1].finishes = false;
    net.join_all();
    let begin = Instant::ZERO + WARM_UP;
    net.run_until(begin);
    let before = net.ends[1].received();
    net.run_until(begin + MEASURED);
    BitRate::over(net.ends[1].received() - before, MEASURED).0
}

/// Half of the sum of rates times the longest round-trip time, so many times. RFC 8684 section
/// 3.3.1 asks for four.
fn buffer(paths: &[PathSpec], halves: u64) -> u32 {
    let sum: u64 = paths.iter().map(|path| path.0).sum();
    let longest = paths.iter().map(|path| path.1).max().unwrap();
    (sum * 1000 * longest / 8 * halves / 2) as u32
}

/// Permille of the sum of capacities, and of the best path alone with the same buffer.
#[allow(clippy::print_stdout, reason = "the figures of docs/models/shake.md, with --nocapture")]
fn shares(paths: &[PathSpec], halves: u64) -> (u64, u64) {
    let receive_buffer = buffer(paths, halves);
    let capacity: u64 = paths.iter().map(|path| path.0 * 1_000_000 * MSS / PACKET).sum();
    let together = goodput(paths, receive_buffer);
    let best = paths.iter().map(|path| goodput(&[*path], receive_buffer)).max().unwrap();
    let shares = (together * 1000 / capacity, together * 1000 / best);
    println!("{halves}/2 {paths:?}: {} of the sum, {} of the best", shares.0, shares.1);
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
#[ignore = "a minute: cargo test -p fairwave-shake --test efficiency -- --ignored --nocapture"]
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
            let longest = paths.iter().map(|path| path.1).max().unwrap();
            assert!(sum >= if longest <= 40 { 950 } else { 850 }, "{paths:?}: {sum}");
            assert!(best >= 980, "{paths:?}: {best}");
            seen.push((sum, best, paths));
        }
    }
    seen.sort();
    seen.iter().take(10).for_each(|case| println!("{case:?}"));
}
