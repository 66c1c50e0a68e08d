//! Channel-condition independent fair queueing (Ng, Stoica, Zhang: Packet Fair Queueing Algorithms
//! for Wireless Networks with Location-Dependent Errors, INFOCOM 1998).
//!
//! A reference system without errors (start-time fair queueing) gives the turn. A host that cannot
//! send gives its turn to another and lags by the data sent instead; the other leads. Leading hosts
//! give turns back, but keep a share of theirs, so that they are not cut off.

use crate::Item;
use crate::heap::Heap;
use crate::hosts::{HostConfig, Hosts, Shed};
use crate::scheduled::Order;
use crate::weight::{Weight, stretch};
use fairwave_units::Instant;

/// Parameters of CIF-Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifQConfig {
    /// Limits, and the treatment of hosts without weight.
    pub hosts: HostConfig,
    /// Share of its turns that a leading host keeps, in percent: the paper's alpha.
    pub alpha_percent: u32,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// v: service in the reference system.
    reference: u64,
    /// s: data sent in its own turns since it leads.
    kept: u64,
    /// c: service from given turns while lagging.
    made_up: u64,
    /// f: service from turns without a lagging host.
    extra: u64,
    /// Bytes that it is owed; below zero, that it owes. All together sum to zero.
    lag: i64,
    is_bad: bool,
}

const NEW: Flow = Flow { reference: 0, kept: 0, made_up: 0, extra: 0, lag: 0, is_bad: false };

/// Origin of the sending host's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Own,
    MadeUp,
    Extra,
}

#[derive(Clone, Debug)]
pub(crate) struct CifQ {
    alpha_percent: u32,
    flows: Vec<Flow>,
    /// Hosts in the reference system: with packets, and leading ones that have none left.
    active: Heap,
    /// Hosts that can send, the lagging ones by `made_up`, all by `extra`.
    lagging: Heap,
    able: Heap,
    /// The host whose turn it is, the host that sends instead, and the reason.
    chosen: Option<(u32, u32, Turn)>,
}

impl CifQ {
    pub(crate) const fn new(alpha_percent: u32) -> Self {
        Self {
            alpha_percent,
            flows: Vec::new(),
            active: Heap::new(),
            lagging: Heap::new(),
            able: Heap::new(),
            chosen: None,
        }
    }

    fn flow(&mut self, host: u32) -> &mut Flow {
        if host as usize >= self.flows.len() {
            self.flows.resize(host as usize + 1, NEW);
        }
        &mut self.flows[host as usize]
    }

    fn share_kept(&self, reference: u64) -> u64 {
        (u128::from(reference) * u128::from(self.alpha_percent) / 100) as u64
    }

    /// Enters a host into the reference system, or takes it out, and lists it by its state.
    fn update_lists<T: Item>(&mut self, hosts: &Hosts<T>, host: u32) {
        let has_packets = hosts.packets_of(host) > 0 && !hosts.weight(host).is_zero();
        let min = self.active.first().map_or(0, |(key, _)| key);
        let is_in = self.active.contains(host);
        let flow = self.flow(host);
        if !is_in {
            // Who comes back has no claim to what the others got meanwhile.
            flow.reference = flow.reference.max(min);
        }
        let Flow { reference, lag, is_bad, .. } = *flow;
        if has_packets || lag < 0 && !hosts.weight(host).is_zero() {
            self.active.set(host, reference);
        } else {
            self.active.remove(host);
            self.hand_over(hosts, host);
        }
        let can_send = has_packets && !is_bad;
        let lags = can_send && lag > 0;
        let flow = &mut self.flows[host as usize];
        list(&mut self.lagging, host, lags, &mut flow.made_up);
        list(&mut self.able, host, can_send, &mut flow.extra);
    }

