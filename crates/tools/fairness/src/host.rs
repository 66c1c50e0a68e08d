//! A host that takes part in a run.

use super::Error;
use super::counter::{Budget, Counted, Counter, Window};
use super::flow::{prepare, receive, receive_datagrams, send, send_datagrams, spawn};
use super::link::{Inbox, Link, greet};
use super::message::{
    Ending, Flow, Join, Limits, Part, Protocol, RadioSample, Repetition, Report, Station, Terms,
    ToHost, ToServer, Traffic,
};
use super::path::Path;
use super::radio::{Radio, interface_of};
use super::serve::SILENCE;
use super::udp::Datagrams;
use fairwave_linux::clock::Clock;
use fairwave_linux::congestion;
use fairwave_sockets::Udp;
use fairwave_units::{Duration, Instant};
use fairwave_wire::fairness::{FlowLabel, Opening};
use fairwave_wire::seal::Key;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum time to connect.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// Period at which the loop checks whether to stop.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);
/// Number of requests for the server's time before each repetition, and maximum wait for each
/// reply.
const PINGS: usize = 8;
const PING: Duration = Duration::from_secs(1);
/// Number of flows that are opened side by side: one after the other, many flows of a long path
/// would take longer than the server waits, and all at once would fill its queue.
const SIDE_BY_SIDE: usize = 8;
/// Period of the pings while the host waits for others, or opens flows.
const PULSE: Duration = Duration::from_secs(3);
/// Time after the end of an interval at which all flows have sampled their paths.
const SAMPLED: Duration = Duration::from_millis(100);
/// Period at which the host checks its own address.
const ADDRESS: Duration = Duration::from_secs(1);
/// Maximum wait for the results after this host's report: the server may wait for other hosts,
/// whose queues are still full.
const REPORTING: Duration = Duration::from_secs(45);
/// Maximum wait for the server's results after an interruption.
const FAREWELL: Duration = Duration::from_secs(3);

/// Options of a host.
#[derive(Clone, Debug)]
pub struct Request {
    /// Address of `fairwave fairness serve`.
    pub server: SocketAddr,
    /// The secret that both ends share.
    pub key: Key,
    /// Name of this host in the results.
    pub name: String,
    /// Traffic of this host.
    pub traffic: Traffic,
    /// Terms that all hosts share.
    pub terms: Terms,
    /// Whether one flow of this host is measured alone before the repetitions.
    pub alone: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// This number of hosts has joined, and more are awaited.
    Waiting(u16),
    /// One flow of this host begins, alone.
    Alone,
    /// One flow of another host begins, alone.
    Resting,
    /// A repetition begins; counted from 1.
    Running(u16),
    /// An interval of this host's flows has ended.
    Interval(Interval),
}

/// An interval of this host's flows, as far as this host counts it: of a flow to the server the
/// bytes that its own kernel took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Its end, in intervals from the start.
    pub number: usize,
    /// Bytes to the server, and from it; `None` without flows of that direction.
    pub up: Option<u64>,
    /// Bytes from the server.
    pub down: Option<u64>,
    /// Segments retransmitted, for TCP to the server.
    pub retransmitted: Option<u32>,
    /// The longest smoothed round-trip time of TCP to the server, in microseconds.
    pub rtt_us: Option<u32>,
    /// Datagrams from the server that are missing.
    pub lost: Option<u32>,
    /// The largest jitter of datagrams from the server, in microseconds.
    pub jitter_us: Option<u32>,
}

impl Interval {
    /// Sums up interval `at` of some flows.
    fn of(flows: &[Flow], at: usize) -> Self {
        let bytes = |is_up| {
            let of = flows.iter().filter(|flow| flow.is_up == is_up);
            of.filter_map(|flow| flow.bytes.get(at).copied()).reduce(|sum, one| sum + one)
        };
        let samples = |of: fn(&Path) -> &Vec<u32>| {
            flows.iter().filter_map(move |flow| of(&flow.path).get(at).copied())
        };
        Self {
            number: at + 1,
            up: bytes(true),
            down: bytes(false),
            retransmitted: samples(|path| &path.retransmitted).reduce(u32::saturating_add),
            rtt_us: samples(|path| &path.rtt_us).max(),
            lost: samples(|path| &path.lost).reduce(u32::saturating_add),
            jitter_us: samples(|path| &path.jitter_us).max(),
        }
    }
}

