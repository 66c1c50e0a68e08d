//! Queues of flows, each with CoDel, served by deficit round robin (RFC 8290).
//!
//! Flows are grouped: a group has its own lists of new and old flows. FQ-CoDel has one group;
//! airtime fairness has one for each station, as Linux's mac80211 has.

use crate::chain::{self, Packet};
use crate::codel::{Backlog, Codel, CodelConfig};
use crate::limit::Limit;
use crate::slab::{Ends, NONE, Slab};
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
    first: u32,
    last: u32,
    packets: u32,
    bytes: u64,
    deficit: i64,
    codel: Codel,
    receiver: u32,
    listed: Listed,
    /// The next in the list of its group.
    after: u32,
    /// The neighbours among the receiver's flows that hold packets.
    before_to: u32,
    after_to: u32,
}

impl Flow {
    const IDLE: Self = Self {
        first: NONE,
        last: NONE,
        packets: 0,
        bytes: 0,
        deficit: 0,
        codel: Codel::NEW,
        receiver: 0,
        listed: Listed::No,
        after: NONE,
        before_to: NONE,
        after_to: NONE,
    };
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
        flows.push(Flow { receiver, ..Flow::IDLE });
    }
    *place
}

/// The packets of all flows.
#[derive(Clone, Debug)]
pub(crate) struct FairQueues<T> {
    config: FairConfig,
    /// Whether each receiver's flows are a group; otherwise all are one.
    by_receiver: bool,
    packets: Slab<Packet<T>>,
    /// The flows that have had a packet, of buckets and beyond.
    flows: Vec<Flow>,
    /// The flow of each bucket; empty until the first packet comes. A queue that nothing passes
    /// takes no memory, however many buckets it has.
    buckets: Vec<u32>,
    /// Each receiver's flow beyond the buckets, for when its buckets hold others' packets.
    spare: Vec<u32>,
    groups: Vec<Group>,
    /// Each receiver's flows that hold packets.
    busy: Vec<Ends>,
    len: u32,
    bytes: u64,
    dropped: VecDeque<(T, DropCause)>,
}

impl<T: Item> FairQueues<T> {
    pub(crate) fn new(config: FairConfig, by_receiver: bool) -> Self {
        Self {
            config,
            by_receiver,
            packets: Slab::new(),
            flows: Vec::new(),
            buckets: Vec::new(),
            spare: Vec::new(),
            groups: vec![Group { new: Ends::EMPTY, old: Ends::EMPTY }],
            busy: Vec::new(),
            len: 0,
            bytes: 0,
            dropped: VecDeque::new(),
        }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    pub(crate) const fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    pub(crate) fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front()
    }

    /// Makes room in the tables for a receiver that is not in them.
    #[cold]
    fn meet(&mut self, receiver: usize) {
        self.busy.resize(receiver + 1, Ends::EMPTY);
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
        if receiver as usize >= self.busy.len() {
            self.meet(receiver as usize);
        }
        let bucket = (item.flow().hash() % self.buckets.len() as u64) as usize;
        let number = enlisted(&mut self.buckets[bucket], &mut self.flows, receiver);
        let flow = &mut self.flows[number as usize];
        if flow.listed == Listed::No {
            flow.receiver = receiver;
        }
        if flow.receiver == receiver {
            return number;
        }
        enlisted(&mut self.spare[receiver as usize], &mut self.flows, receiver)
    }

    /// Adds an item, then drops from the longest queue if that was one too many.
    pub(crate) fn push(&mut self, now: Instant, item: T) {
        let number = self.classify(&item);
        let bytes = item.bytes();
        let place = self.packets.insert(Packet { item, bytes, at: now, after: NONE });
        let flow = &mut self.flows[number as usize];
        let before = core::mem::replace(&mut flow.last, place);
        flow.packets += 1;
        flow.bytes += u64::from(bytes);
        let (is_first, is_unlisted) = (before == NONE, flow.listed == Listed::No);
        debug_assert_eq!(is_first, flow.packets == 1, "{flow:?}");
        if is_unlisted {
            flow.deficit = i64::from(self.config.quantum);
        }
        match is_first {
            true => flow.first = place,
            false => self.packets.get_mut(before).after = place,
        }
        self.len += 1;
        self.bytes += u64::from(bytes);
        if is_first {
            self.join_busy(number);
        }
        if is_unlisted {
            self.list(number, Listed::New);
        }
        if self.config.limit.is_exceeded(self.len, self.bytes()) {
            self.drop_from_longest();
        }
    }

    /// Drops up to half of the queue with the largest number of bytes, from its head (RFC 8290
    /// section 4.1.1).
    fn drop_from_longest(&mut self) {
        // The search is linear in the flows that hold packets. One search therefore pays for up to
        // `DROP_BATCH` drops, since overload would otherwise cost a search for each packet.
        let mut longest = (0, NONE);
        for ends in &self.busy {
            let mut number = ends.first;
            while number != NONE {
                let flow = &self.flows[number as usize];
                if longest.1 == NONE || flow.bytes > longest.0 {
                    longest = (flow.bytes, number);
                }
                number = flow.after_to;
            }
        }
        let half = self.flows[longest.1 as usize].packets.div_ceil(2);
        for _ in 0..half.min(DROP_BATCH) {
            if let Some((item, _)) = self.take(longest.1) {
                self.dropped.push_back((item, DropCause::QueueFull));
            }
        }
    }

