//! The sender of CCID 3 and 4 (RFC 4342, section 5).

#[cfg(test)]
mod tests;

use super::Variant;
use super::counter::WindowCounter;
use super::extend::Extender;
use super::log::{Entry, Log};
use super::notice::{Notifier, Phase};
use super::receiver::DROPPED_PACKETS;
use super::reported::{Reported, ReportedIntervals, Rules};
use crate::ccid::{Ccid, Feedback, Handover, Permit, SenderStats, Sent, elapsed};
use crate::tfrc::average::{Method, N};
use crate::tfrc::equation::loss_rate_for;
use crate::tfrc::{self, Headers, InitialWindow, Profile, Remedies, Report, Sensitivity};
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::dccp::{DropCode, Dropped, Options, Runs, Seq48, Value};

/// The segment size that TFRC-SP puts into the equation, in bytes (RFC 4828, section 4.2).
const NOMINAL_SEGMENT: f64 = 1460.0;
/// Headers that TFRC-SP counts, in bytes: 20 of IPv4 and 16 of DCCP-Data (RFC 5622, section 5).
const SMALL_PACKET_HEADERS: f64 = 36.0;
/// The smallest time between packets of TFRC-SP (RFC 4828, section 4.3).
const SMALL_PACKET_SPACING: Duration = Duration::from_millis(10);

/// Segment size s (RFC 4342, section 5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Segment {
    /// The mean payload of the packets sent, each new one weighing a tenth.
    #[default]
    Mean,
    /// This number of bytes, whatever is sent.
    Fixed(f64),
}

/// Behaviour of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The edition of TFRC to follow. The initial window is that of RFC 3390 in either.
    pub profile: Profile,
    /// The segment size.
    pub segment: Segment,
    /// Whether old loss intervals are discounted (RFC 5348, section 5.5).
    pub discounting: bool,
    /// The filter constant q2, if oscillations are to be reduced (RFC 5348, section 4.5).
    pub oscillation_q2: Option<f64>,
    /// The granularity of the host's timers, t_gran.
    pub granularity: Duration,
    /// Whether a run of losses that took more than a round trip to send is several loss events,
    /// by the times the sender saved (RFC 4342, section 9.2). The receiver cannot know.
    pub split_gap_events: bool,
    /// Remedies for handovers.
    pub remedies: Remedies,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            segment: Segment::default(),
            discounting: true,
            oscillation_q2: None,
            granularity: Duration::ZERO,
            split_gap_events: false,
            remedies: Remedies::default(),
        }
    }
}

/// The half of CCID 3 where data come from.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    variant: Variant,
    rate: tfrc::Sender,
    counter: WindowCounter,
    stamp: u8,
    numbers: Extender,
    log: Log,
    reported: Reported,
    mean_bytes: Option<f64>,
    /// X_recv of the last feedback, in bytes a second.
    receive_rate: Option<f64>,
    /// Loss events that a receiver reported by its loss event rate alone.
    reported_events: u64,
    /// Number that the newest feedback acknowledged, and of the packet that brought it.
    newest_feedback: Option<(u64, Seq48)>,
    /// The greatest number that a Data Dropped option reported.
    dropped_up_to: u64,
    gap: Gap,
    notifier: Notifier,
}

/// The last handover, in sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    /// The first packet sent from one round trip before its start, and the last before its end.
    lost: Option<(u64, u64)>,
    /// The largest receive rate since its end, for remedy E.
    target: f64,
    /// The interval before the first loss event since, once there is one.
    seed: Option<f64>,
}

/// Information of a packet's options for this sender.
#[derive(Clone, Copy, Debug, Default)]
struct OptionsRead {
    elapsed: Option<Duration>,
    x_recv: Option<f64>,
    /// The loss event rate as the receiver computed it.
    p: Option<f64>,
    slow: bool,
    dropped: u64,
}

impl Sender {
    /// A sender that has sent nothing; its packets carry about `segment_bytes`.
    pub fn new(config: SenderConfig, segment_bytes: f64, now: Instant) -> Self {
        Self::of(Variant::Standard, config, segment_bytes, now)
    }

    /// The same for CCID 4.
    pub(crate) fn small_packets(config: SenderConfig, segment_bytes: f64, now: Instant) -> Self {
        Self::of(Variant::SmallPackets, config, segment_bytes, now)
    }

