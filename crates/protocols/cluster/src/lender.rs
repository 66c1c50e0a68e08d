//! The lender's side: sessions with borrowers, and their leases.

mod carry;
mod days;
mod lease;
mod leases;
mod link;

use crate::bucket::Bucket;
use crate::config::{Config, Power, Uplinks};
use crate::facts::{Census, End, Lent};
use crate::post::{Addressee, Post};
use crate::session::{Cookies, Greeting, Session, start_of};
use days::Days;
use fairwave_units::{BitRate, Instant};
use fairwave_wire::cluster::{
    Body, Claim, Cookie, Cost, HELLO_LEN, Meeting, MemberId, Offer, Offers, Refusal, Revocation,
    Role,
};
use lease::Lease;
use link::Link;
use std::collections::BTreeMap;

/// A borrower with a session.
#[derive(Debug)]
struct Client {
    session: Session,
    /// The cookie that it came with, and the number of the message that brought it.
    cookie: Cookie,
    made_by: u64,
    /// The highest number of a lease so far.
    highest: u32,
    leases: Vec<Lease>,
}

/// All about lending.
#[derive(Debug)]
pub(crate) struct Lender {
    links: Vec<Link>,
    clients: BTreeMap<MemberId, Client>,
    cookies: Cookies,
    days: Days,
    /// Bytes that strangers may be sent.
    strangers: Bucket,
    power: Option<Power>,
    review_at: Option<Instant>,
    /// Whether the free capacity has changed since the last question.
    is_changed: bool,
}

impl Lender {
    pub(crate) fn new(config: &Config, now: Instant) -> Self {
        let rate = u64::from(config.strangers_per_second) * HELLO_LEN as u64 * 8;
        Self {
            links: Vec::new(),
            clients: BTreeMap::new(),
            cookies: Cookies::default(),
            days: Days::new(config.midnight),
            strangers: Bucket::new(BitRate(rate), now),
            power: None,
            review_at: None,
            is_changed: false,
        }
    }

    /// Returns whether the free capacity has changed since the last question.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Returns the offers, for an announcement.
    pub(crate) fn offers(&self, config: &Config) -> Offers {
        let mut offers = Offers::default();
        for link in self.links.iter().filter(|link| self.may_lend(link, config)) {
            let number = link.is.number;
            let (mut free, mut places) = (link.capacity(), link.is.limits.borrowers);
            for lease in self.leases_of(number) {
                free.up.0 = free.up.0.saturating_sub(lease.rates.up.0);
                free.down.0 = free.down.0.saturating_sub(lease.rates.down.0);
                places = places.saturating_sub(1);
            }
            let nominal = link.is.nominal;
            offers.push(Offer {
                uplink: number,
                kind: link.is.kind,
                cost: link.is.cost,
                places,
                rtt_us: link.is.rtt_us,
                nominal,
                free: free.stricter(nominal),
            });
        }
        offers
    }

    /// Returns whether this number of bytes may be sent to a stranger now.
    pub(crate) fn may_answer(&mut self, now: Instant, len: usize, post: &mut Post) -> bool {
        let may = self.strangers.has(now, len as u64);
        if may {
            self.strangers.take(now, len as u64);
        } else {
            post.refused.strangers += 1;
        }
        may
    }

    pub(crate) fn lent(&self) -> impl Iterator<Item = Lent> {
        self.clients
            .iter()
            .flat_map(|(member, client)| client.leases.iter().map(|lease| lease.report(*member)))
    }

    pub(crate) fn carried_today(&self, uplink: u8) -> u64 {
        self.days.total(uplink)
    }

    pub(crate) fn count(&self, census: &mut Census) {
        census.borrowers = self.clients.len();
        census.lent = self.clients.values().map(|client| client.leases.len()).sum();
        census.cookies = self.cookies.len();
    }

    pub(crate) fn lend(
        &mut self,
        now: Instant,
        uplinks: Uplinks,
        config: &Config,
        post: &mut Post,
    ) {
        self.days.turn(now);
        let uplinks = uplinks.into_vec();
        for link in &mut self.links {
            link.is_offered = false;
        }
        for uplink in uplinks {
            self.days.at_least(uplink.number, uplink.carried_today);
            match self.links.iter_mut().find(|link| link.is.number == uplink.number) {
                Some(link) => link.change(uplink, now),
                None => self.links.push(Link::new(uplink, now)),
            }
        }
        self.links.sort_by_key(|link| link.is.number);
        self.revoke_beyond_limits(now, config, post);
    }

