//! The two ends of a flow, each a host of SHAKE in a thread of its own.

use super::progress::Progress;
use crate::traffic::place::Place;
use crate::traffic::progress::End;
use crate::traffic::shared::{Shared, Way};
use crate::traffic::socket::Within;
use core::future::{Future, pending, poll_fn};
use core::iter;
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time;
use fairwave_linux::clock::Clock;
use fairwave_shake_host::{Config, Host, Stream, Udp};
use fairwave_units::{Bytes, Duration, Instant};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::sleep;

/// Bytes that the application writes or reads at once.
const PIECE: usize = 256 << 10;
/// Maximum time until the sink answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// A failed step, and its error.
type Refused = (&'static str, io::Error);

/// The sockets of a flow.
#[derive(Debug)]
pub(super) struct Sockets {
    sink: Udp,
    /// Address of the sink, with its port.
    to: SocketAddr,
    /// Sockets of the source, by the ids of the paths: one for each time that a path is joined.
    paths: Vec<Vec<Udp>>,
}

impl Sockets {
    /// Opens them in the namespaces of their nodes.
    ///
    /// # Errors
    /// [`Refused`].
    pub(super) fn open(
        sink: Place,
        ways: &[Way],
        namespaces: &impl Within,
    ) -> Result<Self, Refused> {
        let entered = |place: Place, job: fn(SocketAddr) -> io::Result<Udp>| {
            let opened = namespaces.within(place.node, move || job(place.address));
            opened.map_err(|cause| ("enter its namespace", cause))?.map_err(|cause| ("bind", cause))
        };
        let sink = entered(sink, Udp::bind)?;
        let to = sink.address().map_err(|cause| ("ask for its address", cause))?;
        let paths = ways.iter().map(|way| {
            // Leaving closes the first socket, and the flow's port may not be free at once.
            let address = SocketAddr::new(way.place.address.ip(), 0);
            let again = way.rejoin.map(|_| Place { address, ..way.place });
            let places = iter::once(way.place).chain(again);
            places.map(|place| entered(place, of_path)).collect::<Result<_, _>>()
        });
        Ok(Self { sink, to, paths: paths.collect::<Result<_, _>>()? })
    }
}

fn of_path(address: SocketAddr) -> io::Result<Udp> {
    let mut socket = Udp::bind(address)?.without_fragments()?;
    socket.allow_gso();
    Ok(socket)
}

/// Times at which a flow starts and stops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) start: Instant,
    pub(super) stop: Option<Instant>,
}

/// The run that an end is part of.
#[derive(Clone)]
struct Run {
    clock: Clock,
    progress: Arc<Progress>,
    /// Becomes true at the end.
    ended: watch::Receiver<bool>,
}

/// The threads of both ends. Dropping this ends them.
#[derive(Debug)]
pub(super) struct Ends {
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Ends {
    /// Starts both.
    ///
    /// # Errors
    /// If there can be no thread.
    pub(super) fn start(
        shared: &Shared,
        sockets: Sockets,
        times: Times,
        clock: Clock,
        progress: &Arc<Progress>,
    ) -> io::Result<Self> {
        let (sender, ended) = watch::channel(false);
        let mut ends = Self { stop: sender, threads: Vec::new() };
        let Sockets { sink, to, paths } = sockets;
        let receiver = Receiver { config: shared.sink.clone(), socket: sink };
        let source = Source {
            config: shared.source.clone(),
            to,
            paths: shared.ways.iter().cloned().zip(paths).collect(),
            size: shared.size,
            times,
        };
        let run = Run { clock, progress: Arc::clone(progress), ended };
        ends.spawn("shake-sink", run.clone(), |run| async move {
            receiver.run(run.clock, &run.progress).await
        })?;
        ends.spawn("shake-source", run, |run| async move {
            source.run(run.clock, &run.progress).await
        })?;
        Ok(ends)
    }

    /// Runs a task in a thread of its own until the end.
    fn spawn<T: Future<Output = Result<(), Refused>>>(
        &mut self,
        name: &str,
        mut run: Run,
        task: impl FnOnce(Run) -> T + Send + 'static,
    ) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let serve = move || {
            runtime.block_on(async {
                let failed = tokio::select! {
                    result = task(run.clone()) => result.err(),
                    _ = run.ended.wait_for(|ended| *ended) => None,
                };
                if let Some((what, cause)) = failed {
                    run.progress.fail(run.clock.now(), what, cause.to_string());
                }
            });
        };
        self.threads.push(thread::Builder::new().name(name.to_owned()).spawn(serve)?);
        Ok(())
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A panic has already been printed.
            let _ = thread.join();
        }
    }
}

