//! Paths that die while nothing flies, while the window is shut, or before they were up: what works
//! is used, what works again is found, and what does not work costs nothing.

use crate::common;

use crate::common::{Net, Plain};
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Wire};
use fairwave_shake::{Config, Event, Input, Profile, Rules};
use fairwave_tcp::{Store, Virtual};
use fairwave_units::{BitRate, Duration, Instant, Seed};

type Net2 = Net<Virtual, Plain>;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn wire(ms: u64, mbps: u64) -> Wire {
    let delay = Duration::from_millis(ms);
    Wire { delay, rate: Some(BitRate::mbps(mbps)), queue: Some(50), ..Wire::default() }
}

fn cut(wire: Wire) -> Wire {
    Wire { loss: 1.0, ..wire }
}

fn set(net: &mut Net2, path: usize, wire: Wire) {
    net.lines[path].set_wire(End::A, wire);
    net.lines[path].set_wire(End::B, wire);
}

/// Neither stream ends by itself.
fn net(wires: &[Wire], config: Config, rules: impl Fn() -> Rules) -> Net2 {
    let wires: Vec<_> = wires.iter().map(|wire| (*wire, *wire)).collect();
    let mut net = Net::new(Seed(1), config, rules, &wires, Plain);
    net.apps.iter_mut().for_each(|app| app.finishes = false);
    net
}

fn modern(wires: &[Wire]) -> Net2 {
    net(wires, Profile::Modern.config(), common::rules)
}

fn write(net: &mut Net2, end: usize, len: u32) {
    net.apps[end].to_write.push(Virtual(len));
    net.drain(end);
}

fn is_up(net: &Net2, end: usize) -> Vec<bool> {
    net.ends[end].paths().map(|path| path.is_up).collect()
}

fn join(net: &mut Net2, path: u8) {
    net.report(0, Input::Join { path, nominal: None });
}

/// Nobody reads, and the path on which data came last dies: the window is asked for on the other.
#[test]
fn a_shut_window_opens_over_the_path_that_is_left() {
    for (profile, first) in [(Profile::Modern, 10), (Profile::Modern, 20), (Profile::Paper, 10)] {
        let wires = [wire(first, 10), wire(30 - first, 10)];
        let config = Config { receive_buffer: 40_000, ..profile.config() };
        let mut net = net(&wires, config, || profile.rules());
        net.join_all();
        write(&mut net, 0, 400_000);
        net.run_until(at(100));
        net.apps[1].reads = false;
        net.run_until(at(3_000));
        let dead = usize::from(first == 20);
        set(&mut net, dead, cut(wires[dead]));
        net.run_until(at(60_000));
        net.apps[1].reads = true;
        net.drain(1);
        // 64 times the least timeout between probes, and a few seconds of transfer.
        net.run_until(at(200_000));
        assert_eq!(net.ends[1].received(), 400_000, "{}, {first} ms", profile.name());
    }
}

/// As above; what is read is told on the path that is left, without being asked for.
#[test]
fn a_window_that_opens_is_told_on_every_path() {
    for dead in 0..2 {
        let wires = [wire(10 + 10 * dead as u64, 10), wire(20 - 10 * dead as u64, 10)];
        let config = Config { receive_buffer: 40_000, ..Profile::Modern.config() };
        let mut net = net(&wires, config, common::rules);
        net.join_all();
        write(&mut net, 0, 400_000);
        net.run_until(at(100));
        net.apps[1].reads = false;
        net.run_until(at(30_100));
        set(&mut net, dead, cut(wires[dead]));
        let before = net.ends[1].received();
        net.apps[1].reads = true;
        net.drain(1);
        net.run_until(at(31_500));
        assert!(net.ends[1].received() > before + 40_000, "path {dead} is dead");
    }
}

