//! The kind of a TCP packet, exactly one for each.

/// The kind of a TCP packet within its connection. The tests are made in an order that
/// `docs/models/trace.md` gives, so that the counts of a direction add up to its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// SYN, with or without ACK, for the first time.
    Syn,
    /// RST.
    Reset,
    /// New payload (with or without FIN), or a FIN alone for the first time.
    Data,
    /// Retransmitted at the second or later duplicate ACK, at once (within 20 ms).
    FastRetransmission,
    /// Retransmitted from the first unacknowledged byte after a silence that suggests that the
    /// retransmission timer expired.
    Timeout,
    /// The last segment, retransmitted after a silence too short for the retransmission timer.
    TailProbe,
    /// Retransmitted because SACK blocks (RFC 2018) report data beyond it.
    SackRetransmission,
    /// Retransmitted in another way: later in a recovery without SACK, or going back after a
    /// timeout.
    Retransmission,
    /// Retransmitted although an ACK for all of it had passed before.
    Spurious,
    /// Older than the packets seen before it, and not seen yet: reordered before the capture.
    OutOfOrder,
    /// At most a byte, just below the next sequence number.
    KeepAlive,
    /// A byte into a window of zero.
    WindowProbe,
    /// An ACK alone that says something new, or repeats itself for no known reason.
    Ack,
    /// An ACK alone that repeats the last, window and all.
    DuplicateAck,
    /// An ACK alone that repeats the last with another window.
    WindowUpdate,
    /// Answer to a keep-alive.
    KeepAliveAck,
    /// Answer to a window probe, the window still being zero.
    WindowProbeAck,
}

impl Kind {
    /// Every kind, in the order of columns and of [`Self::index`].
    pub const ALL: [Self; 17] = [
        Self::Syn,
        Self::Reset,
        Self::Data,
        Self::FastRetransmission,
        Self::Timeout,
        Self::TailProbe,
        Self::SackRetransmission,
        Self::Retransmission,
        Self::Spurious,
        Self::OutOfOrder,
        Self::KeepAlive,
        Self::WindowProbe,
        Self::Ack,
        Self::DuplicateAck,
        Self::WindowUpdate,
        Self::KeepAliveAck,
        Self::WindowProbeAck,
    ];

    /// Its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name in columns and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::Reset => "reset",
            Self::Data => "data",
            Self::FastRetransmission => "fast_retransmission",
            Self::Timeout => "timeout",
            Self::TailProbe => "tail_probe",
            Self::SackRetransmission => "sack_retransmission",
            Self::Retransmission => "retransmission",
            Self::Spurious => "spurious_retransmission",
            Self::OutOfOrder => "out_of_order",
            Self::KeepAlive => "keep_alive",
            Self::WindowProbe => "window_probe",
            Self::Ack => "ack",
            Self::DuplicateAck => "duplicate_ack",
            Self::WindowUpdate => "window_update",
            Self::KeepAliveAck => "keep_alive_ack",
            Self::WindowProbeAck => "window_probe_ack",
        }
    }

    /// Returns whether tshark would call it `tcp.analysis.retransmission`: all six kinds.
    pub const fn is_retransmission(self) -> bool {
        matches!(
            self,
            Self::FastRetransmission
                | Self::Timeout
                | Self::TailProbe
                | Self::SackRetransmission
                | Self::Retransmission
                | Self::Spurious
        )
    }

    /// Whether it is an ACK and nothing else.
    pub const fn is_acknowledgement(self) -> bool {
        matches!(
            self,
            Self::Ack
                | Self::DuplicateAck
                | Self::WindowUpdate
                | Self::KeepAliveAck
                | Self::WindowProbeAck
        )
    }
}