/// Results so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Limits of the server; `None` if it never sent them.
    pub limits: Option<Limits>,
    /// The repetitions. If the server is gone, the last one may contain this host only.
    pub repetitions: Vec<Repetition>,
}

/// Takes part until the run is over, or until `stop`. Results before an error are kept.
pub fn measure(
    request: &Request,
    stop: &AtomicBool,
    mut send_to: impl FnMut(Progress),
) -> (Measured, Option<Error>) {
    let mut found = Measured::default();
    let error = Host::connect(request, stop).and_then(|mut host| {
        let ended = host.run(&mut send_to);
        host.link.close();
        found = host.found;
        ended
    });
    (found, error.err())
}

/// The ends of flows between their opening and their start.
enum End {
    Stream(TcpStream, Option<String>),
    Datagrams(Box<Datagrams>),
}

struct Host<'a> {
    request: &'a Request,
    stop: &'a AtomicBool,
    clock: Clock,
    link: Link,
    inbox: Inbox,
    key: Key,
    session: u64,
    /// Local address of the connections to the server, and time at which its presence was last
    /// checked.
    own: Option<IpAddr>,
    own_seen: Instant,
    /// The traffic of this repetition within the server's limits.
    traffic: Traffic,
    part: Part,
    /// Number of repetitions of one flow alone so far, of whatever host.
    alone: u16,
    /// Messages that arrived during the wait for an answer.
    later: VecDeque<ToHost>,
    repetition: u16,
    /// Offset to add to this host's clock for the server's time.
    offset_ns: i128,
    clock_error_ns: u64,
    ends: Vec<End>,
    radio: Option<Radio>,
    radio_samples: Vec<RadioSample>,
    found: Measured,
}

const fn is_up(traffic: &Traffic, flow: u16) -> bool {
    traffic.up && flow < traffic.parallel
}

fn open(server: SocketAddr, label: FlowLabel, key: &Key, traffic: &Traffic) -> io::Result<End> {
    if let Protocol::Udp { .. } = traffic.protocol {
        let datagrams = Datagrams::open(server, label, key.clone())?;
        return Ok(End::Datagrams(Box::new(datagrams)));
    }
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.write_all(&Opening::Flow(label).write(key))?;
    let algorithm = prepare(&stream, &traffic.protocol, is_up(traffic, label.flow))?;
    Ok(End::Stream(stream, algorithm))
}

/// Opens flows, each on a thread of its own. Returns them in the same order.
///
/// # Errors
/// The first error in this order.
fn side_by_side<T: Send>(
    flows: &[u16],
    open: impl Fn(u16) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    let open = &open;
    std::thread::scope(|scope| {
        let begun: Vec<_> = flows.iter().map(|flow| scope.spawn(move || open(*flow))).collect();
        let ended = begun
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect()
    })
}

