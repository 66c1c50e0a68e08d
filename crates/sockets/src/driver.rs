//! The loop that runs a machine over a socket.

use crate::arrival::arrival;
use crate::clock::Clock;
use crate::udp::{Taken, Udp};
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use std::io;
use std::net::SocketAddr;

/// The loop looks at the clock, without sleeping, for so long before a deadline: a sleep ends
/// about this much late.
const AWAKE: Duration = Duration::from_micros(150);
/// Datagrams that are taken before the machine's deadline has its turn.
const BATCH: usize = 64;
/// Longest wait for room in the socket's buffer.
const LONGEST_BLOCK: Duration = Duration::from_secs(1);

/// A machine that speaks in datagrams.
pub trait Datagrams: Machine {
    /// The fact that this datagram arrived.
    fn arrived(from: SocketAddr, bytes: Vec<u8>) -> Self::Input;
    /// Where an output goes, and its bytes.
    fn departs(output: Self::Output) -> (SocketAddr, Vec<u8>);
}

/// What a driver has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams that were taken.
    pub received: u64,
    /// Their payload in bytes.
    pub received_bytes: u64,
    /// Datagrams that the kernel took for sending.
    pub sent: u64,
    /// Their payload in bytes.
    pub sent_bytes: u64,
    /// Datagrams that had to wait, as the socket's own buffer was full.
    pub blocked: u64,
    /// Datagrams that the kernel did not take.
    pub refused: u64,
    /// Datagrams that arrived and found no room in the socket's buffer.
    pub dropped_here: u64,
}

/// Runs machines over one socket, one after the other or in turns.
#[derive(Debug)]
pub struct Driver {
    udp: Udp,
    clock: Clock,
    /// The latest time that a machine was told.
    last: Instant,
    /// When the socket was last seen empty.
    emptied: Instant,
    counts: Counts,
    trouble: Option<io::ErrorKind>,
}

impl Driver {
    /// A driver for a socket. Machines are told times of `clock`.
    pub fn new(udp: Udp, clock: Clock) -> Self {
        let now = clock.now();
        Self { udp, clock, last: now, emptied: now, counts: Counts::default(), trouble: None }
    }

    /// Its socket.
    pub const fn udp(&self) -> &Udp {
        &self.udp
    }

    /// What it has seen so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// What the network last said against a datagram, such as that nobody listens. Asking clears
    /// it.
    pub const fn take_trouble(&mut self) -> Option<io::ErrorKind> {
        self.trouble.take()
    }

    /// The time now. It never goes back.
    pub fn now(&mut self) -> Instant {
        self.last = self.clock.now().max(self.last);
        self.last
    }

    /// Tells a machine a fact, and sends what it makes of it. Its observations go to `events`.
    pub fn tell<M: Datagrams>(
        &mut self,
        machine: &mut M,
        input: M::Input,
        events: &mut Vec<M::Event>,
    ) {
        let now = self.now();
        machine.handle(now, input);
        self.drain(machine, now, events);
    }

    /// Waits for datagrams or for the machine's deadline, but not beyond `until`, and handles what
    /// there is then. Observations go to `events`.
    ///
    /// # Errors
    /// If the socket cannot be waited for. What becomes of single datagrams is counted.
    pub fn turn<M: Datagrams>(
        &mut self,
        machine: &mut M,
        until: Instant,
        events: &mut Vec<M::Event>,
    ) -> io::Result<()> {
        let until = machine.deadline().map_or(until, |deadline| deadline.min(until));
        self.sleep(until)?;
        if !self.receive(machine, events) {
            // What is still in the socket arrived before now, and must be told first.
            return Ok(());
        }
        let now = self.clock.now();
        if machine.deadline().is_some_and(|deadline| deadline <= now) {
            let now = self.now();
            machine.wake(now);
            self.drain(machine, now, events);
        }
        Ok(())
    }

    fn sleep(&mut self, until: Instant) -> io::Result<()> {
        let left = until.since(self.clock.now());
        // A deadline that is near is met by looking at the clock; `turn` is called again.
        self.udp.wait(false, left.saturating_sub(AWAKE))
    }

    /// Takes what has arrived; whether that was all.
    fn receive<M: Datagrams>(&mut self, machine: &mut M, events: &mut Vec<M::Event>) -> bool {
        for _ in 0..BATCH {
            let looked = self.clock.now();
            match self.udp.receive() {
                Ok(Some(taken)) => self.hand_over(machine, taken, events),
                Ok(None) => {
                    self.emptied = looked;
                    return true;
                }
                Err(error) => self.trouble = Some(error.kind()),
            }
        }
        false
    }

    fn hand_over<M: Datagrams>(
        &mut self,
        machine: &mut M,
        taken: Taken,
        events: &mut Vec<M::Event>,
    ) {
        self.counts.received += 1;
        self.counts.received_bytes += taken.bytes.len() as u64;
        self.counts.dropped_here = taken.dropped.map_or(self.counts.dropped_here, u64::from);
        self.last = arrival(self.clock.now(), taken.waited, self.emptied).max(self.last);
        machine.handle(self.last, M::arrived(taken.from, taken.bytes));
        // At the time of arrival, not now: the next datagram may have arrived before now.
        self.drain(machine, self.last, events);
    }

    /// Sends what the machine gives, until nothing is left.
    fn drain<M: Datagrams>(&mut self, machine: &mut M, now: Instant, events: &mut Vec<M::Event>) {
        while let Some(output) = machine.poll(now) {
            let (to, bytes) = M::departs(output);
            self.send(to, &bytes);
        }
        while let Some(event) = machine.event() {
            events.push(event);
        }
    }

    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        let mut sent = self.udp.send(to, bytes);
        if sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.counts.blocked += 1;
            sent = self.udp.wait(true, LONGEST_BLOCK).and_then(|()| self.udp.send(to, bytes));
        }
        match sent {
            Ok(()) => {
                self.counts.sent += 1;
                self.counts.sent_bytes += bytes.len() as u64;
            }
            Err(error) => {
                self.counts.refused += 1;
                self.trouble = Some(error.kind());
            }
        }
    }
}
