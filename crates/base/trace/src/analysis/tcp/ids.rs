//! Packets of an end that were lost before the capture, from gaps of its IP identifications.
//!
//! Linux and many small devices number the packets of a connection one by one; if the card cuts a
//! packet, each piece takes a number. A missing number is a packet that was lost before the
//! capture. This includes ACKs, independent of the receiver's ACK policy. Others (Windows) number
//! all packets of a host together, or write zero (RFC 6864 allows both).

/// Gaps beyond this are no losses, but a counter that is not this connection's.
const GAP_MAX: u16 = 512;
/// Steps that a belief needs at least.
const ENOUGH: u64 = 4;
/// Gaps from which on the advances behind them must be greater.
const GAPS_WEIGHED: u64 = 4;

/// The identifications of the packets of one end, in the order of the capture.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ids {
    /// Identification expected of the next packet.
    expected: Option<u16>,
    in_order: Steps,
    behind_gaps: Steps,
    missing: u64,
    /// Packets whose number is neither close ahead nor close behind.
    strange: u64,
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
    pub(super) fn packet(&mut self, id: u16, segments: u32, advance: u64) -> bool {
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

    /// Returns the number of missing packets, if the numbers are the connection's own. If other
    /// traffic of the host used the missing ones, the ACKs behind a gap carry no more information
    /// than others.
    pub(super) fn missing(&self) -> Option<u64> {
        let Self { in_order, behind_gaps, missing, strange, .. } = *self;
        let steps = in_order.packets + behind_gaps.packets;
        if steps < ENOUGH || strange * 50 > steps {
            return None;
        }
        let own = match behind_gaps.packets {
            0 => true,
            gaps if gaps < GAPS_WEIGHED => gaps * 8 <= in_order.packets,
            gaps => {
                // Mean advance behind gaps at least one and a half times the other.
                let behind = u128::from(behind_gaps.advance) * u128::from(in_order.packets);
                let plain = u128::from(in_order.advance) * u128::from(gaps);
                behind * 2 >= plain * 3 && behind > 0
            }
        };
        own.then_some(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(packets: impl IntoIterator<Item = (u16, u32, u64)>) -> Option<u64> {
        let mut ids = Ids::default();
        for (id, segments, advance) in packets {
            ids.packet(id, segments, advance);
        }
        ids.missing()
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
        assert_eq!(missing([(7, 45, 0), (52, 1, 0), (53, 2, 0), (55, 1, 0), (56, 1, 0)]), Some(0));
        let late = [0u16, 1, 2, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12].map(|n| (n, 1, 0));
        assert_eq!(missing(late), Some(0));
    }
}
