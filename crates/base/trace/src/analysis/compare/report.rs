//! The result of a comparison.

use super::pending::Entry;
use super::{Place, Spread, nanos_between};
use core::net::SocketAddr;

/// The result of two captures of the same traffic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Flows in the order of their first packets.
    pub flows: Vec<Flow>,
    /// Counts of each capture.
    pub seen: [Seen; 2],
    /// Packets that were forgotten for lack of room before the other capture could show them
    /// ([`super::Config::window`]); they count as not seen there.
    pub forgotten: u64,
}

/// Counts of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Frames.
    pub frames: u64,
    /// TCP and UDP packets in them.
    pub packets: u64,
    /// Packets of flows beyond [`super::Config::flows_max`].
    pub unwatched: u64,
}

/// Packets between two ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its ends; the first sent the packet that was seen first.
    pub ends: [SocketAddr; 2],
    /// The number of its protocol: TCP, UDP or DCCP.
    pub protocol: u8,
    /// Packets of each end.
    pub ways: [Way; 2],
}

/// Outcomes of the packets of one end. A packet that both captures show has *crossed*.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// Packets at each place, duplicates included; a packet that a card cuts or joins counts by the
    /// segments of the wire.
    pub packets: [u64; 2],
    /// Captured packets that stood for several segments of the wire, at each place.
    pub cut: [u64; 2],
    /// Whether some were cut by an MSS that no SYN stated: the number of lost packets is then
    /// unknown.
    pub guessed: bool,
    /// All packets but duplicates.
    pub all: Count,
    /// ACKs without anything else among them.
    pub pure_acks: Count,
    /// Copies beyond the first of a packet with an IP identification, at each place.
    pub duplicates: [u64; 2],
    /// Packets that overtook another one between the places.
    pub reordered: u64,
    /// Shifts of the packets that crossed: time at the second place less that at the first.
    pub shift: Spread,
    /// Highest numbers at both places of the packets that crossed.
    highest: [u64; 2],
}

/// The places at which packets were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// At both places.
    pub crossed: u64,
    /// Bytes of IP of those.
    pub crossed_bytes: u64,
    /// At one place only, while the other was watched: at the first, at the second.
    pub alone: [u64; 2],
    /// At one place only, before the first or after the last frame of the other capture: at the
    /// first, at the second. It is unknown whether they crossed.
    pub outside: [u64; 2],
}

impl Flow {
    pub(super) fn new(ends: [SocketAddr; 2], protocol: u8) -> Self {
        Self { ends, protocol, ways: Default::default() }
    }

    /// At which place the packets of one end are seen first. Of two ways the one with the greater
    /// mean shift passes the first place first, whatever the clocks say; of one way, that it is
    /// so is known from the clocks, their offset being given. Packets of which none crossed pass
    /// the place first that alone shows any.
    pub fn begins_at(&self, from: usize, offset_ns: Option<i64>) -> Option<Place> {
        let mean = |way: &Way| way.shift.mean_ns();
        let way = self.ways.get(from)?;
        let Some(mine) = mean(way) else {
            return match way.all.alone {
                [0, 0] => None,
                [_, 0] => Some(Place::First),
                [0, _] => Some(Place::Second),
                _ => None,
            };
        };
        let other = self.ways.get(1 - from).and_then(mean).or(offset_ns)?;
        Some(if mine >= other { Place::First } else { Place::Second })
    }
}

impl Count {
    /// Share of the packets seen at `place` that the other did not show, of all that it could have
    /// shown.
    pub fn lost_from(&self, place: Place) -> Option<f64> {
        let alone = self.alone[place.index()];
        let seen = self.crossed + alone;
        (seen > 0).then(|| alone as f64 / seen as f64)
    }
}

impl Report {
    /// A packet was seen at both places; returns its shift in nanoseconds.
    pub(super) fn crossed(&mut self, [first, second]: [Entry; 2]) -> i64 {
        let way = self.way(&first);
        for count in way.counts(&first) {
            count.crossed += 1;
            count.crossed_bytes += u64::from(first.len);
        }
        let orders = [first.order, second.order];
        let later = [0, 1].map(|place| orders[place] > way.highest[place]);
        way.reordered += u64::from(later[0] != later[1]);
        way.highest = [0, 1].map(|place| way.highest[place].max(orders[place]));
        let shift = nanos_between(first.at, second.at);
        way.shift.add(shift);
        shift
    }

    /// A packet was seen at one place only, while the other was watched.
    pub(super) fn alone(&mut self, place: Place, entry: &Entry) {
        self.way(entry).counts(entry).for_each(|count| count.alone[place.index()] += 1);
    }

    /// A packet was seen at one place only, while the other was not watched.
    pub(super) fn outside(&mut self, place: Place, entry: &Entry) {
        self.way(entry).counts(entry).for_each(|count| count.outside[place.index()] += 1);
    }

    fn way(&mut self, entry: &Entry) -> &mut Way {
        &mut self.flows[entry.flow as usize].ways[usize::from(entry.from)]
    }
}

impl Way {
    fn counts(&mut self, entry: &Entry) -> impl Iterator<Item = &mut Count> {
        let pure = entry.is_pure_ack.then_some(&mut self.pure_acks);
        core::iter::once(&mut self.all).chain(pure)
    }
}
