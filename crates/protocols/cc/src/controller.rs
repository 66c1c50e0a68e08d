//! The contract between a TCP sender and a congestion control algorithm.

use crate::{AckLossOptions, Fraction, TcpAvConfig};
use core::fmt::Debug;
use fairwave_units::{BitRate, Duration, Instant};

/// Parameters of a new congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initial {
    /// Sender maximum segment size in bytes (SMSS of RFC 5681).
    pub mss: u32,
    /// Initial window in bytes (RFC 5681 section 3.1, RFC 6928).
    pub cwnd: u32,
    /// Initial slow start threshold in bytes; "arbitrarily high" is `u32::MAX`.
    pub ssthresh: u32,
    /// Whether congestion avoidance counts the bytes that ACKs acknowledge (RFC 3465), or the
    /// ACKs (RFC 5681 equation 3). It matters where ACKs are delayed or lost.
    pub byte_counting: bool,
    /// Segments that one ACK adds at most in slow start (L of RFC 3465; one in RFC 5681). More
    /// than one suits receivers that merge segments; slow start then ends at `ssthresh` exactly.
    pub slow_start_segments: u32,
    /// Target of `tcp-av`; other algorithms ignore it.
    pub av: TcpAvConfig,
    /// Options of algorithms that watch ACKs; others ignore them.
    pub ack_loss: AckLossOptions,
}

/// End of fast recovery when the connection has no SACK. With SACK, RFC 6675 rules for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// At the first ACK that advances (RFC 5681 section 3.2).
    Reno,
    /// When everything outstanding at its start is acknowledged (RFC 6582).
    NewReno,
}

/// Delivery rate measured over one flight (draft-cheng-iccrg-delivery-rate-estimation section 3.3).
/// The measured segment is the one sent last among the segments that the ACK newly covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in `interval` (rs.delivered).
    pub delivered: u32,
    /// The longer of the send and the ACK interval (rs.interval). Zero where the draft calls the
    /// sample unreliable: it was shorter than the minimum RTT.
    pub interval: Duration,
    /// Value of [`AckEvent::delivered`] when the measured segment left (rs.prior_delivered). At or
    /// above its value at the start of a round, a round trip is over.
    pub prior_delivered: u64,
    /// The application, not the network, may have set the rate (rs.is_app_limited).
    pub is_app_limited: bool,
}

impl RateSample {
    /// The delivery rate; `None` for an unreliable sample.
    pub fn rate(&self) -> Option<BitRate> {
        let reliable = !self.interval.is_zero();
        reliable.then(|| BitRate::over(u64::from(self.delivered), self.interval))
    }
}

/// An ACK that acknowledged new data, cumulatively or by SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckEvent {
    /// Time at which it arrived.
    pub now: Instant,
    /// Bytes by which the cumulative acknowledgement advanced; zero for a pure SACK.
    pub acked: u32,
    /// Bytes newly covered by SACK blocks above the cumulative acknowledgement.
    pub sacked: u32,
    /// Stream offset of the first unacknowledged byte after this ACK (SND.UNA, 64 bit).
    pub una: u64,
    /// Stream offset of the next byte to be sent for the first time (SND.NXT, 64 bit).
    pub next: u64,
    /// Bytes in flight before this ACK (RFC 6675 `pipe`, or SND.NXT - SND.UNA without SACK).
    pub flight: u32,
    /// Bytes in flight after this ACK, without those in `lost`.
    pub flight_after: u32,
    /// Bytes that this ACK newly revealed as lost.
    pub lost: u32,
    /// Bytes delivered since the connection began, by cumulative acknowledgement or SACK, this
    /// ACK's among them (C.delivered of draft-cheng-iccrg-delivery-rate-estimation).
    pub delivered: u64,
    /// The delivery rate by this ACK; `None` where no segment it covers carries a sample.
    pub rate: Option<RateSample>,
    /// The round-trip sample that this ACK gave, by Karn's rule or by timestamps.
    pub rtt: Option<Duration>,
    /// Whether fast recovery was on before this ACK. The ACK that ends recovery still has it set.
    pub in_recovery: bool,
    /// Whether the window, not the application or the receiver, limited the sender when the
    /// acknowledged data left (RFC 7661, "cwnd-limited").
    pub cwnd_limited: bool,
    /// Whether a retransmitted segment lies in the acknowledged range.
    pub covers_retransmission: bool,
    /// Bytes from the old SND.UNA to the start of the segment whose timestamp this ACK echoes,
    /// where timestamps are on and that segment is known. RFC 7323 section 4.3 makes the
    /// receiver echo the first segment since its last ACK: above zero, an ACK was lost.
    pub echo_gap: Option<u32>,
}

