//! Path MTU discovery by probes (RFC 4340 section 14, RFC 8899): the largest packet that gets
//! through whole.
//!
//! A probe is a Sync with padding in its data area, which its receiver ignores and answers with a
//! SyncAck (RFC 4340 section 5.7). Sizes are those of DCCP packets in bytes, header included; the
//! host adds what is below. There are probes only while the application sends packets longer than
//! the smallest size, which needs none.
//!
//! A lost probe counts only if the path takes other packets at that time. If the peer acknowledges
//! none sent later, a Sync without padding tests it.

use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::Seq48;

/// Least wait for the answer to a probe (RFC 8899 section 5.1.1, `PROBE_TIMER`).
const PROBE_MIN: Duration = Duration::from_secs(1);
/// Probes of a size that are lost before it counts as too long (RFC 8899, `MAX_PROBES`).
const PROBES_MAX: u32 = 3;
/// Time until the size in use is confirmed again, if packets of it were sent (RFC 8899 section
/// 4.3). It is shorter than the time for which an end stays with a silent peer.
const CONFIRM: Duration = Duration::from_secs(10);
/// Time until larger sizes are tried again (RFC 8899, `PMTU_RAISE_TIMER`).
const RAISE: Duration = Duration::from_secs(600);
/// Difference of sizes at which the search ends.
const PRECISION: u32 = 8;

/// Sizes between which the search takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathLimits {
    /// A size that every path takes: 1200 bytes inside UDP, for example (RFC 8899, `BASE_PLPMTU`).
    pub min: u32,
    /// The largest size to try.
    pub max: u32,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    size: u32,
    seq: Seq48,
    due: Instant,
}

/// The search on the path of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    limits: PathLimits,
    /// Size known to get through.
    low: u32,
    /// Largest size that may get through.
    high: u32,
    probe: Option<Probe>,
    /// Probes of the present size that were lost.
    lost: u32,
    /// Size of one that is not counted yet, as nothing else got through either.
    uncounted: Option<u32>,
    /// Time of the next probe.
    next_at: Option<Instant>,
    raise_at: Option<Instant>,
    /// Smallest size whose probes were all lost, until a larger one gets through.
    too_long: Option<u32>,
    /// Packets longer than the smallest size were sent since the last confirmation.
    is_wanted: bool,
    /// The size in use is to be confirmed before others are tried.
    is_doubted: bool,
}

impl Search {
    pub(crate) const fn new(limits: PathLimits) -> Self {
        Self {
            limits,
            low: limits.min,
            high: limits.max,
            probe: None,
            lost: 0,
            uncounted: None,
            next_at: None,
            raise_at: None,
            too_long: None,
            is_wanted: false,
            is_doubted: false,
        }
    }

    /// The largest packet known to get through.
    pub(crate) const fn size(&self) -> u32 {
        self.low
    }

    /// Whether probes found packets of this size too long.
    pub(crate) fn is_too_long(&self, size: u32) -> bool {
        self.too_long.is_some_and(|too_long| size >= too_long)
    }

    /// A packet of the application was sent, or was too long to be sent.
    pub(crate) fn note_sent(&mut self, now: Instant, size: u32) {
        if size > self.limits.min {
            self.is_wanted = true;
            if self.probe.is_none() {
                self.next_at.get_or_insert(now);
            }
        }
    }

    /// Size of the probe to send now.
    pub(crate) fn probe_size(&mut self, now: Instant) -> Option<u32> {
        if self.probe.is_some() || self.next_at.is_none_or(|at| now < at) {
            return None;
        }
        if self.raise_at.is_some_and(|at| now >= at) {
            (self.high, self.raise_at, self.too_long) = (self.limits.max, None, None);
        }
        if !self.is_wanted {
            // The next long packet starts it again, with the size in use.
            (self.next_at, self.is_doubted) = (None, self.low > self.limits.min);
            return None;
        }
        if self.uncounted.is_some() {
            return Some(0);
        }
        if self.is_doubted || self.is_settled() {
            return Some(self.low);
        }
        // First the largest, which most paths take, or which ICMP reported.
        Some(match self.raise_at {
            None => self.high,
            Some(_) => self.low + (self.high - self.low).div_ceil(2),
        })
    }

    /// The probe was sent.
    pub(crate) fn note_probe(&mut self, now: Instant, seq: Seq48, size: u32, rtt: Duration) {
        let due = now + (rtt * 3).max(PROBE_MIN);
        (self.probe, self.next_at) = (Some(Probe { size, seq, due }), None);
        self.is_wanted &= size != self.low;
    }

