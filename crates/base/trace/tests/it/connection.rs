//! What the analysis says of simulated connections is what happened on them.

use crate::common::{MS, Shot, Transfer, analyse};
use fairwave_machine::line::Wire;
use fairwave_tcp::{Config, State};
use fairwave_trace::analysis::{End, Evidence, Kind, Stream};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use proptest::prelude::*;

fn only(shots: &[Shot]) -> Stream {
    let (mut streams, totals) = analyse(shots);
    assert_eq!((streams.len(), totals.packets.tcp), (1, shots.len() as u64));
    streams.remove(0)
}

fn wire() -> Wire {
    Wire { delay: MS(10), rate: Some(BitRate::mbps(10)), ..Wire::default() }
}

#[test]
fn without_loss_there_is_nothing_to_complain_of() {
    let config = Config { timestamps: true, ..Config::default() };
    let transfer = Transfer::new(Seed(1), config, [wire(); 2], 1_000_000).run(Instant::MAX);
    for shots in &transfer.captures {
        let stream = only(shots);
        let [a, b] = &stream.ways;
        assert_eq!(stream.end, End::Closed);
        assert_eq!(a.tcp.unique_bytes, 1_000_000);
        assert_eq!(a.tcp.acked_bytes, 1_000_000);
        assert_eq!(a.tcp.retransmissions() + b.tcp.retransmissions(), 0);
        assert_eq!((a.tcp.holes, a.tcp.missing_bytes, a.tcp.unseen_acked), (0, 0, 0));
        assert_eq!(a.tcp.kinds.iter().sum::<u64>(), a.volume.packets);
        assert_eq!(b.tcp.kinds.iter().sum::<u64>(), b.volume.packets);
        assert_eq!(a.tcp.acks_lost.map(|lost| lost.count), Some(0));
        assert_eq!((a.tcp.syn, a.tcp.fin, b.tcp.syn, b.tcp.fin), (1, 1, 1, 1));
    }
}

/// Share of packets lost on the way to the receiver and back.
fn lossy(seed: u64, there: f64, back: f64, config: Config) -> Transfer {
    let wires = [Wire { loss: there, ..wire() }, Wire { loss: back, ..wire() }];
    let config = Config { max_rto: MS(4_000), ..config };
    let transfer = Transfer::new(Seed(seed), config, wires, 2_000_000).run(Instant::MAX);
    assert_eq!(transfer.stats().state, State::Closed, "seed {seed}");
    transfer
}

/// Retransmissions of a SYN or of a FIN alone, which the endpoint does not count as data.
fn without_data(shots: &[Shot]) -> u64 {
    let first = shots[0].bytes[12..16].to_vec();
    let control = |shot: &&Shot| {
        let options = usize::from(shot.bytes[32] >> 4) * 4;
        shot.bytes[12..16] == first && shot.bytes[33] & 3 > 0 && shot.len as usize == 20 + options
    };
    let count =
        |bit: u8| shots.iter().filter(control).filter(|shot| shot.bytes[33] & bit > 0).count();
    (count(2).max(1) - 1 + count(1).max(1) - 1) as u64
}

#[test]
fn retransmissions_and_timeouts_at_the_sender_are_those_it_made() {
    let mut total = 0;
    for seed in 0..48 {
        let there = [0.01, 0.03, 0.1][seed as usize % 3];
        let back = [0.0, 0.2][seed as usize / 3 % 2];
        let config = Config { timestamps: seed % 5 > 1, sack: seed % 4 > 0, ..Config::default() };
        let transfer = lossy(seed, there, back, config);
        let stats = transfer.stats();
        let stream = only(&transfer.captures[0]);
        let tcp = &stream.ways[0].tcp;
        let control = without_data(&transfer.captures[0]);
        assert_eq!(tcp.retransmissions(), stats.retransmissions + control, "seed {seed}");
        assert_eq!(tcp.count(Kind::Timeout), stats.timeouts + control, "seed {seed}");
        assert_eq!((tcp.unique_bytes, tcp.acked_bytes), (2_000_000, 2_000_000), "seed {seed}");
        assert_eq!((tcp.holes, tcp.missing_bytes, tcp.unseen_acked), (0, 0, 0), "seed {seed}");
        total += stats.timeouts;
    }
    assert!(total > 1_000, "only {total} timeouts: the test asks little");
}

