//! The two ends of a flow, each an endpoint of DCCP in a thread of its own.

use super::progress::{Arrival, Progress};
use crate::traffic::progress::End;
use crate::traffic::socket::Within;
use crate::traffic::spec::{Dccp, Spec};
use crate::traffic::stamp::{self, Stamp};
use bytes::Bytes;
use core::future::{Future, pending, poll_fn};
use core::task::Poll;
use fairwave_dccp_host::{Addressee, Connection, Endpoint, Over, Port, Request, SendError};
use fairwave_linux::clock::Clock;
use fairwave_sim::world::DccpFlow;
use fairwave_sockets::Alarm;
use fairwave_trace::NodeId;
use fairwave_units::Instant;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::runtime::Builder;
use tokio::sync::watch;

/// A failed step, and its error.
type Refused = (&'static str, io::Error);

/// Port of DCCP of a flow's sink, behind a port of UDP of its own.
const PORT: u16 = 5001;

/// State of a run, for the threads of its flows.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The flow has not started.
    Waits,
    /// The flow has started, in a run with this clock.
    Runs(Clock),
    /// The flow is over.
    Over,
}

/// The threads of both ends. Dropping this ends them.
#[derive(Debug)]
pub(super) struct Ends {
    phase: watch::Sender<Phase>,
    threads: Vec<JoinHandle<()>>,
}

impl Ends {
    /// Opens the ports of both ends in the namespaces of their nodes, and starts a thread for each
    /// there: a thread has the namespace of the thread that starts it.
    ///
    /// # Errors
    /// [`Refused`].
    pub(super) fn open(
        spec: &Spec,
        dccp: Dccp,
        namespaces: &impl Within,
        progress: &Arc<Progress>,
    ) -> Result<Self, Refused> {
        let (phase, seen) = watch::channel(Phase::Waits);
        let mut ends = Self { phase, threads: Vec::new() };
        let address = SocketAddr::new(spec.sink.address.ip(), PORT);
        let request = |with, udp_port| request(&dccp.flow, with, udp_port);
        let listening = request(Addressee::Anybody(address), spec.sink.address.port());
        let run = Run { phase: seen, progress: Arc::clone(progress) };
        let receiver = run.clone();
        let udp =
            ends.spawn(namespaces, spec.sink.node, listening, run.clone(), |port, clock| {
                receive(port, clock, receiver.progress)
            })?;
        let connecting = request(Addressee::Server(address), udp.port());
        let sender = Sender { dccp, start: spec.start, stop: spec.stop };
        let reports = Arc::clone(progress);
        ends.spawn(namespaces, spec.source.node, connecting, run, |port, clock| {
            sender.run(port, clock, reports)
        })?;
        Ok(ends)
    }

    /// Opens a port at a node, and starts the thread that runs `task` with it. Returns the address
    /// of the port.
    fn spawn<T: Future<Output = Result<(), Refused>>>(
        &mut self,
        namespaces: &impl Within,
        node: NodeId,
        request: Request,
        run: Run,
        task: impl FnOnce(Port, Clock) -> T + Send + 'static,
    ) -> Result<SocketAddr, Refused> {
        let job = move || {
            let port = Port::open(&request).map_err(|cause| ("open a port", other(cause)))?;
            let address = port.address().map_err(|cause| ("ask for its address", cause))?;
            let runtime = Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|cause| ("make a runtime", cause))?;
            let serve = move || runtime.block_on(run.serve(port, task));
            let thread = thread::Builder::new().name("dccp".to_owned()).spawn(serve);
            Ok((address, thread.map_err(|cause| ("start a thread", cause))?))
        };
        let entered = namespaces.within(node, job);
        let (address, thread) = entered.map_err(|cause| ("enter its namespace", cause))??;
        self.threads.push(thread);
        Ok(address)
    }

    /// Starts the flow.
    pub(super) fn begin(&self, clock: Clock) {
        self.phase.send_replace(Phase::Runs(clock));
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Over);
        for thread in self.threads.drain(..) {
            // A panic has already been printed.
            let _ = thread.join();
        }
    }
}

fn other(cause: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(cause)
}

