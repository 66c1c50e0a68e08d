//! The thread that serves the sockets of all flows: events of the kernel, and deadlines.

use super::carrier::{self, Carrier, Host, KernelFlow};
use super::spec::Load;
use core::{iter, mem};
use fairwave_linux::clock::{Clock, timespec};
use fairwave_linux::tcp_info::Version;
use fairwave_probe::diagnosis::{self, Finding, Sharing};
use fairwave_sim::deadlines::Deadlines;
use fairwave_sim::world::World;
use fairwave_sim::{FlowOutcome, Spread, Times};
use fairwave_trace::{FlowId, Sample};
use fairwave_units::{Duration, Instant};
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

/// Maximum number of bytes per system call.
const BUFFER: usize = 256 << 10;
/// Maximum number of events per wait.
const EVENTS: usize = 64;
/// Epoll data of the request to stop, and of the timer.
const STOP: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

/// Times of the tasks beside the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time at which the run ends.
    pub duration: Duration,
    /// Outcomes count from this time on.
    pub warm_up: Duration,
    /// Time between samples of all flows; `None` takes none.
    pub sample_every: Option<Duration>,
    /// Length of the bins in which deliveries are counted; `None` for no bins.
    pub bins: Option<Duration>,
    /// Whether the run ends as soon as all flows have ended. A flow of datagrams with a loss never
    /// ends.
    pub ends_when_idle: bool,
}

impl Timing {
    /// The times of a world.
    pub fn of(world: &World) -> Self {
        let positive = |every: Duration| (!every.is_zero()).then_some(every);
        Self {
            duration: world.duration,
            warm_up: world.warm_up,
            sample_every: positive(world.sample_every),
            bins: world.bins.and_then(positive),
            ends_when_idle: false,
        }
    }
}

/// Results of flows on sockets.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Results of each flow, in the order in which they were given.
    pub flows: Vec<KernelFlow>,
    /// Time at which the run ended.
    pub ended: Instant,
    /// Lateness of sent datagrams relative to the times of their source. Their delays count from
    /// the actual sending.
    pub lateness: Option<Times>,
    /// Samples that were dropped because the channel was full.
    pub samples_lost: u64,
}

impl Report {
    /// Replaces the flows' results in `outcomes`, which has the order of the world's flows.
    pub fn put_into(&self, outcomes: &mut [FlowOutcome]) {
        for flow in &self.flows {
            outcomes[flow.id.0 as usize].clone_from(&flow.outcome);
        }
    }

    /// The failures of flows, in words; `None` without any.
    pub fn failure(&self) -> Option<String> {
        let failures = self.flows.iter().filter_map(|flow| flow.failure.as_ref());
        let failures: Vec<String> = failures.map(ToString::to_string).collect();
        (!failures.is_empty()).then(|| failures.join("; "))
    }

    /// Warnings about datagrams that no kernel sent, and about samples that are missing.
    pub fn warnings(&self) -> Vec<String> {
        let refused = self.flows.iter().filter(|flow| flow.refused > 0).map(|flow| {
            let (name, refused) = (&flow.outcome.name, flow.refused);
            format!("{name}: the kernel refused {refused} datagrams, which count as lost")
        });
        let lost = (self.samples_lost > 0).then(|| {
            let lost = self.samples_lost;
            format!("{lost} samples of flows on sockets arrived too fast and are not recorded")
        });
        refused.chain(lost).collect()
    }
}

/// Ids of deadlines: first the flows, by their indices, then these.
const SAMPLER: u32 = 0;
const WARM_UP: u32 = 1;
const BIN: u32 = 2;
const OTHERS: usize = 3;

/// The flows, and the resources that serve them.
pub(super) struct Reactor {
    flows: Vec<Box<dyn Carrier>>,
    timing: Timing,
    clock: Clock,
    version: Version,
    epoll: OwnedFd,
    timer: OwnedFd,
    deadlines: Deadlines,
    samples: SyncSender<(Instant, Sample)>,
    samples_lost: u64,
    lateness: Spread,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    ended: Option<Instant>,
}