#[test]
fn a_receiver_sees_holes_and_what_fills_them() {
    for seed in 0..12 {
        let config = Config { timestamps: true, ..Config::default() };
        let transfer = lossy(seed, 0.03, 0.0, config);
        let stream = only(&transfer.captures[1]);
        let tcp = &stream.ways[0].tcp;
        // What was lost on the way leaves a hole, of one segment or of several, and fills it.
        let lost = transfer.tallies()[0].lost;
        assert!((1..=lost).contains(&tcp.holes), "seed {seed}: {} of {lost}", tcp.holes);
        assert_eq!((tcp.unique_bytes, tcp.missing_bytes), (2_000_000, 0), "seed {seed}");
        // Nothing is known twice here but what was sent needlessly.
        let needless = tcp.count(Kind::Spurious);
        let filling = tcp.retransmissions() + tcp.count(Kind::OutOfOrder) - needless;
        assert!(filling <= lost, "seed {seed}: {filling} fill {lost}");
        assert_eq!(stream.ways[0].volume.packets + lost, transfer.tallies()[0].sent);
    }
}

/// A capture whose packets have no IP identification, as of IPv6.
fn unnumbered(shots: &[Shot]) -> Vec<Shot> {
    let without = |shot: &Shot| {
        let mut shot = shot.clone();
        shot.bytes[4..6].fill(0);
        shot
    };
    shots.iter().map(without).collect()
}

#[test]
fn lost_acks_are_counted_by_identification_and_inferred_from_the_stride_without() {
    for seed in 0..6 {
        for percent in [0, 10, 30] {
            let loss = f64::from(percent) / 100.0;
            let config = Config { timestamps: true, send_buffer: 60_000, ..Config::default() };
            let transfer = lossy(seed, 0.0, loss, config);
            let lost = transfer.tallies()[1].lost;
            let at = |shots: &[Shot]| {
                let tcp = &only(shots).ways[0].tcp;
                let found = tcp.acks_lost.unwrap_or_else(|| panic!("seed {seed}, {percent} %"));
                (found.count, found.by, tcp.ack_stride)
            };
            let [sender, receiver] = &transfer.captures;
            let by = Evidence::Identification;
            // Those before the first and behind the last that came leave no gap.
            let (count, found, _) = at(sender);
            assert_eq!(found, by, "seed {seed}, {percent} %");
            assert!(count <= lost && lost - count <= 5, "seed {seed}: {count} of {lost}");
            assert_eq!(at(receiver).0, 0, "behind the loss nobody is missing an ACK");
            let (inferred, by, stride) = at(&unnumbered(sender));
            assert_eq!((by, stride), (Evidence::Stride, Some(2)), "seed {seed}, {percent} %");
            let off = inferred.abs_diff(lost);
            assert!(off * 10 <= lost, "seed {seed}, {percent} %: {inferred} of {lost}");
            let at_receiver = only(&unnumbered(receiver)).ways[0].tcp.acks_lost;
            assert_eq!(at_receiver, None, "no ACK is lost where it is sent");
        }
    }
}

/// At the receiver of an upload of three seconds, five transmissions of the sender are missing
/// before a pause ends: it sent, and all of it was lost. Without a gap it had nothing to send.
#[test]
fn a_pause_with_missing_packets_is_starvation_at_the_receiver() {
    let config = Config { timestamps: true, ..Config::default() };
    let transfer = Transfer::new(Seed(5), config, [wire(); 2], 4_000_000).run(Instant::MAX);
    let shots = &transfer.captures[1];
    let idle = idle_places(shots);
    let late = |index: &&usize| shots[**index].at.since(shots[0].at) > MS(2_800);
    let place = *idle.iter().find(late).expect("it lasts three seconds");
    for missing in [0, 5] {
        let mut shots = paused(shots, place, MS(1_200));
        skip_numbers(&mut shots[place..], missing);
        let starvation = only(&shots).ways[0].tcp.starvation;
        assert_eq!(starvation.count, u64::from(missing > 0), "{starvation:?}");
        assert!(starvation.count == 0 || starvation.total >= MS(1_200), "{starvation:?}");
    }
}

