//! The borrower's end of a session as a machine: one lender, one server behind it.

use crate::sealed::Sealed;
use fairwave_machine::Machine;
use fairwave_shake_host::noise::{Initiator, Psk};
use fairwave_units::{Duration, Instant, Seed, Stream as Draws};
use fairwave_wire::cluster::{Denial, Frame, Terms};
use fairwave_wire::shake::record::Datagram;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Time between attempts to open a session, doubled up to the maximum.
const RETRY: Duration = Duration::from_millis(250);
const MAX_RETRY: Duration = Duration::from_secs(4);
/// Time between requests for a lease: while there is one, and after a denial.
const RENEW: Duration = Duration::from_secs(1);
const DENIED: Duration = Duration::from_secs(5);
/// Requests without an answer after which the lender counts as gone.
const MAX_UNANSWERED: u32 = 3;
/// Attempts to open a session after which the lender is to be looked for again.
const MAX_ATTEMPTS: u32 = 5;

/// Inputs of a loan.
#[derive(Clone, Debug)]
pub enum Input {
    /// The lender may be reached now, at first or at another address: a handshake begins.
    Found,
    /// A datagram from the lender's address.
    Lender(Vec<u8>),
    /// A datagram for the server.
    Local(Vec<u8>),
    /// The session is over.
    Close,
}

/// Outputs of a loan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A datagram for the lender.
    Lender(Vec<u8>),
    /// A datagram from the server.
    Local(Vec<u8>),
}

/// Observations of a loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is a lease with these terms, at first or with other ones than before.
    Granted(Terms),
    /// There is no lease, or no longer.
    Denied(Denial),
    /// The lender does not answer, or has ended the session; a handshake begins.
    Lost,
    /// No attempt was answered: the lender is to be looked for again.
    Unanswered,
}

#[derive(Debug)]
enum Stage {
    /// Waits for [`Input::Found`].
    Idle,
    Opening {
        initiator: Box<Initiator>,
        first: Vec<u8>,
        index: u32,
        attempts: u32,
        wait: Duration,
    },
    Open {
        index: u32,
        sealed: Box<Sealed>,
        /// The latest answer.
        answer: Option<Result<Terms, Denial>>,
        unanswered: u32,
    },
}

/// The borrower's end of a session.
#[derive(Debug)]
pub struct Loan {
    psk: Psk,
    server: SocketAddr,
    draws: Draws,
    stage: Stage,
    /// Time of the next request or attempt.
    next: Option<Instant>,
    outputs: VecDeque<Output>,
    events: VecDeque<Event>,
}

impl Loan {
    /// A loan for datagrams to a server.
    pub fn new(psk: Psk, server: SocketAddr, seed: Seed) -> Self {
        Self {
            psk,
            server,
            draws: seed.stream("share/loan"),
            stage: Stage::Idle,
            next: None,
            outputs: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    fn begin(&mut self, now: Instant) {
        let (initiator, noise) = Initiator::new(&self.psk, &[]);
        let index = self.draws.next_u64() as u32;
        let mut first = Vec::new();
        Datagram::Initiation { from: index, noise: &noise }.write(&mut first);
        let initiator = Box::new(initiator);
        self.stage = Stage::Opening { initiator, first, index, attempts: 0, wait: RETRY };
        self.knock(now);
    }

    fn knock(&mut self, now: Instant) {
        let Stage::Opening { first, attempts, wait, .. } = &mut self.stage else { return };
        if *attempts == MAX_ATTEMPTS {
            (self.stage, self.next) = (Stage::Idle, None);
            self.events.push_back(Event::Unanswered);
            return;
        }
        self.outputs.push_back(Output::Lender(first.clone()));
        self.next = Some(now + *wait);
        (*attempts, *wait) = (*attempts + 1, (*wait * 2).min(MAX_RETRY));
    }

    /// Asks for the lease, at first or again.
    fn ask(&mut self, now: Instant) {
        let Stage::Open { sealed, answer, unanswered, .. } = &mut self.stage else { return };
        if *unanswered == MAX_UNANSWERED {
            // A lender that was silent for a while would keep the lease beside the next one.
            self.outputs.extend(sealed.seal(&Frame::Over).map(Output::Lender));
            self.lose(now);
            return;
        }
        *unanswered += 1;
        self.outputs.extend(sealed.seal(&Frame::Ask(self.server)).map(Output::Lender));
        self.next = Some(now + if matches!(answer, Some(Err(_))) { DENIED } else { RENEW });
    }

    fn lose(&mut self, now: Instant) {
        self.events.push_back(Event::Lost);
        self.begin(now);
    }

    fn take(&mut self, now: Instant, bytes: &[u8]) {
        match (Datagram::parse(bytes), &mut self.stage) {
            (Ok(Datagram::Answer { to, from, noise }), Stage::Opening { initiator, index, .. })
                if to == *index =>
            {
                let Some(channel) = initiator.finish(noise) else { return };
                let sealed = Box::new(Sealed::new(from, channel));
                let index = *index;
                self.stage = Stage::Open { index, sealed, answer: None, unanswered: 0 };
                self.ask(now);
            }
            (Ok(Datagram::Record(record)), Stage::Open { index, sealed, .. })
                if record.to == *index =>
            {
                let Some(bytes) = sealed.open(&record) else { return };
                match Frame::parse(&bytes) {
                    Ok(Frame::Grant(terms)) => self.answered(now, Ok(terms)),
                    Ok(Frame::Deny(denial)) => self.answered(now, Err(denial)),
                    Ok(Frame::Carried(datagram)) => {
                        self.outputs.push_back(Output::Local(datagram.to_vec()));
                    }
                    Ok(Frame::Over) => self.lose(now),
                    Ok(Frame::Ask(_)) | Err(_) => {}
                }
            }
            // Nothing that the lender sent, or of a session that is over.
            _ => {}
        }
    }

    fn answered(&mut self, now: Instant, new: Result<Terms, Denial>) {
        let Stage::Open { answer, unanswered, .. } = &mut self.stage else { return };
        *unanswered = 0;
        let before = answer.replace(new);
        match (before, new) {
            (Some(Ok(before)), Ok(terms)) if before.rate == terms.rate => {}
            (_, Ok(terms)) => self.events.push_back(Event::Granted(terms)),
            (Some(Err(before)), Err(denial)) if before == denial => {}
            (_, Err(denial)) => {
                self.events.push_back(Event::Denied(denial));
                self.next = Some(now + DENIED);
            }
        }
    }
}

impl Machine for Loan {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Found => self.begin(now),
            Input::Lender(bytes) => self.take(now, &bytes),
            Input::Local(datagram) => {
                // Without a lease it is lost, as on a link that is down.
                if let Stage::Open { sealed, answer: Some(Ok(_)), .. } = &mut self.stage {
                    let bytes = sealed.seal(&Frame::Carried(&datagram));
                    self.outputs.extend(bytes.map(Output::Lender));
                }
            }
            Input::Close => {
                if let Stage::Open { sealed, .. } = &mut self.stage {
                    self.outputs.extend(sealed.seal(&Frame::Over).map(Output::Lender));
                }
                (self.stage, self.next) = (Stage::Idle, None);
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        if self.next.is_some_and(|at| at <= now) {
            match self.stage {
                Stage::Idle => self.next = None,
                Stage::Opening { .. } => self.knock(now),
                Stage::Open { .. } => self.ask(now),
            }
        }
    }

    fn poll(&mut self, _: Instant) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.next
    }

    fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
