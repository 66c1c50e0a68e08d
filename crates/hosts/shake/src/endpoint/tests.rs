//! Two hosts over lines of virtual time.

use super::machine::MAX_UNCONFIRMED;
use super::*;
use crate::noise::{Initiator, Psk};
use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::seal::Key;
use fairwave_wire::shake::record::Datagram;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

mod datagrams;
mod lingering;
mod memory;
mod mtus;
mod pauses;
mod priority;

/// Datagrams in a socket, by their routes.
type Socket = Vec<(Route, Vec<u8>)>;

/// Two hosts, and a line for each path.
struct Net {
    client: Endpoint,
    server: Endpoint,
    lines: Vec<Line<Vec<u8>>>,
    /// Whether datagrams on a line arrive.
    works: Vec<bool>,
    /// Largest IP packets of each end that do.
    mtus: Vec<[u64; 2]>,
    now: Instant,
    events: Vec<(End, Event)>,
    /// Datagrams in the sockets of a host that is suspended.
    asleep: [Option<Socket>; 2],
    /// Time for which the clock of a host stood still.
    lag: [Duration; 2],
}

fn psk() -> Psk {
    Psk::of(&Key::new(b"a secret of the two ends").unwrap())
}

fn wire(mbps: u64, ms: u64, loss: f64) -> Wire {
    Wire {
        rate: Some(BitRate::mbps(mbps)),
        delay: Duration::from_millis(ms),
        loss,
        queue: Some(600),
        ..Wire::default()
    }
}

fn address(socket: u8) -> SocketAddr {
    (Ipv4Addr::new(192, 0, 2, socket), 9).into()
}

fn route(socket: u8) -> Route {
    Route { socket, remote: address(socket), local: None }
}

impl Net {
    fn new(wires: &[Wire]) -> Self {
        Self::with(wires, &Config::new(psk()))
    }

    fn with(wires: &[Wire], config: &Config) -> Self {
        let host = |seed| Endpoint::new(config.clone(), Seed(seed));
        let lines = wires.iter().enumerate();
        let mut net = Self {
            client: host(1),
            server: host(2),
            lines: lines.map(|(n, wire)| Line::symmetric(Seed(n as u64), *wire)).collect(),
            works: vec![true; wires.len()],
            mtus: vec![[1500; 2]; wires.len()],
            now: Instant::ZERO,
            events: Vec::new(),
            asleep: [None, None],
            lag: [Duration::ZERO; 2],
        };
        for path in 0..wires.len() as u8 {
            net.report(End::A, Input::PathUp(route(path)));
        }
        net.report(End::A, Input::Connect);
        net
    }

    fn host(&mut self, end: End) -> &mut Endpoint {
        if end == End::A { &mut self.client } else { &mut self.server }
    }

    /// The time now by a host's clock.
    fn time(&self, end: End) -> Instant {
        self.now - self.lag[end as usize]
    }

    fn report(&mut self, end: End, input: Input) {
        let now = self.time(end);
        self.host(end).handle(now, input);
        self.drain(end);
    }

    fn drain(&mut self, end: End) {
        let (now, real) = (self.time(end), self.now);
        if self.asleep[end as usize].is_some() {
            return;
        }
        while let Some(transmit) = self.host(end).poll(now) {
            // The server's one socket tells paths apart by the client's address.
            let IpAddr::V4(to) = transmit.datagram.to.ip() else { unreachable!() };
            let path = usize::from(to.octets()[3]);
            let bytes = transmit.datagram.bytes;
            let size = bytes.len() as u64 + 28;
            if self.works[path] && size <= self.mtus[path][end as usize] {
                self.lines[path].send(real, end, bytes, size);
            }
        }
        while let Some(event) = self.host(end).event() {
            self.events.push((end, event));
        }
    }

    fn step(&mut self, end: Instant) -> bool {
        let deadlines = [End::A, End::B].map(|end| self.deadline(end));
        let arrivals = self.lines.iter().filter_map(Line::next_arrival);
        let deadlines = deadlines.into_iter().flatten();
        let Some(at) = arrivals.chain(deadlines).min().filter(|at| *at <= end) else {
            self.now = end;
            return false;
        };
        assert!(at >= self.now, "a deadline in the past");
        self.now = at;
        for path in 0..self.lines.len() {
            while let Some((to, bytes)) = self.lines[path].arrive(at) {
                let from = if to == End::A { route(path as u8) } else { seen(path as u8) };
                match &mut self.asleep[to as usize] {
                    Some(socket) => socket.push((from, bytes)),
                    None => self.report(to, Input::Arrived(from, bytes)),
                }
            }
        }
        for end in [End::A, End::B] {
            self.wake(end);
        }
        true
    }

