//! One lease as its borrower knows it: asked for, held and renewed, given back.

use super::stage::Stage;
use crate::config::{Config, Want};
use crate::facts::{End, Event, Held, Over};
use crate::post::Post;
use crate::session::{Retry, Session, TRIES};
use fairwave_units::{Duration, Instant};
use fairwave_wire::cluster::{Body, Cost, Grant, LeaseRequest, Offer};
use std::num::NonZeroU32;

/// Clocks of two hosts may differ by one part in this number: 240 ppm, where crystals stay within
/// 100. A lease is taken to be shorter by it.
pub(super) const DRIFT: u64 = 4096;

/// Maximum time to wait after a denial, so that a lender with a wrong clock is tried again.
pub(super) const LONGEST_REST: Duration = Duration::from_secs(3_600);

/// A renewal is asked for at least so often before the lease is over.
pub(super) const RENEWALS: u64 = 8;

/// Nanoseconds of a millisecond.
pub(super) const MS: u64 = 1_000_000;

#[derive(Debug)]
pub(super) struct Lease {
    pub(super) number: NonZeroU32,
    pub(super) uplink: u8,
    pub(super) cost: Cost,
    /// The duration asked for last.
    pub(super) asked: Duration,
    /// The number of the lender's last message about its rates and its end.
    pub(super) received: u64,
    pub(super) state: State,
}

#[derive(Debug)]
pub(super) enum State {
    /// No answer yet.
    Asked(Retry),
    /// It is a path.
    Held { path: u8, over: Over, ends: Instant, renewal: Retry },
    /// The lender is being notified that it is needed no more.
    Released(Retry),
}

impl Lease {
    /// A new one, which is asked for now.
    pub(super) fn ask(
        now: Instant,
        number: NonZeroU32,
        offer: &Offer,
        want: &Want,
        config: &Config,
        session: &Session,
        post: &mut Post,
    ) -> Self {
        let state = State::Asked(Retry::new(now, config.retry));
        let Offer { uplink, cost, .. } = *offer;
        let mut lease = Self { number, uplink, cost, asked: want.duration, received: 0, state };
        lease.send_request(now, want, session, post);
        lease
    }

    pub(super) fn send_request(
        &mut self,
        now: Instant,
        want: &Want,
        session: &Session,
        post: &mut Post,
    ) {
        let duration_ms = u32::try_from(want.duration.as_millis()).unwrap_or(u32::MAX);
        self.asked = Duration::from_millis(duration_ms.into());
        let at_ms = (now.as_nanos() / MS) as u32;
        let (lease, uplink) = (self.number, self.uplink);
        let Want { rates, bytes, .. } = *want;
        session.say(
            post,
            Body::LeaseRequest(LeaseRequest { lease, uplink, at_ms, rates, bytes, duration_ms }),
        );
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

    /// It is requested again at once: something else is wanted.
    pub(super) fn hurry(&mut self, now: Instant) {
        if let State::Asked(retry) | State::Held { renewal: retry, .. } = &mut self.state {
            retry.at = now;
        }
    }

    /// The path, if it is one, is used no more.
    pub(super) fn report_leave(&self, why: End, post: &mut Post) {
        if let State::Held { path, .. } = self.state {
            post.notify(Event::Leave { path, why });
        }
    }

    /// It is needed no more.
    pub(super) fn release(
        &mut self,
        now: Instant,
        stage: &Stage,
        config: &Config,
        post: &mut Post,
    ) {
        self.report_leave(End::Released, post);
        self.state = State::Released(Retry::new(now, config.retry));
        if let Some(session) = stage.session() {
            session.say(post, Body::Release { lease: self.number });
        }
    }

    /// Takes a grant: when it ends, if that lies ahead. It counts from the asking, which was before
    /// the lender began to count, so that the lender knows of it for longer.
    pub(super) fn end_of(&self, now: Instant, grant: &Grant) -> Option<(Instant, Instant)> {
        let now_ms = now.as_nanos() / MS;
        let age_ms = (now_ms as u32).wrapping_sub(grant.at_ms);
        let requested_at = Instant::from_nanos(now_ms.checked_sub(age_ms.into())? * MS);
        let granted = Duration::from_millis(grant.duration_ms.get().into());
        let granted = granted.min(self.asked);
        let ends = requested_at + granted.saturating_sub(granted / DRIFT);
        (ends > now).then_some((ends, requested_at + granted / 2))
    }
}

/// Rates for a path of SHAKE.
pub(super) fn join(path: u8, over: Over) -> Event {
    let up = over.rates.up;
    Event::Join { path, nominal: (up.0 > 0).then_some(up), over }
}

impl Lease {
    /// Whether it continues.
    pub(super) fn age(
        &mut self,
        now: Instant,
        want: &Want,
        session: &Session,
        post: &mut Post,
    ) -> bool {
        if self.report().is_some_and(|held| held.ends <= now) {
            self.report_leave(End::Expired, post);
            return false;
        }
        let (max, retry) = match &mut self.state {
            State::Asked(retry) | State::Released(retry) => (TRIES, retry),
            State::Held { renewal, .. } => (u32::MAX, renewal),
        };
        match retry.again(now, max) {
            None => return false,
            Some(false) => {}
            Some(true) if self.is_wanted() => self.send_request(now, want, session, post),
            Some(true) => session.say(post, Body::Release { lease: self.number }),
        }
        true
    }
}
