//! The borrower's side: sessions with lenders, and the leases that are wanted, asked for and held.

mod lease;
mod leases;
mod stage;

use crate::config::{Config, Want};
use crate::facts::{Census, End, Event, Held};
use crate::neighbours::{Known, Neighbours};
use crate::post::{Addressee, Post};
use crate::session::{Retry, Session, start_of};
use fairwave_units::Instant;
use fairwave_wire::cluster::{
    Body, Claim, Cookie, Cost, Meeting, MemberId, Message, Offer, Refusal, Role,
};
use lease::Lease;
use stage::Stage;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Maximum number of lenders and uplinks that rest at once. Beyond that the ones whose rest ends
/// first are tried before it does.
const MAX_RESTING: usize = 256;

/// A lender that is being called, or has given a session.
#[derive(Debug)]
struct Lender {
    stage: Stage,
    /// The highest number of a lease asked for.
    highest: u32,
    leases: Vec<Lease>,
}

/// All about borrowing.
#[derive(Debug)]
pub(crate) struct Borrower {
    want: Option<Want>,
    lenders: BTreeMap<MemberId, Lender>,
    /// Uplinks, or all of a lender, that are not asked for until then.
    resting: BTreeMap<(MemberId, Option<u8>), Instant>,
}

impl Borrower {
    pub(crate) fn new() -> Self {
        Self { want: None, lenders: BTreeMap::new(), resting: BTreeMap::new() }
    }

    /// Whether anything is wanted.
    pub(crate) fn wants(&self) -> bool {
        self.want.is_some()
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = Held> {
        self.lenders.values().flat_map(|lender| lender.leases.iter().filter_map(Lease::report))
    }

    pub(crate) fn count(&self, census: &mut Census) {
        census.lenders = self.lenders.len();
        census.held = self.lenders.values().map(|lender| lender.leases.len()).sum();
        census.resting = self.resting.len();
    }

    /// Something else is wanted from now on.
    pub(crate) fn want(
        &mut self,
        now: Instant,
        want: Option<Want>,
        config: &Config,
        post: &mut Post,
    ) {
        self.want = want.filter(|want| want.uplinks > 0);
        self.resting.clear();
        let Some(want) = self.want else { return self.leave(now, config, post) };
        let mut keep = usize::from(want.uplinks);
        for lender in self.lenders.values_mut() {
            for lease in lender.leases.iter_mut().filter(|lease| lease.is_wanted()) {
                if keep == 0 || (lease.cost == Cost::Metered && !want.metered) {
                    lease.release(now, &lender.stage, config, post);
                } else {
                    keep -= 1;
                    lease.hurry(now);
                }
            }
        }
        self.age(now, config, post);
    }

    /// Gives everything back, and leaves all sessions.
    fn leave(&mut self, now: Instant, config: &Config, post: &mut Post) {
        for lender in self.lenders.values_mut() {
            for lease in lender.leases.drain(..) {
                lease.report_leave(End::Left, post);
            }
            if let Stage::Open(session) | Stage::Answering { session, .. } = &mut lender.stage {
                session.leave(now, config.retry, Role::Borrower, post);
            }
        }
        self.lenders.retain(|_, lender| !matches!(lender.stage, Stage::Greeting { .. }));
    }

    /// A lender was found, or has started again: then it knows nothing of a session.
    pub(crate) fn found(&mut self, member: MemberId, number: u64, post: &mut Post) {
        let is_stale = self.lenders.get(&member).is_some_and(|lender| {
            lender.stage.session().is_some_and(|session| session.start < start_of(number))
        });
        if is_stale {
            self.forget(member, End::Left, post);
        }
        self.resting.retain(|(resting, _), _| *resting != member);
    }

    fn forget(&mut self, member: MemberId, why: End, post: &mut Post) {
        let Some(lender) = self.lenders.remove(&member) else { return };
        for lease in &lender.leases {
            lease.report_leave(why, post);
        }
    }

    /// A challenge whose seal fits.
    pub(crate) fn challenge(
        &mut self,
        now: Instant,
        message: &Message,
        nonce: u64,
        cookie: Cookie,
        config: &Config,
        post: &mut Post,
    ) {
        let member = message.from;
        let stage = self.lenders.get_mut(&member).map(|lender| &mut lender.stage);
        let requested = stage.filter(|stage| stage.nonce() == Some(nonce));
        let Some(stage) = requested else {
            post.refused.stray += 1;
            return;
        };
        let number = message.number.get();
        if matches!(stage, Stage::Answering { number: last, .. } if *last >= number) {
            post.refused.replayed += 1;
            return;
        }
        let peer = stage.peer();
        let key = Meeting { borrower: post.id, lender: member, nonce, cookie }.key(&post.key);
        let session = Session::new(peer, key, start_of(number), now);
        session.say(post, Body::Response { nonce, cookie });
        let retry = Retry::new(now, config.retry);
        *stage = Stage::Answering { nonce, number, cookie, session, retry };
    }

    /// A refusal whose seal fits.
    pub(crate) fn refused(
        &mut self,
        now: Instant,
        lender: MemberId,
        nonce: u64,
        reason: Refusal,
        config: &Config,
        post: &mut Post,
    ) {
        let stage = self.lenders.get(&lender).map(|lender| &lender.stage);
        if stage.is_none_or(|stage| stage.nonce() != Some(nonce)) {
            post.refused.stray += 1;
            return;
        }
        self.lenders.remove(&lender);
        self.rest(lender, None, now + config.rest);
        post.notify(Event::Refused { lender, reason });
    }

    /// A message of a session, whose seal has not been checked.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        claim: &Claim<'_>,
        config: &Config,
        post: &mut Post,
    ) {
        let member = claim.unchecked().from;
        let session = self.lenders.get_mut(&member).and_then(|lender| lender.stage.session_mut());
        let Some(session) = session else {
            post.refused.no_session += 1;
            return;
        };
        let Some(message) = session.open(now, claim, &mut post.refused) else { return };
        match message.body {
            Body::Leave { .. } => {
                session.say(post, Body::Left { by: Role::Borrower });
                self.forget(member, End::Left, post);
                self.rest(member, None, now + config.rest);
            }
            Body::Left { .. } if session.leaving.is_some() => {
                self.lenders.remove(&member);
            }
            _ if session.leaving.is_some() => {}
            Body::Welcome => self.welcome(member),
            _ => self.lease_message(now, &message, config, post),
        }
    }

