//! A simulation in steps of virtual time: each begins with an agent's action and ends with its
//! observation.
//!
//! A simulation borrows its world and its sink, so it lives on a thread of its own. [`Stepper`]
//! sends an action there and takes the observation back. Simulations whose steps are begun
//! together run at the same time, and the GIL is released while they are awaited.

use crate::attended::LOOK;
use crate::errors::{ScenarioError, failed};
use crate::own::Raised;
use crate::plan::Plan;
use crate::steered::{Handle, Installed, Latest, Watch};
use fairwave_sim::world::World;
use fairwave_sim::{Simulation, queue_names};
use fairwave_trace::{FlowSample, PairSample, PathSample, QueueSample, StationSample};
use fairwave_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Shortest step: a round trip over a quiet cell.
const MIN_STEP: Duration = Duration::from_millis(1);

/// Part of a step after which a run looks whether it is to end.
const SLICE: Duration = Duration::from_millis(100);

/// Rows of numbers, one after the other: of flows, of queues, and of the stations or paths that an
/// action sets.
type Observation = (Vec<f64>, Vec<f64>, Vec<f64>);

/// Both ends of the thread that simulates.
struct Link {
    actions: Sender<Vec<f64>>,
    observations: Receiver<Result<Observation, String>>,
    is_under_way: bool,
}

/// A run that advances by steps and takes an action before each.
#[pyclass(frozen, module = "fairwave._fairwave")]
pub(crate) struct Stepper {
    /// Names of the flows, stations or paths that an action sets.
    #[pyo3(get)]
    steered: Vec<String>,
    /// Places of the flows that it acts on, among all flows.
    #[pyo3(get)]
    places: Vec<u32>,
    /// Name, source and sink of each flow.
    #[pyo3(get)]
    flows: Vec<(String, String, String)>,
    /// Names of the queues.
    #[pyo3(get)]
    queues: Vec<String>,
    /// Whole steps until the end of the run.
    #[pyo3(get)]
    steps: u64,
    link: Mutex<Link>,
    /// Ends the run, also in a step.
    stop: Arc<AtomicBool>,
    /// Exceptions of algorithms in Python.
    raised: Raised,
}

#[pymethods]
impl Stepper {
    /// Starts a run of a plan. Every `step_s` seconds an action sets `windows` (segments) or
    /// `rates` (bits per second) of the TCP flows, `weights` of an access point's stations, or
    /// `shares` of the paths of a SHAKE flow.
    #[new]
    fn new(plan: &Plan, point: usize, seed: u64, step_s: f64, sets: &str) -> PyResult<Self> {
        let mut world = plan.world(point, seed)?;
        let end = world.duration;
        if !(step_s >= MIN_STEP.as_secs_f64() && step_s <= end.as_secs_f64()) {
            return Err(ScenarioError::new_err(format!(
                "a step of {step_s} s: it lasts from {MIN_STEP} to the duration of the scenario, \
                 {end}"
            )));
        }
        let step = Duration::from_secs_f64(step_s);
        world.sample_every = step;
        let Installed { handle, names: steered, flows: places } =
            Handle::install(sets, &mut world)?;
        let name = |node: fairwave_trace::NodeId| world.nodes[node.0 as usize].name.clone();
        let flow = |flow: &fairwave_sim::world::Flow| {
            (flow.name.clone(), name(flow.source), name(flow.sink))
        };
        let (flows, queues) = (world.flows.iter().map(flow).collect(), queue_names(&world));
        let (actions, taken) = channel();
        let (given, observations) = channel();
        let raised = plan.raised.clone();
        // The failure of an earlier run of this plan is over, unless other runs must hear of it.
        drop(raised.begin());
        let watched = raised.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let drive = move || {
            // Whether the run goes on: the stepper is there, and no algorithm has raised.
            let send = |observation| {
                let has_failed = watched.is_set();
                let failed = || Err("an algorithm failed".to_owned());
                let sent = given.send(if has_failed { failed() } else { Ok(observation) });
                sent.is_ok() && !has_failed
            };
            let result = drive(&world, step, &handle, &taken, &stops, &send);
            // Nobody listens any more if the stepper is gone.
            result.unwrap_or_else(|error| drop(given.send(Err(error.to_string()))));
        };
        thread::Builder::new().name("fairwave-step".to_owned()).spawn(drive).map_err(failed)?;
        let link = Mutex::new(Link { actions, observations, is_under_way: true });
        let steps = end.as_nanos() / step.as_nanos();
        Ok(Self { steered, places, flows, queues, steps, link, stop, raised })
    }

    /// Sets the values of an action, and lets the run advance by a step.
    fn begin(&self, values: Vec<f64>) -> PyResult<()> {
        let wanted = self.steered.len();
        if values.len() != wanted {
            let given = values.len();
            return Err(PyValueError::new_err(format!("{given} values; it sets {wanted}")));
        }
        if let Some(value) = values.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            return Err(PyValueError::new_err(format!("{value}: a value is above zero")));
        }
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if link.is_under_way {
            return Err(failed("a step is under way: take its observation first"));
        }
        link.is_under_way = true;
        link.actions.send(values).map_err(|_| failed("the run is over"))
    }

    /// Waits for the end of the step, or of the preparation of the run. Returns three lists of
    /// numbers: of the flows, of the queues, and of the stations or paths that an action sets.
    /// Raises the exception of an algorithm or of a signal's handler, which ends the run.
    fn end(&self, py: Python<'_>) -> PyResult<Observation> {
        loop {
            if let Some(ended) = py.detach(|| self.wait()) {
                return ended.map_err(|error| self.raised.or(failed(error)));
            }
            py.check_signals().inspect_err(|_| self.stop.store(true, Ordering::Relaxed))?;
        }
    }
}

