//! Channel-state dependent packet scheduling (Bhagwat, Bhattacharya, Krishna, Tripathi 1996): a
//! queue for each host, a packet each by turns, and none to a host whose link is bad.
//!
//! Nothing is made up for later. When a link is bad is for the queue's host to say
//! ([`Discipline::set_link`](crate::Discipline::set_link)); in the paper, for about the length of
//! an error burst after a transmission failed.

use crate::Item;
use crate::hosts::{Hosts, Shed};
use crate::scheduled::Order;
use crate::slab::{Ends, NONE};
use crate::weight::Weight;
use fairwave_units::Instant;

#[derive(Clone, Copy, Debug)]
struct Turn {
    is_bad: bool,
    is_listed: bool,
    after: u32,
}

const NEW: Turn = Turn { is_bad: false, is_listed: false, after: NONE };

#[derive(Clone, Debug)]
pub(crate) struct Csdps {
    turns: Vec<Turn>,
    /// Hosts with packets and a good link, and some that lost one of the two.
    list: Ends,
}

impl Csdps {
    pub(crate) const fn new() -> Self {
        Self { turns: Vec::new(), list: Ends::EMPTY }
    }

    fn turn(&mut self, host: u32) -> &mut Turn {
        if host as usize >= self.turns.len() {
            self.turns.resize(host as usize + 1, NEW);
        }
        &mut self.turns[host as usize]
    }

    fn list<T: Item>(&mut self, hosts: &Hosts<T>, host: u32) {
        let may_be_served = hosts.packets_of(host) > 0 && !hosts.weight(host).is_zero();
        let turn = self.turn(host);
        if !may_be_served || turn.is_bad || core::mem::replace(&mut turn.is_listed, true) {
            return;
        }
        turn.after = NONE;
        match self.list.last {
            NONE => self.list.first = host,
            last => self.turns[last as usize].after = host,
        }
        self.list.last = host;
    }

    fn unlist_first(&mut self) {
        let turn = &mut self.turns[self.list.first as usize];
        turn.is_listed = false;
        self.list.first = turn.after;
        if self.list.first == NONE {
            self.list.last = NONE;
        }
    }
}

impl Order for Csdps {
    fn joined<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, _: u32) {
        self.list(hosts, host);
    }

    fn next<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>) -> Option<u32> {
        while self.list.first != NONE {
            let host = self.list.first;
            self.unlist_first();
            let is_bad = self.turns[host as usize].is_bad;
            if hosts.packets_of(host) > 0 && !hosts.weight(host).is_zero() && !is_bad {
                return Some(host);
            }
        }
        None
    }

    fn taken<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, _: u32) {
        self.list(hosts, host);
    }

    fn shed<T: Item>(&mut self, _: &mut Hosts<T>, _: Shed) {}

    fn weighed<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, _: Weight) {
        self.list(hosts, host);
    }

    fn link<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, is_good: bool) {
        self.turn(host).is_bad = !is_good;
        self.list(hosts, host);
    }
}
