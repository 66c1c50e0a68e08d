//! Weighted fair queueing (Demers, Keshav, Shenker 1989; Parekh, Gallager 1993), by the iterated
//! deletion of the pseudo-code in Aida, Tobe, Tokuda 2003, figure 7.
//!
//! A fluid system serves every backlogged host at once, in proportion to the weights; its virtual
//! time V grows by dV/dt = r / (sum of their weights). A packet's tag is the virtual time at which
//! the fluid system has served it, and of the hosts' oldest packets the one with the smallest tag
//! is sent.

use crate::Item;
use crate::heap::Heap;
use crate::hosts::{HostConfig, Hosts, Shed};
use crate::scheduled::Order;
use crate::weight::{Lead, REBASE_AT, Weight, restamp, stretch};
use fairwave_units::{BitRate, Instant};

/// Parameters of weighted fair queueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WfqConfig {
    /// Limits, and the treatment of hosts without weight.
    pub hosts: HostConfig,
    /// The rate of the link, by which the fluid system then works. Without it the fluid system
    /// does as much work as packets are taken: for links whose rate varies.
    pub rate: Option<BitRate>,
}

#[derive(Clone, Copy, Debug)]
struct Session {
    /// The tag of its newest packet: when the fluid system is through with it.
    finish: u64,
    /// Its weight in the fluid system.
    weight: Weight,
    /// Whether the fluid system still works for it; `finish` is then not yet past.
    is_active: bool,
    /// Its state when it lost its weight.
    lead: Lead,
}

const NEW: Session =
    Session { finish: 0, weight: Weight::ZERO, is_active: false, lead: Lead::NONE };

#[derive(Clone, Debug)]
pub(crate) struct Wfq {
    rate: Option<BitRate>,
    sessions: Vec<Session>,
    /// V of the fluid system.
    virtual_now: u64,
    /// Work, in 2^-32 bytes, that did not make a whole unit of virtual time.
    rest: u64,
    /// Work, in 2^-16 bytes, that the link could have done since the start.
    worked: u128,
    /// Busy periods of the fluid system that have ended.
    period: u64,
    active_weight: u64,
    /// Active sessions by a time not after their finish: it is renewed when it is reached, not
    /// for every packet.
    finishes: Heap,
    /// Hosts with packets by the tag of the oldest.
    heads: Heap,
}

impl Wfq {
    pub(crate) const fn new(rate: Option<BitRate>) -> Self {
        Self {
            rate,
            sessions: Vec::new(),
            virtual_now: 0,
            rest: 0,
            worked: 0,
            period: 0,
            active_weight: 0,
            finishes: Heap::new(),
            heads: Heap::new(),
        }
    }

    /// Advances the fluid system to `now` where it keeps to a rate.
    fn tick(&mut self, now: Instant) {
        let Some(rate) = self.rate else { return };
        let bits = u128::from(now.as_nanos()) * u128::from(rate.0);
        // From time zero on, not since the last call: rounding does not add up.
        let worked = (bits << 16) / 8_000_000_000;
        debug_assert!(worked >= self.worked, "time goes back");
        let work = u64::try_from(worked.saturating_sub(self.worked)).unwrap_or(u64::MAX);
        self.worked = worked;
        self.work(work);
    }

    /// Lets the fluid system do this amount of work, in 2^-16 bytes: a session that finishes on the
    /// way leaves at its finish, and the others share its part from then on.
    fn work(&mut self, work: u64) {
        // A session holds less than 2^47 of these.
        let mut left = (work.min(1 << 47) << 16) + self.rest;
        while let Some((key, host)) = self.finishes.first() {
            let reached = self.virtual_now.saturating_add(left / self.active_weight);
            if reached < key {
                self.virtual_now = reached;
                self.rest = left % self.active_weight;
                return;
            }
            let finish = self.sessions[host as usize].finish;
            if key < finish {
                self.finishes.set(host, finish);
                continue;
            }
            left -= (finish - self.virtual_now) * self.active_weight;
            self.virtual_now = finish;
            self.deactivate(host);
        }
        debug_assert_eq!(self.active_weight, 0, "no host is active");
        // A fluid system without work stands still: what the link could have done is no credit.
        self.rest = 0;
        self.period += 1;
    }

    fn activate(&mut self, host: u32, weight: Weight) {
        if host as usize >= self.sessions.len() {
            self.sessions.resize(host as usize + 1, NEW);
        }
        let session = &mut self.sessions[host as usize];
        debug_assert!(!session.is_active || session.finish >= self.virtual_now, "{session:?}");
        if !core::mem::replace(&mut session.is_active, true) {
            debug_assert!(!weight.is_zero(), "host {host} weighs nothing");
            (session.finish, session.weight) = (self.virtual_now, weight);
            self.active_weight += u64::from(weight.0);
            self.finishes.set(host, self.virtual_now);
        }
    }

    fn deactivate(&mut self, host: u32) {
        let session = &mut self.sessions[host as usize];
        session.is_active = false;
        self.active_weight -= u64::from(session.weight.0);
        self.finishes.remove(host);
    }

    fn is_active(&self, host: u32) -> bool {
        self.sessions.get(host as usize).is_some_and(|session| session.is_active)
    }

    /// Moves all tags back, which changes no difference: 64 bits then last for ever.
    fn rebase<T: Item>(&mut self, hosts: &mut Hosts<T>) {
        let minimum = self.heads.first().map_or(u64::MAX, |(tag, _)| tag);
        let by = self.virtual_now.min(minimum);
        self.virtual_now -= by;
        self.heads.lower_all(by);
        self.finishes.lower_all(by);
        for host in 0..self.sessions.len() {
            self.sessions[host].finish = self.sessions[host].finish.saturating_sub(by);
            hosts.retag(host as u32, |tag, _| tag.saturating_sub(by));
        }
    }