impl<'a> Host<'a> {
    fn connect(request: &'a Request, stop: &'a AtomicBool) -> Result<Self, Error> {
        if let Protocol::Tcp { algorithm: Some(algorithm), .. } = &request.traffic.protocol
            && request.traffic.up
            && !congestion::is_available(algorithm)
        {
            return Err(Error::Algorithm {
                algorithm: algorithm.clone(),
                available: congestion::names(),
            });
        }
        let (server, clock) = (request.server, Clock::start());
        let stream = TcpStream::connect_timeout(&server, PATIENCE)
            .map_err(|cause| Error::Silent { server, cause })?;
        let own = stream.local_addr().ok().map(|address| address.ip());
        let (link, inbox, key) =
            greet(stream, &request.key, clock).map_err(|error| match error.kind() {
                ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
                    Error::Key { server }
                }
                _ => Error::Silent { server, cause: error },
            })?;
        let (name, traffic, terms) = (request.name.clone(), request.traffic.clone(), request.terms);
        let join = Join { name, traffic: traffic.clone(), terms, alone: request.alone };
        link.send(&ToServer::Join(join)).map_err(|_| Error::Gone { server })?;
        Ok(Self {
            request,
            stop,
            clock,
            link,
            inbox,
            key,
            session: 0,
            own,
            own_seen: clock.now(),
            traffic,
            part: Part::All,
            alone: 0,
            later: VecDeque::new(),
            repetition: 0,
            offset_ns: 0,
            clock_error_ns: 0,
            ends: Vec::new(),
            radio: own.and_then(Radio::of),
            radio_samples: Vec::new(),
            found: Measured::default(),
        })
    }

    fn gone(&self) -> Error {
        Error::Gone { server: self.request.server }
    }

    /// Checks the local address. Connections do not survive a change of it, and get no error: they
    /// would fall silent.
    fn has_stayed(&mut self) -> Result<(), Error> {
        let (now, server) = (self.clock.now(), self.request.server);
        let Some(before) = self.own.filter(|_| now.since(self.own_seen) > ADDRESS) else {
            return Ok(());
        };
        self.own_seen = now;
        if interface_of(before).is_some() {
            return Ok(());
        }
        match Udp::source(server) {
            Ok(now) if now != before => Err(Error::Moved { server, before, now }),
            // Without a route there is no other address; the previous one may return.
            _ => Ok(()),
        }
    }

    fn say(&self, message: &ToServer) -> Result<(), Error> {
        self.link.send(message).map_err(|_| self.gone())
    }

    fn next(&mut self) -> Result<Option<ToHost>, Error> {
        if let Some(message) = self.later.pop_front() {
            return Ok(Some(message));
        }
        self.inbox.next(LOOK).map_err(|_| self.gone())
    }

    fn run(&mut self, send_to: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        let (mut received, mut printed) = (self.clock.now(), self.clock.now());
        loop {
            let now = self.clock.now();
            if self.stop.load(Ordering::Relaxed) {
                // If the message is lost, the server notices that the connection has ended.
                let _ = self.say(&ToServer::Leave(Report::default()));
                return Err(Error::Stopped);
            }
            self.has_stayed()?;
            if now.since(printed) > PULSE {
                self.say(&ToServer::Ping { sent_ns: now.as_nanos() })?;
                printed = now;
            }
            let Some(message) = self.next()? else {
                if now.since(received) > SILENCE {
                    return Err(self.gone());
                }
                continue;
            };
            received = self.clock.now();
            match message {
                ToHost::Joined { session, limits } => {
                    self.session = session;
                    self.found.limits = Some(limits);
                }
                ToHost::Refused(refusal) => {
                    return Err(Error::Refused { server: self.request.server, refusal });
                }
                ToHost::Waiting { here } => send_to(Progress::Waiting(here)),
                ToHost::Prepare { repetition, part } => self.prepare(repetition, part)?,
                ToHost::Start { at_ns } => {
                    send_to(match self.part {
                        Part::All => Progress::Running(self.number() + 1),
                        Part::Alone => Progress::Alone,
                        Part::Rest => Progress::Resting,
                    });
                    self.send_and_receive(at_ns, send_to)?;
                    received = self.clock.now();
                }
                ToHost::Done(repetition) => self.found.repetitions.push(repetition),
                ToHost::Over => return Ok(()),
                ToHost::Pong { .. } => {}
            }
        }
    }

    /// Opens the flows, and measures the offset of the server's clock.
    fn prepare(&mut self, repetition: u16, part: Part) -> Result<(), Error> {
        (self.repetition, self.part) = (repetition, part);
        self.alone += u16::from(part != Part::All);
        let requested = self.request.traffic.of(part);
        self.traffic = match self.found.limits {
            Some(limits) => limits.applied(requested),
            None => requested,
        };
        let directions = u16::from(self.traffic.up) + u16::from(self.traffic.down);
        let flows: Vec<u16> = (0..self.traffic.parallel * directions).collect();
        let (server, mut pinged) = (self.request.server, self.clock.now());
        let mut ends = Vec::with_capacity(flows.len());
        for some in flows.chunks(SIDE_BY_SIDE) {
            if self.clock.now().since(pinged) > PULSE {
                pinged = self.clock.now();
                self.say(&ToServer::Ping { sent_ns: pinged.as_nanos() })?;
            }
            let (key, traffic, session) = (&self.key, &self.traffic, self.session);
            let opened = side_by_side(some, |flow| {
                open(server, FlowLabel { session, repetition, flow }, key, traffic)
            });
            ends.extend(opened.map_err(|cause| Error::Flow { server, cause })?);
        }
        self.ends = ends;
        let rtt_ns = self.learn_time()?;
        self.say(&ToServer::Ready { clock_error_ns: self.clock_error_ns, rtt_ns })
    }

    /// Number of the repetition, from 0, without those of one flow alone.
    const fn number(&self) -> u16 {
        self.repetition.saturating_sub(self.alone)
    }

    /// Measures the offset of the server's clock. Returns the fastest round-trip time in
    /// nanoseconds; the error of the offset is at most half of it.
    fn learn_time(&mut self) -> Result<u64, Error> {
        let mut best: Option<(u64, i128)> = None;
        for _ in 0..PINGS {
            let sent_ns = self.clock.now().as_nanos();
            self.say(&ToServer::Ping { sent_ns })?;
            let until = self.clock.now() + PING;
            while let Some((echo_ns, server_ns)) = self.pong(until)? {
                let now_ns = self.clock.now().as_nanos();
                if echo_ns != sent_ns {
                    continue;
                }
                let rtt_ns = now_ns - sent_ns;
                let offset = i128::from(server_ns) - (i128::from(sent_ns) + i128::from(now_ns)) / 2;
                best = best.filter(|(min, _)| *min <= rtt_ns).or(Some((rtt_ns, offset)));
                break;
            }
        }
        let (rtt_ns, offset_ns) = best.ok_or_else(|| self.gone())?;
        (self.offset_ns, self.clock_error_ns) = (offset_ns, rtt_ns.div_ceil(2));
        Ok(rtt_ns)
    }

    fn pong(&mut self, until: Instant) -> Result<Option<(u64, u64)>, Error> {
        while self.clock.now() < until {
            match self.inbox.next(LOOK).map_err(|_| self.gone())? {
                Some(ToHost::Pong { sent_ns, server_ns }) => return Ok(Some((sent_ns, server_ns))),
                Some(other) => self.later.push_back(other),
                None => {}
            }
        }
        Ok(None)
    }

    /// Runs the flows from the agreed time on, and reports.
    fn send_and_receive(
        &mut self,
        at_ns: u64,
        send_to: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        let terms = self.request.terms;
        let begin = u64::try_from(i128::from(at_ns) - self.offset_ns).unwrap_or(0);
        let window = Window {
            clock: self.clock,
            begin: Instant::from_nanos(begin),
            interval: Duration::from_nanos(terms.interval_ns),
            bins: terms.bins(),
        };
        self.radio_samples.clear();
        // Discards the radio's counts from before the run.
        let _ = self.radio.as_mut().map(Radio::sample);
        let ends = std::mem::take(&mut self.ends);
        let counters: Vec<Arc<Counter>> = ends
            .into_iter()
            .zip(0..)
            .map(|(end, flow)| {
                start(end, is_up(&self.traffic, flow), &self.traffic.protocol, window)
            })
            .collect();
        let mut shown = 0;
        while shown < window.bins as usize {
            self.look_at_radio(window);
            // A sample may be late by the period at which a sender that waits looks at the time.
            let ended = window.ended(self.clock.now() - SAMPLED);
            if shown < ended {
                let flows: Vec<_> = counters.iter().map(|counter| counter.flow()).collect();
                let numbers = if flows.is_empty() { 0..0 } else { shown..ended };
                numbers.for_each(|at| send_to(Progress::Interval(Interval::of(&flows, at))));
                shown = ended;
            }
            if self.stop.load(Ordering::Relaxed) {
                return self.leave(&counters);
            }
            if let Err(moved) = self.has_stayed() {
                return self.keep(&counters, moved);
            }
            match self.inbox.next(LOOK) {
                Ok(Some(ToHost::Done(repetition))) => {
                    // The server ends early, and sends the results so far.
                    self.found.repetitions.push(repetition);
                    counters.iter().for_each(|counter| counter.stop());
                    return Err(self.gone());
                }
                Ok(_) => {}
                Err(_) => return self.keep(&counters, self.gone()),
            }
        }
        self.look_at_radio(window);
        let report = self.report(&counters);
        self.say(&ToServer::Report(report)).or_else(|e| self.keep(&counters, e))?;
        match self.account(REPORTING) {
            Ok(Some(repetition)) => {
                self.found.repetitions.push(repetition);
                Ok(())
            }
            Ok(None) if self.stop.load(Ordering::Relaxed) => self.keep(&counters, Error::Stopped),
            Ok(None) => self.keep(&counters, self.gone()),
            Err(error) => self.keep(&counters, error),
        }
    }

    /// Samples the radio at the end of each interval.
    fn look_at_radio(&mut self, window: Window) {
        let Some(radio) = &mut self.radio else { return };
        let ended = window.ended(self.clock.now());
        while self.radio_samples.len() < ended {
            self.radio_samples.push(radio.sample());
        }
    }

    fn report(&self, counters: &[Arc<Counter>]) -> Report {
        let flows: Vec<_> = counters.iter().map(|counter| counter.flow()).collect();
        let late = counters.iter().map(|counter| counter.late().as_nanos()).max();
        let up = flows.iter().filter(|flow| flow.is_up);
        let laws_up = up.clone().map(|flow| flow.algorithm.clone()).collect();
        let paths_up = up.map(|flow| flow.path.clone()).collect();
        let down = flows.iter().filter(|flow| !flow.is_up).cloned().collect();
        let radio = self.radio_samples.clone();
        Report { late_ns: late.unwrap_or(0), laws_up, paths_up, down, radio }
    }

    /// Waits for the server's results of the repetition; `None` if they do not arrive in time.
    fn account(&mut self, patience: Duration) -> Result<Option<Repetition>, Error> {
        let until = self.clock.now() + patience;
        let is_leaving = self.stop.load(Ordering::Relaxed);
        while self.clock.now() < until && self.stop.load(Ordering::Relaxed) == is_leaving {
            self.has_stayed()?;
            if let Some(ToHost::Done(repetition)) = self.next()? {
                return Ok(Some(repetition));
            }
        }
        Ok(None)
    }

    /// Ends a repetition early on request, with the server's results if they still arrive.
    fn leave(&mut self, counters: &[Arc<Counter>]) -> Result<(), Error> {
        counters.iter().for_each(|counter| counter.stop());
        let printed = self.say(&ToServer::Leave(self.report(counters)));
        match printed.and_then(|()| self.account(FAREWELL)) {
            Ok(Some(repetition)) => {
                self.found.repetitions.push(repetition);
                Err(Error::Stopped)
            }
            Ok(None) | Err(_) => self.keep(counters, Error::Stopped),
        }
    }

    /// Keeps this host's own counts, and returns the error.
    fn keep(&mut self, counters: &[Arc<Counter>], error: Error) -> Result<(), Error> {
        counters.iter().for_each(|counter| counter.stop());
        if self.part == Part::Rest {
            return Err(error);
        }
        let station = Station {
            name: self.request.name.clone(),
            address: self.own.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            traffic: self.traffic.clone(),
            clock_error_ns: self.clock_error_ns,
            late_ns: self.report(counters).late_ns,
            radio: self.radio_samples.clone(),
            flows: counters.iter().map(|counter| counter.flow()).collect(),
            ending: Ending::Open,
        };
        let is_alone = self.part == Part::Alone;
        let number = if is_alone { self.repetition } else { self.number() };
        let repetition = Repetition { number, is_alone, stations: vec![station] };
        self.found.repetitions.push(repetition);
        Err(error)
    }
}

