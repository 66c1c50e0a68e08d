//! Output: messages, numbered and sealed, and events.

use crate::facts::{Event, Output, Refused, To};
use fairwave_units::{Seed, Stream};
use fairwave_wire::cluster::{Body, MemberId, Message, cluster_id};
use fairwave_wire::seal::{Key, Tag};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroU64;

/// Receiver of a message, and its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addressee {
    pub(crate) member: MemberId,
    pub(crate) address: SocketAddr,
}

pub(crate) struct Post {
    pub(crate) id: MemberId,
    pub(crate) cluster: u64,
    /// The cluster's.
    pub(crate) key: Key,
    /// This start's alone.
    pub(crate) secret: Key,
    pub(crate) random: Stream,
    pub(crate) refused: Refused,
    number: u64,
    nonces: u64,
    out: VecDeque<Output>,
    events: VecDeque<Event>,
}

impl Post {
    pub(crate) fn new(id: MemberId, start: u32, key: Key, secret: Key) -> Self {
        let Tag(seed) = secret.tag("fairwave cluster jitter", &[]);
        let seed = Seed(u64::from_be_bytes(*seed.first_chunk().expect("a seal has 16 bytes")));
        Self {
            id,
            cluster: cluster_id(&key),
            key,
            secret,
            random: seed.stream("cluster/jitter"),
            refused: Refused::default(),
            number: u64::from(start) << 32,
            nonces: 0,
            out: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns a number that cannot be guessed, and that was not there before.
    pub(crate) fn nonce(&mut self) -> u64 {
        self.nonces += 1;
        let Tag(tag) = self.secret.tag("fairwave cluster nonce", &[&self.nonces.to_be_bytes()]);
        u64::from_be_bytes(*tag.first_chunk().expect("a seal has 16 bytes"))
    }

    /// To everybody.
    pub(crate) fn publish(&mut self, body: Body) {
        let bytes = self.seal(None, None, body);
        self.out.push_back(Output { to: To::All, bytes });
    }

    /// To one, with the key of the cluster.
    pub(crate) fn send(&mut self, to: Addressee, body: Body) {
        let bytes = self.seal(None, Some(to.member), body);
        self.out.push_back(Output { to: To::One(to.address), bytes });
    }

    /// To one, with the key of a session.
    pub(crate) fn send_within(&mut self, session: &Key, to: Addressee, body: Body) {
        let bytes = self.seal(Some(session), Some(to.member), body);
        self.out.push_back(Output { to: To::One(to.address), bytes });
    }

    pub(crate) fn notify(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(crate) fn next_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn seal(&mut self, session: Option<&Key>, to: Option<MemberId>, body: Body) -> Vec<u8> {
        self.number = self.number.saturating_add(1);
        let number = NonZeroU64::new(self.number).unwrap_or(NonZeroU64::MIN);
        let message = Message { cluster: self.cluster, from: self.id, to, number, body };
        let mut bytes = Vec::with_capacity(body.message_len());
        message.write(session.unwrap_or(&self.key), &mut bytes);
        bytes
    }
}
