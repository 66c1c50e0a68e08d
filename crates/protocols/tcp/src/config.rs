//! Configuration of a connection: the table of its options, and their descriptions.

use crate::declare::options;
use core::ops::RangeInclusive;
use fairwave_cc::{AckLossOptions, Decision, Exclusions, TcpAvConfig};
use fairwave_units::Duration;

const MICROSECOND: Duration = Duration::from_micros(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
/// Sizes of buffers in bytes: from a maximum 802.11 MSDU to the limit of window scaling.
const BUFFERS: RangeInclusive<u32> = 2304..=1 << 30;

options! {
    /// Options with a key in scenarios, in the order of its documentation.
    KEYS {
        /// Largest segment payload.
        ///
        /// In bytes, without options; this end neither sends nor wants more. The timestamps option
        /// is taken off it (RFC 6691).
        mss: u16 = 1460, Size(64..=2256);
        /// Send buffer.
        ///
        /// In bytes: unacknowledged and unsent data.
        send_buffer: u32 = 4 << 20, Size(BUFFERS);
        /// Lets the send buffer grow to twice the congestion window, at most to this, or "off".
        ///
        /// In bytes (Linux, `tcp_sndbuf_expand`).
        send_buffer_max: Option<u32> = None, SizeOr("off", BUFFERS);
        /// Receive buffer; bounds the advertised window.
        ///
        /// In bytes.
        receive_buffer: u32 = 4 << 20, Size(BUFFERS);
        /// Lets the receive buffer grow with the data read in a round trip, at most to this, or
        /// "off".
        ///
        /// In bytes (Fisk and Feng, "Dynamic right-sizing in TCP", 2001).
        receive_buffer_max: Option<u32> = None, SizeOr("off", BUFFERS);
        /// Offer window scaling (RFC 7323).
        window_scaling: bool = true, Switch;
        /// Offer timestamps (RFC 7323).
        timestamps: bool = false, Switch;
        /// Tick of the timestamp clock.
        ///
        /// RFC 7323 section 5.4: 1 ms to 1 s; Linux can do 1 us.
        timestamp_tick: Duration = MILLISECOND, Time(MICROSECOND..=SECOND);
        /// Offer selective acknowledgements (RFC 2018).
        sack: bool = true, Switch;
        /// Report data that arrived twice (RFC 2883), with `sack`.
        dsack: bool = false, Switch;
        /// With SACK, keep the reported ranges when the retransmission timer expires, unless the
        /// receiver dropped them (RFC 6675 section 5.1); else discard them (RFC 2018 section 8).
        keep_sacks: bool = false, Switch;
        /// Offer explicit congestion notification (RFC 3168).
        ecn: bool = false, Switch;
        /// With SACK, spread the reduction of a recovery over its ACKs (RFC 6937).
        ///
        /// A congestion control algorithm that governs its recoveries itself is left alone.
        prr: bool = false, Switch;
        /// With SACK, find losses by time, and probe for lost tails (RFC 8985).
        rack: bool = false, Switch;
        /// With timestamps, undo timeouts and recoveries that were needless (RFC 3522, RFC 4015).
        eifel: bool = false, Switch;
        /// Detect by the ACKs after a timeout whether it was needless, and undo it (F-RTO, RFC
        /// 5682).
        ///
        /// After a timeout new data leaves first.
        frto: bool = false, Switch;
        /// Delayed acknowledgements: "on", "off" or a table.
        delayed_ack: DelayedAck =
            DelayedAck { every: 2, timeout: Duration::from_millis(200) }, Acks;
        /// Segments acknowledged at once before ACKs are delayed, at the start, after idleness and
        /// around gaps.
        ///
        /// A maximum (Linux: 16); zero delays from the first.
        quick_acks: u32 = 0, Count(0..=64);
        /// Send the delayed ACK when the application has read all, if a segment with PSH or a short
        /// one came.
        ///
        /// Data of this end carries the ACK instead (Linux, `__tcp_cleanup_rbuf`).
        ack_on_read: bool = false, Switch;
        /// Open the advertised window by two segments for each that arrives, which is acknowledged
        /// at once with `quick_acks`, instead of as far as the buffer goes.
        ///
        /// Linux, `tcp_grow_window`.
        rcv_ssthresh: bool = false, Switch;
        /// Set PSH on the last of the segments that leave together, too.
        ///
        /// In runs of the length that a kernel hands to its network card (Linux,
        /// `__tcp_transmit_skb`, `tcp_tso_autosize`), beside the last segment of each write.
        psh_each_burst: bool = false, Switch;
        /// Hold back small segments while anything is outstanding (RFC 9293 section 3.7.4).
        nagle: bool = false, Switch;
        /// Initial window.
        ///
        /// RFC 3390: 3 segments for an MSS of 1460; RFC 6928: 10.
        initial_window_segments as "initial_window": u32 = 3, Segments(1..=1000);
        /// Initial slow start threshold, or "unlimited".
        ///
        /// In bytes.
        initial_ssthresh: Option<u32> = None, SizeOr("unlimited", 1..=1 << 30);
        /// Congestion avoidance counts acknowledged bytes (RFC 3465) rather than ACKs (RFC 5681
        /// equation 3).
        byte_counting: bool = true, Switch;
        /// Maximum growth by one ACK in slow start (L of RFC 3465), or "unlimited": all that it
        /// acknowledges.
        ///
        /// Linux has no limit (`tcp_slow_start`).
        slow_start_segments as "slow_start_limit": Option<u32> = Some(1),
            SegmentsOr("unlimited", 1..=1000);
        /// In slow start, let the window grow to twice the data in flight, although it was not
        /// full.
        ///
        /// Because the receiver or the application held the data back (Linux,
        /// `tcp_is_cwnd_limited`).
        slow_start_headroom: bool = false, Switch;
        /// After a silence of more than the RTO, lower the congestion window to the initial one
        /// (RFC 5681 section 4.1).
        ///
        /// If not, the congestion control algorithm does not learn of the silence (Linux,
        /// `tcp_slow_start_after_idle`).
        slow_start_after_idle: bool = true, Switch;
        /// A loss lowers ssthresh from the congestion window, not from FlightSize (RFC 5681
        /// equation 4).
        ///
        /// So does a mark or a timeout, and PRR compares with the window, too. FlightSize is less
        /// where the receiver holds the data back (Linux, `tcp_reno_ssthresh`,
        /// `tcp_init_cwnd_reduction`).
        reduce_window: bool = false, Switch;
        /// Lost ACKs within a round trip that mean congestion, for algorithms that watch ACKs.
        ///
        /// Hashimoto, Hasegawa, Murata 2008: 1 in their runs. The literal count is the advance: 2
        /// for one lost ACK.
        thresh_ack_losses: u32 = 1, Count(1..=1_000_000);
        /// Time of the decision on lost ACKs: "round-end", or "count", with the ACK that reaches
        /// `thresh_ack_losses`.
        ack_loss_decision: Decision = Decision::RoundEnd, Decision;
        /// After a reaction to lost ACKs, let a round pass without one; "usual" is as the algorithm
        /// has it.
        ///
        /// Without a pause for `ack-loss-literal+`, with one for the others.
        ack_loss_pause: Option<bool> = None, SwitchOr("usual");
        /// ACKs and rounds in which lost ACKs do not count: a list of "recovery", "sacked",
        /// "timeout" and "data-loss", or "usual": as the algorithm has it.
        ///
        /// None for `ack-loss-literal+`, all for the others.
        ack_loss_exclude: Option<Exclusions> = None, ExclusionsOr("usual");
        /// Duplicate ACKs that mean a loss.
        ///
        /// RFC 5681: 3.
        duplicate_ack_threshold: u32 = 3, Count(1..=255);
        /// RTO before the first sample.
        ///
        /// RFC 6298 section 2: 1 s.
        initial_rto: Duration = SECOND, Time(MILLISECOND..=HOUR);
        /// Least RTO.
        ///
        /// RFC 6298 section 2: 1 s; Linux: 200 ms.
        min_rto: Duration = SECOND, Time(MILLISECOND..=HOUR);
        /// Greatest RTO.
        ///
        /// RFC 6298 section 2: at least 60 s.
        max_rto: Duration = Duration::from_secs(60), Time(MILLISECOND..=HOUR);
        /// Tick in which round-trip times are measured and the retransmission timer expires, or
        /// "off": exactly.
        ///
        /// 4.3BSD: 500 ms; zero is exact.
        timer_tick: Duration = Duration::ZERO, TimeOr("off", MICROSECOND..=SECOND);
        /// Expiries in a row before the connection is given up.
        ///
        /// For the same data (RFC 9293: R2 of at least 100 s).
        max_retries: u32 = 15, Count(1..=255);
        /// Duration of TIME-WAIT.
        ///
        /// Twice the maximum segment lifetime.
        time_wait: Duration = Duration::from_secs(60), Time(Duration::ZERO..=HOUR);
    }

    /// Options that stacks and packet scripts alone set.
    INNER {
        /// Acknowledge data with the flag CWR at once.
        ///
        /// Its sender may have a window of one segment left (Linux, `tcp_ecn_accept_cwr`).
        ack_cwr: bool = false, Switch;
        /// Bound of proportional rate reduction.
        prr_bound: ReductionBound = ReductionBound::SlowStart, Bound;
        /// Where the algorithm sets a rate, the time whose data may leave at once, at least a
        /// segment.
        ///
        /// Zero spaces every segment.
        pacing_quantum: Duration = Duration::ZERO, Time(Duration::ZERO..=SECOND);
        /// The minimum RTO bounds the term 4 RTTVAR rather than the sum SRTT + 4 RTTVAR.
        ///
        /// The timeout is then always longer than the round trip by that much (Linux,
        /// `__tcp_set_rto`).
        min_rto_over_srtt: bool = false, Switch;
        /// Expiries of a SYN in a row that leave the RTO as it is, before it backs off.
        ///
        /// Linux, `tcp_syn_linear_timeouts`.
        linear_syn_timeouts: u32 = 0, Count(0..=255);
        /// The first window shrinks to a segment only if the SYN was retransmitted twice or more,
        /// and if the peer's timestamps do not show that the first one had arrived.
        ///
        /// They time the round trip, too (Linux, `tcp_init_transfer` and
        /// `tcp_try_undo_spurious_syn`).
        tolerant_handshake: bool = false, Switch;
        /// Maximum number of challenge ACKs in five seconds (RFC 5961 section 7).
        challenge_acks: u32 = 10, Count(0..=u32::MAX);
    }
}

impl Config {
    /// Options of an algorithm that watches ACKs.
    pub fn ack_loss(&self) -> AckLossOptions {
        AckLossOptions {
            threshold: self.thresh_ack_losses.into(),
            decision: self.ack_loss_decision,
            pause: self.ack_loss_pause,
            exclude: self.ack_loss_exclude,
        }
    }

    /// Finds the option called `name`, with or without a key in scenarios.
    pub fn option(name: &str) -> Option<&'static ConfigOption> {
        Self::KEYS.iter().chain(Self::INNER).find(|option| option.name == name)
    }
}

