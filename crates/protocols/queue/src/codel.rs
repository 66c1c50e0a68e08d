//! Controlled delay (RFC 8289): drops when packets have waited too long for too long.

use fairwave_units::{Duration, Instant};

/// CoDel's two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// The standing delay that is tolerated.
    pub target: Duration,
    /// Time for which the delay must stay above it: about the longest round-trip time.
    pub interval: Duration,
    /// Mark packets that take part in ECN instead of dropping them.
    pub ecn: bool,
}

/// The queue that CoDel watches, and its treatment of an unwanted packet.
pub(crate) trait Backlog {
    /// A packet in it.
    type Packet;
    /// Takes the oldest packet and when it came.
    fn take(&mut self) -> Option<(Self::Packet, Instant)>;
    /// Whether at most one packet of full size is left: CoDel then lets go (RFC 8289 section
    /// 4.2).
    fn is_short(&self) -> bool;
    /// Signals congestion by this packet: gives it back, marked, or drops it.
    fn signal(&mut self, packet: Self::Packet) -> Option<Self::Packet>;
}

/// CoDel's state of one queue, with the names of RFC 8289 section 5.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codel {
    /// Time at which the delay will have been above the target for an interval; zero while it is
    /// below (RFC 8289 section 5.3).
    first_above_time: Instant,
    drop_next: Instant,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

/// `interval / sqrt(count)` after `at` (RFC 8289 section 5.3), in whole nanoseconds.
pub(crate) fn control_law(at: Instant, interval: Duration, count: u32) -> Instant {
    let square = u128::from(interval.as_nanos()).pow(2) / u128::from(count.max(1));
    at + Duration::from_nanos(square.isqrt() as u64)
}

impl Codel {
    /// A queue that never dropped.
    pub(crate) const NEW: Self = Self {
        first_above_time: Instant::ZERO,
        drop_next: Instant::ZERO,
        count: 0,
        lastcount: 0,
        dropping: false,
    };

    /// The next packet that is let through (RFC 8289 section 5.4, "deque").
    #[inline]
    pub(crate) fn dequeue<B: Backlog>(
        &mut self,
        now: Instant,
        config: &CodelConfig,
        backlog: &mut B,
    ) -> Option<B::Packet> {
        let (mut packet, mut ok_to_drop) = self.take(now, config, backlog);
        if self.dropping {
            self.dropping &= ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                // From the time that was due, not from now: a late dequeue slows nothing down.
                let next = control_law(self.drop_next, config.interval, self.count);
                let marked = packet.and_then(|unwanted| backlog.signal(unwanted));
                if marked.is_some() {
                    self.drop_next = next;
                    return marked;
                }
                (packet, ok_to_drop) = self.take(now, config, backlog);
                match ok_to_drop {
                    true => self.drop_next = next,
                    false => self.dropping = false,
                }
            }
        } else if ok_to_drop {
            packet = match packet.and_then(|unwanted| backlog.signal(unwanted)) {
                None => self.take(now, config, backlog).0,
                marked => marked,
            };
            self.start_dropping(now, config);
        }
        packet
    }

    /// Takes a packet; whether it may be dropped ("dodeque").
    fn take<B: Backlog>(
        &mut self,
        now: Instant,
        config: &CodelConfig,
        backlog: &mut B,
    ) -> (Option<B::Packet>, bool) {
        let Some((packet, at)) = backlog.take() else {
            self.first_above_time = Instant::ZERO;
            return (None, false);
        };
        if now.since(at) < config.target || backlog.is_short() {
            self.first_above_time = Instant::ZERO;
            return (Some(packet), false);
        }
        if self.first_above_time == Instant::ZERO {
            self.first_above_time = now + config.interval;
        }
        (Some(packet), now >= self.first_above_time)
    }

    /// Begins at the rate that worked when dropping ended not long ago, else at the slowest.
    fn start_dropping(&mut self, now: Instant, config: &CodelConfig) {
        self.dropping = true;
        debug_assert!(self.lastcount <= self.count, "{self:?}");
        // The drops of the last time: its count less that with which it began.
        let delta = self.count.saturating_sub(self.lastcount);
        let recently = now.since(self.drop_next).as_nanos() < 16 * config.interval.as_nanos();
        self.count = if delta > 1 && recently { delta } else { 1 };
        self.drop_next = control_law(now, config.interval, self.count);
        self.lastcount = self.count;
    }
}
