//! The receiving end: RTP packets in, feedback out.

use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use fairwave_wire::rtp::{Feedback, Header, TICK};
use std::collections::VecDeque;

/// Number of reported arrivals that are kept, so that feedback can also report late packets.
const MAX_KEPT: usize = 1_024;
/// Maximum number of packets per feedback; more are reported in several. Each takes at most two
/// bytes and two bits of a chunk, so that feedback has at most 1200 B: 20 + 2 * 74 + 2 * 512 and
/// padding.
const MAX_STATUSES: usize = 512;
/// Maximum jump of the packet numbers; after a larger one the receiver starts again.
const MAX_JUMP: u16 = 2_048;
/// Ticks of the reference time.
const REFERENCE_TICKS: u64 = 256;

/// Configuration of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Its synchronisation source.
    pub ssrc: u32,
    /// Time from the first unreported packet to the feedback that reports it; libwebrtc has 50 to
    /// 250 ms, 100 ms to begin with.
    pub interval: Duration,
}

impl ReceiverConfig {
    /// The usual interval.
    pub const INTERVAL: Duration = Duration::from_millis(100);
}

/// Media that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media {
    /// Its number in the stream.
    pub sequence: u16,
    /// Media time in 90 kHz.
    pub timestamp: u32,
    /// Whether it is the last packet of its frame.
    pub marker: bool,
}

/// The receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    /// Arrival of each packet from `first` on, in ticks.
    arrivals: VecDeque<Option<u64>>,
    /// Transport-wide number of the first of them.
    first: u16,
    /// Number of them, from the front, that feedback has reported.
    reported: usize,
    /// Number of them that it has reported at least once.
    seen: usize,
    media_ssrc: u32,
    due: Option<Instant>,
    count: u8,
    media: VecDeque<Media>,
}

impl Receiver {
    /// A receiver before the first packet.
    pub const fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            arrivals: VecDeque::new(),
            first: 0,
            reported: 0,
            seen: 0,
            media_ssrc: 0,
            due: None,
            count: 0,
            media: VecDeque::new(),
        }
    }

    /// Notes that the packet with this transport-wide number has arrived; whether that is new.
    fn note(&mut self, now: Instant, number: u16) -> bool {
        if self.arrivals.is_empty() {
            self.first = number;
        }
        let mut place = number.wrapping_sub(self.first);
        if place >= 1 << 15 {
            // It is older than all arrivals that are kept.
            return false;
        }
        if usize::from(place) >= self.arrivals.len() + usize::from(MAX_JUMP) {
            self.arrivals.clear();
            (self.first, self.reported, self.seen, place) = (number, 0, 0, 0);
        }
        let place = usize::from(place);
        if place >= self.arrivals.len() {
            self.arrivals.resize(place + 1, None);
        }
        let ticks = now.as_nanos() / TICK.as_nanos();
        let arrival = &mut self.arrivals[place];
        if arrival.is_some() {
            return false;
        }
        *arrival = Some(ticks);
        // A late arrival has to be reported too, so feedback begins again at its place.
        self.reported = self.reported.min(place);
        true
    }

    /// Discards reported arrivals, except the newest.
    fn forget(&mut self) {
        let old = self.reported.min(self.arrivals.len().saturating_sub(MAX_KEPT));
        self.arrivals.drain(..old);
        self.reported -= old;
        self.seen -= old;
        self.first = self.first.wrapping_add(old as u16);
    }

    /// Builds feedback for the packets not yet reported, as many as fit into one RTCP packet.
    fn feedback(&mut self) -> Option<Vec<u8>> {
        let mut untold = self.arrivals.range(self.reported..);
        let start = *untold.clone().flatten().next()?;
        let reference = start / REFERENCE_TICKS;
        let mut last = reference * REFERENCE_TICKS;
        let mut arrivals = Vec::with_capacity(untold.len().min(MAX_STATUSES));
        for arrival in untold.by_ref().take(MAX_STATUSES) {
            let delta = arrival.map(|at| {
                let delta = at.cast_signed() - last.cast_signed();
                last = at;
                i16::try_from(delta)
            });
            match delta.transpose() {
                Ok(delta) => arrivals.push(delta),
                // The difference of two arrivals has 16 bits, about eight seconds. A later packet
                // is reported in the next feedback.
                Err(_) => break,
            }
        }
        let base = self.first.wrapping_add(self.reported as u16);
        self.reported += arrivals.len();
        self.seen = self.seen.max(self.reported);
        let feedback = Feedback {
            sender_ssrc: self.config.ssrc,
            media_ssrc: self.media_ssrc,
            base,
            // The field of 24 bits wraps around after twelve days.
            reference: ((reference as u32) << 8).cast_signed() >> 8,
            count: self.count,
            arrivals,
        };
        self.count = self.count.wrapping_add(1);
        let mut bytes = Vec::new();
        feedback.write(&mut bytes).expect("it reports few packets");
        Some(bytes)
    }
}

