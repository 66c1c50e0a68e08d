//! The sending end of a session.

mod collect;
mod fetch;
#[cfg(test)]
mod tests;

use crate::pace::{Pace, Retries};
use crate::{Account, Plan, Received, Transmit, Trial, Way, header_bytes};
use collect::{Absurd, Collector, Own, Progress};
use fairwave_machine::Machine;
use fairwave_units::{BitRate, Instant};
use fairwave_wire::probe::{
    self, CHALLENGE_LEN, Chunk, Cookie, Head, Limits, MAX_REPORT_LEN, MIN_DATA_LEN, Message,
    Refusal,
};
use fairwave_wire::seal::Key;
use fetch::Incoming;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Configuration of a session.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The secret that both ends share.
    pub key: Key,
    /// Host to probe.
    pub receiver: SocketAddr,
    /// A number that no other session of the two has.
    pub session: u64,
    /// A number drawn for this session alone.
    pub nonce: u64,
    /// This end's own limits, whatever the receiver grants.
    pub limits: Limits,
    /// Packets to send, or to have sent.
    pub plan: Plan,
    /// Direction of the packets of the plan.
    pub way: Way,
}

/// Inputs of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderInput {
    /// Greet the receiver.
    Start,
    /// A datagram arrived.
    Received(Received),
    /// Break off; nothing more is sent but a farewell.
    Stop,
}

/// Reason for which a session ended before its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No answer after several tries.
    Silent,
    /// The receiver did not agree.
    Refused(Refusal),
    /// The receiver granted nothing that could be used.
    NothingGranted,
    /// The receiver reported something impossible of a train.
    Absurd,
    /// The time granted was over.
    OutOfTime,
    /// The packets granted were used up.
    OutOfPackets,
    /// The host broke it off.
    Stopped,
}

/// Observations of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// The receiver agreed; the stricter of both limits.
    Agreed(Limits),
    /// A trial is accounted for.
    Account(Box<Account>),
    /// The session is over.
    Finished(Result<(), Failure>),
}

/// The sending end. It greets when asked to, and sends data, or asks for them, once the receiver
/// has agreed.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    phase: Phase,
    pace: Pace,
    events: VecDeque<SenderEvent>,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Greeting(Retries),
    Starting { retries: Retries, cookie: Cookie, key: Key },
    Agreed(Box<Agreed>),
    Over,
}

/// A session that the receiver has agreed to.
#[derive(Debug)]
struct Agreed {
    key: Key,
    until: Instant,
    /// The rate that both ends allow.
    rate: BitRate,
    packets_left: u32,
    /// Index of the trial.
    train: usize,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// The next packet is due then, if the pace allows.
    Sending { sent: Vec<Instant>, next: Instant },
    /// The receiver sends.
    Fetching(Incoming),
    /// The train is over; its account is being fetched.
    Asking { collector: Collector, retries: Retries },
    /// Silence until the next trial.
    Resting { until: Instant },
    /// Only the farewell is left.
    Leaving(Result<(), Failure>),
}

impl Sender {
    /// A sender that waits for [`SenderInput::Start`].
    pub fn new(mut config: SenderConfig) -> Self {
        config.plan.trials.truncate(usize::from(u16::MAX) + 1);
        let pace = Pace::new(config.limits.rate, header_bytes(config.receiver));
        Self { config, phase: Phase::Idle, pace, events: VecDeque::new() }
    }

    /// Whether the session is over, with success or without.
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    fn finish(&mut self, result: Result<(), Failure>) {
        self.phase = Phase::Over;
        self.events.push_back(SenderEvent::Finished(result));
    }

    /// Returns the content of the datagram, if it is of this session and sealed with the right key.
    fn opened(&self, received: &Received) -> Option<Message> {
        if received.from != self.config.receiver {
            return None;
        }
        let head = Head::read(&received.bytes).ok()?;
        let key = match &self.phase {
            Phase::Starting { key, .. } if head.is_within_session() => key,
            Phase::Agreed(agreed) if head.is_within_session() => &agreed.key,
            _ if head.is_within_session() => return None,
            _ => &self.config.key,
        };
        let (session, message) = probe::open(&received.bytes, key).ok()?;
        (session == self.config.session).then_some(message)
    }

    fn receive(&mut self, now: Instant, message: Message) {
        match (&mut self.phase, message) {
            (Phase::Greeting(_), Message::Challenge { cookie }) => {
                let SenderConfig { key, session, nonce, .. } = &self.config;
                let key = probe::session_key(key, *session, *nonce, &cookie);
                self.phase = Phase::Starting { retries: Retries::from(now), cookie, key };
            }
            (Phase::Greeting(_) | Phase::Starting { .. }, Message::Refuse { reason }) => {
                self.finish(Err(Failure::Refused(reason)));
            }
            (Phase::Starting { .. }, Message::Accept { granted }) => self.agree(now, granted),
            (Phase::Agreed(_), Message::Report(chunk)) => self.collect(now, chunk),
            (Phase::Agreed(agreed), Message::Data { train, number, .. }) => {
                if let Step::Fetching(incoming) = &mut agreed.step {
                    incoming.note(train, number, now);
                }
                self.advance(now);
            }
            (Phase::Agreed(agreed), Message::Sent { train, .. }) => {
                if let Step::Fetching(incoming) = &mut agreed.step {
                    incoming.close(train);
                }
                self.advance(now);
            }
            _ => {}
        }
    }