    fn deadline(&mut self, end: End) -> Option<Instant> {
        let (lag, is_awake) = (self.lag[end as usize], self.asleep[end as usize].is_none());
        let at = self.host(end).deadline().filter(|_| is_awake)?;
        Some(at + lag)
    }

    fn wake(&mut self, end: End) {
        if self.asleep[end as usize].is_none() {
            let now = self.time(end);
            self.host(end).wake(now);
            self.drain(end);
        }
    }

    fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
    }

    fn ms(&mut self, ms: u64) {
        self.run_until(self.now + Duration::from_millis(ms));
    }

    /// Opens a stream at the client; returns its numbers at both ends once the server has it.
    fn open(&mut self) -> [(usize, usize); 2] {
        let session = self.client.session().expect("connected");
        let now = self.time(End::A);
        let stream = self.client.open(now, session).expect("room for a stream");
        self.drain(End::A);
        self.ms(500);
        if self.accepted().is_none() {
            // The message that opens it was lost, and is sent again.
            self.ms(1_500);
        }
        [(session, stream), self.accepted().expect("accepted")]
    }

    /// Numbers of the stream that the server accepted last.
    fn accepted(&self) -> Option<(usize, usize)> {
        self.events.iter().rev().find_map(|event| match event {
            (End::B, Event::Accepted { session, stream }) => Some((*session, *stream)),
            _ => None,
        })
    }

    /// Writes `bytes` at one end and reads them at the other, for at most so long; returns the
    /// bytes read.
    fn carry(&mut self, from: End, streams: [(usize, usize); 2], bytes: &[u8], ms: u64) -> Vec<u8> {
        let (here, there) = if from == End::A { (0, 1) } else { (1, 0) };
        let to = if from == End::A { End::B } else { End::A };
        let [(session, stream), (peer, other)] = [streams[here], streams[there]];
        let (mut left, mut got) = (Bytes::copy_from_slice(bytes), Vec::new());
        let end = self.now + Duration::from_millis(ms);
        while got.len() < bytes.len() {
            let now = self.time(from);
            let space = self
                .host(from)
                .stream(session, stream)
                .map_or(0, |state| state.send_space as usize);
            let data = left.split_to(space.min(left.len()));
            if !data.is_empty() {
                self.host(from).write(now, session, stream, data);
                self.drain(from);
            }
            while let Some(data) = self.host(to).read(peer, other, u32::MAX) {
                got.extend(data);
            }
            self.drain(to);
            if !self.step(end) {
                break;
            }
        }
        got
    }

    /// An application lets a stream go.
    fn release(&mut self, end: End, (session, stream): (usize, usize)) {
        let now = self.time(end);
        self.host(end).release(now, session, stream);
        self.drain(end);
    }

    fn over(&mut self, end: End, (session, stream): (usize, usize)) -> bool {
        self.host(end).stream(session, stream).is_none_or(|state| state.is_over)
    }
}

/// The client's route as the server sees it.
fn seen(path: u8) -> Route {
    Route { socket: 0, remote: address(path), local: None }
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + n / 251) as u8).collect()
}

#[test]
fn streams_use_every_path_in_both_directions() {
    let mut net = Net::new(&[wire(20, 10, 0.0), wire(10, 20, 0.01)]);
    net.ms(300);
    let streams = net.open();
    let bytes = content(3_000_000);
    let start = net.now;
    assert!(net.carry(End::A, streams, &bytes, 10_000) == bytes);
    let rate = bytes.len() as f64 * 8.0 / net.now.since(start).as_secs_f64();
    assert!(rate > 21e6, "{rate} of 30 Mbps");
    assert!(net.carry(End::B, streams, &bytes, 10_000) == bytes);
    let paths = net.client.paths(net.now, streams[0].0);
    assert_eq!(paths.len(), 2);
    for path in &paths {
        assert!(path.is_up && path.mtu == Some(1500), "{path:?}");
        assert!(path.bytes_sent > 500_000 && path.bytes_received > 500_000, "{path:?}");
    }
    assert_eq!(paths[0].min_rtt.map(Duration::as_millis), Some(20));
    assert_eq!(paths[0].loss(), Some(0.0));
    assert!(paths[1].loss().is_some_and(|loss| (0.003..0.03).contains(&loss)), "{paths:?}");
    assert_eq!(net.client.refused(), Refused::default());
}

