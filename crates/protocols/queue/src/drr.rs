//! Deficit round robin (Shreedhar, Varghese: Efficient Fair Queueing using Deficit Round Robin,
//! SIGCOMM 1995), a host's quantum in proportion to its weight.

use crate::Item;
use crate::hosts::{HostConfig, Hosts, Shed};
use crate::scheduled::Order;
use crate::slab::{Ends, NONE};
use crate::weight::Weight;
use fairwave_units::Instant;

/// Parameters of deficit round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrrConfig {
    /// Limits, and the treatment of hosts without weight.
    pub hosts: HostConfig,
    /// Bytes that a host of weight one may send in its turn.
    pub quantum: u32,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Data that it may still send, in 2^-16 bytes; below zero if it was served out of turn.
    deficit: i64,
    is_listed: bool,
    after: u32,
}

const NEW: Turn = Turn { deficit: 0, is_listed: false, after: NONE };

/// Hosts take turns. In its turn a host's deficit grows by its quantum, and it sends while the
/// deficit covers its next packet; a host that empties its queue loses the rest.
#[derive(Clone, Debug)]
pub(crate) struct Drr {
    quantum: u32,
    turns: Vec<Turn>,
    /// Hosts with packets, and some that lost them out of turn.
    list: Ends,
    listed: u32,
    /// Whether the first in the list has had this turn's quantum.
    is_granted: bool,
}

impl Drr {
    pub(crate) const fn new(quantum: u32) -> Self {
        Self { quantum, turns: Vec::new(), list: Ends::EMPTY, listed: 0, is_granted: false }
    }

    fn grant(&self, weight: Weight) -> i64 {
        // One at least, lest a round bring nobody any further.
        (i64::from(self.quantum) * i64::from(weight.0)).max(1)
    }

    fn list(&mut self, host: u32) {
        if host as usize >= self.turns.len() {
            self.turns.resize(host as usize + 1, NEW);
        }
        if core::mem::replace(&mut self.turns[host as usize].is_listed, true) {
            return;
        }
        self.turns[host as usize].after = NONE;
        match self.list.last {
            NONE => self.list.first = host,
            last => self.turns[last as usize].after = host,
        }
        self.list.last = host;
        self.listed += 1;
        debug_assert!(self.listed as usize <= self.turns.len(), "a host is listed twice");
    }

    fn unlist_first(&mut self) {
        let turn = &mut self.turns[self.list.first as usize];
        turn.is_listed = false;
        self.list.first = turn.after;
        if self.list.first == NONE {
            self.list.last = NONE;
        }
        self.listed -= 1;
        debug_assert_eq!(self.listed == 0, self.list.first == NONE, "{} listed", self.listed);
        self.is_granted = false;
    }

    /// No deficit sufficed in a whole round: passes over all further rounds of that kind.
    fn skip_rounds<T: Item>(&mut self, hosts: &Hosts<T>) {
        let rounds = self.each_grant(hosts).map(|(host, grant)| {
            let missing = cost(hosts, host) - self.turns[host as usize].deficit;
            missing.max(1).div_euclid(grant) + i64::from(missing.max(1) % grant != 0)
        });
        let skipped = rounds.min().unwrap_or(1).max(1) - 1;
        let mut host = self.list.first;
        while host != NONE {
            let grant = self.grant(hosts.weight(host));
            let turn = &mut self.turns[host as usize];
            turn.deficit += skipped * grant;
            host = turn.after;
        }
    }

    fn each_grant<T: Item>(&self, hosts: &Hosts<T>) -> impl Iterator<Item = (u32, i64)> {
        let first = Some(self.list.first).filter(|&host| host != NONE);
        let after = |&host: &u32| Some(self.turns[host as usize].after).filter(|&h| h != NONE);
        let has_packets = |host: &u32| hosts.packets_of(*host) > 0;
        core::iter::successors(first, after)
            .filter(has_packets)
            .map(|host| (host, self.grant(hosts.weight(host))))
    }
}

/// Returns the cost of a host's oldest packet in its deficit.
fn cost<T: Item>(hosts: &Hosts<T>, host: u32) -> i64 {
    hosts.head(host).map_or(0, |(bytes, _)| i64::from(bytes) << 16)
}

impl Order for Drr {
    fn joined<T: Item>(&mut self, _: Instant, _: &mut Hosts<T>, host: u32, _: u32) {
        self.list(host);
    }

    fn next<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>) -> Option<u32> {
        let mut visits = 0;
        loop {
            let host = self.list.first;
            if host == NONE {
                return None;
            }
            let weight = hosts.weight(host);
            if hosts.packets_of(host) == 0 || weight.is_zero() {
                let turn = &mut self.turns[host as usize];
                // Unused credit is lost, or a host that sends seldom could save it up for a burst.
                // What a host owes for data served out of turn stays.
                turn.deficit = turn.deficit.min(0);
                self.unlist_first();
                continue;
            }
            let grant = self.grant(weight);
            let turn = &mut self.turns[host as usize];
            if !core::mem::replace(&mut self.is_granted, true) {
                turn.deficit += grant;
            }
            if turn.deficit >= cost(hosts, host) {
                return Some(host);
            }
            self.unlist_first();
            self.list(host);
            visits += 1;
            // At the smallest weight a full packet takes 65,536 rounds: they are computed, not run.
            if visits > self.listed {
                visits = 0;
                self.skip_rounds(hosts);
            }
        }
    }

    fn taken<T: Item>(&mut self, _: Instant, _: &mut Hosts<T>, host: u32, bytes: u32) {
        self.turns[host as usize].deficit -= i64::from(bytes) << 16;
    }

    fn shed<T: Item>(&mut self, _: &mut Hosts<T>, _: Shed) {}

    fn weighed<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, _: Weight) {
        if !hosts.weight(host).is_zero() && hosts.packets_of(host) > 0 {
            self.list(host);
        }
    }
}
