//! Interface between the thread that serves flows and the flows, and their common state.

use super::error::Failure;
use super::spec::Spec;
use fairwave_linux::clock::Clock;
use fairwave_linux::tcp_info::Version;
use fairwave_probe::Account;
use fairwave_sim::{Delivery, FlowOutcome, Spread};
use fairwave_trace::{FlowId, FlowSample, PathSample};
use fairwave_units::{BitRate, Duration, Instant};
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Socket of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Socket of its source.
    Source,
    /// Socket of its sink that waits for a connection.
    Listener,
    /// Socket of its sink.
    Sink,
}

impl Role {
    const ALL: [Self; 3] = [Self::Source, Self::Listener, Self::Sink];
}

/// Resources of the thread that a flow uses during a call.
#[derive(Debug)]
pub(super) struct Host<'a> {
    pub(super) now: Instant,
    pub(super) clock: Clock,
    pub(super) epoll: &'a OwnedFd,
    /// Index of the flow.
    pub(super) index: u32,
    pub(super) version: Version,
    /// Lateness of sent datagrams.
    pub(super) lateness: &'a mut Spread,
    /// Send buffer; zero after the first bytes.
    pub(super) outgoing: &'a mut [u8],
    /// Receive buffer.
    pub(super) incoming: &'a mut [u8],
}

impl Host<'_> {
    fn data(&self, role: Role) -> epoll::EventData {
        epoll::EventData::new_u64(token(self.index, role))
    }

    pub(super) fn watch(
        &self,
        socket: &OwnedFd,
        role: Role,
        flags: epoll::EventFlags,
    ) -> Result<(), Errno> {
        epoll::add(self.epoll, socket, self.data(role), flags)
    }

    pub(super) fn forget(&self, socket: &OwnedFd) -> Result<(), Errno> {
        epoll::delete(self.epoll, socket)
    }

    pub(super) fn rewatch(
        &self,
        socket: &OwnedFd,
        role: Role,
        flags: epoll::EventFlags,
    ) -> Result<(), Errno> {
        epoll::modify(self.epoll, socket, self.data(role), flags)
    }
}

fn token(index: u32, role: Role) -> u64 {
    u64::from(index) << 2 | role as u64
}

/// The flow and the socket of an epoll event.
pub(super) fn from_token(token: u64) -> (usize, Role) {
    ((token >> 2) as usize, Role::ALL[(token & 3) as usize])
}

/// Common state of all flows.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) spec: Spec,
    pub(super) delivery: Delivery,
    at_warm_up: FlowSample,
    failure: Option<Failure>,
}

impl Common {
    pub(super) fn new(spec: Spec) -> Self {
        let (delivery, at_warm_up) = (Delivery::default(), FlowSample::default());
        Self { spec, delivery, at_warm_up, failure: None }
    }

    /// Stores the reason for which the flow ends. Only the first reason is kept, as the others
    /// follow from it.
    pub(super) fn fail(&mut self, at: Instant, what: &'static str, cause: Errno) {
        self.fail_with(at, what, std::io::Error::from(cause).to_string());
    }

    /// [`Self::fail`] with a cause in words.
    pub(super) fn fail_with(&mut self, at: Instant, what: &'static str, cause: String) {
        let flow = self.spec.name.clone();
        self.failure.get_or_insert(Failure { flow, at, what, cause });
    }

    /// Time at which a flow that has not begun starts or, if that is earlier, stops.
    pub(super) fn first_deadline(&self) -> Instant {
        let Spec { start, stop, .. } = self.spec;
        stop.map_or(start, |stop| stop.min(start))
    }

    /// Whether its time to stop has come.
    pub(super) fn has_stopped(&self, now: Instant) -> bool {
        self.spec.stop.is_some_and(|stop| stop <= now)
    }
}

/// A flow on sockets.
pub(super) trait Carrier: Send {
    /// Common state.
    fn common(&mut self) -> &mut Common;

    /// Time at which it wants to be woken.
    fn deadline(&self) -> Option<Instant>;

    /// Handles its deadline.
    fn wake(&mut self, host: &mut Host<'_>);

    /// Handles an event of one of its sockets.
    fn ready(&mut self, role: Role, flags: epoll::EventFlags, host: &mut Host<'_>);

    /// Its counters and state.
    fn sample(&mut self, version: Version) -> FlowSample;

    /// State of its paths at the last sample, if it has several.
    fn paths(&self) -> Vec<PathSample> {
        Vec::new()
    }

    /// Handles the end of the warm-up: the receiver's measurements begin again.
    fn restart(&mut self) {}

    /// Whether no further event can occur.
    fn is_over(&self) -> bool;

    /// Closes its sockets at once.
    fn close(&mut self, version: Version);

    /// Accounts of its trials, if it is a buffer probe.
    fn accounts(&self) -> &[Account] {
        &[]
    }

    /// Adds its own results to the outcome.
    fn fill(&self, outcome: &mut KernelFlow);
}

/// Ends the warm-up of a flow.
pub(super) fn end_warm_up(carrier: &mut dyn Carrier, now: Instant, version: Version) {
    carrier.restart();
    let sample = carrier.sample(version);
    let common = carrier.common();
    common.delivery.restart_silence(now);
    common.at_warm_up = sample;
}

/// Results of a flow on sockets.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFlow {
    /// The flow of the world.
    pub id: FlowId,
    /// Outcome, as in the simulator. The kernel does not count entries into fast recovery
    /// ([`FlowSample::is_of_kernel`]). Dropped ACKs are counted separately, from the world's drops.
    pub outcome: FlowOutcome,
    /// Datagrams that the source's kernel refused for lack of memory or of a route. They count as
    /// sent and lost.
    pub refused: u64,
    /// Datagrams that arrived after later ones, after the warm-up.
    pub reordered: u64,
    /// Round-trip times of datagrams that the sink returned, after the warm-up.
    pub echoes: Option<fairwave_sim::Times>,
    /// Reason for which it ended early, if it did.
    pub failure: Option<Failure>,
}

/// Results of a flow at `end`, which closes it.
pub(super) fn outcome(
    mut carrier: Box<dyn Carrier>,
    end: Instant,
    measured: Duration,
    version: Version,
) -> KernelFlow {
    carrier.close(version);
    let at_end = carrier.sample(version);
    let common = carrier.common();
    common.delivery.note_silence(end);
    let delivery = &mut common.delivery;
    let bytes = at_end.delivered_bytes - common.at_warm_up.delivered_bytes;
    let outcome = FlowOutcome {
        name: common.spec.name.clone(),
        goodput: BitRate::over(bytes, measured),
        at_warm_up: common.at_warm_up,
        at_end,
        bins: core::mem::take(&mut delivery.bins),
        longest_silence: delivery.longest_silence,
        completed: delivery.completed.map(|at| at.since(Instant::ZERO)),
        ..FlowOutcome::default()
    };
    let (id, failure) = (common.spec.id, common.failure.take());
    let mut flow = KernelFlow { id, outcome, refused: 0, reordered: 0, echoes: None, failure };
    carrier.fill(&mut flow);
    flow
}