    pub(crate) const fn virtual_now(&self) -> u64 {
        self.virtual_now
    }

    /// Passes over a host until it is shown again.
    pub(crate) fn hide(&mut self, host: u32) {
        self.heads.remove(host);
    }

    /// Has a backlogged host served by this tag.
    pub(crate) fn show(&mut self, host: u32, tag: u64) {
        self.heads.set(host, tag);
    }

    /// Moves the tags of a host's packets, as if they had come later; the fluid system has to do
    /// the part ahead of V again.
    pub(crate) fn delay<T: Item>(&mut self, hosts: &mut Hosts<T>, host: u32, by: u64) {
        let mut last = 0;
        hosts.retag(host, |tag, _| {
            last = tag.saturating_add(by);
            last
        });
        if last > self.virtual_now {
            self.activate(host, hosts.weight(host));
            let session = &mut self.sessions[host as usize];
            session.finish = session.finish.max(last);
        }
    }

    /// A host of this weight weighs nothing from now on.
    fn pause<T: Item>(&mut self, hosts: &Hosts<T>, host: u32, weight: Weight) {
        self.heads.remove(host);
        if !self.is_active(host) {
            return;
        }
        self.deactivate(host);
        let (now, period) = (self.virtual_now, self.period);
        let session = &mut self.sessions[host as usize];
        let start = |(bytes, tag): (u32, u64)| tag.saturating_sub(stretch(bytes, weight));
        let served = hosts.head(host).map_or(session.finish, start);
        session.lead = Lead::of(served, now, weight, period);
    }

    /// A host that weighed nothing comes back, with a claim to nothing that it missed.
    fn rejoin<T: Item>(&mut self, hosts: &mut Hosts<T>, host: u32) {
        let (weight, now) = (hosts.weight(host), self.virtual_now);
        let session = self.sessions.get_mut(host as usize);
        let lead = session.map_or(Lead::NONE, |s| core::mem::replace(&mut s.lead, Lead::NONE));
        let served = lead.tag(now, weight, self.period);
        if hosts.packets_of(host) == 0 && served == now {
            return;
        }
        self.activate(host, weight);
        let session = &mut self.sessions[host as usize];
        session.finish = served;
        hosts.retag(host, |_, bytes| {
            session.finish = session.finish.saturating_add(stretch(bytes, weight));
            session.finish
        });
        if let Some((_, tag)) = hosts.head(host) {
            self.heads.set(host, tag);
        }
    }
}

impl Order for Wfq {
    fn joined<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32) {
        self.tick(now);
        if self.virtual_now > REBASE_AT {
            self.rebase(hosts);
        }
        let weight = hosts.weight(host);
        self.activate(host, weight);
        let session = &mut self.sessions[host as usize];
        session.finish = session.finish.saturating_add(stretch(bytes, weight));
        hosts.tag_last(host, session.finish);
        if hosts.packets_of(host) == 1 {
            self.heads.set(host, session.finish);
        }
    }

    fn next<T: Item>(&mut self, _: Instant, _: &mut Hosts<T>) -> Option<u32> {
        self.heads.first().map(|(_, host)| host)
    }

    fn taken<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32) {
        match hosts.head(host) {
            Some((_, tag)) => self.heads.set(host, tag),
            None => self.heads.remove(host),
        }
        if self.rate.is_none() {
            self.work(u64::from(bytes) << 16);
        }
    }

    fn shed<T: Item>(&mut self, hosts: &mut Hosts<T>, shed: Shed) {
        if hosts.packets_of(shed.host) == 0 {
            self.heads.remove(shed.host);
        }
        let session = &mut self.sessions[shed.host as usize];
        if session.is_active {
            // The packet's virtual time is given back, but what the fluid system did of it stays.
            let start = shed.tag.saturating_sub(stretch(shed.bytes, hosts.weight(shed.host)));
            session.finish = start.max(self.virtual_now);
            self.finishes.set(shed.host, session.finish);
        }
    }

    fn withdrawn<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, gone: Shed) {
        // The fluid system may be through with the packet: nothing of it is given back then.
        self.tick(now);
        let start = gone.tag.saturating_sub(stretch(gone.bytes, hosts.weight(gone.host)));
        // As for a shed packet; the packets behind it move up.
        let back = gone.tag.saturating_sub(start.max(self.virtual_now));
        hosts.retag(gone.host, |tag, _| if tag > gone.tag { tag - back } else { tag });
        match hosts.head(gone.host) {
            Some((_, tag)) => self.heads.set(gone.host, tag),
            None => self.heads.remove(gone.host),
        }
        let session = &mut self.sessions[gone.host as usize];
        if session.is_active {
            session.finish -= back;
            self.finishes.set(gone.host, session.finish);
        }
    }

    fn weighed<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, old: Weight) {
        self.tick(now);
        let (new, now) = (hosts.weight(host), self.virtual_now);
        if old.is_zero() {
            return self.rejoin(hosts, host);
        }
        if new.is_zero() {
            return self.pause(hosts, host, old);
        }
        hosts.retag(host, |tag, _| restamp(tag, now, old, new));
        if let Some((_, tag)) = hosts.head(host) {
            self.heads.set(host, tag);
        }
        if self.is_active(host) {
            let session = &mut self.sessions[host as usize];
            session.finish = restamp(session.finish, now, old, new);
            session.weight = new;
            self.active_weight = self.active_weight + u64::from(new.0) - u64::from(old.0);
            self.finishes.set(host, session.finish);
        }
    }
}
