//! Congestion control algorithms in Python, behind [`Controller`].
//!
//! After each event the window and the other attributes are read once, so that the connection,
//! which looks at them several times a packet, does not call Python for each look.

use super::Raised;
use super::object::{Object, attribute, method};
use fairwave_cc::{self as cc, Controller, Recovery};
use fairwave_units::{BitRate, Duration, Instant};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// Parameters of a new algorithm. Sizes are in bytes.
#[pyclass(frozen, get_all, module = "fairwave.cc")]
#[derive(Clone, Copy)]
pub(crate) struct Initial {
    /// Maximum segment size in bytes.
    mss: u32,
    /// Initial window in bytes.
    cwnd: u32,
    /// Initial slow start threshold in bytes; 4294967295 stands for none.
    ssthresh: u32,
    /// Whether congestion avoidance counts acknowledged bytes (RFC 3465), or ACKs.
    byte_counting: bool,
    /// Segments that one ACK adds at most in slow start.
    slow_start_segments: u32,
}

/// The delivery rate that an ACK measured.
#[pyclass(frozen, get_all, module = "fairwave.cc")]
#[derive(Clone, Copy)]
pub(crate) struct RateSample {
    /// Bytes delivered in the interval.
    delivered: u32,
    /// The interval; 0 for an unreliable sample.
    interval_ns: u64,
    /// `AckEvent.delivered` when the measured segment left.
    prior_delivered: u64,
    /// Whether the application may have limited the rate.
    is_app_limited: bool,
    /// The rate; `None` for an unreliable sample.
    rate_bps: Option<u64>,
}

/// An ACK of new data. Amounts of data are in bytes.
#[pyclass(frozen, get_all, module = "fairwave.cc")]
#[derive(Clone, Copy)]
pub(crate) struct AckEvent {
    /// Time at which it arrived.
    now_ns: u64,
    /// Bytes by which the cumulative acknowledgement advanced.
    acked: u32,
    /// Bytes newly covered by SACK blocks.
    sacked: u32,
    /// Stream offset of the first unacknowledged byte.
    una: u64,
    /// Stream offset of the next new byte.
    next: u64,
    /// Bytes in flight before this ACK.
    flight: u32,
    /// Bytes in flight after it.
    flight_after: u32,
    /// Bytes that it revealed as lost.
    lost: u32,
    /// Bytes delivered since the connection began.
    delivered: u64,
    /// Its delivery rate sample, if it has one.
    rate: Option<RateSample>,
    /// Its round-trip time sample, if it has one.
    rtt_ns: Option<u64>,
    /// Whether fast recovery was on before it.
    in_recovery: bool,
    /// Whether the window limited the sender when the acknowledged data left.
    cwnd_limited: bool,
    /// Whether a retransmitted segment lies in the acknowledged range.
    covers_retransmission: bool,
    /// Bytes from the old first unacknowledged byte to the segment whose timestamp it echoes.
    echo_gap: Option<u32>,
}

/// Loss found by duplicate ACKs or SACK, or the echo of a congestion mark.
#[pyclass(frozen, get_all, module = "fairwave.cc")]
#[derive(Clone, Copy)]
pub(crate) struct LossEvent {
    /// Time at which it was found.
    now_ns: u64,
    /// Bytes sent and not cumulatively acknowledged.
    flight: u32,
    /// Stream offset of the first unacknowledged byte.
    una: u64,
    /// Stream offset of the next new byte: losses below it belong to the same event.
    next: u64,
}

/// An expiry of the retransmission timer.
#[pyclass(frozen, get_all, module = "fairwave.cc")]
#[derive(Clone, Copy)]
pub(crate) struct RtoEvent {
    /// Time at which it expired.
    now_ns: u64,
    /// Bytes in flight, less those that SACK reports as received.
    flight: u32,
    /// 1 for the first expiry for a segment, then 2, 3, ...
    backoff: u32,
    /// Whether it replaces a recovery whose ssthresh stays.
    keeps_ssthresh: bool,
}

impl From<cc::Initial> for Initial {
    fn from(initial: cc::Initial) -> Self {
        let cc::Initial { mss, cwnd, ssthresh, byte_counting, slow_start_segments, .. } = initial;
        Self { mss, cwnd, ssthresh, byte_counting, slow_start_segments }
    }
}

impl From<cc::RateSample> for RateSample {
    fn from(sample: cc::RateSample) -> Self {
        let cc::RateSample { delivered, interval, prior_delivered, is_app_limited } = sample;
        let rate_bps = sample.rate().map(|rate| rate.0);
        let interval_ns = interval.as_nanos();
        Self { delivered, interval_ns, prior_delivered, is_app_limited, rate_bps }
    }
}

impl From<&cc::AckEvent> for AckEvent {
    fn from(ack: &cc::AckEvent) -> Self {
        Self {
            now_ns: ack.now.as_nanos(),
            acked: ack.acked,
            sacked: ack.sacked,
            una: ack.una,
            next: ack.next,
            flight: ack.flight,
            flight_after: ack.flight_after,
            lost: ack.lost,
            delivered: ack.delivered,
            rate: ack.rate.map(RateSample::from),
            rtt_ns: ack.rtt.map(Duration::as_nanos),
            in_recovery: ack.in_recovery,
            cwnd_limited: ack.cwnd_limited,
            covers_retransmission: ack.covers_retransmission,
            echo_gap: ack.echo_gap,
        }
    }
}