    /// A SyncAck arrived for the packet of this number.
    pub(crate) fn on_answer(&mut self, now: Instant, seq: Seq48) {
        let Some(probe) = self.probe.take_if(|probe| probe.seq == seq) else { return };
        if let Some(size) = self.uncounted.take() {
            return self.note_lost(now, size);
        }
        self.low = probe.size.max(self.low);
        self.high = self.high.max(self.low);
        self.too_long = self.too_long.filter(|too_long| *too_long > self.low);
        (self.lost, self.is_doubted) = (0, false);
        self.go_on(now);
    }

    /// Handles a probe without an answer. `acknowledged` is the greatest number that the peer
    /// acknowledged.
    pub(crate) fn wake(&mut self, now: Instant, acknowledged: Seq48) {
        let Some(probe) = self.probe.take_if(|probe| now >= probe.due) else { return };
        let size = self.uncounted.unwrap_or(probe.size);
        if probe.seq.before(acknowledged) {
            self.uncounted = None;
            self.note_lost(now, size);
        } else {
            self.uncounted = Some(size);
            (self.next_at, self.is_wanted) = (Some(now), true);
        }
    }

    /// Counts a probe that was lost while other packets got through.
    fn note_lost(&mut self, now: Instant, size: u32) {
        self.lost += 1;
        if self.lost < PROBES_MAX {
            (self.next_at, self.is_wanted) = (Some(now), true);
        } else {
            self.fail(now, size);
        }
    }

    /// Takes a size as too long.
    fn fail(&mut self, now: Instant, size: u32) {
        if size <= self.low {
            // The path is another one now.
            self.low = self.limits.min;
        }
        self.high = self.high.min(size - 1).max(self.low);
        self.raise_at.get_or_insert(now + RAISE);
        self.too_long = Some(self.high + 1);
        (self.lost, self.is_doubted, self.is_wanted) = (0, false, true);
        self.go_on(now);
    }

    fn go_on(&mut self, now: Instant) {
        if self.is_settled() {
            self.raise_at.get_or_insert(now + RAISE);
        }
        self.next_at = match self.is_settled() {
            false => Some(now),
            // The smallest size needs no confirmation.
            true if self.low == self.limits.min => self.raise_at,
            true => Some(now + CONFIRM),
        };
    }

    fn is_settled(&self) -> bool {
        self.high - self.low < PRECISION
    }

    /// ICMP, or the host, reported the largest size. It is a hint: a size that was confirmed is
    /// given up, but nothing goes below the smallest, and probes decide.
    pub(crate) fn hint(&mut self, now: Instant, size: u32) {
        let size = size.max(self.limits.min);
        if size >= self.high {
            return;
        }
        self.high = size;
        self.low = if self.low > size { self.limits.min } else { self.low };
        // As at the beginning: the largest size is tried first.
        // The host that knows the size fragments longer packets.
        (self.raise_at, self.too_long, self.lost, self.is_doubted) = (None, None, 0, false);
        self.uncounted = None;
        self.probe = self.probe.filter(|probe| (1..=size).contains(&probe.size));
        if self.probe.is_none() && self.is_wanted {
            self.next_at = Some(now);
        }
    }

