//! The loop that runs a machine over a socket.

use crate::transport::{Left, Taken, Transport};
use crate::udp::Udp;
use fairwave_linux::arrival::arrival;
use fairwave_linux::clock::Clock;
use fairwave_machine::datagram::{Datagrams, Outgoing};
use fairwave_units::{Duration, Instant};
use std::io;

/// Time before a deadline in which the loop polls the clock instead of sleeping: a sleep ends about
/// this much late.
const AWAKE: Duration = Duration::from_micros(150);
/// Datagrams taken before the machine's deadline is handled; the last call may take more.
const TURN: usize = 64;
/// Outputs of a machine that are handed to the kernel before it is asked for more.
const TOGETHER: usize = 64;
/// Longest wait for room in the socket's buffer.
const LONGEST_BLOCK: Duration = Duration::from_secs(1);

/// Counters of a driver.
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
    /// Datagrams that arrived and had no address of IP, or were longer than any may be.
    pub unreadable: u64,
    /// System calls that took datagrams, or found none.
    pub receive_calls: u64,
    /// System calls that handed datagrams to the kernel.
    pub send_calls: u64,
}

/// Runs machines over one socket, one after the other or in turns.
#[derive(Debug)]
pub struct Driver<T = Udp> {
    socket: T,
    clock: Clock,
    /// The latest time that a machine got.
    last: Instant,
    /// Time at which the socket was last seen empty.
    emptied: Instant,
    counts: Counts,
    trouble: Option<io::Error>,
    /// Memory for received datagrams, and for those to be sent.
    taken: Vec<Taken>,
    outgoing: Vec<Outgoing>,
}

impl<T: Transport> Driver<T> {
    /// Makes a driver for a socket. Machines get times of `clock`.
    pub fn new(socket: T, clock: Clock) -> Self {
        let now = clock.now();
        Self {
            socket,
            clock,
            last: now,
            emptied: now,
            counts: Counts::default(),
            trouble: None,
            taken: Vec::new(),
            outgoing: Vec::new(),
        }
    }

    /// Its socket.
    pub const fn socket(&self) -> &T {
        &self.socket
    }

    /// Returns its counters so far.
    pub fn counts(&self) -> Counts {
        let (receive_calls, send_calls) = self.socket.calls();
        Counts {
            dropped_here: self.socket.dropped(),
            unreadable: self.socket.unreadable(),
            receive_calls,
            send_calls,
            ..self.counts
        }
    }

    /// Returns the network's last error on a datagram, such as a closed port. Asking clears it.
    pub const fn take_trouble(&mut self) -> Option<io::Error> {
        self.trouble.take()
    }

    /// The time now. It never goes back.
    pub fn now(&mut self) -> Instant {
        self.last = self.clock.now().max(self.last);
        self.last
    }

    /// Passes a fact to a machine, and sends its outputs. Its observations go to `events`.
    pub fn report<M: Datagrams>(
        &mut self,
        machine: &mut M,
        input: M::Input,
        events: &mut Vec<M::Event>,
    ) {
        let now = self.now();
        machine.handle(now, input);
        self.drain(machine, now, events);
    }

    /// Waits for datagrams or for the machine's deadline, but not beyond `until`, and handles them
    /// then. Observations go to `events`.
    ///
    /// # Errors
    /// If the socket cannot be waited for. Fates of single datagrams are counted.
    pub fn turn<M: Datagrams>(
        &mut self,
        machine: &mut M,
        until: Instant,
        events: &mut Vec<M::Event>,
    ) -> io::Result<()> {
        let until = machine.deadline().map_or(until, |deadline| deadline.min(until));
        self.sleep(until)?;
        if !self.receive(machine, events) {
            // What is still in the socket arrived before now, and must be handled first.
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
        self.socket.wait(false, left.saturating_sub(AWAKE))
    }

    /// Takes the arrived datagrams; returns whether those were all.
    fn receive<M: Datagrams>(&mut self, machine: &mut M, events: &mut Vec<M::Event>) -> bool {
        let mut count = 0;
        while count < TURN {
            let looked = self.clock.now();
            let mut taken = std::mem::take(&mut self.taken);
            let left = self.socket.receive(&mut taken);
            let now = self.clock.now();
            count += taken.len().max(1);
            for one in taken.drain(..) {
                self.hand_over(machine, now, one, events);
            }
            self.taken = taken;
            match left {
                Ok(Left::Nothing) => {
                    self.emptied = looked;
                    return true;
                }
                Ok(Left::Perhaps) => {}
                Err(error) => self.trouble = Some(error),
            }
        }
        false
    }

    /// Hands over a datagram that was taken at `now`.
    fn hand_over<M: Datagrams>(
        &mut self,
        machine: &mut M,
        now: Instant,
        Taken { datagram, waited }: Taken,
        events: &mut Vec<M::Event>,
    ) {
        self.counts.received += 1;
        self.counts.received_bytes += datagram.bytes.len() as u64;
        self.last = arrival(now, waited, self.emptied).max(self.last);
        machine.handle(self.last, M::arrived(datagram));
        // At the time of arrival, not now: the next datagram may have arrived before now.
        self.drain(machine, self.last, events);
    }

    /// Sends the machine's outputs, until none is left. Outputs of one time go together, and wait
    /// for nothing else: datagrams of a later deadline are paced.
    fn drain<M: Datagrams>(&mut self, machine: &mut M, now: Instant, events: &mut Vec<M::Event>) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        while let Some(output) = machine.poll(now) {
            outgoing.push(M::departs(output));
            if outgoing.len() == TOGETHER {
                self.send(&outgoing);
                outgoing.clear();
            }
        }
        self.send(&outgoing);
        outgoing.clear();
        self.outgoing = outgoing;
        while let Some(event) = machine.event() {
            events.push(event);
        }
    }

    fn send(&mut self, mut left: &[Outgoing]) {
        let mut has_waited = false;
        while let [_, behind @ ..] = left {
            match self.socket.send(left) {
                Ok(count) => {
                    let (sent, rest) = left.split_at(count.max(1));
                    self.counts.sent += sent.len() as u64;
                    let bytes = sent.iter().map(|one| one.bytes.len() as u64).sum::<u64>();
                    self.counts.sent_bytes += bytes;
                    (left, has_waited) = (rest, false);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !has_waited => {
                    self.counts.blocked += 1;
                    has_waited = true;
                    if let Err(error) = self.socket.wait(true, LONGEST_BLOCK) {
                        self.trouble = Some(error);
                    }
                }
                Err(error) => {
                    self.counts.refused += 1;
                    self.trouble = Some(error);
                    (left, has_waited) = (behind, false);
                }
            }
        }
    }
}