impl From<&cc::LossEvent> for LossEvent {
    fn from(loss: &cc::LossEvent) -> Self {
        let cc::LossEvent { now, flight, una, next } = *loss;
        Self { now_ns: now.as_nanos(), flight, una, next }
    }
}

impl From<&cc::RtoEvent> for RtoEvent {
    fn from(rto: &cc::RtoEvent) -> Self {
        let cc::RtoEvent { now, flight, backoff, keeps_ssthresh } = *rto;
        Self { now_ns: now.as_nanos(), flight, backoff, keeps_ssthresh }
    }
}

/// An algorithm in Python.
#[derive(Debug)]
struct InPython {
    name: String,
    object: Object,
    fixed: Fixed,
    state: State,
}

/// Attributes that are read once.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    recovery: Recovery,
    governs_recovery: bool,
}

/// Attributes that are read after each event.
#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: u32,
    ssthresh: u32,
    pacing_rate: Option<BitRate>,
}

/// Makes algorithms by the function `make` of Python.
pub(super) fn maker(
    name: &str,
    make: Py<PyAny>,
    raised: Raised,
) -> impl Fn(cc::Initial) -> Box<dyn Controller> + Send + Sync + 'static {
    let name = name.to_owned();
    move |initial| {
        let (object, read) = Object::new(
            &raised,
            |py| make.bind(py).call1((Initial::from(initial),)),
            |object| Ok((Fixed::of(object)?, State::of(object)?)),
        );
        let cc::Initial { cwnd, ssthresh, .. } = initial;
        let (fixed, state) =
            read.unwrap_or((Fixed::USUAL, State { cwnd, ssthresh, pacing_rate: None }));
        Box::new(InPython { name: name.clone(), object, fixed, state })
    }
}

impl Fixed {
    const USUAL: Self = Self { recovery: Recovery::NewReno, governs_recovery: false };

    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let governs_recovery = attribute(object, intern!(object.py(), "governs_recovery"))?;
        Ok(Self { recovery: recovery(object)?, governs_recovery })
    }
}

fn recovery(object: &Bound<'_, PyAny>) -> PyResult<Recovery> {
    let word: String = attribute(object, intern!(object.py(), "recovery"))?;
    match &*word {
        "newreno" => Ok(Recovery::NewReno),
        "reno" => Ok(Recovery::Reno),
        _ => {
            let message = format!("recovery = {word:?}: there are \"newreno\" and \"reno\"");
            Err(PyValueError::new_err(message))
        }
    }
}

impl State {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let pacing: Option<u64> = attribute(object, intern!(py, "pacing_rate_bps"))?;
        Ok(Self {
            cwnd: attribute(object, intern!(py, "cwnd"))?,
            ssthresh: attribute(object, intern!(py, "ssthresh"))?,
            pacing_rate: pacing.map(BitRate),
        })
    }
}

impl InPython {
    /// Calls a method, and reads the state that it leaves.
    fn call(&mut self, method: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<()>) {
        let done = self.object.call(|object| {
            method(object)?;
            State::of(object)
        });
        if let Some(done) = done {
            self.state = done;
        }
    }
}

impl Controller for InPython {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn recovery(&self) -> Recovery {
        self.fixed.recovery
    }

    fn governs_recovery(&self) -> bool {
        self.fixed.governs_recovery
    }

    fn on_ack(&mut self, ack: &cc::AckEvent) {
        let event = AckEvent::from(ack);
        self.call(|object| method!(object.on_ack(event)).map(drop));
    }

    fn on_loss(&mut self, loss: &cc::LossEvent) {
        let event = LossEvent::from(loss);
        self.call(|object| method!(object.on_loss(event)).map(drop));
    }

    fn on_recovery_end(&mut self, now: Instant) {
        let event = now.as_nanos();
        self.call(|object| method!(object.on_recovery_end(event)).map(drop));
    }

    fn on_rto(&mut self, rto: &cc::RtoEvent) {
        let event = RtoEvent::from(rto);
        self.call(|object| method!(object.on_rto(event)).map(drop));
    }

    fn on_ecn(&mut self, loss: &cc::LossEvent) {
        let event = LossEvent::from(loss);
        self.call(|object| method!(object.on_ecn(event)).map(drop));
    }

    fn on_spurious(&mut self, now: Instant) {
        let event = now.as_nanos();
        self.call(|object| method!(object.on_spurious(event)).map(drop));
    }

    fn on_idle_restart(&mut self, idle: Duration) {
        let event = idle.as_nanos();
        self.call(|object| method!(object.on_idle_restart(event)).map(drop));
    }

    fn on_path_change(&mut self, now: Instant) {
        let event = now.as_nanos();
        self.call(|object| method!(object.on_path_change(event)).map(drop));
    }

    fn cwnd(&self) -> u32 {
        self.state.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.state.ssthresh
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.state.pacing_rate
    }
}
