//! Packets of an end that were lost before the capture, from gaps of its IP identifications.
//!
//! Linux and many small devices number the packets of a connection one by one; if the card cuts a
//! packet, each piece takes a number. A missing number is a packet that was lost before the
//! capture. This includes ACKs, independent of the receiver's ACK policy. Others (Windows) number
//! all packets of a host together, or write zero (RFC 6864 allows both). A gap then shows nothing,
//! and from the numbers of one connection alone it looks the same. So nothing is inferred unless
//! most steps are one, over enough packets, and ACKs behind gaps acknowledge as much more as the
//! gaps are long.

use fairwave_units::{Duration, Instant};

/// Gaps beyond this are no losses, but a counter that is not this connection's.
const GAP_MAX: u16 = 512;
/// Minimum number of steps for a result on lost ACKs, and for one on the reason of a pause.
const ENOUGH: u64 = 16;
const ENOUGH_AT_ONCE: u64 = 32;
/// One step in this number may be neither close ahead nor close behind.
const STRANGE: u64 = 50;
/// One step in this number must be one.
const PLAIN: u64 = 4;
/// The reason of a pause is only inferred from a gap if there is one in this number of steps.
const RARE: u64 = 8;

/// The identifications of the packets of one end, in the order of the capture.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ids {
    /// Identification expected of the next packet.
    expected: Option<u16>,
    in_order: Steps,
    behind_gaps: Steps,
    /// Numbers in gaps.
    missing: u64,
    /// Packets whose number is neither close ahead nor close behind.
    strange: u64,
    /// Time of the last packet.
    last: Instant,
    /// Sum of the times over which a number followed the last one.
    plain_time: Duration,
}

/// Packets, and by how many bytes their ACKs advanced.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    packets: u64,
    advance: u64,
}

impl Steps {
    fn add(&mut self, advance: u64) {
        self.packets += 1;
        self.advance = self.advance.saturating_add(advance);
    }
}

impl Ids {
    /// Takes a packet that stands for `segments` segments and whose ACK advances by the given
    /// bytes; returns whether packets before it are missing. Packets that a host sends for a
    /// connection without a socket (SYN-ACKs, the last ACKs) have no number.
    pub(super) fn packet(&mut self, at: Instant, id: u16, segments: u32, advance: u64) -> bool {
        let since = at.since(core::mem::replace(&mut self.last, at));
        if id == 0 && self.expected != Some(0) {
            return false;
        }
        let behind = id.wrapping_add(segments as u16);
        let Some(expected) = self.expected else {
            self.expected = Some(behind);
            return false;
        };
        let gap = id.wrapping_sub(expected);
        let is_gap = (1..=GAP_MAX).contains(&gap);
        if gap == 0 {
            self.in_order.add(advance);
            let time = self.plain_time.as_nanos().saturating_add(since.as_nanos());
            self.plain_time = Duration::from_nanos(time);
        } else if is_gap {
            self.missing += u64::from(gap);
            self.behind_gaps.add(advance);
        } else if gap >= GAP_MAX.wrapping_neg() {
            // It was overtaken; its number was taken for one that is missing.
            self.missing = self.missing.saturating_sub(u64::from(segments));
            return false;
        } else {
            self.strange += 1;
        }
        self.expected = Some(behind);
        is_gap
    }

    /// Returns the number of missing packets, if the numbers are the connection's own. `shared`
    /// says that other streams of the host are known to use the same counter.
    ///
    /// A lost ACK is made good by the next: behind a gap of g an ACK advances by g + 1 times as
    /// much as others. If other traffic of the host used the numbers, it advances by no more, or
    /// by twice as much after a pause, however long the gap is.
    pub(super) fn missing(&self, shared: bool) -> Option<u64> {
        let Self { in_order, behind_gaps, missing, .. } = *self;
        let skipped = self.skipped()?;
        if skipped == 0 {
            return Some(0);
        }
        if shared || in_order.packets * PLAIN < self.steps() || missing > self.steps() {
            return None;
        }
        // Three quarters of what the gaps suggest: an ACK that repeats the last advances nothing.
        let behind = u128::from(behind_gaps.advance) * u128::from(in_order.packets);
        let spanned = u128::from(missing + behind_gaps.packets);
        let plain = u128::from(in_order.advance).saturating_mul(spanned);
        (behind > 0 && behind.saturating_mul(4) >= plain.saturating_mul(3)).then_some(missing)
    }