impl Machine for Receiver {
    /// The header of an RTP packet that arrived.
    type Input = Header;
    type Output = Vec<u8>;
    type Event = Media;

    fn handle(&mut self, now: Instant, header: Header) {
        let Some(number) = header.transport_sequence else { return };
        if !self.note(now, number) {
            return;
        }
        self.media_ssrc = header.ssrc;
        let due = *self.due.get_or_insert(now + self.config.interval);
        if self.arrivals.len() - self.seen >= MAX_STATUSES {
            // One feedback is full, and sent at once. Late packets do not count, as their places
            // were already reported.
            self.due = Some(due.min(now));
        }
        if self.media.len() == MAX_KEPT {
            self.media.pop_front();
        }
        let Header { sequence, timestamp, marker, .. } = header;
        self.media.push_back(Media { sequence, timestamp, marker });
    }

    fn wake(&mut self, _: Instant) {}

    fn poll(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.due.filter(|due| now >= *due)?;
        let feedback = self.feedback();
        self.forget();
        if self.reported == self.arrivals.len() || feedback.is_none() {
            self.due = None;
        }
        feedback
    }

    fn deadline(&self) -> Option<Instant> {
        self.due
    }

    fn event(&mut self) -> Option<Media> {
        self.media.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(number: u16) -> Header {
        Header {
            payload_type: 96,
            marker: false,
            sequence: number,
            timestamp: 0,
            ssrc: 7,
            transport_sequence: Some(number),
        }
    }

    /// Lets packets come, each this far ahead of the one before and this long after it; returns the
    /// number reported as arrived. Checks the invariants.
    fn receive(interval: Duration, steps: impl IntoIterator<Item = (u16, Duration)>) -> usize {
        let mut receiver = Receiver::new(ReceiverConfig { ssrc: 8, interval });
        let (mut now, mut number, mut reported) = (Instant::ZERO, 0u16, 0);
        let mut drain = |receiver: &mut Receiver, now| {
            while let Some(bytes) = receiver.poll(now) {
                assert!(bytes.len() <= 1_200, "{} bytes", bytes.len());
                let (feedback, _) = Feedback::parse(&bytes).expect("it is legal");
                reported += feedback.arrivals.iter().flatten().count();
            }
            assert!(receiver.arrivals.len() <= MAX_KEPT + MAX_STATUSES + usize::from(MAX_JUMP));
            assert!(receiver.deadline().is_none_or(|due| due > now));
        };
        for (ahead, pause) in steps {
            (now, number) = (now + pause, number.wrapping_add(ahead));
            receiver.handle(now, numbered(number));
            while receiver.event().is_some() {}
            drain(&mut receiver, now);
        }
        drain(&mut receiver, now + interval);
        reported
    }

    /// Numbers that jump by the maximum, all at once: the gaps between are more than one feedback
    /// can report.
    #[test]
    fn five_packets_that_jump_are_told_of() {
        let jumps = [0, 2_047, 2_047, 2_047, 2_047].map(|ahead| (ahead, Duration::ZERO));
        assert_eq!(receive(ReceiverConfig::INTERVAL, jumps), 5);
    }

    /// 12 500 packets of 1 Gbps in an interval of 100 ms, and 20 000 in one of a second.
    #[test]
    fn a_fast_stream_is_told_of_in_several() {
        let every = |us| (1, Duration::from_micros(us));
        let reported = receive(ReceiverConfig::INTERVAL, core::iter::repeat_n(every(8), 12_500));
        assert_eq!(reported, 12_500);
        let reported = receive(Duration::from_secs(1), core::iter::repeat_n(every(50), 20_000));
        assert_eq!(reported, 20_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever comes however fast: no feedback is too long, little is kept, and each packet
        /// that continues from those before is reported.
        #[test]
        fn feedback_is_bounded(
            steps in proptest::collection::vec((1u16..2_048, 0u64..40), 1..400),
        ) {
            let steps = steps.into_iter();
            let steps: Vec<_> =
                steps.map(|(step, ms)| (step, Duration::from_millis(ms / 20))).collect();
            let packets = steps.len();
            prop_assert_eq!(receive(ReceiverConfig::INTERVAL, steps), packets);
        }

        /// Packets that come late, out of all that is remembered.
        #[test]
        fn late_packets_are_told_of_in_bounds(
            steps in proptest::collection::vec((any::<i16>(), 0u64..40), 1..400),
        ) {
            let step = |(back, ms): (i16, u64)| {
                ((back / 16).cast_unsigned(), Duration::from_millis(ms / 20))
            };
            receive(ReceiverConfig::INTERVAL, steps.into_iter().map(step));
        }
    }
}
