//! A session of the buffer probe: the state machines of both ends, each over a UDP socket of the
//! kernel.

use super::carrier::{Carrier, Common, Host, KernelFlow, Role};
use super::socket::Sockets;
use super::spec::{Load, Spec};
use fairwave_linux::arrival::{self, Beside};
use fairwave_linux::tcp_info::Version;
use fairwave_machine::Machine;
use fairwave_probe::{Account, Failure, Receiver, Sender, SenderEvent, SenderInput};
use fairwave_sim::{ProbeOutcome, Spread};
use fairwave_sockets::{Datagrams, Incoming, Outgoing};
use fairwave_trace::FlowSample;
use fairwave_units::Instant;
use fairwave_wire::ipv4::Ecn;
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::net::SocketAddr;

/// Maximum number of datagrams that are received before other flows get their turn.
const TURN: usize = 64;

/// A session with both of its ends.
pub(super) struct ProbeSession {
    common: Common,
    source: End<Sender>,
    sink: End<Receiver>,
    has_started: bool,
    has_stopped: bool,
    accounts: Vec<Account>,
    ended: Option<Result<(), Failure>>,
}

/// One end: a state machine, and its socket while it exists.
struct End<M> {
    machine: M,
    socket: Option<OwnedFd>,
    /// The address of the other end, to which the socket is connected.
    peer: SocketAddr,
    /// Latest time passed to the state machine.
    last: Instant,
    /// Time at which the socket was last empty: datagrams that are read later have arrived after
    /// it.
    emptied: Instant,
    beside: Beside,
    sent: u64,
    /// Number of datagrams that the kernel refused.
    refused: u64,
}

impl<M: Datagrams> End<M> {
    fn new(machine: M, socket: OwnedFd, peer: SocketAddr) -> Self {
        Self {
            machine,
            socket: Some(socket),
            peer,
            last: Instant::ZERO,
            emptied: Instant::ZERO,
            beside: Beside::default(),
            sent: 0,
            refused: 0,
        }
    }

    fn watch(&self, role: Role, host: &Host<'_>) -> Result<(), Errno> {
        self.socket.as_ref().map_or(Ok(()), |socket| host.watch(socket, role, EventFlags::IN))
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.as_ref().and_then(|_| self.machine.deadline())
    }

    /// Passes an input to the state machine, and sends its output.
    fn report(&mut self, input: M::Input, now: Instant) {
        self.last = now.max(self.last);
        self.machine.handle(self.last, input);
        self.drain();
    }

    /// Wakes the state machine if it is due; its delay is added to `lateness`.
    fn wake(&mut self, now: Instant, lateness: &mut Spread) {
        let Some(due) = self.deadline().filter(|due| *due <= now) else { return };
        let before = self.sent;
        self.last = now.max(self.last);
        self.machine.wake(self.last);
        self.drain();
        if self.sent > before {
            lateness.add(now.since(due));
        }
    }

    /// Receives datagrams, for a turn. Calls `note` with the length of each datagram and its time
    /// of arrival.
    fn receive(&mut self, host: &mut Host<'_>, mut note: impl FnMut(u32, Instant)) {
        for _ in 0..TURN {
            let Some(socket) = &self.socket else { return };
            let looked = host.clock.now();
            let taken = match arrival::receive(socket, host.incoming, &mut self.beside) {
                Ok(Some(taken)) => taken,
                Ok(None) => {
                    self.emptied = looked;
                    return;
                }
                // An error of an earlier datagram; the state machine retransmits as needed.
                Err(_) => continue,
            };
            let arrived = arrival::arrival(host.clock.now(), taken.waited, self.emptied);
            let bytes = host.incoming[..taken.len].to_vec();
            note(taken.len as u32, arrived);
            let (from, ecn) = (self.peer, Ecn::NotEct);
            self.report(M::arrived(Incoming { from, to: None, ecn, bytes }), arrived);
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll(self.last) {
            let Outgoing { bytes, .. } = M::departs(output);
            let Some(socket) = &self.socket else { continue };
            self.sent += 1;
            // The kernel reports the ICMP error of an earlier datagram at the next send.
            let taken = send(socket, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            self.refused += u64::from(taken.is_err());
        }
    }
}

impl ProbeSession {
    pub(super) fn new(sockets: Sockets, spec: Spec) -> Self {
        let Load::Probe(probe) = &spec.load else { unreachable!("it is no probe") };
        let Sockets { source, sink, source_address, sink_address, .. } = sockets;
        let (sender, receiver) = probe.flow.ends(probe.seed, &spec.name, sink_address);
        Self {
            source: End::new(sender, source, sink_address),
            sink: End::new(receiver, sink, source_address),
            has_started: false,
            has_stopped: false,
            accounts: Vec::new(),
            ended: None,
            common: Common::new(spec),
        }
    }

    fn start(&mut self, host: &mut Host<'_>) {
        self.has_started = true;
        let watched = self.source.watch(Role::Source, host);
        match watched.and_then(|()| self.sink.watch(Role::Sink, host)) {
            Ok(()) => self.source.report(SenderInput::Start, host.now),
            Err(cause) => {
                self.common.fail(host.now, "wait for its sockets", cause);
                self.close(host.version);
            }
        }
    }

    /// Time at which its user ends it.
    fn stop(&self) -> Option<Instant> {
        self.common.spec.stop.filter(|_| !self.has_stopped)
    }

    fn note_events(&mut self) {
        while let Some(event) = self.source.machine.event() {
            match event {
                SenderEvent::Agreed(_) => {}
                SenderEvent::Account(account) => self.accounts.push(*account),
                SenderEvent::Finished(result) => self.ended = Some(result),
            }
        }
        while self.sink.machine.event().is_some() {}
    }
}

impl Carrier for ProbeSession {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.has_started {
            return Some(self.common.spec.start);
        }
        [self.source.deadline(), self.sink.deadline(), self.stop()].into_iter().flatten().min()
    }

    fn wake(&mut self, host: &mut Host<'_>) {
        if !self.has_started {
            self.start(host);
        }
        if self.stop().is_some_and(|stop| stop <= host.now) {
            self.has_stopped = true;
            self.source.report(SenderInput::Stop, host.now);
        }
        self.source.wake(host.now, host.lateness);
        self.sink.wake(host.now, host.lateness);
        self.note_events();
    }

    fn ready(&mut self, role: Role, _: EventFlags, host: &mut Host<'_>) {
        match role {
            Role::Source => self.source.receive(host, |_, _| ()),
            Role::Listener | Role::Sink => {
                let delivery = &mut self.common.delivery;
                let note = |bytes, at: Instant| delivery.take(bytes, at.max(delivery.last));
                self.sink.receive(host, note);
            }
        }
        self.note_events();
    }

    fn sample(&mut self, _: Version) -> FlowSample {
        FlowSample {
            delivered_bytes: self.common.delivery.bytes,
            sent_packets: self.source.sent,
            ..FlowSample::default()
        }
    }

    fn is_over(&self) -> bool {
        self.source.socket.is_none() || self.ended.is_some()
    }

    fn close(&mut self, _: Version) {
        (self.source.socket, self.sink.socket) = (None, None);
        (self.has_started, self.has_stopped) = (true, true);
    }

    fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    fn fill(&self, flow: &mut KernelFlow) {
        flow.outcome.probe = Some(ProbeOutcome::of(&self.accounts, self.ended));
        flow.refused = self.source.refused + self.sink.refused;
    }
}
