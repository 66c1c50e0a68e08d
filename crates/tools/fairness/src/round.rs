//! State of a run at the server: its hosts and its phases.

use super::counter::{Budget, Counted, Counter, Window};
use super::flow::{prepare, receive, send, send_datagrams, spawn};
use super::link::Link;
use super::message::{
    Ending, Flow, Join, Limits, Part, Protocol, Refusal, Repetition, Report, Station, Terms,
    ToHost, ToServer, Traffic, is_name,
};
use super::udp::Hub;
use fairwave_linux::clock::Clock;
use fairwave_linux::congestion;
use fairwave_units::{Duration, Instant};
use fairwave_wire::fairness::FlowLabel;
use fairwave_wire::seal::Key;
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;

/// Maximum time for hosts to open their flows.
const PREPARATION: Duration = Duration::from_secs(20);
/// Maximum time for hosts to report after the end of a repetition: their frames wait in queues that
/// the flows have filled.
const REPORTING: Duration = Duration::from_secs(30);
/// Time between repetitions, in which queues drain.
const REST: Duration = Duration::from_millis(500);
/// Time from the start message to the start; four of the longest round-trip times are added.
const LEAD: Duration = Duration::from_millis(200);

/// Events of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// A host has joined: its name and address, the number of hosts, and the number that the run
    /// awaits.
    Joined(String, IpAddr, u16, u16),
    /// A host has left.
    Left(String),
    /// A host begins with one flow alone.
    Alone(String),
    /// All hosts begin a repetition, counted from 1.
    Started(u16),
    /// A run is over.
    Over,
}

/// A host with the key that asks to take part.
#[derive(Debug)]
pub(super) struct Newcomer {
    pub(super) session: u64,
    pub(super) ip: IpAddr,
    pub(super) link: Arc<Link>,
    pub(super) key: Key,
    pub(super) join: Join,
}

/// Events from the threads of connections.
#[derive(Debug)]
pub(super) enum Event {
    Joined(Newcomer),
    Said(u64, ToServer),
    Flow(FlowLabel, TcpStream),
    Gone(u64),
}

/// A host that takes part.
#[derive(Debug)]
struct Member {
    session: u64,
    name: String,
    ip: IpAddr,
    link: Arc<Link>,
    key: Key,
    /// Traffic that it asked for.
    requested: Traffic,
    /// Its traffic in this repetition, within the server's limits.
    traffic: Traffic,
    /// Whether it asked for a flow alone.
    alone: bool,
    budget: Arc<Budget>,
    streams: BTreeMap<u16, TcpStream>,
    /// Error of its clock and its round-trip time, once its flows are open.
    ready: Option<(u64, u64)>,
    counters: Vec<Arc<Counter>>,
    report: Option<Report>,
    ending: Ending,
    /// Whether its departure was reported. It remains until the end of the repetition, when it is
    /// removed a second time, as it is when its connection ends.
    is_gone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Gathering,
    Preparing { until: Instant },
    Running { until: Instant },
    Reporting { until: Instant },
    Resting { until: Instant },
}

/// A run, or the wait for one.
#[derive(Debug)]
pub(super) struct Round {
    clock: Clock,
    limits: Limits,
    terms: Option<Terms>,
    members: Vec<Member>,
    phase: Phase,
    /// Number by which the flows of this repetition are told from those of others.
    repetition: u16,
    /// Number of complete repetitions of all hosts.
    complete: u16,
    /// Hosts whose flow alone has not been measured, the present one first.
    alone: VecDeque<u64>,
    events: Vec<ServerEvent>,
    ended: Vec<u64>,
}

