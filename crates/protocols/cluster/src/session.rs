//! A session: two members that have proven to each other that they have the key of the cluster, and
//! that packets reach their addresses.

use crate::facts::Refused;
use crate::post::{Addressee, Post};
use fairwave_machine::Replay;
use fairwave_units::{Duration, Instant};
use fairwave_wire::cluster::{Body, Claim, Cookie, MemberId, Message, Role};
use fairwave_wire::seal::{Key, Tag};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Number of times that an unanswered message is sent. Three greetings are no longer than the
/// announcement that called for them.
pub(crate) const TRIES: u32 = 3;
/// For how long a cookie is good, at least; at most for twice as long.
pub(crate) const COOKIE_LIFE: Duration = Duration::from_secs(10);
/// Number of used cookies that are remembered.
const MAX_USED: usize = 256;

/// The start of a member that a number of its messages belongs to.
pub(crate) fn start_of(number: u64) -> u64 {
    number >> 32
}

/// Time at which a message is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    tries: u32,
    wait: Duration,
    longest: Duration,
    pub(crate) at: Instant,
}

impl Retry {
    /// It has been sent once.
    pub(crate) fn new(now: Instant, wait: Duration) -> Self {
        Self { tries: 1, wait, longest: Duration::MAX, at: now + wait }
    }

    /// It will be sent for the first time at `at`, then after `wait`, doubled up to `longest`.
    pub(crate) fn starting(at: Instant, wait: Duration, longest: Duration) -> Self {
        Self { tries: 0, wait: wait / 2, longest: longest.max(wait), at }
    }

    /// Whether it is to be sent once more; `None` if it has been often enough.
    pub(crate) fn again(&mut self, now: Instant, maximum: u32) -> Option<bool> {
        if self.at > now {
            return Some(false);
        }
        if self.tries >= maximum {
            return None;
        }
        self.tries += 1;
        self.wait = (self.wait * 2).min(self.longest);
        self.at = now + self.wait;
        Some(true)
    }
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) peer: Addressee,
    pub(crate) key: Key,
    /// Start of the peer.
    pub(crate) start: u64,
    pub(crate) received: Instant,
    seen: Replay,
    /// This end is leaving.
    pub(crate) leaving: Option<Retry>,
}

impl Session {
    pub(crate) fn new(peer: Addressee, key: Key, start: u64, now: Instant) -> Self {
        Self { peer, key, start, received: now, seen: Replay::default(), leaving: None }
    }

    /// The message, if it is of this session and new.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        claim: &Claim<'_>,
        refused: &mut Refused,
    ) -> Option<Message> {
        let Ok(message) = claim.open(&self.key) else {
            refused.forged += 1;
            return None;
        };
        if !self.seen.admit(message.number) {
            refused.replayed += 1;
            return None;
        }
        self.received = now;
        Some(message)
    }

    pub(crate) fn say(&self, post: &mut Post, body: Body) {
        post.send_within(&self.key, self.peer, body);
    }

    /// Begins to leave, as `by`.
    pub(crate) fn leave(&mut self, now: Instant, retry: Duration, by: Role, post: &mut Post) {
        if self.leaving.is_none() {
            self.say(post, Body::Leave { by });
            self.leaving = Some(Retry::new(now, retry));
        }
    }

    /// Says again that it leaves, when that is due; whether it has done so in vain.
    pub(crate) fn is_left(&mut self, now: Instant, by: Role, post: &mut Post) -> bool {
        let Some(retry) = &mut self.leaving else { return false };
        match retry.again(now, TRIES) {
            None => return true,
            Some(false) => {}
            Some(true) => self.say(post, Body::Leave { by }),
        }
        false
    }

    /// Time at which it is over without a further message.
    pub(crate) fn ends(&self, idle: Duration) -> Instant {
        self.leaving.map_or(self.received + idle, |retry| retry.at.min(self.received + idle))
    }
}

/// Cookies: the answer to a greeting has a value that its sender can only return if packets reach
/// its address, and that this end recognises without keeping anything.
#[derive(Debug, Default)]
pub(crate) struct Cookies {
    /// Used cookies, and the end of their validity.
    used: VecDeque<(Instant, Cookie)>,
}

/// Identity of the greeting host: part of a cookie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greeting {
    pub(crate) member: MemberId,
    pub(crate) address: SocketAddr,
    pub(crate) nonce: u64,
}

impl Cookies {
    /// The cookie for a greeting that comes now.
    pub(crate) fn make(secret: &Key, greeting: &Greeting, now: Instant) -> Cookie {
        Self::of(secret, greeting, now.as_nanos() / COOKIE_LIFE.as_nanos())
    }

    fn of(secret: &Key, greeting: &Greeting, age: u64) -> Cookie {
        let address: [u8; 16] = match greeting.address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        let port = greeting.address.port().to_be_bytes();
        let numbers = [greeting.member.0.get(), greeting.nonce, age].map(u64::to_be_bytes);
        let parts: [&[u8]; 5] = [&address, &port, &numbers[0], &numbers[1], &numbers[2]];
        let Tag(cookie) = secret.tag("fairwave cluster cookie", &parts);
        cookie
    }

    /// Whether the cookie is one made for this greeting, not long ago, and not used.
    pub(crate) fn is_good(
        &self,
        secret: &Key,
        greeting: &Greeting,
        cookie: &Cookie,
        now: Instant,
    ) -> bool {
        let age = now.as_nanos() / COOKIE_LIFE.as_nanos();
        let ages = [Some(age), age.checked_sub(1)];
        let is_own = ages.iter().flatten().any(|age| Self::of(secret, greeting, *age) == *cookie);
        is_own && !self.used.iter().any(|(_, used)| used == cookie)
    }

    /// Whether one more can be remembered.
    pub(crate) fn has_room(&self) -> bool {
        self.used.len() < MAX_USED
    }

    pub(crate) fn use_up(&mut self, cookie: Cookie, now: Instant) {
        self.used.push_back((now + COOKIE_LIFE * 2, cookie));
    }

    pub(crate) fn len(&self) -> usize {
        self.used.len()
    }

    /// Time at which the oldest is no good any more.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.used.front().map(|(until, _)| *until)
    }

    pub(crate) fn age(&mut self, now: Instant) {
        while self.used.front().is_some_and(|(until, _)| *until <= now) {
            self.used.pop_front();
        }
    }
}
