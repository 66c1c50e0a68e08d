//! Times at which the bytes of a stream first left their source, until they are delivered.

use super::delays::Delays;
use fairwave_tcp::{Segment, Virtual};
use fairwave_units::{Instant, Seq32};
use std::collections::VecDeque;

/// The segments of a stream that are not delivered in order yet. Retransmissions change nothing: a
/// segment's delay counts from when its bytes left for the first time.
#[derive(Debug, Default)]
pub struct Departures {
    /// Sequence number of the stream's first byte, once the SYN has left.
    first: Option<Seq32>,
    /// End of the data sent at least once, in bytes from the start of the stream.
    left: u64,
    /// End of the delivered data.
    delivered: u64,
    /// Ends of segments that brought new bytes, and when they left; the oldest first.
    under_way: VecDeque<(u64, Instant)>,
}

impl Departures {
    /// A segment of the source's TCP connection leaves.
    pub(super) fn note_segment(&mut self, segment: &Segment<Virtual>, now: Instant) {
        let (header, Virtual(len)) = (&segment.header, segment.payload);
        if header.flags.syn {
            self.first = Some(header.seq + 1);
        }
        let Some(first) = self.first.filter(|_| len > 0) else { return };
        // Nothing leaves further ahead or behind than a window, which has less than 31 bits.
        let ahead = (header.seq + len).0.wrapping_sub((first + self.left as u32).0).cast_signed();
        if let Ok(ahead) = u64::try_from(ahead) {
            self.note(self.left + ahead, now);
        }
    }

    /// The bytes up to `end` have left, counted from the start of the stream.
    pub fn note(&mut self, end: u64, now: Instant) {
        if end > self.left {
            self.left = end;
            self.under_way.push_back((end, now));
        }
    }

    /// The application gets the next `bytes`. A segment counts when its last byte is delivered.
    pub fn deliver(&mut self, bytes: u32, now: Instant, delays: &mut Delays) {
        self.delivered += u64::from(bytes);
        debug_assert!(self.delivered <= self.left, "delivered before it left");
        while let Some((_, at)) = self.under_way.pop_front_if(|(end, _)| *end <= self.delivered) {
            delays.add(now.since(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Duration;
    use fairwave_wire::ipv4::Ecn;
    use fairwave_wire::tcp::{Flags, Header};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn segment(seq: Seq32, len: u32, syn: bool) -> Segment<Virtual> {
        let flags = Flags { syn, ack: true, ..Flags::default() };
        let header = Header { seq, flags, ..Header::default() };
        Segment { header, ecn: Ecn::default(), payload: Virtual(len) }
    }

    fn bins(delays: &Delays) -> Vec<u64> {
        delays.bins().flat_map(|bin| vec![bin.from.as_nanos(); bin.count as usize]).collect()
    }

    /// The stream begins just before sequence numbers wrap. Of three segments the second is lost
    /// and leaves again at 40 ms: it and the one behind it, which it held up, count from when they
    /// left first.
    #[test]
    fn a_delay_counts_from_the_first_departure_to_delivery_in_order() {
        let (mut departures, mut delays) = (Departures::default(), Delays::default());
        let syn = Seq32(u32::MAX - 100);
        departures.note_segment(&segment(syn, 0, true), at(0));
        departures.note_segment(&segment(syn + 1, 100, false), at(10));
        departures.note_segment(&segment(syn + 101, 100, false), at(12));
        departures.note_segment(&segment(syn + 201, 100, false), at(14));
        departures.deliver(100, at(20), &mut delays);
        departures.note_segment(&segment(syn + 101, 100, false), at(40));
        departures.deliver(200, at(50), &mut delays);
        let near = |ns: u64, ms: u64| (ns as f64 / 1e6 / ms as f64 - 1.0).abs() < 0.01;
        let found = bins(&delays);
        assert!(found.len() == 3 && near(found[0], 10), "{found:?}");
        assert!(near(found[1], 36) && near(found[2], 38), "{found:?}");
        assert!(departures.under_way.is_empty());
    }

    /// A retransmission that is longer than the lost segment brings new bytes, which leave now.
    #[test]
    fn new_bytes_behind_repeated_ones_leave_now() {
        let (mut departures, mut delays) = (Departures::default(), Delays::default());
        departures.note(100, at(0));
        departures.note(80, at(5));
        departures.note(150, at(10));
        departures.deliver(99, at(20), &mut delays);
        assert!(bins(&delays).is_empty(), "the last byte decides");
        departures.deliver(51, at(30), &mut delays);
        assert_eq!(bins(&delays).len(), 2);
    }
}
