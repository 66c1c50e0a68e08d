//! The receiver of CCID 3 and 4: loss events by the window counter, feedback once it has gone on
//! by a round trip (RFC 4342, sections 6, 8 and 10).

#[cfg(test)]
mod tests;

use super::counter::{CounterClock, ahead};
use super::extend::Extender;
use super::notice::{HANDOVER, Notice};
use super::watch::{Effect, Watch};
use super::{REPORTED, Variant};
use crate::ccid::{Arrived, Ccid, Handover, ReceiverStats};
use crate::tfrc::equation::loss_rate_for;
use crate::tfrc::history::{Arrival, Blind, History, LossInterval, Rule, View};
use crate::tfrc::{FirstInterval, Meter, Profile, Remedies};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{self, LossIntervals, Options, Seq48, Value};
use fairwave_wire::ipv4::Ecn;

/// Counters of a round trip, after which feedback is due.
const ROUND: u8 = 4;
/// The round-trip time, at most, while the counters have not given one yet; Fairwave's choice, as
/// RFC 4342 has none.
const RTT_UNKNOWN: Duration = Duration::from_millis(200);
/// Bytes of a count in a Dropped Packets option (RFC 5622, section 8.7).
const DROP_COUNT_LEN: usize = 3;
/// The Dropped Packets option.
pub(crate) const DROPPED_PACKETS: u8 = 195;

/// Behaviour of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceiverConfig {
    /// The edition of TFRC to follow.
    pub profile: Profile,
    /// Rate of the interval before the first loss, if it is not that of the edition.
    pub first_interval: Option<FirstInterval>,
    /// Whether to add Loss Event Rate options also where the other end does not ask for them by the
    /// feature Send Loss Event Rate (RFC 4342, section 8.4).
    pub send_loss_event_rate: bool,
    /// Remedies for handovers.
    pub remedies: Remedies,
}

/// The half of CCID 3 where data arrive.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    variant: Variant,
    sends_loss_event_rate: bool,
    numbers: Extender,
    history: History,
    meter: Meter,
    clock: CounterClock,
    /// The greatest number that arrived: when, and with which counter the newest data came.
    newest_at: Instant,
    counter: u8,
    /// The counter when feedback was sent last; `None` before the first data packet.
    last_counter: Option<u8>,
    had_data: bool,
    /// Data have arrived since the last feedback, and count in the receive rate. Without them there
    /// is no feedback: a rate of zero would be the sender's limit (RFC 5348 section 6.1).
    has_unreported_data: bool,
    /// Bytes a data packet carries on average.
    segment_bytes: f64,
    /// The largest receive rate reported.
    target: f64,
    p: f64,
    /// X_recv of the last feedback, in bytes a second.
    reported_rate: Option<f64>,
    due: bool,
    handover_started: Option<Instant>,
    /// The other end may notify this one of handovers.
    heeds: bool,
    watch: Watch,
    /// When the end of the last handover was reported, while no data have come since.
    begins_anew: Option<Instant>,
}

impl Receiver {
    /// A receiver that got nothing yet.
    pub fn new(config: ReceiverConfig) -> Self {
        Self::of(Variant::Standard, config)
    }

    /// The same for CCID 4.
    pub(crate) fn small_packets(config: ReceiverConfig) -> Self {
        Self::of(Variant::SmallPackets, config)
    }

    fn of(variant: Variant, config: ReceiverConfig) -> Self {
        Self {
            config,
            variant,
            sends_loss_event_rate: config.send_loss_event_rate,
            numbers: Extender::default(),
            history: History::new(Rule::Counter, Some(config.profile.discount_threshold())),
            meter: Meter::default(),
            clock: CounterClock::default(),
            newest_at: Instant::ZERO,
            counter: 0,
            last_counter: None,
            had_data: false,
            has_unreported_data: false,
            segment_bytes: 0.0,
            target: 0.0,
            p: 0.0,
            reported_rate: None,
            due: false,
            handover_started: None,
            heeds: false,
            watch: Watch::default(),
            begins_anew: None,
        }
    }

    /// The loss event rate p as the receiver knows it.
    pub fn loss_event_rate(&self) -> f64 {
        self.p
    }

    /// The round-trip time that the counters imply.
    pub fn rtt(&self) -> Option<Duration> {
        self.clock.rtt()
    }

    fn rtt_or_default(&self) -> Duration {
        let unknown = || self.clock.bound().map_or(RTT_UNKNOWN, |bound| bound.min(RTT_UNKNOWN));
        self.clock.rtt().unwrap_or_else(unknown)
    }