/// Half a second of numbers that follow each other proves nothing about a pause of 1.2 s, but data
/// that is sent again had no ACK at the sender.
#[test]
fn a_pause_before_repeated_data_is_starvation_in_a_short_connection_too() {
    let config = Config { timestamps: true, ..Config::default() };
    let transfer = Transfer::new(Seed(5), config, [wire(); 2], 4_000_000).run(Instant::MAX);
    let shots = &transfer.captures[1];
    let idle = idle_places(shots);
    let late = |index: &&usize| shots[**index].at.since(shots[0].at) > MS(500);
    let place = *idle.iter().find(late).expect("it lasts three seconds");
    for is_repeated in [false, true] {
        let mut shots = paused(shots, place, MS(1_200));
        if is_repeated {
            let is_data = |shot: &&Shot| shot.bytes[15] == 1 && shot.len > 1_000;
            let last = shots[..place].iter().rfind(is_data).expect("data was sent");
            let repeated = Shot { at: shots[place].at, ..last.clone() };
            shots.insert(place, repeated);
        }
        skip_numbers(&mut shots[place..], 5);
        let starvation = only(&shots).ways[0].tcp.starvation;
        assert_eq!(starvation.count, u64::from(is_repeated), "{starvation:?}");
    }
}

/// Raises the sender's identifications, as if that many packets before these were missing.
fn skip_numbers(shots: &mut [Shot], missing: u16) {
    for shot in shots.iter_mut().filter(|shot| shot.bytes[15] == 1) {
        let id = u16::from_be_bytes([shot.bytes[4], shot.bytes[5]]).wrapping_add(missing);
        shot.bytes[4..6].copy_from_slice(&id.to_be_bytes());
    }
}

/// A capture with other identifications: those of each end from `first` on, each packet's by one
/// and by the given numbers of packets for others in turn ahead of the last one's.
fn renumbered(shots: &[Shot], first: u16, others: &[u16]) -> Vec<Shot> {
    let mut ids = [first, first.wrapping_add(20_000)];
    let mut turns = others.iter().cycle();
    let renumber = |shot: &Shot| {
        let mut shot = shot.clone();
        let id = &mut ids[usize::from(shot.bytes[15] == 2)];
        *id = id.wrapping_add(1 + turns.next().expect("a cycle"));
        shot.bytes[4..6].copy_from_slice(&id.to_be_bytes());
        shot
    };
    shots.iter().map(renumber).collect()
}

/// Indices of packets before which all data is acknowledged.
fn idle_places(shots: &[Shot]) -> Vec<usize> {
    let word = |shot: &Shot, at: usize| {
        u32::from_be_bytes(shot.bytes[at..at + 4].try_into().expect("a header"))
    };
    let (mut sent, mut places) = (0, Vec::new());
    for (index, shot) in shots.iter().enumerate().skip(2) {
        let header = 20 + u32::from(shot.bytes[32] >> 4) * 4;
        match shot.bytes[15] == 2 {
            false => sent = word(shot, 24).wrapping_add(shot.len - header),
            true if word(shot, 28) == sent => places.push(index + 1),
            true => {}
        }
    }
    places.push(3);
    places
}

/// Moves all packets from one on by a time, as if the application had paused before it.
fn paused(shots: &[Shot], from: usize, time: Duration) -> Vec<Shot> {
    let mut shots = shots.to_vec();
    shots.iter_mut().skip(from).for_each(|shot| shot.at += time);
    shots
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// A host that counts all its packets together, others among them: neither ACKs nor time are
    /// lost, wherever the application pauses.
    #[test]
    fn counters_of_a_host_show_no_loss(
        first in any::<u16>(),
        others in prop::collection::vec(0u16..40, 1..30),
        bytes in 1_000u32..300_000,
        place in 0usize..1_000,
        end in 0usize..2,
    ) {
        let config = Config { timestamps: true, ..Config::default() };
        let transfer = Transfer::new(Seed(3), config, [wire(); 2], bytes).run(Instant::MAX);
        let shots = renumbered(&transfer.captures[end], first, &others);
        let idle = idle_places(&shots);
        let shots = paused(&shots, idle[place % idle.len()], MS(5_000));
        let stream = only(&shots);
        for way in &stream.ways {
            let lost = way.tcp.acks_lost.map_or(0, |lost| lost.count);
            prop_assert_eq!(lost, 0, "{:?}", way.tcp.acks_lost);
            prop_assert_eq!(way.tcp.starvation.count, 0);
        }
    }
}
