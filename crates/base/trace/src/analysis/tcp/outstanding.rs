//! Data that one end has sent and the other has not acknowledged.

use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// A stretch of sequence numbers that one packet brought.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: i64,
    end: i64,
    /// Time of its first transmission, and that packet's timestamp value.
    first: (Instant, Option<u32>),
    /// Time of its last transmission.
    sent: Instant,
    /// Timestamp value of that.
    stamp: Option<u32>,
    /// Whether it was sent more than once.
    again: bool,
    /// Whether it was seen after data beyond it: an earlier transmission was lost before the
    /// capture, or it was overtaken. Either way the data beyond it is acknowledged only now.
    is_late: bool,
    /// Whether its last timestamp value stood on an earlier transmission of it too.
    ambiguous: bool,
}

/// Segments in the order of sequence numbers, without overlap, a bounded number of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    segments: VecDeque<Segment>,
}

/// State of a packet's range before the packet is taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Before {
    /// Bytes of it that were not outstanding.
    pub(super) fresh: u64,
    /// Time of the last transmission of the first segment that it touches.
    pub(super) sent: Option<Instant>,
    /// Whether that was not the first time.
    pub(super) again: bool,
    /// Time of the first transmission of the segment behind its range, and its timestamp value:
    /// since then a range that was not outstanding is a hole.
    pub(super) beyond: Option<(Instant, Option<u32>)>,
}

/// The information in an acknowledgement on the segments that it covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acked {
    /// A round-trip time.
    pub(super) rtt: Option<Duration>,
    /// Whether one of them was sent more than once.
    pub(super) again: bool,
}

impl Outstanding {
    /// Returns the state of `start..end`.
    pub(super) fn before(&self, start: i64, end: i64) -> Before {
        if self.segments.back().is_none_or(|last| last.end <= start) {
            return Before { fresh: (end - start) as u64, ..Before::default() };
        }
        let mut before = Before::default();
        let mut from = start;
        for segment in self.segments.iter().skip(self.first_beyond(start)) {
            if segment.start >= end {
                before.beyond = Some(segment.first);
                break;
            }
            if before.sent.is_none() {
                (before.sent, before.again) = (Some(segment.sent), segment.again);
            }
            before.fresh += (segment.start - from).max(0) as u64;
            from = from.max(segment.end);
        }
        before.fresh += (end - from).max(0) as u64;
        before
    }

    /// Index of the first segment that ends behind `start`.
    fn first_beyond(&self, start: i64) -> usize {
        self.segments.partition_point(|segment| segment.end <= start)
    }

    /// Takes in a packet; false if there is no room, `max` segments being there.
    pub(super) fn send(
        &mut self,
        start: i64,
        end: i64,
        at: Instant,
        stamp: Option<u32>,
        max: usize,
    ) -> bool {
        let first = (at, stamp);
        let new = |start, end| Segment {
            start,
            end,
            first,
            sent: at,
            stamp,
            again: false,
            is_late: false,
            ambiguous: false,
        };
        if self.segments.back().is_none_or(|last| last.end <= start) {
            let room = self.segments.len() < max;
            if room {
                self.segments.push_back(new(start, end));
            }
            return room;
        }
        let mut index = self.first_beyond(start);
        let mut from = start;
        while from < end {
            match self.segments.get_mut(index) {
                Some(segment) if segment.start <= from => {
                    segment.resend(at, stamp);
                    from = segment.end;
                }
                following => {
                    let to = following.map_or(end, |segment| segment.start.min(end));
                    if self.segments.len() >= max {
                        return false;
                    }
                    let is_late = index < self.segments.len();
                    self.segments.insert(index, Segment { is_late, ..new(from, to) });
                    from = to;
                }
            }
            index += 1;
        }
        true
    }

    /// Removes the data below `ack`, which came at `at` and echoes the timestamp `echo`. A clock
    /// that was set back in between gives no round-trip time.
    ///
    /// The last covered segment gives a round-trip time, if none of them was sent twice (Karn and
    /// Partridge 1987) or filled a hole, and the first one if its timestamp is the one echoed and
    /// stood on no earlier transmission (RFC 7323 section 4.1).
    pub(super) fn ack(&mut self, ack: i64, at: Instant, echo: Option<u32>) -> Acked {
        let mut acked = Acked::default();
        let (mut first, mut last, mut is_late) = (None, None, false);
        while let Some(segment) = self.segments.front_mut() {
            if segment.end > ack {
                segment.start = segment.start.max(ack);
                break;
            }
            first.get_or_insert(*segment);
            last = Some(*segment);
            acked.again |= segment.again;
            is_late |= segment.is_late;
            self.segments.pop_front();
        }
        acked.rtt = match (first, last) {
            (Some(first), _) if first.again || first.is_late => {
                let echoed = first.stamp.is_some() && first.stamp == echo && !first.ambiguous;
                at.checked_since(first.sent).filter(|_| echoed)
            }
            (_, Some(last)) if !acked.again && !is_late => at.checked_since(last.sent),
            _ => None,
        };
        acked
    }
}