    /// The path may be another one: the size in use is confirmed soon.
    pub(crate) fn doubt(&mut self, now: Instant) {
        (self.high, self.raise_at, self.too_long) = (self.limits.max, None, None);
        (self.probe, self.lost, self.uncounted) = (None, 0, None);
        // The smallest size needs no confirmation.
        self.is_doubted = self.low > self.limits.min;
        self.is_wanted |= self.is_doubted;
        self.next_at = self.is_wanted.then_some(now);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.probe.map(|probe| probe.due).or(self.next_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: PathLimits = PathLimits { min: 1_200, max: 1_472 };
    const RTT: Duration = Duration::from_millis(50);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    /// A path that takes packets of up to this size, or nothing, and the probes on it.
    struct Path {
        search: Search,
        takes: u32,
        /// Other packets are acknowledged.
        has_others: bool,
        now: Instant,
        sent: Vec<u32>,
    }

    impl Path {
        fn new(takes: u32) -> Self {
            let search = Search::new(LIMITS);
            Self { search, takes, has_others: true, now: at(0), sent: Vec::new() }
        }

        /// The application sends packets of 1400 bytes for so long; returns the probes.
        fn run(&mut self, seconds: u64) -> Vec<u32> {
            let until = self.now + Duration::from_secs(seconds);
            while self.now < until {
                let others = if self.has_others && self.takes > 0 { 1 << 20 } else { 0 };
                self.search.wake(self.now, Seq48::new(others));
                self.search.note_sent(self.now, 1_400);
                if let Some(size) = self.search.probe_size(self.now) {
                    let seq = Seq48::new(self.sent.len() as u64);
                    self.search.note_probe(self.now, seq, size, RTT);
                    self.sent.push(size);
                    if self.takes > 0 && size <= self.takes {
                        self.search.on_answer(self.now + RTT, seq);
                    }
                }
                self.now += RTT;
            }
            std::mem::take(&mut self.sent)
        }
    }

    #[test]
    fn a_path_without_narrow_links_takes_one_probe() {
        let mut path = Path::new(1_500);
        assert_eq!(path.run(5), [1_472]);
        assert_eq!(path.search.size(), 1_472);
        assert_eq!(path.run(10), [1_472], "it is confirmed");
    }

    /// Sizes that get lost are tried three times, a second apart; the search halves what is left:
    /// 272, 136, 68, 34, 17, 8 bytes.
    #[test]
    fn a_narrow_link_that_says_nothing_is_found() {
        let mut path = Path::new(1_252);
        let probes = path.run(15);
        assert_eq!(probes[..6], [1_472, 1_472, 1_472, 1_336, 1_336, 1_336]);
        let found = path.search.size();
        assert!((1_252 - PRECISION..=1_252).contains(&found), "{found}");
        assert!(probes.len() <= 16, "{probes:?}");
        // The link is gone: larger sizes are tried again after ten minutes.
        path.takes = 1_500;
        path.run(580);
        assert!(path.search.size() < 1_260);
        path.run(20);
        assert_eq!(path.search.size(), 1_472);
    }

    #[test]
    fn lost_probes_show_which_packets_are_too_long() {
        let mut path = Path::new(1_252);
        path.run(2);
        assert!(!path.search.is_too_long(1_472), "it may be chance");
        path.run(13);
        assert!(path.search.is_too_long(1_261) && !path.search.is_too_long(path.search.size()));
        // The host that gets a report fragments them.
        path.search.hint(path.now, 1_252);
        assert!(!path.search.is_too_long(1_472));
        path.takes = 1_500;
        path.search.doubt(path.now);
        path.run(5);
        assert!(!path.search.is_too_long(1_472));
    }

    #[test]
    fn a_report_of_icmp_ends_the_search() {
        let mut path = Path::new(1_252);
        path.run(1);
        path.search.hint(path.now, 1_252);
        assert_eq!(path.run(1), [1_252]);
        assert_eq!(path.search.size(), 1_252);
        // A forged one does not go below what every path takes.
        path.search.hint(path.now, 68);
        assert_eq!(path.search.size(), 1_200);
    }

    /// Three probes after ten seconds at most, and as many Syncs where all other packets are long.
    #[test]
    fn a_path_that_becomes_narrow_is_noticed() {
        for has_others in [true, false] {
            let mut path = Path { has_others, ..Path::new(1_500) };
            path.run(2);
            path.takes = 1_252;
            path.run(14);
            assert_eq!(path.search.size(), 1_200, "{has_others}");
            path.run(20);
            assert!(path.search.size() > 1_240, "{has_others}");
        }
    }

    /// Nothing gets through, so that the size of the lost probes is not the cause.
    #[test]
    fn an_outage_makes_no_size_too_long() {
        let mut path = Path::new(1_500);
        path.run(2);
        path.takes = 0;
        path.run(60);
        assert!(!path.search.is_too_long(1_472));
        path.takes = 1_500;
        path.run(3);
        assert_eq!(path.search.size(), 1_472);
        path.search.fail(path.now, 1_472);
        assert!(path.search.is_too_long(1_472));
        path.search.doubt(path.now);
        assert!(!path.search.is_too_long(1_472), "the path is another one");
    }

    /// A hint while a Sync finds out whether anything gets through.
    #[test]
    fn a_report_of_icmp_in_an_outage_begins_anew() {
        let mut path = Path::new(1_500);
        path.run(2);
        path.takes = 0;
        path.run(12);
        path.search.hint(path.now, 1_300);
        path.run(10);
        path.takes = 1_300;
        path.run(4);
        assert_eq!(path.search.size(), 1_300);
    }

    #[test]
    fn short_packets_need_no_probe_and_silence_ends_them() {
        let mut search = Search::new(LIMITS);
        search.note_sent(at(0), 1_200);
        assert_eq!((search.probe_size(at(0)), search.deadline()), (None, None));
        search.note_sent(at(1), 1_201);
        assert_eq!(search.probe_size(at(1)), Some(1_472));
        search.note_probe(at(1), Seq48::new(1), 1_472, RTT);
        search.on_answer(at(1), Seq48::new(1));
        search.is_wanted = false;
        assert_eq!((search.probe_size(at(11)), search.deadline()), (None, None));
    }

    #[test]
    fn after_a_handover_the_size_is_confirmed() {
        let mut path = Path::new(1_500);
        path.run(2);
        path.takes = 1_300;
        path.search.doubt(path.now);
        path.run(4);
        assert_eq!(path.search.size(), 1_200);
    }
}