    pub(crate) fn power(&mut self, now: Instant, power: Power, config: &Config, post: &mut Post) {
        self.power = Some(power);
        self.revoke_beyond_limits(now, config, post);
    }

    /// After a change of the limits of lending: revokes leases beyond them.
    fn revoke_beyond_limits(&mut self, now: Instant, config: &Config, post: &mut Post) {
        for index in 0..self.links.len() {
            let link = &self.links[index];
            if !self.may_lend(link, config) {
                let withdrawn = !link.is_offered;
                let why = if withdrawn { Revocation::Withdrawn } else { Revocation::Policy };
                self.revoke_all(now, link.is.number, why, config, post);
            }
        }
        self.drop_links();
        self.share_all(now, post);
        self.is_changed = true;
    }

    fn may_lend(&self, link: &Link, config: &Config) -> bool {
        let low = |power: Power| !power.charging && power.percent < config.min_battery;
        let affordable = config.lend_metered || link.is.cost == Cost::Flat;
        link.is_offered && affordable && !self.power.is_some_and(low)
    }

    /// Whether anything is lent.
    pub(crate) fn is_open(&self, config: &Config) -> bool {
        self.links.iter().any(|link| self.may_lend(link, config))
    }

    /// Uplinks that are not lent any more go with their last lease.
    fn drop_links(&mut self) {
        let clients = &self.clients;
        let is_used = |number| {
            clients.values().flat_map(|client| &client.leases).any(|lease| lease.uplink == number)
        };
        self.links.retain(|link| link.is_offered || is_used(link.is.number));
    }

    /// A greeting whose seal fits.
    pub(crate) fn hello(
        &mut self,
        now: Instant,
        from: Addressee,
        nonce: u64,
        config: &Config,
        post: &mut Post,
    ) {
        let greeting = Greeting { member: from.member, address: from.address, nonce };
        let answer = if self.is_open(config) {
            Body::Challenge { nonce, cookie: Cookies::make(&post.secret, &greeting, now) }
        } else {
            Body::Refuse { nonce, reason: Refusal::NotLending }
        };
        if self.may_answer(now, answer.message_len(), post) {
            post.send(from, answer);
        }
    }

    /// A response, whose seal has not been checked.
    pub(crate) fn response(
        &mut self,
        now: Instant,
        claim: &Claim<'_>,
        greeting: &Greeting,
        cookie: Cookie,
        config: &Config,
        post: &mut Post,
    ) {
        let Greeting { member, address, nonce } = *greeting;
        let key = Meeting { borrower: member, lender: post.id, nonce, cookie }.key(&post.key);
        let Ok(message) = claim.open(&key) else {
            post.refused.forged += 1;
            return;
        };
        if let Some(client) = self.clients.get_mut(&member).filter(|c| c.cookie == cookie) {
            // The welcome was lost.
            if client.session.open(now, claim, &mut post.refused).is_some() {
                client.session.say(post, Body::Welcome);
            }
            return;
        }
        let peer = Addressee { member, address };
        let number = message.number.get();
        if self.clients.get(&member).is_some_and(|client| client.made_by >= number) {
            post.refused.replayed += 1;
        } else if !self.cookies.is_good(&post.secret, greeting, &cookie, now) {
            post.refused.cookie += 1;
            self.refuse(now, peer, nonce, Refusal::Cookie, post);
        } else if !self.is_open(config) {
            self.refuse(now, peer, nonce, Refusal::NotLending, post);
        } else if !self.make_room(now, peer, config, post) {
            post.refused.busy += 1;
            self.refuse(now, peer, nonce, Refusal::Busy, post);
        } else {
            self.cookies.use_up(cookie, now);
            let mut session = Session::new(peer, key, start_of(number), now);
            session.open(now, claim, &mut post.refused);
            session.say(post, Body::Welcome);
            let client =
                Client { session, cookie, made_by: number, highest: 0, leases: Vec::new() };
            self.clients.insert(member, client);
        }
    }