impl Round {
    pub(super) const fn new(clock: Clock, limits: Limits) -> Self {
        Self {
            clock,
            limits,
            terms: None,
            members: Vec::new(),
            phase: Phase::Gathering,
            repetition: 0,
            complete: 0,
            alone: VecDeque::new(),
            events: Vec::new(),
            ended: Vec::new(),
        }
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. } | Phase::Reporting { .. })
    }

    pub(super) fn take_events(&mut self) -> Vec<ServerEvent> {
        mem::take(&mut self.events)
    }

    /// Ended sessions, whose keys can be deleted.
    pub(super) fn take_ended(&mut self) -> Vec<u64> {
        mem::take(&mut self.ended)
    }

    pub(super) fn handle(&mut self, event: Event, hub: &Hub) {
        match event {
            Event::Joined(newcomer) => self.join(newcomer),
            Event::Flow(label, stream) => self.take_flow(label, stream),
            Event::Gone(session) => self.remove(session, hub),
            Event::Said(session, message) => self.take_message(session, message, hub),
        }
    }

    fn member(&mut self, session: u64) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.session == session)
    }

    fn join(&mut self, newcomer: Newcomer) {
        let Newcomer { session, ip, link, key, join } = newcomer;
        if let Err(refusal) = self.check(&join) {
            // A host that does not read the refusal notices that the connection ends.
            let _ = link.send(&ToHost::Refused(refusal));
            link.close();
            self.ended.push(session);
            return;
        }
        let Join { name, traffic, terms, alone } = join;
        self.terms = Some(terms);
        let here = self.members.len() as u16 + 1;
        self.events.push(ServerEvent::Joined(name.clone(), ip, here, terms.hosts));
        self.members.push(Member {
            session,
            name,
            ip,
            link,
            key,
            traffic: self.limits.applied(traffic.clone()),
            requested: traffic,
            alone,
            budget: Budget::new(self.limits.bytes),
            streams: BTreeMap::new(),
            ready: None,
            counters: Vec::new(),
            report: None,
            ending: Ending::Open,
            is_gone: false,
        });
        if let Some(newest) = self.members.last() {
            newest.send_to(&ToHost::Joined { session, limits: self.limits });
        }
        self.send_all(&ToHost::Waiting { here });
    }

    fn check(&self, join: &Join) -> Result<(), Refusal> {
        let Join { name, traffic, terms, alone } = join;
        let is_full = self.terms.is_some_and(|agreed| self.members.len() >= agreed.hosts.into());
        if self.phase != Phase::Gathering || is_full {
            return Err(Refusal::Busy);
        }
        if let Some(fault) = terms.fault(traffic) {
            return Err(Refusal::Fault(fault.to_owned()));
        }
        if !is_name(name) {
            let rule = "a name has 1 to 32 bytes: letters, digits and \"-_.:\"; give --name";
            return Err(Refusal::Fault(rule.to_owned()));
        }
        if let Some(agreed) = self.terms.filter(|agreed| agreed != terms) {
            return Err(Refusal::Terms(agreed));
        }
        if self.members.iter().any(|member| member.name == *name) {
            return Err(Refusal::Name);
        }
        let before = self.members.iter().filter(|member| member.alone).count() as u64;
        let repetitions = u64::from(terms.repetitions) + before + u64::from(*alone);
        if terms.duration_ns.saturating_mul(repetitions) > self.limits.time_ns {
            return Err(Refusal::Time(self.limits.time_ns));
        }
        match (&traffic.protocol, traffic.down) {
            (Protocol::Tcp { algorithm: Some(algorithm), .. }, true)
                if !congestion::is_available(algorithm) =>
            {
                Err(Refusal::Law(format!("{algorithm}: it has {}", congestion::names())))
            }
            _ => Ok(()),
        }
    }

    fn take_flow(&mut self, label: FlowLabel, stream: TcpStream) {
        let is_now = matches!(self.phase, Phase::Preparing { .. });
        if !is_now || label.repetition != self.repetition {
            return;
        }
        if let Some(member) = self.member(label.session)
            && label.flow < member.flows()
        {
            // A replayed label finds its entry occupied.
            member.streams.entry(label.flow).or_insert(stream);
        }
    }

    fn take_message(&mut self, session: u64, message: ToServer, hub: &Hub) {
        let phase = self.phase;
        let snapshot = matches!(message, ToServer::Leave(_));
        let Some(member) = self.member(session) else { return };
        match message {
            ToServer::Ready { clock_error_ns, rtt_ns } => {
                if matches!(phase, Phase::Preparing { .. }) {
                    member.ready = Some((clock_error_ns, rtt_ns));
                }
            }
            ToServer::Report(report) | ToServer::Leave(report) => member.report = Some(report),
            ToServer::Join(_) | ToServer::Ping { .. } => {}
        }
        if snapshot {
            member.ending = Ending::Left;
            let link = Arc::clone(&member.link);
            if self.is_running() {
                // The message is lost only if the host is already gone.
                let _ = link.send(&ToHost::Done(self.result()));
            }
            self.remove(session, hub);
        }
    }

    /// Removes a host. During a repetition its results so far are kept.
    fn remove(&mut self, session: u64, hub: &Hub) {
        let is_running = self.is_running();
        let Some(member) = self.member(session) else { return };
        member.counters.iter().for_each(|counter| counter.stop());
        member.link.close();
        if member.ending == Ending::Open {
            member.ending = Ending::Gone;
        }
        let (name, is_first) = (member.name.clone(), !member.is_gone);
        member.is_gone = true;
        hub.forget(session);
        if is_first {
            self.ended.push(session);
            self.events.push(ServerEvent::Left(name));
        }
        if !is_running {
            self.members.retain(|member| member.session != session);
        }
        if self.members.is_empty() {
            self.reset();
        }
    }

    fn reset(&mut self) {
        (self.terms, self.phase, self.repetition) = (None, Phase::Gathering, 0);
        self.complete = 0;
        self.alone.clear();
    }

    /// Handles the passage of time.
    pub(super) fn tick(&mut self, hub: &Hub) {
        let now = self.clock.now();
        let Some(terms) = self.terms else { return };
        match self.phase {
            Phase::Gathering if self.members.len() == usize::from(terms.hosts) => {
                let alone = self.members.iter().filter(|member| member.alone);
                self.alone = alone.map(|member| member.session).collect();
                self.prepare(hub);
            }
            Phase::Gathering => {}
            Phase::Preparing { .. } if self.has_lost_the_one() => {
                self.alone.pop_front();
                self.repetition += 1;
                self.prepare(hub);
            }
            Phase::Preparing { until } => {
                if self.members.iter().all(Member::is_prepared) {
                    self.start(terms, hub);
                } else if now >= until {
                    let late = self.members.iter().filter(|member| !member.is_prepared());
                    let late: Vec<u64> = late.map(|member| member.session).collect();
                    late.into_iter().for_each(|session| self.remove(session, hub));
                }
            }
            Phase::Running { until } => {
                if now >= until || self.members.iter().all(|m| m.ending != Ending::Open) {
                    self.phase = Phase::Reporting { until: now + REPORTING };
                }
            }
            Phase::Reporting { until } => {
                let is_reported = |m: &Member| m.report.is_some() || m.ending != Ending::Open;
                if now >= until || self.members.iter().all(is_reported) {
                    self.finish(terms, hub);
                }
            }
            Phase::Resting { until } if now >= until => self.prepare(hub),
            Phase::Resting { .. } => {}
        }
    }

    /// Asks the hosts to open their flows.
    fn prepare(&mut self, hub: &Hub) {
        self.phase = Phase::Preparing { until: self.clock.now() + PREPARATION };
        let repetition = self.repetition;
        self.alone.retain(|session| self.members.iter().any(|m| m.session == *session));
        let alone = self.alone.front().copied();
        for member in &mut self.members {
            let part = match alone {
                None => Part::All,
                Some(session) if session == member.session => Part::Alone,
                Some(_) => Part::Rest,
            };
            member.traffic = self.limits.applied(member.requested.of(part));
            member.send_to(&ToHost::Prepare { repetition, part });
            (member.ready, member.report) = (None, None);
            member.streams.clear();
            member.counters.clear();
            if matches!(member.traffic.protocol, Protocol::Udp { .. }) {
                hub.forget(member.session);
                for flow in 0..member.flows() {
                    let label = FlowLabel { session: member.session, repetition, flow };
                    hub.expect(label, member.key.clone(), member.ip);
                }
            }
        }
    }

    fn start(&mut self, terms: Terms, hub: &Hub) {
        let rtt = self.members.iter().filter_map(|m| m.ready).map(|(_, rtt)| rtt).max();
        let lead = LEAD + Duration::from_nanos(rtt.unwrap_or(0).saturating_mul(4));
        // A host may report any round-trip time, so that the lead is bounded.
        let lead = lead.min(Duration::from_secs(5));
        let begin = self.clock.now() + lead;
        let interval = Duration::from_nanos(terms.interval_ns);
        let window = Window { clock: self.clock, begin, interval, bins: terms.bins() };
        self.send_all(&ToHost::Start { at_ns: begin.as_nanos() });
        let repetition = self.repetition;
        for member in &mut self.members {
            member.counters = (0..member.flows())
                .map(|flow| {
                    let label = FlowLabel { session: member.session, repetition, flow };
                    member.begin(label, window, hub)
                })
                .collect();
        }
        self.phase = Phase::Running { until: window.end() };
        let alone = self.alone.front().and_then(|session| self.name_of(*session));
        self.events.push(alone.map_or(ServerEvent::Started(self.complete + 1), ServerEvent::Alone));
    }

    /// Whether the host that was to have one flow alone is not there any more.
    fn has_lost_the_one(&self) -> bool {
        self.alone.front().is_some_and(|session| self.name_of(*session).is_none())
    }

    fn name_of(&self, session: u64) -> Option<String> {
        let member = self.members.iter().find(|member| member.session == session)?;
        Some(member.name.clone())
    }

    /// Results of this repetition so far.
    fn result(&self) -> Repetition {
        let is_alone = !self.alone.is_empty();
        let number = if is_alone { self.repetition } else { self.complete };
        let taking_part = self.members.iter().filter(|member| !is_alone || member.flows() > 0);
        Repetition { number, is_alone, stations: taking_part.map(Member::station).collect() }
    }

    fn finish(&mut self, terms: Terms, hub: &Hub) {
        for member in self.members.iter_mut().filter(|m| m.ending == Ending::Open) {
            member.ending = match (&member.report, member.budget.is_used_up()) {
                (_, true) => Ending::UsedUp,
                (Some(_), _) => Ending::Complete,
                (None, _) => Ending::Gone,
            };
        }
        let result = self.result();
        self.send_all(&ToHost::Done(result));
        let stay = |member: &Member| member.ending == Ending::Complete;
        let leaving: Vec<u64> =
            self.members.iter().filter(|m| !stay(m)).map(|member| member.session).collect();
        self.phase = Phase::Resting { until: self.clock.now() + REST };
        self.repetition += 1;
        if self.alone.pop_front().is_none() {
            self.complete += 1;
        }
        let is_over = self.complete >= terms.repetitions;
        if is_over {
            self.send_all(&ToHost::Over);
        }
        for member in &mut self.members {
            member.ending = Ending::Open;
        }
        let all = self.members.iter().map(|member| member.session);
        let ends = if is_over { all.collect() } else { leaving };
        for session in ends {
            if is_over {
                self.dismiss(session, hub);
            } else {
                self.remove(session, hub);
            }
        }
        if is_over || self.members.is_empty() {
            self.events.push(ServerEvent::Over);
            self.reset();
        }
    }

    /// Releases a host whose run is over. The host closes the connection after it has read
    /// everything.
    fn dismiss(&mut self, session: u64, hub: &Hub) {
        hub.forget(session);
        self.ended.push(session);
        self.members.retain(|member| member.session != session);
    }

    /// Ends a run early because the server ends.
    pub(super) fn cut_off(&mut self) {
        if self.is_running() {
            let result = self.result();
            self.send_all(&ToHost::Done(result));
        }
        for member in &self.members {
            member.counters.iter().for_each(|counter| counter.stop());
            member.link.close();
        }
    }

    /// If a host is not reached, the reader of its connection notices.
    fn send_all(&self, message: &ToHost) {
        self.members.iter().for_each(|member| member.send_to(message));
    }
}

