//! Transfers over lines: what arrives is what was written, whatever the lines do.

use crate::common;

use crate::common::{Net, Sealed};
use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Wire};
use fairwave_shake::{
    Config, Connection, Event, GROWTHS, Input, Profile, Rules, SCHEDULERS, TimeoutRule,
};
use fairwave_tcp::Store;
use fairwave_units::{BitRate, Duration, Instant, Seed, Stream};
use proptest::prelude::*;

type Net2 = Net<Bytes, Sealed>;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn wire(ms: u64, mbps: u64) -> (Wire, Wire) {
    let delay = Duration::from_millis(ms);
    let wire = Wire { delay, rate: Some(BitRate::mbps(mbps)), queue: Some(50), ..Wire::default() };
    (wire, wire)
}

fn bytes(len: usize, salt: u8) -> Bytes {
    // By blocks of 256: the properties ask for megabytes, and a debug build makes them slowly.
    let block: [u8; 256] = std::array::from_fn(|n| (n as u8).wrapping_mul(31) ^ salt);
    let mut bytes = Vec::with_capacity(len.next_multiple_of(256));
    for high in 0..len.div_ceil(256) {
        bytes.extend(block.map(|byte| byte ^ high as u8));
    }
    bytes.truncate(len);
    bytes.into()
}

fn net(wires: &[(Wire, Wire)], to_write: [usize; 2]) -> Net2 {
    let mut net = Net::new(Seed(1), Profile::Modern.config(), common::rules, wires, Sealed::new());
    for (end, len) in to_write.into_iter().enumerate() {
        net.apps[end].to_write.push(bytes(len, end as u8));
    }
    net
}

fn assert_whole(net: &Net2, to_write: [usize; 2], seed: Seed) {
    for (end, len) in to_write.into_iter().enumerate() {
        assert!(net.got(1 - end) == bytes(len, end as u8), "end {end}, seed {}", seed.0);
        assert!(net.ends[1 - end].is_read_to_the_end());
    }
}

#[test]
fn one_clean_path() {
    let mut net = net(&[wire(10, 10)], [100_000, 30_000]);
    net.join_all();
    net.run_to_the_end(at(10_000), Seed(1));
    assert_whole(&net, [100_000, 30_000], Seed(1));
    for app in &net.apps {
        let first: Vec<_> = app.events.iter().take(2).map(|(_, event)| *event).collect();
        assert_eq!(first, [Event::Opened, Event::PathUp { path: 0 }]);
        assert_eq!(app.events.last().unwrap().1, Event::Closed);
    }
}

#[test]
fn three_paths_share() {
    let mut net = net(&[wire(10, 20), wire(30, 10), wire(20, 10)], [2_000_000, 0]);
    net.join_all();
    net.run_to_the_end(at(10_000), Seed(1));
    assert_whole(&net, [2_000_000, 0], Seed(1));
    for path in net.ends[0].paths() {
        assert!(path.delivered > 300_000, "{path:?}");
    }
}

/// Half-close: the opener has ended long before the acceptor has sent all.
#[test]
fn a_stream_that_ended_leaves_the_other_open() {
    let mut net = net(&[wire(10, 10), wire(15, 10)], [0, 1_000_000]);
    net.join_all();
    net.run_until(at(100));
    assert!(net.ends[1].is_read_to_the_end() && !net.ends[1].is_over());
    net.run_to_the_end(at(10_000), Seed(1));
    assert_whole(&net, [0, 1_000_000], Seed(1));
}

fn dead(wire: (Wire, Wire)) -> (Wire, Wire) {
    let cut = |wire| Wire { loss: 1.0, ..wire };
    (cut(wire.0), cut(wire.1))
}

fn set(net: &mut Net2, path: usize, wires: (Wire, Wire)) {
    net.lines[path].set_wire(End::A, wires.0);
    net.lines[path].set_wire(End::B, wires.1);
}