/// Loss found by duplicate ACKs or SACK: fast recovery begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossEvent {
    /// Time at which it was found.
    pub now: Instant,
    /// FlightSize of RFC 5681 in bytes at that moment: sent and not cumulatively acknowledged. A
    /// stack may give the congestion window in its place (Linux).
    pub flight: u32,
    /// As [`AckEvent::una`], by the ACK that showed it: [`Controller::on_ack`] may follow for that
    /// ACK. A reduction whose `next` is not above it has ended.
    pub una: u64,
    /// As [`AckEvent::next`]: losses below this offset belong to the same event.
    pub next: u64,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoEvent {
    /// Time at which it expired.
    pub now: Instant,
    /// FlightSize in bytes at that moment, less the bytes that SACK reports as received; or the
    /// congestion window, as in [`LossEvent::flight`].
    pub flight: u32,
    /// One for the first expiry for the segment at SND.UNA, then 2, 3, ... as the timer backs off.
    /// RFC 5681 section 3.1: ssthresh is lowered on the first only.
    pub backoff: u32,
    /// The timeout replaces a recovery whose ssthresh stays (Linux, `tcp_enter_loss`).
    pub keeps_ssthresh: bool,
}

impl RtoEvent {
    /// Whether ssthresh is lowered.
    pub fn lowers(&self) -> bool {
        self.backoff <= 1 && !self.keeps_ssthresh
    }
}

/// A congestion control algorithm. Windows are in bytes.
///
/// Distinct events have distinct methods on purpose: an algorithm that could not distinguish a
/// timeout from a fast retransmit would be wrong for both. Those with a default body are optional.
pub trait Controller: Debug + Send {
    /// Its name in [`crate::ALL`]'s spelling, with wrappers: `"ack-loss+reno"`.
    fn name(&self) -> String;

    /// Returns the end of recovery without SACK for this variant.
    fn recovery(&self) -> Recovery {
        Recovery::NewReno
    }

    /// New data was acknowledged. Called in recovery too (see [`AckEvent::in_recovery`]).
    fn on_ack(&mut self, ack: &AckEvent);

    /// Whether [`Controller::cwnd`] says during fast recovery how much may be in flight, so that
    /// the sender must not spread the reduction by its own rule (proportional rate reduction,
    /// RFC 6937). An algorithm for which this is false has its ssthresh as cwnd in recovery.
    fn governs_recovery(&self) -> bool {
        false
    }

    /// Loss was found and fast recovery begins. [`Controller::cwnd`] must now be the window to
    /// use for recovery: ssthresh without inflation, unless [`Controller::governs_recovery`].
    fn on_loss(&mut self, loss: &LossEvent);

    /// Fast recovery ended: everything outstanding at its start is acknowledged.
    fn on_recovery_end(&mut self, now: Instant) {
        let _ = now;
    }

    /// The retransmission timer expired.
    fn on_rto(&mut self, rto: &RtoEvent);

    /// Handles the echo of a congestion mark (RFC 3168 section 6.1.2): the window is lowered as for
    /// a lost segment, by the algorithm's own factor, but nothing is retransmitted and recovery
    /// does not begin, so growth continues in congestion avoidance. `loss.next` bounds the window
    /// of data of this reaction; there is one reaction per window, however often the method is
    /// called.
    fn on_ecn(&mut self, loss: &LossEvent) {
        self.on_loss(loss);
    }

    /// The last [`Controller::on_loss`] or [`Controller::on_rto`] was spurious (RFC 3522, RFC
    /// 5682): cwnd and ssthresh return to their values before it, unless they are larger by now
    /// (RFC 4015 section 3.2). A mark or lost ACKs answered since then leave nothing to undo.
    fn on_spurious(&mut self, now: Instant) {
        let _ = now;
    }

    /// ACKs were lost on the way back, as [`crate::AckLoss`] found. The default does nothing.
    /// An algorithm that takes part lowers its window as for a lost segment, without recovery, by
    /// the fraction `part` of that reduction (at most one).
    fn on_ack_loss(&mut self, loss: &LossEvent, part: Fraction) {
        let _ = (loss, part);
    }

    /// Sending resumes after `idle` without anything in flight (RFC 5681 section 4.1).
    fn on_idle_restart(&mut self, idle: Duration) {
        let _ = idle;
    }

    /// Handles a change of the path under the connection (handover): estimates may be void.
    fn on_path_change(&mut self, now: Instant) {
        let _ = now;
    }

    /// Congestion window in bytes: how much may be in flight.
    fn cwnd(&self) -> u32;

    /// Slow start threshold in bytes; `u32::MAX` while none is set.
    fn ssthresh(&self) -> u32;

    /// The rate to pace at; `None` sends as the window opens.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Lost ACKs inferred so far; zero for an algorithm that does not watch.
    fn acks_lost(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_without_an_interval_tells_no_rate() {
        let sample = RateSample {
            delivered: 125_000,
            interval: Duration::from_millis(100),
            ..RateSample::default()
        };
        assert_eq!(sample.rate(), Some(BitRate::mbps(10)));
        assert_eq!(RateSample { interval: Duration::ZERO, ..sample }.rate(), None);
    }
}
