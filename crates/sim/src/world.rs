//! What is simulated, with every default resolved: plain values that `fairwave-lab` builds from
//! a scenario file and any Rust program can build by hand.

pub use fairwave_dccp::ccid::Ccid;
pub use fairwave_dccp::tfrc::{Profile as TfrcProfile, Remedies, Sensitivity};
pub use fairwave_dot11::channel::{Config as Cell, ErrorModel, RateChoice};
use fairwave_dot11::{AccessCategory, Mode};
pub use fairwave_dot11::{
    DeliverySlope, Fading, GilbertElliott, Path, Shadowing, SnrTrace, WayPoint,
};
pub use fairwave_probe::{Plan, Trial};
pub use fairwave_proxy::Opening;
pub use fairwave_queue::Service;
use fairwave_queue::Spec;
pub use fairwave_rtc::gcc::Bounds as RtcBounds;
pub use fairwave_rtc::gcc::trend::Threshold;
pub use fairwave_shake::Config as ShakeConfig;
pub use fairwave_shake::multi::Split;
pub use fairwave_soc::{FilterSpec, TableConfig};
use fairwave_tcp as tcp;
use fairwave_trace::NodeId;
pub use fairwave_traffic::playout::Policy;
pub use fairwave_traffic::{Page, Source};
use fairwave_units::{BitRate, Bytes, Db, Dbm, Duration, Instant, Metres, Seed};
pub use fairwave_wire::probe::Limits;

/// A whole simulation.
#[derive(Clone, Debug)]
pub struct World {
    /// The master seed.
    pub seed: Seed,
    /// When the run ends.
    pub duration: Duration,
    /// Statistics of [`crate::Outcome`] count from here on.
    pub warm_up: Duration,
    /// How often flows, queues and stations are sampled, if the sink wants them.
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
    /// Access points whose stations report their Strength of Connection; none in most worlds.
    pub soc: Vec<Soc>,
    /// Access points whose queues are told which links are good; none in most worlds.
    pub monitors: Vec<LinkMonitor>,
}

/// An access point that watches the links to its stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkMonitor {
    /// The access point.
    pub ap: NodeId,
    /// How it tells good from bad.
    pub monitor: Monitor,
}

/// How good links are told from bad ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Monitor {
    /// By the level over noise at the station, fading included, which nobody knows without being
    /// told: good above the threshold.
    Level {
        /// The threshold.
        threshold: Db,
        /// How often it is looked at.
        every: Duration,
    },
    /// By frames that were given up: bad for some time after each.
    Failures {
        /// For how long; about a mean burst of losses.
        back_off: Duration,
    },
}

/// An access point that weighs its stations by what they report of their channels (Aida, Tobe
/// and Tokuda 2003). Stations that roam cannot be among them.
#[derive(Clone, Debug)]
pub struct Soc {
    /// The access point.
    pub ap: NodeId,
    /// From one report of a station to the next.
    pub interval: Duration,
    /// How long a report waits for a data frame to ride on. Zero: it always goes alone.
    pub hold: Duration,
    /// How often a station reads its card, if the access point has been on the air meanwhile.
    pub read_every: Duration,
    /// From readings to what is reported.
    pub filter: FilterSpec,
    /// What the access point makes of reports. With several curves, each is for the traffic of
    /// an access category, the least urgent first.
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
    /// What it is in its cell.
    pub role: Role,
    /// Where it stands, in metres.
    pub position: (Metres, Metres),
    /// Where it goes, instead.
    pub path: Option<Path>,
    /// SNR between it, a station, and access points, instead of what follows from places.
    pub snr_trace: Option<SnrTrace>,
    /// How it chooses rates; `None` sends everything in `mode`.
    pub rates: Option<RateChoice>,
    /// How it, a station, changes its access point; `None`: it stays.
    pub roaming: Option<Roaming>,
    /// Transmit power.
    pub power: Dbm,
    /// How it sends data frames; must be one of its PHY's modes.
    pub mode: Mode,
    /// Its transmit queue. The frame at the MAC is not counted.
    pub queue: Spec,
    /// What the queues of its access points are told about it, a station.
    pub service: Service,
}

/// What a radio is in its cell.
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

/// How a station changes its access point.
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
    /// Packets that its last access point keeps for it while it is away; the oldest stay.
    pub hold: u32,
    /// What it drops of its own waiting packets for having been away.
    pub discard: Option<Discard>,
}

/// Which of its waiting packets a station drops when it changes its access point: a remedy of
/// Otsuka, Tamura and Ishihara (section 4.5, D) against round-trip times that tell of the gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// Those made longer ago than this, while it is away and when it is associated again.
    Older(Duration),
    /// So many, the oldest, when it is associated again.
    Oldest(u32),
}

/// A handover at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When the station leaves its access point.
    pub at: Instant,
    /// Where it goes; one of the candidates.
    pub to: NodeId,
    /// How long it has no association.
    pub disconnection: Duration,
}

