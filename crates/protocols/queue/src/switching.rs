//! Weights by the strength of connection for hosts that are sent datagrams, and the same weight as
//! everybody for hosts that are sent TCP.
//!
//! Aida, Tobe and Tokuda 2003 find (section 5.3) that TCP does as well behind a FIFO, since its
//! congestion control gives way on a bad channel by itself, and leave choosing by traffic to later
//! work (section 6). The choice here is Fairwave's: for each host the bytes of TCP and of all
//! arrivals are counted over a window. When it has ended, a host of which at least
//! `tcp_from_percent` was TCP counts as a TCP host, one of which at most `tcp_until_percent` was
//! does not, and between the two it stays as it was. The first packet of a host decides its initial
//! kind.

use crate::{Discipline, Goes, HostConfig, Item, Service, SocpsConfig, Weight};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Duration, Instant};

/// Parameters of the switch, and the scheduler below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchingConfig {
    /// The scheduler that shares by the weights.
    pub over: SocpsConfig,
    /// Over which time arrivals are counted.
    pub window: Duration,
    /// Share of TCP in a window's bytes from which on a host is a TCP host.
    pub tcp_from_percent: u32,
    /// Share up to which it is none.
    pub tcp_until_percent: u32,
}

impl SwitchingConfig {
    /// The same with other settings for hosts.
    pub const fn with_hosts(self, hosts: HostConfig) -> Self {
        Self { over: self.over.with_hosts(hosts), ..self }
    }
}

/// Counts of a host.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Time at which the window began; `None` before the first packet.
    since: Option<Instant>,
    tcp_bytes: u64,
    bytes: u64,
    is_tcp: bool,
    /// Its weight unless it is a TCP host.
    reported: Weight,
}

const NEW: Seen =
    Seen { since: None, tcp_bytes: 0, bytes: 0, is_tcp: false, reported: Weight::ONE };

impl Seen {
    const fn weight(&self) -> Weight {
        if self.is_tcp { Weight::ONE } else { self.reported }
    }

    /// Counts an arrival, and judges the window before it if that has ended.
    fn count(&mut self, config: &SwitchingConfig, now: Instant, bytes: u32, is_tcp: bool) {
        match self.since {
            None => (self.since, self.is_tcp) = (Some(now), is_tcp),
            Some(since) if now.since(since) >= config.window => {
                let (tcp, all) = (100 * self.tcp_bytes, self.bytes);
                if tcp >= u64::from(config.tcp_from_percent) * all {
                    self.is_tcp = true;
                } else if tcp <= u64::from(config.tcp_until_percent) * all {
                    self.is_tcp = false;
                }
                (self.since, self.tcp_bytes, self.bytes) = (Some(now), 0, 0);
            }
            Some(_) => {}
        }
        self.bytes += u64::from(bytes);
        self.tcp_bytes += if is_tcp { u64::from(bytes) } else { 0 };
    }
}

/// A scheduler whose hosts lose their weights while they are sent TCP.
#[derive(Debug)]
pub(crate) struct Switching<D> {
    config: SwitchingConfig,
    scheduler: D,
    hosts: Vec<Seen>,
}

impl<D> Switching<D> {
    pub(crate) const fn new(config: SwitchingConfig, scheduler: D) -> Self {
        Self { config, scheduler, hosts: Vec::new() }
    }

    fn host(&mut self, receiver: u32) -> &mut Seen {
        if receiver as usize >= self.hosts.len() {
            self.hosts.resize(receiver as usize + 1, NEW);
        }
        &mut self.hosts[receiver as usize]
    }

    /// Reports to the scheduler if an arrival changes its host's weight.
    fn see<T: Item>(&mut self, now: Instant, item: &T)
    where
        D: Discipline<T>,
    {
        let (receiver, config) = (item.receiver(), self.config);
        let seen = self.host(receiver);
        let was = seen.weight();
        seen.count(&config, now, item.bytes(), item.tcp().is_some());
        let is = seen.weight();
        if is != was {
            self.scheduler.set_weight(now, receiver, is);
        }
    }
}

impl<T: Item, D: Discipline<T>> Discipline<T> for Switching<D> {
    fn push(&mut self, now: Instant, item: T) {
        self.see(now, &item);
        self.scheduler.push(now, item);
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        self.scheduler.pop(now)
    }

    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        self.scheduler.pop_to(now, receiver)
    }

    fn withdraw(&mut self, now: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        self.scheduler.withdraw(now, receiver, goes)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.scheduler.peek_to(receiver)
    }

    fn pass(&mut self, now: Instant, item: T) -> Option<T> {
        self.see(now, &item);
        self.scheduler.pass(now, item)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.scheduler.dropped()
    }

    fn len(&self) -> u32 {
        self.scheduler.len()
    }

    fn bytes(&self) -> Bytes {
        self.scheduler.bytes()
    }

    fn set_weight(&mut self, now: Instant, receiver: u32, weight: Weight) {
        let seen = self.host(receiver);
        seen.reported = weight;
        let weight = seen.weight();
        self.scheduler.set_weight(now, receiver, weight);
    }

    fn set_service(&mut self, now: Instant, receiver: u32, service: &Service) {
        self.scheduler.set_service(now, receiver, service);
    }

    fn deadline(&self) -> Option<Instant> {
        self.scheduler.deadline()
    }
}
