//! CAKE (Høiland-Jørgensen, Täht, Morton: Piece of CAKE, LANMAN 2018; Linux, `sch_cake`), with one
//! tin: best effort.

use crate::chain::{Chain, Chained, Chains};
use crate::slab::{Ends, NONE};
use crate::{Discipline, Goes, Item, Limit};
use cobalt::{Cobalt, Times};
use core::cmp::Reverse;
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{BitRate, Bytes, Duration, Instant, Stream};
use std::collections::VecDeque;
use table::{Hosts, QUEUES};

mod cobalt;
mod table;
#[cfg(test)]
mod tests;

/// Length of a full packet.
const MTU: u64 = 1500;

/// Parties among whom CAKE shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Flows.
    Flows,
    /// Hosts that send, and the flows of each.
    Sources,
    /// Hosts that receive, and the flows of each.
    Destinations,
    /// Both: a flow counts for that of its ends which has more busy flows.
    Triple,
}

/// Parameters of CAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CakeConfig {
    /// Bound of all queues together.
    pub limit: Limit,
    /// Rate of the shaper; without it, packets leave as fast as the link takes them.
    pub rate: Option<BitRate>,
    /// Bytes that the link adds to an IP packet, for the shaper.
    pub overhead: u32,
    /// Minimum length of a packet on the link, with the overhead.
    pub min_packet: u32,
    /// Round-trip time that is usual: COBALT's interval, and twenty times its target.
    pub rtt: Duration,
    /// Parties that are equals.
    pub isolation: Isolation,
}

impl CakeConfig {
    /// Queues that flows are spread over.
    pub const QUEUES: u64 = QUEUES as u64;

    /// Linux's defaults: 100 ms, hosts and flows isolated, no shaper.
    pub const fn of(limit: Limit) -> Self {
        let (rtt, isolation) = (Duration::from_millis(100), Isolation::Triple);
        Self { limit, rate: None, overhead: 0, min_packet: 0, rtt, isolation }
    }

    /// COBALT's times: at low rates a target of one and a half full packets.
    fn times(&self) -> Times {
        let wanted = self.rtt / 20;
        let mtu = self.rate.map_or(Duration::ZERO, |rate| rate.time_for(MTU));
        let target = wanted.max(mtu * 3 / 2);
        let interval = (self.rtt + target.saturating_sub(wanted)).max(target * 2);
        Times { target, interval, mtu }
    }

    /// Bytes of a flow's turn: those of the shaper in 1/4096 s, between 300 and 1514.
    fn quantum(&self) -> i64 {
        self.rate.map_or(1514, |rate| (rate.0 / 8 / 4096).clamp(300, 1514) as i64)
    }

    /// Length of a packet on the link.
    fn on_link(&self, bytes: u32) -> u32 {
        (bytes + self.overhead).max(self.min_packet)
    }
}

/// State of a flow in the order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// In no list, and its queue is free for others.
    None,
    /// New: served before all that keep packets waiting.
    Sparse,
    /// Emptied within its first turn; it waits for its debt to be paid, but counts as sparse.
    SparseWait,
    /// Keeps packets waiting.
    Bulk,
    /// Empty, but its AQM is not at rest.
    Decaying,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    tag: u64,
    chain: Chain,
    deficit: i64,
    cobalt: Cobalt,
    set: Set,
    source: u16,
    destination: u16,
    /// The neighbours in the list of its set.
    before: u32,
    after: u32,
}

const FREE: Flow = Flow {
    tag: 0,
    chain: Chain::to(0),
    deficit: 0,
    cobalt: Cobalt::NEW,
    set: Set::None,
    source: 0,
    destination: 0,
    before: NONE,
    after: NONE,
};

impl Chained for Flow {
    fn chain(&self) -> &Chain {
        &self.chain
    }

    fn chain_mut(&mut self) -> &mut Chain {
        &mut self.chain
    }
}

/// Flows in queues of their own, hosts that share equally whatever the number of their flows,
/// COBALT in each queue, and a shaper that keeps the queue here rather than at a slower link.
#[derive(Clone, Debug)]
pub struct Cake<T> {
    config: CakeConfig,
    times: Times,
    quantum: i64,
    random: Stream,
    /// The queues of the table, and behind them those of `spare`; none before the first packet.
    chains: Chains<T, Flow>,
    /// Each receiver's queue for packets whose set is full of others' packets.
    spare: Vec<u32>,
    sources: Hosts,
    destinations: Hosts,
    /// Flows by set: sparse ones, bulk ones with those of [`Set::SparseWait`], decaying ones.
    lists: [Ends; 3],
    /// Time from which on the shaper lets the next packet pass.
    next_at: Instant,
    dropped: VecDeque<(T, DropCause)>,
}

const SPARSE: usize = 0;
const BULK: usize = 1;
const DECAYING: usize = 2;

