//! Outputs of a channel that wait for its host. Those of an A-MPDU are one run.

use super::{Fate, Output, RadioId};
use core::ops::Range;
use std::collections::VecDeque;

/// Outputs of one kind that follow each other, such as those of the frames of an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// [`Output::Deliver`] for each frame.
    Deliver {
        /// The receiver.
        to: RadioId,
        /// The transmitter.
        from: RadioId,
    },
    /// [`Output::Done`] for each frame.
    Done {
        /// The transmitter.
        radio: RadioId,
        /// The fate of each.
        fate: Fate,
    },
}

impl Run {
    /// The output for one payload of the run.
    const fn with<P: Copy>(self, payload: P) -> Output<P> {
        match self {
            Self::Deliver { to, from } => Output::Deliver { to, from, payload },
            Self::Done { radio, fate } => Output::Done { radio, payload, fate },
        }
    }
}

#[derive(Debug)]
pub(super) struct Outputs<P> {
    /// The runs and their numbers of payloads, above zero.
    runs: VecDeque<(Run, usize)>,
    /// The payloads of all runs, one after the other.
    payloads: VecDeque<P>,
}

impl<P: Copy> Outputs<P> {
    pub(super) const fn new() -> Self {
        Self { runs: VecDeque::new(), payloads: VecDeque::new() }
    }

    /// Adds the output for one payload.
    pub(super) fn push(&mut self, run: Run, payload: P) {
        self.payloads.push_back(payload);
        self.count(run, 1);
    }

    /// Adds the outputs for the payloads at these places of `all`.
    pub(super) fn extend(
        &mut self,
        run: Run,
        all: &VecDeque<P>,
        places: impl Iterator<Item = Range<usize>>,
    ) {
        let before = self.payloads.len();
        places.for_each(|places| match places.len() {
            // A frame outside of an A-MPDU, which is most often the case.
            1 => self.payloads.push_back(all[places.start]),
            _ => self.payloads.extend(all.range(places)),
        });
        self.count(run, self.payloads.len() - before);
    }

    fn count(&mut self, run: Run, more: usize) {
        match self.runs.back_mut() {
            _ if more == 0 => {}
            Some((last, count)) if *last == run => *count += more,
            _ => self.runs.push_back((run, more)),
        }
    }

    /// The next output.
    pub(super) fn pop(&mut self) -> Option<Output<P>> {
        let (run, count) = self.runs.front_mut()?;
        let run = *run;
        *count -= 1;
        if *count == 0 {
            self.runs.pop_front();
        }
        self.payloads.pop_front().map(|payload| run.with(payload))
    }

    /// The next run, whose payloads replace those of `payloads`.
    pub(super) fn pop_run(&mut self, payloads: &mut Vec<P>) -> Option<Run> {
        let (run, count) = self.runs.pop_front()?;
        payloads.clear();
        payloads.extend(self.payloads.drain(..count));
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_outputs_make_a_run_and_come_out_one_by_one_or_together() {
        let done = |radio, fate| Run::Done { radio: RadioId(radio), fate };
        let deliver = Run::Deliver { to: RadioId(1), from: RadioId(0) };
        let all: VecDeque<u32> = (0..10).collect();
        let mut outputs = Outputs::new();
        outputs.push(deliver, 20);
        outputs.extend(deliver, &all, [1..3, 5..6].into_iter());
        outputs.extend(done(0, Fate::Sent), &all, core::iter::once(4..4));
        outputs.push(done(0, Fate::Sent), 7);
        outputs.push(done(0, Fate::RetryLimit), 8);
        let mut payloads = vec![99];
        assert_eq!(outputs.pop(), Some(deliver.with(20)));
        assert_eq!(outputs.pop_run(&mut payloads), Some(deliver));
        assert_eq!(payloads, [1, 2, 5]);
        assert_eq!(outputs.pop(), Some(done(0, Fate::Sent).with(7)));
        assert_eq!(outputs.pop_run(&mut payloads), Some(done(0, Fate::RetryLimit)));
        assert_eq!(payloads, [8]);
        assert_eq!((outputs.pop_run(&mut payloads), outputs.pop()), (None, None));
    }
}