/// A path died, another finished the work; it is found working before there is anything to send.
#[test]
fn an_idle_connection_finds_that_a_path_works_again() {
    for end in 0..2 {
        let wires = [wire(10, 10), wire(20, 10)];
        let mut net = modern(&wires);
        net.join_all();
        write(&mut net, end, 3_000_000);
        net.run_until(at(500));
        set(&mut net, 0, cut(wires[0]));
        net.run_until(at(6_000));
        assert_eq!(is_up(&net, end), [false, true], "end {end}");
        set(&mut net, 0, wires[0]);
        net.run_until(at(7_500));
        assert_eq!(is_up(&net, end), [true, true], "end {end}");
        net.report(0, Input::Leave { path: 1 });
        net.run_until(at(8_000));
        write(&mut net, end, 10_000);
        net.run_until(at(9_000));
        assert_eq!(net.ends[1 - end].received(), 3_010_000, "end {end}");
    }
}

/// The only path loses acknowledgements; then a window update tells that all has arrived, so there
/// is nothing to try the path with. It comes back all the same, also after ten minutes of silence.
#[test]
fn a_dead_path_with_nothing_to_send_is_tried_on() {
    for outage in [0, 600] {
        let wires = [wire(10, 10)];
        let config = Config { receive_buffer: 20_000, ..Profile::Modern.config() };
        let mut net = net(&wires, config, common::rules);
        net.apps[1].reads = false;
        net.join_all();
        write(&mut net, 0, 10_000);
        net.run_until(at(500));
        net.lines[0].set_wire(End::B, cut(wires[0]));
        write(&mut net, 0, 10_000);
        while is_up(&net, 0)[0] {
            assert!(net.step(at(60_000)));
        }
        net.run_until(net.now + Duration::from_millis(300));
        set(&mut net, 0, wires[0]);
        net.apps[1].reads = true;
        net.drain(1);
        net.run_until(net.now + Duration::from_millis(50));
        assert_eq!((is_up(&net, 0), net.ends[0].acknowledged()), (vec![false], 20_000));
        if outage > 0 {
            set(&mut net, 0, cut(wires[0]));
            net.run_until(net.now + Duration::from_secs(outage));
            set(&mut net, 0, wires[0]);
        }
        net.run_until(net.now + Duration::from_millis(1_500));
        assert_eq!(is_up(&net, 0), [true], "after {outage} s");
        write(&mut net, 0, 10_000);
        net.run_until(net.now + Duration::from_millis(500));
        assert_eq!(net.ends[1].received(), 30_000);
    }
}

/// The response is lost for three minutes: the path comes up all the same, and carries data.
#[test]
fn a_path_comes_up_however_late_its_response_is() {
    for joins_again in [false, true] {
        let wires = [wire(10, 10), wire(20, 10)];
        let mut net = modern(&wires);
        join(&mut net, 0);
        net.run_until(at(200));
        join(&mut net, 1);
        net.run_until(at(230));
        net.lines[1].set_wire(End::A, cut(wires[1]));
        net.run_until(at(200_000));
        assert_eq!((is_up(&net, 0), is_up(&net, 1)), (vec![true; 2], vec![true, false]));
        set(&mut net, 1, wires[1]);
        if joins_again {
            join(&mut net, 1);
        }
        // The challenge and the opener's question are repeated every 64 s.
        net.run_until(at(if joins_again { 200_500 } else { 265_000 }));
        assert_eq!(is_up(&net, 1), [true, true]);
        write(&mut net, 1, 5_000_000);
        net.run_until(net.now + Duration::from_secs(5));
        let delivered: Vec<_> = net.ends[1].paths().map(|path| path.delivered).collect();
        assert!(delivered[1] > 500_000, "{delivered:?}");
    }
}

/// An opener that is sure of its paths, and an acceptor, have nothing to say while idle.
#[test]
fn an_idle_connection_is_silent() {
    let wires = [wire(10, 10), wire(20, 10)];
    let mut net = modern(&wires);
    net.join_all();
    write(&mut net, 0, 100_000);
    net.run_until(at(5_000));
    let sent = |net: &Net2| net.lines.iter().map(|line| line.tally(End::A).sent).sum::<u64>();
    let before = sent(&net);
    net.run_until(at(3_600_000));
    assert_eq!(sent(&net), before);
    assert_eq!(net.ends.each_ref().map(Machine::deadline), [None, None]);
}

