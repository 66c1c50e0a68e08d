//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): the rate and the window follow
//! a model of the path.
//!
//! The model is the greatest delivery rate of ten rounds (BtlBw) and the least RTT of ten seconds
//! (RTprop). Data leaves at `pacing_gain * BtlBw`, and `cwnd_gain * BtlBw * RTprop` bounds what is
//! in flight. Startup doubles the rate each round until it stops growing; Drain empties the queue
//! that this made; ProbeBW cycles through gains around one; ProbeRTT falls to four segments for
//! 200 ms where RTprop was not seen for ten seconds. Loss bounds the window for one round only.
//!
//! Marks and lost ACKs are not heard. Left out is what Linux adds: the long-term sampling for
//! policers, the allowance for aggregated ACKs and the pacing margin of 1 %. The first phase of
//! ProbeBW, random in the draft, is a hash of the time, so that an algorithm needs no random
//! source.

mod model;
#[cfg(test)]
mod tests;

use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, RtoEvent};
use fairwave_units::{BitRate, Duration, Instant};
use model::Model;

/// BBRHighGain, 2/ln 2: the smallest gain that doubles the rate each round.
const HIGH_GAIN: Fraction = Fraction::new(2_885, 1_000);
/// Its inverse, which drains in one round the queue that Startup built in one.
const DRAIN_GAIN: Fraction = Fraction::new(1_000, 2_885);
const UNIT_GAIN: Fraction = Fraction::new(1, 1);
/// cwnd_gain of ProbeBW.
const PROBE_CWND_GAIN: Fraction = Fraction::new(2, 1);
/// Pacing gains of ProbeBW, a phase of about an RTprop each.
const CYCLE: [Fraction; 8] = [
    Fraction::new(5, 4),
    Fraction::new(3, 4),
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
];
/// BBRMinPipeCwnd in segments.
const MIN_PIPE: u32 = 4;
/// Time in ProbeRTT with no more than [`MIN_PIPE`] in flight.
const PROBE_RTT_SPAN: Duration = Duration::from_millis(200);
/// Rounds without a growth by a quarter that show the pipe full.
const FULL_ROUNDS: u32 = 3;
/// The RTT assumed for the first pacing rate.
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// The algorithm of BBR.
#[derive(Clone, Debug)]
pub struct Bbr {
    mss: u32,
    initial_window: u32,
    cwnd: u32,
    /// The window to return to after recovery or ProbeRTT.
    prior_cwnd: u32,
    /// In bits per second.
    pacing_rate: u64,
    model: Model,
    phase: Phase,
    pipe: Pipe,
    in_recovery: bool,
    /// First round of recovery: sending equals delivery.
    conserving: bool,
    idle_restart: bool,
    /// The pacing rate rests on a measured RTT.
    measured: bool,
}

/// BBR.state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Startup,
    Drain,
    ProbeBw {
        index: usize,
        since: Instant,
    },
    /// `done` is known once the window has fallen; `round_done` that a round has passed since.
    ProbeRtt {
        done: Option<Instant>,
        round_done: bool,
    },
}

/// Whether Startup has filled the pipe.
#[derive(Clone, Copy, Debug, Default)]
struct Pipe {
    /// full_bw, in bits per second.
    rate: u64,
    /// Rounds since it grew.
    rounds: u32,
    filled: bool,
}

impl Bbr {
    /// A connection's algorithm at its start.
    pub fn new(initial: Initial) -> Self {
        let mss = initial.mss.max(1);
        let cwnd = initial.cwnd.max(mss);
        Self {
            mss,
            initial_window: cwnd,
            cwnd,
            prior_cwnd: 0,
            pacing_rate: HIGH_GAIN.of_long(BitRate::over(u64::from(cwnd), NOMINAL_RTT).0),
            model: Model::default(),
            phase: Phase::Startup,
            pipe: Pipe::default(),
            in_recovery: false,
            conserving: false,
            idle_restart: false,
            measured: false,
        }
    }

    fn pacing_gain(&self) -> Fraction {
        match self.phase {
            Phase::Startup => HIGH_GAIN,
            Phase::Drain => DRAIN_GAIN,
            Phase::ProbeBw { index, .. } => CYCLE[index % CYCLE.len()],
            Phase::ProbeRtt { .. } => UNIT_GAIN,
        }
    }

