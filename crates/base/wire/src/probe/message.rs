//! Messages of the two ends.

use crate::message::Format;
use crate::seal::TAG_LEN;
use fairwave_units::{BitRate, Duration, Instant};

/// The first four bytes of every message.
pub const MAGIC: [u8; 4] = *b"FWpb";
/// The version that is spoken here.
pub const VERSION: u8 = 1;
/// First bytes of every message.
pub(super) const FORMAT: Format = Format { name: "probe", magic: MAGIC, version: VERSION };
/// Length of the head in bytes.
pub const HEAD_LEN: usize = 16;
/// Length of [`Message::Challenge`]; a shorter [`Message::Hello`] gets no answer.
pub const CHALLENGE_LEN: usize = HEAD_LEN + COOKIE_LEN + TAG_LEN;
/// Minimum length of [`Message::Data`].
pub const MIN_DATA_LEN: usize = HEAD_LEN + 14 + TAG_LEN;
/// Length that a [`Message::Report`] keeps to, so that it fits the path of any link.
pub const MAX_REPORT_LEN: usize = 1_200;
/// Longest [`Message::Data`] that a receiver sends when it is asked for packets: with the headers
/// of IPv4 and UDP it fills an Ethernet frame of 1500 bytes.
pub const MAX_FETCHED_LEN: usize = 1_472;
/// Length of a cookie in bytes.
pub const COOKIE_LEN: usize = 16;
/// Maximum number of bytes of a message: the payload limit of UDP over IPv4.
pub const MAX_LEN: usize = 65_507;

pub(super) const LABEL: &str = "fairwave probe 1";

/// A receiver's mark of a greeting, which it recognises without keeping it.
pub type Cookie = [u8; COOKIE_LEN];

/// Limits of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Highest rate, in bits of IP packets per second.
    pub rate: BitRate,
    /// Maximum number of packets of data.
    pub packets: u32,
    /// Longest time from the agreement on.
    pub duration: Duration,
}

impl Limits {
    /// The stricter of both, one by one.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self {
            rate: self.rate.min(other.rate),
            packets: self.packets.min(other.packets),
            duration: self.duration.min(other.duration),
        }
    }
}

/// Reason for which a receiver does not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It serves as many sessions as it may.
    Busy,
    /// Its cookie has expired, is another's, or was used for a session that is over.
    Cookie,
}

/// One packet of data, as the receiver accounts for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number within the train.
    pub number: u32,
    /// Time at which it arrived, by the clock of the end that it arrived at. In the account of
    /// packets that a receiver sent: when it sent them.
    pub arrived: Instant,
}

/// A part of the account of a train, in the order of arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The train.
    pub train: u16,
    /// Which part.
    pub chunk: u16,
    /// Of how many.
    pub chunks: u16,
    /// The arrivals, none earlier than the one before.
    pub records: Vec<Record>,
}

/// The packets that a sender asks a receiver to send back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The train that they belong to.
    pub train: u16,
    /// Length of each packet in bytes, counted as UDP payload.
    pub payload_bytes: u16,
    /// Total number of packets.
    pub packets: u32,
    /// Number of them, from the first, are sent apart.
    pub spaced: u32,
    /// The time between packets that are sent apart.
    pub interval: Duration,
    /// Highest rate of the others, in bits of IP packets per second.
    pub rate: BitRate,
}

/// Messages of the two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Sender: here I am.
    Hello {
        /// A number used once, which binds the session's key.
        nonce: u64,
    },
    /// Receiver: a challenge to show that packets reach the sender's address.
    Challenge {
        /// To be returned.
        cookie: Cookie,
    },
    /// Sender: the answer, and its wishes.
    Start {
        /// That of the greeting.
        nonce: u64,
        /// That of the challenge.
        cookie: Cookie,
        /// The limits asked for.
        wanted: Limits,
    },
    /// Receiver: agreed, within these limits. Sealed with the session's key, as all that follows.
    Accept {
        /// The limits granted.
        granted: Limits,
    },
    /// Receiver: not agreed.
    Refuse {
        /// Reason.
        reason: Refusal,
    },
    /// A numbered packet, from the sender, or from a receiver that was asked for it.
    Data {
        /// The train that it belongs to.
        train: u16,
        /// Its number, from zero in each train.
        number: u32,
        /// Time at which it was sent, by the clock of the end that sent it.
        sent: Instant,
    },
    /// Sender: the train is over; this part of its account, please. Acknowledges the parts before.
    End {
        /// The train.
        train: u16,
        /// Number of packets that it had.
        sent: u32,
        /// Which part.
        chunk: u16,
    },
    /// Receiver: the part asked for.
    Report(Chunk),
    /// Sender: thank you, forget me.
    Done,
    /// Sender: send me these packets. While it is repeated, they are sent. The account of such a
    /// train says when each packet was sent.
    Fetch(Order),
    /// Receiver, to a repeated order: these were all. It comes behind them.
    Sent {
        /// The train.
        train: u16,
        /// Number of packets that were sent.
        packets: u32,
    },
}
