//! Loss intervals as feedback reported them, and the sender's use of them (RFC 4342, sections 6.1
//! and 8.6).

#[cfg(test)]
mod tests;

use super::REPORTED;
use super::log::Log;
use crate::tfrc::average::{self, Average, Method, N, Weighed};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::LossIntervals;
use std::collections::VecDeque;

/// Intervals that are remembered; those of a split gap are among them.
const REMEMBERED: usize = 2 * REPORTED;
/// Intervals that are read of a report.
const READ_MAX: usize = 28;

/// A loss interval of the sequence space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Interval {
    /// Its first lost packet; of the first interval, its first packet.
    start: u64,
    /// The number behind its last packet.
    end: u64,
    /// Packets from the first to the last lost one; 0 for the interval before the first loss.
    lossy: u64,
    /// Data packets in it.
    data: u64,
    /// Number of lost or marked packets, if that was reported.
    dropped: u64,
    /// The general discount factor when it began.
    folded: f64,
    /// Time for which it took to send, as far as that is known.
    span: Option<Duration>,
}

/// A report of loss intervals, as it comes out of feedback.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedIntervals<'a> {
    /// The greatest number that arrived.
    pub(super) ack: u64,
    /// Number of packets that are in no interval yet, and the intervals, newest first; `None` from
    /// a receiver that reports none.
    pub(super) intervals: Option<(u8, LossIntervals<'a>)>,
    /// Three bytes an interval: number of lost packets. Empty if not reported.
    pub(super) dropped: &'a [u8],
}

/// Rules for the intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// The weights and the discounting.
    pub(super) method: Method,
    /// Remedy C: intervals that began before count by this factor.
    pub(super) old: Option<(u64, f64)>,
    /// Remedy E: events before this number are forgotten, and the interval before the first one
    /// after has this length.
    pub(super) forgotten: Option<(u64, f64)>,
    /// TFRC-SP: intervals of at most two of these round-trip times are divided by their losses.
    pub(super) short: Option<Duration>,
    /// Events end a round trip after they began even within one run of losses.
    pub(super) split: Option<Duration>,
}

/// The intervals the sender knows, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Reported {
    known: VecDeque<Interval>,
    /// Remedy B': losses of these packets, first and last ones, are no events.
    left_out: VecDeque<(u64, u64)>,
    events: u64,
}

impl Reported {
    pub(super) fn new() -> Self {
        let known = VecDeque::with_capacity(REMEMBERED + 1);
        Self { known, left_out: VecDeque::new(), events: 0 }
    }

    /// Leaves out losses of packets from the first to the last one of a handover, which is
    /// `u64::MAX` until it ends (remedy B').
    pub(super) fn leave_out(&mut self, first: u64, last: u64) {
        if let Some(open) = self.left_out.back_mut().filter(|(_, last)| *last == u64::MAX) {
            *open = (open.0.min(first), last);
            return;
        }
        if self.left_out.len() == REMEMBERED {
            let is_needless = |range: &(u64, u64)| !self.known.iter().any(|it| it.is_of(range));
            let at = self.left_out.iter().position(is_needless).unwrap_or(0);
            self.left_out.remove(at);
        }
        self.left_out.push_back((first, last));
    }

    fn leaves_out(&self, interval: &Interval) -> bool {
        self.left_out.iter().any(|range| interval.is_of(range))
    }

    /// Number of loss events so far.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Takes a report and returns whether it has a new loss event.
    pub(super) fn take(
        &mut self,
        loss_report: &ReportedIntervals<'_>,
        log: &Log,
        rules: &Rules,
    ) -> bool {
        let mut fresh = [Interval::default(); READ_MAX];
        let count = read(loss_report, &mut fresh);
        let fresh = &fresh[..count];
        let Some(oldest) = fresh.last().map(|interval| interval.start) else { return false };
        // What the report no longer has was undone by packets that came late. Before the beginning
        // of the history there is nothing: a receiver may have begun anew.
        let begins = fresh.last().is_some_and(|interval| interval.lossy == 0);
        self.known.retain(|known| {
            let is_before = known.start < oldest;
            let is_reported = fresh.iter().any(|interval| interval.holds(known.start));
            if is_before { !begins } else { is_reported }
        });
        let before = self.events;
        for interval in fresh.iter().rev() {
            self.merge(interval, rules);
            if let Some(rtt) = rules.split {
                self.split(interval, rtt, log, rules);
            }
        }
        self.measure(log, loss_report.ack);
        self.events > before
    }

    /// The average loss interval; `None` while there was no loss.
    pub(super) fn average(&self, rules: &Rules) -> Option<Average> {
        let mut weighed = [Weighed { packets: 0.0, discount: 1.0 }; N + 1];
        let count = self.weigh(rules, &mut weighed);
        average::average(&weighed[..count], rules.method)
    }

    /// Takes over an interval: a known one has grown, an unknown one begins.
    fn merge(&mut self, interval: &Interval, rules: &Rules) {
        let at = self.known.partition_point(|known| known.start < interval.start);
        if let Some(known) = self.known.get_mut(at).filter(|known| known.start == interval.start) {
            *known = Interval { folded: known.folded, span: known.span, ..*interval };
            return;
        }
        let newest = at == self.known.len();
        let folded = match self.average(rules) {
            Some(average) if newest => average.discount,
            _ => 1.0,
        };
        debug_assert!(folded > 0.0 && folded <= 1.0, "{interval:?} is folded by {folded}");
        self.known.insert(at, Interval { folded, ..*interval });
        self.events += u64::from(newest && interval.lossy > 0 && !self.leaves_out(interval));
        if self.known.len() > REMEMBERED {
            self.known.pop_front();
        }
    }

