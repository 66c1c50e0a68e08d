//! Which path carries the next segment, and which one repeats a lost one.

use core::cmp::Reverse;
use core::fmt::Debug;
use fairwave_units::{BitRate, Duration};

#[cfg(test)]
mod tests;

/// What a rule knows of a path that may carry data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathView {
    /// Its id.
    pub id: u8,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Bytes sent on it and neither acknowledged nor lost.
    pub flight: u32,
    /// Whether pacing lets it send now.
    pub is_ready: bool,
    /// Whether it is in slow start.
    pub in_slow_start: bool,
    /// Smoothed round-trip time; the initial timeout before the first sample.
    pub srtt: Duration,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// Its bandwidth, if somebody said so.
    pub nominal: Option<BitRate>,
    /// Messages of data sent on it lately.
    pub sent: u32,
    /// How many of these were lost.
    pub lost: u32,
}

impl PathView {
    /// Whether it can send now and its window takes `len` more bytes. An idle path takes one
    /// segment at least.
    pub fn takes(&self, len: u32) -> bool {
        self.is_ready && self.has_room(len)
    }

    /// Whether its window takes `len` more bytes.
    pub fn has_room(&self, len: u32) -> bool {
        self.flight == 0 || u64::from(self.flight) + u64::from(len) <= u64::from(self.cwnd)
    }

    /// What is known of its bandwidth in bits per second: what was said, or window over RTT.
    fn bandwidth(&self) -> u64 {
        self.nominal.map_or_else(
            || BitRate::over(u64::from(self.cwnd), self.srtt.max(Duration::from_micros(1))).0,
            |rate| rate.0,
        )
    }

    /// Round-trip time over the part of its messages that arrives.
    fn expected_time(&self) -> u64 {
        let arrived = u64::from(self.sent.saturating_sub(self.lost)) + 1;
        let sent = u128::from(self.sent) + 1;
        let time = u128::from(self.srtt.as_nanos()) * sent / u128::from(arrived);
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// What is to be sent.
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

    /// Whether every path carries every segment that is not known to have arrived. It is then asked
    /// which path is next, among those that have something left to carry.
    fn is_redundant(&self) -> bool {
        false
    }
}

/// Lowest numbers on the widest path: that with the largest window, then bandwidth, then the least
/// round-trip time (TCP SHAKE, section 2.2.2; the order of ties is Fairwave's).
#[derive(Clone, Copy, Debug)]
pub struct Widest;

/// The path with the least round-trip time that has room (Linux's default for MPTCP).
#[derive(Clone, Copy, Debug)]
pub struct LeastRtt;

/// One after the other, as they have room.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    last: Option<u8>,
}

/// As [`LeastRtt`], but a slower path gets nothing that would keep the receive window shut for
/// faster ones (after Ferlin et al., IFIP Networking 2016). They look at the fastest path alone,
/// count rounds in whole numbers and correct what they reckon by a factor that learns; here all
/// faster paths count, with the rates that they have now.
#[derive(Clone, Copy, Debug)]
pub struct Blest;

/// As [`LeastRtt`], but waits for the fastest path where that is done earlier (Lim et al., CoNEXT
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

/// The path with the least round-trip time, whether it has room or not.
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

impl Scheduler for LeastRtt {
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
        LeastRtt.pick(job, paths)
    }

    fn is_redundant(&self) -> bool {
        true
    }
}

impl Blest {
    /// Bytes that `fast` sends while a segment on `slow` is on its way and back.
    fn meanwhile(fast: &PathView, slow: &PathView) -> u64 {
        let (fast_rtt, slow_rtt) = (fast.srtt.as_nanos().max(1), slow.srtt.as_nanos());
        let grown = if fast.in_slow_start { 2 } else { 1 };
        let bytes = u128::from(fast.cwnd) * u128::from(slow_rtt) * grown / u128::from(fast_rtt);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl Scheduler for Blest {
    fn name(&self) -> &'static str {
        "blest"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        let picked = LeastRtt.pick(job, paths)?;
        let slow = &paths[picked];
        let faster = paths.iter().filter(|path| path.srtt < slow.srtt);
        let needed: u64 = faster.map(|fast| Self::meanwhile(fast, slow)).sum();
        let fits = needed.min(job.waiting) + u64::from(job.len) <= job.window;
        (needed == 0 || fits).then_some(picked)
    }
}

impl Scheduler for Ecf {
    fn name(&self) -> &'static str {
        "ecf"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        let fast = fastest(paths)?;
        let picked = LeastRtt.pick(job, paths)?;
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

/// Which path repeats what was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionPath {
    /// That with the largest bandwidth, as known at the start, or measured if nobody said (TCP
    /// SHAKE, sections 2.3 and 3.2.1).
    Widest,
    /// That on which it was lost.
    Same,
    /// That with the largest window.
    LargestWindow,
    /// That with the least round-trip time.
    LeastRtt,
    /// That with the least round-trip time over the part of its messages that arrives: the paper's
    /// future work.
    LeastRttOverDelivery,
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
            Self::LeastRtt => !path.srtt.as_nanos(),
            Self::LeastRttOverDelivery => !path.expected_time(),
        };
        let considered = paths.iter().enumerate().filter(|(_, path)| !spills || path.takes(len));
        let best = considered.max_by_key(|(index, path)| (rank(path), Reverse(*index)));
        best.filter(|(_, path)| path.takes(len)).map(|(index, _)| index)
    }
}
