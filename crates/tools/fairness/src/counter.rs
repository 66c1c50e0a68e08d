//! Counters of one end of a flow, by interval.

use super::message::Flow;
use super::path::{Jitter, Path, Sender};
use fairwave_linux::clock::Clock;
use fairwave_units::{Duration, Instant};
use portable_atomic::AtomicU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A connection that ends earlier than this before the end of its window counts as broken. The
/// clocks of both ends differ by less.
const EARLY: Duration = Duration::from_millis(250);

/// Time in which flows are measured, by the clock of this host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) clock: Clock,
    pub(super) begin: Instant,
    pub(super) interval: Duration,
    pub(super) bins: u64,
}

impl Window {
    pub(super) fn end(&self) -> Instant {
        self.begin + Duration::from_nanos(self.interval.as_nanos() * self.bins)
    }

    /// Number of intervals that have ended at `now`.
    pub(super) fn ended(&self, now: Instant) -> usize {
        let since = now.since(self.begin).as_nanos();
        (since / self.interval.as_nanos().max(1)).min(self.bins) as usize
    }

    fn bin(&self, now: Instant) -> Option<usize> {
        let since = now.as_nanos().checked_sub(self.begin.as_nanos())?;
        let bin = since / self.interval.as_nanos().max(1);
        (bin < self.bins).then_some(bin as usize)
    }
}

/// Bytes that the server still grants a host.
#[derive(Debug)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    pub(super) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(bytes)))
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn take(&self, bytes: u64) {
        let less = |left: u64| Some(left.saturating_sub(bytes));
        // The closure always returns a value, so that the update cannot fail.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

#[derive(Debug, Default)]
struct Counts {
    bytes: Vec<u64>,
    highest: Option<u32>,
    datagrams: u64,
    is_broken: bool,
    path: Path,
    /// Totals at the last sample: segments retransmitted, or datagrams missing.
    sampled: u32,
    jitter: Jitter,
}

impl Counts {
    /// Datagrams sent, as far as the numbers of those that arrived show.
    fn sent(&self) -> u64 {
        self.highest.map_or(0, |highest| u64::from(highest) + 1)
    }

    /// Datagrams missing.
    fn lost(&self) -> u64 {
        self.sent().saturating_sub(self.datagrams)
    }

    /// Samples of the intervals that have ended, for a receiver of datagrams.
    fn sample_datagrams(&mut self, ended: usize) {
        while self.path.jitter_us.len() < ended {
            let lost = u32::try_from(self.lost()).unwrap_or(u32::MAX);
            self.path.lost.push(lost.saturating_sub(self.sampled));
            self.path.jitter_us.push(self.jitter.us());
            self.sampled = lost;
        }
    }
}

/// A flow to be counted.
#[derive(Debug)]
pub(super) struct Counted {
    /// Whether its data go to the host of the test.
    pub(super) is_up: bool,
    /// Whether the receiver measures it, or else the sender.
    pub(super) by_receiver: bool,
    pub(super) is_udp: bool,
    /// Congestion control of a TCP sender, where it is known.
    pub(super) algorithm: Option<String>,
}

/// Counters of one end of a flow.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) window: Window,
    flow: Counted,
    budget: Arc<Budget>,
    counts: Mutex<Counts>,
    is_stopped: AtomicBool,
    stopped: Mutex<Option<Instant>>,
    begun: Mutex<Option<Instant>>,
}

impl Counter {
    pub(super) fn new(window: Window, flow: Counted, budget: Arc<Budget>) -> Arc<Self> {
        let counts = Counts { bytes: vec![0; window.bins as usize], ..Counts::default() };
        Arc::new(Self {
            window,
            flow,
            budget,
            counts: Mutex::new(counts),
            is_stopped: AtomicBool::new(false),
            stopped: Mutex::new(None),
            begun: Mutex::new(None),
        })
    }

    /// Ends the flow's thread. Bytes that arrive later are not counted.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.get_or_insert_with(|| self.window.clock.now());
    }

    /// Delay of the flow's start after the agreed time; zero if it has not started.
    pub(super) fn late(&self) -> Duration {
        let begun = *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.map_or(Duration::ZERO, |begun| begun.since(self.window.begin))
    }

    /// Counts of the intervals that had ended when the flow was stopped, or until now.
    pub(super) fn flow(&self) -> Flow {
        let stopped = *self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = self.window.ended(stopped.unwrap_or_else(|| self.window.clock.now()));
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Counted { is_up, by_receiver, is_udp, ref algorithm } = self.flow;
        let is_counted = is_udp && by_receiver;
        if is_counted {
            counts.sample_datagrams(ended);
        }
        Flow {
            is_up,
            bytes: counts.bytes[..ended].to_vec(),
            by_receiver,
            algorithm: algorithm.clone(),
            datagrams: is_counted.then(|| counts.sent()),
            lost: is_counted.then(|| counts.lost()),
            is_broken: counts.is_broken,
            path: counts.path.clone().cut(ended),
        }
    }

    pub(super) fn goes_on(&self) -> bool {
        let is_over = self.window.clock.now() >= self.window.end();
        !is_over && !self.is_stopped.load(Ordering::Relaxed) && !self.budget.is_used_up()
    }

    pub(super) fn count(&self, bytes: usize) {
        let now = self.window.clock.now();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bin) = self.window.bin(now) {
            counts.bytes[bin] += bytes as u64;
        }
        drop(counts);
        self.budget.take(bytes as u64);
    }

    /// Samples the path of a TCP sender, if intervals have ended since the last sample.
    pub(super) fn sample_tcp(&self, state: impl FnOnce() -> Option<Sender>) {
        let ended = self.window.ended(self.window.clock.now());
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.path.rtt_us.len() >= ended {
            return;
        }
        let Some(Sender { retransmitted, rtt_us }) = state() else { return };
        while counts.path.rtt_us.len() < ended {
            let since = retransmitted.saturating_sub(counts.sampled);
            counts.path.retransmitted.push(since);
            counts.path.rtt_us.push(rtt_us);
            counts.sampled = retransmitted;
        }
    }

    /// Counts a datagram that arrived; its sender sent it at `sent_ns` by a clock of its own.
    pub(super) fn count_datagram(&self, number: u32, bytes: usize, sent_ns: u64) {
        let now = self.window.clock.now();
        self.count(bytes);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.sample_datagrams(self.window.ended(now));
        counts.jitter.take(now, sent_ns);
        counts.highest = counts.highest.max(Some(number));
        counts.datagrams += 1;
    }

    pub(super) fn begin(&self) {
        self.window.clock.wait_until(self.window.begin);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun = Some(self.window.clock.now());
    }

    /// Notes that the flow can carry no more data.
    pub(super) fn break_off(&self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).is_broken = true;
    }

    /// Notes that the connection ended, and that it broke if the end was too early.
    pub(super) fn ended(&self) {
        let is_early = self.window.clock.now() + EARLY < self.window.end();
        if is_early && !self.is_stopped.load(Ordering::Relaxed) {
            self.break_off();
        }
    }
}
