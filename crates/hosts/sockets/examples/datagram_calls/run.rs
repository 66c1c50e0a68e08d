//! Cost of a datagram in the driver, in system calls and processor time: one datagram a call, as
//! many a call as are due at once (`sendmmsg`, `recvmmsg`), and messages that the kernel cuts
//! (GSO). A machine sends bursts over the loopback; the sockets there take them with the same
//! driver.
//!
//! `cargo run --release -p fairwave-sockets --example datagram-calls`

#![allow(clippy::print_stdout, reason = "a program of its own")]

use fairwave_linux::Clock;
use fairwave_linux::clock::thread_cpu;
use fairwave_machine::Machine;
use fairwave_sockets::{Datagrams, Driver, Incoming, Left, Outgoing, Taken, Transport, Udp};
use fairwave_units::{Duration, Instant};
use std::io;
use std::net::SocketAddr;
use std::thread;

const DATAGRAMS: u64 = 200_000;
const BYTES: usize = 1_400;
const ROUNDS: usize = 5;

/// Sends this number of datagrams in bursts, each when the one before has left.
struct Bursts {
    to: SocketAddr,
    burst: u64,
    left: u64,
    due: u64,
}

impl Machine for Bursts {
    type Input = ();
    type Output = Outgoing;
    type Event = ();

    fn handle(&mut self, _: Instant, (): ()) {}

    fn wake(&mut self, _: Instant) {
        self.due = self.burst.min(self.left);
        self.left -= self.due;
    }

    fn poll(&mut self, _: Instant) -> Option<Outgoing> {
        self.due = self.due.checked_sub(1)?;
        Some(Outgoing::new(self.to, vec![0; BYTES]))
    }

    fn deadline(&self) -> Option<Instant> {
        (self.left > 0).then_some(Instant::ZERO)
    }

    fn event(&mut self) -> Option<()> {
        None
    }
}

impl Datagrams for Bursts {
    fn arrived(_: Incoming) {}

    fn departs(output: Outgoing) -> Outgoing {
        output
    }
}

/// A socket of which each call sends one datagram.
#[derive(Debug)]
struct OneByOne(Udp);

impl Transport for OneByOne {
    fn receive(&mut self, into: &mut Vec<Taken>) -> io::Result<Left> {
        self.0.receive(into)
    }

    fn send(&mut self, queue: &[Outgoing]) -> io::Result<usize> {
        self.0.send(&queue[..1])
    }

    fn wait(&self, for_room: bool, maximum: Duration) -> io::Result<()> {
        self.0.wait(for_room, maximum)
    }

    fn calls(&self) -> (u64, u64) {
        self.0.calls()
    }

    fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    fn unreadable(&self) -> u64 {
        self.0.unreadable()
    }
}

/// Calls that sent, and processor time, a datagram.
fn sent<T: Transport>(socket: T, to: SocketAddr, burst: u64) -> io::Result<(f64, f64)> {
    let mut machine = Bursts { to, burst, left: DATAGRAMS, due: 0 };
    let (mut driver, mut events) = (Driver::new(socket, Clock::start()), Vec::new());
    let before = thread_cpu();
    while machine.left > 0 {
        let now = driver.now();
        driver.turn(&mut machine, now, &mut events)?;
    }
    let used = thread_cpu().saturating_sub(before).as_nanos() as f64;
    let counts = driver.counts();
    Ok((counts.send_calls as f64 / counts.sent as f64, used / counts.sent as f64))
}

/// Takes until nothing has come for a while; how many came.
fn taken(mut socket: Udp) -> io::Result<(u64, u64, f64)> {
    let (mut datagrams, mut into) = (0, Vec::new());
    let before = thread_cpu();
    loop {
        socket.wait(false, Duration::from_millis(500))?;
        let had = datagrams;
        while socket.receive(&mut into)? == Left::Perhaps {}
        datagrams += into.len() as u64;
        into.clear();
        if datagrams == had {
            let used = thread_cpu().saturating_sub(before).as_nanos() as f64;
            return Ok((datagrams, socket.calls().0, used / datagrams.max(1) as f64));
        }
    }
}

pub(crate) fn main() -> io::Result<()> {
    println!(
        "{DATAGRAMS} datagrams of {BYTES} bytes over the loopback; the least of {ROUNDS} rounds"
    );
    println!("burst  how         calls/datagram  ns of CPU/datagram  received: calls/datagram  ns");
    for burst in [1, 2, 8, 32] {
        for how in ["one a call", "sendmmsg", "GSO"] {
            let mut minimum: Option<(f64, f64, f64, f64)> = None;
            for _ in 0..ROUNDS {
                let there = Udp::bind("127.0.0.1:0".parse().expect("an address"))?;
                let to = there.address()?;
                let receiving = thread::spawn(|| taken(there));
                let mut here = Udp::connect(to)?;
                let (calls, ns) = match how {
                    "one a call" => sent(OneByOne(here), to, burst)?,
                    "sendmmsg" => sent(here, to, burst)?,
                    _ => {
                        here.allow_gso();
                        sent(here, to, burst)?
                    }
                };
                let (datagrams, takes, take_ns) = receiving.join().expect("it ends")?;
                let takes = takes as f64 / datagrams.max(1) as f64;
                if minimum.is_none_or(|(_, before, ..)| ns < before) {
                    minimum = Some((calls, ns, takes, take_ns));
                }
            }
            let (calls, ns, takes, take_ns) = minimum.expect("there were rounds");
            println!("{burst:5}  {how:10}  {calls:14.3}  {ns:18.0}  {takes:24.3}  {take_ns:.0}");
        }
    }
    Ok(())
}
