//! Input of the simulator, with every default resolved: plain values that `fairwave-scenario`
//! builds from a scenario file, and that any Rust program can build itself.

pub use crate::flow::screen::{Playout, Policy};
pub use crate::flow::transports::*;
use fairwave_cc::Chosen;
pub use fairwave_dot11::Capabilities;
pub use fairwave_dot11::channel::{Config as Cell, ErrorModel, RateChoice};
use fairwave_dot11::{AccessCategory, Mode};
pub use fairwave_dot11::{
    DeliverySlope, Fading, GilbertElliott, Path, Shadowing, SnrTrace, WayPoint,
};
pub use fairwave_queue::Service;
use fairwave_queue::Spec;
pub use fairwave_soc::{FilterSpec, TableConfig};
use fairwave_tcp as tcp;
pub use fairwave_tcp::split::Opening;
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Db, Dbm, Duration, Instant, Metres, Seed};

/// A whole simulation.
#[derive(Clone, Debug)]
pub struct World {
    /// The master seed.
    pub seed: Seed,
    /// End of the run.
    pub duration: Duration,
    /// Statistics of [`crate::Outcome`] count from here on.
    pub warm_up: Duration,
    /// Sampling interval of flows, queues and stations, if the sink wants samples.
    pub sample_every: Duration,
    /// Deliveries are counted in bins of this length from the start on; `None` does not.
    pub bins: Option<Duration>,
    /// Nodes; a [`NodeId`] is an index into this.
    pub nodes: Vec<Node>,
    /// Radio cells: each is one channel of its own.
    pub cells: Vec<Cell>,
    /// Wired links.
    pub links: Vec<Link>,
    /// Flows; a [`fairwave_trace::FlowId`] is an index into this.
    pub flows: Vec<Flow>,
    /// Access points whose stations report their Strength of Connection; usually none.
    pub soc: Vec<Soc>,
    /// Access points whose queues know which links are good; usually none.
    pub monitors: Vec<LinkMonitor>,
}

/// An access point that watches the links to its stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkMonitor {
    /// The access point.
    pub ap: NodeId,
    /// Rule that distinguishes good from bad.
    pub monitor: Monitor,
}

/// Rule that distinguishes good links from bad ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Monitor {
    /// By the level over noise at the station, fading included, an ideal knowledge: good above the
    /// threshold.
    Level {
        /// The threshold.
        threshold: Db,
        /// Interval at which it is examined.
        every: Duration,
    },
    /// By frames that were given up: bad for some time after each.
    Failures {
        /// For how long; about a mean burst of losses.
        back_off: Duration,
    },
}

/// An access point that weights its stations by their reports of channel quality (Aida, Tobe and
/// Tokuda 2003). Stations that roam cannot be among them.
#[derive(Clone, Debug)]
pub struct Soc {
    /// The access point.
    pub ap: NodeId,
    /// From one report of a station to the next.
    pub interval: Duration,
    /// Maximum wait of a report for a data frame to ride on. Zero: it always goes alone.
    pub hold: Duration,
    /// Interval at which a station reads its card, if the access point was on the air meanwhile.
    pub read_every: Duration,
    /// Mapping from readings to reports.
    pub filter: FilterSpec,
    /// Mapping from reports to weights. With several curves, each is for the traffic of an access
    /// category, from the lowest priority. With `compat`, stations report in the paper's format.
    pub table: TableConfig,
}

/// A node of the network.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, unique.
    pub name: String,
    /// Its radio, if it has one.
    pub radio: Option<Radio>,
}

