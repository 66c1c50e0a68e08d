//! A flow of DCCP by the endpoints of [`fairwave_dccp_host`], inside UDP.
//!
//! Each end has a thread of its own in the network namespace of its node, where it sees the links
//! of that node. The thread that serves all flows takes deliveries and counters from them.

mod ends;
mod progress;

use super::carrier::{Carrier, Common, Host, KernelFlow, Role};
use super::error::Error;
use super::socket::Within;
use super::spec::{Dccp, Spec};
use super::stamp::Stamp;
use ends::Ends;
use fairwave_dccp::Stats;
use fairwave_linux::tcp_info::Version;
use fairwave_sim::Reception;
use fairwave_sim::world::dccp_sample;
use fairwave_trace::FlowSample;
use fairwave_units::Instant;
use progress::{Arrival, Progress};
use rustix::event::epoll::EventFlags;
use std::sync::Arc;

/// A flow, and its two ends.
pub(super) struct DccpConnection {
    common: Common,
    /// The largest payload of a datagram in bytes.
    payload_bytes: u32,
    /// Until the flow is over.
    ends: Option<Ends>,
    has_begun: bool,
    progress: Arc<Progress>,
    reception: Reception,
    is_over: bool,
    /// Latest counters of both ends.
    stats: [Option<Stats>; 2],
}

impl DccpConnection {
    /// Opens the sockets of a flow.
    ///
    /// # Errors
    /// [`Error`], with the refused step.
    pub(super) fn open(spec: Spec, dccp: Dccp, namespaces: &impl Within) -> Result<Self, Error> {
        let refused = |(what, cause)| Error::Socket { flow: spec.name.clone(), what, cause };
        let progress = Progress::new().map_err(|cause| refused(("make an eventfd", cause)))?;
        let progress = Arc::new(progress);
        let payload_bytes = dccp.flow.largest_payload_bytes();
        let ends = Ends::open(&spec, dccp, namespaces, &progress).map_err(refused)?;
        Ok(Self {
            common: Common::new(spec),
            payload_bytes,
            ends: Some(ends),
            has_begun: false,
            progress,
            reception: Reception::default(),
            is_over: false,
            stats: [None, None],
        })
    }

    fn begin(&mut self, host: &Host<'_>) {
        self.has_begun = true;
        if let Err(cause) = host.watch(self.progress.signal(), Role::Sink, EventFlags::IN) {
            self.common.fail(host.now, "wait for its datagrams", cause);
            self.is_over = true;
            return;
        }
        self.ends.iter().for_each(|ends| ends.begin(host.clock));
    }

    /// Takes the deliveries of the sink, and looks for an end.
    fn advance(&mut self) {
        let taken = self.progress.take();
        for Arrival { at, bytes, stamp } in taken.delivered {
            let delivery = &mut self.common.delivery;
            delivery.take(bytes, at.max(delivery.last));
            if let Some(Stamp { sequence, sent }) = stamp {
                self.reception.take(sequence, sent, at, &mut delivery.delays);
            }
        }
        if let Some((at, what, cause)) = taken.failure {
            self.common.fail_with(at, what, cause);
            self.is_over = true;
        }
        self.is_over |= taken.has_ended;
    }

    /// Takes the deliveries, and the counters of both ends.
    fn look(&mut self) {
        self.advance();
        for (latest, connection) in self.stats.iter_mut().zip(self.progress.monitors()) {
            if let Some(account) = connection.and_then(|connection| connection.account()) {
                *latest = Some(account.stats);
            }
        }
    }
}

impl Carrier for DccpConnection {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn deadline(&self) -> Option<Instant> {
        let waits = !self.has_begun && !self.is_over;
        waits.then(|| self.common.first_deadline())
    }

    fn wake(&mut self, host: &mut Host<'_>) {
        if self.common.has_stopped(host.now) {
            self.ends = None;
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
        let sample = match &self.stats {
            [Some(source), Some(sink)] => dccp_sample(source, sink, self.payload_bytes),
            // The handshake is not complete.
            _ => FlowSample::default(),
        };
        FlowSample { delivered_bytes, ..sample }
    }

    fn restart(&mut self) {
        self.look();
        self.reception.restart();
        self.common.delivery.delays.restart();
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn close(&mut self, _: Version) {
        self.look();
        self.ends = None;
        self.advance();
        self.is_over = true;
    }

    fn fill(&self, flow: &mut KernelFlow) {
        flow.outcome.datagrams = Some(self.reception.outcome());
        flow.outcome.delay = self.common.delivery.delays.times();
    }
}
