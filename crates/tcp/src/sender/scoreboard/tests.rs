//! The running sums against a walk over all records.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Push(u32),
    Acknowledge(u64),
    Sack(u64, u64),
    ResendLost,
    ResendSpeculatively,
    Recover,
    Timeout,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u32..20).prop_map(Step::Push),
        2 => (0u64..60).prop_map(Step::Acknowledge),
        4 => (0u64..80, 1u64..80).prop_map(|(at, len)| Step::Sack(at, len)),
        2 => Just(Step::ResendLost),
        1 => Just(Step::ResendSpeculatively),
        1 => Just(Step::Recover),
        1 => Just(Step::Timeout),
    ]
}

fn take(board: &mut Scoreboard, una: &mut u64, next: &mut u64, step: &Step) {
    match *step {
        Step::Push(len) => {
            board.push(*next, len, Instant::ZERO, Left::default());
            *next += u64::from(len);
        }
        Step::Acknowledge(by) => {
            *una = (*una + by).min(*next);
            board.acknowledge(*una, None, &mut Arrivals::default());
        }
        Step::Sack(at, len) => {
            let left = *una + 1 + at;
            board.sack(&[(left, left + len)], &mut Arrivals::default());
            board.mark_lost(3, 10);
        }
        Step::ResendLost => {
            if let Some(index) = board.next_lost() {
                board.resend(index, Instant::ZERO, Left::default(), true);
            }
        }
        Step::ResendSpeculatively => {
            if let Some(index) = board.next_speculative() {
                board.resend(index, Instant::ZERO, Left::default(), true);
            }
        }
        Step::Recover => {
            board.begin_recovery();
            board.mark_head_lost();
        }
        Step::Timeout => {
            board.timeout();
        }
    }
}

proptest! {
    /// RFC 6675 section 4, SetPipe: the running sums are what a walk over all records gives,
    /// and a lost segment that was not sent again is found.
    #[test]
    fn running_sums_match_a_full_walk(steps in prop::collection::vec(step(), 1..80)) {
        let mut board = Scoreboard::default();
        let (mut una, mut next) = (0, 0);
        for step in &steps {
            take(&mut board, &mut una, &mut next, step);
            let pipe: u32 = board.records.iter().map(|r| r.weight() * r.len).sum();
            prop_assert_eq!(board.pipe(), pipe, "after {:?}", step);
            let first = board.records.iter().position(Record::awaits_retransmission);
            prop_assert_eq!(board.next_lost(), first, "after {:?}", step);
            prop_assert_eq!(board.has_lost(), first.is_some());
        }
    }
}
