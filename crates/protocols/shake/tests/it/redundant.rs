//! The redundant scheduler: every segment on every path, and no copy taken for a loss.

use crate::common::{Net, Plain};
use fairwave_machine::line::{End, Wire};
use fairwave_shake::{Config, LossDetection, Profile, Rules};
use fairwave_tcp::{Store, Virtual};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use proptest::prelude::*;

type Net2 = Net<Virtual, Plain>;

const MSS: u64 = 1400;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn wire(ms: u64, mbps: u64, loss: f64) -> Wire {
    let delay = Duration::from_millis(ms);
    Wire { delay, rate: Some(BitRate::mbps(mbps)), queue: Some(100), loss, ..Wire::default() }
}

fn rules() -> Rules {
    let scheduler = fairwave_shake::scheduler("redundant").expect("it is listed");
    Rules { scheduler, ..Profile::Modern.rules() }
}

/// `segments` to send over these wires; the way back loses nothing. The receive window is half of
/// what a queue takes, so that nothing overflows.
fn net(config: Config, wires: &[Wire], segments: u64, seed: Seed) -> Net2 {
    let config = Config { mss: MSS as u32, receive_buffer: 50 * MSS as u32, ..config };
    let both = |wire: &Wire| (*wire, Wire { loss: 0.0, ..*wire });
    let wires: Vec<_> = wires.iter().map(both).collect();
    let mut net = Net::new(seed, config, rules, &wires, Plain);
    net.apps[0].to_write.push(Virtual((segments * MSS) as u32));
    net.join_all();
    net
}

/// Losses of data found, retransmissions, timeouts.
fn troubles(net: &Net2) -> [u64; 3] {
    let stats = net.ends[0].stats();
    [stats.losses_found, stats.retransmissions, stats.timeouts]
}

/// With either way of finding losses. Two equal paths carry all twice; the third is so slow that
/// what it lacks has mostly arrived when it has room.
#[test]
fn copies_that_arrive_are_no_losses() {
    for profile in Profile::ALL {
        let wires = [wire(10, 20, 0.0), wire(10, 20, 0.0), wire(60, 2, 0.0)];
        let mut net = net(profile.config(), &wires, 1_000, Seed(1));
        net.run_to_the_end(at(20_000), Seed(1));
        assert_eq!(net.ends[1].received(), 1_000 * MSS + 1);
        assert_eq!(troubles(&net), [0; 3], "{}", profile.name());
        let delivered: Vec<_> = net.ends[0].paths().map(|path| path.delivered).collect();
        assert!(delivered[0] >= 950 * MSS && delivered[1] >= 950 * MSS, "{delivered:?}");
        let stats = net.ends[0].stats();
        assert!(stats.copies >= 950, "{stats:?}");
    }
}

/// A path loses a tenth of what it carries: the other delivers all of it, so nothing is repeated.
/// Its window is that of a path with such losses all the same.
#[test]
fn what_a_copy_delivered_is_not_repeated() {
    let wires = [wire(10, 20, 0.0), wire(10, 20, 0.1)];
    let mut net = net(Profile::Modern.config(), &wires, 6_000, Seed(1));
    net.run_to_the_end(at(20_000), Seed(1));
    let [found, repeated, _] = troubles(&net);
    assert_eq!((found, repeated), (0, 0));
    assert!(net.lines[1].tally(End::A).lost >= 20, "{:?}", net.lines[1].tally(End::A));
    let cwnd: Vec<_> = net.ends[0].paths().map(|path| u64::from(path.cwnd)).collect();
    assert!(cwnd[1] <= 8 * MSS && cwnd[0] >= 20 * MSS, "{cwnd:?}");
}

/// One of two paths dies: what comes in order never pauses for longer than a round trip of the
/// other, 20 ms, and never was faster than the best path.
#[test]
fn a_death_costs_nothing() {
    let wires = [wire(10, 10, 0.0), wire(10, 10, 0.0)];
    let mut net = net(Profile::Modern.config(), &wires, 4_000, Seed(1));
    net.run_until(at(500));
    net.lines[0].set_wire(End::A, wire(10, 10, 1.0));
    for step in 1..=40 {
        let before = net.ends[1].received();
        net.run_until(at(500 + 25 * step));
        let bytes = net.ends[1].received() - before;
        // 10 Mbps are 31 kB in 25 ms, headers and all.
        assert!((10_000..=35_000).contains(&bytes), "{bytes} in step {step}");
    }
    assert_eq!(troubles(&net)[1], 0);
}

proptest! {
    /// Whatever is lost on the other paths, a path that loses nothing and is not the slowest by far
    /// spares every repetition; and all arrives over paths none of which is sound.
    #[test]
    fn losses_elsewhere_are_not_repeated(
        seed in any::<u64>(),
        sound in any::<bool>(),
        lossy in prop::collection::vec((5..40u64, 0..60u32), 1..3),
        duplicates in any::<bool>(),
    ) {
        let seed = Seed(seed);
        let first = wire(5, 20, if sound { 0.0 } else { 0.2 });
        let others = lossy.iter().map(|(ms, percent)| wire(*ms, 20, f64::from(*percent) / 100.0));
        let wires: Vec<_> = [first].into_iter().chain(others).collect();
        let loss_detection =
            if duplicates { LossDetection::Duplicates(10) } else { LossDetection::Echoes(3) };
        let config = Config { loss_detection, ..Profile::Modern.config() };
        let mut net = net(config, &wires, 300, seed);
        net.run_to_the_end(at(600_000), seed);
        prop_assert_eq!(net.ends[1].received(), 300 * MSS + 1);
        if sound {
            prop_assert_eq!(troubles(&net)[1], 0);
        }
    }
}
