//! Configuration of a connection, and the profiles of the paper and of today.

use crate::{Blest, Growth, RetransmissionPath, Scheduler, Uncoupled, Widest};
use fairwave_units::Duration;

/// Detection of a loss before a timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// After this number of acknowledgements in a row that do not advance, the first segment is
    /// lost (RFC 5681 section 3.2, over all paths together, as in TCP SHAKE).
    Duplicates(u32),
    /// After echoes of this number of later messages of the same path, or of one where 9/8 of the
    /// round-trip time is over (as RFC 9002 section 6.1, per path). Reordering between paths means
    /// nothing.
    Echoes(u32),
}

/// Bookkeeping that decides which segments of a path are in flight, and hence when its timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutRule {
    /// By segment: one is in flight until its own echo, a cumulative acknowledgement or a SACK
    /// block shows its arrival, over whichever path that comes, or until it is found lost.
    Arrivals,
    /// By counts of the segments sent on the path and of the acknowledgements received on it (TCP
    /// SHAKE section 2.3): each acknowledgement stands for one segment. After a loss, also of an
    /// acknowledgement, one segment stays in flight until the timer expires, even if fast
    /// retransmit has repaired it. With detection by [`LossDetection::Echoes`], which needs each
    /// message's fate, and with a redundant scheduler this is as `Arrivals`.
    Counts,
}

/// Settings of a connection. Both ends may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum payload of a segment in bytes.
    pub mss: u32,
    /// Bytes written and not acknowledged that are kept.
    pub send_buffer: u32,
    /// Bytes received and not read that are kept, gaps included.
    pub receive_buffer: u32,
    /// Window of a path at its start, in bytes.
    pub initial_window: u32,
    /// Slow start threshold of a path at its start, in bytes.
    pub initial_ssthresh: u32,
    /// Detection of losses.
    pub loss_detection: LossDetection,
    /// Maximum number of SACK blocks in an acknowledgement, up to
    /// [`MAX_BLOCKS`](fairwave_wire::shake::MAX_BLOCKS); zero is a connection without SACK.
    pub sack_blocks: usize,
    /// Bookkeeping behind the timer of a path.
    pub timeouts: TimeoutRule,
    /// Whether a timeout of one path retransmits all data that is not known to have arrived,
    /// whichever path carries it: `snd_nxt` returns to `snd_una` as in BSD (TCP SHAKE sections
    /// 2.2.1 and 2.3), and SACK spares the data that it has reported. Without SACK it always does.
    pub timeout_rewinds: bool,
    /// Path of retransmissions.
    pub retransmission: RetransmissionPath,
    /// Whether the next best path repeats it while the chosen one's window is full. The paper's
    /// sender waits.
    pub retransmission_spills: bool,
    /// Whether a window grows only while it limits the sender (RFC 7661).
    pub validate_window: bool,
    /// Whether a path's segments are spread over its round-trip time: 5/4 of window over round-trip
    /// time, twice that in slow start (as Linux does), ten segments at once after a pause.
    pub pacing: bool,
    /// Bound of a path's data in flight, in multiples of the data of its minimum round-trip time,
    /// so that a deeper queue does not keep the receive window of others (after Ferlin et al.,
    /// IWQoS 2014). Zero: the window alone.
    pub max_round_trips: u32,
    /// Queueing delay that does not bound it, whatever the minimum: a busy processor, or a cell
    /// with A-MPDUs, delays that much where the round trip takes a fraction of a millisecond.
    pub permitted_queue: Duration,
    /// Whether a path that could send, but for the receive window or for want of new data, repeats
    /// data that another path is holding back (opportunistic retransmission: Raiciu et al., NSDI
    /// 2012, section 4.2). That path's window is not halved for it, as they do: see
    /// `docs/models/shake.md`.
    pub opportunistic: bool,
    /// Whether a path that costs the others more than it brings is on standby: it carries copies
    /// alone, which cost them nothing, until it pays (see `docs/models/shake.md`).
    pub standby: bool,
    /// Time that the regular paths may need for the bytes that wait before those of priority
    /// [`Backup`](crate::Priority::Backup) carry data too. Priorities act with `standby` alone.
    pub backup_after: Duration,
    /// Whether a path whose timer has expired gets copies alone until one is acknowledged, if
    /// another path works. Otherwise it gets the data of its window of one segment.
    pub suspects_get_copies: bool,
    /// Timeout before the first sample.
    pub initial_rto: Duration,
    /// Least timeout.
    pub min_rto: Duration,
    /// Maximum, with back-off.
    pub max_rto: Duration,
    /// Round-trip times are measured and timers expire in such ticks (4.3BSD: 500 ms); zero is
    /// exact.
    pub tick: Duration,
    /// Timeouts in a row after which a path is dead: it carries probes alone until one is
    /// acknowledged.
    pub dead_after: u32,
    /// Longest time between probes of a dead path.
    pub probe_interval: Duration,
    /// A connection without any path that works ends after this time.
    pub give_up: Duration,
    /// Maximum number of different path ids in the life of a connection.
    pub max_paths: usize,
}