    /// Returns how many numbers were skipped, whatever for: no more packets are missing.
    pub(super) fn skipped(&self) -> Option<u64> {
        let steps = self.steps();
        (steps >= ENOUGH && self.strange * STRANGE <= steps).then_some(self.missing)
    }

    /// Whether the numbers so far are the connection's own, with respect to a gap behind a pause:
    /// nearly all follow each other, and did so over more time than the pause. A host that is quiet
    /// during a burst may use the numbers for others before the next one.
    pub(super) fn is_own(&self, pause: Duration) -> bool {
        let Self { in_order, behind_gaps, strange, plain_time, .. } = *self;
        plain_time / 2 >= pause
            && in_order.packets >= ENOUGH_AT_ONCE
            && behind_gaps.packets * RARE <= in_order.packets
            && strange * STRANGE <= self.steps()
    }

    const fn steps(&self) -> u64 {
        self.in_order.packets + self.behind_gaps.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(packets: impl IntoIterator<Item = (u16, u32, u64)>) -> Option<u64> {
        let mut ids = Ids::default();
        for (id, segments, advance) in packets {
            ids.packet(Instant::ZERO, id, segments, advance);
        }
        ids.missing(false)
    }

    #[test]
    fn lost_acks_leave_gaps_that_the_next_ones_span() {
        let kept = (0u16..60).filter(|number| number % 3 != 1);
        let acks =
            kept.map(|n| (n.wrapping_add(65_500), 1, if n % 3 == 2 { 5_792 } else { 2_896 }));
        assert_eq!(missing(acks), Some(20));
    }

    #[test]
    fn stretch_acks_have_no_gaps() {
        let acks = (0u16..60).map(|n| (n, 1, [2_896, 65_160, 1_448][usize::from(n) % 3]));
        assert_eq!(missing(acks), Some(0));
    }

    #[test]
    fn numbers_that_others_use_too_are_not_believed() {
        assert_eq!(missing((0u16..60).map(|n| (n * 2 + n % 3, 1, 2_896))), None);
        assert_eq!(missing((0u16..60).map(|_| (0, 1, 2_896))), None);
        assert_eq!(missing((7u16..60).chain([0; 9]).map(|n| (n, 1, 2_896))), Some(0));
        assert_eq!(missing((0u16..60).map(|n| (n.wrapping_mul(40_503), 1, 2_896))), None);
    }

    #[test]
    fn a_packet_that_is_cut_takes_a_number_for_each_piece_and_a_late_one_is_not_missing() {
        let cut = [(7, 45, 0), (52, 1, 0), (53, 2, 0), (55, 1, 0)];
        assert_eq!(missing(cut.into_iter().chain((56..80).map(|n| (n, 1, 0)))), Some(0));
        assert_eq!(missing(cut), None, "too few");
        let late = [0u16, 1, 2, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12].map(|n| (n, 1, 0));
        assert_eq!(missing(late.into_iter().chain((13..30).map(|n| (n, 1, 0)))), Some(0));
    }

    /// A receiver that sends for others between its ACKs, of which the first behind a pause covers
    /// two segments and the second one.
    #[test]
    fn a_counter_of_the_host_shows_no_lost_acks() {
        let acks = (0u16..200).map(|n| match n % 2 {
            0 => (n / 2 * 21, 1, 2_920),
            _ => (n / 2 * 21 + 1, 1, 1_460),
        });
        assert_eq!(missing(acks), None);
        let mut ids = Ids::default();
        (0..60).filter(|n| n % 6 != 5).for_each(|n| {
            ids.packet(Instant::ZERO, n, 1, if n % 6 == 0 { 2_920 } else { 1_460 });
        });
        assert_eq!((ids.missing(false), ids.missing(true)), (Some(9), None));
    }
}
