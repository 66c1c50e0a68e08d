//! A flow over a TCP connection of the kernel.

use super::carrier::{Carrier, Common, Host, KernelFlow, Role};
use super::socket::{Sockets, peer};
use super::spec::{Load, Spec, Writes};
use super::tcp_info::{TcpInfo, Version};
use core::iter::Peekable;
use core::time;
use fairwave_trace::FlowSample;
use fairwave_traffic::Frames;
use fairwave_units::{Bytes, Duration, Instant};
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, Shutdown, SocketFlags, acceptfrom_with, connect, recv, send, shutdown,
    sockopt,
};
use std::net::SocketAddr;

/// Calls of the kernel for one socket before others, and datagrams that are due, have their turn.
const TURN: usize = 4;
/// Time for which a connection waits for its proxy to listen, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY_AFTER: Duration = Duration::from_millis(20);
/// Bytes of a proxy's answer at most.
const LONGEST_ANSWER: usize = 4 << 10;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before its start.
    Waiting,
    /// The handshake is under way.
    Opening,
    /// The proxy was asked for the sink.
    Asking,
    /// The application writes.
    Open,
    /// All is written; the sink has not closed its side yet.
    Closing,
    /// It is over.
    Ended,
}

/// What the application at the source still has to write.
#[derive(Debug)]
struct Backlog {
    /// Bytes to write now; `None` never ends.
    left: Option<u64>,
    /// Where more comes from.
    frames: Option<Box<Peekable<Frames>>>,
}

impl Backlog {
    fn new(writes: &Writes) -> Self {
        match writes {
            Writes::Bulk(size) => Self { left: size.map(|size| size.0), frames: None },
            Writes::Timed(source, random) => {
                let frames = source.frames(random.clone()).peekable();
                Self { left: Some(0), frames: Some(Box::new(frames)) }
            }
        }
    }

    /// When more comes, after `start`.
    fn deadline(&mut self, start: Instant) -> Option<Instant> {
        self.frames.as_mut()?.peek().map(|frame| start + frame.at)
    }

    /// Takes what has come by `now`.
    fn fill(&mut self, start: Instant, now: Instant) {
        while self.deadline(start).is_some_and(|at| at <= now) {
            let frame = self.frames.as_mut().and_then(Iterator::next);
            let (Some(frame), Some(left)) = (frame, &mut self.left) else { return };
            *left += frame.bytes;
        }
    }

    fn is_empty(&self) -> bool {
        self.left == Some(0)
    }

    /// Whether nothing will ever be written any more.
    fn is_over(&mut self) -> bool {
        let more = self.frames.as_mut().is_some_and(|frames| frames.peek().is_some());
        self.is_empty() && !more
    }
}

/// A connection, with the application at each end.
pub(super) struct ConnectionFlow {
    common: Common,
    size: Option<Bytes>,
    acks_at_once: bool,
    is_multipath: bool,
    phase: Phase,
    backlog: Backlog,
    /// Time at which the backlog has more.
    next_frame: Option<Instant>,
    addresses: (SocketAddr, SocketAddr),
    /// Where the proxy listens that it passes.
    through: Option<SocketAddr>,
    /// Time at which it is asked again, which did not listen yet.
    again: Option<Instant>,
    /// What the proxy has answered so far.
    answer: Vec<u8>,
    source: Option<OwnedFd>,
    /// What epoll is asked about the source.
    asked: EventFlags,
    listener: Option<OwnedFd>,
    sink: Option<OwnedFd>,
    /// What the kernel told last, while there were sockets.
    last: FlowSample,
}

impl ConnectionFlow {
    pub(super) fn new(spec: Spec, sockets: Sockets) -> Self {
        let Load::Connection(connection) = &spec.load else { unreachable!("it has no connection") };
        let writes = &connection.writes;
        let size = if let Writes::Bulk(size) = writes { *size } else { None };
        let Sockets { source, sink, source_address, sink_address } = sockets;
        Self {
            size,
            acks_at_once: connection.acks_at_once,
            is_multipath: connection.is_multipath,
            phase: Phase::Waiting,
            backlog: Backlog::new(writes),
            next_frame: None,
            addresses: (source_address, sink_address),
            through: connection.through.as_ref().map(|through| through.place.address),
            again: None,
            answer: Vec::new(),
            source: Some(source),
            asked: EventFlags::empty(),
            listener: Some(sink),
            sink: None,
            last: FlowSample { is_of_kernel: true, ..FlowSample::default() },
            common: Common::new(spec),
        }
    }

