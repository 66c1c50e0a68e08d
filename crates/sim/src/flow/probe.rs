//! A flow of the buffer probe: its sender at the source, its receiver at the sink.
//!
//! The simulated network carries lengths. What the two ends say to each other waits here, by the
//! number of the datagram that carries it, until that arrives.

use super::{Delivery, End};
use crate::key::shared_key;
use crate::packet::address;
use crate::world::{Flow, ProbeFlow};
use fairwave_machine::Machine;
use fairwave_probe::{
    Account, Failure, Plan, Received, Receiver, ReceiverConfig, Sender, SenderConfig, SenderEvent,
    SenderInput, Transmit,
};
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::seal::Key;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Datagrams of one end that may be under way; older ones count as lost.
const MOST_CARRIED: usize = 16_384;

/// The two ends, and what is between them.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(super) ports: (u16, u16),
    addresses: [SocketAddr; 2],
    sender: Sender,
    receiver: Receiver,
    carried: [VecDeque<(u32, Vec<u8>)>; 2],
    /// Datagrams that the source has sent.
    pub(super) sent: u64,
    accounts: Vec<Account>,
    ended: Option<Result<(), Failure>>,
}

/// How long the receiver waits for a sender that says nothing: longer than the plan is silent.
fn patience(plan: &Plan) -> Duration {
    let silences = plan.trials.iter().map(|trial| trial.interval).chain([plan.rest]);
    Duration::from_secs(30) + silences.max().unwrap_or_default()
}

impl Probe {
    pub(super) fn new(ports: (u16, u16), flow: &Flow, probe: &ProbeFlow, seed: Seed) -> Self {
        let mut random = seed.stream(&format!("probe/{}", flow.name));
        let mut draw = || random.next_u64();
        let secret: Vec<u8> = [draw(), draw()].map(u64::to_be_bytes).concat();
        let cookie_key = Key::new(&secret).expect("sixteen bytes are enough");
        let key = shared_key(seed);
        let addresses = [(flow.source, ports.0), (flow.sink, ports.1)]
            .map(|(node, port)| SocketAddr::from((address(node), port)));
        let ProbeFlow { plan, limits, .. } = probe.clone();
        let idle = patience(&plan);
        let config = SenderConfig {
            key: key.clone(),
            receiver: addresses[1],
            session: draw(),
            nonce: draw(),
            limits,
            plan,
        };
        let receiver = ReceiverConfig { key, cookie_key, limits, sessions: 1, idle };
        Self {
            ports,
            addresses,
            sender: Sender::new(config),
            receiver: Receiver::new(receiver),
            carried: Default::default(),
            sent: 0,
            accounts: Vec::new(),
            ended: None,
        }
    }

    pub(super) fn start(&mut self, now: Instant) {
        self.sender.handle(now, SenderInput::Start);
    }

    pub(super) fn stop(&mut self, now: Instant) {
        self.sender.handle(now, SenderInput::Stop);
        self.note_events();
    }

    pub(super) fn wake(&mut self, end: End, now: Instant) {
        match end {
            End::Source => self.sender.wake(now),
            End::Sink => self.receiver.wake(now),
        }
        self.note_events();
    }

    pub(super) fn deadline(&self, end: End) -> Option<Instant> {
        match end {
            End::Source => self.sender.deadline(),
            End::Sink => self.receiver.deadline(),
        }
    }

    /// Length of the payload that `end` sends next, in the datagram with this number.
    pub(super) fn poll(&mut self, end: End, number: u32, now: Instant) -> Option<u32> {
        let out = match end {
            End::Source => self.sender.poll(now),
            End::Sink => self.receiver.poll(now),
        };
        self.note_events();
        let Transmit { bytes, .. } = out?;
        self.sent += u64::from(end == End::Source);
        let len = bytes.len() as u32;
        let carried = &mut self.carried[end as usize];
        if carried.len() == MOST_CARRIED {
            carried.pop_front();
        }
        carried.push_back((number, bytes));
        Some(len)
    }

    /// The message that `end` has sent last.
    pub(super) fn last_message(&self, end: End) -> Option<&[u8]> {
        self.carried[end as usize].back().map(|(_, bytes)| &bytes[..])
    }

    /// The datagram with this number of the other end came to `end`.
    pub(super) fn receive(&mut self, end: End, number: u32, delivery: &mut Delivery, now: Instant) {
        let other = if end == End::Source { End::Sink } else { End::Source };
        let carried = &mut self.carried[other as usize];
        let Ok(place) = carried.binary_search_by_key(&number, |(number, _)| *number) else {
            return;
        };
        let Some((_, bytes)) = carried.remove(place) else { return };
        let from = self.addresses[other as usize];
        let received = Received { from, bytes };
        match end {
            End::Source => self.sender.handle(now, SenderInput::Received(received)),
            End::Sink => {
                delivery.take(received.bytes.len() as u32, now);
                self.receiver.handle(now, received);
            }
        }
        self.note_events();
    }

    fn note_events(&mut self) {
        while let Some(event) = self.sender.event() {
            match event {
                SenderEvent::Agreed(_) => {}
                SenderEvent::Account(account) => self.accounts.push(*account),
                SenderEvent::Finished(result) => self.ended = Some(result),
            }
        }
        while self.receiver.event().is_some() {}
    }

    /// The accounts so far.
    pub(super) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// How the session ended, if it has.
    pub(super) const fn ended(&self) -> Option<Result<(), Failure>> {
        self.ended
    }
}
