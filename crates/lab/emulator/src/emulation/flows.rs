//! Flows of the scenario on sockets of the kernel.

use crate::address;
use crate::traffic::{Load, Prepared, Running, Spec, Timing, Within};
use fairwave_linux::clock::Clock;
use fairwave_netns::Namespaces;
use fairwave_sim::FlowOutcome;
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

/// The flow `id` of `world` on sockets, with its algorithm in `algorithms`, if there is one,
/// instead of the counterpart of the scenario's.
///
/// # Errors
/// If the flow cannot run on sockets.
pub(crate) fn spec_of(
    world: &World,
    id: FlowId,
    algorithms: &[(FlowId, String)],
) -> Result<Spec, crate::traffic::Unsupported> {
    let mut spec = Spec::of(world, id, |node| address::v4(node).into())?;
    if let (Load::Connection(connection), Some((_, algorithm))) =
        (&mut spec.load, algorithms.iter().find(|(known, _)| *known == id))
    {
        connection.congestion_control.clone_from(algorithm);
    }
    Ok(spec)
}

impl KernelFlows {
    /// Opens the sockets of the flows `ids` of `world`; `algorithms` has the kernel's algorithms
    /// for some of them.
    ///
    /// # Errors
    /// [`Error`], which names the flow.
    pub(crate) fn open(
        world: &World,
        ids: &[FlowId],
        algorithms: &[(FlowId, String)],
        namespaces: &Namespaces,
        real: &[NodeId],
    ) -> Result<Self, Error> {
        let spec = |id: &FlowId| spec_of(world, *id, algorithms);
        let specs: Vec<Spec> = ids.iter().map(spec).collect::<Result<_, _>>()?;
        let inside = Inside { namespaces, real };
        let prepared = (!specs.is_empty()).then(|| Prepared::open(specs, &inside)).transpose()?;
        Ok(Self { prepared })
    }

    /// Starts the flows by `clock`. Returns them with the channel of their samples.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(
        self,
        clock: Clock,
        world: &World,
    ) -> Result<(RunningFlows, Option<Samples>), Error> {
        let Some(prepared) = self.prepared else { return Ok((RunningFlows(None), None)) };
        let (samples, taken) = sync_channel(WAITING);
        let running = prepared.start(clock, Timing::of(world), samples)?;
        Ok((RunningFlows(Some(running)), Some(taken)))
    }
}

impl RunningFlows {
    /// Ends the flows, at once or at their own ends, and replaces the simulator's outcomes of them.
    ///
    /// # Errors
    /// If their thread failed.
    pub(crate) fn put_into(self, outcomes: &mut [FlowOutcome], at_once: bool) -> Result<(), Error> {
        if let Some(running) = self.0 {
            let report = if at_once { running.stop()? } else { running.finish()? };
            report.put_into(outcomes);
        }
        Ok(())
    }
}
