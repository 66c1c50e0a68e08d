//! Marks by hand, and against a plain list.

use super::*;
use proptest::prelude::*;

fn segment(seq: u64, len: u32) -> Sent {
    Sent {
        seq,
        len,
        fin: false,
        delivered: false,
        lost: false,
        reinjected: false,
        repeated: false,
        in_flight: 1,
        path: 0,
        number: 1 + seq,
        at: Instant::ZERO,
    }
}

/// Ten segments of ten bytes.
fn board() -> Scoreboard {
    let mut board = Scoreboard::default();
    (0..10).for_each(|n| {
        board.push(segment(10 * n, 10));
    });
    board
}

fn sack(board: &mut Scoreboard, blocks: &[(u64, u64)]) -> Vec<u64> {
    let mut delivered = Vec::new();
    board.sack_blocks(blocks.iter().copied(), |segment| delivered.push(segment.seq));
    delivered
}

#[test]
fn blocks_tell_each_arrival_once() {
    let mut board = board();
    assert_eq!(sack(&mut board, &[(30, 50)]), [30, 40]);
    assert_eq!(sack(&mut board, &[(30, 60)]), [50]);
    assert_eq!(sack(&mut board, &[(80, 95), (20, 60)]), [80, 20], "half a segment is none");
    assert_eq!(sack(&mut board, &[(75, 200), (20, 60)]), [90]);
    let mut delivered = Vec::new();
    board.acknowledge(75, |segment| delivered.push(segment.seq));
    assert_eq!((delivered, board.una()), (vec![0, 10, 60], 70));
}

/// Half of 10 000 segments by turns with the other half: none is looked at twice.
#[test]
fn lists_of_blocks_that_take_turns_cost_no_more() {
    let mut board = Scoreboard::default();
    (0..10_000).for_each(|n| {
        board.push(segment(10 * n, 10));
    });
    let start = |odd: u64, k: u64| 12_500 * k + 6_250 * odd;
    let half = |odd| (0..8).map(move |k| (start(odd, k), start(odd, k) + 5_000));
    for round in 0..100 {
        board.sack_blocks(half(round % 2), |_| {});
    }
    assert!(board.looked_at() <= 10_000 + 8 * 100, "{}", board.looked_at());
}

#[test]
fn what_is_lost_is_found_in_order_until_it_arrives() {
    let mut board = board();
    for index in [6, 2, 4] {
        assert!(board.lose(index) && !board.lose(index));
    }
    let found = |board: &mut Scoreboard| {
        board.lost_segments().map(|(_, segment)| segment.seq).collect::<Vec<_>>()
    };
    assert_eq!(found(&mut board), [20, 40, 60]);
    board.note_resent(2, 1, 7, Instant::ZERO);
    assert_eq!((found(&mut board), board.get(2).in_flight), (vec![40, 60], 2));
    sack(&mut board, &[(40, 50)]);
    assert_eq!((found(&mut board), board.lost()), (vec![60], 1));
    board.acknowledge(70, |_| {});
    assert_eq!((found(&mut board), board.lost()), (vec![], 0));
    board.lose_all();
    assert_eq!(found(&mut board), [70, 80, 90]);
}

/// Segments of ten bytes are cut to four; those that have arrived stay.
#[test]
fn long_segments_are_cut_and_lost() {
    let mut board = board();
    board.push(Sent { fin: true, ..segment(100, 5) });
    board.acknowledge(70, |_| {});
    sack(&mut board, &[(80, 90)]);
    board.cut(10);
    assert_eq!((board.lost(), board.first_missing()), (0, Some(0)), "none is longer");
    board.cut(4);
    let missing = board.missing_segments().map(|(_, part)| (part.seq, part.len, part.fin));
    let parts = [(70, 4, false), (74, 4, false), (78, 2, false), (90, 4, false), (94, 4, false)];
    let parts = parts.into_iter().chain([(98, 2, false), (100, 5, true)]);
    assert!(missing.eq(parts));
    assert_eq!((board.lost(), board.una(), board.next()), (6, 70, 105));
    board.landed(70);
    assert_eq!((board.get(0).in_flight, board.get(1).in_flight), (0, 0));
    sack(&mut board, &[(74, 90)]);
    assert_eq!(
        board.lost_segments().map(|(_, part)| part.seq).collect::<Vec<_>>(),
        [70, 90, 94, 98]
    );
}

#[test]
fn a_segment_is_found_by_its_first_byte() {
    let mut board = board();
    board.acknowledge(20, |_| {});
    assert_eq!((board.find(20), board.find(25), board.find(0)), (Some(0), None, None));
    assert_eq!(board.first_missing(), Some(0));
    sack(&mut board, &[(20, 40)]);
    assert_eq!(board.first_missing(), Some(2));
    board.landed(40);
    assert_eq!(board.get(2).in_flight, 0);
}

proptest! {
    /// Hostile blocks included, counts agree with a list that is looked through each time.
    #[test]
    fn as_a_plain_list(
        steps in prop::collection::vec((0..3u8, 0..110u64, 0..60u64, 0..110u64, 0..60u64), 0..40),
    ) {
        let mut board = board();
        let mut delivered = [false; 10];
        let mut cumulative = 0;
        for (kind, a, a_len, b, b_len) in steps {
            match kind {
                0 => {
                    cumulative = cumulative.max(a);
                    board.acknowledge(a, |_| {});
                }
                1 => {
                    let blocks = [(a, a + a_len), (b, b + b_len)];
                    sack(&mut board, &blocks);
                    for n in 0..10u64 {
                        let inside = blocks.iter().any(|(s, e)| *s <= 10 * n && 10 * n + 10 <= *e);
                        delivered[n as usize] |= inside;
                    }
                }
                _ => {
                    if let Some(index) = board.find(a / 10 * 10) {
                        board.lose(index);
                    }
                }
            }
            for segment in &board.segments {
                prop_assert_eq!(segment.delivered, delivered[(segment.seq / 10) as usize]);
            }
            prop_assert_eq!(board.una(), cumulative.min(100) / 10 * 10);
            let lost = board.segments.iter().filter(|segment| segment.lost).count();
            prop_assert_eq!(board.lost(), lost);
            prop_assert_eq!(board.lost_segments().count(), lost);
        }
    }
}