/// When a station goes to a stronger access point, by mean levels every 100 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BySignal {
    /// By how much the other must be stronger.
    pub hysteresis: Db,
    /// For how long without a break.
    pub dwell: Duration,
    /// How long the station has no association then.
    pub disconnection: Duration,
}

/// A wired, full-duplex link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its ends.
    pub ends: (NodeId, NodeId),
    /// Rate in each direction; `None`: packets take no time.
    pub rate: Option<BitRate>,
    /// Propagation delay in each direction.
    pub delay: Duration,
    /// The link is a dummynet pipe on a kernel clock of this tick. It has no jitter.
    pub tick: Option<Duration>,
    /// Up to this much is added to each packet's delay, uniformly; packets may be reordered.
    pub jitter: Duration,
    /// How it loses packets from its first end, and from its second.
    pub loss: [Loss; 2],
    /// Queue at each end. The packet being sent is not counted.
    pub queue: Spec,
    /// What becomes of it, in order of time. It is up at first.
    pub changes: Vec<Change>,
}

impl Link {
    /// The greatest rate that it ever has; `None` if packets ever take no time.
    pub fn greatest_rate(&self) -> Option<BitRate> {
        let mut later = self.changes.iter().map(|change| change.rate);
        later.try_fold(self.rate?, |most, rate| rate.map(|rate| most.max(rate)))
    }
}

/// How one direction of a link loses packets.
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

/// What holds of a link from a time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// As in [`Link::rate`].
    pub rate: Option<BitRate>,
    /// As in [`Link::delay`].
    pub delay: Duration,
    /// As in [`Link::loss`].
    pub loss: [Loss; 2],
    /// If not, all that is sent on it is lost, and what was being sent.
    pub is_up: bool,
}

/// A flow from one node to another.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name, unique.
    pub name: String,
    /// Where its data comes from.
    pub source: NodeId,
    /// Where its data goes.
    pub sink: NodeId,
    /// When it starts.
    pub start: Instant,
    /// When its application stops sending.
    pub stop: Option<Instant>,
    /// How urgent its packets are where a cell has EDCA, in both directions.
    pub category: AccessCategory,
    /// How it sends.
    pub traffic: Traffic,
    /// The proxy that splits its connection on the way.
    pub proxy: Option<Proxy>,
    /// The viewer at its sink, where it has a source with frames.
    pub playout: Option<Playout>,
}

/// A viewer at a flow's sink ([`fairwave_traffic::playout`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playout {
    /// From capture to showing, or what a stream buffers first.
    pub delay: Duration,
    /// What to do about late frames.
    pub policy: Policy,
}

/// A proxy that a TCP flow passes. It has the addresses of the flow's ends.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// Where it is: on the way of the flow both ways, and not at its ends.
    pub at: NodeId,
    /// Its connection with the flow's source. Ports are overwritten.
    pub near: tcp::Config,
    /// Its connection with the flow's sink. Ports are overwritten.
    pub far: tcp::Config,
    /// The law of both, as in [`TcpFlow::congestion_control`].
    pub congestion_control: String,
    /// When the source is answered.
    pub opening: Opening,
}

/// How a flow sends.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// A TCP connection opened by the source.
    Tcp(TcpFlow),
    /// UDP datagrams of a source.
    Datagrams(Source),
    /// UDP datagrams as fast as the source's interface takes them: its queue is never empty.
    Saturate {
        /// UDP payload of each, in bytes.
        payload_bytes: u32,
    },
    /// A user at the flow's sink who fetches pages from its source, over TCP connections that the
    /// sink opens.
    Web(WebFlow),
    /// The buffer probe: its sender at the source, its receiver at the sink.
    Probe(ProbeFlow),
    /// A DCCP connection opened by the source.
    Dccp(DccpFlow),
    /// Real-time media from the source to the sink.
    Rtc(RtcFlow),
    /// A SHAKE connection opened by the source, over several paths.
    Shake(ShakeFlow),
    /// Several TCP connections opened by the source, which carry one stream.
    MultiTcp(MultiTcpFlow),
}

impl Traffic {
    /// Whether it wants to hear of handovers of the stations at its ends.
    pub(crate) fn asks_for_handovers(&self) -> bool {
        match self {
            Self::Dccp(flow) => flow.remedies.any(),
            Self::Rtc(flow) => flow.hears_of_handovers,
            _ => false,
        }
    }
}

/// A SHAKE flow.
#[derive(Clone, Debug)]
pub struct ShakeFlow {
    /// Settings of both ends.
    pub config: ShakeConfig,
    /// Which path carries new data, by its name in [`fairwave_shake::SCHEDULERS`].
    pub scheduler: String,
    /// How windows grow, by its name in [`fairwave_shake::GROWTHS`].
    pub growth: String,
    /// How much to send; `None` sends until the flow stops.
    pub size: Option<Bytes>,
    /// Its paths, numbered in this order.
    pub paths: Vec<ShakePath>,
}

