//! Choice of the path for the next segment, and for the retransmission of a lost one.

use core::cmp::Reverse;
use core::fmt::Debug;
use fairwave_units::{BitRate, Duration};

#[cfg(test)]
mod tests;

/// A rule's knowledge of a path that may carry data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathView {
    /// Its id.
    pub id: u8,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Its share of the receive window in bytes: with more in flight it would hold up the others.
    pub quota: u32,
    /// Bytes sent on it and neither acknowledged nor lost.
    pub flight: u32,
    /// Whether pacing lets it send now.
    pub is_ready: bool,
    /// Whether it is in slow start.
    pub in_slow_start: bool,
    /// Smoothed round-trip time; the initial timeout before the first sample.
    pub srtt: Duration,
    /// The smallest measured, at most `srtt`.
    pub min_rtt: Duration,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// Its bandwidth, if it was stated.
    pub nominal: Option<BitRate>,
    /// Recent messages of data on it.
    pub sent: u32,
    /// Number of these were lost.
    pub lost: u32,
    /// Loss events among them: losses within a round-trip time are one (RFC 5348 section 5.2).
    pub loss_events: u32,
}

impl PathView {
    /// Whether it can send now and its window takes `len` more bytes. An idle path takes one
    /// segment at least.
    pub fn takes(&self, len: u32) -> bool {
        self.is_ready && self.has_room(len)
    }

    /// Whether its window takes `len` more bytes.
    pub fn has_room(&self, len: u32) -> bool {
        let maximum = self.cwnd.min(self.quota);
        self.flight == 0 || u64::from(self.flight) + u64::from(len) <= u64::from(maximum)
    }

    /// Its bandwidth in bits per second: the stated one, or window over RTT.
    fn bandwidth(&self) -> u64 {
        self.nominal.map_or_else(
            || BitRate::over(u64::from(self.cwnd), self.srtt.max(Duration::from_micros(1))).0,
            |rate| rate.0,
        )
    }

    /// Bytes per second: its window a round-trip time, if a receive window of this size holds it.
    pub(crate) fn rate_within(&self, window: u64) -> u64 {
        u64::from(self.cwnd).min(window) * 1_000_000_000 / self.srtt.as_nanos().max(1)
    }

    /// Bytes per second: its window a round-trip time.
    pub(crate) fn rate(&self) -> u64 {
        u64::from(self.cwnd) * 1_000_000_000 / self.srtt.as_nanos().max(1)
    }

    /// Round-trip time over the part of its messages that arrives.
    pub(crate) fn expected_time(&self) -> u64 {
        let arrived = u64::from(self.sent.saturating_sub(self.lost)) + 1;
        let sent = u128::from(self.sent) + 1;
        let time = u128::from(self.srtt.as_nanos()) * sent / u128::from(arrived);
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// A path with few messages is judged as if this number of further messages had arrived.
const MIN_SENT: u64 = 16;

/// Data to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Bytes of the segment.
    pub len: u32,
    /// Bytes that wait to be sent for the first time, this segment's among them.
    pub waiting: u64,
    /// The receive window, from the first unacknowledged byte on. This segment fits into it.
    pub window: u64,
}

/// Chooses the path of the next new segment; segments come in the order of their numbers.
pub trait Scheduler: Debug + Send {
    /// Its name.
    fn name(&self) -> &'static str;

    /// An index into `paths`, whose window must take the segment; `None` to wait. It is asked
    /// again after every event.
    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize>;

    /// Returns whether every path carries every segment that is not known to have arrived. It is
    /// then asked for the next path, among those that have something left to carry.
    fn is_redundant(&self) -> bool {
        false
    }
}

/// Lowest numbers on the widest path: the one with the largest window, then bandwidth, then the
/// minimum round-trip time (TCP SHAKE, section 2.2.2; the order of ties is Fairwave's).
#[derive(Clone, Copy, Debug)]
pub struct Widest;

/// The path with the minimum round-trip time that has room (Linux's default for MPTCP).
#[derive(Clone, Copy, Debug)]
pub struct MinRtt;

/// One after the other, as they have room.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    last: Option<u8>,
}

/// As [`MinRtt`], but a slower path gets nothing that would keep the receive window shut for
/// faster ones (after Ferlin et al., IFIP Networking 2016). They look at the fastest path alone,
/// count rounds in whole numbers and correct their estimate by a factor that learns; here all
/// faster paths count, with their present rates. A lossy path gets nothing either where the window
/// would likely be shut for the others until a retransmission: this is Fairwave's.
#[derive(Clone, Copy, Debug)]
pub struct Blest;

