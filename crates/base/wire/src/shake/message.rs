//! Content of messages.

use super::blocks::Blocks;
use crate::message::Format;
use crate::seal::{Forged, Key, Tag};
use std::num::NonZeroU64;

/// The first four bytes of every message.
pub const MAGIC: [u8; 4] = *b"FWsk";
/// The version that is spoken here.
pub const VERSION: u8 = 1;
/// First bytes of every message.
pub(super) const FORMAT: Format = Format { name: "SHAKE", magic: MAGIC, version: VERSION };
/// Length of the head in bytes.
pub const HEAD_LEN: usize = 28;
/// Bytes of a message of data beside its payload: head, sequence number and seal.
pub const DATA_OVERHEAD: usize = HEAD_LEN + 8 + crate::seal::TAG_LEN;
/// Maximum number of bytes of a message: the payload limit of UDP over IPv4.
pub const MAX_LEN: usize = 65_507;
/// Data sequence numbers and acknowledgements are below this, so that sums cannot overflow.
pub const SEQ_LIMIT: u64 = 1 << 62;

pub(super) const LABEL: &str = "fairwave shake 1";

/// The key of one connection, which no other connection's messages fit. Whoever opens a connection
/// chooses an id at random, never twice for one secret.
#[must_use]
pub fn connection_key(shared: &Key, connection: u64) -> Key {
    shared.derive(LABEL, &[&connection.to_be_bytes()])
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The end that opened it, and opens its paths.
    Opener,
    /// The end that was called.
    Acceptor,
}

impl Side {
    /// The opposite end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Opener => Self::Acceptor,
            Self::Acceptor => Self::Opener,
        }
    }
}

/// A message without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The connection.
    pub connection: u64,
    /// Its sender.
    pub from: Side,
    /// The path on which it was sent.
    pub path: u8,
    /// Its number: grows with every message of this sender on this path, over joins too.
    pub number: NonZeroU64,
    /// Time at which it was sent, by the sender's clock in microseconds, modulo 2^32.
    pub sent_us: u32,
    /// Its content.
    pub body: Body,
}

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Opener: this path is here.
    Join(Join),
    /// Acceptor: a challenge to show that packets over this path arrive.
    Challenge(Challenge),
    /// Opener: I do.
    Response {
        /// The nonce of the challenge.
        answers: u64,
    },
    /// Bytes of the stream, in the payload.
    Data(Data),
    /// Received data.
    Ack(Ack),
    /// The path in [`Leave`] is used no more. Sent on any path, until [`Body::Left`] answers.
    Leave(Leave),
    /// The leave has been received.
    Left(Leave),
    /// The connection is over; nothing that is on its way counts.
    Reset {
        /// Reason.
        reason: Reason,
    },
}

/// Opens a path, and with `open` the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// Whether there is no connection yet.
    pub open: bool,
    /// To be returned in the challenge; drawn anew for each join.
    pub nonce: u64,
    /// Bytes that the sender's receive buffer can take.
    pub window: u32,
}

/// Answers a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// To be returned in the response.
    pub nonce: u64,
    /// The nonce of the join.
    pub answers: u64,
    /// Bytes that the sender's receive buffer can take.
    pub window: u32,
}

/// Position of payload in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Offset of its first byte in the stream.
    pub seq: u64,
    /// Whether the stream ends behind it. The end takes a sequence number of its own, as in TCP:
    /// it is acknowledged like a byte (half-close, RFC 9293 section 3.6).
    pub fin: bool,
}

/// Data that its sender has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Everything below this has arrived (cumulative, of the connection).
    pub cumulative: u64,
    /// Bytes beyond `cumulative` that may be sent.
    pub window: u32,
    /// The message of data that this answers, which came on the same path; `None` if none did
    /// (the window opened).
    pub echo: Option<Echo>,
    /// Blocks received above `cumulative`, in any order; by custom the latest first (RFC 2018).
    pub blocks: Blocks,
}

/// Says of a message of data that it came, when an acknowledgement returns on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Its number.
    pub number: NonZeroU64,
    /// Its `sent_us`.
    pub sent_us: u32,
}

/// The path that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// The path.
    pub path: u8,
    /// The leaver's last number on it. A join with a higher number came later.
    pub last: u64,
}

/// Reason for which a connection was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The application gave it up.
    Abort,
    /// Data came for an application that reads no more.
    NotReading,
    /// The peer broke a rule of the protocol.
    Violation,
    /// There was no path for too long.
    NoPath,
}

/// A message whose seal has not been checked.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    pub(super) header: Header,
    pub(super) payload: &'a [u8],
    pub(super) covered: &'a [u8],
    pub(super) tag: Tag,
}

impl<'a> Claim<'a> {
    /// The connection that it claims to belong to, which finds the key.
    pub const fn connection(&self) -> u64 {
        self.header.connection
    }

    /// Its claims, for a reader without the key, such as one of a capture.
    pub const fn unchecked(&self) -> (Header, &'a [u8]) {
        (self.header, self.payload)
    }

    /// The message and its payload, if its seal was made with this key.
    ///
    /// # Errors
    /// [`Forged`] if it was not.
    pub fn open(&self, key: &Key) -> Result<(Header, &'a [u8]), Forged> {
        key.verify(LABEL, &[self.covered], &self.tag).map(|()| (self.header, self.payload))
    }
}
