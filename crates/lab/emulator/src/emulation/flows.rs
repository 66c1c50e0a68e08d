//! Flows of the scenario on sockets of the kernel.

use crate::meter::Lateness;
use crate::traffic::{Load, Prepared, Report, Running, ShakeBy, Spec, Timing, Within};
use crate::{address, drive};
use fairwave_linux::clock::Clock;
use fairwave_netns::Namespaces;
use fairwave_scenario::Scenario;
use fairwave_sim::world::World;
use fairwave_trace::{FlowId, NodeId, Sample};
use fairwave_units::{Duration, Instant};
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};

/// Maximum number of samples of flows that wait for the loop.
const WAITING: usize = 1 << 14;

/// Samples of flows on sockets, with their times.
pub(crate) type Samples = Receiver<(Instant, Sample)>;

/// Flows whose sockets are open.
pub(crate) struct KernelFlows {
    prepared: Option<Prepared>,
}

/// Flows on sockets under way, if there are any.
pub(crate) struct RunningFlows(Option<Running>);

/// The namespaces of real nodes, by node number.
struct Inside<'a> {
    namespaces: &'a Namespaces,
    real: &'a [NodeId],
}

impl Within for Inside<'_> {
    fn within<T: Send + 'static>(
        &self,
        node: NodeId,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let place = self.real.iter().position(|real| *real == node);
        let place = place.ok_or_else(|| io::Error::other("this node is simulated"))?;
        self.namespaces.within(place, job).map_err(io::Error::other)
    }
}

/// Errors of flows on sockets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The flow cannot run on sockets.
    #[error(transparent)]
    Unsupported(#[from] crate::traffic::Unsupported),
    /// The kernel refused a step.
    #[error(transparent)]
    Sockets(#[from] crate::traffic::Error),
}

/// The world without the flows `ids`, which never start there.
pub(crate) fn rest_of(world: &World, ids: &[FlowId]) -> World {
    let mut rest = world.clone();
    let never = Instant::ZERO + world.duration + Duration::from_secs(1);
    for id in ids {
        rest.flows[id.0 as usize].start = never;
    }
    rest
}

/// Choices of a scenario for its flows on sockets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    /// Algorithms of the kernel for some flows.
    pub(crate) algorithms: Vec<(FlowId, String)>,
    /// Code that carries flows of SHAKE.
    pub(crate) by: ShakeBy,
}

impl Choices {
    /// Those of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let by = if scenario.emulation().mptcp { ShakeBy::Mptcp } else { ShakeBy::Fairwave };
        Self { algorithms: scenario.kernel_congestion_control(), by }
    }
}

/// The flow `id` of `world` on sockets, with its algorithm among the `choices`, if there is one,
/// instead of the counterpart of the scenario's.
///
/// # Errors
/// If the flow cannot run on sockets.
pub(crate) fn spec_of(
    world: &World,
    id: FlowId,
    choices: &Choices,
) -> Result<Spec, crate::traffic::Unsupported> {
    let mut spec = Spec::of(world, id, choices.by, |node| address::v4(node).into())?;
    if let (Load::Connection(connection), Some((_, algorithm))) =
        (&mut spec.load, choices.algorithms.iter().find(|(known, _)| *known == id))
    {
        connection.congestion_control.clone_from(algorithm);
    }
    Ok(spec)
}

impl KernelFlows {
    /// Opens the sockets of the flows `ids` of `world`.
    ///
    /// # Errors
    /// [`Error`], which names the flow.
    pub(crate) fn open(
        world: &World,
        ids: &[FlowId],
        choices: &Choices,
        namespaces: &Namespaces,
        real: &[NodeId],
    ) -> Result<Self, Error> {
        let spec = |id: &FlowId| spec_of(world, *id, choices);
        let specs: Vec<Spec> = ids.iter().map(spec).collect::<Result<_, _>>()?;
        let inside = Inside { namespaces, real };
        let prepared = (!specs.is_empty()).then(|| Prepared::open(specs, &inside)).transpose()?;
        Ok(Self { prepared })
    }

    /// Starts the flows by `clock`; they end when all are over if `ends_when_idle`. Returns them
    /// with the channel of their samples.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(
        self,
        clock: Clock,
        world: &World,
        ends_when_idle: bool,
    ) -> Result<(RunningFlows, Option<Samples>), Error> {
        let Some(prepared) = self.prepared else { return Ok((RunningFlows(None), None)) };
        let (samples, taken) = sync_channel(WAITING);
        let timing = Timing { ends_when_idle, ..Timing::of(world) };
        let running = prepared.start(clock, timing, samples)?;
        Ok((RunningFlows(Some(running)), Some(taken)))
    }
}

impl RunningFlows {
    /// Whether there are flows, and all have ended.
    pub(crate) fn have_ended(&self) -> bool {
        self.0.as_ref().is_some_and(Running::has_ended)
    }

    /// Ends the flows, at once or at their own ends, and replaces the simulator's outcomes of them
    /// in the report of the loop. Returns their own report; `None` without flows.
    ///
    /// # Errors
    /// If their thread failed.
    pub(crate) fn put_into(
        self,
        of_loop: &mut drive::Report,
        at_once: bool,
    ) -> Result<Option<Report>, Error> {
        let Some(running) = self.0 else { return Ok(None) };
        let report = if at_once { running.stop()? } else { running.finish()? };
        report.put_into(&mut of_loop.outcome.flows);
        of_loop.fidelity.sends = report.lateness.map(Lateness::from).unwrap_or_default();
        Ok(Some(report))
    }
}