impl Reactor {
    /// Creates a reactor. A write to the returned descriptor stops it.
    pub(super) fn new(
        flows: Vec<Box<dyn Carrier>>,
        timing: Timing,
        clock: Clock,
        samples: SyncSender<(Instant, Sample)>,
    ) -> io::Result<(Self, Arc<OwnedFd>)> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        for (fd, data) in [(&timer, TIMER), (&*stop, STOP)] {
            epoll::add(&epoll, fd, epoll::EventData::new_u64(data), epoll::EventFlags::IN)?;
        }
        let deadlines = Deadlines::new(flows.len() + OTHERS);
        let reactor = Self {
            flows,
            timing,
            clock,
            version: Version::running(),
            epoll,
            timer,
            deadlines,
            samples,
            samples_lost: 0,
            lateness: Spread::default(),
            outgoing: vec![0; BUFFER],
            incoming: vec![0; BUFFER],
            ended: None,
        };
        Ok((reactor, stop))
    }

    /// Serves the flows until the end.
    pub(super) fn run(mut self) -> io::Result<Report> {
        self.begin();
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            self.act();
            if let Some(ended) = self.ended {
                return Ok(self.finish(ended));
            }
            self.arm()?;
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(cause) => return Err(cause.into()),
            }
            for event in events.drain(..) {
                self.take(event);
                // Due deadlines must not wait for all events of the kernel.
                self.act();
            }
        }
    }

    fn other(&self, which: u32) -> u32 {
        self.flows.len() as u32 + which
    }

    fn begin(&mut self) {
        for (index, flow) in (0..).zip(&self.flows) {
            self.deadlines.set(index, flow.deadline());
        }
        let Timing { warm_up, sample_every, bins, .. } = self.timing;
        let times = [sample_every, Some(warm_up), bins];
        for (which, after) in [SAMPLER, WARM_UP, BIN].into_iter().zip(times) {
            self.deadlines.set(self.other(which), after.map(|after| Instant::ZERO + after));
        }
    }

    fn end(&self) -> Instant {
        Instant::ZERO + self.timing.duration
    }

    /// Handles all deadlines that are due, up to and including the end.
    fn act(&mut self) {
        let mut now = self.clock.now();
        while self.ended.is_none()
            && let Some((at, id)) =
                self.deadlines.first().filter(|(at, _)| *at <= now.min(self.end()))
        {
            match self.flows.len() {
                flows if (id as usize) < flows => self.with(id, now, |flow, host| flow.wake(host)),
                flows => self.act_beside(id - flows as u32, at, now),
            }
            now = self.clock.now();
        }
        if now >= self.end() {
            self.ended.get_or_insert(self.end());
        }
        if self.timing.ends_when_idle && self.flows.iter().all(|flow| flow.is_over()) {
            self.ended.get_or_insert(now);
        }
    }

    /// Handles a task beside the flows that was due `at`.
    fn act_beside(&mut self, which: u32, at: Instant, now: Instant) {
        let next = match which {
            SAMPLER => self.timing.sample_every.map(|every| {
                self.sample(at);
                // A thread that was delayed for long does not repeat the samples that it missed.
                let missed = now.since(at).as_nanos() / every.as_nanos();
                at + Duration::from_nanos(every.as_nanos().saturating_mul(missed + 1))
            }),
            WARM_UP => {
                for flow in &mut self.flows {
                    carrier::end_warm_up(&mut **flow, now, self.version);
                }
                None
            }
            BIN => self.timing.bins.map(|bin| {
                self.flows.iter_mut().for_each(|flow| flow.common().delivery.end_bin());
                at + bin
            }),
            other => unreachable!("nothing has the number {other}"),
        };
        self.deadlines.set(self.other(which), next);
    }

    /// Sends a sample of each flow.
    fn sample(&mut self, at: Instant) {
        for flow in &mut self.flows {
            let (id, sample) = (flow.common().spec.id, flow.sample(self.version));
            let paths = (0..).zip(flow.paths());
            let paths = paths.map(|(path, sample)| Sample::Path(id, path, sample));
            for sample in iter::once(Sample::Flow(id, sample)).chain(paths) {
                // A loop that has ended takes none: these samples are after its end.
                let is_full =
                    matches!(self.samples.try_send((at, sample)), Err(TrySendError::Full(_)));
                self.samples_lost += u64::from(is_full);
            }
        }
    }

    /// Runs an action of a flow, and updates its deadline.
    fn with(
        &mut self,
        index: u32,
        now: Instant,
        act: impl FnOnce(&mut dyn Carrier, &mut Host<'_>),
    ) {
        let mut host = Host {
            now,
            clock: self.clock,
            epoll: &self.epoll,
            index,
            version: self.version,
            lateness: &mut self.lateness,
            outgoing: &mut self.outgoing,
            incoming: &mut self.incoming,
        };
        let flow = &mut *self.flows[index as usize];
        act(flow, &mut host);
        self.deadlines.set(index, flow.deadline());
    }

    fn take(&mut self, event: epoll::Event) {
        match event.data.u64() {
            STOP => {
                self.ended.get_or_insert(self.clock.now());
            }
            TIMER => {}
            token => {
                let ((index, role), flags) = (carrier::from_token(token), event.flags);
                let now = self.clock.now();
                self.with(index as u32, now, |flow, host| flow.ready(role, flags, host));
            }
        }
    }

    /// Sets the timer to the next deadline. The timer is never read: setting it clears its event.
    fn arm(&self) -> io::Result<()> {
        let first = self.deadlines.first().map_or(self.end(), |(at, _)| at.min(self.end()));
        let until = first.since(self.clock.now());
        // Zero would disable the timer.
        let it_value = timespec(until.as_nanos().max(1));
        let new = Itimerspec { it_interval: timespec(0), it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &new)?;
        Ok(())
    }

    /// Findings of probes that watch another flow, by their indices.
    fn sharing(&mut self) -> Vec<(usize, Finding<Sharing>)> {
        let ids: Vec<FlowId> = self.flows.iter_mut().map(|flow| flow.common().spec.id).collect();
        let mut watched = |flow: &mut Box<dyn Carrier>| {
            let Load::Probe(probe) = &flow.common().spec.load else { return None };
            let id = probe.watches?;
            ids.iter().position(|known| *known == id)
        };
        let pairs: Vec<Option<usize>> = self.flows.iter_mut().map(&mut watched).collect();
        let found = |(watcher, watched): (usize, Option<usize>)| {
            let loading = self.flows[watched?].accounts();
            Some((watcher, diagnosis::sharing(loading, self.flows[watcher].accounts())))
        };
        pairs.into_iter().enumerate().filter_map(found).collect()
    }

    fn finish(mut self, ended: Instant) -> Report {
        let warm_up = Instant::ZERO + self.timing.warm_up;
        let measured = ended.since(warm_up);
        let version = self.version;
        let sharing = self.sharing();
        let flows = mem::take(&mut self.flows).into_iter();
        let mut flows: Vec<KernelFlow> =
            flows.map(|flow| carrier::outcome(flow, ended, measured, version)).collect();
        for (watcher, found) in sharing {
            if let Some(probe) = &mut flows[watcher].outcome.probe {
                probe.sharing = Some(found);
            }
        }
        Report { flows, ended, lateness: self.lateness.times(), samples_lost: self.samples_lost }
    }
}
