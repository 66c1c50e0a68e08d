//! CCID 3 at hosts whose programs run late: wake-ups and reads of the socket come up to 200 ms
//! after their time, as on a machine with more work than processors. RFC 5348 sections 4.3, 4.4 and
//! 6.2.

use crate::common::{MS, decode, encode};
use bytes::Bytes;
use fairwave_dccp::{Ccid, Config, Connection, Event, Input, Standard};
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_units::{BitRate, Duration, Instant, Seed, Stream};
use fairwave_wire::dccp::Seq48;
use std::collections::VecDeque;

/// Packets that a socket's buffer holds: `net.core.rmem_default` of Linux and its memory for each.
const BUFFER: usize = 92;
/// Datagrams that the application keeps waiting.
const WAITING: usize = 16;

/// A host: the connection, its socket's buffer, and the next time at which its program runs.
struct Host {
    connection: Connection<Bytes>,
    buffer: VecDeque<(Instant, Vec<u8>)>,
    runs_at: Option<Instant>,
    /// Maximum delay of a run.
    late: Duration,
    stream: Stream,
    delivered: u64,
    last: Instant,
}

impl Host {
    fn new(config: Config, iss: u64, stream: Stream) -> Self {
        let profiles = Box::new(Standard::default());
        Self {
            connection: Connection::new(config, Seq48::new(iss), profiles),
            buffer: VecDeque::new(),
            runs_at: None,
            late: Duration::ZERO,
            stream,
            delivered: 0,
            last: Instant::ZERO,
        }
    }

    /// Has the program run for an event of this time.
    fn call(&mut self, at: Instant) {
        if self.runs_at.is_none_or(|runs| runs > at + self.late) {
            let nanos = self.late.as_nanos();
            let late = if nanos == 0 { 0 } else { self.stream.below(nanos) };
            self.runs_at = Some(at + Duration::from_nanos(late));
        }
    }

    /// A turn of the host's driver: arrivals with the kernel's stamps, then timers and packets.
    fn run(&mut self, now: Instant, has_data: bool) -> Vec<Vec<u8>> {
        self.runs_at = None;
        while let Some((at, bytes)) = self.buffer.pop_front() {
            self.last = self.last.max(at);
            if let Some(packet) = decode(&bytes) {
                self.connection.handle(self.last, Input::Packet(packet));
            }
        }
        self.last = self.last.max(now);
        self.connection.wake(now);
        let mut sent = Vec::new();
        loop {
            while has_data && self.connection.queued() < WAITING && self.connection.accepts_data() {
                self.connection.handle(now, Input::Send(Bytes::from_static(&[7; 1_400])));
            }
            let Some(packet) = self.connection.poll(now) else { break };
            sent.push(encode(&packet));
        }
        while let Some(event) = self.connection.event() {
            if let Event::Data { payload, .. } = event {
                self.delivered += payload.len() as u64;
            }
        }
        sent
    }
}

/// A client that sends without end, and its server.
struct Scene {
    hosts: [Host; 2],
    line: Line<Vec<u8>>,
    now: Instant,
}

impl Scene {
    fn new(seed: u64, rtt_ms: u64, loss: f64) -> Self {
        let mbps = 20;
        let packets = (mbps * 1_000 * rtt_ms / 8 / 1_450).max(10) as usize;
        let wire = Wire {
            delay: MS(rtt_ms / 2),
            rate: Some(BitRate(mbps * 1_000_000)),
            queue: Some(packets),
            ..Wire::default()
        };
        let config = Config {
            send_ccids: vec![Ccid::TFRC],
            receive_ccids: vec![Ccid::TFRC],
            ..Config::default()
        };
        let client = Config { local_port: 1, remote_port: 2, ..config.clone() };
        let server = Config { local_port: 2, ..config };
        let seed = Seed(seed);
        let mut scene = Self {
            hosts: [
                Host::new(client, 100, seed.stream("client")),
                Host::new(server, 9_000, seed.stream("server")),
            ],
            line: Line::new(seed, Wire { loss, ..wire }, wire),
            now: Instant::ZERO,
        };
        scene.hosts[1].connection.handle(Instant::ZERO, Input::Listen);
        scene.hosts[0].connection.handle(Instant::ZERO, Input::Open);
        scene.hosts[0].call(Instant::ZERO);
        scene
    }