    fn of(variant: Variant, config: SenderConfig, segment_bytes: f64, now: Instant) -> Self {
        let segment = match config.segment {
            Segment::Fixed(bytes) => bytes,
            Segment::Mean => segment_bytes,
        };
        let small = variant == Variant::SmallPackets;
        let headers = Headers { payload_bytes: segment, header_bytes: SMALL_PACKET_HEADERS };
        let rate = tfrc::SenderConfig {
            profile: config.profile,
            initial: InitialWindow::Rfc3390,
            oscillation_q2: config.oscillation_q2,
            granularity: config.granularity,
            remedies: config.remedies,
            min_spacing: if small { SMALL_PACKET_SPACING } else { Duration::ZERO },
            headers: small.then_some(headers),
            ..tfrc::SenderConfig::new(if small { NOMINAL_SEGMENT } else { segment })
        };
        Self {
            config,
            variant,
            rate: tfrc::Sender::new(rate, now),
            counter: WindowCounter::default(),
            stamp: 0,
            numbers: Extender::default(),
            log: Log::new(),
            reported: Reported::new(),
            mean_bytes: None,
            receive_rate: None,
            reported_events: 0,
            newest_feedback: None,
            dropped_up_to: 0,
            gap: Gap::default(),
            notifier: Notifier::default(),
        }
    }

    /// The rate control inside.
    pub fn rate_control(&self) -> &tfrc::Sender {
        &self.rate
    }

    fn measure_segment(&mut self, bytes: u32) {
        let bytes = f64::from(bytes);
        let mean = self.mean_bytes.map_or(bytes, |mean| mean + (bytes - mean) / 10.0);
        self.mean_bytes = Some(mean);
        match (self.config.segment, self.variant) {
            (Segment::Fixed(_), _) => {}
            (Segment::Mean, Variant::Standard) => self.rate.set_segment_bytes(mean),
            (Segment::Mean, Variant::SmallPackets) => self.rate.set_payload_bytes(mean),
        }
    }

    /// Reads the options for this sender; `newest` is the greatest number acknowledged.
    fn read_options(&mut self, options: &Options, ack: Seq48, newest: u64) -> OptionsRead {
        let mut received = OptionsRead { elapsed: elapsed(options), ..OptionsRead::default() };
        for value in options.values() {
            match value {
                Value::ReceiveRate(rate) => received.x_recv = Some(f64::from(rate)),
                Value::LossEventRate(u32::MAX) => received.p = Some(0.0),
                Value::LossEventRate(inverse) => received.p = Some(1.0 / f64::from(inverse.max(1))),
                Value::SlowReceiver => received.slow = true,
                Value::DataDropped(vector) => received.dropped += self.newly_dropped(ack, vector),
                _ => {}
            }
        }
        self.dropped_up_to = self.dropped_up_to.max(newest);
        received
    }

    /// Packets that a Data Dropped option newly reports for other reasons than damage
    /// (RFC 4342, section 5.2): drop codes 0, 1 and 2.
    fn newly_dropped(&self, ack: Seq48, vector: &[u8]) -> u64 {
        let mut dropped = 0;
        for (first, state, count) in Runs::data_dropped(ack, vector) {
            let counts = matches!(state, Dropped::Dropped(code)
                if code.number() <= DropCode::RECEIVE_BUFFER.number());
            let first = self.numbers.of(first).unwrap_or(0);
            if counts {
                dropped += count.min(first.saturating_sub(self.dropped_up_to));
            }
        }
        dropped
    }

    /// X_recv less the rate that the other end could not take (RFC 4342, section 5.2).
    fn believed_rate(&self, received: &OptionsRead, x_in: f64) -> f64 {
        let mut x_drop = f64::INFINITY;
        if received.slow {
            x_drop = x_in;
        }
        if received.dropped > 0 {
            let rtt = self.rate.rtt().map_or(0.0, Duration::as_secs_f64).max(1e-6);
            let packet = self.rate.segment_bytes() / rtt;
            let left = (x_in - received.dropped as f64 * packet).max(x_in.min(packet));
            x_drop = x_drop.min(left);
        }
        x_in.min(x_drop / 2.0)
    }

