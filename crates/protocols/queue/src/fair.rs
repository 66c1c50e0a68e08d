//! Queues of flows, each with CoDel, served by deficit round robin (RFC 8290).
//!
//! Flows are grouped: a group has its own lists of new and old flows. FQ-CoDel has one group;
//! airtime fairness has one for each station, as Linux's mac80211 has.

use crate::chain::{Chain, Chained, Chains};
use crate::codel::{Backlog, Codel, CodelConfig};
use crate::limit::Limit;
use crate::slab::{Ends, NONE};
use crate::{Goes, Item};
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Instant};
use std::collections::VecDeque;

/// Maximum number of packets dropped at once from the longest queue (RFC 8290 section 4.1.1).
const DROP_BATCH: u32 = 64;

/// Parameters of flow queueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairConfig {
    /// Bound of all queues together.
    pub limit: Limit,
    /// Queues that flows are spread over by their hash.
    pub buckets: u32,
    /// Bytes that a flow may send in its turn; also the size of a full packet for CoDel.
    pub quantum: u32,
    /// CoDel of each queue.
    pub codel: CodelConfig,
}

/// In which list of its group a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    No,
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    chain: Chain,
    deficit: i64,
    codel: Codel,
    listed: Listed,
    /// The next in the list of its group.
    after: u32,
}

impl Flow {
    /// A flow to `receiver` that has had no packet.
    const fn to(receiver: u32) -> Self {
        let (chain, listed) = (Chain::to(receiver), Listed::No);
        Self { chain, deficit: 0, codel: Codel::NEW, listed, after: NONE }
    }
}

impl Chained for Flow {
    fn chain(&self) -> &Chain {
        &self.chain
    }

    fn chain_mut(&mut self) -> &mut Chain {
        &mut self.chain
    }
}

#[derive(Clone, Copy, Debug)]
struct Group {
    new: Ends,
    old: Ends,
}

/// The flow that has its number in `place`, which is made if there is none yet.
fn enlisted(place: &mut u32, flows: &mut Vec<Flow>, receiver: u32) -> u32 {
    if *place == NONE {
        *place = flows.len() as u32;
        flows.push(Flow::to(receiver));
    }
    *place
}

/// The packets of all flows.
#[derive(Clone, Debug)]
pub(crate) struct FairQueues<T> {
    config: FairConfig,
    /// Whether each receiver's flows are a group; otherwise all are one.
    by_receiver: bool,
    /// The flows that have had a packet, of buckets and beyond.
    chains: Chains<T, Flow>,
    /// The flow of each bucket; empty until the first packet comes. A queue that nothing passes
    /// takes no memory, however many buckets it has.
    buckets: Vec<u32>,
    /// Each receiver's flow beyond the buckets, for when its buckets hold others' packets.
    spare: Vec<u32>,
    groups: Vec<Group>,
    dropped: VecDeque<(T, DropCause)>,
}

impl<T: Item> FairQueues<T> {
    pub(crate) fn new(config: FairConfig, by_receiver: bool) -> Self {
        Self {
            config,
            by_receiver,
            chains: Chains::new(),
            buckets: Vec::new(),
            spare: Vec::new(),
            groups: vec![Group { new: Ends::EMPTY, old: Ends::EMPTY }],
            dropped: VecDeque::new(),
        }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.chains.len()
    }

    pub(crate) const fn bytes(&self) -> Bytes {
        self.chains.bytes()
    }

