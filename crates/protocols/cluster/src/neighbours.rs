//! Announcements: the table of lenders that this member has received.

use crate::config::{Config, MAX_INTERVAL};
use crate::facts::{Event, Neighbour};
use crate::post::Post;
use crate::session::start_of;
use fairwave_units::{Duration, Instant};
use fairwave_wire::cluster::{Announce, MemberId, Message};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// An announcer is forgotten after this number of halves of its interval: three announcements are
/// lost.
const SILENCE_HALVES: u64 = 7;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) is: Neighbour,
    /// Of its last announcement.
    pub(crate) number: u64,
    /// Of the announcement upon which it was greeted last.
    pub(crate) greeted: u64,
    forgotten_at: Instant,
}

/// Kind of an announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announcement {
    /// Refused.
    Nothing,
    /// One more of a known member.
    Again,
    /// The first of its sender, or of a new start of it.
    Anew,
}

/// Announcers. An announcement alone is a hint: a host that has recorded one can replay it to a
/// member that has not received it yet. A session proves who is there.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    known: BTreeMap<MemberId, Known>,
}

impl Neighbours {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Known> {
        self.known.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Takes an announcement whose seal fits.
    pub(crate) fn take_announcement(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message,
        announce: &Announce,
        config: &Config,
        post: &mut Post,
    ) -> Announcement {
        let (member, number) = (message.from, message.number.get());
        let before = self.known.get(&member).copied();
        if before.is_some_and(|known| known.number >= number) {
            post.refused.replayed += 1;
            return Announcement::Nothing;
        }
        let same = self
            .known
            .values()
            .filter(|known| known.is.member != member && known.is.address.ip() == from.ip());
        let is_full = before.is_none() && self.known.len() >= config.max_members;
        if is_full || same.count() >= config.max_per_address {
            post.refused.crowded += 1;
            return Announcement::Nothing;
        }
        let Announce { name, offers, interval_ds } = *announce;
        let interval = Duration::from_millis(100) * u64::from(interval_ds.get());
        let silence = interval.min(MAX_INTERVAL) * SILENCE_HALVES / 2;
        let known = Known {
            is: Neighbour { member, name, address: from, offers },
            number,
            greeted: before.map_or(0, |known| known.greeted),
            forgotten_at: now + silence,
        };
        self.known.insert(member, known);
        if before.is_none() {
            post.notify(Event::Found { member, name, address: from });
        }
        let is_same_start = |known: Known| start_of(known.number) == start_of(number);
        if before.is_some_and(is_same_start) { Announcement::Again } else { Announcement::Anew }
    }

    /// Takes a goodbye whose seal fits.
    pub(crate) fn dismiss(&mut self, member: MemberId, number: u64, post: &mut Post) {
        match self.known.get(&member) {
            None => post.refused.stray += 1,
            Some(known) if known.number >= number => post.refused.replayed += 1,
            Some(_) => {
                self.known.remove(&member);
                post.notify(Event::Lost { member });
            }
        }
    }

    /// Records that a member is greeted now, upon its last announcement; `None` if that was done
    /// before, or it is unknown.
    pub(crate) fn greet(&mut self, member: MemberId) -> Option<SocketAddr> {
        let known = self.known.get_mut(&member).filter(|known| known.greeted < known.number)?;
        known.greeted = known.number;
        Some(known.is.address)
    }

    /// Forgets members that have been silent for too long.
    pub(crate) fn age(&mut self, now: Instant, post: &mut Post) {
        self.known.retain(|member, known| {
            let stays = known.forgotten_at > now;
            if !stays {
                post.notify(Event::Lost { member: *member });
            }
            stays
        });
    }

    pub(crate) fn clear(&mut self, post: &mut Post) {
        for member in std::mem::take(&mut self.known).into_keys() {
            post.notify(Event::Lost { member });
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.known.values().map(|known| known.forgotten_at).min()
    }
}