    /// A host that leaves hands its credit or debt to the hosts in the reference system, in
    /// proportion to their weights, the rest of the division to the last of them.
    fn hand_over<T: Item>(&mut self, hosts: &Hosts<T>, host: u32) {
        let lag = core::mem::take(&mut self.flow(host).lag);
        if lag == 0 {
            return;
        }
        let weigh = |id: u32| i128::from(hosts.weight(id).0);
        let (mut left, mut weights) = (i128::from(lag), self.active.ids().map(weigh).sum::<i128>());
        for place in 0..self.active.len() {
            let id = self.active.id(place);
            // Dividing what is left, not the whole, leaves no rest: the last host takes it all.
            let part = left * weigh(id) / weights;
            (left, weights) = (left - part, weights - weigh(id));
            self.owe(id, part as i64);
            let lags = self.flows[id as usize].lag > 0 && self.able.contains(id);
            list(&mut self.lagging, id, lags, &mut self.flows[id as usize].made_up);
        }
        debug_assert_eq!(left, 0, "lags no longer sum to zero");
    }

    /// Adds to a host's credit.
    fn owe(&mut self, host: u32, bytes: i64) {
        let flow = self.flow(host);
        let led = flow.lag < 0;
        flow.lag += bytes;
        let (leads, reference) = (flow.lag < 0, flow.reference);
        if leads && !led {
            self.flow(host).kept = self.share_kept(reference);
        }
    }
}

/// Puts a host into a heap or takes it out. A new host does not come before the others.
fn list(heap: &mut Heap, host: u32, is_in: bool, key: &mut u64) {
    if !is_in {
        return heap.remove(host);
    }
    if !heap.contains(host) {
        *key = heap.first().map_or(*key, |(min, _)| min.max(*key));
    }
    heap.set(host, *key);
}

impl Order for CifQ {
    fn joined<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, _: u32) {
        if hosts.packets_of(host) == 1 {
            self.update_lists(hosts, host);
        }
    }

    fn next<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>) -> Option<u32> {
        loop {
            let (_, turn) = self.active.first()?;
            let Flow { lag, kept, reference, .. } = self.flows[turn as usize];
            let keeps = lag >= 0 || kept <= self.share_kept(reference);
            if hosts.packets_of(turn) == 0 && lag >= 0 {
                self.update_lists(hosts, turn);
                continue;
            }
            self.chosen = if keeps && self.able.contains(turn) {
                Some((turn, turn, Turn::Own))
            } else if let Some((_, host)) = self.lagging.first() {
                Some((turn, host, Turn::MadeUp))
            } else {
                self.able.first().map(|(_, host)| (turn, host, Turn::Extra))
            };
            return self.chosen.map(|(_, host, _)| host);
        }
    }

    fn taken<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32) {
        let out_of_turn = (host, host, Turn::Own);
        let chosen = self.chosen.take().filter(|&(_, sender, _)| sender == host);
        let (turn, _, why) = chosen.unwrap_or(out_of_turn);
        let passed = stretch(bytes, hosts.weight(turn));
        let gone = stretch(bytes, hosts.weight(host));
        let reference = &mut self.flow(turn).reference;
        *reference = reference.saturating_add(passed);
        let flow = self.flow(host);
        match why {
            Turn::Own if flow.lag < 0 => flow.kept = flow.kept.saturating_add(passed),
            Turn::Own => {}
            Turn::MadeUp => flow.made_up = flow.made_up.saturating_add(gone),
            Turn::Extra => flow.extra = flow.extra.saturating_add(gone),
        }
        if turn != host {
            self.owe(turn, i64::from(bytes));
            self.owe(host, -i64::from(bytes));
            self.update_lists(hosts, turn);
        }
        self.update_lists(hosts, host);
    }

    fn shed<T: Item>(&mut self, hosts: &mut Hosts<T>, shed: Shed) {
        if hosts.packets_of(shed.host) == 0 {
            self.update_lists(hosts, shed.host);
        }
    }

    fn weighed<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, _: Weight) {
        self.update_lists(hosts, host);
    }

    fn link<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, is_good: bool) {
        self.flow(host).is_bad = !is_good;
        self.update_lists(hosts, host);
    }
}