impl Segment {
    fn resend(&mut self, at: Instant, stamp: Option<u32>) {
        self.ambiguous |= stamp == self.stamp;
        *self = Self { sent: at, stamp, again: true, ..*self };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    const fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_retransmission_gives_no_round_trip_time_but_by_its_timestamp() {
        let send = |stamps: [Option<u32>; 2]| {
            let mut outstanding = Outstanding::default();
            outstanding.send(0, 100, ms(0), stamps[0], 8);
            outstanding.send(0, 100, ms(300), stamps[1], 8);
            outstanding
        };
        let acked = send([None, None]).ack(100, ms(350), None);
        assert_eq!(acked, Acked { rtt: None, again: true });
        let acked = send([Some(1), Some(7)]).ack(100, ms(350), Some(7));
        assert_eq!(acked.rtt, Some(Duration::from_millis(50)));
        // The echo of the first transmission, or of a clock that had not moved.
        assert_eq!(send([Some(1), Some(7)]).ack(100, ms(350), Some(1)).rtt, None);
        assert_eq!(send([Some(7), Some(7)]).ack(100, ms(350), Some(7)).rtt, None);
    }

    #[test]
    fn a_cumulative_ack_is_timed_from_the_last_segment_it_covers() {
        let mut outstanding = Outstanding::default();
        outstanding.send(0, 100, ms(0), None, 8);
        outstanding.send(100, 200, ms(10), None, 8);
        outstanding.send(200, 300, ms(20), None, 8);
        assert_eq!(outstanding.ack(200, ms(60), None).rtt, Some(Duration::from_millis(50)));
        // Half a segment is no segment.
        assert_eq!(outstanding.ack(250, ms(70), None).rtt, None);
        assert_eq!(outstanding.ack(300, ms(70), None).rtt, Some(Duration::from_millis(50)));
    }

    /// Behind a loss: the ACK of the data beyond the hole waited for the segment that fills it.
    #[test]
    fn a_filled_hole_is_timed_from_the_segment_that_filled_it() {
        for (stamps, rtt) in [([None; 4], None), ([1, 9, 3, 4].map(Some), Some(MS(5)))] {
            let mut outstanding = Outstanding::default();
            for (number, at) in [(0, 0), (2, 1), (3, 2), (1, 100)] {
                let start = number as i64 * 100;
                outstanding.send(start, start + 100, ms(at), stamps[number], 8);
            }
            assert_eq!(outstanding.ack(100, ms(10), stamps[0]).rtt, Some(MS(10)));
            assert_eq!(outstanding.ack(400, ms(105), stamps[1]), Acked { rtt, again: false });
        }
    }

    #[test]
    fn a_range_over_a_hole_is_in_part_fresh() {
        let mut outstanding = Outstanding::default();
        outstanding.send(0, 100, ms(0), None, 8);
        outstanding.send(200, 300, ms(1), None, 8);
        let before = outstanding.before(50, 400);
        let none = Before::default();
        assert_eq!(before, Before { fresh: 200, sent: Some(ms(0)), ..none });
        let beyond = Some((ms(1), None));
        assert_eq!(outstanding.before(100, 200), Before { fresh: 100, beyond, ..none });
        assert!(outstanding.send(50, 400, ms(2), None, 8));
        assert_eq!(outstanding.before(0, 400).fresh, 0);
        assert!(!outstanding.send(400, 500, ms(3), None, 4));
    }

    proptest! {
        #[test]
        fn coverage_is_that_of_a_set(
            steps in prop::collection::vec((any::<bool>(), 0i64..60, 1i64..20), 0..60),
        ) {
            let mut outstanding = Outstanding::default();
            let mut model = [false; 100];
            for (is_ack, start, len) in steps {
                if is_ack {
                    outstanding.ack(start, ms(0), None);
                    model[..start as usize].fill(false);
                    continue;
                }
                let range = &mut model[start as usize..(start + len) as usize];
                let fresh = range.iter().filter(|&&there| !there).count() as u64;
                prop_assert_eq!(outstanding.before(start, start + len).fresh, fresh);
                prop_assert!(outstanding.send(start, start + len, ms(0), None, 100));
                range.fill(true);
                let ends: Vec<_> = outstanding.segments.iter().map(|s| (s.start, s.end)).collect();
                prop_assert!(ends.is_sorted_by(|a, b| a.1 <= b.0), "{:?}", ends);
            }
        }
    }
}