    fn fail(&mut self, host: &Host<'_>, what: &'static str, cause: Errno) {
        self.common.fail(host.now, what, cause);
        self.close(host.version);
    }

    fn open(&mut self, host: &Host<'_>) {
        let Some(listener) = &self.listener else { return };
        match host.watch(listener, Role::Listener, EventFlags::IN) {
            Ok(()) => self.connect(host),
            Err(refused) => self.fail(host, "wait for its socket", refused),
        }
    }

    fn connect(&mut self, host: &Host<'_>) {
        let Some(source) = &self.source else { return };
        let asked = EventFlags::OUT | EventFlags::RDHUP;
        let to = self.through.unwrap_or(self.addresses.1);
        let opened = match connect(source, &to) {
            // Linux says so once of a socket whose last attempt was refused.
            Err(Errno::CONNABORTED) => connect(source, &to),
            first => first,
        };
        let opened = match opened {
            Ok(()) | Err(Errno::INPROGRESS) => host.watch(source, Role::Source, asked),
            Err(refused) => Err(refused),
        };
        (self.phase, self.asked, self.again) = (Phase::Opening, asked, None);
        if let Err(refused) = opened {
            self.fail(host, "connect", refused);
        }
    }

    /// The proxy is a program that starts with the run: a while passes until it listens.
    fn try_again(&mut self, host: &Host<'_>) -> bool {
        let patient = self.common.spec.start + PATIENCE > host.now;
        let Some(source) = self.source.as_ref().filter(|_| self.through.is_some() && patient)
        else {
            return false;
        };
        self.again = host.forget(source).is_ok().then_some(host.now + RETRY_AFTER);
        self.again.is_some()
    }

    /// The application stops: what it has written is still delivered.
    fn stop(&mut self, host: &mut Host<'_>) {
        self.backlog = Backlog { left: Some(0), frames: None };
        match self.phase {
            Phase::Waiting => self.close(host.version),
            Phase::Open => self.write(host),
            Phase::Opening | Phase::Asking | Phase::Closing | Phase::Ended => {}
        }
    }

    /// The proxy is to connect to the sink.
    fn ask_proxy(&mut self, host: &mut Host<'_>) {
        let Some(source) = &self.source else { return };
        let sink = self.addresses.1;
        let request = format!("CONNECT {sink} HTTP/1.1\r\nHost: {sink}\r\n\r\n");
        match send(source, request.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(sent) if sent == request.len() => self.phase = Phase::Asking,
            Ok(_) => return self.fail(host, "ask the proxy", Errno::NOBUFS),
            Err(cause) => return self.fail(host, "ask the proxy", cause),
        }
        self.ask(host);
    }

    /// The proxy answers. The sink sends nothing, so that nothing follows the answer.
    fn hear_proxy(&mut self, host: &mut Host<'_>) {
        let Some(source) = &self.source else { return };
        match recv(source, &mut *host.incoming, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return self.fail(host, "ask the proxy", Errno::CONNRESET),
            Ok((_, bytes)) => self.answer.extend_from_slice(&host.incoming[..bytes]),
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(cause) => return self.fail(host, "ask the proxy", cause),
        }
        if !self.answer.ends_with(b"\r\n\r\n") && self.answer.len() < LONGEST_ANSWER {
            return;
        }
        if !self.answer.starts_with(b"HTTP/1.1 200 ") {
            return self.fail(host, "ask the proxy", Errno::CONNREFUSED);
        }
        self.phase = Phase::Open;
        self.write(host);
    }

