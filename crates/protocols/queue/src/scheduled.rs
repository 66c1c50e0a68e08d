//! Hosts' queues and the order in which they are served.

use crate::hosts::{Classes, HostConfig, Hosts, Shed};
use crate::weight::Weight;
use crate::{Discipline, Goes, Item, Service};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Instant};

/// Order of service: a scheduling algorithm over packets that come and go.
///
/// It knows nothing of hosts without weight, but of their gaining and losing it.
pub(crate) trait Order: Debug + Send {
    /// A packet of `bytes` joined the end of a host's queue.
    fn joined<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32);

    /// The host whose oldest packet is to be sent next.
    fn next<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>) -> Option<u32>;

    /// The oldest packet of a host, of `bytes`, was sent, in its turn or out of it.
    fn taken<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32);

    /// The newest packet of a host was dropped.
    fn shed<T: Item>(&mut self, hosts: &mut Hosts<T>, shed: Shed);

    /// A packet of a host was removed unsent. Orders for which its place in the queue matters have
    /// their own version.
    fn withdrawn<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, gone: Shed) {
        let _ = now;
        self.shed(hosts, gone);
    }

    /// A receiver, of one queue or more, weighed `old` until now, which it no longer does.
    fn weighed<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, old: Weight);

    /// An agreement with a receiver; its weight is set separately.
    fn agreed<T: Item>(&mut self, now: Instant, hosts: &Hosts<T>, host: u32, service: &Service) {
        let _ = (now, hosts, host, service);
    }

    /// Queues of the hosts; the numbers of hosts are those of queues then.
    const CLASSES: Classes = Classes::One;

    /// The link is free, and nothing waits that may be sent.
    fn idle(&mut self) {}

    /// Time at which a packet may be sent though none may now.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The link to a host became good or bad.
    fn link<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, is_good: bool) {
        let _ = (now, hosts, host, is_good);
    }
}

/// A queue for each host, served in an order.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled<T, O> {
    hosts: Hosts<T>,
    order: O,
    factors: Vec<Factors>,
}

/// Parts of a receiver's weight.
#[derive(Clone, Copy, Debug)]
struct Factors {
    reported: Weight,
    agreed: Weight,
}

const ONES: Factors = Factors { reported: Weight::ONE, agreed: Weight::ONE };

impl<T: Item, O: Order> Scheduled<T, O> {
    pub(crate) const fn new(config: HostConfig, order: O) -> Self {
        Self { hosts: Hosts::new(config, O::CLASSES), order, factors: Vec::new() }
    }

    fn join(&mut self, now: Instant, item: T) {
        let bytes = item.bytes();
        let host = self.hosts.push(item);
        if !self.hosts.weight(host).is_zero() {
            self.order.joined(now, &mut self.hosts, host, bytes);
        }
    }

    fn factors(&mut self, receiver: u32) -> &mut Factors {
        if receiver as usize >= self.factors.len() {
            self.factors.resize(receiver as usize + 1, ONES);
        }
        &mut self.factors[receiver as usize]
    }

    /// Weighs a receiver by its factors.
    fn weigh(&mut self, now: Instant, receiver: u32) {
        let Factors { reported, agreed } = *self.factors(receiver);
        let (old, weight) = (self.hosts.receiver_weight(receiver), reported.times(agreed));
        if old != weight {
            self.hosts.set_weight(receiver, weight);
            self.order.weighed(now, &mut self.hosts, receiver, old);
        }
    }

    fn shed(&mut self) {
        while let Some(shed) = self.hosts.shed() {
            if !self.hosts.weight(shed.host).is_zero() {
                self.order.shed(&mut self.hosts, shed);
            }
        }
    }

    fn take(&mut self, now: Instant, host: u32) -> Option<T> {
        let item = self.hosts.take(host)?;
        if !self.hosts.weight(host).is_zero() {
            self.order.taken(now, &mut self.hosts, host, item.bytes());
        }
        Some(item)
    }
}

impl<T: Item + Debug + Send, O: Order> Discipline<T> for Scheduled<T, O> {
    fn push(&mut self, now: Instant, item: T) {
        if let Some(item) = self.hosts.admit(item) {
            self.join(now, item);
            self.shed();
        }
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        match self.order.next(now, &mut self.hosts) {
            Some(host) => self.take(now, host),
            None => {
                self.order.idle();
                self.hosts.take_parked()
            }
        }
    }

    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        let (host, _) = self.hosts.first_to(receiver)?;
        self.take(now, host)
    }

    fn withdraw(&mut self, now: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        let (item, gone) = self.hosts.withdraw(receiver, goes)?;
        if !self.hosts.weight(gone.host).is_zero() {
            self.order.withdrawn(now, &mut self.hosts, gone);
        }
        Some(item)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.hosts.first_to(receiver).map(|(_, bytes)| bytes)
    }

    fn pass(&mut self, now: Instant, item: T) -> Option<T> {
        self.order.idle();
        self.join(now, item);
        let item = self.pop(now);
        self.shed();
        item
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.hosts.dropped()
    }

    fn len(&self) -> u32 {
        self.hosts.len()
    }

    fn bytes(&self) -> Bytes {
        self.hosts.bytes()
    }

    fn set_weight(&mut self, now: Instant, receiver: u32, weight: Weight) {
        self.factors(receiver).reported = weight;
        self.weigh(now, receiver);
    }

    fn set_service(&mut self, now: Instant, receiver: u32, service: &Service) {
        self.factors(receiver).agreed = service.weight;
        self.weigh(now, receiver);
        self.order.agreed(now, &self.hosts, receiver, service);
    }

    fn deadline(&self) -> Option<Instant> {
        self.order.deadline()
    }

    fn set_link(&mut self, now: Instant, receiver: u32, is_good: bool) {
        self.hosts.know(receiver);
        self.order.link(now, &mut self.hosts, receiver, is_good);
    }
}
