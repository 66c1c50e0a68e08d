//! COBALT: CoDel, and BLUE beside it for flows that do not react (Linux, `sch_cake`;
//! Høiland-Jørgensen, Täht, Morton: Piece of CAKE, LANMAN 2018, section III).

use crate::codel::control_law;
use fairwave_units::{Duration, Instant, Stream};

/// Step of BLUE's probability up when the queue overflows, in 2^-32: 1/256.
const UP: u32 = 1 << 24;
/// Step down when the queue is empty: 1/4096.
const DOWN: u32 = 1 << 20;

/// Times of a queue's control.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Wait that is tolerated; also the minimum time between two steps of BLUE.
    pub(super) target: Duration,
    /// CoDel's interval.
    pub(super) interval: Duration,
    /// Time of a full packet at the shaper's rate. Four of them may wait in any case.
    pub(super) mtu: Duration,
}

/// Control of one queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cobalt {
    /// Signals of CoDel so far; it falls again while the wait is short.
    count: u32,
    /// Time of the next signal, or of the next fall of the count.
    drop_next: Instant,
    is_dropping: bool,
    /// BLUE's probability of a drop, in 2^-32.
    blue: u32,
    /// Time of BLUE's last step.
    blue_at: Instant,
}

impl Cobalt {
    /// The control of a queue that never had a packet.
    pub(super) const NEW: Self = Self {
        count: 0,
        drop_next: Instant::ZERO,
        is_dropping: false,
        blue: 0,
        blue_at: Instant::ZERO,
    };

    /// Whether to drop a packet that leaves the queue after a wait; `mark` marks it instead, and
    /// returns whether it could.
    pub(super) fn drops(
        &mut self,
        now: Instant,
        wait: Duration,
        times: &Times,
        random: &mut Stream,
        mark: impl FnOnce() -> bool,
    ) -> bool {
        let is_over = wait > times.target && wait > times.mtu * 4;
        let mut due = self.drop_next;
        let is_due = self.count > 0 && now >= due;
        if is_over && !self.is_dropping {
            self.drop_next = control_law(now, times.interval, self.count);
        }
        self.is_dropping = is_over;
        self.count = self.count.max(u32::from(is_over));
        let mut drops = false;
        if is_due && is_over {
            drops = !mark();
            self.count = self.count.saturating_add(1);
            self.drop_next = control_law(self.drop_next, times.interval, self.count);
            due = self.drop_next;
        } else if is_due {
            self.decay(now, times);
            due = self.drop_next;
        }
        // BLUE does not mark: it is for senders that ignore signals.
        drops |= self.blue > 0 && random.next_u64() >> 32 < u64::from(self.blue);
        if self.count == 0 {
            self.drop_next = now + times.interval;
        } else if now > due && !drops {
            self.drop_next = now;
        }
        drops
    }

    /// Lowers the count as often as that is due.
    fn decay(&mut self, now: Instant, times: &Times) {
        while self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = control_law(self.drop_next, times.interval, self.count);
        }
    }

    /// A packet was dropped as the buffer was full.
    pub(super) fn overflowed(&mut self, now: Instant, times: &Times) {
        if now.since(self.blue_at) > times.target {
            self.blue = self.blue.saturating_add(UP);
            self.blue_at = now;
        }
        self.is_dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty. Linux comes by at every target; this makes up for the steps
    /// since the last visit.
    pub(super) fn emptied(&mut self, now: Instant, times: &Times) {
        while self.blue > 0 && now.since(self.blue_at) > times.target {
            self.blue = self.blue.saturating_sub(DOWN);
            self.blue_at += times.target;
        }
        self.is_dropping = false;
        self.decay(now, times);
    }

    /// Whether nothing distinguishes it from a new one.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.blue == 0 && self.count == 0 && now >= self.drop_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ms, random};

    const TIMES: Times = Times {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        mtu: Duration::from_millis(1),
    };

    /// Times, of [from, to) in steps of a millisecond, at which a packet that waited is dropped.
    fn drops(cobalt: &mut Cobalt, wait: u64, from: u64, to: u64) -> Vec<u64> {
        let mut random = random();
        let wait = Duration::from_millis(wait);
        (from..to).filter(|t| cobalt.drops(ms(*t), wait, &TIMES, &mut random, || false)).collect()
    }

    /// The first after an interval; the count is then two, and the k-th next comes 100/sqrt(k + 1)
    /// ms later: 70.7, 57.7, 50, 44.7 ms.
    #[test]
    fn drops_come_at_codels_times() {
        let mut cobalt = Cobalt::NEW;
        assert_eq!(drops(&mut cobalt, 1, 1000, 1010), []);
        assert_eq!(drops(&mut cobalt, 9, 1010, 1340), [1110, 1181, 1239, 1289, 1334]);
    }

    #[test]
    fn four_full_packets_may_wait_for_ever() {
        let slow = Times { mtu: Duration::from_millis(12), ..TIMES };
        let (mut cobalt, mut random, wait) = (Cobalt::NEW, random(), Duration::from_millis(48));
        assert!((1..5000).all(|t| !cobalt.drops(ms(t), wait, &slow, &mut random, || false)));
    }

    #[test]
    fn the_count_falls_again_while_waits_are_short() {
        let mut cobalt = Cobalt::NEW;
        drops(&mut cobalt, 1, 1000, 1010);
        drops(&mut cobalt, 9, 1010, 1340);
        assert_eq!(cobalt.count, 6);
        assert_eq!(drops(&mut cobalt, 1, 1340, 3000), []);
        assert_eq!(cobalt.count, 0);
        assert!(!cobalt.is_at_rest(ms(3000)));
        cobalt.emptied(ms(3200), &TIMES);
        assert!(cobalt.is_at_rest(ms(3200)));
    }

    #[test]
    fn a_mark_stands_for_a_drop_but_not_for_blues() {
        let mut random = random();
        let (mut cobalt, mut marks) = (Cobalt::NEW, 0);
        let wait = Duration::from_millis(9);
        cobalt.drops(ms(999), Duration::ZERO, &TIMES, &mut random, || false);
        for t in 1000..1330 {
            let mark = || {
                marks += 1;
                true
            };
            assert!(!cobalt.drops(ms(t), wait, &TIMES, &mut random, mark));
        }
        assert_eq!(marks, 5);
        let mut blue = Cobalt { blue: u32::MAX / 2, ..Cobalt::NEW };
        let drops = (0..1000)
            .filter(|_| blue.drops(ms(5000), Duration::ZERO, &TIMES, &mut random, || true));
        assert!((450..550).contains(&drops.count()));
    }

    /// An overflow each target adds 1/256; then, empty, each target takes 1/4096 away.
    #[test]
    fn blue_rises_by_a_256th_and_falls_by_a_4096th() {
        let mut cobalt = Cobalt::NEW;
        (1..=30).for_each(|t| cobalt.overflowed(ms(t), &TIMES));
        assert_eq!(cobalt.blue, 5 * UP);
        cobalt.emptied(ms(30 + 5 * 16 + 1), &TIMES);
        assert_eq!(cobalt.blue, 4 * UP);
        cobalt.emptied(ms(10_000), &TIMES);
        assert!(cobalt.is_at_rest(ms(10_000)));
    }
}
