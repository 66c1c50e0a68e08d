//! The vocabulary of observation.
//!
//! Every observation becomes a [`Sample`] and goes to a [`Sink`]; no library prints. Counters are
//! cumulative from the start of the run, so that any interval can be formed afterwards. A sink
//! states beforehand which [`Kind`]s it wants, and no other sample is made.
//!
//! The crate stores nothing: `fairwave-lab` has the sinks that write run directories. A host asks
//! [`Sink::wants`] once, before the run, and calls [`Sink::record`] with times that never decrease,
//! except for frames, which are recorded when they end.
//!
//! ```
//! use fairwave_trace::{Kind, QueueId, QueueSample, Sample, Sink};
//! use fairwave_units::Instant;
//!
//! /// The longest queue of a run.
//! #[derive(Default)]
//! struct Longest(u32);
//!
//! impl Sink for Longest {
//!     fn wants(&self, kind: Kind) -> bool {
//!         kind == Kind::Queue
//!     }
//!     fn record(&mut self, _: Instant, sample: &Sample) {
//!         if let Sample::Queue(_, queue) = sample {
//!             self.0 = self.0.max(queue.packets);
//!         }
//!     }
//! }
//!
//! let mut longest = Longest::default();
//! for packets in [3, 12, 5] {
//!     let queue = QueueSample { packets, ..QueueSample::default() };
//!     longest.record(Instant::ZERO, &Sample::Queue(QueueId(0), queue));
//! }
//! assert_eq!(longest.0, 12);
//! ```

pub mod analysis;

use fairwave_units::{BitRate, Db, Dbm, Duration, Instant};
use fairwave_wire::datagram::{Contents, Datagram};
use fairwave_wire::soc;

/// Version of the sample vocabulary, recorded in every run directory. It grows when a field
/// changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// Index of a flow in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Index of a node in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Index of a queue in the scenario: every wired port and every radio has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

/// Reason for which a packet ended before its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue was full.
    QueueFull,
    /// The MAC gave up after its retry limit.
    RetryLimit,
    /// A wired link lost it.
    LinkLoss,
    /// No route led to its destination.
    NoRoute,
    /// Active queue management: it had waited too long.
    Aqm,
    /// A later acknowledgement in the same queue had all its information.
    AckFiltered,
}

impl DropCause {
    /// Every cause, in the order of columns and tables.
    pub const ALL: [Self; 6] = [
        Self::QueueFull,
        Self::RetryLimit,
        Self::LinkLoss,
        Self::NoRoute,
        Self::Aqm,
        Self::AckFiltered,
    ];

    /// Its name in columns and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::RetryLimit => "retry_limit",
            Self::LinkLoss => "link_loss",
            Self::NoRoute => "no_route",
            Self::Aqm => "aqm",
            Self::AckFiltered => "ack_filtered",
        }
    }

    /// Its meaning, as a sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::QueueFull => "The queue was full when the packet came.",
            Self::RetryLimit => "The MAC gave the frame up after its retry limit.",
            Self::LinkLoss => "A wired link lost the packet, as its key `loss` asks.",
            Self::NoRoute => "No route led to the packet's destination.",
            Self::Aqm => "Active queue management dropped the packet, as it had waited too long.",
            Self::AckFiltered => "A later ACK in the same queue had all that this one had.",
        }
    }
}

/// The samples that a sink wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Sample::Flow`].
    Flow,
    /// [`Sample::Queue`].
    Queue,
    /// [`Sample::Station`].
    Station,
    /// [`Sample::Drop`].
    Drop,
    /// [`Sample::Frame`].
    Frame,
    /// [`Sample::Association`].
    Association,
    /// [`Sample::Soc`].
    Soc,
    /// [`Sample::Path`].
    Path,
    /// [`Sample::Pair`].
    Pair,
    /// [`Sample::Delay`] and [`Sample::DelayBin`].
    Delay,
}

