//! Whole connections over a line that loses, reorders, duplicates and damages.

use crate::common::{Anything, MS, Pair};
use bytes::Bytes;
use fairwave_dccp::{Config, Event, Feature, Input, Profiles, Standard, State};
use fairwave_machine::Machine;
use fairwave_machine::line::End::{A, B};
use fairwave_machine::line::{Line, Wire};
use fairwave_units::{BitRate, Duration, Seed};
use fairwave_wire::dccp::Side;
use proptest::prelude::*;

/// Datagram `n`: its number and bytes that follow from it.
fn datagram(n: u32, len: usize) -> Bytes {
    let byte = |i: usize| (n as usize * 31 + i * 7) as u8;
    n.to_be_bytes().into_iter().chain((4..len.max(4)).map(byte)).collect()
}

fn number(datagram: &Bytes) -> u32 {
    u32::from_be_bytes(datagram[..4].try_into().unwrap())
}

fn damage(bytes: &mut [u8], random: &mut fairwave_units::Stream) {
    // The ECN field in front is a test's own.
    let bit = 8 + random.below(8 * (bytes.len() as u64 - 1)) as usize;
    bytes[bit / 8] ^= 1 << (bit % 8);
}

fn standard() -> [Box<dyn Profiles>; 2] {
    [Box::new(Standard::default()), Box::new(Standard::default())]
}

/// Everything that arrived was sent, whole, and no datagram came twice.
fn check_delivery(pair: &Pair, sent: u32, len: usize) -> usize {
    let mut numbers: Vec<u32> = pair.got(B).iter().map(number).collect();
    for got in pair.got(B) {
        assert_eq!(got, datagram(number(&got), len), "{pair:?}");
    }
    let arrived = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), arrived, "delivered twice: {pair:?}");
    assert!(numbers.iter().all(|n| *n < sent), "{pair:?}");
    arrived
}

/// A bottleneck of 1 Mbps and a queue of 20: CCID 2 fills it, as TCP would, and backs off.
#[test]
fn ccid_2_fills_a_bottleneck() {
    let forward =
        Wire { delay: MS(20), rate: Some(BitRate::mbps(1)), queue: Some(20), ..Wire::default() };
    let back = Wire { delay: MS(20), ..Wire::default() };
    let line = Line::new(Seed(3), forward, back);
    let mut pair = Pair::with_profiles(Default::default(), [5, 6], line, standard());
    pair.open();
    let mut n = 0;
    for _ in 0..600 {
        while pair.a.queued() < 50 {
            pair.input(A, Input::Send(datagram(n, 1000)));
            n += 1;
        }
        pair.run_for(MS(50));
    }
    let arrived = check_delivery(&pair, n, 1000);
    // 30 s of 1 Mbps are 3623 packets of 1035 bytes; header and IP included.
    assert!((3000..3624).contains(&arrived), "{arrived} arrived: {pair:?}");
    let sender = pair.a.stats().sender.unwrap();
    assert!(sender.congestion_events >= 5 && sender.timeouts <= 2, "{sender:?}");
    assert_eq!(pair.a.feature(Side::Remote, Feature::SendAckVector), 1);
    // What is gone was dropped at the queue, or is in the pipe.
    let (gone, pipe) = (pair.a.stats().data_packets_sent - arrived as u64, sender.pipe.unwrap());
    let dropped = pair.line.tally(A).overflowed;
    assert!(
        (dropped..=dropped + u64::from(pipe)).contains(&gone),
        "{gone} gone, {dropped} dropped"
    );
}

/// The burst of lost packets of RFC 4340 section 7.5.6: Sync and SyncAck find each other again.
#[test]
fn a_long_burst_of_loss_is_survived() {
    let clean = Wire { delay: MS(10), ..Wire::default() };
    let profiles: [Box<dyn Profiles>; 2] = [Box::new(Anything), Box::new(Anything)];
    let mut pair = Pair::with_profiles(
        Default::default(),
        [1, 1_000_000],
        Line::symmetric(Seed(1), clean),
        profiles,
    );
    pair.open();
    pair.run_for(MS(300));
    pair.line.set_wire(A, Wire { loss: 1.0, ..clean });
    for n in 0..99 {
        pair.input(A, Input::Send(datagram(n, 10)));
    }
    // Until the connection is no longer active, so that the lenient checks hold.
    pair.run_for(Duration::from_secs(1));
    pair.line.set_wire(A, clean);
    pair.input(A, Input::Send(datagram(100, 10)));
    pair.run_for(MS(15));
    assert!(pair.got(B).is_empty(), "out of the window");
    assert_eq!(pair.b.stats().syncs_sent, 1);
    pair.run_for(MS(50));
    assert_eq!(pair.b.greatest_received(), pair.a.greatest_sent(), "in sync again");
    pair.input(A, Input::Send(datagram(101, 10)));
    pair.run_for(MS(50));
    assert_eq!(pair.got(B), [datagram(101, 10)]);
}