/// Time at which the receiver acknowledges (RFC 9293 section 3.8.6.3, RFC 5681 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Acknowledge at the latest with this many full-sized segments: 1 switches delaying off,
    /// 2 is the standard, more makes stretch ACKs.
    pub every: u32,
    /// And at the latest after this time; the standard allows up to 500 ms.
    pub timeout: Duration,
}

/// Bound of proportional rate reduction once the data in flight is below its aim (RFC 6937 section
/// 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReductionBound {
    /// CRB: no more than is delivered.
    Conservative,
    /// SSRB: a segment more for each ACK, as in slow start.
    #[default]
    SlowStart,
    /// The same, but only for an ACK that advances and shows no further loss (RFC 9937 section 5,
    /// SafeACK; Linux).
    SafeAck,
}

impl ReductionBound {
    /// Every bound, and its name.
    pub const ALL: [(&'static str, Self); 3] = [
        ("conservative", Self::Conservative),
        ("slow-start", Self::SlowStart),
        ("safe-ack", Self::SafeAck),
    ];
}

/// Description of an option of [`Config`], from which other crates make their views.
#[derive(Debug)]
pub struct ConfigOption {
    /// Name in scenarios and packet scripts.
    pub name: &'static str,
    /// Documentation as it stands in the table, paragraphs apart by an empty line.
    about: &'static str,
    /// Whether two configurations have the same value.
    pub is_same: fn(&Config, &Config) -> bool,
    /// Form and range of its values, and access to them.
    pub kind: OptionKind,
}

impl ConfigOption {
    /// Returns the description for users: the first paragraph of the documentation.
    pub fn sentence(&self) -> &'static str {
        self.about.split("\n\n").next().unwrap_or_default()
    }
}