/// The state of one flow. Window fields are zero for UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowSample {
    /// Bytes that the receiving application has read, cumulative.
    pub delivered_bytes: u64,
    /// Segments or datagrams sent by the flow's source, retransmissions included, cumulative.
    pub sent_packets: u64,
    /// Retransmitted segments, cumulative.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer, cumulative.
    pub timeouts: u64,
    /// Entries into fast recovery, cumulative.
    pub fast_recoveries: u64,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow start threshold in bytes; `u32::MAX` while unset.
    pub ssthresh: u32,
    /// Bytes in flight.
    pub flight: u32,
    /// Smoothed round-trip time, once sampled.
    pub srtt: Option<Duration>,
    /// Retransmission timeout in force.
    pub rto: Duration,
    /// Pure ACKs that the flow's sink has sent, cumulative.
    pub acks_sent: u64,
    /// Pure ACKs of this flow that were dropped on their way, cumulative (ground truth).
    pub acks_dropped: u64,
    /// Pure ACKs of this flow that gave way to later ones in a queue, cumulative. They are not
    /// among the dropped: their information has not been lost.
    pub acks_filtered: u64,
    /// Lost ACKs that the sender inferred, cumulative (zero where it does not infer them).
    pub acks_lost_inferred: u64,
    /// A kernel's TCP carries the flow. Its entries into fast recovery and its inferred lost ACKs
    /// are unknown: these counters are zero.
    pub is_of_kernel: bool,
    /// The proxy that it passes, if it does; then the fields above are those of the sender.
    pub proxy: Option<ProxySample>,
    /// Playback of its viewer, if it has one.
    pub playout: Option<VideoSample>,
    /// The rate that its congestion control allows, where that decides by rates.
    pub rate: Option<RateSample>,
}

/// The state of one path of a flow that has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSample {
    /// Whether it carries data: it has joined, has not left and is not taken for dead.
    pub is_up: bool,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow start threshold in bytes; `u32::MAX` while unset.
    pub ssthresh: u32,
    /// Bytes in flight.
    pub flight: u32,
    /// Smoothed round-trip time, once sampled.
    pub srtt: Option<Duration>,
    /// Retransmission timeout in force.
    pub rto: Duration,
    /// Bytes that are known to have arrived over it, copies among them, cumulative.
    pub delivered_bytes: u64,
    /// Segments of data sent on it, cumulative.
    pub sent_packets: u64,
    /// Retransmissions among them, on whatever path, cumulative.
    pub retransmissions: u64,
    /// Expiries of its retransmission timer, cumulative.
    pub timeouts: u64,
}

/// Playback of a viewer since the warm-up, or the start before that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoSample {
    /// Frames shown.
    pub shown: u64,
    /// Frames that were received, but not the frames that they depend on.
    pub undecodable: u64,
    /// Frames that arrived after their time.
    pub late: u64,
    /// Frames passed over because they were not there.
    pub missed: u64,
    /// Freezes, one under way included.
    pub freezes: u64,
    /// Time frozen, all together.
    pub frozen: Duration,
    /// Time that the clock of the playout stood still.
    pub stalled: Duration,
}

/// State of a rate-based congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// The rate that it allows.
    pub allowed: BitRate,
    /// Loss event rate, of loss events to packets, where the algorithm uses it; zero if nothing was
    /// lost so far.
    pub loss_event_rate: Option<f64>,
    /// Mean loss interval in packets, once there was a loss.
    pub mean_loss_interval: Option<f64>,
}

/// The state of a flow's proxy: of its connection with the flow's sink.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProxySample {
    /// Bytes from the source that the sink has not acknowledged to the proxy.
    pub held_bytes: u64,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow start threshold in bytes; `u32::MAX` while unset.
    pub ssthresh: u32,
    /// Bytes in flight.
    pub flight: u32,
    /// Smoothed round-trip time, once sampled.
    pub srtt: Option<Duration>,
    /// Retransmission timeout in force.
    pub rto: Duration,
    /// Segments sent, retransmissions included, cumulative.
    pub sent_packets: u64,
    /// Retransmitted segments, cumulative.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer, cumulative.
    pub timeouts: u64,
    /// Entries into fast recovery, cumulative.
    pub fast_recoveries: u64,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// Packets that entered, cumulative.
    pub enqueued: u64,
    /// Packets dropped, cumulative, by [`DropCause::ALL`]'s order.
    pub drops: [u64; DropCause::ALL.len()],
}

/// The state of one radio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationSample {
    /// Attempts at unicast data frames, by data frame or by RTS, retries included, cumulative.
    pub attempts: u64,
    /// Attempts without an acknowledgement, cumulative.
    pub failures: u64,
    /// Failed attempts whose data or RTS frame overlapped another transmission, cumulative.
    pub collisions: u64,
    /// Data frames acknowledged, cumulative.
    pub successes: u64,
    /// Data frames dropped at the retry limit, cumulative.
    pub retry_drops: u64,
    /// Time spent transmitting data, RTS and beacons, cumulative.
    pub airtime: Duration,
    /// Time spent transmitting ACK and CTS, cumulative.
    pub control_airtime: Duration,
    /// Contention window now; with EDCA, of best effort.
    pub cw: u32,
    /// Level over noise of the last frame addressed to this radio that it decoded.
    pub snr: Option<Db>,
    /// Level over noise, at its receiver, of the last frame of this radio that was decoded.
    pub peer_snr: Option<Db>,
}

