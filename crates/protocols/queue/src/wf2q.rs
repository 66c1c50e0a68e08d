//! WF2Q+ (Bennett, Zhang: Hierarchical Packet Fair Queueing Algorithms, SIGCOMM 1996, 1997).
//!
//! Of the hosts whose oldest packet the fluid system would have begun, the host whose packet it
//! would finish first is served. Virtual time needs no fluid system: V(t + tau) = max(V(t) + W /
//! (sum of all weights), smallest start among the backlogged), W being the work done in between.

use crate::heap::Heap;
use crate::hosts::{HostConfig, Hosts, Shed};
use crate::scheduled::{Order, Scheduled};
use crate::weight::{Lead, REBASE_AT, Weight, restamp, stretch};
use crate::{Discipline, Item};
use core::fmt::Debug;
use fairwave_units::Instant;

/// An empty queue that is served by WF2Q+, for a program that has no other:
/// [`Spec::build`](crate::Spec::build) has all of them linked.
pub fn wf2q_plus<T: Item + Debug + Send>(hosts: HostConfig) -> impl Discipline<T> {
    Scheduled::new(hosts, Wf2q::new())
}

#[derive(Clone, Copy, Debug)]
struct Session {
    /// Tags of its oldest packet, or of the last it had.
    start: u64,
    finish: u64,
    /// Whether its weight is part of the sum: from its first packet on.
    is_known: bool,
}

const NEW: Session = Session { start: 0, finish: 0, is_known: false };

#[derive(Clone, Debug)]
pub(crate) struct Wf2q {
    sessions: Vec<Session>,
    /// State of each host when it lost its weight. Apart from sessions, as few need it.
    leads: Vec<Lead>,
    virtual_now: u64,
    /// The latest finish of all.
    latest: u64,
    /// Work, in 2^-32 bytes, that V does not show yet.
    work: u64,
    /// Busy periods that have ended.
    period: u64,
    weights: u64,
    /// Hosts with packets whose start is past, by finish.
    eligible: Heap,
    /// The others with packets, by start.
    early: Heap,
    /// The host that was served last, while it still stands first among the eligible: the next
    /// eligible host takes its place, which is one way down a heap instead of two.
    served: Option<u32>,
}

impl Wf2q {
    pub(crate) const fn new() -> Self {
        Self {
            sessions: Vec::new(),
            leads: Vec::new(),
            virtual_now: 0,
            latest: 0,
            work: 0,
            period: 0,
            weights: 0,
            eligible: Heap::new(),
            early: Heap::new(),
            served: None,
        }
    }

    fn session(&mut self, host: u32) -> &mut Session {
        if host as usize >= self.sessions.len() {
            self.sessions.resize(host as usize + 1, NEW);
            self.leads.resize(host as usize + 1, Lead::NONE);
        }
        &mut self.sessions[host as usize]
    }

    fn know(&mut self, host: u32, weight: Weight) {
        if !core::mem::replace(&mut self.session(host).is_known, true) {
            self.weights += u64::from(weight.0);
        }
    }

    /// Brings V up to the work done, and to the smallest start if no host would be eligible.
    fn advance(&mut self) {
        if let Some(passed) = self.work.checked_div(self.weights) {
            self.virtual_now += passed;
            // The rest of the division is kept: V would otherwise fall behind packet by packet.
            self.work %= self.weights;
        }
        let served = self.served.take();
        if self.eligible.len() == usize::from(served.is_some()) {
            let own = served.map(|host| self.sessions[host as usize].start);
            let others = self.early.first().map(|(start, _)| start);
            let minimum = own.into_iter().chain(others).min();
            self.virtual_now = self.virtual_now.max(minimum.unwrap_or(0));
        }
        if let Some(host) = served {
            self.move_on(host);
        }
        while let Some((start, host)) = self.early.first()
            && start <= self.virtual_now
        {
            self.early.remove(host);
            self.eligible.set(host, self.sessions[host as usize].finish);
        }
        debug_assert!(!self.eligible.is_empty() || self.early.is_empty(), "no host is eligible");
    }

    /// Moves the host that was served, which is first among the eligible, to where its next packet
    /// belongs.
    fn move_on(&mut self, host: u32) {
        let Session { start, finish, .. } = self.sessions[host as usize];
        if start <= self.virtual_now {
            return self.eligible.set(host, finish);
        }
        match self.early.first() {
            Some((due, other)) if due <= self.virtual_now => {
                self.early.replace_first(host, start);
                self.eligible.replace_first(other, self.sessions[other as usize].finish);
            }
            _ => {
                self.eligible.remove(host);
                self.early.set(host, start);
            }
        }
    }

    /// Restores the order of the heaps after changes other than service in turn.
    fn tidy(&mut self) {
        if let Some(host) = self.served.take() {
            self.move_on(host);
        }
    }

