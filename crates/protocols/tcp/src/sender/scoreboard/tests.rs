//! The running sums against a walk over all records.

use super::super::rack::Due;
use super::*;
use fairwave_units::Duration;
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
    TimeoutBut(u64),
    /// What was sent so long ago is overdue; and the records up to there have arrived.
    Overdue(u64, u64),
    Undo,
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
        1 => (0u64..20).prop_map(Step::TimeoutBut),
        3 => (0u64..20, 0u64..90).prop_map(|(age, at)| Step::Overdue(age, at)),
        1 => Just(Step::Undo),
    ]
}

/// A scoreboard, its edges, and the time: a step is a tick.
#[derive(Default)]
struct Model {
    board: Scoreboard,
    una: u64,
    next: u64,
    rack: bool,
    now: Instant,
}

const TICK: Duration = Duration::from_millis(1);

impl Model {
    fn take(&mut self, step: &Step) {
        let (now, board) = (self.now, &mut self.board);
        match *step {
            Step::Push(len) => {
                board.push(self.next, len, now, RemovedSegment::default());
                self.next += u64::from(len);
            }
            Step::Acknowledge(by) => {
                self.una = (self.una + by).min(self.next);
                board.acknowledge(self.una, None, &mut Arrivals::default());
            }
            Step::Sack(at, len) => {
                let left = self.una + 1 + at;
                board.sack(&[(left, left + len)], &mut Arrivals::default());
                if !self.rack {
                    board.mark_lost(3, 10);
                }
            }
            Step::ResendLost => {
                if let Some(index) = board.next_lost() {
                    board.resend(index, now, RemovedSegment::default(), true);
                }
            }
            Step::ResendSpeculatively => {
                if let Some(index) = board.next_speculative() {
                    board.resend(index, now, RemovedSegment::default(), true);
                }
            }
            Step::Recover if !self.rack => {
                board.begin_recovery();
                board.mark_head_lost();
            }
            Step::Timeout => drop(board.timeout(None)),
            Step::TimeoutBut(age) if self.rack => {
                let age = TICK * age;
                board.timeout(Some(Instant::ZERO + now.since(Instant::ZERO + age)));
            }
            Step::Overdue(age, at) if self.rack => self.overdue(TICK * age, at),
            Step::Undo => board.undo(),
            _ => {}
        }
    }

    /// The segment that holds `at` has arrived: RFC 8985 section 6.2 step 5, by a full walk.
    fn overdue(&mut self, allowance: Duration, at: u64) {
        let Some(record) = self.board.records.iter().find(|r| r.end() > self.una + at) else {
            return;
        };
        let newest = record.sent;
        let due = Due { now: self.now, newest, allowance };
        let waits = self.board.mark_overdue(&due);
        let sent_before = |r: &&Record| !r.sacked && r.sent < newest;
        let unmarked = |r: &&Record| r.weight() > 0;
        let open: Vec<_> = self
            .board
            .records
            .iter()
            .filter(sent_before)
            .filter(unmarked)
            .map(|r| r.sent.at + allowance)
            .collect();
        assert!(open.iter().all(|at| *at > self.now), "{:?}", self.board);
        assert_eq!(waits.is_some(), !open.is_empty(), "{:?}", self.board);
    }
}

proptest! {
    /// RFC 6675 section 4, SetPipe: the running sums are what a walk over all records gives,
    /// and a lost segment that was not sent again is found. The same for what RACK marks.
    #[test]
    fn running_sums_match_a_full_walk(
        steps in prop::collection::vec(step(), 1..80),
        rack: bool,
        keeps_sacks: bool,
    ) {
        let board = Scoreboard::new(keeps_sacks);
        let mut model = Model { board, rack, ..Model::default() };
        if rack {
            model.board.keep_resent();
        }
        for step in &steps {
            model.now += TICK;
            model.take(step);
            let board = &mut model.board;
            let pipe: u32 = board.records.iter().map(|r| r.weight() * r.len).sum();
            prop_assert_eq!(board.pipe(), pipe, "after {:?}", step);
            let first = board.records.iter().position(Record::awaits_retransmission);
            prop_assert_eq!(board.next_lost(), first, "after {:?}", step);
            prop_assert_eq!(board.has_lost(), first.is_some());
            let sacked = board.records.iter().filter(|r| r.sacked).count();
            prop_assert_eq!(board.sacked_segments() as usize, sacked, "after {:?}", step);
        }
    }
}