#[test]
fn every_mode_carries_bytes_both_ways() {
    for mode in Mode::ALL {
        let rates = vec![Some(BitRate::mbps(20)), Some(BitRate::mbps(10))];
        let config = Config { mode, rates, ..Config::new(psk()) };
        let mut net = Net::with(&[wire(20, 10, 0.0), wire(10, 20, 0.01)], &config);
        net.ms(300);
        let streams = net.open();
        let bytes = content(1_000_000);
        for from in [End::A, End::B] {
            assert!(net.carry(from, streams, &bytes, 10_000) == bytes, "{mode:?}");
        }
        let [one, other] = net.client.paths(net.now, streams[0].0)[..] else { panic!("two paths") };
        let share = one.bytes_sent as f64 / (one.bytes_sent + other.bytes_sent) as f64;
        match mode {
            // Blocks go by the paths' bandwidths, 2:1.
            Mode::Multi => assert!((0.6..0.72).contains(&share), "{share}"),
            Mode::Shake => assert!((0.5..0.9).contains(&share), "{share}"),
            Mode::Redundant => assert!(one.bytes_sent > 1_000_000, "{share}"),
        }
    }
}

#[test]
fn a_stream_outlives_a_path_that_goes_silently_and_takes_it_back() {
    let mut net = Net::new(&[wire(20, 10, 0.0), wire(20, 10, 0.0)]);
    net.ms(300);
    let streams = net.open();
    net.works[0] = false;
    let bytes = content(1_000_000);
    assert!(net.carry(End::A, streams, &bytes, 10_000) == bytes);
    net.works[0] = true;
    net.ms(2_000);
    let before = net.client.paths(net.now, streams[0].0)[0].bytes_sent;
    assert!(net.carry(End::A, streams, &bytes, 10_000) == bytes);
    assert!(net.client.paths(net.now, streams[0].0)[0].bytes_sent > before + 300_000);
}

/// Reports of paths that do not answer: beside one that does, with and without streams, one that
/// never did, and all of them.
#[test]
fn a_path_without_an_answer_is_down_in_reports() {
    let mut net = Net::new(&[wire(20, 10, 0.0), wire(20, 10, 0.0)]);
    net.works[1] = false;
    net.ms(5_000);
    let up = |net: &Net| -> Vec<bool> {
        let session = net.client.session().expect("connected");
        net.client.paths(net.now, session).iter().map(|path| path.is_up).collect()
    };
    assert_eq!(up(&net), [true, false]);
    net.works[1] = true;
    net.ms(20_000);
    assert_eq!(up(&net), [true, true]);
    // An idle session asks each 15 s, and soon again if there is no answer at all.
    net.works = vec![false; 2];
    net.ms(19_000);
    assert_eq!(up(&net), [false, false]);
    net.works = vec![true; 2];
    net.ms(20_000);
    assert_eq!(up(&net), [true, true]);
    net.open();
    net.works[0] = false;
    net.ms(5_500);
    assert_eq!(up(&net), [false, true]);
    net.works[0] = true;
    net.ms(2_000);
    assert_eq!(up(&net), [true, true]);
}

#[test]
fn a_path_that_the_host_loses_is_left_and_comes_back() {
    let mut net = Net::new(&[wire(20, 10, 0.0), wire(20, 10, 0.0)]);
    net.ms(300);
    let streams = net.open();
    net.report(End::A, Input::PathDown(1));
    net.works[1] = false;
    let bytes = content(500_000);
    assert!(net.carry(End::B, streams, &bytes, 10_000) == bytes);
    net.works[1] = true;
    net.report(End::A, Input::PathUp(route(1)));
    net.ms(200);
    let before = net.client.paths(net.now, streams[0].0)[1].bytes_received;
    assert!(net.carry(End::B, streams, &content(1_000_000), 10_000) == content(1_000_000));
    assert!(net.client.paths(net.now, streams[0].0)[1].bytes_received > before + 300_000);
}