    fn refuse(
        &mut self,
        now: Instant,
        to: Addressee,
        nonce: u64,
        reason: Refusal,
        post: &mut Post,
    ) {
        let answer = Body::Refuse { nonce, reason };
        if self.may_answer(now, answer.message_len(), post) {
            post.send(to, answer);
        }
    }

    /// Whether there is room for a session, when the one that this member had is over, and a
    /// session without leases if that must be.
    fn make_room(
        &mut self,
        now: Instant,
        peer: Addressee,
        config: &Config,
        post: &mut Post,
    ) -> bool {
        self.drop_client(now, peer.member, post);
        let ip = peer.address.ip();
        let at_ip = |client: &&Client| client.session.peer.address.ip() == ip;
        let is_crowd = self.clients.values().filter(at_ip).count() >= config.max_per_address;
        let is_full = self.clients.len() >= config.max_sessions;
        if is_crowd || is_full {
            let idle = self.clients.values().filter(|client| client.leases.is_empty());
            let idle = idle.filter(|client| !is_crowd || at_ip(client));
            let oldest =
                idle.min_by_key(|client| (client.session.received, client.session.peer.member));
            let Some(oldest) = oldest.map(|client| client.session.peer.member) else {
                return false;
            };
            self.drop_client(now, oldest, post);
        }
        self.cookies.has_room()
    }

    /// A session is over: frees its leases.
    fn drop_client(&mut self, now: Instant, member: MemberId, post: &mut Post) {
        let Some(client) = self.clients.remove(&member) else { return };
        for lease in &client.leases {
            lease.report_end(member, End::Left, post);
        }
        if !client.leases.is_empty() {
            self.freed(now, post);
        }
    }

    /// Something was given back: the others share it.
    fn freed(&mut self, now: Instant, post: &mut Post) {
        self.drop_links();
        self.share_all(now, post);
        self.is_changed = true;
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
        let Some(client) = self.clients.get_mut(&member) else {
            post.refused.no_session += 1;
            return;
        };
        let Some(message) = client.session.open(now, claim, &mut post.refused) else { return };
        match message.body {
            Body::Leave { .. } => {
                client.session.say(post, Body::Left { by: Role::Lender });
                self.drop_client(now, member, post);
            }
            Body::Left { .. } if client.session.leaving.is_some() => {
                self.clients.remove(&member);
            }
            _ if client.session.leaving.is_some() => {}
            Body::LeaseRequest(ask) => self.ask(now, member, &ask, config, post),
            Body::Release { lease } => self.release(now, member, lease, post),
            Body::Noted { lease } => self.noted(member, lease),
            _ => post.refused.stray += 1,
        }
    }

    /// This end leaves all sessions.
    pub(crate) fn leave(&mut self, now: Instant, config: &Config, post: &mut Post) {
        for (member, client) in &mut self.clients {
            for lease in client.leases.drain(..) {
                lease.report_end(*member, End::Left, post);
            }
            client.session.leave(now, config.retry, Role::Lender, post);
        }
        self.links.clear();
        self.is_changed = true;
    }

    pub(crate) fn age(&mut self, now: Instant, config: &Config, post: &mut Post) {
        self.cookies.age(now);
        self.age_leases(now, post);
        let mut over = Vec::new();
        for (member, client) in &mut self.clients {
            let session = &mut client.session;
            let is_idle = client.leases.is_empty() && session.received + config.session_idle <= now;
            if is_idle || session.is_left(now, Role::Lender, post) {
                over.push(*member);
            }
        }
        for member in over {
            self.drop_client(now, member, post);
        }
        if self.review_at.is_some_and(|at| at <= now) {
            self.review(now, config, post);
        }
    }

    pub(crate) fn next(&self, config: &Config) -> Option<Instant> {
        let sessions = self.clients.values().map(|client| {
            let leases = client.leases.iter().map(Lease::next).min();
            leases.unwrap_or_else(|| client.session.ends(config.session_idle))
        });
        sessions.chain(self.cookies.next()).chain(self.review_at).min()
    }
}
