//! One lease as its lender knows it.

use crate::bucket::Bucket;
use crate::facts::{End, Event, LeaseId, Lent, Way};
use crate::post::Post;
use crate::session::{Retry, TRIES};
use fairwave_units::{BitRate, Instant};
use fairwave_wire::cluster::{LeaseRequest, MemberId, Rates, Revocation};
use std::num::NonZeroU32;

#[derive(Debug)]
pub(super) struct Lease {
    pub(super) number: NonZeroU32,
    pub(super) uplink: u8,
    pub(super) wanted: Rates,
    pub(super) rates: Rates,
    /// The borrower's knowledge.
    pub(super) reported: Rates,
    pub(super) up: Bucket,
    pub(super) down: Bucket,
    /// Bytes that went over it, and may go over it, both ways together.
    pub(super) carried: u64,
    pub(super) most: u64,
    pub(super) ends: Instant,
    pub(super) revoked: Option<Revocation>,
    /// The borrower has not noted that yet.
    pub(super) retry: Option<Retry>,
}

impl Lease {
    pub(super) fn new(ask: &LeaseRequest, now: Instant) -> Self {
        let nothing = Rates::default();
        Self {
            number: ask.lease,
            uplink: ask.uplink,
            wanted: ask.rates,
            rates: nothing,
            reported: nothing,
            up: Bucket::new(BitRate(0), now),
            down: Bucket::new(BitRate(0), now),
            carried: 0,
            most: 0,
            ends: now,
            revoked: None,
            retry: None,
        }
    }

    pub(super) fn id(&self, borrower: MemberId) -> LeaseId {
        LeaseId { borrower, lease: self.number }
    }

    pub(super) fn report(&self, borrower: MemberId) -> Lent {
        Lent {
            lease: self.id(borrower),
            uplink: self.uplink,
            rates: self.rates,
            carried: self.carried,
            ends: self.ends,
            is_revoked: self.revoked.is_some(),
        }
    }

    pub(super) fn report_end(&self, borrower: MemberId, why: End, post: &mut Post) {
        let why = self.revoked.map_or(why, End::Revoked);
        post.notify(Event::Returned { lease: self.id(borrower), why, carried: self.carried });
    }

    pub(super) fn next(&self) -> Instant {
        self.retry.map_or(self.ends, |retry| retry.at.min(self.ends))
    }

    pub(super) fn bucket(&mut self, way: Way) -> &mut Bucket {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }

    pub(super) fn set_rates(&mut self, now: Instant, rates: Rates) {
        self.rates = rates;
        self.up.set_rate(now, rates.up);
        self.down.set_rate(now, rates.down);
    }
}

/// A retry of a message that is sent `TRIES` times at most.
pub(super) fn is_due(retry: &mut Option<Retry>, now: Instant) -> bool {
    match retry.as_mut().map(|retry| retry.again(now, TRIES)) {
        Some(Some(due)) => due,
        Some(None) => {
            *retry = None;
            false
        }
        None => false,
    }
}