/// Access to the value of one option.
#[derive(Debug)]
pub struct OptionField<T> {
    /// Returns the value.
    pub get: fn(&Config) -> T,
    /// Replaces the value.
    pub set: fn(&mut Config, T),
}

/// Form and range of an option's values, and access to them. Kinds that end in `Or` have a word
/// that stands for none.
#[derive(Debug)]
pub enum OptionKind {
    /// On or off.
    Switch(OptionField<bool>),
    /// On or off, or none.
    SwitchOr(OptionField<Option<bool>>, &'static str),
    /// A number.
    Count(OptionField<u32>, RangeInclusive<u32>),
    /// A number of segments.
    Segments(OptionField<u32>, RangeInclusive<u32>),
    /// A number of segments, or none.
    SegmentsOr(OptionField<Option<u32>>, &'static str, RangeInclusive<u32>),
    /// A number of bytes.
    Size(OptionField<u32>, RangeInclusive<u32>),
    /// A number of bytes, or none.
    SizeOr(OptionField<Option<u32>>, &'static str, RangeInclusive<u32>),
    /// A time.
    Time(OptionField<Duration>, RangeInclusive<Duration>),
    /// A time, or none.
    TimeOr(OptionField<Option<Duration>>, &'static str, RangeInclusive<Duration>),
    /// Rule for delayed acknowledgements.
    Acks(OptionField<DelayedAck>),
    /// Bound of proportional rate reduction.
    Bound(OptionField<ReductionBound>),
    /// Time of the decision on lost ACKs.
    Decision(OptionField<Decision>),
    /// ACKs and rounds in which lost ACKs do not count, or none.
    ExclusionsOr(OptionField<Option<Exclusions>>, &'static str),
}

/// Conversion between the type of a field and that of its [`OptionKind`].
trait Stored<T> {
    fn load(self) -> T;
    fn store(value: T) -> Self;
}

impl<T> Stored<T> for T {
    fn load(self) -> T {
        self
    }

    fn store(value: T) -> Self {
        value
    }
}

impl Stored<u32> for u16 {
    fn load(self) -> u32 {
        self.into()
    }

    fn store(value: u32) -> Self {
        value.try_into().unwrap_or(Self::MAX)
    }
}

/// Zero stands for none.
impl Stored<Option<Duration>> for Duration {
    fn load(self) -> Option<Duration> {
        (!self.is_zero()).then_some(self)
    }

    fn store(value: Option<Duration>) -> Self {
        value.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