    fn cwnd_gain(&self) -> Fraction {
        match self.phase {
            Phase::Startup | Phase::Drain => HIGH_GAIN,
            Phase::ProbeBw { .. } => PROBE_CWND_GAIN,
            Phase::ProbeRtt { .. } => UNIT_GAIN,
        }
    }

    /// BBRInflight: `gain` of the bandwidth-delay product, and three quanta to keep both ends
    /// busy where ACKs and segments come in bursts.
    fn inflight(&self, gain: Fraction) -> u32 {
        match self.model.bdp(gain) {
            None => self.initial_window,
            Some(bytes) => bytes.saturating_add(self.send_quantum().saturating_mul(3)),
        }
    }

    /// Returns the size of one burst: a segment below 1.2 Mbps, two below 24 Mbps, else a
    /// millisecond's worth up to 64 KiB.
    fn send_quantum(&self) -> u32 {
        match self.pacing_rate {
            0..1_200_000 => self.mss,
            1_200_000..24_000_000 => self.mss.saturating_mul(2),
            rate => u32::try_from(rate / 8_000).map_or(64 << 10, |bytes| bytes.min(64 << 10)),
        }
    }

    fn min_pipe(&self) -> u32 {
        self.mss.saturating_mul(MIN_PIPE)
    }

    /// BBRCheckCyclePhase: the next gain once this one has done its work.
    fn check_cycle_phase(&mut self, ack: &AckEvent) {
        let Phase::ProbeBw { index, since } = self.phase else { return };
        let whole = self.model.rtt().is_some_and(|rtt| ack.now.since(since) > rtt);
        let over = match index {
            0 => whole && (ack.lost > 0 || ack.flight >= self.inflight(CYCLE[0])),
            1 => whole || ack.flight <= self.inflight(UNIT_GAIN),
            _ => whole,
        };
        if over {
            self.phase = Phase::ProbeBw { index: (index + 1) % CYCLE.len(), since: ack.now };
        }
    }

    /// BBRCheckFullPipe.
    fn check_full_pipe(&mut self) {
        if self.pipe.filled || !self.model.round_start || self.model.app_limited {
            return;
        }
        let rate = self.model.rate();
        if rate >= Fraction::new(5, 4).of_long(self.pipe.rate) {
            (self.pipe.rate, self.pipe.rounds) = (rate, 0);
            return;
        }
        self.pipe.rounds += 1;
        self.pipe.filled = self.pipe.rounds >= FULL_ROUNDS;
    }

    /// BBRCheckDrain.
    fn check_drain(&mut self, ack: &AckEvent) {
        if self.phase == Phase::Startup && self.pipe.filled {
            self.phase = Phase::Drain;
        }
        if self.phase == Phase::Drain && ack.flight_after <= self.inflight(UNIT_GAIN) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// Any phase but that of the gain 3/4 may be the first.
    fn enter_probe_bw(&mut self, now: Instant) {
        let hash = now.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let back = (hash * 7) >> 32;
        let index = (CYCLE.len() - back as usize) % CYCLE.len();
        self.phase = Phase::ProbeBw { index, since: now };
    }

    /// BBRCheckProbeRTT.
    fn check_probe_rtt(&mut self, ack: &AckEvent) {
        let probing = matches!(self.phase, Phase::ProbeRtt { .. });
        if !probing && self.model.rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.phase = Phase::ProbeRtt { done: None, round_done: false };
        }
        if let Phase::ProbeRtt { done, round_done } = self.phase {
            self.model.hold_back(ack.flight_after, !probing);
            self.probe_rtt(ack, done, round_done);
        }
        self.idle_restart &= self.model.newly == 0;
    }

    /// BBRHandleProbeRTT.
    fn probe_rtt(&mut self, ack: &AckEvent, done: Option<Instant>, round_done: bool) {
        let Some(at) = done else {
            if ack.flight_after <= self.min_pipe() {
                self.model.start_round();
                let done = Some(ack.now + PROBE_RTT_SPAN);
                self.phase = Phase::ProbeRtt { done, round_done: false };
            }
            return;
        };
        let round_done = round_done || self.model.round_start;
        self.phase = Phase::ProbeRtt { done, round_done };
        if round_done && ack.now > at {
            self.model.confirm_rtt(ack.now);
            self.restore_cwnd();
            match self.pipe.filled {
                true => self.enter_probe_bw(ack.now),
                false => self.phase = Phase::Startup,
            }
        }
    }

