//! The queue before the network: the packets of a frame leave it at intervals, not at once.

use fairwave_units::{BitRate, Duration, Instant};
use std::collections::VecDeque;

/// Packets leave at this multiple of the target (libwebrtc's pacing factor), in halves.
const FACTOR_HALVES: u64 = 5;
/// Maximum time in the queue in seconds, whatever the target (libwebrtc's queue time limit).
const MAX_SECONDS: u64 = 2;
/// Maximum number of packets that wait; beyond it the oldest is dropped.
const MAX: usize = 16_384;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) payload_bytes: u32,
    pub(crate) timestamp: u32,
    pub(crate) marker: bool,
    /// Number of the packet among those of all frames.
    pub(crate) unit: u64,
    /// Time at which it began to wait.
    pub(crate) since: Instant,
}

/// Packets in order, and the time at which the next may leave.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    queue: VecDeque<Waiting>,
    /// Bytes of all headers of a packet.
    overhead: u32,
    /// Payload bytes of the waiting packets.
    bytes: u64,
    free: Instant,
    /// The rate at which the previous packet is sent, until `free`.
    rate: BitRate,
    /// The minimum rate at which every waiting packet leaves in time.
    drain: BitRate,
    pub(crate) dropped: u64,
}

impl Pacer {
    /// Makes a pacer for packets with headers of `overhead` bytes.
    pub(crate) const fn new(overhead: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            overhead,
            bytes: 0,
            free: Instant::ZERO,
            rate: BitRate(1),
            drain: BitRate(1),
            dropped: 0,
        }
    }

    pub(crate) fn push(&mut self, packet: Waiting) {
        if self.queue.len() == MAX
            && let Some(oldest) = self.queue.pop_front()
        {
            self.bytes -= u64::from(oldest.payload_bytes);
            self.dropped += 1;
        }
        if self.queue.is_empty() {
            self.drain = BitRate(1);
        }
        let now = packet.since;
        self.bytes += u64::from(packet.payload_bytes);
        self.queue.push_back(packet);
        self.hurry(now);
        self.check();
    }

    fn check(&self) {
        let (count, bytes) = (self.queue.len(), self.bytes);
        debug_assert!(count <= MAX, "{count} packets wait");
        debug_assert!(count > 0 || bytes == 0, "no packets of {bytes} bytes");
        debug_assert!(self.drain.0 > 0 && self.rate.0 > 0, "what waits would wait for ever");
    }

    /// Raises the rate so that the waiting packets, and the rest of the present one, leave within
    /// [`MAX_SECONDS`]. The rate stays until the queue is empty: if it were computed again for the
    /// remaining packets each time, it would fall with them, and the last ones would be late.
    fn hurry(&mut self, now: Instant) {
        let headers = self.queue.len() as u64 * u64::from(self.overhead);
        let going = u128::from(self.free.since(now).as_nanos()) * u128::from(self.rate.0);
        let going_bits = going.div_ceil(1_000_000_000);
        let bits = going_bits + u128::from(8 * (self.bytes + headers));
        let drain = u64::try_from(bits.div_ceil(MAX_SECONDS.into())).unwrap_or(u64::MAX);
        self.drain = self.drain.max(BitRate(drain));
        if self.drain > self.rate && self.free > now {
            self.free = now + Duration::from_nanos((going / u128::from(self.drain.0)) as u64);
            self.rate = self.drain;
        }
    }

    /// Time at which the next packet may leave.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.front().map(|_| self.free)
    }

    /// Returns the next packet if it may leave; `target` is the present target rate.
    pub(crate) fn pop(&mut self, now: Instant, target: BitRate) -> Option<Waiting> {
        if now < self.free {
            return None;
        }
        let packet = self.queue.pop_front()?;
        // A target that has fallen would hold packets of earlier frames for longer than the limit.
        self.rate = BitRate(target.0.saturating_mul(FACTOR_HALVES) / 2).max(self.drain);
        self.bytes -= u64::from(packet.payload_bytes);
        self.free = now + self.rate.time_for(u64::from(packet.payload_bytes + self.overhead));
        self.check();
        Some(packet)
    }

    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OVERHEAD: u32 = 48;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// Pushes packets at times in microseconds, at a target that changes with each; the longest
    /// time that one waits.
    fn longest(packets: &[(u64, u32, u64)]) -> Duration {
        let mut pacer = Pacer::new(OVERHEAD);
        let mut longest = Duration::ZERO;
        let mut take = |pacer: &mut Pacer, target, now: Instant| {
            while let Some(at) = pacer.next().filter(|at| *at <= now) {
                let packet = pacer.pop(at.max(pacer.queue[0].since), target).expect("it may go");
                longest = longest.max(at.since(packet.since));
            }
        };
        for &(us, payload_bytes, target) in packets {
            take(&mut pacer, BitRate(target), at(us));
            let (timestamp, marker, unit, since) = (0, false, 0, at(us));
            pacer.push(Waiting { payload_bytes, timestamp, marker, unit, since });
        }
        let target = packets.last().map_or(1, |(_, _, target)| *target);
        take(&mut pacer, BitRate(target), Instant::from_nanos(u64::MAX));
        assert_eq!((pacer.waiting_bytes(), pacer.queue.len()), (0, 0));
        longest
    }

    /// 100 packets of 1200 B at a target of 50 kbps, of which 2.5 times take 8 s, are gone after
    /// two seconds: the last begins 1248 of 124 800 B before.
    #[test]
    fn a_burst_is_gone_after_two_seconds() {
        let longest = longest(&[(0, 1_200, 50_000); 100]);
        let expected = Duration::from_micros(1_980_000);
        assert!(longest.abs_diff(expected) < Duration::from_micros(10), "{longest}");
    }

    /// Well below the target nothing waits for longer than that takes: ten packets of 1248 B at
    /// 2.5 Mbps, of which the last goes after nine.
    #[test]
    fn a_frame_leaves_at_two_and_a_half_times_the_target() {
        let longest = longest(&[(0, 1_200, 1_000_000); 10]);
        let expected = Duration::from_nanos(9 * 3_993_600);
        assert!(longest.abs_diff(expected) < Duration::from_micros(1), "{longest}");
    }

    proptest! {
        /// Whatever comes, and however low the target is: nothing waits for longer than two
        /// seconds, but for rounding.
        #[test]
        fn nothing_waits_for_longer_than_two_seconds(
            pauses in proptest::collection::vec(
                (0u64..3_000_000, 1u32..1_400, 1u64..400_000),
                1..200,
            ),
            crowded: bool,
        ) {
            let mut now = 0;
            let packets: Vec<_> = pauses
                .into_iter()
                .map(|(pause, bytes, target)| {
                    now += if crowded { pause / 100 } else { pause };
                    (now, bytes, target)
                })
                .collect();
            let longest = longest(&packets);
            prop_assert!(longest <= Duration::from_micros(2_000_010), "{longest}");
        }
    }
}