    /// Notes data that arrived as number `seq`, newer than all before or not.
    fn take_data(&mut self, now: Instant, counter: u8, bytes: u32, newest: bool) {
        self.has_unreported_data = true;
        let bytes_f = f64::from(bytes);
        if let Some(since) = self.begins_anew.take() {
            self.last_counter = Some(counter);
            if now.since(since) >= self.rtt_or_default() {
                // The sender is slow: what came in that time is its rate.
                self.meter.take(u64::from(bytes));
                self.due = true;
            } else {
                // Feedback follows a round trip later, with a receive rate of that time.
                self.restart_meter(now);
            }
        } else if self.had_data {
            self.meter.take(u64::from(bytes));
            self.segment_bytes += (bytes_f - self.segment_bytes) / 10.0;
        } else {
            self.had_data = true;
            self.meter.restart(now);
            self.segment_bytes = bytes_f;
            self.due = true;
        }
        if newest {
            self.clock.arrive(now, counter);
            self.counter = counter;
            self.due |= self.last_counter.is_some_and(|last| ahead(counter, last) >= ROUND);
        }
    }

    /// The interval before the first loss, which is a packet at least.
    fn seed(&mut self, now: Instant) {
        let of_edition = self.config.profile.first_interval();
        let seed = match self.config.first_interval.unwrap_or(of_edition) {
            FirstInterval::Reported if self.target > 0.0 => self.interval_at(self.target),
            FirstInterval::Reported | FirstInterval::Measured => {
                let rtt = self.rtt_or_default();
                let rate = self.meter.rate(now, rtt);
                self.interval_at(rate)
            }
            FirstInterval::Counted => self.history.before_loss() as f64,
        };
        self.history.seed(seed.max(1.0));
    }

    /// The loss interval at which the equation gives this receive rate in bytes a second, or half
    /// a packet a round trip.
    fn interval_at(&self, rate: f64) -> f64 {
        let rtt = self.rtt_or_default();
        let (s, r) = (self.segment_bytes.max(1.0), rtt.as_secs_f64().max(1e-6));
        1.0 / loss_rate_for(s, r, rate.max(0.5 * s / r))
    }

    /// Reads the notices of a packet and judges the silence before it (remedy B).
    fn follow_handover(&mut self, now: Instant, seq: u64, greatest: u64, options: &Options) {
        if !self.heeds {
            return;
        }
        let silence = now.since(self.newest_at);
        let effect = self.watch.arrive(now, silence, self.rtt_or_default(), greatest);
        self.apply(now, effect);
        for value in options.values() {
            let Value::Ccid { kind: HANDOVER, data } = value else { continue };
            let Some(notice) = Notice::read(data) else { continue };
            let number = self.numbers.of(notice.number).unwrap_or(seq);
            let effect = self.watch.take(now, seq, notice, number);
            self.apply(now, effect);
        }
    }

    /// A handover of this end, which needs no notice: packets up to the greatest that arrived are
    /// from before its end.
    fn follow_own_handover(&mut self, now: Instant, handover: Handover) {
        let effect = match handover {
            Handover::Expected { .. } => Effect::Nothing,
            Handover::Started => self.watch.withhold(now),
            Handover::Ended { .. } => self.watch.end(self.numbers.greatest().unwrap_or(0)),
        };
        self.apply(now, effect);
    }

    fn apply(&mut self, now: Instant, effect: Effect) {
        match effect {
            Effect::Nothing => {}
            Effect::Withhold => {
                let all = Blind { from: Instant::ZERO, until: Instant::MAX, through: None };
                self.history.leave_out(Some(all));
            }
            Effect::Begin(last) => {
                self.history.begin_after(last);
                self.clock = CounterClock::default();
                self.target = 0.0;
                self.p = 0.0;
                self.due = false;
                self.restart_meter(now);
                self.begins_anew = self.had_data.then_some(now);
            }
        }
    }

    /// Leaves out of the receive rate what has arrived until now.
    fn restart_meter(&mut self, now: Instant) {
        self.meter.restart(now);
        self.has_unreported_data = false;
    }

    /// Whether there are observations to report.
    fn has_news(&self) -> bool {
        self.has_unreported_data && self.begins_anew.is_none() && !self.watch.withholds()
    }

    fn push_intervals(&self, options: &mut Options) {
        let mut intervals = [LossInterval::default(); REPORTED];
        let count = self.history.intervals(&mut intervals);
        let mut bytes = [0; REPORTED * dccp::LossInterval::WIRE_LEN];
        let mut dropped = [0; REPORTED * DROP_COUNT_LEN];
        let slots = bytes.chunks_exact_mut(dccp::LossInterval::WIRE_LEN);
        let counts = dropped.chunks_exact_mut(DROP_COUNT_LEN);
        for ((interval, slot), drops) in intervals[..count].iter().zip(slots).zip(counts) {
            let of = |packets: u64| u32::try_from(packets).unwrap_or(u32::MAX);
            let wire = dccp::LossInterval::new(
                of(interval.lossless),
                of(interval.lossy),
                of(interval.data),
                false,
            );
            slot.copy_from_slice(&wire.to_bytes());
            drops.copy_from_slice(&of(interval.dropped).min(0xff_ffff).to_be_bytes()[1..]);
        }
        let bytes = &bytes[..count * dccp::LossInterval::WIRE_LEN];
        if let Some(intervals) = LossIntervals::from_bytes(bytes) {
            push(options, Value::LossIntervals { skip: self.history.skip() as u8, intervals });
        }
        if self.variant == Variant::SmallPackets {
            let data = &dropped[..count * DROP_COUNT_LEN];
            push(options, Value::Ccid { kind: DROPPED_PACKETS, data });
        }
    }

