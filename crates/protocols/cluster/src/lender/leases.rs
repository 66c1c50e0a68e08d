//! Leases: holder, rate and uplink, with their end.

use super::Lender;
use super::lease::{Lease, is_due};
use crate::config::Config;
use crate::facts::{End, Event, LeaseId};
use crate::post::Post;
use crate::session::Retry;
use crate::share::max_min;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::cluster::{
    Body, Denial, Grant, LeaseRequest, MAX_OFFERS, MemberId, Rates, Revocation,
};
use std::num::NonZeroU32;

/// Smallest change of a rate, as a part of the last reported one, that a borrower is notified of.
const TOLD: u64 = 8;

impl Lender {
    pub(super) fn leases_of(&self, uplink: u8) -> impl Iterator<Item = &Lease> {
        let leases = self.clients.values().flat_map(|client| &client.leases);
        leases.filter(move |lease| lease.uplink == uplink)
    }

    pub(super) fn lease_mut(&mut self, member: MemberId, number: NonZeroU32) -> Option<&mut Lease> {
        let client = self.clients.get_mut(&member)?;
        client.leases.iter_mut().find(|lease| lease.number == number)
    }

    /// A borrower wants a lease, or to keep it.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        member: MemberId,
        ask: &LeaseRequest,
        config: &Config,
        post: &mut Post,
    ) {
        self.days.turn(now);
        let Some(client) = self.clients.get_mut(&member) else { return };
        let known = client.leases.iter_mut().find(|lease| lease.number == ask.lease);
        match known {
            Some(lease) if lease.revoked.is_some() => {
                return self.send_revoked(now, member, ask.lease, post);
            }
            Some(lease) => lease.wanted = ask.rates,
            None if ask.lease.get() <= client.highest => {
                // It is over: the borrower missed that.
                return client.session.say(post, Body::Over { lease: ask.lease });
            }
            None => {
                client.highest = ask.lease.get();
                if let Err((reason, wait)) = self.admit(now, member, ask, config, post) {
                    return self.deny(member, ask.lease, reason, wait, post);
                }
            }
        }
        self.grant(now, member, ask, config, post);
    }

    /// Makes a new lease, or says why not and when that may have changed.
    fn admit(
        &mut self,
        now: Instant,
        member: MemberId,
        ask: &LeaseRequest,
        config: &Config,
        post: &mut Post,
    ) -> Result<(), (Denial, Duration)> {
        let Rates { up, down } = ask.rates;
        let wants_nothing = (up.0 == 0 && down.0 == 0) || ask.bytes == 0 || ask.duration_ms == 0;
        if wants_nothing {
            return Err((Denial::Invalid, config.rest));
        }
        let link = self.links.iter().find(|link| link.is.number == ask.uplink && link.is_offered);
        let Some(link) = link else { return Err((Denial::NoUplink, config.rest)) };
        if !self.may_lend(link, config) {
            return Err((Denial::Policy, config.rest));
        }
        let (total, account) = self.days.carried(ask.uplink, member);
        let limits = link.is.limits;
        if total >= limits.day_bytes || account >= limits.borrower_day_bytes {
            return Err((Denial::Quota, self.days.rest(now)));
        }
        self.supersede(now, member, ask.uplink, post);
        let others: Vec<Rates> = self.leases_of(ask.uplink).map(|lease| lease.wanted).collect();
        let is_full = others.len() >= usize::from(limits.borrowers);
        let would_do = !is_full && self.would_do(ask, &others);
        let client = self.clients.get_mut(&member);
        match client.filter(|client| would_do && client.leases.len() < MAX_OFFERS) {
            None => Err((Denial::Full, config.rest)),
            Some(client) => {
                client.leases.push(Lease::new(ask, now));
                Ok(())
            }
        }
    }

    /// A borrower has one lease of an uplink: with a request for another it loses the first.
    fn supersede(&mut self, now: Instant, member: MemberId, uplink: u8, post: &mut Post) {
        let Some(client) = self.clients.get_mut(&member) else { return };
        let place = client.leases.iter().position(|lease| lease.uplink == uplink);
        if let Some(place) = place {
            client.leases.remove(place).report_end(member, End::Released, post);
            self.freed(now, post);
        }
    }

    /// Returns whether one more borrower would get the minimum share, as far as it wants that.
    fn would_do(&self, ask: &LeaseRequest, others: &[Rates]) -> bool {
        let Some(link) = self.links.iter().find(|link| link.is.number == ask.uplink) else {
            return false;
        };
        let (limits, capacity) = (link.is.limits, link.capacity());
        let enough = |capacity: BitRate, cap: BitRate, rate: fn(&Rates) -> BitRate| {
            let all = others.iter().chain([&ask.rates]);
            let wanted: Vec<u64> = all.map(|rates| rate(rates).min(cap).0).collect();
            let floor = limits.min_share.min(rate(&ask.rates)).0;
            max_min(capacity.0, &wanted).last().is_some_and(|share| *share >= floor)
        };
        enough(capacity.up, limits.borrower_rates.up, |rates| rates.up)
            && enough(capacity.down, limits.borrower_rates.down, |rates| rates.down)
    }

    fn deny(
        &mut self,
        member: MemberId,
        lease: NonZeroU32,
        reason: Denial,
        wait: Duration,
        post: &mut Post,
    ) {
        post.refused.denied += 1;
        let Some(client) = self.clients.get(&member) else { return };
        let retry_ms = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
        client.session.say(post, Body::Deny { lease, reason, retry_ms });
    }

    /// Extends a lease within the limits, and says so.
    fn grant(
        &mut self,
        now: Instant,
        member: MemberId,
        ask: &LeaseRequest,
        config: &Config,
        post: &mut Post,
    ) {
        let Some(uplink) = self.lease_mut(member, ask.lease).map(|lease| lease.uplink) else {
            return;
        };
        let Some(link) = self.links.iter().find(|link| link.is.number == uplink) else { return };
        let limits = link.is.limits;
        let (total, account) = self.days.carried(uplink, member);
        let today = (limits.day_bytes.saturating_sub(total))
            .min(limits.borrower_day_bytes.saturating_sub(account));
        let longest = u32::try_from(config.longest_lease.as_millis()).unwrap_or(u32::MAX);
        let Some(lease) = self.lease_mut(member, ask.lease) else { return };
        let left = limits.lease_bytes.saturating_sub(lease.carried).min(today).min(ask.bytes);
        let duration_ms = NonZeroU32::new(ask.duration_ms.min(longest));
        let Some(duration_ms) = duration_ms.filter(|_| left > 0) else {
            let why = Revocation::Quota;
            let id = LeaseId { borrower: member, lease: ask.lease };
            return self.revoke(now, id, why, Duration::ZERO, config, post);
        };
        lease.most = lease.carried.saturating_add(left);
        lease.ends = now + Duration::from_millis(duration_ms.get().into());
        let before = lease.rates;
        self.review_at.get_or_insert(now + config.review);
        self.share(now, uplink, Some((member, ask.lease)), post);
        let Some(lease) = self.lease_mut(member, ask.lease) else { return };
        let (rates, id) = (lease.rates, lease.id(member));
        lease.reported = rates;
        let grant = Grant { lease: ask.lease, at_ms: ask.at_ms, rates, bytes: left, duration_ms };
        let Some(client) = self.clients.get(&member) else { return };
        client.session.say(post, Body::Grant(grant));
        if before != rates {
            self.is_changed = true;
            let address = client.session.peer.address;
            post.notify(Event::Lent { lease: id, address, uplink, rates });
        }
    }

    pub(super) fn share_all(&mut self, now: Instant, post: &mut Post) {
        for index in 0..self.links.len() {
            self.share(now, self.links[index].is.number, None, post);
        }
    }

    /// Shares an uplink among its borrowers, and notifies those whose part has changed, but for one
    /// that will be notified later.
    fn share(
        &mut self,
        now: Instant,
        uplink: u8,
        but: Option<(MemberId, NonZeroU32)>,
        post: &mut Post,
    ) {
        let Some(link) = self.links.iter().find(|link| link.is.number == uplink) else { return };
        let (capacity, cap) = (link.capacity(), link.is.limits.borrower_rates);
        let wanted: Vec<Rates> =
            self.leases_of(uplink).map(|lease| lease.wanted.stricter(cap)).collect();
        let part = |capacity: BitRate, rate: fn(&Rates) -> BitRate| {
            max_min(capacity.0, &wanted.iter().map(|rates| rate(rates).0).collect::<Vec<_>>())
        };
        let (up, down) =
            (part(capacity.up, |rates| rates.up), part(capacity.down, |rates| rates.down));
        let mut shares = up.into_iter().zip(down);
        for (member, client) in &mut self.clients {
            let session = &client.session;
            for lease in client.leases.iter_mut().filter(|lease| lease.uplink == uplink) {
                let Some((up, down)) = shares.next() else { return };
                lease.set_rates(now, Rates { up: BitRate(up), down: BitRate(down) });
                let (id, rates) = (lease.number, lease.rates);
                if but == Some((*member, id)) || !changes_enough(lease.reported, rates) {
                    continue;
                }
                lease.reported = rates;
                if lease.revoked.is_none() {
                    session.say(post, Body::Terms { lease: id, rates });
                }
                let address = session.peer.address;
                post.notify(Event::Lent { lease: lease.id(*member), address, uplink, rates });
            }
        }
    }

    pub(super) fn release(
        &mut self,
        now: Instant,
        member: MemberId,
        number: NonZeroU32,
        post: &mut Post,
    ) {
        let Some(client) = self.clients.get_mut(&member) else { return };
        client.session.say(post, Body::Over { lease: number });
        // Asks for it that are on their way come too late.
        client.highest = client.highest.max(number.get());
        let place = client.leases.iter().position(|lease| lease.number == number);
        if let Some(place) = place {
            client.leases.remove(place).report_end(member, End::Released, post);
            self.freed(now, post);
        }
    }

    pub(super) fn noted(&mut self, member: MemberId, number: NonZeroU32) {
        if let Some(lease) = self.lease_mut(member, number) {
            lease.retry = None;
        }
    }

    pub(super) fn revoke_all(
        &mut self,
        now: Instant,
        uplink: u8,
        why: Revocation,
        config: &Config,
        post: &mut Post,
    ) {
        let ids: Vec<LeaseId> =
            self.lent().filter(|lent| lent.uplink == uplink).map(|lent| lent.lease).collect();
        for id in ids {
            self.revoke(now, id, why, config.notice, config, post);
        }
    }

    /// Ends a lease after `notice`.
    pub(super) fn revoke(
        &mut self,
        now: Instant,
        id: LeaseId,
        why: Revocation,
        notice: Duration,
        config: &Config,
        post: &mut Post,
    ) {
        let Some(lease) = self.lease_mut(id.borrower, id.lease) else { return };
        if lease.revoked.is_some() && !notice.is_zero() {
            return;
        }
        lease.revoked = Some(why);
        lease.ends = lease.ends.min(now + notice);
        lease.retry = Some(Retry::new(now, config.retry));
        self.send_revoked(now, id.borrower, id.lease, post);
        if notice.is_zero() {
            self.age_leases(now, post);
        }
    }

    fn send_revoked(
        &mut self,
        now: Instant,
        member: MemberId,
        number: NonZeroU32,
        post: &mut Post,
    ) {
        let Some(lease) = self.lease_mut(member, number) else { return };
        let Some(reason) = lease.revoked else { return };
        let notice = lease.ends.since(now).as_millis();
        let notice_ms = u32::try_from(notice).unwrap_or(u32::MAX);
        if let Some(client) = self.clients.get(&member) {
            client.session.say(post, Body::Revoke { lease: number, reason, notice_ms });
        }
    }

    /// Ends leases whose time is over, and repeats messages without an answer.
    pub(super) fn age_leases(&mut self, now: Instant, post: &mut Post) {
        let mut repeat = Vec::new();
        let mut some_ended = false;
        for (member, client) in &mut self.clients {
            client.leases.retain_mut(|lease| {
                let stays = lease.ends > now;
                if !stays {
                    lease.report_end(*member, End::Expired, post);
                    some_ended = true;
                } else if is_due(&mut lease.retry, now) {
                    repeat.push((*member, lease.number));
                }
                stays
            });
        }
        for (member, number) in repeat {
            self.send_revoked(now, member, number, post);
        }
        if some_ended {
            self.freed(now, post);
        }
    }

    /// Measures the lender's own traffic, and shares the rest.
    pub(super) fn review(&mut self, now: Instant, config: &Config, post: &mut Post) {
        for link in &mut self.links {
            link.review(now);
        }
        self.share_all(now, post);
        let is_used = self.clients.values().any(|client| !client.leases.is_empty());
        self.review_at = is_used.then_some(now + config.review);
    }
}

fn changes_enough(reported: Rates, now: Rates) -> bool {
    let differs = |reported: BitRate, now: BitRate| reported.0.abs_diff(now.0) > reported.0 / TOLD;
    differs(reported.up, now.up) || differs(reported.down, now.down)
}