/// Options of the ports of a flow.
fn request(flow: &DccpFlow, with: Addressee, udp_port: u16) -> Request {
    Request {
        over: Over::Udp,
        udp_port,
        ccids: vec![flow.ccid],
        profiles: flow.profiles(),
        queue: flow.queue(),
        sequence_window: flow.sequence_window,
        max_payload: flow.largest_payload_bytes().max(stamp::LEN as u32),
        watch: flow.remedies.any(),
        ..Request::new(with)
    }
}

/// The run that an end is part of.
#[derive(Clone)]
struct Run {
    phase: watch::Receiver<Phase>,
    progress: Arc<Progress>,
}

impl Run {
    /// Runs a task from the start of the flow until its end.
    async fn serve<T: Future<Output = Result<(), Refused>>>(
        mut self,
        port: Port,
        task: impl FnOnce(Port, Clock) -> T,
    ) {
        let begun = self.phase.wait_for(|phase| !matches!(phase, Phase::Waits)).await;
        let Ok(Phase::Runs(clock)) = begun.map(|phase| *phase) else { return };
        let failed = tokio::select! {
            result = task(port, clock) => result.err(),
            _ = self.phase.wait_for(|phase| matches!(phase, Phase::Over)) => None,
        };
        if let Some((what, cause)) = failed {
            self.progress.fail(clock.now(), what, cause.to_string());
        }
    }
}

/// The end that receives. The thread ends with the run: until then it acknowledges.
async fn receive(port: Port, clock: Clock, progress: Arc<Progress>) -> Result<(), Refused> {
    let endpoint = Endpoint::new(port).map_err(|cause| ("run a port", cause))?;
    if let Some(connection) = endpoint.accept().await {
        progress.open(End::Sink, connection.clone());
        while let Some(data) = connection.recv().await {
            let (at, bytes) = (clock.now(), data.len() as u32);
            progress.deliver(Arrival { at, bytes, stamp: Stamp::read(&data) });
        }
    }
    progress.end();
    pending().await
}

/// The end that sends.
struct Sender {
    dccp: Dccp,
    start: Instant,
    stop: Option<Instant>,
}

impl Sender {
    async fn run(self, port: Port, clock: Clock, progress: Arc<Progress>) -> Result<(), Refused> {
        let endpoint = Endpoint::new(port).map_err(|cause| ("run a port", cause))?;
        let connection = endpoint.connect().await.map_err(|cause| ("connect", other(cause)))?;
        progress.open(End::Source, connection.clone());
        let stop = async {
            match self.stop {
                Some(stop) => until(clock, stop).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            stopped = stop => stopped,
            sent = self.send(&connection, clock) => sent,
        }
        .map_err(|cause| ("set a timer", cause))?;
        if let Some((end, _)) = connection.ended() {
            return Err(("send", io::Error::other(end.to_string())));
        }
        connection.close();
        pending().await
    }

    /// Sends the datagrams of the source until there are no more, or the connection ends.
    async fn send(&self, connection: &Connection, clock: Clock) -> io::Result<()> {
        let (flow, mut sequence) = (&self.dccp.flow, 0_u32);
        let mut datagram = |bytes: u32| {
            let mut payload = vec![0; (bytes as usize).max(stamp::LEN)];
            Stamp { sequence, sent: clock.now() }.write(&mut payload);
            sequence = sequence.wrapping_add(1);
            Bytes::from(payload)
        };
        let Some(source) = &flow.source else {
            while connection.wait_for_room().await
                && connection.send(datagram(flow.payload_bytes), None).is_ok()
            {}
            return Ok(());
        };
        for emission in source.emissions(self.dccp.random.clone()) {
            until(clock, self.start + emission.at).await?;
            match connection.send(datagram(emission.bytes), None) {
                // One that finds the send queue full is lost, as in the simulator.
                Ok(()) | Err(SendError::Full) => {}
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Waits until a time of the clock, more exactly than the runtime's timers do.
async fn until(clock: Clock, at: Instant) -> io::Result<()> {
    let mut alarm = Alarm::new()?;
    poll_fn(|cx| {
        let now = clock.now();
        if now >= at {
            return Poll::Ready(Ok(()));
        }
        // In this order, so that an expiry that comes at once wakes the task.
        let armed = alarm.expire(cx).and_then(|()| alarm.arm(now, Some(at)));
        armed.map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending)
    })
    .await
}
