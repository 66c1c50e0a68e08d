//! `shake-records PATHS ROUNDS` sends sealed records of a stream between two endpoints over PATHS
//! paths for ROUNDS milliseconds, for a profiler, and prints the number of datagrams sent. The
//! difference of two lengths gives the instructions per datagram with both ends, keys and
//! acknowledgements.

use fairwave_machine::Machine;
use fairwave_shake_host::endpoint::{Endpoint, Event, Input, Route};
use fairwave_shake_host::{Config, Psk};
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::seal::Key;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const USAGE: &str = "usage: shake-records PATHS ROUNDS";

/// Two endpoints joined by paths without delay or loss.
struct Pair {
    ends: [Endpoint; 2],
    now: Instant,
    sent: u64,
}

fn address(end: usize, path: u8) -> SocketAddr {
    let host = Ipv4Addr::new(192, 0, 2 + end as u8, 1 + path);
    SocketAddr::new(IpAddr::V4(host), 17_995)
}

impl Pair {
    fn new(paths: u8) -> Result<Self, String> {
        let key = Key::new(b"a secret of the two ends").map_err(|error| error.to_string())?;
        let config = || Config::new(Psk::of(&key));
        let ends = [Endpoint::new(config(), Seed(1)), Endpoint::new(config(), Seed(2))];
        let mut pair = Self { ends, now: Instant::ZERO, sent: 0 };
        for path in 0..paths {
            let route = Route { socket: path, remote: address(1, path), local: None };
            pair.ends[0].handle(pair.now, Input::PathUp(route));
        }
        pair.ends[0].handle(pair.now, Input::Connect);
        Ok(pair)
    }

    fn carry(&mut self, from: usize) {
        while let Some(transmit) = self.ends[from].poll(self.now) {
            let remote = address(from, transmit.socket);
            let route = Route { socket: transmit.socket, remote, local: None };
            let arrived = Input::Arrived(route, transmit.datagram.bytes);
            self.ends[1 - from].handle(self.now, arrived);
            self.sent += u64::from(from == 0);
        }
    }

    fn round(&mut self) {
        self.now += Duration::from_millis(1);
        for end in &mut self.ends {
            end.wake(self.now);
        }
        self.carry(0);
        self.carry(1);
    }

    /// Carries rounds until the server has a stream: the numbers of the session and the stream at
    /// both ends.
    fn opened(&mut self) -> [(usize, usize); 2] {
        let session = loop {
            self.round();
            if let Some(Event::PathUp { session, .. }) = self.ends[0].event() {
                break session;
            }
        };
        let stream = self.ends[0].open(self.now, session).expect("a session has room");
        loop {
            self.round();
            if let Some(Event::Accepted { session: at, stream: accepted }) = self.ends[1].event() {
                return [(session, stream), (at, accepted)];
            }
        }
    }
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [paths, rounds] = &arguments[..] else { return Err(USAGE.into()) };
    let paths = paths.parse().map_err(|error| format!("{paths}: {error}"))?;
    let rounds: u64 = rounds.parse().map_err(|error| format!("{rounds}: {error}"))?;
    let mut pair = Pair::new(paths)?;
    let [(session, stream), (to, accepted)] = pair.opened();
    let data = bytes::Bytes::from(vec![7; 1 << 20]);
    for _ in 0..rounds {
        let now = pair.now;
        let space = pair.ends[0].stream(session, stream).map_or(0, |state| state.send_space);
        let piece = data.slice(..data.len().min(space as usize));
        pair.ends[0].write(now, session, stream, piece);
        pair.round();
        while pair.ends[1].read(to, accepted, u32::MAX).is_some() {}
        for end in &mut pair.ends {
            while end.event().is_some() {}
        }
    }
    print(pair.sent);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a program's answer")]
fn print(datagrams: u64) {
    println!("{datagrams}");
}