/// Transmissions of a radio to one receiver. All but `last` is cumulative. Sums over PPDUs serve
/// for means: divided by `ppdus`, of the whole run or of any interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairSample {
    /// Data PPDUs sent, retransmissions included.
    pub ppdus: u64,
    /// Of them those without ACK or BlockAck.
    pub failures: u64,
    /// MPDUs in the data PPDUs: one in each that is no A-MPDU.
    pub mpdus: u64,
    /// Of them retransmissions.
    pub retries: u64,
    /// Bytes of the PSDUs of the data PPDUs.
    pub psdu_bytes: u64,
    /// Sum of the data PPDUs' MCS; see [`Ppdu::mcs`].
    pub mcs_sum: u64,
    /// Sum of their spatial streams.
    pub streams_sum: u64,
    /// Sum of their widths in MHz.
    pub width_mhz_sum: u64,
    /// Sum of their bit rates in bits per second.
    pub rate_bps_sum: u64,
    /// Time spent transmitting data, RTS and BlockAckReqs for the receiver; beacons if it is
    /// everybody.
    pub airtime: Duration,
    /// Time spent transmitting ACK, BlockAck and CTS to the receiver, and CTS to itself ahead of
    /// data for it.
    pub control_airtime: Duration,
    /// Mode of the last data PPDU, and its bit rate.
    pub last: Option<(Ppdu, BitRate)>,
}

/// Summary of many durations. Quantiles are off by at most 0.4 % of their value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: Duration,
    /// The shortest.
    pub least: Duration,
    /// Half are not longer.
    pub median: Duration,
    /// 90 of 100 are not longer.
    pub p90: Duration,
    /// 95 of 100 are not longer.
    pub p95: Duration,
    /// 99 of 100 are not longer.
    pub p99: Duration,
    /// 999 of 1000 are not longer.
    pub p999: Duration,
    /// The longest.
    pub most: Duration,
}

/// One bin of the distribution of durations. It is no wider than 1 % of where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayBin {
    /// The smallest duration that belongs to it.
    pub from: Duration,
    /// The smallest duration beyond it.
    pub to: Duration,
    /// Number of durations that belong to it.
    pub count: u64,
}

/// A station's Strength of Connection: true, reported and estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SocSample {
    /// Mean level over noise of its access point's frames at the station: the truth, without
    /// fading.
    pub channel: Db,
    /// The station's last reading, fading included.
    pub read: Option<Db>,
    /// Value of its last interval.
    pub reported: Option<Db>,
    /// Estimate of the access point.
    pub soc: Option<Db>,
    /// The station's weight for that estimate, 0 to 1.
    pub weight: f64,
    /// Reports sent in frames of their own, cumulative.
    pub alone: u64,
    /// Reports sent in front of data, cumulative.
    pub in_front: u64,
    /// Reports that the access point accepted, cumulative.
    pub accepted: u64,
    /// Reports that it missed, cumulative.
    pub missed: u64,
    /// Reports that it refused, cumulative.
    pub refused: u64,
}

/// A packet that was dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropSample {
    /// The queue (or the link or radio behind it) where it happened.
    pub queue: QueueId,
    /// Reason.
    pub cause: DropCause,
    /// The flow, where the packet belongs to one.
    pub flow: Option<FlowId>,
    /// The packet.
    pub datagram: Datagram,
}

/// Content of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameBody {
    /// A data frame.
    Data(Datagram),
    /// A data frame that holds nothing but the report of [`FrameSample::report`].
    Report,
    /// An acknowledgement.
    Ack,
    /// An acknowledgement of the MPDUs of an A-MPDU.
    BlockAck(Scoreboard),
    /// A request for a BlockAck of the MPDUs from this sequence number on.
    BlockAckReq(u16),
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Beacon of an access point.
    Beacon,
}

/// Content of a BlockAck on its receiver's MPDUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scoreboard {
    /// Sequence number that the first bit stands for: of the oldest MPDU that its sender is not
    /// done with.
    pub start: u16,
    /// A bit for each MPDU from there on that arrived, the first in the lowest bit.
    pub arrived: [u64; 4],
    /// Whether its bitmap covers 256 MPDUs, and not 64.
    pub is_long: bool,
}

/// Place of a data frame within its PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the PPDU among those of its channel.
    pub ppdu: u64,
    /// Whether the PPDU is an A-MPDU.
    pub is_ampdu: bool,
    /// Whether the MPDU is alone in it.
    pub is_alone: bool,
    /// Whether the MPDU is its last.
    pub is_last: bool,
    /// Whether the payload is one of an A-MSDU.
    pub is_amsdu: bool,
    /// Whether the next of its kind is the next payload of the same A-MSDU.
    pub goes_on: bool,
}

