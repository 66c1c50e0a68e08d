//! Paths that the host would rather not use: metered links, and those that are likely to fail.

use crate::common::{Net, Plain};
use fairwave_machine::line::Wire;
use fairwave_shake::{Input, Priority, Profile};
use fairwave_tcp::{Store, Virtual};
use fairwave_units::{BitRate, Duration, Instant, Seed};

type Net2 = Net<Virtual, Plain>;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// `bytes` to send over a regular path of `mbps` and 20 ms, beside one of 20 Mbps and 10 ms with
/// this priority.
fn net(mbps: u64, priority: Priority, bytes: u32) -> Net2 {
    let wire = |mbps, ms| {
        let delay = Duration::from_millis(ms);
        Wire { delay, rate: Some(BitRate::mbps(mbps)), queue: Some(100), ..Wire::default() }
    };
    let wires = [wire(mbps, 10), wire(20, 5)].map(|wire| (wire, wire));
    let config = Profile::Modern.config();
    let mut net = Net::new(Seed(1), config, || Profile::Modern.rules(), &wires, Plain);
    net.apps[0].to_write.push(Virtual(bytes));
    net.report(0, Input::Prioritize { path: 1, priority });
    net.join_all();
    net
}

/// Bytes that arrived over each path.
fn delivered(net: &Net2) -> [u64; 2] {
    let paths: Vec<_> = net.ends[0].paths().map(|path| path.delivered).collect();
    [paths[0], paths[1]]
}

/// 2.5 MB take 1 s at 20 Mbps: half of the time that may be waited.
#[test]
fn a_metered_path_carries_nothing_while_the_others_suffice() {
    let mut net = net(20, Priority::Backup, 2_500_000);
    net.run_to_the_end(at(20_000), Seed(1));
    assert_eq!(delivered(&net)[1], 0);
    assert_eq!(net.ends[0].stats().copies, 0);
}

/// 6 MB at 5 Mbps take 9.6 s: the metered path helps until as much is left as the other carries in
/// a second. Without priorities it would carry about four times as much as the other.
#[test]
fn a_metered_path_helps_with_a_backlog() {
    let mut net = net(5, Priority::Backup, 6_000_000);
    net.run_to_the_end(at(20_000), Seed(1));
    let [regular, metered] = delivered(&net);
    assert!(metered > 2_000_000, "{metered} bytes");
    assert!(regular > 1_500_000, "{regular} bytes");
    assert!(net.now < at(6_000), "{}", net.now);
}

#[test]
fn a_metered_path_takes_over_where_no_other_works() {
    let mut net = net(20, Priority::Backup, 2_000_000);
    net.run_until(at(400));
    assert_eq!(delivered(&net)[1], 0);
    net.report(0, Input::Leave { path: 0 });
    net.run_to_the_end(at(20_000), Seed(1));
    assert!(delivered(&net)[1] > 1_000_000, "{:?}", delivered(&net));
}

/// A path that is likely to fail is measured by copies: a few at first and one each second. When
/// the reason is over, it carries data again.
#[test]
fn a_path_at_risk_carries_copies_alone() {
    let mut net = net(5, Priority::Standby, 6_000_000);
    net.run_until(at(3_000));
    let [regular, risky] = delivered(&net);
    assert!(risky < 30_000 && regular > 1_500_000, "{risky} beside {regular}");
    net.report(0, Input::Prioritize { path: 1, priority: Priority::Regular });
    net.run_to_the_end(at(20_000), Seed(1));
    assert!(delivered(&net)[1] > 2_000_000, "{:?}", delivered(&net));
}

/// Of the paths that the host would rather not use, a metered one is preferred to one at risk.
#[test]
fn paths_at_risk_are_the_last_resort() {
    let mut net = net(20, Priority::Backup, 2_000_000);
    net.report(0, Input::Prioritize { path: 0, priority: Priority::Standby });
    net.run_to_the_end(at(20_000), Seed(1));
    let [risky, metered] = delivered(&net);
    assert!(metered > 1_900_000 && risky < 50_000, "{metered} and {risky}");
}
