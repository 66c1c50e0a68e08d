//! Configuration of a connection.

use fairwave_cc::TcpAvConfig;
use fairwave_units::Duration;

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

/// Configuration of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// This end's port.
    pub local_port: u16,
    /// The other end's port.
    pub remote_port: u16,
    /// Largest segment payload in bytes that this end sends or wants, without options. The
    /// timestamps option is taken off it (RFC 6691).
    pub mss: u16,
    /// Send buffer in bytes: unacknowledged and unsent data.
    pub send_buffer: u32,
    /// Let the send buffer grow with the congestion window, to twice it and at most to this
    /// many bytes (Linux, `tcp_sndbuf_expand`); `None` fixes it.
    pub send_buffer_most: Option<u32>,
    /// Receive buffer in bytes; bounds the advertised window.
    pub receive_buffer: u32,
    /// Let the receive buffer grow with the data that the application reads in a round trip, at
    /// most to this many bytes (Fisk and Feng, "Dynamic right-sizing in TCP", 2001); `None` fixes
    /// it.
    pub receive_buffer_most: Option<u32>,
    /// Offer window scaling (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 section 3).
    pub timestamps: bool,
    /// Tick of the timestamp clock (RFC 7323 section 5.4: 1 ms to 1 s; Linux can do 1 us).
    pub timestamp_tick: Duration,
    /// Offer selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// With SACK, keep the peer's reports when the retransmission timer expires, unless the peer
    /// has dropped the data (reneged). RFC 2018 section 8 has a sender discard them, RFC 6675
    /// section 5.1 has it use them.
    pub keep_sacks: bool,
    /// Offer explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Acknowledge data with the flag CWR at once: its sender may have a window of one segment
    /// left (Linux, `tcp_ecn_accept_cwr`).
    pub ack_cwr: bool,
    /// Report data that arrived twice (RFC 2883); needs `sack`.
    pub dsack: bool,
    /// With SACK, spread the reduction of a recovery over its ACKs (RFC 6937), unless the law
    /// governs its recoveries itself.
    pub prr: bool,
    /// The bound of that.
    pub prr_bound: ReductionBound,
    /// With SACK, find losses by the time since departure, and probe for lost tails (RFC 8985).
    pub rack: bool,
    /// With timestamps, find out that a timeout or recovery was needless, and have the law undo
    /// it (RFC 3522, RFC 4015).
    pub eifel: bool,
    /// After a timeout send new data first, to see whether outstanding data arrives after all, and
    /// have the congestion control algorithm undo a needless reduction (RFC 5682).
    pub frto: bool,
    /// Delayed acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Maximum number of segments that are acknowledged at once before ACKs are delayed, at the
    /// start, after idleness and around gaps (Linux: 16); zero delays from the first.
    pub quick_acks: u32,
    /// Send the ACK that is delayed when the application has read all, if a segment with PSH or a
    /// short one came, and this end does not answer with data (Linux, `__tcp_cleanup_rbuf`).
    pub ack_on_read: bool,
    /// Open the advertised window by two segments for each that arrives, which is acknowledged at
    /// once, instead of as far as the buffer goes (Linux, `tcp_grow_window`).
    pub gradual_window: bool,
    /// Set PSH on the last of the segments that leave together, in runs of the length that a kernel
    /// hands to its network card (Linux, `__tcp_transmit_skb`, `tcp_tso_autosize`), beside the last
    /// segment of each write.
    pub push_bursts: bool,
    /// Hold back small segments while anything is outstanding (RFC 9293 section 3.7.4).
    pub nagle: bool,
    /// Initial window in segments (RFC 3390: 3 for an MSS of 1460; RFC 6928: 10).
    pub initial_window_segments: u32,
    /// Initial slow start threshold in bytes; `None` is arbitrarily high.
    pub initial_ssthresh: Option<u32>,
    /// Whether congestion avoidance counts acknowledged bytes (RFC 3465) rather than ACKs (RFC
    /// 5681 equation 3).
    pub byte_counting: bool,
    /// Segments that one ACK adds at most in slow start (L of RFC 3465); `None` adds all that it
    /// acknowledges (Linux, `tcp_slow_start`).
    pub slow_start_segments: Option<u32>,
    /// In slow start the window grows to at most twice the data in flight, although the receiver or
    /// the application held the data back and the window was not full (Linux,
    /// `tcp_is_cwnd_limited`).
    pub slow_start_headroom: bool,
    /// A loss, mark or timeout lowers ssthresh from the congestion window, to which PRR compares,
    /// too. RFC 5681 equation 4 lowers it from FlightSize, which is less where the receiver holds
    /// the data back (Linux, `tcp_reno_ssthresh`, `tcp_init_cwnd_reduction`).
    pub reduce_window: bool,
    /// Target of the algorithm `tcp-av`; other algorithms ignore it.
    pub av: TcpAvConfig,
    /// Where the algorithm sets a rate, the time whose data may leave at once, at least a segment.
    /// Zero spaces every segment.
    pub pacing_quantum: Duration,
    /// Duplicate ACKs that mean a loss (RFC 5681: 3).
    pub duplicate_ack_threshold: u32,
    /// RTO before the first sample (RFC 6298 section 2: 1 s).
    pub initial_rto: Duration,
    /// Minimum RTO (RFC 6298 section 2: 1 s; Linux 200 ms).
    pub min_rto: Duration,
    /// Round-trip times are measured, and the retransmission timer expires, in such ticks (4.3BSD:
    /// 500 ms); zero is exact.
    pub timer_tick: Duration,
    /// The minimum RTO bounds the term 4 RTTVAR rather than the sum SRTT + 4 RTTVAR, so that the
    /// timeout is always longer than the round trip by that much (Linux, `__tcp_set_rto`).
    pub min_rto_over_srtt: bool,
    /// Expiries of a SYN in a row that leave the RTO as it is, before it backs off (Linux,
    /// `tcp_syn_linear_timeouts`).
    pub linear_syn_timeouts: u32,
    /// The first window shrinks to a segment only if the SYN was retransmitted twice or more, and
    /// if the peer's timestamps do not show that the first one had arrived; they time the round
    /// trip, too (Linux, `tcp_init_transfer` and `tcp_try_undo_spurious_syn`).
    pub tolerant_handshake: bool,
    /// Greatest RTO (RFC 6298 section 2: at least 60 s).
    pub max_rto: Duration,
    /// Expiries in a row for the same data before the connection is given up (RFC 9293: R2 of
    /// at least 100 s).
    pub max_retries: u32,
    /// Duration of TIME-WAIT: twice the maximum segment lifetime.
    pub time_wait: Duration,
    /// Maximum number of challenge ACKs in five seconds (RFC 5961 section 7).
    pub challenge_acks: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            local_port: 0,
            remote_port: 0,
            mss: 1460,
            send_buffer: 4 << 20,
            send_buffer_most: None,
            receive_buffer: 4 << 20,
            receive_buffer_most: None,
            window_scaling: true,
            timestamps: false,
            timestamp_tick: Duration::from_millis(1),
            sack: true,
            keep_sacks: false,
            ecn: false,
            ack_cwr: false,
            dsack: false,
            prr: false,
            prr_bound: ReductionBound::SlowStart,
            rack: false,
            eifel: false,
            frto: false,
            delayed_ack: DelayedAck { every: 2, timeout: Duration::from_millis(200) },
            quick_acks: 0,
            ack_on_read: false,
            gradual_window: false,
            push_bursts: false,
            nagle: false,
            initial_window_segments: 3,
            initial_ssthresh: None,
            byte_counting: true,
            slow_start_segments: Some(1),
            slow_start_headroom: false,
            reduce_window: false,
            av: TcpAvConfig::DEFAULT,
            pacing_quantum: Duration::ZERO,
            duplicate_ack_threshold: 3,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            timer_tick: Duration::ZERO,
            min_rto_over_srtt: false,
            linear_syn_timeouts: 0,
            tolerant_handshake: false,
            max_rto: Duration::from_secs(60),
            max_retries: 15,
            time_wait: Duration::from_secs(60),
            challenge_acks: 10,
        }
    }
}
