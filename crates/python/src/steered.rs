//! Quantities of a world that an agent sets from step to step, and samples that it gets back.

use crate::errors::ScenarioError;
use crate::paths::{ONE, Shares};
use fairwave_cc::{AckEvent, Chosen, Controller, Initial, LossEvent, RtoEvent};
use fairwave_queue::Weight;
use fairwave_shake::ChosenScheduler;
use fairwave_sim::world::{Role, Traffic, World};
use fairwave_sim::{Command, Error, Simulation};
use fairwave_trace::{
    FlowId, FlowSample, Kind, NodeId, PairSample, PathSample, QueueSample, Sample, Sink,
    StationSample,
};
use fairwave_units::{BitRate, Instant};
use pyo3::PyResult;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Segments of a window before the first action (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;
/// Window of a paced flow in segments: more than any path of a scenario holds.
const PACED_SEGMENTS: u64 = 1 << 14;

/// Bounds of a pacing rate in bits per second, and the largest window in segments: a scenario has
/// no faster link, and nothing to learn is beyond them.
const RATES: (u64, u64) = (1_000, 1_000_000_000_000);
const MAX_SEGMENTS: u64 = 1 << 20;

/// Quantities that the values of an action set, one value for each.
pub(crate) enum Handle {
    /// Congestion windows of flows, in segments.
    Windows(Vec<Arc<AtomicU64>>),
    /// Pacing rates of flows, in bits per second.
    Rates(Vec<Arc<AtomicU64>>),
    /// Weights of the stations of an access point, relative to one.
    Weights(NodeId, Vec<NodeId>),
    /// Shares of the paths of a SHAKE flow in its new data, relative to one.
    Shares(FlowId, Arc<[AtomicU64]>),
}

/// A handle on a world, and what it sets.
pub(crate) struct Installed {
    pub(crate) handle: Handle,
    /// Names of the flows, stations or paths, one for each value of an action.
    pub(crate) names: Vec<String>,
    /// Places of the flows that it acts on, in the order of the world.
    pub(crate) flows: Vec<u32>,
}

impl Handle {
    /// Prepares `world` for actions of this kind: `windows`, `rates`, `weights` or `shares`.
    pub(crate) fn install(kind: &str, world: &mut World) -> PyResult<Installed> {
        match kind {
            "windows" | "rates" => Self::over_flows(kind == "rates", world),
            "weights" => Self::over_stations(world),
            "shares" => Self::over_paths(world),
            _ => Err(wrong(format!("{kind}: an action sets windows, rates, weights or shares"))),
        }
    }

    fn over_flows(is_paced: bool, world: &mut World) -> PyResult<Installed> {
        let (mut cells, mut names, mut flows) = (Vec::new(), Vec::new(), Vec::new());
        for (place, flow) in (0..).zip(&mut world.flows) {
            let Traffic::Tcp(tcp) = &mut flow.traffic else { continue };
            let cell = Arc::new(AtomicU64::new(if is_paced { 0 } else { INITIAL_SEGMENTS }));
            let shared = Arc::clone(&cell);
            tcp.congestion_control = Chosen::own("steered", move |initial: Initial| {
                let cell = Arc::clone(&shared);
                Box::new(Steered { mss: initial.mss, is_paced, cell, slow_start: u32::MAX })
            });
            cells.push(cell);
            names.push(flow.name.clone());
            flows.push(place);
        }
        if cells.is_empty() {
            return Err(wrong("an agent sets windows of TCP flows; the scenario has no such flow"));
        }
        let handle = if is_paced { Self::Rates(cells) } else { Self::Windows(cells) };
        Ok(Installed { handle, names, flows })
    }

    fn over_stations(world: &World) -> PyResult<Installed> {
        let nodes = || (0..).map(NodeId).zip(&world.nodes);
        let role = |node: NodeId| world.nodes[node.0 as usize].radio.as_ref().map(|r| r.role);
        let weighs = |node: NodeId| {
            let radio = world.nodes[node.0 as usize].radio.as_ref();
            radio.is_some_and(|r| r.role == Role::AccessPoint && r.queue.follows_weights())
        };
        let aps: Vec<NodeId> = nodes().map(|(id, _)| id).filter(|id| weighs(*id)).collect();
        let [ap] = aps[..] else {
            return Err(wrong(format!(
                "an agent sets the weights of one access point; {} have a queue that follows \
                 weights, such as {{ discipline = \"wfq\" }}",
                aps.len()
            )));
        };
        if world.soc.iter().any(|soc| soc.ap == ap) {
            return Err(wrong("reports set the weights of this access point: remove its `soc`"));
        }
        let served = nodes().filter(|(id, _)| role(*id) == Some(Role::Station { ap }));
        let (stations, names): (Vec<_>, Vec<_>) =
            served.map(|(id, node)| (id, node.name.clone())).unzip();
        if stations.is_empty() {
            return Err(wrong("the access point has no stations"));
        }
        Ok(Installed { handle: Self::Weights(ap, stations), names, flows: Vec::new() })
    }

    fn over_paths(world: &mut World) -> PyResult<Installed> {
        let mut found = Vec::new();
        for (id, flow) in (0..).map(FlowId).zip(&mut world.flows) {
            if let Traffic::Shake(shake) = &mut flow.traffic {
                found.push((id, shake));
            }
        }
        let [(id, shake)] = &mut found[..] else {
            let count = found.len();
            return Err(wrong(format!("an agent sets the paths of one SHAKE flow; {count} have")));
        };
        let shares: Arc<[AtomicU64]> = shake.paths.iter().map(|_| AtomicU64::new(ONE)).collect();
        let (id, own) = (*id, Arc::clone(&shares));
        shake.scheduler =
            ChosenScheduler::own("steered", move || Box::new(Shares::new(Arc::clone(&own))));
        let vias: Vec<NodeId> = shake.paths.iter().map(|path| path.via).collect();
        let names = vias.iter().map(|via| world.nodes[via.0 as usize].name.clone()).collect();
        Ok(Installed { handle: Self::Shares(id, shares), names, flows: vec![id.0] })
    }

    /// Applies the values of an action to a running world.
    pub(crate) fn set(&self, values: &[f64], simulation: &mut Simulation<'_>) -> Result<(), Error> {
        match self {
            Self::Windows(cells) => {
                store(cells, values, 1, MAX_SEGMENTS);
                Ok(())
            }
            Self::Rates(cells) => {
                store(cells, values, RATES.0, RATES.1);
                Ok(())
            }
            Self::Shares(_, shares) => {
                for (share, value) in shares.iter().zip(values) {
                    let fixed = (value * ONE as f64).round() as u64;
                    share.store(fixed.max(1), Ordering::Relaxed);
                }
                Ok(())
            }
            Self::Weights(ap, stations) => {
                let now = simulation.now();
                for (station, value) in stations.iter().zip(values) {
                    let weight = (value * f64::from(Weight::ONE.0)).round();
                    let weight = Weight((weight as u32).max(1));
                    let command = Command::Weight { ap: *ap, station: *station, weight };
                    simulation.command(&command, now)?;
                }
                Ok(())
            }
        }
    }

    /// The access point and the stations that it sets weights for.
    pub(crate) fn stations(&self) -> (Option<NodeId>, Vec<NodeId>) {
        match self {
            Self::Weights(ap, stations) => (Some(*ap), stations.clone()),
            _ => (None, Vec::new()),
        }
    }

    /// The flow whose shares it sets, and the number of its paths.
    pub(crate) fn paths(&self) -> (Option<FlowId>, usize) {
        match self {
            Self::Shares(flow, shares) => (Some(*flow), shares.len()),
            _ => (None, 0),
        }
    }
}

/// Rounds each value, bounds it, and stores it.
fn store(cells: &[Arc<AtomicU64>], values: &[f64], min: u64, max: u64) {
    for (cell, value) in cells.iter().zip(values) {
        cell.store((value.round() as u64).clamp(min, max), Ordering::Relaxed);
    }
}

fn wrong(why: impl Into<String>) -> pyo3::PyErr {
    ScenarioError::new_err(why.into())
}

/// A congestion control whose window or pacing rate an agent sets. Losses change neither. After a
/// timeout the window begins with one segment and doubles each round trip until it is the agent's,
/// since a burst of retransmissions as large as the window would overflow the same queue again.
#[derive(Debug)]
struct Steered {
    mss: u32,
    is_paced: bool,
    /// Segments, or bits per second; a rate of zero is that of the initial window, unpaced.
    cell: Arc<AtomicU64>,
    /// Window in bytes since the last timeout, while it is less than the agent's.
    slow_start: u32,
}

impl Steered {
    fn value(&self) -> u64 {
        self.cell.load(Ordering::Relaxed)
    }

    /// The agent's window in bytes.
    fn window(&self) -> u32 {
        let segments = match (self.is_paced, self.value()) {
            (true, 0) => INITIAL_SEGMENTS,
            (true, _) => PACED_SEGMENTS,
            (false, segments) => segments,
        };
        u32::try_from(segments.saturating_mul(u64::from(self.mss))).unwrap_or(u32::MAX)
    }
}

impl Controller for Steered {
    fn name(&self) -> String {
        "steered".to_owned()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.slow_start = self.slow_start.saturating_add(ack.acked);
        if self.slow_start >= self.window() {
            self.slow_start = u32::MAX;
        }
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn on_loss(&mut self, _: &LossEvent) {}

    fn on_rto(&mut self, _: &RtoEvent) {
        self.slow_start = self.mss;
    }

    fn cwnd(&self) -> u32 {
        self.window().min(self.slow_start)
    }

    fn ssthresh(&self) -> u32 {
        u32::MAX
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        let rate = Some(self.value()).filter(|rate| self.is_paced && *rate > 0);
        rate.map(BitRate)
    }
}

/// The last samples of a run.
#[derive(Clone, Default)]
pub(crate) struct Latest {
    pub(crate) flows: Vec<FlowSample>,
    pub(crate) queues: Vec<QueueSample>,
    /// Of the stations of a [`Handle`], as are the pairs: from the access point to each.
    pub(crate) stations: Vec<StationSample>,
    pub(crate) pairs: Vec<PairSample>,
    /// Of the flow of a [`Handle`].
    pub(crate) paths: Vec<PathSample>,
}

impl Latest {
    pub(crate) fn new(flows: usize, queues: usize, handle: &Handle) -> Self {
        let (stations, paths) = (handle.stations().1.len(), handle.paths().1);
        Self {
            flows: vec![FlowSample::default(); flows],
            queues: vec![QueueSample::default(); queues],
            stations: vec![StationSample::default(); stations],
            pairs: vec![PairSample::default(); stations],
            paths: vec![PathSample::default(); paths],
        }
    }
}

/// A sink that keeps the last sample of everything an agent observes.
pub(crate) struct Watch {
    latest: Rc<RefCell<Latest>>,
    ap: Option<NodeId>,
    stations: Vec<NodeId>,
    /// The flow whose paths are observed.
    shake: Option<FlowId>,
}

impl Watch {
    pub(crate) fn new(latest: &Rc<RefCell<Latest>>, handle: &Handle) -> Self {
        let (ap, stations) = handle.stations();
        Self { latest: Rc::clone(latest), ap, stations, shake: handle.paths().0 }
    }

    fn place(&self, node: NodeId) -> Option<usize> {
        self.stations.iter().position(|station| *station == node)
    }
}

impl Sink for Watch {
    fn wants(&self, kind: Kind) -> bool {
        match kind {
            Kind::Flow | Kind::Queue => true,
            Kind::Station | Kind::Pair => self.ap.is_some(),
            Kind::Path => self.shake.is_some(),
            _ => false,
        }
    }

    fn record(&mut self, _: Instant, sample: &Sample) {
        let mut latest = self.latest.borrow_mut();
        match sample {
            Sample::Flow(id, flow) => latest.flows[id.0 as usize] = *flow,
            Sample::Queue(id, queue) => latest.queues[id.0 as usize] = *queue,
            Sample::Station(node, station) => {
                if let Some(place) = self.place(*node) {
                    latest.stations[place] = *station;
                }
            }
            Sample::Pair(from, Some(to), pair) if self.ap == Some(*from) => {
                if let Some(place) = self.place(*to) {
                    latest.pairs[place] = *pair;
                }
            }
            Sample::Path(flow, number, path) if self.shake == Some(*flow) => {
                latest.paths[usize::from(*number)] = *path;
            }
            _ => {}
        }
    }
}
