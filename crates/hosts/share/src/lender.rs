//! The lender on tokio: the relay between one socket of the local network and a socket over the
//! uplink for each lease.

use crate::port::{Alarm, Port};
use crate::relay::{Event, Input, Output, Relay};
use fairwave_cluster::{Ledger, Limits, Reach};
use fairwave_linux::Clock;
use fairwave_linux::random::random;
use fairwave_machine::Machine;
use fairwave_machine::datagram::Outgoing;
use fairwave_shake_host::noise::Psk;
use fairwave_sockets::Udp;
use fairwave_units::Seed;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

/// Options of a lender.
#[derive(Debug)]
pub struct LenderConfig {
    /// The secret of the lender and its borrowers.
    pub psk: Psk,
    /// Limits of lending.
    pub limits: Limits,
    /// Servers that borrowers may name.
    pub reach: Reach,
    /// The interface that is lent.
    pub via: String,
    /// The socket for borrowers.
    pub socket: Udp,
}

/// A lender. It has to be made within a tokio runtime.
#[derive(Debug)]
pub struct Lender {
    relay: Relay,
    via: String,
    clock: Clock,
    local: Port,
    uplinks: BTreeMap<u32, Port>,
    events: Vec<Event>,
    alarm: Alarm,
    waker: Option<Waker>,
}

impl Lender {
    /// A lender without sessions.
    ///
    /// # Errors
    /// If the kernel refuses a step.
    pub fn new(config: LenderConfig) -> io::Result<Self> {
        let clock = Clock::start();
        let ledger = Ledger::new(config.limits, config.reach, clock.now());
        let mut socket = config.socket.with_own_addresses()?.without_fragments()?;
        socket.allow_gso();
        Ok(Self {
            relay: Relay::new(config.psk, ledger, Seed(random()?)),
            via: config.via,
            clock,
            local: Port::new(socket)?,
            uplinks: BTreeMap::new(),
            events: Vec::new(),
            alarm: Alarm::default(),
            waker: None,
        })
    }

    /// The machine: its leases, its account and its counts.
    pub fn relay(&self) -> &Relay {
        &self.relay
    }

    /// Reports a fact to the relay.
    pub fn report(&mut self, input: Input) {
        self.relay.handle(self.clock.now(), input);
        self.drain();
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Takes the observations so far: those of the reported facts come without a poll.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Carries datagrams until something was observed; returns the observations.
    pub fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Vec<Event>> {
        let (relay, clock) = (&mut self.relay, &self.clock);
        let mut is_all = self.local.receive(cx, |incoming| {
            relay.handle(clock.now(), Input::Local(incoming));
        });
        for (session, port) in &mut self.uplinks {
            is_all &= port.receive(cx, |incoming| {
                let input = Input::Uplink(*session, incoming.from, incoming.bytes);
                relay.handle(clock.now(), input);
            });
        }
        let now = self.clock.now();
        if self.relay.deadline().is_some_and(|at| at <= now) {
            self.relay.wake(now);
        }
        // A socket that was opened now has to be polled once, to be woken for.
        is_all &= !self.drain();
        self.waker = Some(cx.waker().clone());
        let is_to_come = self.alarm.set(cx, &self.clock, self.relay.deadline());
        if !is_to_come || !is_all {
            cx.waker().wake_by_ref();
        }
        match self.events.is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(self.take_events()),
        }
    }

    /// Carries out the relay's outputs; returns whether it opened a socket.
    fn drain(&mut self) -> bool {
        let mut has_opened = false;
        while let Some(output) = self.relay.poll(self.clock.now()) {
            match output {
                Output::Local(datagram) => self.local.push(datagram),
                Output::Uplink(session, server, datagram) => {
                    if let Some(port) = self.uplinks.get_mut(&session) {
                        port.push(Outgoing::new(server, datagram));
                    }
                }
                Output::Open(session, server) => match opened(&self.via, server) {
                    Ok(port) => {
                        self.uplinks.insert(session, port);
                        has_opened = true;
                        self.relay.handle(self.clock.now(), Input::Opened(session));
                    }
                    Err(_) => self.relay.handle(self.clock.now(), Input::NoUplink(session)),
                },
                Output::Shut(session) => drop(self.uplinks.remove(&session)),
            }
        }
        self.local.flush();
        self.uplinks.values_mut().for_each(Port::flush);
        self.events.extend(std::iter::from_fn(|| self.relay.event()));
        has_opened
    }
}

fn opened(via: &str, server: SocketAddr) -> io::Result<Port> {
    let mut socket = Udp::over(via, server)?.without_fragments()?;
    socket.allow_gso();
    Port::new(socket)
}