    /// Ends events within a run of losses where more than a round trip of sending lies between
    /// (RFC 4342, section 9.2).
    fn split(&mut self, interval: &Interval, rtt: Duration, log: &Log, rules: &Rules) {
        let lossy_end = interval.start + interval.lossy;
        loop {
            let behind = self.known.partition_point(|known| known.start < lossy_end);
            let Some(last) = behind.checked_sub(1).map(|at| self.known[at].start) else { return };
            let Some(sent) = log.get(last) else { break };
            let later = log.first_since(sent.at + rtt + Duration::from_nanos(1));
            if later <= last || later >= lossy_end {
                break;
            }
            self.merge(&Interval { start: later, ..*interval }, rules);
        }
        self.share_out(interval);
    }

    /// Gives each event that was split from `interval` its part of the packets.
    fn share_out(&mut self, interval: &Interval) {
        let lossy_end = interval.start + interval.lossy;
        let mut behind = None;
        for known in self.known.iter_mut().rev() {
            if known.start >= lossy_end {
                continue;
            }
            if known.start < interval.start {
                return;
            }
            let before = known.start - interval.start;
            known.end = behind.unwrap_or(interval.end);
            known.lossy = behind.unwrap_or(lossy_end) - known.start;
            known.data = match behind {
                Some(end) => end - known.start,
                None => interval.data.saturating_sub(before).max(1),
            };
            behind = Some(known.start);
        }
    }

    /// Notes how long intervals took to send.
    fn measure(&mut self, log: &Log, ack: u64) {
        let mut end = log.get(ack).map(|sent| sent.at);
        for known in self.known.iter_mut().rev() {
            let start: Option<Instant> = log.get(known.start).map(|sent| sent.at);
            if let (Some(start), Some(end)) = (start, end) {
                known.span = Some(end.since(start));
            }
            end = start;
        }
    }

    /// Writes the intervals to average, the open one first.
    fn weigh(&self, rules: &Rules, into: &mut [Weighed; N + 1]) -> usize {
        let (mut count, mut discount, mut carried) = (0, 1.0, 0.0);
        let mut folded = [1.0; 2];
        for interval in self.known.iter().rev() {
            if count == into.len() {
                break;
            }
            let forgotten = rules.forgotten.filter(|(before, _)| interval.start < *before);
            if count == 0 && (forgotten.is_some() || interval.lossy == 0) {
                return 0;
            }
            if self.leaves_out(interval) {
                carried += interval.data.saturating_sub(interval.lossy) as f64;
                continue;
            }
            discount *= folded[1];
            folded = [interval.folded, if count == 0 { 1.0 } else { folded[0] }];
            let own = forgotten.map_or_else(|| rules.length(interval, count), |(_, seed)| seed);
            let aged = rules.age(interval, count);
            into[count] = Weighed { packets: own + carried, discount: discount * aged };
            carried = 0.0;
            count += 1;
            if forgotten.is_some() {
                break;
            }
        }
        count
    }
}

impl Interval {
    /// Whether it began at `start`, or an event that was split from it did.
    fn holds(&self, start: u64) -> bool {
        start == self.start || (start > self.start && start < self.start + self.lossy)
    }

    /// Whether its first loss is one of these packets.
    fn is_of(&self, range: &(u64, u64)) -> bool {
        self.lossy > 0 && (range.0..=range.1).contains(&self.start)
    }
}

impl Rules {
    fn age(&self, interval: &Interval, index: usize) -> f64 {
        match self.old {
            Some((before, factor)) if index > 0 && interval.start < before => factor,
            _ => 1.0,
        }
    }

    /// The length that counts. With TFRC-SP an interval of at most two round trips is divided by
    /// its losses, and an open one does not count at all (RFC 4828, section 4.4).
    fn length(&self, interval: &Interval, index: usize) -> f64 {
        let packets = interval.data as f64;
        let is_short = self.short.is_some_and(|rtt| {
            interval.lossy > 0 && interval.span.is_some_and(|span| span <= rtt * 2)
        });
        match (is_short, index) {
            (false, _) => packets,
            (true, 0) => 0.0,
            (true, _) => packets / interval.dropped.max(1) as f64,
        }
    }
}

/// Reads a report into `into`, newest first, up to the first interval of the connection.
fn read(loss_report: &ReportedIntervals<'_>, into: &mut [Interval; READ_MAX]) -> usize {
    let Some((skip, intervals)) = loss_report.intervals else { return 0 };
    let mut end = (loss_report.ack + 1).saturating_sub(u64::from(skip));
    let mut drops = loss_report.dropped.chunks_exact(3);
    let mut count = 0;
    for (wire, slot) in intervals.iter().zip(into.iter_mut()) {
        let lossy = u64::from(wire.lossy());
        let start = end.saturating_sub(u64::from(wire.lossless()) + lossy);
        let dropped = drops.next().map_or(0, |b| u32::from_be_bytes([0, b[0], b[1], b[2]]));
        *slot = Interval {
            start,
            end,
            lossy,
            data: u64::from(wire.data()).max(1),
            dropped: u64::from(dropped),
            folded: 1.0,
            span: None,
        };
        end = start;
        count += 1;
        if lossy == 0 {
            break;
        }
    }
    count
}