/// A node's radio.
#[derive(Clone, Debug)]
pub struct Radio {
    /// Index into [`World::cells`].
    pub cell: usize,
    /// Role in its cell.
    pub role: Role,
    /// Position, in metres.
    pub position: (Metres, Metres),
    /// Movement, instead of a position.
    pub path: Option<Path>,
    /// SNR between it, a station, and access points, instead of the SNR from places.
    pub snr_trace: Option<SnrTrace>,
    /// Rate control; `None` sends everything in `mode`.
    pub rates: Option<RateChoice>,
    /// Capabilities to send and receive; a pair of radios uses the common ones.
    pub capabilities: Capabilities,
    /// Handovers of a station; `None`: it keeps its access point.
    pub roaming: Option<Roaming>,
    /// Transmit power.
    pub power: Dbm,
    /// Mode of data frames; must be one of its PHY's modes.
    pub mode: Mode,
    /// Its transmit queue. The frame at the MAC is not counted.
    pub queue: Spec,
    /// Agreement of its access points' queues on it, a station.
    pub service: Service,
}

/// Role of a radio in its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An access point: sends beacons, relays for its stations.
    AccessPoint,
    /// A station, associated with this access point from the start.
    Station {
        /// Its access point.
        ap: NodeId,
    },
}

/// Handovers of a station.
#[derive(Clone, Debug, Default)]
pub struct Roaming {
    /// Access points that it may use, on whatever channels; the one of its role among them.
    pub candidates: Vec<NodeId>,
    /// Whether it begins with the strongest instead of that of its role.
    pub begins_with_strongest: bool,
    /// Handovers at set times, in order.
    pub handovers: Vec<Handover>,
    /// Handovers to a stronger access point.
    pub by_signal: Option<BySignal>,
    /// Time between its choice of a new access point, of which it notifies its flows, and its
    /// departure from the old one.
    pub prepare: Duration,
    /// Packets that its last access point keeps for it while it is away; the oldest stay.
    pub hold: u32,
    /// Waiting packets that it drops because of its absence.
    pub discard: Option<Discard>,
    /// Whether its MAC continues to send to its last access point while it is away, instead of
    /// waiting: frames are dropped at the retry limit, one after the other.
    pub attempts: bool,
}

/// Waiting packets that a station drops when it changes its access point: a remedy of Otsuka,
/// Tamura and Ishihara (section 4.5, D) against round-trip times that include the gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// Packets made longer ago than this, while it is away and when it is associated again.
    Older(Duration),
    /// This number of the oldest, when it is associated again.
    Oldest(u32),
}

/// A handover at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Time at which the station leaves its access point.
    pub at: Instant,
    /// The new access point; one of the candidates.
    pub to: NodeId,
    /// Time without association.
    pub disconnection: Duration,
}

/// Handovers to a stronger access point, decided by mean levels every 100 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BySignal {
    /// By how much the other must be stronger.
    pub hysteresis: Db,
    /// For how long without a break.
    pub dwell: Duration,
    /// Time without association at such a handover.
    pub disconnection: Duration,
}

/// A wired, full-duplex link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its ends.
    pub ends: (NodeId, NodeId),
    /// Rate; `None`: packets take no time.
    pub rate: Option<BitRate>,
    /// Propagation delay, the mean of its distribution.
    pub delay: Duration,
    /// Distribution of the propagation delay.
    pub distribution: DelayDistribution,
    /// The link is a dummynet pipe on a kernel clock of this tick. Its delay is fixed, without
    /// jitter.
    pub tick: Option<Duration>,
    /// Up to this much is added to each packet's delay, uniformly; packets may be reordered.
    pub jitter: Duration,
    /// Packet losses from its first end, and from its second.
    pub loss: [Loss; 2],
    /// Queue. The packet being sent is not counted.
    pub queue: Spec,
    /// Rate, delay and queue from the second end to the first; `None`: as from the first end.
    pub back: Option<Back>,
    /// Changes, in order of time. It is up at first.
    pub changes: Vec<Change>,
}

/// Distribution of a link's propagation delay around its mean. Packets of one direction keep their
/// order: one whose delay would let it overtake the packet before it arrives with that one, so that
/// delays are longer than drawn where packets follow each other closely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelayDistribution {
    /// Each packet has the mean.
    #[default]
    Fixed,
    /// Uniform from zero to twice the mean.
    Uniform,
    /// Exponential.
    Exponential,
}