impl Set {
    /// The list of flows in this state.
    const fn list(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Sparse => Some(SPARSE),
            Self::SparseWait | Self::Bulk => Some(BULK),
            Self::Decaying => Some(DECAYING),
        }
    }
}

impl<T: Item> Cake<T> {
    /// An empty queue.
    pub fn new(config: CakeConfig, random: Stream) -> Self {
        Self {
            config,
            times: config.times(),
            quantum: config.quantum(),
            random,
            chains: Chains::new(),
            spare: Vec::new(),
            sources: Hosts::default(),
            destinations: Hosts::default(),
            lists: [Ends::EMPTY; 3],
            next_at: Instant::ZERO,
            dropped: VecDeque::new(),
        }
    }

    /// Makes room in the tables for a receiver that is not in them.
    #[cold]
    fn meet(&mut self, receiver: u32) {
        self.chains.make_room(receiver);
        self.spare.resize(receiver as usize + 1, NONE);
        if self.chains.flows.is_empty() {
            self.chains.flows.resize(QUEUES, FREE);
            self.sources.make_room();
            self.destinations.make_room();
        }
    }

    /// The queue of the item's flow: its own in the set of its hash, else a free one, else its
    /// first. A queue holds packets to one receiver only.
    fn classify(&mut self, item: &T) -> u32 {
        let receiver = item.receiver();
        if !self.chains.has_room(receiver) {
            self.meet(receiver);
        }
        let (key, tag) = (item.flow(), item.flow().hash());
        let suits = |flow: &Flow| flow.chain.packets == 0 || flow.chain.receiver == receiver;
        let is_own = |flow: &Flow| flow.tag == tag && suits(flow);
        let find = |fits: &dyn Fn(&Flow) -> bool| {
            table::places(tag)
                .find(|place| fits(&self.chains.flows[*place]))
                .map(|place| place as u32)
        };
        let own = find(&is_own);
        let number = own
            .or_else(|| find(&|flow| flow.set == Set::None))
            .or_else(|| Some((tag % QUEUES as u64) as u32).filter(|at| suits(self.flow(*at))))
            .unwrap_or_else(|| self.spare_of(receiver));
        if own.is_none() || self.flow(number).set == Set::None {
            let is_bulk = self.flow(number).set == Set::Bulk;
            if is_bulk {
                self.count_out(number);
            }
            let (source, destination) =
                (self.sources.place(key.source), self.destinations.place(key.destination));
            let flow = &mut self.chains.flows[number as usize];
            *flow = Flow { tag, source, destination, ..*flow };
            if is_bulk {
                self.count_in(number);
            }
        }
        self.chains.flows[number as usize].chain.receiver = receiver;
        number
    }

    fn spare_of(&mut self, receiver: u32) -> u32 {
        if self.spare[receiver as usize] == NONE {
            self.spare[receiver as usize] = self.chains.flows.len() as u32;
            self.chains.flows.push(FREE);
        }
        self.spare[receiver as usize]
    }

    fn flow(&self, number: u32) -> &Flow {
        &self.chains.flows[number as usize]
    }

    /// Counts a bulk flow among those of its hosts.
    fn count_in(&mut self, number: u32) {
        let Flow { source, destination, .. } = *self.flow(number);
        self.sources.add(source);
        self.destinations.add(destination);
    }

    fn count_out(&mut self, number: u32) {
        let Flow { source, destination, .. } = *self.flow(number);
        self.sources.remove(source);
        self.destinations.remove(destination);
    }

    /// Flows among which the quantum of a flow's host is divided.
    fn host_load(&self, number: u32) -> i64 {
        let Flow { source, destination, .. } = *self.flow(number);
        let (from, to) = (self.sources.busy(source), self.destinations.busy(destination));
        let busy = match self.config.isolation {
            Isolation::Flows => 1,
            Isolation::Sources => from,
            Isolation::Destinations => to,
            Isolation::Triple => from.max(to),
        };
        i64::from(busy.max(1))
    }

    /// Moves a flow to the end of the list of a state.
    fn move_to(&mut self, number: u32, set: Set) {
        let Flow { set: old, before, after, .. } = *self.flow(number);
        if let Some(list) = old.list() {
            match before {
                NONE => self.lists[list].first = after,
                before => self.chains.flows[before as usize].after = after,
            }
            match after {
                NONE => self.lists[list].last = before,
                after => self.chains.flows[after as usize].before = before,
            }
        }
        match (old == Set::Bulk, set == Set::Bulk) {
            (true, false) => self.count_out(number),
            (false, true) => self.count_in(number),
            _ => {}
        }
        let last = match set.list() {
            None => NONE,
            Some(list) => core::mem::replace(&mut self.lists[list].last, number),
        };
        let flow = &mut self.chains.flows[number as usize];
        (flow.set, flow.before, flow.after) = (set, last, NONE);
        match (last, set.list()) {
            (NONE, Some(list)) => self.lists[list].first = number,
            (NONE, None) => {}
            (last, _) => self.chains.flows[last as usize].after = number,
        }
    }