/// kbit/s in order over 20 Mbps, 100 ms and a loss of 1/1000, by an algorithm, in 40 s; beside a
/// faster path that has been dead for five.
fn rate_beside_a_dead_path(algorithm: &str, is_there: bool) -> u64 {
    let rules = || {
        let growth = fairwave_shake::growth(algorithm).expect("it is listed");
        Rules { growth, ..Profile::Modern.rules() }
    };
    let wires = [wire(5, 50), wire(50, 20)];
    let mut net = net(&wires, Profile::Modern.config(), rules);
    net.lines[1].set_wire(End::A, Wire { loss: 0.001, ..wires[1] });
    net.apps[0].to_write.push(Virtual(400_000_000));
    join(&mut net, 1);
    if is_there {
        join(&mut net, 0);
    }
    net.run_until(at(5_000));
    set(&mut net, 0, cut(wires[0]));
    net.run_until(at(10_000));
    let before = net.ends[1].received();
    net.run_until(at(50_000));
    (net.ends[1].received() - before) * 8 / 40_000
}

/// A dead path has no part in what coupled algorithms take.
#[test]
fn coupled_windows_do_not_wait_for_the_dead() {
    for algorithm in ["lia", "olia", "balia"] {
        let [alone, beside] = [false, true].map(|there| rate_beside_a_dead_path(algorithm, there));
        assert!(beside * 10 > alone * 7, "{algorithm}: {alone} kbit/s alone, {beside} beside it");
    }
}

/// One lost segment of an idle path is no reason to forget what the path carried.
#[test]
fn a_lost_tail_halves_the_window_that_was_used() {
    let wires = [wire(25, 50)];
    let mut net = modern(&wires);
    net.join_all();
    write(&mut net, 0, 3_000_000);
    net.run_until(at(5_000));
    let window = |net: &Net2| net.ends[0].paths().next().unwrap();
    let before = window(&net).cwnd;
    net.lines[0].set_wire(End::A, cut(wires[0]));
    write(&mut net, 0, 1_000);
    net.run_until(at(5_100));
    set(&mut net, 0, wires[0]);
    net.run_until(at(6_000));
    let after = window(&net);
    assert_eq!((after.timeouts, after.ssthresh), (1, before / 2));
}

/// Joins told after the end are not repeated for ever, whether the peer knows the path or not.
#[test]
fn after_the_end_joins_come_to_an_end() {
    for known in [false, true] {
        let mut net = modern(&[wire(10, 10), wire(20, 10)]);
        net.apps.iter_mut().for_each(|app| app.finishes = true);
        join(&mut net, 0);
        if known {
            join(&mut net, 1);
        }
        net.apps[0].to_write.push(Virtual(100_000));
        net.drain(0);
        net.run_until(at(2_000));
        for end in 0..2 {
            let last = net.apps[end].events.last().map(|(_, event)| *event);
            assert_eq!(last, Some(Event::Closed));
        }
        let before = net.lines[1].tally(End::A).sent;
        join(&mut net, 1);
        net.run_until(at(86_400_000));
        let joins = net.lines[1].tally(End::A).sent - before;
        assert!(joins <= 8, "{joins} messages in a day");
        assert_eq!(net.ends[0].deadline(), None);
    }
}

/// Acknowledgements of an honest reader that pauses overtake each other on a line that reorders:
/// no window shrinks by that.
#[test]
fn windows_told_late_do_not_shrink() {
    let jitter = Duration::from_millis(40);
    let wires = [Wire { jitter, ..wire(10, 10) }, Wire { jitter, ..wire(20, 10) }];
    let config = Config { receive_buffer: 20_000, ..Profile::Modern.config() };
    let mut net = net(&wires, config, common::rules);
    net.join_all();
    write(&mut net, 0, 2_000_000);
    for step in 1..500 {
        net.apps[1].reads = step % 3 == 0;
        net.drain(1);
        net.run_until(at(step * 25));
    }
    assert!(net.ends[1].received() > 100_000);
    assert_eq!(net.ends[0].stats().refused.window_shrunk, 0);
}