    fn source_ready(&mut self, flags: EventFlags, host: &mut Host<'_>) {
        let Some(source) = &self.source else { return };
        let failed = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        if failed && let Ok(Err(cause)) = sockopt::socket_error(source) {
            let opening = self.phase == Phase::Opening;
            if opening && cause == Errno::CONNREFUSED && self.try_again(host) {
                return;
            }
            let what = if opening { "connect" } else { "send" };
            return self.fail(host, what, cause);
        }
        if self.phase == Phase::Opening && flags.contains(EventFlags::OUT) {
            if self.through.is_some() {
                return self.ask_proxy(host);
            }
            self.phase = Phase::Open;
        }
        if self.phase == Phase::Asking {
            return self.hear_proxy(host);
        }
        if self.phase == Phase::Open && flags.contains(EventFlags::OUT) {
            self.write(host);
        }
        if flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP) {
            self.hear_at_source(host);
        }
    }

    /// Writes what fits, for a turn, and closes when all is written.
    fn write(&mut self, host: &mut Host<'_>) {
        for _ in 0..TURN {
            let (Some(source), false) = (&self.source, self.backlog.is_empty()) else { break };
            let most = host.outgoing.len() as u64;
            let bytes = self.backlog.left.map_or(most, |left| left.min(most)) as usize;
            match send(source, &host.outgoing[..bytes], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => self.backlog.left = self.backlog.left.map(|left| left - sent as u64),
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(cause) => return self.fail(host, "send", cause),
            }
        }
        if self.phase == Phase::Open && self.backlog.is_over() {
            self.end_writing(host);
        }
        self.ask(host);
    }

    fn end_writing(&mut self, host: &Host<'_>) {
        let Some(source) = &self.source else { return };
        match shutdown(source, Shutdown::Write) {
            Ok(()) => self.phase = Phase::Closing,
            Err(cause) => self.fail(host, "close", cause),
        }
    }

    /// Asks epoll for what the phase waits for.
    fn ask(&mut self, host: &Host<'_>) {
        let asked = match self.phase {
            Phase::Open if self.backlog.is_empty() => EventFlags::RDHUP,
            Phase::Opening | Phase::Open => EventFlags::OUT | EventFlags::RDHUP,
            Phase::Waiting | Phase::Asking | Phase::Closing | Phase::Ended => {
                EventFlags::IN | EventFlags::RDHUP
            }
        };
        let Some(source) = self.source.as_ref().filter(|_| asked != self.asked) else { return };
        let changed = host.watch_anew(source, Role::Source, asked);
        self.asked = asked;
        if let Err(cause) = changed {
            self.fail(host, "wait for its socket", cause);
        }
    }

    /// The sink sends no data: its end of the stream is all that can come.
    fn hear_at_source(&mut self, host: &mut Host<'_>) {
        let Some(source) = &self.source else { return };
        match recv(source, &mut *host.incoming, RecvFlags::DONTWAIT) {
            Ok((_, 0)) if self.phase == Phase::Closing => self.close(host.version),
            Ok((_, 0)) => self.fail(host, "send", Errno::CONNRESET),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(cause) => self.fail(host, "send", cause),
        }
    }

    /// Whether a connection to the sink is the flow's, or that of its proxy.
    fn expects(&self, from: SocketAddr) -> bool {
        match self.through {
            Some(proxy) => from.ip() == proxy.ip(),
            None => from == self.addresses.0,
        }
    }

    /// Takes the connection of the source; others that found the port are closed.
    fn accept(&mut self, host: &Host<'_>) {
        let Some(listener) = &self.listener else { return };
        match acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok((socket, from)) if peer(&from).is_some_and(|from| self.expects(from)) => {
                let watched = host.watch(&socket, Role::Sink, EventFlags::IN | EventFlags::RDHUP);
                self.sink = Some(socket);
                // Further subflows begin at the same port, and the kernel refuses them where nobody
                // listens.
                self.listener.take_if(|_| !self.is_multipath);
                if let Err(cause) = watched {
                    return self.fail(host, "wait for its socket", cause);
                }
                self.acknowledge(host);
            }
            Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => {}
            Err(cause) => self.fail(host, "accept", cause),
        }
    }

    /// Reads what has come, for a turn.
    fn read(&mut self, host: &mut Host<'_>) {
        for _ in 0..TURN {
            let Some(sink) = &self.sink else { return };
            // The kernel drops what a TCP socket gives with this flag, instead of copying it.
            let flags = RecvFlags::TRUNC | RecvFlags::DONTWAIT;
            match recv(sink, &mut *host.incoming, flags) {
                Ok((_, 0)) => return self.end_reading(host.version),
                Ok((_, bytes)) => {
                    self.acknowledge(host);
                    self.common.delivery.take(bytes as u32, host.now);
                    self.common.delivery.note_completion(self.size, host.now);
                }
                Err(Errno::AGAIN | Errno::INTR) => return,
                Err(cause) => return self.fail(host, "receive", cause),
            }
        }
    }

    /// Sends the ACK that is due, where none is to be delayed. The kernel leaves that mode by
    /// itself, so that this is asked for after each read.
    fn acknowledge(&mut self, host: &Host<'_>) {
        let Some(sink) = self.sink.as_ref().filter(|_| self.acks_at_once) else { return };
        if let Err(cause) = sockopt::set_tcp_quickack(sink, true) {
            self.fail(host, "set TCP_QUICKACK", cause);
        }
    }

    /// The source has closed, and all has been read: the sink closes, too.
    fn end_reading(&mut self, version: Version) {
        self.look(version);
        self.sink = None;
    }

    /// Remembers what the kernel tells, as long as there are sockets that it can tell of.
    fn look(&mut self, version: Version) {
        // An attempt that a proxy refuses leaves counts that begin anew with the next one.
        let counts = self.through.is_none() || self.phase != Phase::Opening;
        let source = self.source.as_ref().filter(|_| counts);
        if let Some(info) = source.and_then(|fd| TcpInfo::of(fd, version)) {
            self.last = FlowSample { acks_sent: self.last.acks_sent, ..info.sample() };
        }
        if let Some(info) = self.sink.as_ref().and_then(|fd| TcpInfo::of(fd, version)) {
            self.last.acks_sent = info.pure_acks();
        }
    }
}