    fn rules(&self, now: Instant) -> Rules {
        let remedies = self.config.remedies;
        let discount = self.config.discounting.then(|| self.config.profile.discount_threshold());
        let mut rules = Rules { method: Method { n: N, threshold: discount }, ..Rules::default() };
        rules.short = self.rate.rtt().filter(|_| self.variant == Variant::SmallPackets);
        rules.split = self.rate.rtt().filter(|_| self.config.split_gap_events);
        let Some((_, last)) = self.gap.lost else { return rules };
        if remedies.restart && last < u64::MAX {
            rules.forgotten = Some((last + 1, self.gap.seed.unwrap_or(0.0)));
        }
        if self.rate.is_sensitive(now) {
            match remedies.sensitive {
                Some(Sensitivity::Intervals(n)) => rules.method.n = n,
                Some(Sensitivity::Discount(factor)) => {
                    rules.old = Some((last.saturating_add(1), factor));
                }
                None => {}
            }
        }
        rules
    }

    /// Notes the packets of a handover.
    fn set_gap(&mut self, first: u64, last: u64) {
        self.gap = Gap { lost: Some((first, last)), ..Gap::default() };
        if self.config.remedies.leave_out {
            self.reported.leave_out(first, last);
        }
    }

    /// Owes the other end a notice of a handover (remedy B).
    fn notify(&mut self, handover: Handover) {
        let Some(last) = self.numbers.newest() else { return };
        match handover {
            Handover::Expected { .. } => self.notifier.owe(Phase::Expected, last + 1),
            Handover::Started => self.notifier.owe(Phase::Away, last + 1),
            Handover::Ended { .. } => self.notifier.owe(Phase::Over, last),
        }
    }

    /// Returns the loss event rate of the reports.
    fn loss_event_rate(&mut self, now: Instant, x_recv: f64) -> f64 {
        if self.config.remedies.restart && self.gap.seed.is_none() {
            if self.reported.average(&self.rules(now)).is_some() {
                self.gap.seed = Some(self.synthetic_interval());
            } else {
                self.gap.target = self.gap.target.max(x_recv);
            }
        }
        let average = self.reported.average(&self.rules(now));
        average.map_or(0.0, |average| 1.0 / average.interval.max(1.0))
    }

    /// The interval that stands for the rate since the handover (RFC 5348, section 6.3.1).
    fn synthetic_interval(&self) -> f64 {
        let s = self.rate.segment_bytes();
        let rtt = self.rate.rtt().map_or(0.0, Duration::as_secs_f64).max(1e-6);
        1.0 / loss_rate_for(s, rtt, self.gap.target.max(0.5 * s / rtt))
    }

    /// Takes feedback that is complete: elapsed time, receive rate and loss intervals (RFC 4342,
    /// section 6). Linux's receiver reports neither elapsed time nor intervals, but the loss event
    /// rate itself (section 8.5); the time for which it held feedback back is then part of the
    /// round trip.
    fn take(&mut self, now: Instant, loss_report: &ReportedIntervals<'_>, received: &OptionsRead) {
        let unsaid = loss_report.intervals.is_none().then_some(Duration::ZERO);
        let (Some(delay), Some(x_in)) = (received.elapsed.or(unsaid), received.x_recv) else {
            return;
        };
        self.receive_rate = Some(x_in);
        let x_recv = self.believed_rate(received, x_in);
        let (p, new_loss) = match loss_report.intervals {
            Some(_) => {
                let rules = self.rules(now);
                let new_loss = self.reported.take(loss_report, &self.log, &rules);
                (self.loss_event_rate(now, x_recv), new_loss)
            }
            // A receiver that tells no intervals computes their average itself. A rate that goes up
            // tells of a new event; between events it can only fall.
            None => {
                let Some(p) = received.p else { return };
                let new_loss = p > self.rate.p();
                self.reported_events += u64::from(new_loss);
                (p, new_loss)
            }
        };
        // Of a packet forgotten long ago the round-trip time stays what it is.
        let sent = self.log.get(loss_report.ack).map_or_else(
            || now - self.rate.rtt().unwrap_or(Duration::ZERO) - delay,
            |entry| entry.at,
        );
        self.rate.feedback(now, Report { sent, delay, x_recv, p, new_loss });
    }
}

impl crate::ccid::Sender for Sender {
    fn ccid(&self) -> Ccid {
        match self.variant {
            Variant::Standard => Ccid::TFRC,
            Variant::SmallPackets => Ccid::TFRC_SP,
        }
    }