/// Properties of a link from its second end to its first.
#[derive(Clone, Debug)]
pub struct Back {
    /// As in [`Link::rate`], and as in [`Link::delay`].
    pub pace: Pace,
    /// As in [`Link::queue`].
    pub queue: Spec,
}

/// Rate at which packets pass one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// As in [`Link::rate`].
    pub rate: Option<BitRate>,
    /// As in [`Link::delay`].
    pub delay: Duration,
}

impl Link {
    /// Rate and delay at first in the direction `way`: 0 from its first end, 1 from its second.
    pub fn pace(&self, way: usize) -> Pace {
        let forth = Pace { rate: self.rate, delay: self.delay };
        self.back.as_ref().filter(|_| way == 1).map_or(forth, |back| back.pace)
    }

    /// The queue of the direction `way`.
    pub fn queue(&self, way: usize) -> &Spec {
        self.back.as_ref().filter(|_| way == 1).map_or(&self.queue, |back| &back.queue)
    }

    /// The greatest rate that the direction `way` ever has; `None` if packets ever take no time.
    pub fn greatest_rate(&self, way: usize) -> Option<BitRate> {
        let mut later = self.changes.iter().map(|change| change.pace(way).rate);
        later.try_fold(self.pace(way).rate?, |maximum, rate| rate.map(|rate| maximum.max(rate)))
    }
}

/// Packet losses of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each with this probability.
    Rate(f64),
    /// In runs, by a chain that moves with each packet sent.
    Bursts(GilbertElliott),
}

impl Loss {
    /// Nothing is lost, in either direction.
    pub const NONE: [Self; 2] = Self::both(0.0);

    /// Each packet with probability `p`, in either direction.
    pub const fn both(p: f64) -> [Self; 2] {
        [Self::Rate(p); 2]
    }
}

/// State of a link from a time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Time.
    pub at: Instant,
    /// As in [`Link::rate`].
    pub rate: Option<BitRate>,
    /// As in [`Link::delay`].
    pub delay: Duration,
    /// Rate and delay from the second end to the first; `None`: as from the first end.
    pub back: Option<Pace>,
    /// As in [`Link::loss`].
    pub loss: [Loss; 2],
    /// If not, all packets sent on it are lost, and a packet in transmission.
    pub is_up: bool,
}

impl Change {
    /// Rate and delay in the direction `way`, as [`Link::pace`] counts them.
    pub fn pace(&self, way: usize) -> Pace {
        let forth = Pace { rate: self.rate, delay: self.delay };
        self.back.filter(|_| way == 1).unwrap_or(forth)
    }
}

/// A flow from one node to another.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name, unique.
    pub name: String,
    /// Source node of its data.
    pub source: NodeId,
    /// Destination node of its data.
    pub sink: NodeId,
    /// Start time.
    pub start: Instant,
    /// Time at which its application stops sending.
    pub stop: Option<Instant>,
    /// Access category of its packets where a cell has EDCA, in both directions.
    pub category: AccessCategory,
    /// Transport.
    pub traffic: Traffic,
    /// The proxy that splits its connection on the way.
    pub proxy: Option<Proxy>,
    /// The viewer at its sink, where it has a source with frames.
    pub playout: Option<Playout>,
}

/// A proxy that a TCP flow passes. It has the addresses of the flow's ends.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// Node of the proxy: on the way of the flow both ways, and not at its ends.
    pub at: NodeId,
    /// Its connection with the flow's source. Ports are overwritten.
    pub near: tcp::Config,
    /// Its connection with the flow's sink. Ports are overwritten.
    pub far: tcp::Config,
    /// The algorithm of both, as in [`TcpFlow::congestion_control`].
    pub congestion_control: Chosen,
    /// Time at which the source is answered.
    pub opening: Opening,
}