/// The longest time without news for the reader, in ms, where 400 KB come in tiny segments, some of
/// which are lost on one of the paths.
fn longest_pause(mss: u32, loss: f64) -> u64 {
    let wires = [wire(10, 10), wire(20, 10)].map(|wire| Wire { queue: Some(1_000), ..wire });
    let config = Config { mss, receive_buffer: 50_000, ..Profile::Modern.config() };
    let mut net = net(&wires, config, common::rules);
    net.join_all();
    set(&mut net, 0, Wire { loss, ..wires[0] });
    write(&mut net, 0, 400_000);
    let (mut before, mut since, mut longest) = (0, 100, 0);
    for ms in 100..5_000 {
        net.run_until(at(ms));
        let received = net.ends[1].received();
        if received > before {
            longest = longest.max(ms - since);
            (before, since) = (received, ms);
        }
    }
    assert_eq!(before, 400_000, "{mss} bytes, loss {loss}: {:?}", net.ends[0].stats());
    longest
}

/// Segments of tiny writes wait for the slower path, and for what was lost, without being dropped:
/// nobody has to wait for a timer, the least of which takes 200 ms.
#[test]
fn crumbs_behind_a_gap_stop_nobody() {
    for mss in [16, 20, 60] {
        for loss in [0.0, 0.001, 0.01] {
            let pause = longest_pause(mss, loss);
            assert!(pause < 150, "{mss} bytes, loss {loss}: {pause} ms");
        }
    }
}

/// When an end was told that path 0 has been left.
fn reported_left(net: &Net2, end: usize) -> Vec<u64> {
    let left = Event::PathLeft { path: 0 };
    let reported = net.apps[end].events.iter().filter(|(_, event)| *event == left);
    reported.map(|(at, _)| at.since(Instant::ZERO).as_millis() / 1_000).collect()
}

/// For more than a minute all that an end says of its leaving is lost, and the other has nothing to
/// send that would be answered by it: it hears of it all the same, once the lines work.
#[test]
fn an_idle_end_hears_that_a_path_was_left() {
    for leaver in 0..2 {
        let wires = [wire(10, 10), wire(20, 10)];
        let mut net = modern(&wires);
        net.join_all();
        write(&mut net, 0, 10_000);
        net.run_until(at(1_000));
        (0..2).for_each(|path| set(&mut net, path, cut(wires[path])));
        net.report(leaver, Input::Leave { path: 0 });
        net.run_until(at(70_000));
        (0..2).for_each(|path| set(&mut net, path, wires[path]));
        net.run_until(at(200_000));
        assert_eq!([leaver, 1 - leaver].map(|end| reported_left(&net, end)), [[64], [128]]);
        assert_eq!(net.ends.each_ref().map(Machine::deadline), [None, None]);
    }
}

/// The acceptor leaves its path before it has heard that all it sent has arrived: the opener, which
/// is done, is told, so that its host can join the path again.
#[test]
fn who_is_done_hears_that_a_path_was_left() {
    let wires = [wire(10, 10)];
    let mut net = modern(&wires);
    net.apps[0].finishes = true;
    net.join_all();
    net.run_until(at(500));
    net.lines[0].set_wire(End::A, cut(wires[0]));
    net.apps[1].finishes = true;
    write(&mut net, 1, 10_000);
    net.run_until(at(600));
    assert!(net.ends[0].is_over() && !net.ends[1].is_over());
    net.report(1, Input::Leave { path: 0 });
    net.run_until(at(700));
    set(&mut net, 0, wires[0]);
    net.run_until(at(5_000));
    assert_eq!(reported_left(&net, 0).len(), 1);
    join(&mut net, 0);
    net.run_until(at(10_000));
    let last = net.apps[1].events.last().map(|(_, event)| *event);
    assert_eq!(last, Some(Event::Closed));
}

/// The acceptor leaves before the response arrives, and what it says of that is lost for 40 s: the
/// opener, whose data it gets from then on, is told all the same.
#[test]
fn who_left_before_it_opened_says_so() {
    let wires = [wire(10, 10)];
    let mut net = modern(&wires);
    net.join_all();
    write(&mut net, 0, 1_000);
    net.run_until(at(15));
    set(&mut net, 0, cut(wires[0]));
    net.report(1, Input::Leave { path: 0 });
    net.run_until(at(40_000));
    set(&mut net, 0, wires[0]);
    net.run_until(at(100_000));
    assert_eq!(reported_left(&net, 0).len(), 1);
}
