//! One lender, and borrowers on a local network without delay.

use fairwave_cluster::{Ledger, Limits, Reach};
use fairwave_machine::Machine;
use fairwave_machine::datagram::Incoming;
use fairwave_shake_host::noise::{Protocol, Psk};
use fairwave_share_host::machine::{
    LoanEvent, LoanInput, LoanOutput, RelayEvent, RelayInput, RelayOutput,
};
use fairwave_share_host::{Loan, Relay};
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::seal::Key;
use std::net::SocketAddr;

pub(crate) fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub(crate) fn server() -> SocketAddr {
    "9.9.9.9:17995".parse().unwrap()
}

pub(crate) fn borrower(number: u8) -> SocketAddr {
    SocketAddr::from(([192, 168, 1, number], 40_000))
}

pub(crate) fn psk(secret: &[u8]) -> Psk {
    Psk::new(&Key::new(secret).unwrap(), Protocol::Share)
}

pub(crate) fn secret() -> Psk {
    psk(b"a secret of the cluster")
}

pub(crate) fn relay(limits: Limits) -> Relay {
    let reach = Reach { allow: Vec::new(), own: vec!["192.168.1.0/24".parse().unwrap()] };
    Relay::new(secret(), Ledger::new(limits, reach, at(0)), Seed(1))
}

/// A lender and its borrowers.
pub(crate) struct Stage {
    pub(crate) relay: Relay,
    pub(crate) loans: Vec<Loan>,
    pub(crate) now: Instant,
    /// Every datagram of the local network, with its sender, since the stage was set.
    pub(crate) seen: Vec<(SocketAddr, Vec<u8>)>,
    /// Datagrams that left over the uplink: session, destination, payload.
    pub(crate) sent: Vec<(u32, SocketAddr, Vec<u8>)>,
    /// Datagrams that reached a borrower's application.
    pub(crate) received: Vec<(usize, Vec<u8>)>,
    pub(crate) opened: Vec<(u32, SocketAddr)>,
    pub(crate) shut: Vec<u32>,
    pub(crate) events: Vec<(usize, LoanEvent)>,
    pub(crate) observed: Vec<RelayEvent>,
    /// Whether sockets over the uplink can be opened.
    pub(crate) has_uplink: bool,
    /// Whether the network delivers each datagram twice.
    pub(crate) repeats: bool,
    /// Whether datagrams to the lender, and to the borrowers, are lost.
    pub(crate) is_cut: [bool; 2],
}

impl Stage {
    pub(crate) fn new(relay: Relay, loans: Vec<Loan>) -> Self {
        Self {
            relay,
            loans,
            now: at(0),
            seen: Vec::new(),
            sent: Vec::new(),
            received: Vec::new(),
            opened: Vec::new(),
            shut: Vec::new(),
            events: Vec::new(),
            observed: Vec::new(),
            has_uplink: true,
            repeats: false,
            is_cut: [false; 2],
        }
    }

    /// A lender with these limits, and borrowers that have found it.
    pub(crate) fn borrowed(limits: Limits, borrowers: usize) -> Self {
        let loan = |number| Loan::new(secret(), server(), Seed(2 + number as u64));
        let mut stage = Self::new(relay(limits), (0..borrowers).map(loan).collect());
        for number in 0..borrowers {
            stage.loan(number, LoanInput::Found);
        }
        stage
    }

    pub(crate) fn address(number: usize) -> SocketAddr {
        borrower(10 + number as u8)
    }

    /// A datagram reaches the lender from an address, whoever sent it.
    pub(crate) fn local(&mut self, from: SocketAddr, bytes: &[u8]) {
        let incoming = Incoming { from, to: None, ecn: Ecn::NotEct, bytes: bytes.to_vec() };
        self.relay.handle(self.now, RelayInput::Local(incoming));
        self.settle();
    }