    fn withdraw(&mut self, host: u32) {
        self.eligible.remove(host);
        self.early.remove(host);
    }

    /// Lists a backlogged host by its tags.
    fn list(&mut self, host: u32) {
        let Session { start, finish, .. } = self.sessions[host as usize];
        if start <= self.virtual_now {
            self.early.remove(host);
            self.eligible.set(host, finish);
        } else {
            self.eligible.remove(host);
            self.early.set(host, start);
        }
    }

    /// Tags a host's oldest packet, which starts at `start`.
    fn stamp<T: Item>(&mut self, hosts: &Hosts<T>, host: u32, start: u64) {
        let Some((bytes, _)) = hosts.head(host) else { return };
        let finish = start.saturating_add(stretch(bytes, hosts.weight(host)));
        let session = self.session(host);
        debug_assert!(session.finish <= start, "{start} is before the end of {session:?}");
        (session.start, session.finish) = (start, finish);
        self.latest = self.latest.max(finish);
    }

    fn rebase(&mut self) {
        self.tidy();
        // The start of an eligible host lies behind V, and no tag may fall below zero.
        let minimum = self.eligible_start().min(self.virtual_now);
        self.virtual_now -= minimum;
        self.latest -= minimum;
        self.early.lower_all(minimum);
        self.eligible.lower_all(minimum);
        for session in &mut self.sessions {
            session.start = session.start.saturating_sub(minimum);
            session.finish = session.finish.saturating_sub(minimum);
        }
    }

    fn eligible_start(&self) -> u64 {
        let sessions = self.sessions.iter().zip(0..);
        let eligible = sessions.filter(|&(_, host)| self.eligible.contains(host));
        eligible.map(|(session, _)| session.start).min().unwrap_or(u64::MAX)
    }
}

impl Order for Wf2q {
    fn joined<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, _: u32) {
        self.know(host, hosts.weight(host));
        if hosts.packets_of(host) > 1 {
            return;
        }
        if self.virtual_now > REBASE_AT {
            self.rebase();
        }
        // V as it was when the link took its last packet: before that packet's work.
        let work = core::mem::take(&mut self.work);
        self.advance();
        self.work = work;
        let start = self.virtual_now.max(self.session(host).finish);
        self.stamp(hosts, host, start);
        self.list(host);
    }

    fn next<T: Item>(&mut self, _: Instant, _: &mut Hosts<T>) -> Option<u32> {
        self.advance();
        self.eligible.first().map(|(_, host)| host)
    }

    fn taken<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, bytes: u32) {
        self.tidy();
        self.work = self.work.saturating_add(u64::from(bytes) << 32);
        if hosts.packets_of(host) == 0 {
            return self.withdraw(host);
        }
        self.stamp(hosts, host, self.sessions[host as usize].finish);
        if self.eligible.first().is_some_and(|(_, first)| first == host) {
            self.served = Some(host);
        } else {
            self.list(host);
        }
    }

    fn shed<T: Item>(&mut self, hosts: &mut Hosts<T>, shed: Shed) {
        self.tidy();
        if hosts.packets_of(shed.host) == 0 {
            self.withdraw(shed.host);
            // It was not served: nothing is owed for it.
            let session = self.session(shed.host);
            session.finish = session.start;
        }
    }

    fn withdrawn<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, gone: Shed) {
        self.shed(hosts, gone);
        if hosts.packets_of(gone.host) > 0 {
            // The oldest packet may be another now; it starts when that one would have.
            let start = self.session(gone.host).start;
            self.session(gone.host).finish = start;
            self.stamp(hosts, gone.host, start);
            self.list(gone.host);
        }
    }

    fn idle(&mut self) {
        // A new busy period owes nothing to the one before.
        self.virtual_now = self.virtual_now.max(self.latest);
        self.work = 0;
        self.period += 1;
    }

    fn weighed<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, host: u32, old: Weight) {
        self.tidy();
        let (new, now, period) = (hosts.weight(host), self.virtual_now, self.period);
        if self.session(host).is_known {
            self.weights = self.weights + u64::from(new.0) - u64::from(old.0);
        } else if !new.is_zero() && hosts.packets_of(host) > 0 {
            self.know(host, new);
        }
        if new.is_zero() {
            self.withdraw(host);
            let waits = hosts.packets_of(host) > 0;
            let session = self.session(host);
            let served = if waits { session.start } else { session.finish };
            self.leads[host as usize] = Lead::of(served, now, old, period);
        } else if old.is_zero() {
            let start = self.leads[host as usize].tag(now, new, period);
            self.session(host).finish = start;
            if hosts.packets_of(host) > 0 {
                self.stamp(hosts, host, start);
                self.list(host);
            }
        } else {
            let session = self.session(host);
            session.start = restamp(session.start, now, old, new);
            session.finish = restamp(session.finish, now, old, new);
            if hosts.packets_of(host) > 0 {
                self.list(host);
            }
        }
    }
}