#[test]
fn a_path_dies_and_comes_back() {
    let wires = [wire(10, 10), wire(10, 10)];
    let mut net = net(&wires, [12_000_000, 0]);
    net.join_all();
    net.run_until(at(1_000));
    set(&mut net, 1, dead(wires[1]));
    net.run_until(at(4_000));
    let is_up = |net: &Net2| net.ends[0].paths().map(|path| path.is_up).collect::<Vec<_>>();
    assert_eq!(is_up(&net), [true, false]);
    let delivered = net.ends[1].received();
    set(&mut net, 1, wires[1]);
    net.run_until(at(6_000));
    assert_eq!(is_up(&net), [true, true]);
    // Two seconds of both, less what the probes took to notice.
    let rate = (net.ends[1].received() - delivered) * 8 / 2;
    assert!(rate > 14_000_000, "{rate} bit/s");
    net.run_to_the_end(at(20_000), Seed(1));
    assert_whole(&net, [12_000_000, 0], Seed(1));
}

/// A timeout of one path sends again what others carry, too, if it rewinds (TCP SHAKE section 2.3),
/// and whatever is sent twice, all arrives once.
#[test]
fn a_timeout_rewinds_what_other_paths_carry() {
    let note_resent = |timeout_rewinds| {
        let config = Config { timeout_rewinds, ..Profile::Paper.config() };
        let lossy = |(there, back)| (Wire { loss: 0.05, ..there }, back);
        let wires = [lossy(wire(150, 2)), lossy(wire(400, 2))];
        let mut net = Net::new(Seed(1), config, common::rules, &wires, Sealed::new());
        net.apps[0].to_write.push(bytes(1_000_000, 0));
        net.join_all();
        net.run_to_the_end(at(2_000_000), Seed(1));
        assert_whole(&net, [1_000_000, 0], Seed(1));
        let stats = net.ends[0].stats();
        assert!(stats.timeouts > 0, "{stats:?}");
        stats.retransmissions
    };
    let (rewound, own) = (note_resent(true), note_resent(false));
    assert!(rewound > own, "{rewound} sent again, without rewinding {own}");
}

/// The rate at which data comes in order stays above 80 % of the remaining path's, in every
/// 500 ms after the timeout of the dead one.
#[test]
fn a_death_costs_no_more_than_a_timeout() {
    let wires = [wire(10, 10), wire(20, 10)];
    let mut net = net(&wires, [12_000_000, 0]);
    net.join_all();
    net.run_until(at(2_000));
    set(&mut net, 1, dead(wires[1]));
    net.run_until(at(2_300));
    for step in 0..4 {
        let before = net.ends[1].received();
        net.run_until(at(2_800 + 500 * step));
        let rate = (net.ends[1].received() - before) * 8 * 2;
        assert!(rate > 8_000_000, "{rate} bit/s in step {step}");
    }
}

#[test]
fn a_path_leaves_and_joins_again() {
    let mut net = net(&[wire(10, 10), wire(20, 10)], [6_000_000, 0]);
    net.join_all();
    net.run_until(at(1_000));
    net.report(0, Input::Leave { path: 0 });
    net.run_until(at(1_100));
    for end in 0..2 {
        let left = Event::PathLeft { path: 0 };
        assert!(net.apps[end].events.iter().any(|(_, event)| *event == left), "end {end}");
    }
    let sent = net.lines[0].tally(End::A).sent;
    net.run_until(at(2_000));
    assert_eq!(net.lines[0].tally(End::A).sent, sent, "nothing is sent on a path left");
    net.report(0, Input::Join { path: 0, nominal: None });
    net.run_until(at(2_500));
    assert!(net.lines[0].tally(End::A).sent > sent + 100);
    net.run_to_the_end(at(20_000), Seed(1));
    assert_whole(&net, [6_000_000, 0], Seed(1));
}

/// Nobody reads for two seconds: the window shuts, opens, and nothing is lost.
#[test]
fn a_shut_window_opens_again() {
    let config = Config { receive_buffer: 20_000, ..Profile::Modern.config() };
    let wires = [wire(10, 10), wire(20, 10)];
    let mut net = Net::new(Seed(1), config, common::rules, &wires, Sealed::new());
    net.apps[0].to_write.push(bytes(200_000, 0));
    net.apps[1].reads = false;
    net.join_all();
    net.run_until(at(2_000));
    assert_eq!(net.ends[1].received(), 20_000);
    let probes = net.ends[0].stats().probes;
    assert!((2..=8).contains(&probes), "{probes} probes of a shut window in two seconds");
    net.apps[1].reads = true;
    net.run_to_the_end(at(10_000), Seed(1));
    assert_whole(&net, [200_000, 0], Seed(1));
}

