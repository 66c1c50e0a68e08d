//! A packet queue that counts its packets.

use crate::packet::{LINK, Packet, Queued};
use fairwave_dot11::AccessCategory;
use fairwave_queue::{Discipline, Queue, Service, Spec, Weight};
use fairwave_trace::{DropCause, QueueSample};
use fairwave_units::{Duration, Instant, Seed, Stream};

/// A queue with counters and a time-weighted mean length.
#[derive(Debug)]
pub(crate) struct Metered {
    /// One, or one for each access category, from the lowest priority.
    queues: Box<[Queue<Queued>]>,
    /// Packets in all of them.
    waiting: u32,
    /// Queues that may hold dropped packets: a bit for each.
    touched: u8,
    looks_beside: bool,
    follows_weights: bool,
    /// Receivers whose link is bad.
    bad_links: Vec<u32>,
    enqueued: u64,
    drops: [u64; DropCause::ALL.len()],
    peak: u32,
    /// Packets times nanoseconds since `since`.
    area: u128,
    last_change: Instant,
    since: Instant,
    /// Source of the queues' own random streams.
    random: Stream,
}

/// The stream of one more queue.
fn stream(random: &mut Stream) -> Stream {
    Seed(random.next_u64()).stream("queue")
}

impl Metered {
    pub(crate) fn new(spec: &Spec, random: Stream) -> Self {
        Self::with_categories(spec, 1, random)
    }

    /// Makes one queue of this kind for each of this number of access categories.
    pub(crate) fn with_categories(spec: &Spec, categories: usize, mut random: Stream) -> Self {
        Self {
            queues: (0..categories).map(|_| spec.queue(stream(&mut random))).collect(),
            waiting: 0,
            touched: 0,
            looks_beside: spec.looks_beside(),
            follows_weights: spec.follows_weights(),
            bad_links: Vec::new(),
            enqueued: 0,
            drops: [0; DropCause::ALL.len()],
            peak: 0,
            area: 0,
            last_change: Instant::ZERO,
            since: Instant::ZERO,
            random,
        }
    }

    /// Replaces these queues by others of another kind, to which the waiting packets for the nodes
    /// below `receivers` move, in the order in which they would have been sent. Counters continue.
    /// Returns the drops of the old queues meanwhile, counted.
    pub(crate) fn replace(
        &mut self,
        spec: &Spec,
        receivers: u32,
        now: Instant,
    ) -> Vec<(Packet, DropCause)> {
        self.account(now);
        let mut gone = Vec::new();
        for queue in &mut self.queues {
            let mut old = core::mem::replace(queue, spec.queue(stream(&mut self.random)));
            // Monitors report changes alone.
            self.bad_links.iter().for_each(|receiver| queue.set_link(now, *receiver, false));
            let mut hand_over = |queued| queue.push(now, queued);
            core::iter::from_fn(|| old.pop(now)).for_each(&mut hand_over);
            // A scheduler holds packets back for some receivers.
            for receiver in 0..receivers {
                core::iter::from_fn(|| old.withdraw(now, receiver, &|_| true))
                    .for_each(&mut hand_over);
            }
            debug_assert!(old.is_empty(), "{} packets have no receiver", old.len());
            gone.extend(core::iter::from_fn(|| old.dropped()));
        }
        self.recount();
        self.looks_beside = spec.looks_beside();
        self.follows_weights = spec.follows_weights();
        gone.iter().for_each(|(_, cause)| self.count_drop(*cause));
        gone.into_iter().map(|(queued, cause)| (queued.packet, cause)).collect()
    }

    fn account(&mut self, now: Instant) {
        debug_assert_eq!(self.waiting, self.queues.iter().map(Discipline::len).sum::<u32>());
        let (len, span) = (self.waiting, now.since(self.last_change).as_nanos());
        // Most packets on a wire find nothing waiting.
        if len > 0 {
            self.area += u128::from(len) * u128::from(span);
        }
        self.last_change = now;
    }

    /// Returns the queue of a category.
    pub(crate) fn class(&self, category: AccessCategory) -> usize {
        if self.queues.len() == 1 { 0 } else { category as usize }
    }

    /// Updates the count after an operation on one queue, which had this number of packets.
    fn acted(&mut self, class: usize, before: u32) {
        self.touched |= 1 << class;
        self.waiting = self.waiting - before + self.queues[class].len();
    }

    /// Updates the count after an operation on any of the queues.
    fn recount(&mut self) {
        self.touched = u8::MAX >> (u8::BITS as usize - self.queues.len());
        self.waiting = self.queues.iter().map(Discipline::len).sum();
    }

    /// Queues a packet, unless there is no room for it. Then, as after every other call that may
    /// drop, [`Metered::dropped`] gives the drops.
    pub(crate) fn push(&mut self, item: Queued, now: Instant) {
        self.account(now);
        let class = self.class(item.category);
        let (all, before) = (self.waiting, self.queues[class].len());
        self.queues[class].push(now, item);
        self.acted(class, before);
        self.enqueued += u64::from(self.waiting > all);
        self.peak = self.peak.max(self.waiting);
    }

    /// A packet finds the queue of its category empty and the sender free: returns the packet to
    /// send at once.
    pub(crate) fn pass(&mut self, item: Queued, now: Instant) -> Option<Queued> {
        self.account(now);
        let class = self.class(item.category);
        let (all, before) = (self.waiting, self.queues[class].len());
        let next = self.queues[class].pass(now, item);
        self.acted(class, before);
        // A discipline may drop it instead.
        self.enqueued += u64::from(next.is_some() || self.waiting > all);
        next
    }