impl Stepper {
    /// Waits for an observation until it is time to look for signals.
    fn wait(&self) -> Option<Result<Observation, String>> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if !link.is_under_way {
            return Some(Err("no step is under way".to_owned()));
        }
        let observed = match link.observations.recv_timeout(LOOK) {
            Ok(observed) => observed,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => Err("the run is over".to_owned()),
        };
        link.is_under_way = false;
        Some(observed)
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Simulates step by step until the world's end, until `stop` is set, or until `send` returns
/// false, which gets the observation of each step.
fn drive(
    world: &World,
    step: Duration,
    handle: &Handle,
    actions: &Receiver<Vec<f64>>,
    stop: &AtomicBool,
    send: &dyn Fn(Observation) -> bool,
) -> Result<(), fairwave_sim::Error> {
    let mut before = Latest::new(world.flows.len(), queue_names(world).len(), handle);
    let latest = Rc::new(RefCell::new(before.clone()));
    let mut watch = Watch::new(&latest, handle);
    let mut simulation = Simulation::new(world, &mut watch)?;
    let mut goes_on = send(observation(&before, &before, step));
    let end = fairwave_units::Instant::ZERO + world.duration;
    while goes_on && simulation.now() + step <= end {
        let Ok(values) = actions.recv() else { return Ok(()) };
        handle.set(&values, &mut simulation)?;
        let next = simulation.now() + step;
        while simulation.now() < next {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            simulation.advance_to(next.min(simulation.now() + SLICE));
        }
        let now = latest.borrow();
        goes_on = send(observation(&before, &now, step));
        before.clone_from(&now);
    }
    Ok(())
}

/// Rows of a step that lasted from one state to another. Differences stop at zero: some counters
/// begin again, as those of a path that is joined again.
fn observation(before: &Latest, now: &Latest, step: Duration) -> Observation {
    let (mut flows, mut queues, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for (before, now) in before.flows.iter().zip(&now.flows) {
        flows.extend(flow_row(before, now, step));
    }
    for (before, now) in before.queues.iter().zip(&now.queues) {
        queues.extend(queue_row(before, now));
    }
    let pairs = before.pairs.iter().zip(&now.pairs);
    for ((before, now), station) in pairs.zip(&now.stations) {
        parts.extend(station_row(before, now, station));
    }
    for (before, now) in before.paths.iter().zip(&now.paths) {
        parts.extend(path_row(before, now, step));
    }
    (flows, queues, parts)
}

/// Goodput in bits per second, smoothed round-trip time in seconds (zero before the first sample),
/// packets sent, retransmissions and timeouts of the step, bytes in flight at its end.
fn flow_row(before: &FlowSample, now: &FlowSample, step: Duration) -> [f64; 6] {
    let bytes = now.delivered_bytes.saturating_sub(before.delivered_bytes);
    [
        bytes as f64 * 8.0 / step.as_secs_f64(),
        now.srtt.map_or(0.0, Duration::as_secs_f64),
        now.sent_packets.saturating_sub(before.sent_packets) as f64,
        now.retransmissions.saturating_sub(before.retransmissions) as f64,
        now.timeouts.saturating_sub(before.timeouts) as f64,
        f64::from(now.flight),
    ]
}

/// Packets and bytes that wait at the end of the step, drops of the step.
fn queue_row(before: &QueueSample, now: &QueueSample) -> [f64; 3] {
    let drops = |sample: &QueueSample| sample.drops.iter().sum::<u64>();
    [f64::from(now.packets), now.bytes as f64, drops(now).saturating_sub(drops(before)) as f64]
}

/// Of the access point's PPDUs to a station in the step: their mean bit rate in bits per second,
/// airtime in seconds, number and failures; then the SNR of the last frame there in dB.
fn station_row(before: &PairSample, now: &PairSample, station: &StationSample) -> [f64; 5] {
    let ppdus = now.ppdus.saturating_sub(before.ppdus);
    [
        now.rate_bps_sum.saturating_sub(before.rate_bps_sum) as f64 / ppdus.max(1) as f64,
        now.airtime.saturating_sub(before.airtime).as_secs_f64(),
        ppdus as f64,
        now.failures.saturating_sub(before.failures) as f64,
        station.snr.map_or(0.0, |snr| snr.0),
    ]
}

/// Of a path in the step: rate of the data that arrived in bits per second, smoothed round-trip
/// time in seconds (zero before the first sample), segments sent, retransmissions; one if it
/// carries data.
fn path_row(before: &PathSample, now: &PathSample, step: Duration) -> [f64; 5] {
    let bytes = now.delivered_bytes.saturating_sub(before.delivered_bytes);
    [
        bytes as f64 * 8.0 / step.as_secs_f64(),
        now.srtt.map_or(0.0, Duration::as_secs_f64),
        now.sent_packets.saturating_sub(before.sent_packets) as f64,
        now.retransmissions.saturating_sub(before.retransmissions) as f64,
        f64::from(u8::from(now.is_up)),
    ]
}