impl Member {
    fn send_to(&self, message: &ToHost) {
        if self.link.send(message).is_err() {
            self.link.close();
        }
    }

    /// Number of its flows: those to the server come first.
    const fn flows(&self) -> u16 {
        self.traffic.parallel * (self.traffic.up as u16 + self.traffic.down as u16)
    }

    const fn is_up(&self, flow: u16) -> bool {
        self.traffic.up && flow < self.traffic.parallel
    }

    fn is_prepared(&self) -> bool {
        let has_flows = match self.traffic.protocol {
            Protocol::Tcp { .. } => self.streams.len() == usize::from(self.flows()),
            // The host has received answers to its greetings.
            Protocol::Udp { .. } => true,
        };
        self.ready.is_some() && has_flows
    }

    /// Starts the server's end of a flow at the beginning of the window.
    fn begin(&mut self, label: FlowLabel, window: Window, hub: &Hub) -> Arc<Counter> {
        let is_up = self.is_up(label.flow);
        let budget = Arc::clone(&self.budget);
        let flow = |is_udp, algorithm| Counted { is_up, by_receiver: is_up, is_udp, algorithm };
        match self.traffic.protocol {
            Protocol::Tcp { .. } => {
                let stream = self.streams.remove(&label.flow);
                let opened = stream.and_then(|stream| {
                    let algorithm = prepare(&stream, &self.traffic.protocol, !is_up).ok()?;
                    Some((stream, algorithm))
                });
                let (stream, algorithm) = opened.unzip();
                let algorithm = algorithm.flatten();
                let counter = Counter::new(window, flow(false, algorithm), budget);
                let run = if is_up { receive } else { send };
                spawn(&counter, stream, move |stream, counter| run(&stream, counter));
                counter
            }
            Protocol::Udp { rate_bps } => {
                let counter = Counter::new(window, flow(true, None), budget);
                if is_up {
                    hub.count(label, Arc::clone(&counter));
                } else {
                    spawn(&counter, hub.sender(label), move |mut sender, counter| {
                        send_datagrams(&mut sender, rate_bps, counter);
                    });
                }
                counter
            }
        }
    }