/// Found by fuzzing: an application that read byte by byte made as many messages.
#[test]
fn many_small_reads_tell_the_window_once() {
    let config = Config { receive_buffer: 20_000, ..Profile::Modern.config() };
    let mut net = Net::new(Seed(1), config, common::rules, &[wire(10, 10)], Sealed::new());
    net.apps[0].to_write.push(bytes(200_000, 0));
    net.apps[1].reads = false;
    net.join_all();
    net.run_until(at(1_000));
    while net.ends[1].read(1).is_some() {}
    let now = net.now;
    let printed = core::iter::from_fn(|| net.ends[1].poll(now)).count();
    assert_eq!(printed, 1);
}

#[test]
fn who_closes_hears_no_more() {
    let mut net = net(&[wire(10, 10)], [0, 1_000_000]);
    net.apps[0].finishes = false;
    net.join_all();
    net.run_until(at(200));
    net.report(0, Input::Close);
    net.run_until(at(400));
    let last = |net: &Net2, end: usize| net.apps[end].events.last().unwrap().1;
    let reason = fairwave_wire::shake::Reason::NotReading;
    assert_eq!(last(&net, 0), Event::Reset { reason, by_peer: false });
    assert_eq!(last(&net, 1), Event::Reset { reason, by_peer: true });
}

/// The paper's paths: 64, 32 and 32 kbps; its profile finishes 100 KB at half their sum or more.
#[test]
fn the_profile_of_the_paper_transfers() {
    let slow = |bps, ms| {
        let wire = Wire {
            delay: Duration::from_millis(ms),
            rate: Some(BitRate(bps)),
            queue: Some(100),
            ..Wire::default()
        };
        (wire, wire)
    };
    let wires = [slow(64_000, 130), slow(32_000, 187), slow(32_000, 187)];
    let rules = || Profile::Paper.rules();
    let mut net = Net::new(Seed(1), Profile::Paper.config(), rules, &wires, Sealed::new());
    net.apps[0].to_write.push(bytes(100_000, 0));
    for (path, (wire, _)) in wires.iter().enumerate() {
        net.report(0, Input::Join { path: path as u8, nominal: wire.rate });
    }
    net.run_to_the_end(at(12_500), Seed(1));
    assert_whole(&net, [100_000, 0], Seed(1));
}

#[derive(Clone, Debug)]
enum Deed {
    Die(usize),
    Revive(usize),
    Leave(usize, usize),
    Join(usize),
    /// The application of an end reads, or does not.
    Read(usize, bool),
    /// The application of an end has more to write, so many bytes.
    Write(usize, usize),
}

/// Lines that do everything lines can do, and what befalls the paths.
#[derive(Clone, Debug)]
struct Schedule {
    seed: u64,
    config: Config,
    rules: usize,
    wires: Vec<(Wire, Wire)>,
    deeds: Vec<(u64, Deed)>,
    /// At the start.
    lens: [usize; 2],
}

impl Schedule {
    /// All that an end writes.
    fn stream(&self, end: usize) -> Bytes {
        let more = |(_, deed): &(u64, Deed)| match deed {
            Deed::Write(writer, len) if *writer == end => *len,
            _ => 0,
        };
        bytes(self.lens[end] + self.deeds.iter().map(more).sum::<usize>(), end as u8)
    }
}

fn wires() -> impl Strategy<Value = Wire> {
    let rate = prop_oneof![Just(None), (200_000..20_000_000u64).prop_map(|bps| Some(BitRate(bps)))];
    (0..80u64, 0..60u64, 0..30u32, 0..15u32, 0..15u32, rate, 3..40usize).prop_map(
        |(delay, jitter, loss, duplicate, corrupt, rate, queue)| Wire {
            delay: Duration::from_millis(delay),
            jitter: Duration::from_millis(jitter),
            loss: f64::from(loss) / 100.0,
            duplicate: f64::from(duplicate) / 100.0,
            corrupt: f64::from(corrupt) / 100.0,
            rate,
            queue: Some(queue),
        },
    )
}