    /// Handles the receiver's grant of limits. It counts once, and only makes ours stricter.
    fn agree(&mut self, now: Instant, granted: Limits) {
        let limits = self.config.limits.stricter(granted);
        if limits.rate == BitRate(0) || limits.packets == 0 || limits.duration.is_zero() {
            return self.finish(Err(Failure::NothingGranted));
        }
        let Phase::Starting { key, .. } = std::mem::replace(&mut self.phase, Phase::Over) else {
            unreachable!("only a session that starts is agreed to");
        };
        self.pace.restrict(limits.rate);
        let until = now + limits.duration;
        let step = Step::Resting { until: now };
        let packets_left = limits.packets;
        let (rate, train) = (self.pace.rate(), 0);
        let agreed = Agreed { key, until, rate, packets_left, train, step };
        self.phase = Phase::Agreed(Box::new(agreed));
        self.events.push_back(SenderEvent::Agreed(limits));
        self.advance(now);
    }

    fn collect(&mut self, now: Instant, chunk: Chunk) {
        let Phase::Agreed(agreed) = &mut self.phase else { return };
        let train = agreed.train;
        let Step::Asking { collector, retries } = &mut agreed.step else { return };
        if usize::from(chunk.train) != train {
            return;
        }
        match collector.take(chunk) {
            Ok(Progress::Other) => {}
            Ok(Progress::More) => *retries = Retries::from(now),
            Ok(Progress::Complete) => self.close_trial(now),
            Err(Absurd) => agreed.step = Step::Leaving(Err(Failure::Absurd)),
        }
    }

    /// The account of a trial is complete.
    fn close_trial(&mut self, now: Instant) {
        let Phase::Agreed(agreed) = &mut self.phase else { return };
        let trial = self.config.plan.trials[agreed.train];
        agreed.train += 1;
        let rest = Step::Resting { until: now + self.config.plan.rest };
        if let Step::Asking { collector, .. } = std::mem::replace(&mut agreed.step, rest) {
            let Ok((sent, arrived)) = collector.into_parts() else {
                agreed.step = Step::Leaving(Err(Failure::Absurd));
                return;
            };
            if self.config.way == Way::Back {
                agreed.packets_left = agreed.packets_left.saturating_sub(sent.len() as u32);
            }
            let is_last = agreed.train == self.config.plan.trials.len();
            let is_whole = sent.len() as u32 == trial.packets();
            if agreed.packets_left == 0 && !(is_whole && is_last) {
                agreed.step = Step::Leaving(Err(Failure::OutOfPackets));
            } else if is_last {
                agreed.step = Step::Leaving(Ok(()));
            }
            let account = Account { trial, sent, arrived };
            self.events.push_back(SenderEvent::Account(Box::new(account)));
        }
    }

    /// Handles the passage of time.
    fn advance(&mut self, now: Instant) {
        let (trials, way) = (&self.config.plan.trials, self.config.way);
        match &mut self.phase {
            Phase::Greeting(retries) | Phase::Starting { retries, .. }
                if retries.exhausted(now) =>
            {
                self.finish(Err(Failure::Silent));
            }
            Phase::Agreed(agreed) if now >= agreed.until => {
                let result = match agreed.step {
                    Step::Leaving(result) => result,
                    _ => Err(Failure::OutOfTime),
                };
                self.finish(result);
            }
            Phase::Agreed(agreed) => agreed.advance(now, trials, way),
            _ => {}
        }
    }

    /// The message that is due, with the length to send it in.
    fn due(&mut self, now: Instant) -> Option<(Message, usize)> {
        let SenderConfig { nonce, limits: wanted, .. } = self.config;
        match &mut self.phase {
            Phase::Greeting(retries) => {
                retries.attempt(now)?;
                Some((Message::Hello { nonce }, CHALLENGE_LEN))
            }
            Phase::Starting { retries, cookie, .. } => {
                retries.attempt(now)?;
                Some((Message::Start { nonce, cookie: *cookie, wanted }, 0))
            }
            Phase::Agreed(agreed) => agreed.due(now, &self.config.plan.trials),
            Phase::Idle | Phase::Over => None,
        }
    }

    /// Seals a message; its bytes count against the pace.
    fn transmit(&mut self, now: Instant, message: &Message, len: usize) -> Option<Transmit> {
        let key = match &self.phase {
            Phase::Agreed(agreed) => &agreed.key,
            _ => &self.config.key,
        };
        let mut bytes = Vec::with_capacity(len);
        message.write(self.config.session, key, len, &mut bytes).ok()?;
        self.pace.note(now, bytes.len());
        Some(Transmit { to: self.config.receiver, own: None, bytes })
    }

