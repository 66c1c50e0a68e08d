//! Leases as their borrower knows them: asked for, held and renewed, given back.

use super::lease::{LONGEST_REST, Lease, RENEWALS, State, join};
use super::{Borrower, Lender};
use crate::config::Config;
use crate::facts::{End, Event, Over};
use crate::post::Post;
use crate::session::Retry;
use fairwave_units::{Duration, Instant};
use fairwave_wire::cluster::{Body, Denial, Grant, MemberId, Message, Rates, Revocation};
use std::num::NonZeroU32;

impl Borrower {
    /// A message about a lease, which is new and of the session.
    pub(super) fn lease_message(
        &mut self,
        now: Instant,
        message: &Message,
        config: &Config,
        post: &mut Post,
    ) {
        let member = message.from;
        let number = message.number.get();
        match message.body {
            Body::Grant(grant) => self.granted(now, member, number, &grant, config, post),
            Body::Deny { lease, reason, retry_ms } => {
                let wait = Duration::from_millis(retry_ms.into()).min(LONGEST_REST);
                let until = now + wait.max(config.retry);
                self.denied(member, lease, reason, until, post);
            }
            Body::Terms { lease, rates } => self.terms(member, number, lease, rates, post),
            Body::Over { lease } => {
                self.over(member, lease, End::Unknown, now + config.rest, post);
            }
            Body::Revoke { lease, reason, .. } => {
                self.revoked(member, lease, reason, now + config.rest, post);
            }
            _ => post.refused.stray += 1,
        }
    }

    fn lease_mut(&mut self, member: MemberId, number: NonZeroU32) -> Option<&mut Lease> {
        let lender = self.lenders.get_mut(&member)?;
        lender.leases.iter_mut().find(|lease| lease.number == number)
    }

    fn granted(
        &mut self,
        now: Instant,
        member: MemberId,
        number: u64,
        grant: &Grant,
        config: &Config,
        post: &mut Post,
    ) {
        let free = self.free_path(config);
        let Some(lender) = self.lenders.get_mut(&member) else { return };
        let Some(session) = lender.stage.session() else { return };
        let lease = lender.leases.iter_mut().find(|lease| lease.number == grant.lease);
        let Some(lease) = lease else {
            // It was given up before the answer came.
            return session.say(post, Body::Release { lease: grant.lease });
        };
        let Some((ends, renew_at)) = lease.end_of(now, grant).filter(|_| lease.received < number)
        else {
            post.refused.stray += 1;
            return;
        };
        let path = match &lease.state {
            State::Asked(_) => free,
            State::Held { path, .. } => Some(*path),
            State::Released(_) => return,
        };
        let Some(path) = path else {
            return lease.release(now, &lender.stage, config, post);
        };
        lease.received = number;
        let peer = session.peer;
        let (uplink, rates) = (lease.uplink, grant.rates);
        let over =
            Over { lender: member, address: peer.address, uplink, lease: grant.lease, rates };
        if lease.report().is_none_or(|held| held.over != over) {
            post.notify(join(path, over));
        }
        let longest = ends.since(renew_at) / RENEWALS;
        let renewal = Retry::starting(renew_at.max(now + config.retry), config.retry, longest);
        lease.state = State::Held { path, over, ends, renewal };
    }

    fn terms(
        &mut self,
        member: MemberId,
        number: u64,
        lease: NonZeroU32,
        rates: Rates,
        post: &mut Post,
    ) {
        let lease = self.lease_mut(member, lease).filter(|lease| lease.received < number);
        let Some(lease) = lease else {
            post.refused.stray += 1;
            return;
        };
        if let State::Held { path, over, .. } = &mut lease.state {
            lease.received = number;
            over.rates = rates;
            post.notify(join(*path, *over));
        }
    }

    fn denied(
        &mut self,
        member: MemberId,
        number: NonZeroU32,
        reason: Denial,
        until: Instant,
        post: &mut Post,
    ) {
        let lease = self.lease_mut(member, number);
        let Some(lease) = lease.filter(|lease| matches!(lease.state, State::Asked(_))) else {
            post.refused.stray += 1;
            return;
        };
        let uplink = lease.uplink;
        post.notify(Event::Denied { lender: member, uplink, reason });
        self.remove(member, number);
        self.rest(member, Some(uplink), until);
    }

    /// The lender says that a lease is over.
    fn over(
        &mut self,
        member: MemberId,
        number: NonZeroU32,
        why: End,
        rest_until: Instant,
        post: &mut Post,
    ) {
        let Some(lease) = self.lease_mut(member, number) else { return };
        lease.report_leave(why, post);
        let (uplink, is_wanted) = (lease.uplink, lease.is_wanted());
        self.remove(member, number);
        if is_wanted {
            self.rest(member, Some(uplink), rest_until);
        }
    }

    fn revoked(
        &mut self,
        member: MemberId,
        lease: NonZeroU32,
        reason: Revocation,
        rest_until: Instant,
        post: &mut Post,
    ) {
        let session = self.lenders.get(&member).and_then(|lender| lender.stage.session());
        if let Some(session) = session {
            session.say(post, Body::Noted { lease });
        }
        self.over(member, lease, End::Revoked(reason), rest_until, post);
    }

    fn remove(&mut self, member: MemberId, number: NonZeroU32) {
        if let Some(lender) = self.lenders.get_mut(&member) {
            lender.leases.retain(|lease| lease.number != number);
        }
    }

    /// Repeats unanswered messages, renews leases that are half over, and drops those that are
    /// over.
    pub(super) fn age_leases(&mut self, now: Instant, config: &Config, post: &mut Post) {
        let mut rests = Vec::new();
        let mut silent = Vec::new();
        for (member, lender) in &mut self.lenders {
            let before = lender.leases.len();
            let Lender { stage, leases, .. } = lender;
            let (Some(session), Some(want)) = (stage.session(), &self.want) else { continue };
            leases.retain_mut(|lease| {
                let stays = lease.age(now, want, session, post);
                if !stays && lease.is_wanted() {
                    rests.push((*member, lease.uplink));
                }
                stays
            });
            if leases.len() < before && leases.is_empty() {
                silent.push(*member);
            }
        }
        for (member, uplink) in rests {
            self.rest(member, Some(uplink), now + config.rest);
        }
        // Whoever does not answer may have been started again.
        for member in silent {
            self.lenders.remove(&member);
        }
    }
}