/// The end that sends.
struct Source {
    config: Config,
    to: SocketAddr,
    paths: Vec<(Way, Vec<Udp>)>,
    size: Option<Bytes>,
    times: Times,
}

impl Source {
    async fn run(self, clock: Clock, progress: &Progress) -> Result<(), Refused> {
        let Self { config, to, paths, size, times: Times { start, stop } } = self;
        let host = Host::client(config).map_err(|cause| ("open a session", cause))?;
        let steered = steer(&host, to, paths, clock, start);
        let transfer = async {
            let session = host.connect(PATIENCE).await.map_err(io::Error::other);
            let session = session.map_err(|cause| ("open a session", cause))?;
            let opened = session.open().map_err(io::Error::other);
            let stream = opened.map_err(|cause| ("open a stream", cause))?;
            progress.open(End::Source, (stream.monitor(), clock));
            send(stream, size, async {
                match stop {
                    Some(stop) => until(clock, stop).await,
                    None => pending().await,
                }
            })
            .await
            .map_err(|cause| ("send", cause))
        };
        tokio::select! {
            sent = transfer => sent?,
            () = steered => {}
        }
        // The thread ends with the run: until then its session answers the sink.
        pending().await
    }
}

/// Waits until a time of the clock.
async fn until(clock: Clock, at: Instant) {
    sleep(time::Duration::from_nanos(at.since(clock.now()).as_nanos())).await;
}

/// Joins and leaves paths at their times.
async fn steer(
    host: &Host,
    to: SocketAddr,
    paths: Vec<(Way, Vec<Udp>)>,
    clock: Clock,
    start: Instant,
) {
    let mut steps: Vec<(Instant, u8, Option<Udp>)> = Vec::new();
    for ((way, sockets), id) in paths.into_iter().zip(0..) {
        let joins = iter::once(way.join).chain(way.rejoin);
        steps.extend(joins.zip(sockets).map(|(at, socket)| (start + at, id, Some(socket))));
        steps.extend(way.leave.map(|leave| (start + leave, id, None)));
    }
    steps.sort_by_key(|(at, ..)| *at);
    for (at, id, socket) in steps {
        if at > start {
            until(clock, at).await;
        }
        match socket {
            Some(socket) => host.path_up(id, socket, to),
            None => host.path_down(id),
        }
    }
    pending::<()>().await;
}

/// Writes as much as the stream takes, up to `size`, until `stop`; then waits until the sink has
/// read it.
async fn send(
    mut stream: Stream,
    size: Option<Bytes>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let zeros = vec![0; PIECE];
    let mut left = size.map(|size| size.0);
    let mut stop = pin!(stop);
    while left != Some(0) {
        let bytes = left.map_or(PIECE, |left| left.min(PIECE as u64) as usize);
        tokio::select! {
            biased;
            () = &mut stop => break,
            written = stream.write(&zeros[..bytes]) => {
                let written = written? as u64;
                left = left.map(|left| left - written);
            }
        }
    }
    stream.shutdown().await?;
    stream.read(&mut [0]).await.map(drop)
}

/// The end that receives.
struct Receiver {
    config: Config,
    socket: Udp,
}

impl Receiver {
    async fn run(self, clock: Clock, progress: &Progress) -> Result<(), Refused> {
        let host = Host::server(self.config, self.socket);
        let host = host.map_err(|cause| ("accept a session", cause))?;
        let mut stream = host.accept().await;
        progress.open(End::Sink, (stream.monitor(), clock));
        let mut buffer = vec![0; PIECE];
        loop {
            let received = arrived(&mut stream, &mut buffer).await;
            match received.map_err(|cause| ("receive", cause))? {
                0 => break,
                bytes => progress.deliver((clock.now(), bytes)),
            }
        }
        stream.shutdown().await.map_err(|cause| ("close", cause))?;
        progress.end();
        pending().await
    }
}

/// Reads all that has arrived, as far as it fits into the buffer; zero is the end.
async fn arrived(stream: &mut Stream, buffer: &mut [u8]) -> io::Result<u32> {
    poll_fn(|cx| {
        let mut into = ReadBuf::new(buffer);
        loop {
            let before = into.filled().len();
            match Pin::new(&mut *stream).poll_read(cx, &mut into) {
                Poll::Ready(Ok(())) if into.filled().len() > before && into.remaining() > 0 => {}
                Poll::Ready(Err(cause)) if into.filled().is_empty() => {
                    return Poll::Ready(Err(cause));
                }
                Poll::Pending if into.filled().is_empty() => return Poll::Pending,
                Poll::Ready(_) | Poll::Pending => {
                    return Poll::Ready(Ok(into.filled().len() as u32));
                }
            }
        }
    })
    .await
}