    pub(crate) fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front()
    }

    /// Makes room in the tables for a receiver that is not in them.
    #[cold]
    fn meet(&mut self, receiver: u32) {
        self.chains.make_room(receiver);
        let receiver = receiver as usize;
        self.spare.resize(receiver + 1, NONE);
        if self.by_receiver {
            self.groups.resize(receiver + 1, Group { new: Ends::EMPTY, old: Ends::EMPTY });
        }
        // With the first packet come the buckets.
        self.buckets.resize(self.config.buckets.max(1) as usize, NONE);
    }

    /// The queue of the item's flow. A queue holds one receiver's packets only: where a bucket
    /// is another's, the receiver's spare queue takes the packet.
    fn classify(&mut self, item: &T) -> u32 {
        let receiver = item.receiver();
        if !self.chains.has_room(receiver) {
            self.meet(receiver);
        }
        let bucket = (item.flow().hash() % self.buckets.len() as u64) as usize;
        let flows = &mut self.chains.flows;
        let number = enlisted(&mut self.buckets[bucket], flows, receiver);
        let flow = &mut flows[number as usize];
        if flow.listed == Listed::No {
            flow.chain.receiver = receiver;
        }
        if flow.chain.receiver == receiver {
            return number;
        }
        enlisted(&mut self.spare[receiver as usize], flows, receiver)
    }

    /// Adds an item, then drops from the longest queue if that was one too many.
    pub(crate) fn push(&mut self, now: Instant, item: T) {
        let number = self.classify(&item);
        self.chains.append(now, number, item);
        let flow = &mut self.chains.flows[number as usize];
        if flow.listed == Listed::No {
            flow.deficit = i64::from(self.config.quantum);
            self.list(number, Listed::New);
        }
        if self.config.limit.is_exceeded(self.len(), self.bytes()) {
            self.drop_from_longest();
        }
    }

    /// Drops up to half of the queue with the largest number of bytes, from its head (RFC 8290
    /// section 4.1.1).
    fn drop_from_longest(&mut self) {
        // The search is linear in the flows that hold packets. One search therefore pays for up to
        // `DROP_BATCH` drops, since overload would otherwise cost a search for each packet.
        let mut longest = (0, NONE);
        for number in self.chains.busy() {
            let Chain { bytes, .. } = self.chains.flows[number as usize].chain;
            if longest.1 == NONE || bytes > longest.0 {
                longest = (bytes, number);
            }
        }
        let half = self.chains.flows[longest.1 as usize].chain.packets.div_ceil(2);
        for _ in 0..half.min(DROP_BATCH) {
            if let Some((item, _)) = self.chains.take(longest.1) {
                self.dropped.push_back((item, DropCause::QueueFull));
            }
        }
    }

    /// The group's next packet (RFC 8290 section 4.2).
    pub(crate) fn pop(&mut self, now: Instant, group: usize) -> Option<T> {
        loop {
            let Group { new, old } = *self.groups.get(group)?;
            let (number, from) = match (new.first, old.first) {
                (NONE, NONE) => return None,
                (NONE, first) => (first, Listed::Old),
                (first, _) => (first, Listed::New),
            };
            if self.chains.flows[number as usize].deficit <= 0 {
                self.chains.flows[number as usize].deficit += i64::from(self.config.quantum);
                self.unlist_first(group, from);
                self.list(number, Listed::Old);
                continue;
            }
            if let Some(item) = self.serve(now, number) {
                return Some(item);
            }
            self.unlist_first(group, from);
            // An emptied new flow waits once behind the old ones, lest it stay new for ever.
            if from == Listed::New && old.first != NONE {
                self.list(number, Listed::Old);
            }
        }
    }

    /// Returns the next packet for `receiver` alone. Its flows pay by their deficit, and so give
    /// back the service out of turn in later rounds.
    pub(crate) fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        loop {
            let number = self.chains.first_to(receiver)?;
            let Some(item) = self.serve(now, number) else { continue };
            let flow = &self.chains.flows[number as usize];
            if flow.deficit <= 0 && flow.chain.packets > 0 {
                self.chains.put_last(number);
            }
            return Some(item);
        }
    }

    /// Removes the oldest packet for a receiver that `goes` selects, without service.
    pub(crate) fn withdraw(&mut self, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        self.chains.withdraw(receiver, goes)
    }

    pub(crate) fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.chains.peek_to(receiver)
    }

    /// Returns the next packet of a flow that CoDel does not drop.
    fn serve(&mut self, now: Instant, number: u32) -> Option<T> {
        let mut codel = self.chains.flows[number as usize].codel;
        let config = self.config.codel;
        let item = codel.dequeue(now, &config, &mut Watched { queues: self, number });
        let flow = &mut self.chains.flows[number as usize];
        flow.codel = codel;
        if let Some(item) = &item {
            flow.deficit -= i64::from(item.bytes());
        }
        item
    }

    fn group_of(&self, number: u32) -> usize {
        if self.by_receiver {
            self.chains.flows[number as usize].chain.receiver as usize
        } else {
            0
        }
    }

    /// Appends a flow that is in no list.
    fn list(&mut self, number: u32, to: Listed) {
        let group = self.group_of(number);
        let flow = &mut self.chains.flows[number as usize];
        (flow.listed, flow.after) = (to, NONE);
        let group = &mut self.groups[group];
        let ends = if to == Listed::New { &mut group.new } else { &mut group.old };
        match ends.last {
            NONE => ends.first = number,
            last => self.chains.flows[last as usize].after = number,
        }
        ends.last = number;
    }

    fn unlist_first(&mut self, group: usize, from: Listed) {
        let group = &mut self.groups[group];
        let ends = if from == Listed::New { &mut group.new } else { &mut group.old };
        let flow = &mut self.chains.flows[ends.first as usize];
        ends.first = flow.after;
        if ends.first == NONE {
            ends.last = NONE;
        }
        flow.listed = Listed::No;
    }
}

/// One flow's queue under CoDel.
struct Watched<'q, T> {
    queues: &'q mut FairQueues<T>,
    number: u32,
}

impl<T: Item> Backlog for Watched<'_, T> {
    type Packet = T;

    fn take(&mut self) -> Option<(T, Instant)> {
        self.queues.chains.take(self.number)
    }

    fn is_short(&self) -> bool {
        let flow = &self.queues.chains.flows[self.number as usize];
        flow.chain.bytes <= u64::from(self.queues.config.quantum)
    }

    fn signal(&mut self, mut item: T) -> Option<T> {
        if self.queues.config.codel.ecn && item.mark_ce() {
            return Some(item);
        }
        self.queues.dropped.push_back((item, DropCause::Aqm));
        None
    }
}
