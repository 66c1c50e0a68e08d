//! Interface of a congestion control profile of DCCP (RFC 4340 section 10).
//!
//! A connection has two half-connections. Of each, the profile has two halves: a [`Sender`] at the
//! source of the data, which decides when a packet may go, and a [`Receiver`] at their destination,
//! which decides when to acknowledge and with which options. Both get every packet that passes;
//! packets here are sequence-valid, and none comes twice.

use core::fmt;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::dccp::{Kind, Options, Seq48, Value};
use fairwave_wire::ipv4::Ecn;

/// Number of a congestion control profile (RFC 4340 section 10, table 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ccid(pub u8);

impl Ccid {
    /// TCP-like (RFC 4341).
    pub const TCP_LIKE: Self = Self(2);
    /// TFRC (RFC 4342).
    pub const TFRC: Self = Self(3);
    /// TFRC for small packets (RFC 5622).
    pub const TFRC_SP: Self = Self(4);
}

impl fmt::Display for Ccid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CCID {}", self.0)
    }
}

/// Whether a data packet may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// At once.
    Now,
    /// Not before then. A time that has come is as [`Permit::Now`].
    At(Instant),
    /// Not before feedback comes or the sender's own deadline passes.
    Wait,
}

/// A packet that this end has just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub seq: Seq48,
    /// Application data in bytes; `None` if it is a packet without any.
    pub data: Option<u32>,
    /// Length from the DCCP header on, in bytes.
    pub wire_len: u32,
    /// With which ECN field it was sent.
    pub ecn: Ecn,
    /// Whether more data wait to be sent.
    pub more: bool,
}

/// Report in a packet of the other end on the packets sent here.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Number of the packet that brings it.
    pub seq: Seq48,
    /// Its type; one without an acknowledgement number is no feedback.
    pub kind: Kind,
    /// The greatest number that the other end has received.
    pub ack: Seq48,
    /// ECN field with which it arrived.
    pub ecn: Ecn,
    /// All its options, those about the other half-connection too.
    pub options: &'a Options,
}

/// The unit of times in options (RFC 4340 section 13).
pub(crate) const TICK: Duration = Duration::from_micros(10);

/// Time for which the other end kept the packet that it acknowledges: Elapsed Time, or that of a
/// Timestamp Echo (RFC 4340 sections 13.2 and 13.3).
pub(crate) fn elapsed(options: &Options) -> Option<Duration> {
    let mut elapsed = None;
    for value in options.values() {
        match value {
            Value::ElapsedTime(ticks) => elapsed = Some(TICK * u64::from(ticks)),
            Value::TimestampEcho { elapsed: ticks, .. } => {
                elapsed = elapsed.or(Some(TICK * u64::from(ticks)));
            }
            _ => {}
        }
    }
    elapsed
}

/// A packet of the other end that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// Its number.
    pub seq: Seq48,
    /// Its type.
    pub kind: Kind,
    /// Application data in bytes; `None` if it is a packet without any.
    pub data: Option<u32>,
    /// Length from the DCCP header on, in bytes.
    pub wire_len: u32,
    /// Four bits of the other end's sender.
    pub ccval: u8,
    /// ECN field with which it arrived.
    pub ecn: Ecn,
    /// All its options, those about the other half-connection too.
    pub options: &'a Options,
}

/// Event of a roaming host for its transports, if they ask for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Handover {
    /// The host has chosen a new access point, and leaves the present one soon or now.
    Expected {
        /// Rate that may be free there for one more sender, if known.
        free: Option<BitRate>,
    },
    /// Nothing gets through from now on.
    Started,
    /// The new access point serves this host.
    Ended {
        /// Rate that may be free there for one more sender, if known.
        free: Option<BitRate>,
    },
}

/// State of a sender; `None` where its profile does not have it, or not yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderStats {
    /// Allowed sending rate in bytes a second.
    pub rate: Option<f64>,
    /// Smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// Time after which missing feedback counts as congestion.
    pub timeout: Option<Duration>,
    /// The receive rate reported by the other end, in bytes a second.
    pub receive_rate: Option<f64>,
    /// Loss event rate; zero if nothing was lost so far.
    pub loss_event_rate: Option<f64>,
    /// Mean loss interval in packets.
    pub mean_loss_interval: Option<f64>,
    /// Congestion window in packets.
    pub cwnd: Option<u32>,
    /// Slow start threshold in packets.
    pub ssthresh: Option<u32>,
    /// Data packets thought to be under way.
    pub pipe: Option<u32>,
    /// Reductions for loss or marks.
    pub congestion_events: u64,
    /// Expiries of the timer for missing feedback.
    pub timeouts: u64,
}