/// Generation of a PPDU's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpduFormat {
    /// DSSS and HR-DSSS.
    Dsss,
    /// OFDM, non-HT.
    Ofdm,
    /// HT-mixed (802.11n).
    Ht,
    /// VHT (802.11ac).
    Vht,
    /// HE single user (802.11ax).
    He,
}

/// Transmission mode of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ppdu {
    /// Format.
    pub format: PpduFormat,
    /// MCS; of HT that of one stream, and before HT the position in the list of rates.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Width in MHz.
    pub width_mhz: u16,
    /// Guard interval in nanoseconds.
    pub guard_ns: u16,
    /// Whether the code is LDPC, not convolutional.
    pub is_ldpc: bool,
}

/// A frame put on the air; of an A-MSDU each payload is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameSample {
    /// The transmitter.
    pub transmitter: NodeId,
    /// The receiver; `None` for broadcast.
    pub receiver: Option<NodeId>,
    /// Source and destination of a data frame beyond the radio hop; if it is to pass a certain node
    /// first, that node.
    pub ends: Option<(NodeId, NodeId)>,
    /// Its rate.
    pub rate: BitRate,
    /// Its transmission mode.
    pub ppdu: Ppdu,
    /// Traffic identifier of a QoS data frame, of its BlockAck and of a BlockAckReq, 0..8.
    pub tid: Option<u8>,
    /// Place of a data frame.
    pub place: Option<Place>,
    /// Level at the receiver (at the strongest hearer for broadcast).
    pub signal: Dbm,
    /// Time on the air.
    pub airtime: Duration,
    /// Value of the Duration/ID field in microseconds.
    pub duration_us: u16,
    /// Sequence number of a data or beacon frame, 0..4096.
    pub sequence: u16,
    /// Retry bit.
    pub retry: bool,
    /// Its content.
    pub body: FrameBody,
    /// A report of a Strength of Connection ([`fairwave_wire::soc`]) in front of that.
    pub report: Option<soc::Written>,
    /// Whether the intended receiver decoded it (for broadcast: whether anybody did).
    pub received: bool,
}

/// One observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// State of a flow.
    Flow(FlowId, FlowSample),
    /// State of a queue.
    Queue(QueueId, QueueSample),
    /// State of a radio.
    Station(NodeId, StationSample),
    /// A packet was dropped.
    Drop(DropSample),
    /// A frame was on the air; recorded when it ends, `at` being its start.
    Frame(FrameSample),
    /// A station's association changed: its access point from now on, or none.
    Association(NodeId, Option<NodeId>),
    /// State of a station that reports its Strength of Connection.
    Soc(NodeId, SocSample),
    /// State of a path of a flow, by its number.
    Path(FlowId, u8, PathSample),
    /// Transmissions of a radio to a receiver; `None` is broadcast.
    Pair(NodeId, Option<NodeId>, PairSample),
    /// One-way delays of a flow's deliveries since its last sample; `None` without any.
    Delay(FlowId, Option<Times>),
    /// A bin of a flow's delays in the measured span; recorded at the end of the run.
    DelayBin(FlowId, DelayBin),
    /// A packet passed a tapped node.
    Packet(PacketSample),
}

/// A packet that a node sent or received: as an end host by whatever interface, else by wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketSample {
    /// The node.
    pub node: NodeId,
    /// Source and destination of the packet; if it is to pass a certain node first, that node.
    pub ends: (NodeId, NodeId),
    /// The packet.
    pub datagram: Datagram,
}

/// Takes samples. Implementations may fail later; recording itself cannot.
pub trait Sink {
    /// Whether samples of this kind should be made at all; asked once, before the run.
    fn wants(&self, kind: Kind) -> bool;
    /// Takes one sample.
    fn record(&mut self, at: Instant, sample: &Sample);
    /// Takes the contents of a packet that has just been made, which its datagrams in later samples
    /// leave out. Called for a sink that wants [`Sample::Frame`]s or taps a node.
    fn note_contents(&mut self, _: &Datagram, _: Contents) {}
    /// Whether [`Sample::Packet`]s of this node should be made; asked once, before the run.
    fn taps(&self, _: NodeId) -> bool {
        false
    }
}

/// A sink that wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Sink for Discard {
    fn wants(&self, _: Kind) -> bool {
        false
    }
    fn record(&mut self, _: Instant, _: &Sample) {}
}
