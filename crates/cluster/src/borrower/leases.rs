//! Leases as their borrower knows them: asked for, held and renewed, given back.

use super::{Borrower, Lender, Stage};
use crate::config::{Config, Want};
use crate::facts::{End, Event, Held, Over};
use crate::post::Post;
use crate::session::{Retry, Session, TRIES};
use fairwave_units::{Duration, Instant};
use fairwave_wire::cluster::{
    Ask, Body, Cost, Denial, Grant, MemberId, Message, Offer, Rates, Revocation,
};
use std::num::NonZeroU32;

/// Clocks of two hosts may differ by one part in so many: 240 ppm, where crystals stay within 100.
/// A lease is taken to be so much shorter.
const DRIFT: u64 = 4096;
/// Most time to wait after a denial, so that a lender with a wrong clock is tried again.
const LONGEST_REST: Duration = Duration::from_secs(3_600);
/// A renewal is asked for at least so often before the lease is over.
const RENEWALS: u64 = 8;
/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

#[derive(Debug)]
pub(super) struct Lease {
    pub(super) number: NonZeroU32,
    pub(super) uplink: u8,
    pub(super) cost: Cost,
    /// The duration asked for last.
    asked: Duration,
    /// The number of the lender's last message about its rates and its end.
    heard: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No answer yet.
    Asked(Retry),
    /// It is a path.
    Held { path: u8, over: Over, ends: Instant, renewal: Retry },
    /// The lender is being told that it is needed no more.
    Released(Retry),
}

impl Lease {
    /// A new one, which is asked for now.
    pub(super) fn ask(
        now: Instant,
        number: NonZeroU32,
        offer: &Offer,
        want: &Want,
        (config, session, post): (&Config, &Session, &mut Post),
    ) -> Self {
        let state = State::Asked(Retry::new(now, config.retry));
        let Offer { uplink, cost, .. } = *offer;
        let mut lease = Self { number, uplink, cost, asked: want.duration, heard: 0, state };
        lease.say_ask(now, want, session, post);
        lease
    }

    fn say_ask(&mut self, now: Instant, want: &Want, session: &Session, post: &mut Post) {
        let duration_ms = u32::try_from(want.duration.as_millis()).unwrap_or(u32::MAX);
        self.asked = Duration::from_millis(duration_ms.into());
        let at_ms = (now.as_nanos() / MS) as u32;
        let (lease, uplink) = (self.number, self.uplink);
        let Want { rates, bytes, .. } = *want;
        session.say(post, Body::Ask(Ask { lease, uplink, at_ms, rates, bytes, duration_ms }));
    }

    /// Whether it is held, or may be soon.
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self.state, State::Released(_))
    }

    pub(super) fn report(&self) -> Option<Held> {
        let State::Held { path, over, ends, .. } = self.state else { return None };
        Some(Held { path, over, ends })
    }

    pub(super) fn next(&self) -> Instant {
        match &self.state {
            State::Asked(retry) | State::Released(retry) => retry.at,
            State::Held { ends, renewal, .. } => renewal.at.min(*ends),
        }
    }

    /// It is asked for again at once: something else is wanted.
    pub(super) fn hurry(&mut self, now: Instant) {
        if let State::Asked(retry) | State::Held { renewal: retry, .. } = &mut self.state {
            retry.at = now;
        }
    }

    /// The path, if it is one, is used no more.
    pub(super) fn tell_leave(&self, why: End, post: &mut Post) {
        if let State::Held { path, .. } = self.state {
            post.tell(Event::Leave { path, why });
        }
    }

    /// It is needed no more.
    pub(super) fn release(
        &mut self,
        now: Instant,
        stage: &Stage,
        (config, post): (&Config, &mut Post),
    ) {
        self.tell_leave(End::Released, post);
        self.state = State::Released(Retry::new(now, config.retry));
        if let Some(session) = stage.session() {
            session.say(post, Body::Release { lease: self.number });
        }
    }

    /// Takes a grant: when it ends, if that lies ahead. It counts from the asking, which was before
    /// the lender began to count, so that the lender knows of it for longer.
    fn end_of(&self, now: Instant, grant: &Grant) -> Option<(Instant, Instant)> {
        let now_ms = now.as_nanos() / MS;
        let age_ms = (now_ms as u32).wrapping_sub(grant.at_ms);
        let asked_at = Instant::from_nanos(now_ms.checked_sub(age_ms.into())? * MS);
        let granted = Duration::from_millis(grant.duration_ms.get().into());
        let granted = granted.min(self.asked);
        let ends = asked_at + granted.saturating_sub(granted / DRIFT);
        (ends > now).then_some((ends, asked_at + granted / 2))
    }
}

/// What a path of SHAKE is told of rates.
fn join(path: u8, over: Over) -> Event {
    let up = over.rates.up;
    Event::Join { path, nominal: (up.0 > 0).then_some(up), over }
}