    /// A datagram reaches the lender from an address. Returns what the lender sends back.
    pub(crate) fn answers(&mut self, from: SocketAddr, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let incoming = Incoming { from, to: None, ecn: Ecn::NotEct, bytes };
        self.relay.handle(self.now, RelayInput::Local(incoming));
        let mut answers = Vec::new();
        while let Some(output) = self.relay.poll(self.now) {
            match output {
                RelayOutput::Local(datagram) => answers.push(datagram.bytes),
                RelayOutput::Open(session, _) => {
                    self.relay.handle(self.now, RelayInput::Opened(session));
                }
                other => panic!("{other:?}"),
            }
        }
        answers
    }

    pub(crate) fn fact(&mut self, input: RelayInput) {
        self.relay.handle(self.now, input);
        self.settle();
    }

    pub(crate) fn loan(&mut self, number: usize, input: LoanInput) {
        self.loans[number].handle(self.now, input);
        self.settle();
    }

    /// Time passes; machines wake.
    pub(crate) fn pass(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        loop {
            let loans = self.loans.iter().filter_map(Machine::deadline);
            let next = loans.chain(self.relay.deadline()).min().filter(|next| *next <= end);
            self.now = next.unwrap_or(end).max(self.now);
            self.relay.wake(self.now);
            self.loans.iter_mut().for_each(|loan| loan.wake(self.now));
            self.settle();
            if next.is_none() {
                return;
            }
        }
    }

    /// Delivers until nothing is on its way.
    fn settle(&mut self) {
        loop {
            let mut is_quiet = true;
            while let Some(output) = self.relay.poll(self.now) {
                is_quiet = false;
                match output {
                    RelayOutput::Local(_) if self.is_cut[1] => {}
                    RelayOutput::Local(datagram) => {
                        let place =
                            (0..self.loans.len()).find(|n| Self::address(*n) == datagram.to);
                        for _ in 0..1 + u32::from(self.repeats) {
                            let input = LoanInput::Lender(datagram.bytes.clone());
                            if let Some(place) = place {
                                self.loans[place].handle(self.now, input);
                            }
                        }
                    }
                    RelayOutput::Open(session, _) if !self.has_uplink => {
                        self.relay.handle(self.now, RelayInput::NoUplink(session));
                    }
                    RelayOutput::Open(session, target) => {
                        self.opened.push((session, target));
                        self.relay.handle(self.now, RelayInput::Opened(session));
                    }
                    RelayOutput::Uplink(session, to, bytes) => self.sent.push((session, to, bytes)),
                    RelayOutput::Shut(session) => self.shut.push(session),
                }
            }
            for number in 0..self.loans.len() {
                while let Some(output) = self.loans[number].poll(self.now) {
                    is_quiet = false;
                    match output {
                        LoanOutput::Lender(_) if self.is_cut[0] => {}
                        LoanOutput::Lender(bytes) => {
                            let from = Self::address(number);
                            self.seen.push((from, bytes.clone()));
                            for _ in 0..1 + u32::from(self.repeats) {
                                let incoming = Incoming {
                                    from,
                                    to: None,
                                    ecn: Ecn::NotEct,
                                    bytes: bytes.clone(),
                                };
                                self.relay.handle(self.now, RelayInput::Local(incoming));
                            }
                        }
                        LoanOutput::Local(bytes) => self.received.push((number, bytes)),
                    }
                }
                self.events
                    .extend(std::iter::from_fn(|| self.loans[number].event()).map(|e| (number, e)));
            }
            self.observed.extend(std::iter::from_fn(|| self.relay.event()));
            if is_quiet {
                return;
            }
        }
    }

    /// Whether a borrower's datagram comes out of the uplink, towards its server, and an answer
    /// comes back.
    pub(crate) fn carries(&mut self, number: usize, text: &[u8]) -> bool {
        let (sent, received) = (self.sent.len(), self.received.len());
        self.loan(number, LoanInput::Local(text.to_vec()));
        let [(session, to, bytes)] = &self.sent[sent..] else { return false };
        assert_eq!((*to, &bytes[..]), (server(), text));
        self.fact(RelayInput::Uplink(*session, server(), text.to_vec()));
        self.received[received..] == [(number, text.to_vec())]
    }
}