/// A path of a SHAKE flow. Times count from the flow's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShakePath {
    /// The node that its packets pass, both ways.
    pub via: NodeId,
    /// Its bandwidth as the source was told.
    pub nominal: Option<BitRate>,
    /// When the source joins it.
    pub join: Duration,
    /// When the source leaves it.
    pub leave: Option<Duration>,
}

/// A flow of real-time media.
#[derive(Clone, Debug)]
pub struct RtcFlow {
    /// What the encoder gives; its payload is what a packet carries of a frame.
    pub source: Source,
    /// Whether the encoder follows the congestion control; only a video can.
    pub adapts: bool,
    /// Between which rates the congestion control stays, headers included.
    pub bounds: RtcBounds,
    /// How fast the threshold of its delays adapts.
    pub threshold: Threshold,
    /// From the first packet that is not told of to the feedback that tells of it.
    pub feedback_interval: Duration,
    /// Whether the sender hears of handovers of its station, and leaves out what it observed until
    /// then.
    pub hears_of_handovers: bool,
}

/// A DCCP flow.
#[derive(Clone, Debug)]
pub struct DccpFlow {
    /// Congestion control profile of the data.
    pub ccid: Ccid,
    /// Edition of TFRC.
    pub profile: TfrcProfile,
    /// What its congestion control does about handovers.
    pub remedies: Remedies,
    /// Where its datagrams come from; `None`: there are always some waiting.
    pub source: Option<Source>,
    /// Payload of each datagram in bytes, where there are always some.
    pub payload_bytes: u32,
    /// Datagrams that wait in the connection, at most.
    pub send_queue: u32,
    /// Datagrams that have waited longer are not sent.
    pub send_within: Option<Duration>,
    /// Packets that either end may have in flight (RFC 4340 section 7.5.2).
    pub sequence_window: u64,
}

impl DccpFlow {
    /// The largest payload of its datagrams, in bytes.
    pub fn largest_payload_bytes(&self) -> u32 {
        self.source.as_ref().map_or(self.payload_bytes, Source::largest_payload_bytes)
    }
}

/// A flow of the buffer probe.
#[derive(Clone, Debug)]
pub struct ProbeFlow {
    /// What is sent.
    pub plan: Plan,
    /// What either end allows.
    pub limits: Limits,
    /// The flow, another probe from the same source, whose trains this one watches: both together
    /// say whether their receivers share a queue.
    pub watches: Option<String>,
}

/// A flow of web pages.
#[derive(Clone, Debug)]
pub struct WebFlow {
    /// The connections: `sender` is the server's end, `receiver` the user's; `size` is not used.
    pub tcp: TcpFlow,
    /// What the pages are like.
    pub page: Page,
}

/// A flow of multi-connection SHAKE: one stream over a TCP connection for each path.
#[derive(Clone, Debug)]
pub struct MultiTcpFlow {
    /// The connections, all alike; `source` is not used.
    pub tcp: TcpFlow,
    /// Where each connection leads.
    pub paths: Vec<MultiTcpPath>,
    /// How blocks are spread.
    pub split: Split,
    /// Bytes of a block.
    pub block: u16,
    /// Bytes that either end keeps outside its connections
    /// ([`fairwave_shake::multi::Config::receive_buffer`], and `send_buffer`).
    pub buffer: u32,
}

/// The way of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiTcpPath {
    /// The node that its packets go to first, in both directions.
    pub via: NodeId,
    /// How often it gets a block, with [`Split::Weighted`].
    pub weight: u32,
}

/// A TCP flow.
#[derive(Clone, Debug)]
pub struct TcpFlow {
    /// The sender's end. Ports are overwritten.
    pub sender: tcp::Config,
    /// The receiver's end. Ports are overwritten.
    pub receiver: tcp::Config,
    /// The law, in [`fairwave_cc::ALL`]'s spelling, with wrappers: `"ack-loss+compound"`.
    pub congestion_control: String,
    /// How much to send; `None` sends until the flow stops.
    pub size: Option<Bytes>,
    /// What it sends and when, instead of as much as fits; then `size` is not used.
    pub source: Option<Source>,
}

impl Traffic {
    /// Where its frames come from, if it has any.
    pub const fn source(&self) -> Option<&Source> {
        match self {
            Self::Datagrams(source) => Some(source),
            Self::Tcp(tcp) => tcp.source.as_ref(),
            Self::Dccp(dccp) => dccp.source.as_ref(),
            Self::Rtc(rtc) => Some(&rtc.source),
            Self::Saturate { .. }
            | Self::Web(_)
            | Self::Probe(_)
            | Self::Shake(_)
            | Self::MultiTcp(_) => None,
        }
    }

    /// The nodes that its paths pass, by their numbers; none where its packets go the shortest way.
    pub fn vias(&self) -> Vec<NodeId> {
        match self {
            Self::Shake(shake) => shake.paths.iter().map(|path| path.via).collect(),
            Self::MultiTcp(multi) => multi.paths.iter().map(|path| path.via).collect(),
            _ => Vec::new(),
        }
    }
}