    /// Measurements of the host in this repetition so far.
    fn station(&self) -> Station {
        let none = Report::default();
        let report = self.report.as_ref().unwrap_or(&none);
        let ours = self.counters.iter().map(|counter| counter.flow());
        let (mut up, down): (Vec<Flow>, Vec<Flow>) = ours.partition(|flow| flow.is_up);
        for (flow, algorithm) in up.iter_mut().zip(&report.laws_up) {
            flow.algorithm = algorithm.clone().filter(|algorithm| is_name(algorithm));
        }
        // Paths of TCP are sampled by the sender, and those of datagrams by the receiver.
        let is_tcp = matches!(self.traffic.protocol, Protocol::Tcp { .. });
        for (flow, path) in up.iter_mut().zip(&report.paths_up).filter(|_| is_tcp) {
            flow.path = path.clone().cut(flow.bytes.len());
        }
        let fits = |theirs: &Flow, ours: &Flow| {
            theirs.bytes.len() == ours.bytes.len() && !theirs.is_up && theirs.by_receiver
        };
        let reported = down.into_iter().enumerate().map(|(number, ours)| {
            match report.down.get(number).filter(|theirs| fits(theirs, &ours)) {
                Some(theirs) => Flow {
                    algorithm: ours.algorithm,
                    path: if is_tcp {
                        ours.path
                    } else {
                        theirs.path.clone().cut(theirs.bytes.len())
                    },
                    ..theirs.clone()
                },
                None => ours,
            }
        });
        up.extend(reported);
        Station {
            name: self.name.clone(),
            address: self.ip,
            traffic: self.traffic.clone(),
            clock_error_ns: self.ready.map_or(0, |(error, _)| error),
            late_ns: report.late_ns,
            radio: report
                .radio
                .iter()
                .take(up.first().map_or(0, |f| f.bytes.len()))
                .copied()
                .collect(),
            flows: up,
            ending: self.ending,
        }
    }
}