impl Borrower {
    /// A message about a lease, which is new and of the session.
    pub(super) fn lease_message(
        &mut self,
        now: Instant,
        message: &Message,
        (config, post): (&Config, &mut Post),
    ) {
        let member = message.from;
        let number = message.number.get();
        match message.body {
            Body::Grant(grant) => self.granted(now, (member, number), &grant, (config, post)),
            Body::Deny { lease, reason, retry_ms } => {
                let wait = Duration::from_millis(retry_ms.into()).min(LONGEST_REST);
                let until = now + wait.max(config.retry);
                self.denied(member, lease, (reason, until), post);
            }
            Body::Terms { lease, rates } => self.terms((member, number), lease, rates, post),
            Body::Over { lease } => {
                self.over(member, lease, (End::Unknown, now + config.rest), post);
            }
            Body::Revoke { lease, reason, .. } => {
                self.revoked(member, lease, (reason, now + config.rest), post);
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
        (member, number): (MemberId, u64),
        grant: &Grant,
        (config, post): (&Config, &mut Post),
    ) {
        let free = self.free_path(config);
        let Some(lender) = self.lenders.get_mut(&member) else { return };
        let Some(session) = lender.stage.session() else { return };
        let lease = lender.leases.iter_mut().find(|lease| lease.number == grant.lease);
        let Some(lease) = lease else {
            // It was given up before the answer came.
            return session.say(post, Body::Release { lease: grant.lease });
        };
        let Some((ends, renew_at)) = lease.end_of(now, grant).filter(|_| lease.heard < number)
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
            return lease.release(now, &lender.stage, (config, post));
        };
        lease.heard = number;
        let peer = session.peer;
        let (uplink, rates) = (lease.uplink, grant.rates);
        let over =
            Over { lender: member, address: peer.address, uplink, lease: grant.lease, rates };
        if lease.report().is_none_or(|held| held.over != over) {
            post.tell(join(path, over));
        }
        let longest = ends.since(renew_at) / RENEWALS;
        let renewal = Retry::starting(renew_at.max(now + config.retry), config.retry, longest);
        lease.state = State::Held { path, over, ends, renewal };
    }

    fn terms(
        &mut self,
        (member, number): (MemberId, u64),
        lease: NonZeroU32,
        rates: Rates,
        post: &mut Post,
    ) {
        let lease = self.lease_mut(member, lease).filter(|lease| lease.heard < number);
        let Some(lease) = lease else {
            post.refused.stray += 1;
            return;
        };
        if let State::Held { path, over, .. } = &mut lease.state {
            lease.heard = number;
            over.rates = rates;
            post.tell(join(*path, *over));
        }
    }

    fn denied(
        &mut self,
        member: MemberId,
        number: NonZeroU32,
        (reason, until): (Denial, Instant),
        post: &mut Post,
    ) {
        let lease = self.lease_mut(member, number);
        let Some(lease) = lease.filter(|lease| matches!(lease.state, State::Asked(_))) else {
            post.refused.stray += 1;
            return;
        };
        let uplink = lease.uplink;
        post.tell(Event::Denied { lender: member, uplink, reason });
        self.remove(member, number);
        self.rest(member, Some(uplink), until);
    }

    /// The lender says that a lease is over.
    fn over(
        &mut self,
        member: MemberId,
        number: NonZeroU32,
        (why, rest_until): (End, Instant),
        post: &mut Post,
    ) {
        let Some(lease) = self.lease_mut(member, number) else { return };
        lease.tell_leave(why, post);
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
        (reason, rest_until): (Revocation, Instant),
        post: &mut Post,
    ) {
        let session = self.lenders.get(&member).and_then(|lender| lender.stage.session());
        if let Some(session) = session {
            session.say(post, Body::Noted { lease });
        }
        self.over(member, lease, (End::Revoked(reason), rest_until), post);
    }

    fn remove(&mut self, member: MemberId, number: NonZeroU32) {
        if let Some(lender) = self.lenders.get_mut(&member) {
            lender.leases.retain(|lease| lease.number != number);
        }
    }

    /// Says again what was not answered, renews what is half over, and gives up what is over.
    pub(super) fn age_leases(&mut self, now: Instant, (config, post): (&Config, &mut Post)) {
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

impl Lease {
    /// Whether it goes on.
    fn age(&mut self, now: Instant, want: &Want, session: &Session, post: &mut Post) -> bool {
        if self.report().is_some_and(|held| held.ends <= now) {
            self.tell_leave(End::Expired, post);
            return false;
        }
        let (most, retry) = match &mut self.state {
            State::Asked(retry) | State::Released(retry) => (TRIES, retry),
            State::Held { renewal, .. } => (u32::MAX, renewal),
        };
        match retry.again(now, most) {
            None => return false,
            Some(false) => {}
            Some(true) if self.is_wanted() => self.say_ask(now, want, session, post),
            Some(true) => session.say(post, Body::Release { lease: self.number }),
        }
        true
    }
}