/// As [`MinRtt`], but waits for the fastest path where that is done earlier (Lim et al., CoNEXT
/// 2017, with its hysteresis of a quarter).
#[derive(Clone, Copy, Debug, Default)]
pub struct Ecf {
    is_waiting: bool,
}

/// Every segment on every path: each takes, as its window lets it, the next segment that it has not
/// carried and that is not known to have arrived; the fastest path begins (after Linux's scheduler
/// for MPTCP of this name). It gives the delay of the best copy for the rate of the best path.
#[derive(Clone, Copy, Debug)]
pub struct Redundant;

/// The path that `best` prefers among those with room, by the largest key.
fn best_with_room<K: Ord>(
    job: &Job,
    paths: &[PathView],
    key: impl Fn(&PathView) -> K,
) -> Option<usize> {
    let with_room = paths.iter().enumerate().filter(|(_, path)| path.takes(job.len));
    with_room.max_by_key(|(index, path)| (key(path), Reverse(*index))).map(|(index, _)| index)
}

/// Returns the path with the minimum round-trip time, whether it has room or not.
fn fastest(paths: &[PathView]) -> Option<usize> {
    (0..paths.len()).min_by_key(|index| paths[*index].srtt)
}

impl Scheduler for Widest {
    fn name(&self) -> &'static str {
        "widest"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        best_with_room(job, paths, |path| (path.cwnd, path.bandwidth(), Reverse(path.srtt)))
    }
}

impl Scheduler for MinRtt {
    fn name(&self) -> &'static str {
        "least-rtt"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        best_with_room(job, paths, |path| Reverse(path.srtt))
    }
}

impl Scheduler for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        let after = |path: &PathView| match self.last {
            Some(last) => path.id.wrapping_sub(last).wrapping_sub(1),
            None => path.id,
        };
        let picked = best_with_room(job, paths, |path| Reverse(after(path)))?;
        self.last = Some(paths[picked].id);
        Some(picked)
    }
}

impl Scheduler for Redundant {
    fn name(&self) -> &'static str {
        "redundant"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        MinRtt.pick(job, paths)
    }

    fn is_redundant(&self) -> bool {
        true
    }
}

impl Blest {
    /// Bytes that `fast` sends in `time`.
    fn bytes_within(fast: &PathView, time: Duration) -> u64 {
        let grown = if fast.in_slow_start { 2 } else { 1 };
        let rtt = u128::from(fast.srtt.as_nanos().max(1));
        let bytes = u128::from(fast.cwnd) * u128::from(time.as_nanos()) * grown / rtt;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// A rule's knowledge of all paths to judge one against the others. Rates are the present ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crowd {
    /// Bytes per second.
    total: u64,
    largest: u64,
    /// Bytes that keep all of them busy without a queue.
    held: u64,
    /// The two smallest round-trip times.
    fastest: [Duration; 2],
    /// Receive window that rates are limited by.
    window: u64,
}

/// Returns the bytes that pass in `time` at this number of bytes per second.
pub(crate) fn passing(rate: u64, time: Duration) -> u64 {
    rate.saturating_mul(time.as_micros()) / 1_000_000
}

impl Crowd {
    pub(crate) fn of(paths: &[PathView], window: u64) -> Self {
        let none = Self { fastest: [Duration::MAX; 2], window, ..Self::default() };
        paths.iter().fold(none, |seen, path| {
            let share = window.min(path.quota.into());
            let (rate, [first, second]) = (path.rate_within(share), seen.fastest);
            Self {
                total: seen.total.saturating_add(rate),
                largest: seen.largest.max(rate),
                held: seen.held.saturating_add(passing(path.rate_within(window), path.min_rtt)),
                fastest: [first.min(path.srtt), second.min(first.max(path.srtt))],
                ..seen
            }
        })
    }