    fn save_cwnd(&mut self) {
        let lowered = self.in_recovery || matches!(self.phase, Phase::ProbeRtt { .. });
        self.prior_cwnd = if lowered { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// BBRSetPacingRate. In Startup the rate never falls: early samples are low.
    fn set_pacing_rate(&mut self) {
        if let Some(rtt) = self.model.rtt().filter(|_| !self.measured) {
            self.measured = true;
            let nominal = BitRate::over(u64::from(self.cwnd), rtt.max(Duration::from_micros(1)));
            self.pacing_rate = HIGH_GAIN.of_long(nominal.0);
        }
        let rate = self.pacing_gain().of_long(self.model.rate());
        if self.pipe.filled || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// BBRSetCwnd.
    fn set_cwnd(&mut self, ack: &AckEvent) {
        let newly = self.model.newly;
        if self.in_recovery {
            self.conserving &= !self.model.round_start;
            self.cwnd = self.cwnd.saturating_sub(ack.lost).max(self.mss);
        }
        if self.conserving {
            self.cwnd = self.cwnd.max(ack.flight_after.saturating_add(newly));
        } else {
            let target = self.inflight(self.cwnd_gain());
            let wider = self.cwnd.saturating_add(newly);
            if self.pipe.filled {
                self.cwnd = wider.min(target);
            } else if self.cwnd < target || self.model.delivered < u64::from(self.initial_window) {
                self.cwnd = wider;
            }
            self.cwnd = self.cwnd.max(self.min_pipe());
        }
        if matches!(self.phase, Phase::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(self.min_pipe());
        }
    }
}

impl Controller for Bbr {
    fn name(&self) -> String {
        "bbr".into()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.model.update_rate(ack);
        self.check_cycle_phase(ack);
        self.check_full_pipe();
        self.check_drain(ack);
        self.model.update_rtt(ack);
        self.check_probe_rtt(ack);
        self.set_pacing_rate();
        self.set_cwnd(ack);
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    /// Keeps the data in flight, and for one round sends a segment for each one delivered.
    fn on_loss(&mut self, loss: &LossEvent) {
        self.save_cwnd();
        self.in_recovery = true;
        self.conserving = true;
        self.model.start_round();
        let pipe = self.model.flight.min(loss.flight);
        self.cwnd = pipe.saturating_add(self.model.newly.max(self.mss));
    }

    fn on_recovery_end(&mut self, _now: Instant) {
        (self.in_recovery, self.conserving) = (false, false);
        self.restore_cwnd();
    }

    /// One segment, then four, then as much more as is delivered, up to the model's limit.
    fn on_rto(&mut self, rto: &RtoEvent) {
        if rto.lowers() {
            self.save_cwnd();
        }
        (self.in_recovery, self.conserving) = (false, false);
        self.cwnd = self.mss;
    }

    /// Version 1 does not react to marks.
    fn on_ecn(&mut self, _loss: &LossEvent) {}

    fn on_spurious(&mut self, _now: Instant) {
        self.conserving = false;
        self.restore_cwnd();
    }

    /// BBRHandleRestartFromIdle: no burst, and no ProbeRTT for a delay that was not measured.
    fn on_idle_restart(&mut self, _idle: Duration) {
        self.idle_restart = true;
        if matches!(self.phase, Phase::ProbeBw { .. }) {
            self.pacing_rate = self.model.rate();
        }
    }

    /// The model is void; the window stays until Startup knows better.
    fn on_path_change(&mut self, now: Instant) {
        self.model.forget(now);
        (self.phase, self.pipe, self.measured) = (Phase::Startup, Pipe::default(), false);
    }

    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// None: BBR has no threshold.
    fn ssthresh(&self) -> u32 {
        u32::MAX
    }

    /// At least one segment a second: a sender must not fall silent.
    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate(self.pacing_rate.max(u64::from(self.mss) * 8)))
    }
}