/// The exchangeable parts of a connection.
#[derive(Debug)]
pub struct Rules {
    /// Choice of the path for the next new segment.
    pub scheduler: Box<dyn Scheduler>,
    /// Growth of windows in congestion avoidance.
    pub growth: Box<dyn Growth>,
}

/// Sets of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Iida, Ishihara and Mizuno: Tables 1 and 8, with the round-trip estimator of 4.3BSD.
    Paper,
    /// For today's links: exact timers, loss found per path, and no waiting for the slowest path.
    Modern,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Paper, Self::Modern];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Modern => "modern",
        }
    }

    /// Its settings.
    pub const fn config(self) -> Config {
        match self {
            Self::Paper => PAPER,
            Self::Modern => MODERN,
        }
    }

    /// Its rules.
    pub fn rules(self) -> Rules {
        let growth = Box::new(Uncoupled);
        match self {
            Self::Paper => Rules { scheduler: Box::new(Widest), growth },
            Self::Modern => Rules { scheduler: Box::new(Blest), growth },
        }
    }
}

/// MSS, buffers (36 segments), ssthresh (20 segments), threshold of duplicates and initial window
/// are the paper's (section 2.2.1, Table 8), as is the rule of timeouts (section 2.3); timers those
/// of 4.3BSD (2 to 128 ticks of 500 ms, 6 s at first). Points that it leaves open, a path's death
/// among them, are Fairwave's choice.
const PAPER: Config = Config {
    mss: 1460,
    send_buffer: 52_560,
    receive_buffer: 52_560,
    initial_window: 1460,
    initial_ssthresh: 29_200,
    loss_detection: LossDetection::Duplicates(10),
    sack_blocks: 3,
    timeouts: TimeoutRule::Counts,
    timeout_rewinds: true,
    retransmission: RetransmissionPath::Widest,
    retransmission_spills: false,
    validate_window: false,
    pacing: false,
    max_round_trips: 0,
    permitted_queue: Duration::ZERO,
    opportunistic: false,
    standby: false,
    backup_after: BACKUP_AFTER,
    suspects_get_copies: false,
    initial_rto: Duration::from_secs(6),
    min_rto: Duration::from_secs(1),
    max_rto: Duration::from_secs(64),
    tick: Duration::from_millis(500),
    dead_after: 5,
    probe_interval: Duration::from_secs(8),
    give_up: Duration::from_secs(600),
    max_paths: 16,
};

/// Longest wait that does not make a user pay for a metered link: Fairwave's.
const BACKUP_AFTER: Duration = Duration::from_secs(2);

/// RFC 6928 and RFC 6298 with the minimum timeout of Linux. The MSS leaves room for the format's
/// head and seal behind IPv6 and UDP in 1500 bytes.
const MODERN: Config = Config {
    mss: 1400,
    send_buffer: 8_000_000,
    receive_buffer: 4_000_000,
    initial_window: 14_000,
    initial_ssthresh: u32::MAX,
    loss_detection: LossDetection::Echoes(3),
    sack_blocks: 8,
    timeouts: TimeoutRule::Arrivals,
    timeout_rewinds: false,
    retransmission: RetransmissionPath::MinRttOverDelivery,
    retransmission_spills: true,
    validate_window: true,
    pacing: true,
    max_round_trips: 2,
    permitted_queue: Duration::from_millis(10),
    opportunistic: true,
    standby: true,
    backup_after: BACKUP_AFTER,
    suspects_get_copies: true,
    initial_rto: Duration::from_secs(1),
    min_rto: Duration::from_millis(200),
    max_rto: Duration::from_secs(60),
    tick: Duration::ZERO,
    dead_after: 3,
    probe_interval: Duration::from_secs(1),
    give_up: Duration::from_secs(60),
    max_paths: 32,
};