#[test]
fn a_server_that_starts_anew_ends_streams_and_gets_a_new_session() {
    let mut net = Net::new(&[wire(20, 10, 0.0)]);
    net.ms(300);
    let streams = net.open();
    net.server = Endpoint::new(Config::new(psk()), Seed(3));
    net.ms(15_000);
    assert!(net.over(End::A, streams[0]));
    let session = net.client.session().expect("connected anew");
    assert_ne!(session, streams[0].0);
    let again = net.open();
    assert!(net.carry(End::A, again, b"hello", 2_000) == b"hello");
    assert!(net.server.refused().unknown > 0);
}

#[test]
fn a_host_that_goes_says_so() {
    let mut net = Net::new(&[wire(20, 10, 0.0)]);
    net.ms(300);
    let streams = net.open();
    net.report(End::A, Input::Close);
    net.ms(100);
    assert!(net.over(End::B, streams[1]));
    assert_eq!((net.client.sessions(), net.server.sessions()), (0, 0));
    assert_eq!(net.client.deadline(), None);
}

#[test]
fn strangers_get_no_answer_and_no_memory() {
    let mut net = Net::new(&[wire(20, 10, 0.0)]);
    net.ms(300);
    for number in 0..1_000_u64 {
        let other = Psk::of(&Key::new(b"a secret of other hosts").unwrap());
        let (_, noise) = Initiator::new(&other, &[0, 0, 0, 0, 1]);
        let mut first = Vec::new();
        Datagram::Initiation { from: number as u32, noise: &noise }.write(&mut first);
        net.report(End::B, Input::Arrived(seen(0), first));
    }
    assert_eq!((net.server.sessions(), net.server.refused().strangers), (1, 1_000));
    let streams = net.open();
    assert!(net.carry(End::A, streams, b"hello", 2_000) == b"hello");
}

/// A host with the secret that opens sessions without using them, or sends old handshakes again.
#[test]
fn unused_sessions_are_bounded_and_harm_no_other() {
    let mut net = Net::new(&[wire(20, 10, 0.0)]);
    net.ms(300);
    let streams = net.open();
    for number in 0..500_u32 {
        let (_, noise) = Initiator::new(&psk(), &[0, 0, 0, 0, 1]);
        let mut first = Vec::new();
        Datagram::Initiation { from: number, noise: &noise }.write(&mut first);
        net.report(End::B, Input::Arrived(seen(0), first.clone()));
        net.report(End::B, Input::Arrived(seen(0), first));
    }
    assert!(net.server.sessions() <= MAX_UNCONFIRMED + 2, "{}", net.server.sessions());
    net.ms(11_000);
    assert_eq!(net.server.sessions(), 1);
    assert!(net.carry(End::A, streams, b"hello", 2_000) == b"hello");
}

#[test]
fn a_stream_is_forgotten_once_it_is_over_and_let_go() {
    let mut net = Net::new(&[wire(20, 10, 0.0)]);
    net.ms(300);
    let streams = net.open();
    assert!(net.carry(End::A, streams, b"hello", 2_000) == b"hello");
    net.release(End::A, streams[0]);
    net.release(End::B, streams[1]);
    net.ms(12_000);
    for (end, (session, stream)) in [(End::A, streams[0]), (End::B, streams[1])] {
        assert!(net.host(end).stream(session, stream).is_none());
    }
}

#[test]
fn the_contract_of_machines() {
    let mut net = Net::new(&[wire(20, 10, 0.0)]);
    let mut host = Endpoint::new(Config::new(psk()), Seed(9));
    net.ms(300);
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let inputs = vec![
        (at(0), Input::PathUp(route(0))),
        (at(1), Input::Connect),
        (at(50), Input::Arrived(route(0), vec![3; 40])),
        (at(70), Input::PathDown(0)),
        (at(900), Input::PathUp(route(0))),
        (at(5_000), Input::Close),
    ];
    let sent = fairwave_machine::contract::check(&mut host, inputs, at(9_000));
    assert_eq!(sent.len(), 4, "one, one for the path that comes back, and two later ones");
}
