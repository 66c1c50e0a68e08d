//! Schedulers from outside.

use crate::hosts::{HostConfig, Hosts, Shed};
use crate::scheduled::Order;
use crate::{Item, Weight};
use core::fmt::Debug;
use fairwave_machine::Named;
use fairwave_units::Instant;

/// Makes an empty scheduler for a queue.
pub type MakeScheduler = dyn Fn() -> Box<dyn Scheduler> + Send + Sync;

/// Parameters of a queue with a scheduler from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnConfig {
    /// Limits, and the treatment of hosts without weight.
    pub hosts: HostConfig,
    /// The scheduler.
    pub scheduler: Named<MakeScheduler>,
}

/// The packets of one host after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The host's number: numbers begin with zero and have no large gaps.
    pub host: u32,
    /// Packets that wait for it.
    pub packets: u32,
    /// Bytes of the oldest of them; zero if there is none.
    pub head_bytes: u32,
    /// The host's weight.
    pub weight: Weight,
}

/// A scheduling algorithm: decides which host's oldest packet is sent next. The queue holds the
/// packets, and drops some where it is full.
///
/// Every change of a host's packets is reported, so that a scheduler can keep the backlogs of all
/// hosts. A host without weight is not to be served: its packets are not reported until
/// [`Scheduler::weighed`] says that it has weight again.
pub trait Scheduler: Debug + Send {
    /// A packet of `bytes` joined the end of a host's queue.
    fn joined(&mut self, now: Instant, backlog: Backlog, bytes: u32);

    /// The host whose oldest packet is to be sent next. `None` leaves the link idle, until a packet
    /// arrives or [`Scheduler::deadline`] comes.
    fn next(&mut self, now: Instant) -> Option<u32>;

    /// The oldest packet of a host, of `bytes`, was sent: the one that [`Scheduler::next`] chose,
    /// or one that joined another in a frame to the same host.
    fn taken(&mut self, now: Instant, backlog: Backlog, bytes: u32);

    /// A packet of a host, of `bytes`, left unsent: the newest was dropped, as all hosts together
    /// have too many, or the oldest went elsewhere, as the host leaves the access point.
    fn shed(&mut self, backlog: Backlog, bytes: u32);

    /// A host's weight was `old` before.
    fn weighed(&mut self, now: Instant, backlog: Backlog, old: Weight);

    /// The link to a host became good or bad, by the monitor of the access point.
    fn link(&mut self, now: Instant, host: u32, is_good: bool) {
        let _ = (now, host, is_good);
    }

    /// The link is free, and nothing waits that may be sent.
    fn idle(&mut self) {}

    /// Time at which a packet may be sent though none may now.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles a fault of its own: [`Scheduler::next`] chose a host without packets or weight.
    ///
    /// # Panics
    /// By default.
    fn chose_wrongly(&mut self, host: u32) {
        panic!("{self:?} chose host {host}, which has no packet to send");
    }
}

/// A scheduler from outside as an order of service.
#[derive(Debug)]
pub(crate) struct Own(Box<dyn Scheduler>);

impl Own {
    pub(crate) fn new(make: &Named<MakeScheduler>) -> Self {
        Self(make.make()())
    }
}

fn backlog<T: Item>(hosts: &Hosts<T>, host: u32) -> Backlog {
    let head_bytes = hosts.head(host).map_or(0, |(bytes, _)| bytes);
    Backlog { host, packets: hosts.packets_of(host), head_bytes, weight: hosts.weight(host) }
}

impl Order for Own {
    fn joined<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32) {
        self.0.joined(now, backlog(hosts, host), bytes);
    }

    fn next<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>) -> Option<u32> {
        let host = self.0.next(now)?;
        if hosts.packets_of(host) > 0 && !hosts.weight(host).is_zero() {
            return Some(host);
        }
        self.0.chose_wrongly(host);
        None
    }

    fn taken<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32) {
        self.0.taken(now, backlog(hosts, host), bytes);
    }

    fn shed<T: Item>(&mut self, hosts: &mut Hosts<T>, shed: Shed) {
        self.0.shed(backlog(hosts, shed.host), shed.bytes);
    }

    fn weighed<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, old: Weight) {
        self.0.weighed(now, backlog(hosts, host), old);
    }

    fn idle(&mut self) {
        self.0.idle();
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn link<T: Item>(&mut self, now: Instant, _: &mut Hosts<T>, host: u32, is_good: bool) {
        self.0.link(now, host, is_good);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduled::Scheduled;
    use crate::testing::Thing;
    use crate::{Discipline, Limit};

    /// Chooses one host, whatever waits.
    #[derive(Debug)]
    struct Always(u32);

    impl Scheduler for Always {
        fn joined(&mut self, _: Instant, backlog: Backlog, bytes: u32) {
            assert_eq!((backlog.packets, backlog.head_bytes, bytes), (1, 100, 100));
        }

        fn next(&mut self, _: Instant) -> Option<u32> {
            Some(self.0)
        }

        fn taken(&mut self, _: Instant, backlog: Backlog, _: u32) {
            assert_eq!((backlog.packets, backlog.head_bytes), (0, 0));
        }

        fn shed(&mut self, _: Backlog, _: u32) {}

        fn weighed(&mut self, _: Instant, _: Backlog, _: Weight) {}
    }

    fn queue(host: u32) -> Scheduled<Thing, Own> {
        let mut queue =
            Scheduled::new(HostConfig::of(Limit::Packets(10)), Own(Box::new(Always(host))));
        queue.push(Instant::ZERO, Thing { bytes: 100, receiver: 3, ..Thing::default() });
        queue
    }

    #[test]
    fn the_chosen_host_is_served() {
        assert_eq!(queue(3).pop(Instant::ZERO).expect("it waits").receiver, 3);
    }

    #[test]
    #[should_panic(expected = "Always(7) chose host 7, which has no packet to send")]
    fn a_host_without_packets_is_a_fault() {
        queue(7).pop(Instant::ZERO);
    }
}