    fn permit(&mut self, now: Instant, _bytes: u32) -> Permit {
        let next = self.rate.next_send();
        if next <= now { Permit::Now } else { Permit::At(next) }
    }

    fn ccval(&mut self, now: Instant) -> u8 {
        self.stamp = self.counter.stamp(now, self.rate.rtt());
        self.stamp
    }

    fn options(&mut self, _now: Instant, options: &mut Options) {
        self.notifier.write(options);
    }

    fn is_due(&self) -> bool {
        self.notifier.is_due()
    }

    fn notifies_handovers(&self) -> bool {
        self.config.remedies.notify
    }

    fn set_handovers_heeded(&mut self, heeds: bool) {
        self.notifier.heeded = heeds && self.config.remedies.notify;
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        let seq = self.numbers.take(sent.seq);
        self.notifier.sent(seq);
        let data = sent.data.is_some();
        self.log.push(seq, Entry { at: now, counter: self.stamp, data });
        if let Some(bytes) = sent.data {
            self.measure_segment(bytes);
            self.rate.sent(now);
        }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let Some(ack) = self.numbers.of(feedback.ack) else { return };
        if self.numbers.greatest().is_none_or(|greatest| ack > greatest) {
            return;
        }
        // By acknowledgement first: one forged packet with a number far ahead would make all
        // feedback old for as many packets, which at the rate without feedback take hours.
        let is_old = |(newest, seq)| ack < newest || (ack == newest && feedback.seq.before(seq));
        if self.newest_feedback.is_some_and(is_old) {
            return;
        }
        self.newest_feedback = Some((ack, feedback.seq));
        let received = self.read_options(feedback.options, feedback.ack, ack);
        if let Some(entry) = self.log.get(ack) {
            self.notifier.acknowledged(ack, entry.data);
            if entry.data {
                self.counter.acknowledged(entry.counter);
            }
            let delay = received.elapsed.unwrap_or(Duration::ZERO);
            self.rate.take_rtt(now, now.since(entry.at).saturating_sub(delay));
        }
        let (mut intervals, mut dropped) = (None, &[][..]);
        for value in feedback.options.values() {
            match value {
                Value::LossIntervals { skip, intervals: loss_report } if intervals.is_none() => {
                    intervals = Some((skip, loss_report));
                }
                Value::Ccid { kind: DROPPED_PACKETS, data } => dropped = data,
                _ => {}
            }
        }
        self.take(now, &ReportedIntervals { ack, intervals, dropped }, &received);
    }

    fn on_handshake_rtt(&mut self, now: Instant, rtt: Duration) {
        self.rate.take_rtt(now, rtt);
    }

    fn act(&mut self, now: Instant) {
        self.rate.act(now);
    }

    fn wake(&mut self, now: Instant) {
        self.rate.wake(now);
    }

    fn deadline(&self) -> Option<Instant> {
        self.rate.deadline()
    }

    fn on_handover(&mut self, now: Instant, handover: Handover) {
        let rtt = self.rate.rtt().unwrap_or(Duration::ZERO);
        let first = self.log.first_since(now - rtt);
        let per_second = |free: BitRate| free.0 as f64 / 8.0;
        self.notify(handover);
        match handover {
            Handover::Expected { free } => self.rate.handover_expected(now, free.map(per_second)),
            Handover::Started => {
                self.set_gap(first, u64::MAX);
                self.rate.handover_started(now);
            }
            Handover::Ended { free } => {
                let first = self.gap.lost.map_or(first, |(first, _)| first);
                let last = self.log.next().saturating_sub(1);
                self.set_gap(first, last);
                self.rate.handover_ended(now, free.map(per_second));
            }
        }
    }

    fn stats(&self) -> SenderStats {
        let p = self.rate.p();
        SenderStats {
            rate: Some(self.rate.rate()),
            rtt: self.rate.rtt(),
            receive_rate: self.receive_rate,
            timeout: Some(self.rate.timeout()),
            loss_event_rate: Some(p),
            mean_loss_interval: (p > 0.0).then(|| 1.0 / p),
            congestion_events: self.reported.events() + self.reported_events,
            timeouts: self.rate.timeouts(),
            ..SenderStats::default()
        }
    }
}
