//! The line does what its settings say, and the same again for the same seed.

use super::*;

const MS: Duration = Duration::from_millis(1);

#[test]
fn an_ideal_line_delivers_in_order_after_the_delay() {
    let mut line = Line::symmetric(Seed(1), Wire { delay: MS * 10, ..Wire::default() });
    line.send(at_ms(0), End::A, 'x', 1500);
    line.send(at_ms(0), End::A, 'y', 40);
    line.send(at_ms(3), End::B, 'z', 1500);
    assert_eq!(line.arrive(at_ms(9)), None);
    assert_eq!(
        drain(&mut line),
        [(at_ms(10), End::B, 'x'), (at_ms(10), End::B, 'y'), (at_ms(13), End::A, 'z')]
    );
}

#[test]
fn a_rate_serialises_and_a_full_queue_drops_the_tail() {
    // 1500 bytes at 12 Mbps take 1 ms; one in transmission and two waiting make three.
    let wire = Wire { rate: Some(BitRate::mbps(12)), queue: Some(3), ..Wire::default() };
    let mut line = Line::new(Seed(1), wire, Wire::default());
    for n in 0..5 {
        line.send(at_ms(0), End::A, n, 1500);
    }
    assert_eq!(line.tally(End::A).overflowed, 2);
    // At 1 ms the first has left: there is room for exactly one more.
    line.send(at_ms(1), End::A, 5, 1500);
    line.send(at_ms(1), End::A, 6, 1500);
    let arrived: Vec<_> = drain(&mut line).into_iter().map(|(at, _, n)| (at, n)).collect();
    assert_eq!(arrived, [(at_ms(1), 0), (at_ms(2), 1), (at_ms(3), 2), (at_ms(4), 5)]);
    assert_eq!(line.tally(End::A), Tally { sent: 7, overflowed: 3, ..Tally::default() });
}

#[test]
fn an_idle_transmitter_starts_at_once() {
    let wire = Wire { rate: Some(BitRate::mbps(12)), ..Wire::default() };
    let mut line = Line::symmetric(Seed(1), wire);
    line.send(at_ms(0), End::A, 'x', 1500);
    line.send(at_ms(7), End::A, 'y', 1500);
    assert_eq!(drain(&mut line), [(at_ms(1), End::B, 'x'), (at_ms(8), End::B, 'y')]);
}

#[test]
fn loss_and_duplication_have_their_probabilities() {
    let wire = Wire { loss: 0.3, duplicate: 0.2, ..Wire::default() };
    let mut line = Line::new(Seed(7), wire, Wire::default());
    let n = 20_000;
    for i in 0..n {
        line.send(Instant::ZERO, End::A, i, 40);
        line.send(Instant::ZERO, End::B, i, 40);
    }
    let tally = line.tally(End::A);
    // Five standard deviations of a binomial: 5 * sqrt(20000 * 0.3 * 0.7) = 324.
    assert!(tally.lost.abs_diff(6_000) < 324, "{line:?}");
    assert!(tally.duplicated.abs_diff(2_800) < 245, "{line:?}");
    assert_eq!(line.tally(End::B), Tally { sent: n, ..Tally::default() });
    let arrived = drain(&mut line).len() as u64;
    assert_eq!(arrived, n + (n - tally.lost + tally.duplicated));
}

#[test]
fn jitter_reorders_within_its_bound() {
    let wire = Wire { delay: MS * 5, jitter: MS * 4, ..Wire::default() };
    let mut line = Line::symmetric(Seed(3), wire);
    for n in 0..200 {
        line.send(at_ms(n), End::A, n, 40);
    }
    let arrived = drain(&mut line);
    assert!(arrived.windows(2).any(|pair| pair[0].2 > pair[1].2), "nothing was reordered");
    for (at, _, n) in arrived {
        let took = at.since(at_ms(n));
        assert!(took >= MS * 5 && took < MS * 9, "item {n} took {took}");
    }
}

#[test]
fn corruption_touches_copies_but_not_the_sender() {
    let wire = Wire { corrupt: 1.0, duplicate: 1.0, ..Wire::default() };
    let mut line = Line::symmetric(Seed(5), wire)
        .with_corruption(|item: &mut Vec<u8>, stream| item[stream.below(4) as usize] ^= 0xff);
    line.send(Instant::ZERO, End::A, vec![0; 4], 4);
    let arrived = drain(&mut line);
    assert_eq!(arrived.len(), 2);
    for (_, _, item) in arrived {
        assert_eq!(item.iter().filter(|byte| **byte == 0xff).count(), 1);
    }
    assert_eq!(line.tally(End::A).corrupted, 2);
}

#[test]
fn the_same_seed_gives_the_same_line_and_another_seed_another() {
    let run = |seed: u64| {
        let wire = Wire { jitter: MS, loss: 0.1, duplicate: 0.1, ..Wire::default() };
        let mut line = Line::symmetric(Seed(seed), wire);
        for n in 0..100 {
            line.send(at_ms(n), End::A, n, 40);
        }
        drain(&mut line)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn traffic_one_way_leaves_the_other_ways_draws_alone() {
    let run = |reverse: u64| {
        let mut line = Line::symmetric(Seed(9), Wire { jitter: MS, loss: 0.2, ..Wire::default() });
        for n in 0..100 {
            line.send(at_ms(n), End::A, n, 40);
            (0..reverse).for_each(|_| line.send(at_ms(n), End::B, n, 40));
        }
        drain(&mut line).into_iter().filter(|(_, end, _)| *end == End::B).collect::<Vec<_>>()
    };
    assert_eq!(run(0), run(3));
}

#[test]
fn a_wire_can_change_under_way() {
    let mut line = Line::symmetric(Seed(1), Wire { delay: MS * 10, ..Wire::default() });
    line.send(at_ms(0), End::A, 'x', 40);
    line.set_wire(End::A, Wire { loss: 1.0, ..Wire::default() });
    line.send(at_ms(1), End::A, 'y', 40);
    assert_eq!(drain(&mut line), [(at_ms(10), End::B, 'x')]);
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + MS * ms
}

/// Everything under way, each with its time and the end it arrived at.
fn drain<T: Clone>(line: &mut Line<T>) -> Vec<(Instant, End, T)> {
    let mut out = Vec::new();
    while let Some(at) = line.next_arrival() {
        let (end, item) = line.arrive(at).expect("due at its own arrival time");
        out.push((at, end, item));
    }
    out
}
