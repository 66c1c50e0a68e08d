//! DCCP between two endpoints whose packets a fuzzer changes, drops, repeats and injects. Nothing
//! panics, each drain ends, and no deadline lies in the past. A listener keeps a bounded number of
//! connections and answers each datagram with a bounded number of its own.
//!
//! The packets are inside UDP, where no checksum has to be correct.

#![no_main]

use bytes::Bytes;
use fairwave_dccp::{Ccid, Config, PathLimits, Standard, Waiting};
use fairwave_dccp_host::Over;
use fairwave_dccp_host::machine::{Connections, Fact, Id, PortEvent, Settings};
use fairwave_machine::Machine;
use fairwave_sockets::{Incoming, Outgoing};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::seal::Key;
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 7);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 9);
/// Maximum number of datagrams caused by one input: those of a window of CCID 2, and
/// acknowledgements.
const MAX_OUTPUTS: usize = 5_000;
/// Maximum number of datagrams in flight; more are lost.
const UNDER_WAY: usize = 64;

/// Maximum number of connections of a listener, and of those whose handshake is not complete: an
/// input has Requests with state and such with a cookie.
const MAX_CONNECTIONS: usize = 16;
const MAX_HALF_OPEN: usize = 2;

struct Line {
    ends: [Connections; 2],
    /// The client's connection, once it is established.
    open: Option<Id>,
    /// Connections of the listener that were established and have not ended.
    accepted: usize,
    under_way: VecDeque<(usize, Incoming)>,
    now: Instant,
}

fn port(is_client: bool, ccid: u8) -> Connections {
    let (local_port, remote_port) = if is_client { (5000, 6000) } else { (6000, 0) };
    let ccids = if is_client { vec![Ccid(ccid)] } else { vec![Ccid(3), Ccid(2), Ccid(4)] };
    let (send_ccids, receive_ccids) = (ccids.clone(), ccids);
    let service = 7;
    let path = Some(PathLimits { min: 200, max: 1_472 });
    let keep_alive = Some(Duration::from_millis(100)).filter(|_| is_client);
    let config = Config { path, keep_alive, service, ..Config::default() };
    let connection = Config { local_port, remote_port, send_ccids, receive_ccids, ..config };
    Connections::new(Settings {
        over: Over::Udp,
        connection,
        profiles: Standard::default(),
        server: is_client.then_some(SERVER),
        local: None,
        max_connections: MAX_CONNECTIONS,
        max_half_open: MAX_HALF_OPEN,
        reconnect: is_client.then_some(Duration::from_secs(5)),
        secret: Key::new(&[7; 32]).expect("32 bytes are enough"),
    })
}

impl Line {
    fn new(ccid: u8) -> Self {
        let ends = [port(true, ccid), port(false, ccid)];
        let (open, under_way) = (None, VecDeque::new());
        let mut line = Self { ends, open, accepted: 0, under_way, now: Instant::ZERO };
        line.report(0, Fact::Start);
        line
    }

    fn report(&mut self, end: usize, fact: Fact) {
        self.ends[end].handle(self.now, fact);
        self.drain(end);
    }

    fn drain(&mut self, end: usize) {
        let mut outputs = 0;
        while let Some(Outgoing { to, ecn, bytes, .. }) = self.ends[end].poll(self.now) {
            outputs += 1;
            assert!(outputs < MAX_OUTPUTS, "a drain does not end");
            let from = if end == 0 { CLIENT } else { SERVER };
            let other = if to == CLIENT { 0 } else { 1 };
            if self.under_way.len() < UNDER_WAY && (to == CLIENT || to == SERVER) {
                self.under_way.push_back((other, Incoming { from, to: None, ecn, bytes }));
            }
        }
        while let Some(event) = self.ends[end].event() {
            match event {
                PortEvent::Established(id) if end == 0 => self.open = Some(id),
                PortEvent::Established(_) => self.accepted += 1,
                PortEvent::Ended(..) if end == 1 => self.accepted -= 1,
                _ => {}
            }
        }
        assert!(self.ends[end].deadline().is_none_or(|at| at >= self.now), "a deadline has passed");
        assert!(self.accepted <= MAX_CONNECTIONS, "connections are not bounded");
        let half_open = self.ends[1].cookies().half_open_max;
        assert!(half_open <= MAX_HALF_OPEN as u64, "handshakes are not bounded");
    }

