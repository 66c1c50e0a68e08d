//! Groups of packets, and how their spacing changed on the way (draft-ietf-rmcat-gcc-02 sections
//! 5.1 and 5.2).

use fairwave_units::{Duration, Instant};

/// Packets sent within this time of the first of them are one group.
const BURST: Duration = Duration::from_millis(5);
/// Packets that arrive this close to the one before belong to its group, if they have caught up: a
/// queue on the way (a radio, say) lets packets out in bursts.
const BURST_NS: i64 = 5_000_000;
/// Longest group in arrival time (libwebrtc `InterArrival`).
const MAX_BURST_NS: i64 = 100_000_000;

/// One group after another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// Between their last arrivals, in ms.
    pub arrival_ms: f64,
    /// Between their last departures, in ms.
    pub departure_ms: f64,
    /// Time at which the later one had arrived, in ms of the receiver's clock.
    pub at_ms: f64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    first_arrived: i64,
    last_arrived: i64,
}

/// Makes groups of packets.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    before: Option<Group>,
    current: Option<Group>,
}

impl Group {
    const fn of(sent: Instant, arrived: i64) -> Self {
        Self { first_sent: sent, last_sent: sent, first_arrived: arrived, last_arrived: arrived }
    }

    fn includes(&self, sent: Instant, arrived: i64) -> bool {
        if sent.since(self.first_sent) <= BURST {
            return true;
        }
        let came = arrived - self.last_arrived;
        let went = sent.since(self.last_sent).as_nanos().cast_signed();
        // A packet that arrived long before the group's first shows that the receiver's clock was
        // set back; it does not belong to the group.
        let is_near = (arrived - self.first_arrived).abs() < MAX_BURST_NS;
        came < went && came <= BURST_NS && is_near
    }
}

impl Groups {
    /// Handles the arrival of a packet. The first of a third group completes two, and reports them.
    pub fn take(&mut self, sent: Instant, arrived: i64) -> Option<Delta> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::of(sent, arrived));
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        if current.includes(sent, arrived) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrived = current.last_arrived.max(arrived);
            return None;
        }
        let done = *current;
        *current = Group::of(sent, arrived);
        let before = self.before.replace(done)?;
        let ms = |ns: i64| ns as f64 / 1e6;
        let came = done.last_arrived - before.last_arrived;
        // Groups that overtook each other do not show the delay of a queue.
        (came >= 0).then(|| Delta {
            arrival_ms: ms(came),
            departure_ms: ms(done.last_sent.since(before.last_sent).as_nanos().cast_signed()),
            at_ms: ms(done.last_arrived),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn take(groups: &mut Groups, sent_ms: u64, arrived_ms: i64) -> Option<(f64, f64)> {
        let sent = Instant::ZERO + Duration::from_millis(sent_ms);
        groups.take(sent, arrived_ms * MS).map(|d| (d.arrival_ms, d.departure_ms))
    }

    /// Groups sent at 0 and 3, at 20 and 24, at 40: their last packets went 21 ms apart and came
    /// 26 ms apart.
    #[test]
    fn a_group_is_what_was_sent_within_five_milliseconds() {
        let mut groups = Groups::default();
        assert_eq!(take(&mut groups, 0, 100), None);
        assert_eq!(take(&mut groups, 3, 103), None);
        assert_eq!(take(&mut groups, 20, 122), None);
        assert_eq!(take(&mut groups, 24, 129), None);
        assert_eq!(take(&mut groups, 40, 140), Some((26.0, 21.0)));
    }

    /// A radio that was busy lets packets of 0, 10 and 20 ms out at once: one group.
    #[test]
    fn what_a_queue_lets_out_together_is_one_group() {
        let mut groups = Groups::default();
        for (sent, arrived) in [(0, 100), (10, 101), (20, 102)] {
            assert_eq!(take(&mut groups, sent, arrived), None);
        }
        assert_eq!(take(&mut groups, 40, 120), None);
        assert_eq!(take(&mut groups, 60, 140), Some((18.0, 20.0)));
    }

    /// After the receiver's clock was set back by a minute groups go on from there.
    #[test]
    fn a_clock_set_back_does_not_make_one_group_of_all() {
        let mut groups = Groups::default();
        for (sent, arrived) in [(0, 60_100), (20, 60_120), (40, 140), (60, 160)] {
            take(&mut groups, sent, arrived);
        }
        assert_eq!(take(&mut groups, 80, 180), Some((20.0, 20.0)));
    }

    /// A packet sent before the current group is not counted; a packet that arrived before the one
    /// it follows belongs to the same group. Groups that overtook each other yield no difference.
    #[test]
    fn what_was_overtaken_says_nothing() {
        let mut groups = Groups::default();
        take(&mut groups, 0, 100);
        take(&mut groups, 20, 120);
        assert_eq!(take(&mut groups, 10, 121), None);
        assert_eq!(take(&mut groups, 40, 110), None);
        assert_eq!(take(&mut groups, 60, 150), Some((20.0, 40.0)));
    }
}
