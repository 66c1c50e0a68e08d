//! A flow of the buffer probe: its sender at the source, its receiver at the sink.
//!
//! The simulated network carries lengths. The messages of the two ends wait here, by the number of
//! the datagram that carries them, until that arrives.

use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End};
use crate::flow::transport::{Host, Transport};
use crate::key::shared_key;
use crate::outcome::{FlowOutcome, ProbeOutcome};
use crate::packet::{Packet, address};
use fairwave_machine::Machine;
use fairwave_probe::{
    Account, Failure, Received, Receiver, ReceiverConfig, Sender, SenderConfig, SenderEvent,
    SenderInput, Transmit, Way,
};
pub use fairwave_probe::{Plan, Trial};
use fairwave_trace::FlowSample;
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::datagram::Contents;
pub use fairwave_wire::probe::Limits;
use fairwave_wire::seal::Key;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Datagrams of one end that may be under way; older ones count as lost.
const MAX_CARRIED: usize = 16_384;

/// A flow of the buffer probe.
#[derive(Clone, Debug)]
pub struct ProbeFlow {
    /// Trains to send.
    pub plan: Plan,
    /// Limits of either end.
    pub limits: Limits,
    /// The flow, another probe from the same source, whose trains this one watches: both together
    /// say whether their receivers share a queue.
    pub watches: Option<String>,
}

/// The two ends, and the state between them.
#[derive(Debug)]
struct Probe {
    ports: Both<u16>,
    addresses: Both<SocketAddr>,
    sender: Sender,
    receiver: Receiver,
    carried: Both<VecDeque<(u32, Vec<u8>)>>,
    /// Datagrams that the source has sent.
    sent: u64,
    accounts: Vec<Account>,
    ended: Option<Result<(), Failure>>,
}

impl Description for ProbeFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        Box::new(Probe::new(self, setup))
    }

    fn payload_bytes(&self) -> u32 {
        self.plan.trials.iter().map(|trial| trial.payload_bytes).max().unwrap_or(0)
    }

    fn is_probe(&self) -> bool {
        true
    }

    fn watches(&self) -> Option<&str> {
        self.watches.as_deref()
    }
}

/// Time for which the receiver waits for a sender that says nothing: longer than the plan is
/// silent.
fn patience(plan: &Plan) -> Duration {
    let silences = plan.trials.iter().map(|trial| trial.interval).chain([plan.rest]);
    Duration::from_secs(30) + silences.max().unwrap_or_default()
}

impl ProbeFlow {
    /// Both ends of the session of the flow `name`, which share the key of all runs with this
    /// master seed. The sender sends to `receiver`.
    pub fn ends(&self, seed: Seed, name: &str, receiver: SocketAddr) -> (Sender, Receiver) {
        let mut random = seed.stream(&format!("probe/{name}"));
        let mut draw = || random.next_u64();
        let secret: Vec<u8> = [draw(), draw()].map(u64::to_be_bytes).concat();
        let cookie_key = Key::new(&secret).expect("sixteen bytes are enough");
        let key = shared_key(seed);
        let Self { plan, limits, .. } = self.clone();
        let idle = patience(&plan);
        let config = SenderConfig {
            key: key.clone(),
            receiver,
            session: draw(),
            nonce: draw(),
            limits,
            plan,
            way: Way::There,
        };
        let receiver = ReceiverConfig { key, cookie_key, limits, sessions: 1, idle };
        (Sender::new(config), Receiver::new(receiver))
    }
}

impl Probe {
    fn new(flow: &ProbeFlow, setup: &Setup<'_>) -> Self {
        let ports = setup.ports();
        let addresses = Both {
            source: SocketAddr::from((address(setup.source), ports.source)),
            sink: SocketAddr::from((address(setup.sink), ports.sink)),
        };
        let (sender, receiver) = flow.ends(setup.seed, setup.name, addresses.sink);
        Self {
            ports,
            addresses,
            sender,
            receiver,
            carried: Both::default(),
            sent: 0,
            accounts: Vec::new(),
            ended: None,
        }
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
}

impl Transport for Probe {
    fn start(&mut self, host: &mut Host<'_>) {
        self.sender.handle(host.now, SenderInput::Start);
    }

    fn stop(&mut self, host: &mut Host<'_>) {
        self.sender.handle(host.now, SenderInput::Stop);
        self.note_events();
    }

    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<Packet> {
        let out = match end {
            End::Source => self.sender.poll(host.now),
            End::Sink => self.receiver.poll(host.now),
        };
        self.note_events();
        let Transmit { bytes, .. } = out?;
        self.sent += u64::from(end == End::Source);
        let packet = host.udp(end, self.ports, bytes.len() as u32);
        let carried = &mut self.carried[end];
        if carried.len() == MAX_CARRIED {
            carried.pop_front();
        }
        carried.push_back((packet.number, bytes));
        Some(packet)
    }

    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>) {
        let carried = &mut self.carried[end.other()];
        let found = carried.binary_search_by_key(&packet.number, |(number, _)| *number);
        let Some((_, bytes)) = found.ok().and_then(|place| carried.remove(place)) else { return };
        let from = self.addresses[end.other()];
        let received = Received { from, own: None, bytes };
        match end {
            End::Source => self.sender.handle(host.now, SenderInput::Received(received)),
            End::Sink => {
                host.deliver(received.bytes.len() as u32);
                host.delivery.delays.add(host.now.since(packet.sent));
                self.receiver.handle(host.now, received);
            }
        }
        self.note_events();
    }

    fn wake(&mut self, end: End, host: &mut Host<'_>) {
        match end {
            End::Source => self.sender.wake(host.now),
            End::Sink => self.receiver.wake(host.now),
        }
        self.note_events();
    }

    fn deadline(&self, end: End) -> Option<Instant> {
        match end {
            End::Source => self.sender.deadline(),
            End::Sink => self.receiver.deadline(),
        }
    }

    fn last_contents(&mut self, end: End, _packet: &Packet) -> Option<Contents> {
        self.carried[end].back().map(|(_, bytes)| Contents::bytes(bytes.clone()))
    }

    fn sample(&self) -> FlowSample {
        FlowSample { sent_packets: self.sent, ..FlowSample::default() }
    }

    fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    fn fill(&self, outcome: &mut FlowOutcome) {
        outcome.probe = Some(ProbeOutcome::of(&self.accounts, self.ended));
    }
}