/// After an outage the window is one packet. Its receiver acknowledges by the Ack Ratio, some
/// without a limit of time, so that a ratio of two would leave the window at one.
#[test]
fn after_an_outage_the_only_packet_of_a_window_is_acknowledged() {
    let clean = Wire { delay: MS(20), ..Wire::default() };
    let line = Line::symmetric(Seed(1), clean);
    let mut pair = Pair::with_profiles(Default::default(), [5, 6], line, standard());
    pair.open();
    let mut n = 0;
    let mut run_for = |pair: &mut Pair, time| {
        while pair.a.queued() < 50 {
            pair.input(A, Input::Send(datagram(n, 1000)));
            n += 1;
        }
        pair.run_for(time);
    };
    run_for(&mut pair, MS(500));
    assert_eq!(pair.b.feature(Side::Remote, Feature::AckRatio), 2);
    pair.line.set_wire(A, Wire { loss: 1.0, ..clean });
    run_for(&mut pair, Duration::from_secs(3));
    assert_eq!(pair.a.stats().sender.unwrap().cwnd, Some(1));
    pair.line.set_wire(A, clean);
    let got = pair.got(B).len();
    while pair.got(B).len() == got {
        run_for(&mut pair, MS(1));
    }
    assert_eq!(pair.b.feature(Side::Remote, Feature::AckRatio), 1, "{pair:?}");
    run_for(&mut pair, Duration::from_secs(1));
    assert_eq!(pair.b.feature(Side::Remote, Feature::AckRatio), 2, "{pair:?}");
}

/// RFC 4341 section 6.1.2 requires a ratio of two or more from a window of four packets on. Below,
/// the last packet of an odd number of packets is acknowledged at once, and not after 200 ms.
#[test]
fn odd_packets_of_small_windows_are_acknowledged_at_once() {
    for cwnd in [2, 3] {
        let clean = Wire { delay: MS(20), ..Wire::default() };
        let line = Line::symmetric(Seed(1), clean);
        let mut pair = Pair::with_profiles(Default::default(), [5, 6], line, standard());
        pair.open();
        pair.run_for(MS(500));
        let send = |pair: &mut Pair, count: u32| {
            (0..count).for_each(|n| pair.input(A, Input::Send(datagram(n, 1000))));
        };
        // Four lost packets leave a window of one, after a timeout. It grows again to the one that
        // is tested.
        let window = |pair: &Pair| pair.a.stats().sender.unwrap().cwnd.unwrap();
        send(&mut pair, 4);
        pair.run_for(MS(300));
        pair.line.set_wire(A, Wire { loss: 1.0, ..clean });
        send(&mut pair, 4);
        pair.run_for(Duration::from_secs(2));
        assert_eq!(window(&pair), 1);
        pair.line.set_wire(A, clean);
        // The lost Change is repeated.
        pair.run_for(Duration::from_secs(5));
        while window(&pair) < cwnd {
            let full = window(&pair);
            send(&mut pair, full);
            pair.run_for(MS(300));
        }
        assert_eq!(window(&pair), cwnd);
        assert_eq!(pair.b.feature(Side::Remote, Feature::AckRatio), 1, "{cwnd} packets");
        let (began, sent) = (pair.now, pair.sent.len());
        send(&mut pair, 1);
        pair.run_for(MS(100));
        let acks = pair.sent[sent..].iter().filter(|(_, end, _)| *end == B);
        let after: Vec<_> = acks.map(|(at, ..)| at.since(began).as_millis()).collect();
        assert_eq!(after, [20], "{cwnd} packets");
    }
}

/// What waits too long in the send queue is dropped and told.
#[test]
fn old_data_are_dropped() {
    let slow = Wire { delay: MS(500), ..Wire::default() };
    let mut config = Config::default();
    config.queue.age = Some(MS(200));
    let configs = [config, Config::default()];
    let line = Line::symmetric(Seed(1), slow);
    let mut pair = Pair::with_profiles(configs, [5, 6], line, standard());
    pair.open();
    pair.input(A, Input::Send(datagram(0, 10)));
    pair.run_for(MS(300));
    let unsent = |event: &Event<Bytes>| matches!(event, Event::Unsent { .. });
    assert_eq!(pair.events.iter().filter(|(_, event)| unsent(event)).count(), 1, "{pair:?}");
    assert_eq!((pair.a.queued(), pair.a.stats().unsent), (0, 1));
}