    /// Whether a segment on `path` is expected to bring less than the others lose by it: if it gets
    /// lost, they wait with a shut window until it has been sent again. The widest path is not
    /// asked, so that there is always one to use.
    pub(crate) fn suffers_from(&self, path: &PathView, job: &Job) -> bool {
        let rate = path.rate_within(self.window.min(path.quota.into()));
        if path.loss_events == 0 || rate >= self.largest {
            return false;
        }
        let [first, second] = self.fastest;
        let again = if path.srtt > first { first } else { second };
        // It is noticed when a later message is echoed, and by time (RFC 9002 section 6.1.2).
        let next = path.srtt * u64::from(job.len) / u64::from(path.cwnd.max(job.len)).max(1);
        let repaired = path.srtt + next.max(path.srtt / 8) + again;
        let others = passing(self.total - rate, repaired);
        let needed = others.min(job.waiting) + u64::from(job.len);
        let withheld = needed.saturating_sub(job.window);
        // Where the others fill the window, a segment here takes the place of one of theirs.
        let held = self.held - passing(path.rate_within(self.window), path.min_rtt);
        let brought = if held < job.window { u64::from(job.len) } else { 0 };
        let (sent, events) = (u64::from(path.sent) + MIN_SENT, u64::from(path.loss_events));
        withheld.saturating_mul(events) > brought * sent.saturating_sub(events)
    }
}

impl Scheduler for Blest {
    fn name(&self) -> &'static str {
        "blest"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        // Where paths have shares of the receive window, the connection has done all this.
        if paths.iter().all(|path| path.quota < u32::MAX) {
            return MinRtt.pick(job, paths);
        }
        let any_lossy = paths.iter().any(|path| path.loss_events > 0);
        let crowd = any_lossy.then(|| Crowd::of(paths, u64::MAX));
        let is_sound =
            |path: &PathView| crowd.as_ref().is_none_or(|crowd| !crowd.suffers_from(path, job));
        let usable = |(_, path): &(usize, &PathView)| path.takes(job.len) && is_sound(path);
        let (picked, slow) =
            paths.iter().enumerate().filter(usable).min_by_key(|(_, path)| path.srtt)?;
        let faster = || paths.iter().filter(|path| path.srtt < slow.srtt && is_sound(path));
        let bytes_within = |time| faster().map(move |fast| Self::bytes_within(fast, time));
        let needed = |time| bytes_within(time).fold(0, u64::saturating_add);
        let left = job.window.saturating_sub(job.len.into());
        let now = needed(slow.srtt).min(job.waiting);
        if now <= left || faster().next().is_none() {
            return Some(picked);
        }
        // Without what it has in its own queue it might be fast enough: it gets that part of its
        // window with which its round-trip time fits.
        let part = u128::from(slow.cwnd) * u128::from(left) / u128::from(now);
        let has_room = u128::from(slow.flight) + u128::from(job.len) <= part;
        (has_room && needed(slow.min_rtt) <= left).then_some(picked)
    }
}

impl Scheduler for Ecf {
    fn name(&self) -> &'static str {
        "ecf"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        let fast = fastest(paths)?;
        let picked = MinRtt.pick(job, paths)?;
        if picked == fast {
            return Some(picked);
        }
        let (f, s) = (&paths[fast], &paths[picked]);
        let nanos = |time: Duration| u128::from(time.as_nanos());
        let (window, slow_window) = (u128::from(f.cwnd), u128::from(s.cwnd));
        let waiting = u128::from(job.waiting);
        let margin = nanos(f.rttvar.max(s.rttvar));
        let hysteresis = if self.is_waiting { 5 } else { 4 };
        // Comparisons of times of arrival, multiplied out.
        let soon = nanos(f.srtt) * (waiting.max(window) + window) * 4
            < window * (nanos(s.srtt) + margin) * hysteresis;
        let late =
            nanos(s.srtt) * waiting.max(slow_window) >= slow_window * (2 * nanos(f.srtt) + margin);
        self.is_waiting = if soon { self.is_waiting || late } else { false };
        (!(soon && late)).then_some(picked)
    }
}

/// Choice of the path of retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionPath {
    /// The one with the largest bandwidth, as known at the start, or measured if none was stated
    /// (TCP SHAKE, sections 2.3 and 3.2.1).
    Widest,
    /// That on which it was lost.
    Same,
    /// That with the largest window.
    LargestWindow,
    /// The one with the minimum round-trip time.
    MinRtt,
    /// The one with the minimum round-trip time over the part of its messages that arrives: the
    /// paper's future work.
    MinRttOverDelivery,
}

impl RetransmissionPath {
    /// The path for a segment of `len` bytes lost on `lost_on`, an index into `paths`; `None` if
    /// the one chosen has no room. `spills` takes the best that has.
    pub(crate) fn pick(
        self,
        len: u32,
        lost_on: u8,
        spills: bool,
        paths: &[PathView],
    ) -> Option<usize> {
        let rank = |path: &PathView| match self {
            Self::Widest => path.bandwidth(),
            Self::Same => u64::from(path.id == lost_on),
            Self::LargestWindow => u64::from(path.cwnd),
            Self::MinRtt => !path.srtt.as_nanos(),
            Self::MinRttOverDelivery => !path.expected_time(),
        };
        let considered = paths.iter().enumerate().filter(|(_, path)| !spills || path.takes(len));
        let best = considered.max_by_key(|(index, path)| (rank(path), Reverse(*index)));
        best.filter(|(_, path)| path.takes(len)).map(|(index, _)| index)
    }
}
