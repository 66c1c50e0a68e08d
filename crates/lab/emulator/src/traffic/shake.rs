//! A flow over several paths in a session of [`fairwave_shake_host`]: SHAKE, or a set of TCP
//! connections.
//!
//! Each end has a thread of its own, as hosts have processors of their own. The thread that serves
//! all flows takes deliveries and counters from them.

mod ends;
mod progress;

use super::carrier::{Carrier, Common, Host, KernelFlow, Role};
use super::error::Error;
use super::shared::Shared;
use super::socket::Within;
use super::spec::Spec;
use ends::{Ends, Sockets, Times};
use fairwave_linux::tcp_info::Version;
use fairwave_shake_host::endpoint::{CarrierReport, Sent};
use fairwave_sim::world::{set_path_sample, set_sample, shake_path_sample, shake_sample};
use fairwave_sim::{Departures, PathOutcome, ShakeOutcome};
use fairwave_trace::{FlowSample, PathSample};
use fairwave_units::Instant;
use progress::Progress;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use std::sync::Arc;

/// A flow, and its two ends.
pub(super) struct SharedFlow {
    common: Common,
    shared: Shared,
    sockets: Option<Sockets>,
    /// The two ends, once the flow has started.
    ends: Option<Ends>,
    progress: Arc<Progress>,
    departures: Departures,
    is_over: bool,
    /// Latest state of both ends.
    reports: [Option<(CarrierReport, Sent)>; 2],
    at_warm_up: Vec<PathSample>,
}

impl SharedFlow {
    /// Opens the sockets of a flow.
    ///
    /// # Errors
    /// [`Error`], with the refused step.
    pub(super) fn open(
        spec: Spec,
        shared: Shared,
        namespaces: &impl Within,
    ) -> Result<Self, Error> {
        let refused = |(what, cause)| Error::Socket { flow: spec.name.clone(), what, cause };
        let sockets = Sockets::open(spec.sink, &shared.ways, namespaces).map_err(refused)?;
        let progress = Progress::new().map_err(|cause| refused(("make an eventfd", cause)))?;
        Ok(Self {
            at_warm_up: vec![PathSample::default(); shared.ways.len()],
            common: Common::new(spec),
            shared,
            sockets: Some(sockets),
            ends: None,
            progress: Arc::new(progress),
            departures: Departures::default(),
            is_over: false,
            reports: [None, None],
        })
    }

    fn begin(&mut self, host: &Host<'_>) {
        let Some(sockets) = self.sockets.take() else { return };
        if let Err(cause) = host.watch(self.progress.signal(), Role::Sink, EventFlags::IN) {
            self.common.fail(host.now, "wait for its socket", cause);
            self.is_over = true;
            return;
        }
        let times = Times { start: self.common.spec.start, stop: self.common.spec.stop };
        match Ends::start(&self.shared, sockets, times, host.clock, &self.progress) {
            Ok(ends) => self.ends = Some(ends),
            Err(cause) => {
                let cause = Errno::from_io_error(&cause).unwrap_or(Errno::AGAIN);
                self.common.fail(host.now, "start its threads", cause);
                self.is_over = true;
            }
        }
    }

    /// Takes the deliveries of the sink, and looks for an end.
    fn advance(&mut self) {
        let taken = self.progress.take();
        // After the deliveries: bytes that are there have left before.
        let [source, _] = self.progress.monitors();
        for (end, at) in source.iter().flat_map(|(source, clock)| source.take_departures(*clock)) {
            self.departures.note(end, at);
        }
        let times_departures = self.shared.source.notes_departures;
        for (at, bytes) in taken.delivered {
            let delivery = &mut self.common.delivery;
            delivery.take(bytes, at.max(delivery.last));
            delivery.note_completion(self.shared.size, at);
            if times_departures {
                self.departures.deliver(bytes, at, &mut delivery.delays);
            }
        }
        if let Some((at, what, cause)) = taken.failure {
            self.common.fail_with(at, what, cause);
            self.is_over = true;
        }
        self.is_over |= taken.has_ended;
    }

    /// Takes the deliveries, and looks at the state of both ends.
    fn look(&mut self) {
        self.advance();
        for (latest, monitor) in self.reports.iter_mut().zip(self.progress.monitors()) {
            if let Some(report) = monitor.and_then(|(monitor, _)| monitor.report()) {
                *latest = Some(report);
            }
        }
    }

    /// Samples of the paths.
    fn path_samples(&self) -> Vec<PathSample> {
        let paths = 0..self.shared.ways.len();
        let Some((report, sent)) = &self.reports[0] else {
            return paths.map(|_| PathSample::default()).collect();
        };
        let of = |path: usize| match report {
            CarrierReport::Shake { paths, .. } => {
                let sent = sent.paths.get(path).copied().unwrap_or_default();
                let joined = paths.iter().find(|joined| usize::from(joined.id) == path);
                shake_path_sample(joined, sent.segments, sent.repeated)
            }
            CarrierReport::Multi(connections) => {
                connections.get(path).map(set_path_sample).unwrap_or_default()
            }
        };
        paths.map(of).collect()
    }

    fn flow_sample(&self) -> FlowSample {
        match &self.reports {
            [Some((CarrierReport::Shake { stats, paths }, _)), sink] => {
                let acks = sink.as_ref().map_or(0, |(_, sent)| sent.acks);
                shake_sample(stats, paths.iter().copied(), acks)
            }
            [Some((CarrierReport::Multi(source), _)), sink] => {
                let sink = match sink {
                    Some((CarrierReport::Multi(sink), _)) => &sink[..],
                    _ => &[],
                };
                set_sample(source.iter().copied(), sink.iter().copied())
            }
            [None, _] => FlowSample::default(),
        }
    }
}

impl Carrier for SharedFlow {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn deadline(&self) -> Option<Instant> {
        let waits = self.sockets.is_some() && !self.is_over;
        waits.then(|| self.common.first_deadline())
    }

    fn wake(&mut self, host: &mut Host<'_>) {
        if self.common.has_stopped(host.now) {
            self.sockets = None;
            self.is_over = true;
            return;
        }
        self.begin(host);
    }

    fn ready(&mut self, _: Role, _: EventFlags, _: &mut Host<'_>) {
        self.advance();
    }

    fn sample(&mut self, _: Version) -> FlowSample {
        self.look();
        let delivered_bytes = self.common.delivery.bytes;
        FlowSample { delivered_bytes, ..self.flow_sample() }
    }

    fn paths(&self) -> Vec<PathSample> {
        self.path_samples()
    }

    fn restart(&mut self) {
        self.look();
        self.at_warm_up = self.path_samples();
        self.common.delivery.delays.restart();
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn close(&mut self, _: Version) {
        self.look();
        (self.sockets, self.ends) = (None, None);
        self.advance();
        self.is_over = true;
    }

    fn fill(&self, flow: &mut KernelFlow) {
        flow.outcome.delay = self.common.delivery.delays.times();
        if let Some((CarrierReport::Shake { stats, .. }, _)) = &self.reports[0] {
            flow.outcome.shake = Some(ShakeOutcome::of(stats, None));
        }
        let samples = self.at_warm_up.iter().zip(self.path_samples());
        let paths = self.shared.ways.iter().zip(samples);
        let outcome = |(way, (at_warm_up, at_end)): (&super::shared::Way, (&PathSample, _))| {
            PathOutcome { name: way.name.clone(), at_warm_up: *at_warm_up, at_end }
        };
        flow.outcome.paths = paths.map(outcome).collect();
    }
}
