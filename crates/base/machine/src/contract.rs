//! The contract of [`Machine`], as a check that every machine's tests run.

use crate::Machine;
use fairwave_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// More outputs than this from one input mean that draining does not end.
const DRAIN_LIMIT: usize = 1_000_000;

/// Drives `machine` through `inputs` (time, fact), waking it at its deadlines between them and
/// until `end`, and checks the contract at every step:
///
/// - a drain ends;
/// - once drained, the deadline is not in the past, and not at `now` after a wake at `now`
///   more than a bounded number of times (time moves on);
/// - an early wake yields no output;
/// - a second wake at the same instant yields no output.
///
/// Returns every output with its time.
///
/// # Panics
/// If the machine breaks the contract; the message says which rule and when.
pub fn check<M: Machine>(
    machine: &mut M,
    inputs: impl IntoIterator<Item = (Instant, M::Input)>,
    end: Instant,
) -> Vec<(Instant, M::Output)> {
    let mut run = Run { machine, out: Vec::new(), stuck: 0, last: Instant::ZERO };
    for (at, input) in inputs {
        run.advance_to(at);
        run.machine.handle(at, input);
        run.drain(at);
        run.spurious_wake(at);
    }
    run.advance_to(end);
    run.out
}

struct Run<'a, M: Machine> {
    machine: &'a mut M,
    out: Vec<(Instant, M::Output)>,
    stuck: u32,
    last: Instant,
}

impl<M: Machine> Run<'_, M> {
    /// Takes all outputs and events; the number of outputs.
    fn drain(&mut self, now: Instant) -> usize {
        let mut outputs = 0;
        while let Some(output) = self.machine.poll(now) {
            self.out.push((now, output));
            outputs += 1;
            assert!(outputs < DRAIN_LIMIT, "at {now}: the drain does not end");
        }
        let mut events = 0;
        while self.machine.event().is_some() {
            events += 1;
            assert!(events < DRAIN_LIMIT, "at {now}: the events do not end");
        }
        if let Some(deadline) = self.machine.deadline() {
            assert!(deadline >= now, "at {now}: drained, yet the deadline is {deadline}");
        }
        outputs
    }

    /// A wake before the deadline must do nothing.
    fn spurious_wake(&mut self, now: Instant) {
        if self.machine.deadline().is_some_and(|deadline| deadline <= now) {
            return;
        }
        let before = self.machine.deadline();
        self.machine.wake(now);
        assert_eq!(self.drain(now), 0, "at {now}: an early wake produced output");
        assert_eq!(before, self.machine.deadline(), "at {now}: an early wake moved the deadline");
    }

    /// Wakes the machine at each deadline up to `end`.
    fn advance_to(&mut self, end: Instant) {
        while let Some(deadline) = self.machine.deadline().filter(|d| *d <= end) {
            self.stuck = if deadline == self.last { self.stuck + 1 } else { 0 };
            assert!(self.stuck < 1_000, "at {deadline}: time does not move on");
            self.last = deadline;
            self.machine.wake(deadline);
            self.drain(deadline);
            self.spurious_wake(deadline);
            if let Some(early) = self.machine.deadline().filter(|d| *d > deadline) {
                let between = (early.since(deadline).as_nanos() / 2).max(1) - 1;
                self.spurious_wake(deadline + Duration::from_nanos(between));
            }
        }
    }
}