/// State of a receiver; `None` where its profile does not have it, or not yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceiverStats {
    /// Loss event rate; zero if nothing was lost so far.
    pub loss_event_rate: Option<f64>,
    /// Round-trip time that the other end's packets imply.
    pub rtt: Option<Duration>,
    /// The receive rate of the last feedback, in bytes a second.
    pub receive_rate: Option<f64>,
}

/// The half of a profile where data come from.
pub trait Sender: fmt::Debug + Send {
    /// The profile.
    fn ccid(&self) -> Ccid;

    /// Returns whether a data packet with `bytes` of application data may go. Asked only while data
    /// wait, so that a sender that must wait was not limited by its application.
    fn permit(&mut self, now: Instant, bytes: u32) -> Permit;

    /// The four bits CCVal of the data packet that is sent now.
    fn ccval(&mut self, _now: Instant) -> u8 {
        0
    }

    /// Adds options to the data packet or acknowledgement that is sent now.
    fn options(&mut self, _now: Instant, _options: &mut Options) {}

    /// Whether an acknowledgement should go at once for the sake of these options, if no data do.
    fn is_due(&self) -> bool {
        false
    }

    /// Whether it wants to notify the other end's receiver of handovers.
    fn notifies_handovers(&self) -> bool {
        false
    }

    /// Whether the other end's receiver heeds such notifications.
    fn set_handovers_heeded(&mut self, _heeds: bool) {}

    /// A packet was sent, with data or without.
    fn on_sent(&mut self, now: Instant, sent: &Sent);

    /// A packet of the other end arrived, of any type. One with an acknowledgement number comes
    /// as [`Sender::on_feedback`] too.
    fn on_arrival(&mut self, _now: Instant, _arrived: &Arrived<'_>) {}

    /// A packet with an acknowledgement number arrived.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);

    /// The handshake took this round-trip time, and no data packet was sent so far.
    fn on_handshake_rtt(&mut self, _now: Instant, _rtt: Duration) {}

    /// Time has come. Early or repeated calls do nothing.
    fn wake(&mut self, now: Instant);

    /// Returns the time to [`Sender::wake`]. The time of a [`Permit::At`] is not in it: the caller
    /// keeps that.
    fn deadline(&self) -> Option<Instant>;

    /// The host runs, and packets may go now. Feedback arrived earlier by the time for which it
    /// waited in a socket.
    fn act(&mut self, _now: Instant) {}

    /// Whether the other end must send Ack Vectors (RFC 4340 section 11.5).
    fn needs_ack_vector(&self) -> bool {
        false
    }

    /// Returns whether the next data packet should acknowledge too, so that the other end can
    /// forget its reports (RFC 4340 section 11.1).
    fn wants_to_acknowledge(&self) -> bool {
        false
    }

    /// The Ack Ratio that it wants the other end to have (RFC 4340 section 11.3).
    fn ack_ratio(&self) -> Option<u16> {
        None
    }

    /// Handles a handover of this end, or of the other one as far as this end knows.
    fn on_handover(&mut self, _now: Instant, _handover: Handover) {}

    /// Returns its state.
    fn stats(&self) -> SenderStats;
}

/// The half of a profile where data arrive.
pub trait Receiver: fmt::Debug + Send {
    /// The profile.
    fn ccid(&self) -> Ccid;

    /// A packet arrived, with data or without.
    fn on_packet(&mut self, now: Instant, arrived: &Arrived<'_>);

    /// Whether an acknowledgement should go out now.
    fn is_due(&self, now: Instant) -> bool;

    /// Adds options to the Ack or DataAck that is sent now and acknowledges `ack`, the greatest
    /// number that arrived. Afterwards nothing is due.
    fn acknowledge(&mut self, now: Instant, ack: Seq48, options: &mut Options);

    /// The other end's Ack Ratio is this from now on; zero if it does not use one.
    fn set_ack_ratio(&mut self, _ratio: u16) {}

    /// Whether the other end wants Loss Event Rate options (RFC 4342 section 8.4).
    fn set_send_loss_event_rate(&mut self, _sends: bool) {}

    /// Whether this end heeds the other one's notifications of handovers.
    fn set_heeds_handovers(&mut self, _heeds: bool) {}

    /// Time has come. Early or repeated calls do nothing.
    fn wake(&mut self, now: Instant);

    /// Returns the time to [`Receiver::wake`].
    fn deadline(&self) -> Option<Instant>;

    /// Handles a handover of this end, or of the other one as far as this end knows.
    fn on_handover(&mut self, _now: Instant, _handover: Handover) {}

    /// Returns its state.
    fn stats(&self) -> ReceiverStats {
        ReceiverStats::default()
    }
}