    /// The next packet of a category.
    pub(crate) fn pop(&mut self, category: AccessCategory, now: Instant) -> Option<Queued> {
        self.account(now);
        let class = self.class(category);
        let before = self.queues[class].len();
        let next = self.queues[class].pop(now);
        self.acted(class, before);
        next
    }

    /// The next packet of a category for the radio of the node `receiver`.
    pub(crate) fn pop_to(
        &mut self,
        category: AccessCategory,
        receiver: u32,
        now: Instant,
    ) -> Option<Queued> {
        self.account(now);
        let class = self.class(category);
        let before = self.queues[class].len();
        let next = self.queues[class].pop_to(now, receiver);
        self.acted(class, before);
        next
    }

    /// A packet that the same node sends out by another interface.
    pub(crate) fn beside(&mut self, packet: &mut Packet, now: Instant) {
        if self.looks_beside {
            for queue in &mut self.queues {
                let mut seen = Queued { packet: *packet, receiver: 0, category: LINK };
                queue.beside(now, &mut seen);
                *packet = seen.packet;
            }
            self.recount();
        }
    }

    /// Whether [`Self::set_weight`] does anything, by the discipline that is there now.
    pub(crate) fn follows_weights(&self) -> bool {
        self.follows_weights
    }

    /// Sets the weight of a receiver, in one of the queues or in all.
    pub(crate) fn set_weight(
        &mut self,
        receiver: u32,
        class: Option<usize>,
        weight: Weight,
        now: Instant,
    ) {
        for (_, queue) in
            self.queues.iter_mut().enumerate().filter(|(i, _)| class.is_none_or(|c| c == *i))
        {
            queue.set_weight(now, receiver, weight);
        }
        self.recount();
    }

    /// Sets the agreement with a receiver, in all of the queues.
    pub(crate) fn set_service(&mut self, receiver: u32, service: &Service) {
        self.queues
            .iter_mut()
            .for_each(|queue| queue.set_service(Instant::ZERO, receiver, service));
        self.recount();
    }

    /// Time at which one of the queues may give something though it gave nothing.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.queues.iter().map(Queue::deadline);
        deadlines.fold(None, Instant::first_of)
    }

    /// Whether the link to a receiver is good from now on.
    pub(crate) fn set_link(&mut self, receiver: u32, is_good: bool, now: Instant) {
        self.bad_links.retain(|bad| *bad != receiver);
        if !is_good {
            self.bad_links.push(receiver);
        }
        self.queues.iter_mut().for_each(|queue| queue.set_link(now, receiver, is_good));
        self.recount();
    }

    /// A receiver used the medium for so long.
    pub(crate) fn charge(&mut self, receiver: u32, airtime: Duration, now: Instant) {
        self.queues.iter_mut().for_each(|queue| queue.charge(now, receiver, airtime));
        self.recount();
    }

    /// Removes a packet to a receiver that `goes` selects, of the lowest category that has one, in
    /// the order of [`Discipline::withdraw`]. It is not sent from here, and the other packets stay
    /// as they are.
    pub(crate) fn withdraw(
        &mut self,
        now: Instant,
        receiver: u32,
        goes: &dyn Fn(&Packet) -> bool,
    ) -> Option<Queued> {
        self.account(now);
        let goes = |queued: &Queued| goes(&queued.packet);
        let mut queues = self.queues.iter_mut();
        let taken = queues.find_map(|queue| queue.withdraw(now, receiver, &goes));
        self.recount();
        taken
    }

    /// The next packet that a queue dropped, counted.
    #[inline]
    pub(crate) fn dropped(&mut self) -> Option<(Packet, DropCause)> {
        while self.touched != 0 {
            let class = self.touched.trailing_zeros() as usize;
            if let Some((queued, cause)) = self.queues[class].dropped() {
                self.count_drop(cause);
                return Some((queued.packet, cause));
            }
            self.touched &= self.touched - 1;
        }
        None
    }

    pub(crate) fn is_empty(&self, category: AccessCategory) -> bool {
        self.queues[self.class(category)].is_empty()
    }

    /// Packets in one of the queues; none where there is no such queue.
    pub(crate) fn len_of(&self, class: usize) -> u32 {
        self.queues.get(class).map_or(0, Discipline::len)
    }

    pub(crate) fn len(&self) -> u32 {
        self.waiting
    }

    /// A drop here or on the link or radio behind.
    pub(crate) fn count_drop(&mut self, cause: DropCause) {
        self.drops[cause as usize] += 1;
    }

    /// Starts peak and mean anew.
    pub(crate) fn restart_statistics(&mut self, now: Instant) {
        self.account(now);
        self.area = 0;
        self.since = now;
        self.peak = self.waiting;
    }

    pub(crate) fn peak(&self) -> u32 {
        self.peak
    }

    /// Mean number of packets waiting since the statistics were started.
    pub(crate) fn mean(&mut self, now: Instant) -> f64 {
        self.account(now);
        let span = now.since(self.since);
        if span == Duration::ZERO { 0.0 } else { self.area as f64 / span.as_nanos() as f64 }
    }

    pub(crate) fn sample(&self) -> QueueSample {
        QueueSample {
            packets: self.len(),
            bytes: self.queues.iter().map(|queue| queue.bytes().0).sum(),
            enqueued: self.enqueued,
            drops: self.drops,
        }
    }
}
