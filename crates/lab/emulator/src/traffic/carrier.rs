//! What the thread that serves flows asks of each, and what all of them have.

use super::error::Failure;
use super::spec::Spec;
use super::tcp_info::Version;
use fairwave_linux::clock::Clock;
use fairwave_probe::Account;
use fairwave_sim::{Delivery, FlowOutcome, Spread};
use fairwave_trace::{FlowId, FlowSample};
use fairwave_units::{BitRate, Duration, Instant};
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Which socket of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// That of its source.
    Source,
    /// That of its sink which waits for a connection.
    Listener,
    /// That of its sink.
    Sink,
}

impl Role {
    const ALL: [Self; 3] = [Self::Source, Self::Listener, Self::Sink];
}

/// What a flow is lent for a call.
#[derive(Debug)]
pub(super) struct Host<'a> {
    pub(super) now: Instant,
    pub(super) clock: Clock,
    pub(super) epoll: &'a OwnedFd,
    /// Which flow it is to the thread.
    pub(super) index: u32,
    pub(super) version: Version,
    /// How late datagrams were sent.
    pub(super) lateness: &'a mut Spread,
    /// Memory for what is sent; zeros beyond the first bytes.
    pub(super) outgoing: &'a mut [u8],
    /// Memory for what is received.
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

    pub(super) fn watch_anew(
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

/// The flow and the socket that an event of epoll is about.
pub(super) fn from_token(token: u64) -> (usize, Role) {
    ((token >> 2) as usize, Role::ALL[(token & 3) as usize])
}

/// What every flow has.
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

    /// Notes why the flow ends. Only the first reason counts: others follow from it.
    pub(super) fn fail(&mut self, at: Instant, what: &'static str, cause: Errno) {
        let (flow, cause) = (self.spec.name.clone(), std::io::Error::from(cause).to_string());
        self.failure.get_or_insert(Failure { flow, at, what, cause });
    }
}

/// A flow on sockets.
pub(super) trait Carrier: Send {
    /// What every flow has.
    fn common(&mut self) -> &mut Common;

    /// Time at which it wants to be woken.
    fn deadline(&self) -> Option<Instant>;

    /// Its deadline has come.
    fn wake(&mut self, host: &mut Host<'_>);

    /// One of its sockets has something to say.
    fn ready(&mut self, role: Role, flags: epoll::EventFlags, host: &mut Host<'_>);

    /// Its counters and state.
    fn sample(&mut self, version: Version) -> FlowSample;

    /// The warm-up is over: what the receiver sees counts from here.
    fn restart(&mut self) {}

    /// Whether nothing will happen to it any more.
    fn is_over(&self) -> bool;

    /// Closes its sockets at once.
    fn close(&mut self, version: Version);

    /// What its trials came to, if it is a buffer probe.
    fn accounts(&self) -> &[Account] {
        &[]
    }

    /// Adds what it alone knows to its outcome.
    fn fill(&self, outcome: &mut KernelFlow);
}

/// The warm-up of a flow is over.
pub(super) fn end_warm_up(carrier: &mut dyn Carrier, now: Instant, version: Version) {
    carrier.restart();
    let sample = carrier.sample(version);
    let common = carrier.common();
    common.delivery.restart_silence(now);
    common.at_warm_up = sample;
}

/// What a flow on sockets came to.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFlow {
    /// The flow of the world.
    pub id: FlowId,
    /// What the simulator would tell of it, too. The kernel does not count entries into fast
    /// recovery ([`FlowSample::is_of_kernel`]). Which ACKs were dropped on their way is counted by
    /// those who see the world's drops.
    pub outcome: FlowOutcome,
    /// Datagrams that the kernel of the source refused to take, for want of room or a way. They
    /// count as sent and lost.
    pub refused: u64,
    /// Datagrams that arrived behind later ones, after the warm-up.
    pub reordered: u64,
    /// Round trips of datagrams that the sink returned, after the warm-up.
    pub echoes: Option<fairwave_sim::Times>,
    /// Reason for which it ended before its time, if it did.
    pub failure: Option<Failure>,
}

/// What a flow came to by `end`; it is closed.
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