    fn run_host(&mut self, index: usize) {
        let now = self.now;
        let end = [End::A, End::B][index];
        for bytes in self.hosts[index].run(now, index == 0) {
            let size = bytes.len() as u64 + 27;
            self.line.send(now, end, bytes, size);
        }
    }

    /// Runs for a time with programs that are late by up to `late`. Returns the goodput in Mbps.
    fn run_for(&mut self, time: Duration, late: [Duration; 2]) -> f64 {
        let until = self.now + time;
        let before = self.hosts[1].delivered;
        for (host, late) in self.hosts.iter_mut().zip(late) {
            host.late = late;
        }
        loop {
            for host in &mut self.hosts {
                if let Some(at) = host.connection.deadline() {
                    host.call(at.max(self.now));
                }
            }
            let runs = self.hosts.iter().filter_map(|host| host.runs_at);
            let next = runs.chain(self.line.next_arrival()).min();
            let Some(at) = next.filter(|at| *at <= until) else { break };
            self.now = self.now.max(at);
            while let Some((end, bytes)) = self.line.arrive(self.now) {
                let host = &mut self.hosts[usize::from(end == End::B)];
                if host.buffer.len() < BUFFER {
                    host.buffer.push_back((self.now, bytes));
                    host.call(self.now);
                }
            }
            for index in [0, 1] {
                if self.hosts[index].runs_at.is_some_and(|at| at <= self.now) {
                    self.run_host(index);
                }
            }
        }
        self.now = until;
        let bits = 8.0 * (self.hosts[1].delivered - before) as f64;
        bits / time.as_secs_f64() / 1e6
    }
}

const NO_DELAY: [Duration; 2] = [Duration::ZERO; 2];

/// Delays of the sender's program, of the receiver's, and of both. Round trips take 20 ms.
fn delays(ms: u64) -> [[Duration; 2]; 3] {
    [[MS(ms), MS(0)], [MS(0), MS(ms)], [MS(ms), MS(ms)]]
}

/// A program that may send a round trip's worth of packets each time it runs has to count its own
/// delay as part of the round trip: with the kernel's time as its end, the sender fell to a packet
/// per run, 0.07 Mbps, and stayed there. Where its delay counts, the equation gives 2 to 3 Mbps.
#[test]
fn a_sender_that_runs_late_keeps_the_rate_of_its_round_trip() {
    for late in delays(200) {
        for seed in 1..=3 {
            let mut scene = Scene::new(seed, 20, 0.001);
            let before = scene.run_for(Duration::from_secs(10), NO_DELAY);
            scene.run_for(Duration::from_secs(10), late);
            let during = scene.run_for(Duration::from_secs(15), late);
            let sender = scene.hosts[0].connection.stats().sender.expect("a profile");
            assert!(during > 1.0, "{late:?}, seed {seed}: {before} to {during} Mbps, {sender:?}");
            // Once it runs in time, it is as fast as before.
            scene.run_for(Duration::from_secs(5), NO_DELAY);
            let after = scene.run_for(Duration::from_secs(5), NO_DELAY);
            assert!(after > 0.7 * before, "{late:?}, seed {seed}: {before} to {after} Mbps");
        }
    }
}

/// Losses are more frequent, and the rate by the equation is lower.
#[test]
fn delays_and_losses_together_do_not_stop_a_sender() {
    for late in delays(200) {
        let mut scene = Scene::new(1, 20, 0.01);
        scene.run_for(Duration::from_secs(10), late);
        let during = scene.run_for(Duration::from_secs(20), late);
        assert!(during > 0.4, "{late:?}: {during} Mbps");
    }
}

/// Delays of a millisecond cost next to nothing.
#[test]
fn small_delays_leave_the_rate() {
    let rate = |late| Scene::new(1, 20, 0.001).run_for(Duration::from_secs(20), late);
    let on_time = rate(NO_DELAY);
    for late in delays(1) {
        let found = rate(late);
        assert!(found > 0.85 * on_time, "{late:?}: {found} of {on_time} Mbps");
    }
}