    /// Drops the oldest packets of the queues with the largest number of bytes until the limit is
    /// kept.
    fn shed(&mut self, now: Instant) {
        while self.config.limit.is_exceeded(self.chains.len(), self.chains.bytes()) {
            // Linear in the queues, as an overflow is rare: COBALT drops long before.
            let flows = self.chains.flows.iter().enumerate();
            let longest = flows.max_by_key(|(number, flow)| (flow.chain.bytes, Reverse(*number)));
            let Some((number, _)) = longest else { return };
            let Some((item, _)) = self.chains.take(number as u32) else { return };
            self.chains.flows[number].cobalt.overflowed(now, &self.times);
            self.dropped.push_back((item, DropCause::QueueFull));
        }
    }

    /// The next packet by the order of service, without regard to the shaper.
    fn next(&mut self, now: Instant) -> Option<T> {
        let mut may_decay = true;
        while self.chains.len() > 0 {
            // One decaying flow for each packet: their AQM comes to rest beside the others.
            let decaying = self.lists[DECAYING].first;
            let order = [self.lists[SPARSE].first, self.lists[BULK].first, decaying];
            let number = match core::mem::take(&mut may_decay) && decaying != NONE {
                true => decaying,
                false => order.into_iter().find(|first| *first != NONE)?,
            };
            let flow = self.flow(number);
            if flow.deficit <= 0 {
                let set = match flow.set {
                    Set::Sparse if flow.chain.packets > 0 => Set::Bulk,
                    Set::Sparse => Set::SparseWait,
                    set => set,
                };
                self.move_to(number, set);
                // Random rounding, lest a flow of many lose the same fraction in each turn.
                let parts = (self.quantum << 16) / self.host_load(number);
                let rounding = (self.random.next_u64() >> 48) as i64;
                self.chains.flows[number as usize].deficit += (parts + rounding) >> 16;
                continue;
            }
            if let Some(item) = self.serve(now, number) {
                return Some(item);
            }
            let (cobalt, times) = (&mut self.chains.flows[number as usize].cobalt, &self.times);
            cobalt.emptied(now, times);
            let set = if cobalt.is_at_rest(now) { Set::None } else { Set::Decaying };
            self.move_to(number, set);
        }
        None
    }

    /// The next packet of a flow that COBALT does not drop; it never drops the last one.
    fn serve(&mut self, now: Instant, number: u32) -> Option<T> {
        loop {
            let (mut item, at) = self.chains.take(number)?;
            let Self { chains, times, random, .. } = self;
            let flow = &mut chains.flows[number as usize];
            let mark = || item.mark_ce();
            let drops = flow.cobalt.drops(now, now.since(at), times, random, mark);
            if !drops || flow.chain.packets == 0 {
                let bytes = self.config.on_link(item.bytes());
                flow.deficit -= i64::from(bytes);
                if let Some(rate) = self.config.rate {
                    self.next_at += rate.time_for(u64::from(bytes));
                }
                return Some(item);
            }
            self.dropped.push_back((item, DropCause::Aqm));
        }
    }
}

impl<T: Item + Debug + Send> Discipline<T> for Cake<T> {
    fn push(&mut self, now: Instant, item: T) {
        if self.chains.len() == 0 {
            // Time in which nothing waited is no credit: there are no bursts.
            self.next_at = self.next_at.max(now);
        }
        let number = self.classify(&item);
        self.chains.append(now, number, item);
        match self.flow(number).set {
            Set::None | Set::Decaying => {
                self.move_to(number, Set::Sparse);
                self.chains.flows[number as usize].deficit = self.quantum / self.host_load(number);
            }
            Set::SparseWait => {
                // Its place among the bulk flows remains.
                self.chains.flows[number as usize].set = Set::Bulk;
                self.count_in(number);
            }
            Set::Sparse | Set::Bulk => {}
        }
        self.shed(now);
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        let is_early = self.config.rate.is_some() && self.next_at > now;
        if is_early { None } else { self.next(now) }
    }

    /// Takes packets ahead of the shaper, which pays for them later: a MAC that aggregates takes
    /// a frame at a time.
    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        let number = self.chains.first_to(receiver)?;
        let item = self.serve(now, number);
        let flow = self.flow(number);
        if flow.deficit <= 0 && flow.chain.packets > 0 {
            self.chains.put_last(number);
        }
        item
    }

    fn withdraw(&mut self, _: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        self.chains.withdraw(receiver, goes)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.chains.peek_to(receiver)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front()
    }

    fn len(&self) -> u32 {
        self.chains.len()
    }

    fn bytes(&self) -> Bytes {
        self.chains.bytes()
    }

    fn deadline(&self) -> Option<Instant> {
        (self.config.rate.is_some() && self.chains.len() > 0).then_some(self.next_at)
    }
}