    /// After the farewell was given, or cannot be, the session is over.
    fn leave(&mut self) {
        if let Phase::Agreed(agreed) = &self.phase
            && let Step::Leaving(result) = agreed.step
        {
            self.finish(result);
        }
    }
}

impl Agreed {
    fn advance(&mut self, now: Instant, trials: &[Trial], way: Way) {
        match &mut self.step {
            Step::Resting { until } if now >= *until => {
                self.step = match (trials.get(self.train), way) {
                    (Some(_), Way::There) => Step::Sending { sent: Vec::new(), next: now },
                    (Some(trial), Way::Back) => {
                        Step::Fetching(Incoming::new(self.train as u16, *trial, self.rate, now))
                    }
                    (None, _) => Step::Leaving(Ok(())),
                };
            }
            Step::Fetching(incoming) if incoming.is_over(now) => {
                let arrived = Own::Arrived(incoming.take_arrived());
                let collector = Collector::new(arrived, trials[self.train].packets());
                self.step = Step::Asking { collector, retries: Retries::from(now) };
            }
            Step::Asking { retries, .. } if retries.exhausted(now) => {
                self.step = Step::Leaving(Err(Failure::Silent));
            }
            _ => {}
        }
    }

    fn due(&mut self, now: Instant, trials: &[Trial]) -> Option<(Message, usize)> {
        let train = self.train as u16;
        match &mut self.step {
            Step::Sending { next, .. } if now < *next => None,
            Step::Sending { sent, next } => {
                let trial = trials[self.train];
                let number = sent.len() as u32;
                debug_assert!(number <= trial.packets(), "{number} packets were sent");
                if number == trial.packets() || self.packets_left == 0 {
                    let collector = Collector::new(Own::Sent(std::mem::take(sent)), number);
                    self.step = Step::Asking { collector, retries: Retries::from(now) };
                    return self.due(now, trials);
                }
                sent.push(now);
                self.packets_left -= 1;
                let spaced = number < trial.spaced;
                *next = if spaced { now + trial.interval } else { now };
                let len = (trial.payload_bytes as usize).clamp(MIN_DATA_LEN, probe::MAX_LEN);
                Some((Message::Data { train, number, sent: now }, len))
            }
            Step::Asking { collector, retries } => {
                retries.attempt(now)?;
                let (sent, chunk) = collector.asks();
                // As long as the answer may be, so that nobody gains by having it repeated.
                Some((Message::End { train, sent, chunk }, MAX_REPORT_LEN))
            }
            Step::Fetching(incoming) => incoming.due(now),
            Step::Resting { .. } => None,
            Step::Leaving(_) => Some((Message::Done, 0)),
        }
    }

    /// Returns the time of the next action, pace aside.
    fn next(&self) -> Option<Instant> {
        match &self.step {
            Step::Sending { next, .. } => Some(*next),
            Step::Fetching(incoming) => Some(incoming.next()),
            Step::Asking { retries, .. } => Some(retries.next()),
            Step::Resting { until } => Some(*until),
            Step::Leaving(_) => Some(Instant::ZERO),
        }
    }
}

impl Machine for Sender {
    type Input = SenderInput;
    type Output = Transmit;
    type Event = SenderEvent;

    fn handle(&mut self, now: Instant, input: SenderInput) {
        self.advance(now);
        match (input, &mut self.phase) {
            (SenderInput::Start, Phase::Idle) => {
                self.phase = Phase::Greeting(Retries::from(now));
                if self.config.limits.rate == BitRate(0) {
                    self.finish(Err(Failure::NothingGranted));
                }
            }
            (SenderInput::Start, _) => {}
            (SenderInput::Stop, Phase::Agreed(agreed)) => {
                agreed.step = Step::Leaving(Err(Failure::Stopped));
            }
            (SenderInput::Stop, Phase::Over) => {}
            (SenderInput::Stop, _) => self.finish(Err(Failure::Stopped)),
            (SenderInput::Received(received), _) => {
                if let Some(message) = self.opened(&received) {
                    self.receive(now, message);
                }
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        self.advance(now);
    }

    fn poll(&mut self, now: Instant) -> Option<Transmit> {
        if !self.pace.allows(now) {
            return None;
        }
        let (message, len) = self.due(now)?;
        let transmit = self.transmit(now, &message, len);
        self.leave();
        transmit
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Idle | Phase::Over => None,
            Phase::Greeting(retries) | Phase::Starting { retries, .. } => {
                Some(self.pace.at_earliest(retries.next()))
            }
            Phase::Agreed(agreed) => {
                let next = agreed.next().map(|at| self.pace.at_earliest(at));
                next.into_iter().chain([agreed.until]).min()
            }
        }
    }

    fn event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }
}
