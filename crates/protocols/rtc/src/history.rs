//! Packets that were sent, and feedback on them.

use crate::gcc::Fate;
use fairwave_units::{Duration, Instant};
use fairwave_wire::rtp::{Feedback, TICK};
use std::collections::VecDeque;

/// Maximum number of packets in the history; feedback about older ones is ignored. Numbers of 16
/// bits cannot distinguish more.
const MAX: usize = 32_767;
/// Unit of the reference time.
const REFERENCE_NS: i64 = 64_000_000;
/// Maximum of the extended reference, beyond which it starts again: only false feedback exceeds it,
/// and sums of times must fit into 64 bits.
const MAX_REFERENCE: i64 = 1 << 35;

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    bytes: u32,
    /// Report of feedback on it.
    reported: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Nothing,
    Missing,
    Arrived,
}

/// The newest packets, by transport-wide number.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    sent: VecDeque<Sent>,
    /// Number of the first of them, extended beyond 16 bits.
    first: u64,
    /// The reference of the newest feedback, extended beyond 24 bits.
    reference: Option<i64>,
    /// The number behind the newest reported packet.
    answered: u64,
}

/// New reports of feedback.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    pub(crate) fates: Vec<Fate>,
    /// Time since the newest reported packet was sent.
    pub(crate) rtt: Option<Duration>,
}

impl History {
    /// The number of the next packet.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    pub(crate) fn push(&mut self, at: Instant, bytes: u32) {
        if self.sent.len() == MAX {
            self.sent.pop_front();
            self.first += 1;
        }
        self.sent.push_back(Sent { at, bytes, reported: Status::Nothing });
    }

    /// Packets since the newest reported one. Earlier ones without a report are expected no longer:
    /// feedback does not go back to the reports of a lost one.
    pub(crate) fn unanswered(&self) -> u64 {
        self.next() - self.answered
    }

    /// Returns the reports of `feedback` on packets that were sent, and had not been reported
    /// before. A packet that was reported missing may still arrive; a received one stays so.
    pub(crate) fn take(&mut self, now: Instant, feedback: &Feedback) -> Reports {
        let mut arrival = self.reference_ns(feedback.reference);
        let tick = TICK.as_nanos().cast_signed();
        let base = self.extend(feedback.base);
        let mut reports = Reports::default();
        for (number, delta) in (base..).zip(&feedback.arrivals) {
            let arrived = delta.map(|delta| {
                arrival += i64::from(delta) * tick;
                arrival
            });
            let index = usize::try_from(number - self.first.cast_signed()).ok();
            let Some(sent) = index.and_then(|i| self.sent.get_mut(i)) else { continue };
            self.answered = self.answered.max(number.cast_unsigned() + 1);
            let reported = if arrived.is_some() { Status::Arrived } else { Status::Missing };
            if sent.reported == reported || sent.reported == Status::Arrived {
                continue;
            }
            sent.reported = reported;
            if arrived.is_some() {
                let took = now.since(sent.at);
                reports.rtt = Some(reports.rtt.map_or(took, |minimum: Duration| minimum.min(took)));
            }
            reports.fates.push(Fate { sent: sent.at, arrived, bytes: sent.bytes });
        }
        reports
    }

    /// Returns the number nearest to the next that ends in these 16 bits. Numbers before the first
    /// packet or ahead of the last were never sent, and are not found.
    fn extend(&self, low: u16) -> i64 {
        let next = self.next();
        let behind = (next as u16).wrapping_sub(low);
        next.cast_signed() - i64::from(behind.cast_signed())
    }

    /// The reference as a time of the receiver's clock, near that of the feedback before.
    fn reference_ns(&mut self, low: i32) -> i64 {
        let reference = match self.reference {
            None => i64::from(low),
            Some(last) => {
                let ahead = (i64::from(low) - last) & 0xff_ffff;
                let next = last + if ahead < 1 << 23 { ahead } else { ahead - (1 << 24) };
                if next.abs() > MAX_REFERENCE { i64::from(low) } else { next }
            }
        };
        self.reference = Some(reference);
        reference * REFERENCE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn feedback(base: u16, reference: i32, arrivals: &[Option<i16>]) -> Feedback {
        let arrivals = arrivals.to_vec();
        Feedback { sender_ssrc: 1, media_ssrc: 2, base, reference, count: 0, arrivals }
    }

    fn history(packets: u64) -> History {
        let mut history = History::default();
        (0..packets).for_each(|n| history.push(at(10 * n), 1_000));
        history
    }

    /// Packets 0 and 2 arrive 1 and 3.5 ms after 128 ms of the receiver's clock, 1 does not.
    #[test]
    fn arrivals_are_sums_of_ticks() {
        let mut history = history(3);
        let reports = history.take(at(100), &feedback(0, 2, &[Some(4), None, Some(10)]));
        let arrived: Vec<_> = reports.fates.iter().map(|fate| fate.arrived).collect();
        assert_eq!(arrived, [Some(129_000_000), None, Some(131_500_000)]);
        assert_eq!(reports.rtt, Some(Duration::from_millis(80)));
        assert_eq!(history.unanswered(), 0);
        // What is told again is no news, but that packet 1 has come after all.
        let reports = history.take(at(110), &feedback(0, 2, &[Some(4), Some(200), None]));
        assert_eq!(reports.fates.len(), 1);
        assert_eq!(reports.fates[0].sent, at(10));
    }

    #[test]
    fn what_was_never_sent_is_not_heard() {
        let mut history = history(3);
        let reports = history.take(at(100), &feedback(3, 0, &[Some(0); 50]));
        assert!(reports.fates.is_empty());
        let reports = history.take(at(100), &feedback(65_535, 0, &[Some(0), Some(0)]));
        assert_eq!(reports.fates.len(), 1, "before the first packet there was none");
    }

    #[test]
    fn numbers_and_references_go_around() {
        let mut history = history(70_000);
        let reports = history.take(at(700_000), &feedback(69_999u32 as u16, 8_388_607, &[Some(0)]));
        assert_eq!(reports.fates[0].sent, at(699_990));
        let first = reports.fates[0].arrived;
        let reports =
            history.take(at(700_000), &feedback(69_998u32 as u16, -8_388_608, &[Some(0)]));
        let ahead = reports.fates[0].arrived.zip(first).map(|(b, a)| b - a);
        assert_eq!(ahead, Some(REFERENCE_NS));
        assert!(history.sent.len() <= MAX && history.unanswered() == 0);
    }

    /// Feedback about the first three of six is lost, and about the fourth comes: two are awaited.
    #[test]
    fn what_lost_feedback_told_is_not_awaited() {
        let mut history = history(6);
        assert_eq!(history.unanswered(), 6);
        history.take(at(100), &feedback(3, 0, &[Some(0)]));
        assert_eq!(history.unanswered(), 2);
        // Older feedback changes nothing.
        history.take(at(100), &feedback(0, 0, &[Some(0); 2]));
        assert_eq!(history.unanswered(), 2);
    }

    /// References that run away begin anew, and never leave the range of times.
    #[test]
    fn a_reference_that_runs_away_begins_anew() {
        let mut history = history(1);
        let times: Vec<i64> = (0..40_000i64)
            .map(|n| history.reference_ns((n * 0x7f_ffff % (1 << 24) - (1 << 23)) as i32))
            .collect();
        assert!(times.iter().all(|ns| ns.abs() <= MAX_REFERENCE * REFERENCE_NS));
        assert!(times.windows(2).any(|pair| pair[1] < pair[0]), "it did begin anew");
    }
}