/// Closes a socket so that the kernel forgets the connection at once, unless it is over.
fn reset(socket: OwnedFd) {
    // A socket that refuses is closed in the usual way, which takes longer.
    let _ = sockopt::set_socket_linger(&socket, Some(time::Duration::ZERO));
    drop(socket);
}

impl Carrier for ConnectionFlow {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn deadline(&self) -> Option<Instant> {
        let Spec { start, stop, .. } = self.common.spec;
        let stop = stop.filter(|_| self.backlog.left != Some(0) || self.backlog.frames.is_some());
        match self.phase {
            Phase::Waiting => Some(stop.map_or(start, |stop| stop.min(start))),
            Phase::Opening | Phase::Asking | Phase::Open => {
                stop.into_iter().chain(self.next_frame).chain(self.again).min()
            }
            Phase::Closing | Phase::Ended => None,
        }
    }

    fn wake(&mut self, host: &mut Host<'_>) {
        let Spec { start, stop, .. } = self.common.spec;
        if stop.is_some_and(|stop| stop <= host.now) {
            return self.stop(host);
        }
        if self.phase == Phase::Waiting {
            self.open(host);
        } else if self.again.is_some_and(|at| at <= host.now) {
            self.connect(host);
        }
        self.backlog.fill(start, host.now);
        self.next_frame = self.backlog.deadline(start);
        if self.phase == Phase::Open {
            self.write(host);
        }
    }

    fn ready(&mut self, role: Role, flags: EventFlags, host: &mut Host<'_>) {
        match role {
            Role::Source => self.source_ready(flags, host),
            Role::Listener => self.accept(host),
            Role::Sink => self.read(host),
        }
    }

    fn sample(&mut self, version: Version) -> FlowSample {
        self.look(version);
        FlowSample { delivered_bytes: self.common.delivery.bytes, ..self.last }
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Ended
    }

    fn close(&mut self, version: Version) {
        self.look(version);
        self.phase = Phase::Ended;
        let sockets = [self.source.take(), self.listener.take(), self.sink.take()];
        sockets.into_iter().flatten().for_each(reset);
    }

    fn fill(&self, _: &mut KernelFlow) {}
}