    /// The Loss Event Rate option: 1/p rounded up (RFC 4342, section 8.5).
    fn inverse_loss_event_rate(&self) -> u32 {
        if self.p <= 0.0 {
            return u32::MAX;
        }
        let inverse = 1.0 / self.p;
        let whole = inverse as u32;
        whole.saturating_add(u32::from(f64::from(whole) < inverse))
    }
}

/// Feedback is far shorter than a header may be, so that there is always room.
fn push(options: &mut Options, value: Value<'_>) {
    let pushed = options.push(value);
    debug_assert!(pushed.is_ok(), "{value:?}");
}

impl crate::ccid::Receiver for Receiver {
    fn ccid(&self) -> Ccid {
        match self.variant {
            Variant::Standard => Ccid::TFRC,
            Variant::SmallPackets => Ccid::TFRC_SP,
        }
    }

    fn on_packet(&mut self, now: Instant, arrived: &Arrived<'_>) {
        let newest_before = self.numbers.greatest();
        let seq = self.numbers.take(arrived.seq);
        self.follow_handover(now, seq, newest_before.unwrap_or(seq), arrived.options);
        let newest = newest_before.is_none_or(|before| seq > before);
        let is_data = arrived.data.is_some();
        // Packets without data carry no counter of their own.
        let counter = if is_data { arrived.ccval & 0xf } else { self.counter };
        let arrival = Arrival {
            seq,
            at: now,
            counter,
            marked: arrived.ecn == Ecn::Ce && is_data,
            data: is_data,
        };
        let change = self.history.arrive(arrival, self.rtt_or_default());
        if change.old {
            return;
        }
        if newest {
            self.newest_at = now;
        }
        if self.watch.withholds() || self.watch.is_from_before(seq) {
            return;
        }
        if let Some(bytes) = arrived.data {
            self.take_data(now, counter, bytes, newest);
        }
        if change.first {
            self.seed(now);
        }
        if change.began || change.filled {
            let p = self.history.p(View::default());
            self.due |= p > self.p || change.filled;
        }
    }

    fn is_due(&self, _now: Instant) -> bool {
        self.due && self.has_news()
    }

    fn acknowledge(&mut self, now: Instant, _ack: Seq48, options: &mut Options) {
        if !self.has_news() {
            return;
        }
        let x_recv = self.meter.rate(now, self.rtt_or_default());
        self.meter.note(now, self.rtt_or_default());
        self.target = self.target.max(x_recv);
        self.reported_rate = Some(x_recv);
        self.p = self.history.p(View::default());
        self.last_counter = Some(self.counter);
        (self.due, self.has_unreported_data) = (false, false);
        let elapsed = now.since(self.newest_at).as_micros() / 10;
        let elapsed = u32::try_from(elapsed).unwrap_or(u32::MAX);
        push(options, Value::ElapsedTime(elapsed));
        push(options, Value::ReceiveRate((x_recv + 0.5) as u32));
        self.push_intervals(options);
        if self.sends_loss_event_rate {
            push(options, Value::LossEventRate(self.inverse_loss_event_rate()));
        }
    }

    fn set_send_loss_event_rate(&mut self, sends: bool) {
        self.sends_loss_event_rate = sends || self.config.send_loss_event_rate;
    }

    fn set_heeds_handovers(&mut self, heeds: bool) {
        self.heeds = heeds;
    }

    fn wake(&mut self, _now: Instant) {}

    /// The window counter makes a feedback timer unnecessary (RFC 4342, section 10.3).
    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn stats(&self) -> ReceiverStats {
        let (rtt, receive_rate) = (self.clock.rtt(), self.reported_rate);
        ReceiverStats { loss_event_rate: Some(self.p), rtt, receive_rate }
    }

    fn on_handover(&mut self, now: Instant, handover: Handover) {
        if self.config.remedies.notify {
            self.follow_own_handover(now, handover);
        }
        let until = match handover {
            Handover::Expected { .. } => return,
            Handover::Started => {
                self.handover_started = Some(now - self.rtt_or_default());
                Instant::MAX
            }
            Handover::Ended { .. } => now,
        };
        if self.config.remedies.leave_out {
            let from = self.handover_started.unwrap_or(now);
            self.history.leave_out(Some(Blind { from, until, through: None }));
        }
        if matches!(handover, Handover::Ended { .. }) {
            if self.config.remedies.leave_out && self.had_data {
                self.restart_meter(now);
            }
            if self.config.remedies.restart {
                self.history.forget_events();
                self.target = 0.0;
            }
        }
    }
}
