//! A member: sorts its inputs, and sends the messages to all.

use crate::borrower::Borrower;
use crate::config::{Config, ConfigError};
use crate::facts::{
    Census, Event, Excess, Held, Input, LeaseId, Lent, Neighbour, Output, Refused, Way,
};
use crate::lender::Lender;
use crate::neighbours::{Announcement, Neighbours};
use crate::pace::Pace;
use crate::post::{Addressee, Post};
use crate::session::Greeting;
use core::fmt;
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use fairwave_wire::cluster::{self, ANNOUNCE_LEN, Announce, Body, Claim, Message, Role};
use fairwave_wire::seal::Key;
use std::net::SocketAddr;
use std::num::NonZeroU16;

/// A host of a cluster: it lends, borrows, or both. See the crate's documentation.
pub struct Member {
    config: Config,
    post: Post,
    neighbours: Neighbours,
    lender: Lender,
    borrower: Borrower,
    announcements: Pace,
    queries: Pace,
}

impl Member {
    /// Makes a member that lends nothing and wants nothing yet. `key` is that of the cluster,
    /// `secret` one that was drawn at random for this start and is known to no other host.
    ///
    /// # Errors
    /// If its times are out of bounds.
    pub fn new(config: Config, key: Key, secret: Key, now: Instant) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            post: Post::new(config.id, config.start, key, secret),
            neighbours: Neighbours::default(),
            lender: Lender::new(&config, now),
            borrower: Borrower::new(),
            announcements: Pace::new(config.first_interval, config.announce_every),
            queries: Pace::new(config.first_interval, config.query_every),
            config,
        })
    }

    /// Whether a packet of `bytes` may go over a lease now; if so it is accounted for. Afterwards
    /// the machine may have something to transmit.
    ///
    /// # Errors
    /// [`Excess`] says why not; the packet is to be dropped.
    pub fn carry(
        &mut self,
        now: Instant,
        lease: LeaseId,
        way: Way,
        bytes: u64,
    ) -> Result<(), Excess> {
        self.lender.carry(now, lease, way, bytes, &self.config, &mut self.post)
    }

    /// Records that the host itself has sent or received this number of bytes over one of its
    /// uplinks. Its own traffic needs no permission: it comes first, and borrowers get the rest.
    pub fn own(&mut self, now: Instant, uplink: u8, way: Way, bytes: u64) {
        self.lender.own(now, uplink, way, bytes);
    }

    /// Bytes that went over an uplink for others today.
    #[must_use]
    pub fn carried_today(&self, uplink: u8) -> u64 {
        self.lender.carried_today(uplink)
    }

    /// The leases that it has given.
    pub fn lent(&self) -> impl Iterator<Item = Lent> {
        self.lender.lent()
    }

    /// The leases that it has.
    pub fn held(&self) -> impl Iterator<Item = Held> {
        self.borrower.held()
    }

    /// Returns the announced lenders.
    pub fn neighbours(&self) -> impl Iterator<Item = Neighbour> {
        self.neighbours.iter().map(|known| known.is)
    }

    /// Returns the amount of its state about others.
    #[must_use]
    pub fn census(&self) -> Census {
        let mut census = Census { members: self.neighbours.len(), ..Census::default() };
        self.lender.count(&mut census);
        self.borrower.count(&mut census);
        census
    }

    /// Returns the counts of refusals.
    #[must_use]
    pub fn refused(&self) -> Refused {
        self.post.refused
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let Ok(claim) = cluster::parse(bytes) else {
            self.post.refused.malformed += 1;
            return;
        };
        let Message { cluster, from: sender, to, body, .. } = *claim.unchecked();
        let (config, post) = (&self.config, &mut self.post);
        let refused = &mut post.refused;
        if cluster != post.cluster {
            refused.foreign += 1;
        } else if sender == post.id {
            refused.own += 1;
        } else if to.is_some_and(|to| to != post.id) {
            refused.misdirected += 1;
        } else {
            match (body.sealing_role(), body) {
                (None, _) => self.receive_public(now, from, &claim),
                (Some(Role::Borrower), Body::Response { nonce, cookie }) => {
                    let greeting = Greeting { member: sender, address: from, nonce };
                    self.lender.response(now, &claim, &greeting, cookie, config, post);
                }
                (Some(Role::Borrower), _) => self.lender.take(now, &claim, config, post),
                (Some(Role::Lender), _) => self.borrower.take(now, &claim, config, post),
            }
        }
    }

    /// Handles messages sealed with the key of the cluster.
    fn receive_public(&mut self, now: Instant, from: SocketAddr, claim: &Claim<'_>) {
        let Ok(message) = claim.open(&self.post.key) else {
            self.post.refused.forged += 1;
            return;
        };
        let (member, number) = (message.from, message.number.get());
        let (config, post) = (&self.config, &mut self.post);
        match message.body {
            Body::Announce(announce) => {
                let received =
                    self.neighbours.take_announcement(now, from, &message, &announce, config, post);
                if received == Announcement::Anew {
                    self.borrower.found(member, number, post);
                }
            }
            Body::Goodbye => self.neighbours.dismiss(member, number, post),
            Body::Query => self.answer(now, Addressee { member, address: from }),
            Body::Hello { nonce } => {
                self.lender.hello(now, Addressee { member, address: from }, nonce, config, post);
            }
            Body::Challenge { nonce, cookie } => {
                self.borrower.challenge(now, &message, nonce, cookie, config, post);
            }
            Body::Refuse { nonce, reason } => {
                self.borrower.refused(now, member, nonce, reason, config, post);
            }
            _ => post.refused.stray += 1,
        }
    }

    /// Handles a query for lenders.
    fn answer(&mut self, now: Instant, asker: Addressee) {
        if self.lender.is_open(&self.config)
            && self.lender.may_answer(now, ANNOUNCE_LEN, &mut self.post)
        {
            self.post.send(asker, self.announcement());
        }
    }

    fn announcement(&self) -> Body {
        let tenths = self.config.announce_every / Duration::from_millis(100);
        let tenths = u16::try_from(tenths).ok().and_then(NonZeroU16::new);
        Body::Announce(Announce {
            name: self.config.name,
            interval_ds: tenths.unwrap_or(NonZeroU16::MIN),
            offers: self.lender.offers(&self.config),
        })
    }

    /// Carries out the work due by now.
    fn advance(&mut self, now: Instant) {
        self.neighbours.age(now, &mut self.post);
        self.lender.age(now, &self.config, &mut self.post);
        self.borrower.age(now, &self.config, &mut self.post);
        self.send_pending(now);
        if self.announcements.is_due(now, &mut self.post.random) {
            self.post.publish(self.announcement());
        }
        if self.queries.is_due(now, &mut self.post.random) {
            self.post.publish(Body::Query);
        }
    }

    /// After any change: sends notifications, calls and queries.
    fn send_pending(&mut self, now: Instant) {
        let take_changed = self.lender.take_changed();
        if self.lender.is_open(&self.config) {
            self.announcements.start(now, &mut self.post.random);
            if take_changed {
                self.announcements.hurry(now);
            }
        } else if self.announcements.next().is_some() {
            self.announcements.stop();
            self.post.publish(Body::Goodbye);
        }
        if self.borrower.wants() {
            self.queries.start(now, &mut self.post.random);
        } else {
            self.queries.stop();
        }
        self.borrower.pursue(now, &mut self.neighbours, &self.config, &mut self.post);
    }

    fn leave(&mut self, now: Instant) {
        self.lender.leave(now, &self.config, &mut self.post);
        self.borrower.want(now, None, &self.config, &mut self.post);
        self.neighbours.clear(&mut self.post);
    }
}

impl Machine for Member {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input) {
        self.advance(now);
        let (config, post) = (&self.config, &mut self.post);
        match input {
            Input::Datagram { from, bytes } => self.receive(now, from, &bytes),
            Input::Lend(uplinks) => self.lender.lend(now, uplinks, config, post),
            Input::Power(power) => self.lender.power(now, power, config, post),
            Input::Want(want) => self.borrower.want(now, want, config, post),
            Input::Leave => self.leave(now),
        }
        self.send_pending(now);
    }

    fn wake(&mut self, now: Instant) {
        self.advance(now);
    }

    fn poll(&mut self, _: Instant) -> Option<Output> {
        self.post.next_output()
    }

    fn deadline(&self) -> Option<Instant> {
        let paces = [self.announcements.next(), self.queries.next(), self.neighbours.next()];
        let others = [self.lender.next(&self.config), self.borrower.next(&self.config)];
        paces.into_iter().chain(others).flatten().min()
    }

    fn event(&mut self) -> Option<Event> {
        self.post.next_event()
    }
}

impl fmt::Debug for Member {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("config", &self.config)
            .field("lender", &self.lender)
            .field("borrower", &self.borrower)
            .field("refused", &self.post.refused)
            .finish_non_exhaustive()
    }
}