    /// The earliest deadline, and the endpoint that it belongs to.
    fn first(&self) -> Option<(Instant, usize)> {
        let next = |end: usize| self.ends[end].deadline().map(|at| (at, end));
        [next(0), next(1)].into_iter().flatten().min()
    }

    /// Wakes the endpoint with the earliest deadline.
    fn wake(&mut self) {
        let Some((at, end)) = self.first() else { return };
        self.now = at.max(self.now);
        self.ends[end].wake(self.now);
        self.drain(end);
    }

    /// Advances the time, and wakes each endpoint at its deadlines.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        let mut wakes = 0;
        while self.first().is_some_and(|(at, _)| at <= until) {
            self.wake();
            wakes += 1;
            assert!(wakes < MAX_OUTPUTS, "time does not go on");
        }
        self.now = until;
    }

    /// The client's application sends a datagram, which has to leave before a deadline.
    fn send(&mut self, within: Duration, len: usize) {
        let Some(id) = self.open else { return };
        let deadline = Some(self.now + within);
        let payload = Bytes::from(vec![7; len]);
        self.report(0, Fact::Send(id, Waiting { deadline, payload }));
    }

    fn deliver(&mut self, change: impl FnOnce(&mut Incoming)) {
        let Some((end, mut datagram)) = self.under_way.pop_front() else { return };
        self.pass(Duration::from_micros(500));
        change(&mut datagram);
        self.report(end, Fact::Arrived(datagram));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, mut rest)) = bytes.split_first() else { return };
    let mut line = Line::new(2 + first % 3);
    while let Some((op, behind)) = rest.split_first() {
        rest = behind;
        match op % 12 {
            8 => line.send(Duration::from_millis((*op).into()), 100),
            // Long enough to have the path probed.
            10 => line.send(Duration::from_millis((*op).into()), 1_300),
            11 => line.report(0, Fact::PathTakes(SERVER, u32::from(*op) * 6)),
            9 => line.report(0, Fact::Moved(CLIENT.ip())),
            0 | 1 => line.deliver(|_| {}),
            2 => {
                let Some(([at, value], behind)) = rest.split_first_chunk() else { return };
                rest = behind;
                line.deliver(|datagram| {
                    let len = datagram.bytes.len();
                    datagram.bytes[usize::from(*at) % len] ^= value;
                });
            }
            3 => drop(line.under_way.pop_front()),
            4 => line.under_way.rotate_left(usize::from(line.under_way.len() > 1)),
            5 => line.wake(),
            6 => {
                if let Some(again) = line.under_way.front().cloned() {
                    line.under_way.push_back(again);
                }
            }
            _ => {
                let Some(([end, from, len], behind)) = rest.split_first_chunk() else { return };
                let (bytes, behind) = behind.split_at(behind.len().min(usize::from(*len)));
                rest = behind;
                let unknown = SocketAddr::from(([198, 51, 100, *from], 99));
                let other = [SERVER, CLIENT][usize::from(end % 2)];
                let from = if from % 2 == 0 { unknown } else { other };
                let datagram = Incoming { from, to: None, ecn: Ecn::NotEct, bytes: bytes.to_vec() };
                line.report(usize::from(end % 2), Fact::Arrived(datagram));
            }
        }
    }
    for end in [0, 1] {
        line.report(end, Fact::Stop);
    }
    for _ in 0..50 {
        line.deliver(|_| {});
        line.wake();
    }
});
