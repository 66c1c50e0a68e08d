//! Idealised wireless fair queueing (Lu, Nandagopal, Bharghavan 1997): WFQ, of which only hosts
//! with a good link are served.
//!
//! A host that is passed over keeps its tags, so that it comes first when its link is good again:
//! its lag. Hosts served instead are ahead of the error-free system: their lead. Both are bounded,
//! in bytes for a host of weight one and in proportion for others.

use crate::Item;
use crate::hosts::{HostConfig, Hosts, Shed};
use crate::scheduled::Order;
use crate::weight::{Weight, stretch};
use crate::wfq::Wfq;
use fairwave_units::Instant;

/// Parameters of IWFQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IwfqConfig {
    /// Limits, and the treatment of hosts without weight.
    pub hosts: HostConfig,
    /// Bytes that a host of weight one may claim for the time that its link was bad.
    pub lag: u32,
    /// Bytes by which a host of weight one may be ahead before it stops paying for it.
    pub lead: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Iwfq {
    /// Its heads are those of hosts with a good link.
    wfq: Wfq,
    is_bad: Vec<bool>,
    /// In virtual time: bytes in proportion to weight, by weight, are the same for all.
    lag: u64,
    lead: u64,
}

impl Iwfq {
    pub(crate) const fn new(config: &IwfqConfig) -> Self {
        Self {
            wfq: Wfq::new(None),
            is_bad: Vec::new(),
            lag: stretch(config.lag, Weight::ONE),
            lead: stretch(config.lead, Weight::ONE),
        }
    }

    fn is_bad(&self, host: u32) -> bool {
        self.is_bad.get(host as usize).is_some_and(|&is_bad| is_bad)
    }

    /// Lists a host by the tag of its oldest packet, if its link is good.
    fn list<T: Item>(&mut self, hosts: &mut Hosts<T>, host: u32) {
        if self.is_bad(host) || hosts.weight(host).is_zero() {
            return self.wfq.hide(host);
        }
        let now = self.wfq.virtual_now();
        let Some((_, tag)) = hosts.head(host) else { return };
        let min = now.saturating_sub(self.lag);
        if tag < min {
            self.wfq.delay(hosts, host, min - tag);
        }
        // The tags keep the whole lead; only the key by which the host waits is bounded.
        self.wfq.show(host, tag.clamp(min, now.saturating_add(self.lead)));
    }
}

impl Order for Iwfq {
    fn joined<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32) {
        self.wfq.joined(now, hosts, host, bytes);
        if hosts.packets_of(host) == 1 {
            self.list(hosts, host);
        }
    }

    fn next<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>) -> Option<u32> {
        let next = self.wfq.next(now, hosts);
        debug_assert!(next.is_none_or(|host| !self.is_bad(host)), "a bad link is served");
        next
    }

    fn taken<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32) {
        self.wfq.taken(now, hosts, host, bytes);
        self.list(hosts, host);
    }

    fn shed<T: Item>(&mut self, hosts: &mut Hosts<T>, shed: Shed) {
        self.wfq.shed(hosts, shed);
    }

    fn withdrawn<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, gone: Shed) {
        self.wfq.withdrawn(now, hosts, gone);
        self.list(hosts, gone.host);
    }

    fn weighed<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, old: Weight) {
        self.wfq.weighed(now, hosts, host, old);
        self.list(hosts, host);
    }

    fn link<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, is_good: bool) {
        if host as usize >= self.is_bad.len() {
            self.is_bad.resize(host as usize + 1, false);
        }
        self.is_bad[host as usize] = !is_good;
        self.list(hosts, host);
    }
}