    fn welcome(&mut self, member: MemberId) {
        let Some(mut lender) = self.lenders.remove(&member) else { return };
        if let Stage::Answering { session, .. } = lender.stage {
            lender.stage = Stage::Open(session);
        }
        self.lenders.insert(member, lender);
    }

    fn rest(&mut self, member: MemberId, uplink: Option<u8>, until: Instant) {
        self.resting.insert((member, uplink), until);
        if self.resting.len() > MAX_RESTING {
            let first = self.resting.iter().min_by_key(|(place, until)| (**until, **place));
            if let Some(place) = first.map(|(place, _)| *place) {
                self.resting.remove(&place);
            }
        }
    }

    pub(crate) fn age(&mut self, now: Instant, config: &Config, post: &mut Post) {
        self.resting.retain(|_, until| *until > now);
        self.age_leases(now, config, post);
        let mut gone = Vec::new();
        for (member, lender) in &mut self.lenders {
            let is_over = lender.stage.age(now, post);
            let is_idle = lender.leases.is_empty() && lender.stage.is_idle(now, config);
            if is_over || is_idle {
                gone.push(*member);
            }
        }
        for member in gone {
            self.forget(member, End::Expired, post);
        }
    }

    pub(crate) fn next(&self, config: &Config) -> Option<Instant> {
        let rests = self.resting.values().copied();
        let lenders = self.lenders.values().flat_map(|lender| {
            let leases = lender.leases.iter().map(Lease::next);
            let stage = lender.stage.next(config, lender.leases.is_empty());
            leases.chain(stage)
        });
        lenders.chain(rests).min()
    }

    /// Calls lenders and asks for leases, as many as are wanted, of the widest uplinks first.
    pub(crate) fn pursue(
        &mut self,
        now: Instant,
        neighbours: &mut Neighbours,
        config: &Config,
        post: &mut Post,
    ) {
        let Some(want) = self.want else { return };
        let held = self.lenders.values().flat_map(|lender| &lender.leases);
        let mut have = held.filter(|lease| lease.is_wanted()).count();
        for (member, offer) in self.candidates(neighbours, &want) {
            if have >= usize::from(want.uplinks) {
                return;
            }
            have += usize::from(self.approach(now, member, &offer, neighbours, config, post));
        }
    }

    /// Returns the fitting offers, the widest first, then the nearest.
    fn candidates(&self, neighbours: &Neighbours, want: &Want) -> Vec<(MemberId, Offer)> {
        let offers = neighbours
            .iter()
            .flat_map(|Known { is, .. }| is.offers.iter().map(|offer| (is.member, *offer)));
        let fits = |(member, offer): &(MemberId, Offer)| {
            let affordable = want.metered || offer.cost == Cost::Flat;
            let leases = self.lenders.get(member).map(|lender| lender.leases.as_slice());
            let has = leases.unwrap_or_default().iter().any(|lease| lease.uplink == offer.uplink);
            let places = [None, Some(offer.uplink)].map(|uplink| (*member, uplink));
            let rests = places.iter().any(|place| self.resting.contains_key(place));
            affordable && offer.places > 0 && !has && !rests
        };
        let mut fitting: Vec<_> = offers.filter(fits).collect();
        fitting.sort_by_key(|(member, offer)| {
            let useful = offer.free.stricter(want.rates);
            let width = u128::from(useful.up.0) + u128::from(useful.down.0);
            let rtt = offer.rtt_us.map_or(u32::MAX, NonZeroU32::get);
            (Reverse(width), rtt, *member, offer.uplink)
        });
        fitting
    }

    /// The next step to a lease of this uplink; whether one may come of it.
    fn approach(
        &mut self,
        now: Instant,
        member: MemberId,
        offer: &Offer,
        neighbours: &mut Neighbours,
        config: &Config,
        post: &mut Post,
    ) -> bool {
        let is_full = self.lenders.len() >= config.max_members;
        match self.lenders.get_mut(&member) {
            Some(lender) => {
                if lender.stage.is_leaving() {
                    return false;
                }
                if let (Stage::Open(session), Some(want)) = (&lender.stage, &self.want) {
                    let number = lender.highest.checked_add(1).and_then(NonZeroU32::new);
                    let Some(number) = number else { return false };
                    lender.highest = number.get();
                    let lease = Lease::ask(now, number, offer, want, config, session, post);
                    lender.leases.push(lease);
                }
                true
            }
            None if is_full => false,
            None => {
                let Some(address) = neighbours.greet(member) else { return false };
                let (peer, nonce) = (Addressee { member, address }, post.nonce());
                post.send(peer, Body::Hello { nonce });
                let retry = Retry::new(now, config.retry);
                let stage = Stage::Greeting { peer, nonce, retry };
                self.lenders.insert(member, Lender { stage, highest: 0, leases: Vec::new() });
                true
            }
        }
    }

    /// The lowest path id that is free.
    fn free_path(&self, config: &Config) -> Option<u8> {
        let used: Vec<u8> = self.held().map(|held| held.path).collect();
        (config.first_path..=u8::MAX).find(|path| !used.contains(path))
    }
}