/// What befalls lines and applications; `moves`: and that hosts leave and join paths.
fn deeds(moves: bool) -> impl Strategy<Value = Vec<(u64, Deed)>> {
    let moving = u32::from(moves);
    let deed = prop_oneof![
        2 => (0..4usize).prop_map(Deed::Die),
        2 => (0..4usize).prop_map(Deed::Revive),
        1 => (0..2usize, any::<bool>()).prop_map(|(end, reads)| Deed::Read(end, reads)),
        1 => (0..2usize, 1..30_000usize).prop_map(|(end, len)| Deed::Write(end, len)),
        2 * moving => (0..2usize, 0..4usize).prop_map(|(end, path)| Deed::Leave(end, path)),
        2 * moving => (0..4usize).prop_map(Deed::Join),
    ];
    prop::collection::vec((0..20_000u64, deed), 0..16)
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let lines = prop::collection::vec((wires(), wires()), 1..4);
    let config =
        (any::<bool>(), 3_000..60_000u32, any::<bool>(), 0..4usize, any::<bool>(), any::<bool>());
    let config = config.prop_map(|(modern, buffer, opportunistic, sack_blocks, spills, counts)| {
        let profile = if modern { Profile::Modern } else { Profile::Paper };
        Config {
            receive_buffer: buffer,
            send_buffer: 30_000,
            opportunistic,
            sack_blocks: if modern { 8 } else { sack_blocks },
            retransmission_spills: spills,
            timeouts: if counts { TimeoutRule::Counts } else { TimeoutRule::Arrivals },
            // Hosts may leave all paths on dead lines, and hear of it after a minute.
            give_up: Duration::from_secs(600),
            ..profile.config()
        }
    });
    let deeds = any::<bool>().prop_flat_map(deeds);
    let rules = 0..SCHEDULERS.len() * GROWTHS.len();
    (any::<u64>(), config, rules, lines, deeds, (0..60_000usize, 0..20_000usize)).prop_map(
        |(seed, config, rules, wires, mut deeds, (to, back))| {
            deeds.sort_by_key(|(ms, _)| *ms);
            Schedule { seed, config, rules, wires, deeds, lens: [to, back] }
        },
    )
}

/// Every scheduler with every algorithm of growth.
fn rules_of(number: usize) -> Rules {
    let scheduler = SCHEDULERS[number % SCHEDULERS.len()].part;
    let growth = GROWTHS[number / SCHEDULERS.len()].part;
    Rules { scheduler: scheduler(), growth: growth() }
}

fn flip_a_bit(bytes: &mut Bytes, stream: &mut Stream) {
    let mut changed = bytes.to_vec();
    let at = stream.below(changed.len() as u64) as usize;
    changed[at] ^= 1 << stream.below(8);
    *bytes = changed.into();
}

fn befall(net: &mut Net2, schedule: &Schedule, written: &mut [usize; 2], deed: &Deed) {
    let count = schedule.wires.len();
    match *deed {
        Deed::Die(path) => set(net, path % count, dead(schedule.wires[path % count])),
        Deed::Revive(path) => set(net, path % count, schedule.wires[path % count]),
        Deed::Leave(end, path) => net.report(end, Input::Leave { path: (path % count) as u8 }),
        Deed::Join(path) => {
            net.report(0, Input::Join { path: (path % count) as u8, nominal: None });
        }
        Deed::Read(end, reads) => {
            net.apps[end].reads = reads;
            net.drain(end);
        }
        Deed::Write(end, len) => {
            let more = schedule.stream(end).slice(written[end]..written[end] + len);
            written[end] += len;
            net.apps[end].to_write.push(more);
            net.drain(end);
        }
    }
}