prop_compose! {
    fn wire()(
        delay in 1u64..50, jitter in 0u64..40, loss in 0.0..0.3, duplicate in 0.0..0.2,
        corrupt in 0.0..0.2,
    ) -> Wire {
        Wire { delay: MS(delay), jitter: MS(jitter), loss, duplicate, corrupt, ..Wire::default() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn nothing_comes_damaged_or_twice_and_every_close_ends(
        seed: u64, forward in wire(), back in wire(), short: bool, ndp: bool, checksum: bool,
        window in 100u64..500, closer: bool, iss: (u64, u64),
    ) {
        let config = |sequence_window| Config {
            short_seqnos: short,
            ask_ndp_count: ndp,
            data_checksum: checksum,
            sequence_window,
            ..Config::default()
        };
        let line = Line::new(Seed(seed), forward, back);
        let line = line.with_corruption(|bytes: &mut Vec<u8>, random| damage(bytes, random));
        let configs = [config(window), config(100)];
        let mut pair = Pair::with_profiles(configs, [iss.0, iss.1], line, standard());
        pair.open();
        for n in 0..200 {
            pair.input(A, Input::Send(datagram(n, 40)));
            pair.run_for(MS(20));
        }
        pair.run_for(Duration::from_secs(10));
        check_delivery(&pair, 200, 40);
        if pair.states() == [State::Open, State::Open] {
            // Once nothing is lost, every open Change is confirmed: again in 64 s at the latest.
            for end in [A, B] {
                pair.line.set_wire(end, Wire { delay: MS(10), ..Wire::default() });
            }
            pair.run_for(Duration::from_secs(150));
            let arrived = check_delivery(&pair, 200, 40);
            prop_assert!(arrived > 20, "{} arrived, seed {}: {:?}", arrived, seed, pair);
            prop_assert_eq!(pair.a.queued(), 0, "seed {}: {:?}", seed, pair);
            for feature in [Feature::Ccid, Feature::SendAckVector, Feature::AllowShortSeqnos] {
                prop_assert_eq!(
                    pair.a.feature(Side::Local, feature), pair.b.feature(Side::Remote, feature),
                    "{:?} of A, seed {}", feature, seed
                );
            }
        }
        for (end, wire) in [(A, forward), (B, back)] {
            pair.line.set_wire(end, wire);
        }
        pair.input(if closer { A } else { B }, Input::Close);
        // A server that missed everything waits for 4 MSL, 480 s (RFC 4340 section 8.1.3).
        pair.run_for(Duration::from_secs(600));
        let over = |state| matches!(state, State::Closed | State::TimeWait | State::Listen);
        prop_assert!(pair.states().into_iter().all(over), "seed {}: {:?}", seed, pair);
        let ended = |event: &Event<Bytes>| !matches!(
            event, Event::Established | Event::Data { .. } | Event::Unsent { .. }
        );
        let ends = pair.events.iter().filter(|(end, event)| *end == A && ended(event)).count();
        prop_assert_eq!(ends, 1, "seed {}: {:?}", seed, pair);
    }
}

/// RFC 4340 section 7.5.2: with 400 packets in flight, a window of 100 would refuse every
/// acknowledgement.
#[test]
fn the_sequence_window_follows_what_is_under_way() {
    let wide = Wire { delay: MS(100), ..Wire::default() };
    let line = Line::symmetric(Seed(1), wide);
    let mut pair = Pair::with_profiles(Default::default(), [5, 6], line, standard());
    pair.open();
    let mut n = 0;
    for _ in 0..60 {
        while pair.a.queued() < 800 {
            pair.input(A, Input::Send(datagram(n, 100)));
            n += 1;
        }
        pair.run_for(MS(50));
    }
    let under_way = pair.a.stats().sender.unwrap().pipe.unwrap();
    assert!(under_way >= 400, "{pair:?}");
    assert!(pair.b.feature(Side::Remote, Feature::SequenceWindow) >= 5 * 400);
    assert_eq!((pair.a.stats().invalid, pair.b.stats().invalid), (0, 0), "{pair:?}");
    assert_eq!(pair.a.stats().sender.unwrap().congestion_events, 0, "{pair:?}");
}

/// Data on a Request are not taken: there may be several Requests.
#[test]
fn data_on_a_request_are_reported_as_dropped() {
    use fairwave_wire::dccp::{DropCode, Dropped, Value};
    let line = Line::symmetric(Seed(1), Wire { delay: MS(10), ..Wire::default() });
    let mut pair = Pair::with_profiles(Default::default(), [5, 6], line, standard());
    pair.input(B, Input::Listen);
    pair.a.handle(pair.now, Input::Open);
    let mut request = pair.a.poll(pair.now).unwrap();
    request.payload = Some(datagram(0, 8));
    pair.input(B, Input::Packet(request));
    pair.run_for(MS(100));
    assert!(pair.got(B).is_empty());
    pair.input(A, Input::Send(datagram(1, 8)));
    pair.input(A, Input::Send(datagram(2, 8)));
    pair.run_for(MS(300));
    let code = Dropped::Dropped(DropCode::PROTOCOL).byte(1);
    let reported = pair.sent.iter().filter(|(_, end, _)| *end == B).any(|(.., packet)| {
        packet.options.values().any(|value| match value {
            Value::DataDropped(blocks) => blocks.last() == Some(&code),
            _ => false,
        })
    });
    assert!(reported, "{:?}", pair.sent);
}
