//! Round trips beside a session: greetings at an even pace, each of which a receiver answers with a
//! challenge of the same length. Neither end keeps anything for them.

#[cfg(test)]
mod tests;

use crate::{Received, Transmit};
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::{self, CHALLENGE_LEN, Message};
use fairwave_wire::seal::Key;
use std::net::SocketAddr;

/// Greetings that one pinger sends at most.
const MAX_PINGS: usize = 1 << 16;

/// Receiver of greetings, and their interval.
#[derive(Clone, Debug)]
pub struct PingerConfig {
    /// The secret that both ends share.
    pub key: Key,
    /// Receiver of greetings.
    pub receiver: SocketAddr,
    /// The session of the first greeting; the others follow. No session of the two has these.
    pub first: u64,
    /// A number drawn for this pinger alone.
    pub nonce: u64,
    /// From one greeting to the next.
    pub interval: Duration,
    /// Length of each greeting as UDP payload; shorter ones are lengthened to that of an answer.
    pub payload_bytes: u32,
}

/// Inputs of a pinger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PingerInput {
    /// Greet, from now on.
    Start,
    /// A datagram arrived.
    Received(Received),
    /// Greet no more. Answers that are on their way still count.
    Stop,
}

/// A greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Time at which it was sent.
    pub sent: Instant,
    /// Time of its answer, if it came.
    pub answered: Option<Instant>,
}

impl Ping {
    /// The time from the one to the other.
    pub fn round_trip(self) -> Option<Duration> {
        self.answered.map(|answered| answered.since(self.sent))
    }
}

/// An answer arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The time since its greeting was sent.
    pub round_trip: Duration,
}

/// Sends greetings and notes when they are answered.
#[derive(Debug)]
pub struct Pinger {
    config: PingerConfig,
    pings: Vec<Ping>,
    next: Option<Instant>,
    event: Option<Answered>,
}

impl Pinger {
    /// A pinger that waits for [`PingerInput::Start`].
    pub const fn new(config: PingerConfig) -> Self {
        Self { config, pings: Vec::new(), next: None, event: None }
    }

    /// The greetings that were sent.
    pub fn pings(&self) -> &[Ping] {
        &self.pings
    }

    fn receive(&mut self, now: Instant, received: &Received) {
        if received.from != self.config.receiver {
            return;
        }
        let Ok((session, Message::Challenge { .. })) =
            probe::open(&received.bytes, &self.config.key)
        else {
            return;
        };
        let number = session.wrapping_sub(self.config.first);
        let place = usize::try_from(number).ok().and_then(|number| self.pings.get_mut(number));
        let Some(ping) = place.filter(|ping| ping.answered.is_none()) else { return };
        // The host's stamp of an arrival may lie before what it told as the time of sending.
        let answered = now.max(ping.sent);
        ping.answered = Some(answered);
        self.event = Some(Answered { round_trip: answered.since(ping.sent) });
    }
}

impl Machine for Pinger {
    type Input = PingerInput;
    type Output = Transmit;
    type Event = Answered;

    fn handle(&mut self, now: Instant, input: PingerInput) {
        match input {
            PingerInput::Start => self.next = Some(now),
            PingerInput::Stop => self.next = None,
            PingerInput::Received(received) => self.receive(now, &received),
        }
    }

    fn wake(&mut self, _: Instant) {}

    fn poll(&mut self, now: Instant) -> Option<Transmit> {
        self.next.filter(|next| *next <= now)?;
        let PingerConfig { key, receiver, first, nonce, interval, payload_bytes } = &self.config;
        let session = first.wrapping_add(self.pings.len() as u64);
        let length = CHALLENGE_LEN.max(*payload_bytes as usize);
        let mut bytes = Vec::with_capacity(length);
        let hello = Message::Hello { nonce: *nonce };
        hello.write(session, key, length, &mut bytes).ok()?;
        self.pings.push(Ping { sent: now, answered: None });
        let is_last = self.pings.len() >= MAX_PINGS;
        // From now: a host that was late shall not send several at once.
        self.next = (!is_last && !interval.is_zero()).then(|| now + *interval);
        Some(Transmit { to: *receiver, own: None, bytes })
    }

    fn deadline(&self) -> Option<Instant> {
        self.next
    }

    fn event(&mut self) -> Option<Answered> {
        self.event.take()
    }
}