/// The schedule's first 20 s; what is read meanwhile is the beginning of what is written.
fn live_through(net: &mut Net2, schedule: &Schedule) {
    let mut written = schedule.lens;
    let streams = [0, 1].map(|end| schedule.stream(end));
    for (end, len) in written.into_iter().enumerate() {
        net.apps[end].to_write.push(streams[end].slice(..len));
        net.apps[end].finishes = streams[end].len() == len;
    }
    net.join_all();
    for (ms, deed) in &schedule.deeds {
        net.run_until(at(*ms));
        befall(net, schedule, &mut written, deed);
        for end in 0..2 {
            assert!(streams[end].starts_with(&net.got(1 - end)));
            net.apps[end].finishes = streams[end].len() == written[end];
        }
    }
    net.run_until(at(20_000));
}

fn clean(wire: Wire) -> Wire {
    Wire { loss: 0.0, corrupt: 0.0, ..wire }
}

fn has_opened(net: &Net2) -> bool {
    net.apps[0].events.iter().any(|(_, event)| *event == Event::Opened)
}

/// When lines no longer lose or corrupt anything, in seconds: a minute after all of them
/// work again. What is lost until then may be every one of the few messages that ask for a path,
/// as their intervals double; then the next one opens it, long before the connection is given up.
const CLEAN_AFTER: u64 = 80;

/// All lines work and both applications read. The opener's host joins the paths that it left, and
/// those that it is told have been left, at the end too. It does not wait for the paper's timers to
/// open the connection.
fn mend(net: &mut Net2, schedule: &Schedule) {
    let count = schedule.wires.len();
    for (path, wires) in schedule.wires.iter().enumerate() {
        set(net, path, *wires);
    }
    for end in 0..2 {
        net.apps[end].reads = true;
        net.drain(end);
    }
    for (_, deed) in &schedule.deeds {
        if let Deed::Leave(0, path) = deed {
            net.report(0, Input::Join { path: (path % count) as u8, nominal: None });
        }
    }
    let mut received = 0;
    for second in 20..2_000 {
        if net.ends.iter().all(Connection::is_over) {
            return;
        }
        let reported = net.apps[0].events[received..].to_vec();
        received += reported.len();
        for (_, event) in reported {
            if let Event::PathLeft { path } = event {
                net.report(0, Input::Join { path, nominal: None });
            }
        }
        let up = net.ends[0].paths().filter(|path| path.is_up).map(|path| path.id);
        let up: Vec<_> = up.collect();
        for path in (0..count as u8).filter(|path| !up.contains(path)) {
            if !has_opened(net) {
                net.report(0, Input::Join { path, nominal: None });
            }
        }
        if second == CLEAN_AFTER {
            for (path, (to, back)) in schedule.wires.iter().enumerate() {
                set(net, path, (clean(*to), clean(*back)));
            }
        }
        net.run_until(at(1_000 * second));
    }
}

proptest! {
    // A path that stalled for ever showed once in some 3000 schedules; each takes half a
    // millisecond.
    #![proptest_config(ProptestConfig::with_cases(6000))]

    /// The reference model is the written stream: what is read is always its beginning, and in
    /// the end all of it, whatever happened; both ends know that.
    #[test]
    fn any_schedule_delivers_every_byte(schedule in schedules()) {
        let seed = Seed(schedule.seed);
        let rules = || rules_of(schedule.rules);
        let mut net = Net::new(seed, schedule.config, rules, &schedule.wires, Sealed::new());
        net.lines = net.lines.into_iter().map(|line| line.with_corruption(flip_a_bit)).collect();
        live_through(&mut net, &schedule);
        mend(&mut net, &schedule);
        net.run_to_the_end(at(3_600_000), seed);
        for end in 0..2 {
            let is_left = |event: &Event| matches!(event, Event::PathLeft { .. });
            let mut events = net.apps[end].events.iter().map(|(_, event)| *event).rev();
            prop_assert_eq!(events.find(|event| !is_left(event)), Some(Event::Closed));
            prop_assert!(net.got(1 - end) == schedule.stream(end), "end {}", end);
            prop_assert!(net.ends[end].is_read_to_the_end());
        }
    }
}