    /// Takes the oldest packet of a flow.
    fn take(&mut self, number: u32) -> Option<(T, Instant)> {
        let flow = &mut self.flows[number as usize];
        if flow.first == NONE {
            return None;
        }
        let Packet { item, bytes, at, after } = self.packets.remove(flow.first);
        flow.first = after;
        flow.packets -= 1;
        flow.bytes -= u64::from(bytes);
        self.len -= 1;
        self.bytes -= u64::from(bytes);
        debug_assert_eq!(flow.packets == 0, after == NONE, "{flow:?}");
        debug_assert!(flow.packets > 0 || flow.bytes == 0, "{flow:?}");
        debug_assert!(self.len > 0 || self.bytes == 0, "no packets of {} bytes", self.bytes);
        if after == NONE {
            flow.last = NONE;
            self.leave_busy(number);
        }
        Some((item, at))
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
            if self.flows[number as usize].deficit <= 0 {
                self.flows[number as usize].deficit += i64::from(self.config.quantum);
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
            let number = self.first_to(receiver)?;
            let Some(item) = self.serve(now, number) else { continue };
            let flow = &self.flows[number as usize];
            if flow.deficit <= 0 && flow.packets > 0 {
                self.leave_busy(number);
                self.join_busy(number);
            }
            return Some(item);
        }
    }

    /// Removes the oldest packet for a receiver that `goes` selects, without service.
    pub(crate) fn withdraw(&mut self, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        let busy = core::iter::successors(self.first_to(receiver), |&number| {
            Some(self.flows[number as usize].after_to).filter(|&next| next != NONE)
        });
        let flows = busy.map(|number| (number, self.flows[number as usize].first));
        let found = chain::oldest(&self.packets, flows, goes)?;
        if found.before == NONE {
            return self.take(found.flow).map(|(item, _)| item);
        }
        let flow = &mut self.flows[found.flow as usize];
        let Packet { item, bytes, .. } = chain::unlink(&mut self.packets, found, &mut flow.last);
        flow.packets -= 1;
        flow.bytes -= u64::from(bytes);
        self.len -= 1;
        self.bytes -= u64::from(bytes);
        Some(item)
    }

    pub(crate) fn peek_to(&self, receiver: u32) -> Option<u32> {
        let flow = &self.flows[self.first_to(receiver)? as usize];
        Some(self.packets.get(flow.first).bytes)
    }

    fn first_to(&self, receiver: u32) -> Option<u32> {
        self.busy.get(receiver as usize).map(|ends| ends.first).filter(|&first| first != NONE)
    }

    /// Returns the next packet of a flow that CoDel does not drop.
    fn serve(&mut self, now: Instant, number: u32) -> Option<T> {
        let mut codel = self.flows[number as usize].codel;
        let config = self.config.codel;
        let item = codel.dequeue(now, &config, &mut Watched { queues: self, number });
        let flow = &mut self.flows[number as usize];
        flow.codel = codel;
        if let Some(item) = &item {
            flow.deficit -= i64::from(item.bytes());
        }
        item
    }

    fn group_of(&self, number: u32) -> usize {
        if self.by_receiver { self.flows[number as usize].receiver as usize } else { 0 }
    }

    /// Appends a flow that is in no list.
    fn list(&mut self, number: u32, to: Listed) {
        let group = self.group_of(number);
        let flow = &mut self.flows[number as usize];
        (flow.listed, flow.after) = (to, NONE);
        let group = &mut self.groups[group];
        let ends = if to == Listed::New { &mut group.new } else { &mut group.old };
        match ends.last {
            NONE => ends.first = number,
            last => self.flows[last as usize].after = number,
        }
        ends.last = number;
    }

    fn unlist_first(&mut self, group: usize, from: Listed) {
        let group = &mut self.groups[group];
        let ends = if from == Listed::New { &mut group.new } else { &mut group.old };
        let flow = &mut self.flows[ends.first as usize];
        ends.first = flow.after;
        if ends.first == NONE {
            ends.last = NONE;
        }
        flow.listed = Listed::No;
    }

    fn join_busy(&mut self, number: u32) {
        let ends = &mut self.busy[self.flows[number as usize].receiver as usize];
        let before = ends.last;
        ends.last = number;
        match before {
            NONE => ends.first = number,
            before => self.flows[before as usize].after_to = number,
        }
        let flow = &mut self.flows[number as usize];
        (flow.before_to, flow.after_to) = (before, NONE);
    }

    fn leave_busy(&mut self, number: u32) {
        let Flow { receiver, before_to, after_to, .. } = self.flows[number as usize];
        let ends = &mut self.busy[receiver as usize];
        match before_to {
            NONE => ends.first = after_to,
            before => self.flows[before as usize].after_to = after_to,
        }
        match after_to {
            NONE => ends.last = before_to,
            after => self.flows[after as usize].before_to = before_to,
        }
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
        self.queues.take(self.number)
    }

    fn is_short(&self) -> bool {
        let flow = &self.queues.flows[self.number as usize];
        flow.bytes <= u64::from(self.queues.config.quantum)
    }

    fn signal(&mut self, mut item: T) -> Option<T> {
        if self.queues.config.codel.ecn && item.mark_ce() {
            return Some(item);
        }
        self.queues.dropped.push_back((item, DropCause::Aqm));
        None
    }
}