/// Runs this host's end of a flow on a thread.
fn start(end: End, is_up: bool, protocol: &Protocol, window: Window) -> Arc<Counter> {
    let counter = |is_udp, algorithm| {
        let flow = Counted { is_up, by_receiver: !is_up, is_udp, algorithm };
        Counter::new(window, flow, Budget::new(u64::MAX))
    };
    match (end, protocol) {
        (End::Datagrams(mut end), Protocol::Udp { rate_bps }) => {
            let (counter, rate_bps) = (counter(true, None), *rate_bps);
            spawn(&counter, Some(()), move |(), counter| match is_up {
                true => send_datagrams(&mut end, rate_bps, counter),
                false => receive_datagrams(&mut end, counter),
            });
            counter
        }
        (End::Stream(stream, algorithm), _) => {
            let counter = counter(false, algorithm);
            let run = if is_up { send } else { receive };
            spawn(&counter, Some(stream), move |stream, counter| run(&stream, counter));
            counter
        }
        (End::Datagrams(_), Protocol::Tcp { .. }) => unreachable!("opened for this protocol"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// Each waits until all of them have begun.
    #[test]
    fn flows_are_opened_side_by_side_and_keep_their_order() {
        let (flows, barrier) = ([5, 6, 7, 8], Barrier::new(4));
        let opened = side_by_side(&flows, |flow| {
            barrier.wait();
            Ok(flow)
        });
        assert_eq!(opened.expect("none fails"), flows);
        let refused = side_by_side(&flows, |flow| match flow {
            5 | 8 => Ok(()),
            6 => Err(ErrorKind::TimedOut.into()),
            _ => Err(ErrorKind::ConnectionRefused.into()),
        });
        assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::TimedOut));
    }
}
