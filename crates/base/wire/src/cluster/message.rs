//! Content of messages.

use super::offers::{Name, Offers, Rates};
use crate::message::{Error, Format};
use crate::seal::{Forged, Key, TAG_LEN, Tag};
use std::fmt;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

/// The first four bytes of every message.
pub const MAGIC: [u8; 4] = *b"FWcl";
/// The version that is spoken here.
pub const VERSION: u8 = 1;
/// First bytes of every message.
pub(super) const FORMAT: Format = Format { name: "cluster", magic: MAGIC, version: VERSION };
/// Length of the head in bytes.
pub const HEAD_LEN: usize = 40;
/// Length of [`Body::Announce`] and [`Body::Query`] in bytes, and the maximum of any message.
pub const ANNOUNCE_LEN: usize = 252;
/// Length of [`Body::Hello`], [`Body::Challenge`] and [`Body::Response`] in bytes.
pub const HELLO_LEN: usize = HEAD_LEN + 8 + COOKIE_LEN + TAG_LEN;
/// Length of a cookie in bytes.
pub const COOKIE_LEN: usize = 16;

pub(super) const LABEL: &str = "fairwave cluster 1";

/// A lender's mark of a greeting, which it recognises without keeping it.
pub type Cookie = [u8; COOKIE_LEN];

/// A host of the cluster. By custom drawn at random and kept over restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberId(pub NonZeroU64);

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The number that distinguishes messages of clusters on one link. It reveals nothing of the key.
#[must_use]
pub fn cluster_id(key: &Key) -> u64 {
    let Tag(tag) = key.tag("fairwave cluster id", &[]);
    let first = tag.first_chunk().expect("a seal has 16 bytes");
    u64::from_be_bytes(*first)
}

/// Inputs of the key of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The host that greets, and borrows.
    pub borrower: MemberId,
    /// The host that is greeted, and lends.
    pub lender: MemberId,
    /// Drawn by the borrower.
    pub nonce: u64,
    /// Made by the lender.
    pub cookie: Cookie,
}

impl Meeting {
    /// The session's key, which no other session's messages fit.
    #[must_use]
    pub fn key(&self, cluster: &Key) -> Key {
        let numbers =
            [self.borrower.0.get(), self.lender.0.get(), self.nonce].map(u64::to_be_bytes);
        cluster.derive(LABEL, &[&numbers[0], &numbers[1], &numbers[2], &self.cookie])
    }
}

/// The end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The end that greeted.
    Borrower,
    /// The end that was greeted.
    Lender,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The cluster: [`cluster_id`] of its key.
    pub cluster: u64,
    /// Its sender.
    pub from: MemberId,
    /// The receiver; `None` for all.
    pub to: Option<MemberId>,
    /// Grows with every message of this sender sealed with this key.
    pub number: NonZeroU64,
    /// Its content.
    pub body: Body,
}

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A lender to all, or to a host that asked: its offers.
    Announce(Announce),
    /// To all: a request for offers.
    Query,
    /// A lender to everybody: I lend no more.
    Goodbye,
    /// A borrower: I would like to borrow.
    Hello {
        /// Drawn anew for each attempt.
        nonce: u64,
    },
    /// A lender: a challenge to show that packets reach the borrower's address.
    Challenge {
        /// The nonce of the greeting.
        nonce: u64,
        /// To be returned.
        cookie: Cookie,
    },
    /// A borrower: I do. Sealed with the key of the session, as all below but
    /// [`Body::Refuse`].
    Response {
        /// The nonce of the greeting.
        nonce: u64,
        /// That of the challenge.
        cookie: Cookie,
    },
    /// A lender: there is a session.
    Welcome,
    /// A lender: there is none. Sealed with the key of the cluster.
    Refuse {
        /// The nonce of the greeting.
        nonce: u64,
        /// Reason.
        reason: Refusal,
    },
    /// A borrower: I would like this lease, or to keep it.
    LeaseRequest(LeaseRequest),
    /// A lender: you have it.
    Grant(Grant),
    /// A lender: you have it not.
    Deny {
        /// The lease asked for.
        lease: NonZeroU32,
        /// Reason.
        reason: Denial,
        /// Time after which it is worth to ask again, in milliseconds.
        retry_ms: u32,
    },
    /// A lender: the lease has other rates from now on.
    Terms {
        /// The lease.
        lease: NonZeroU32,
        /// Rates of the uplink that may be used.
        rates: Rates,
    },
    /// A borrower: I need the lease no more.
    Release {
        /// The lease.
        lease: NonZeroU32,
    },
    /// A lender: the lease is over. Answers a release, and any use of a lease that is over.
    Over {
        /// The lease.
        lease: NonZeroU32,
    },
    /// A lender: the lease ends before its time.
    Revoke {
        /// The lease.
        lease: NonZeroU32,
        /// Reason.
        reason: Revocation,
        /// For how long it may still be used, in milliseconds.
        notice_ms: u32,
    },
    /// A borrower: the revocation has been received.
    Noted {
        /// The lease.
        lease: NonZeroU32,
    },
    /// The session is over, and every lease of it.
    Leave {
        /// The end that sends it.
        by: Role,
    },
    /// The leave has been received.
    Left {
        /// The end that sends it.
        by: Role,
    },
}

/// Offers of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announce {
    /// Its name.
    pub name: Name,
    /// Time to its next announcement, in tenths of a second.
    pub interval_ds: NonZeroU16,
    /// Its uplinks.
    pub offers: Offers,
}

/// Wishes of a borrower. The same lease asked for again is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The lease, numbered by the borrower: grows with every new one of the session.
    pub lease: NonZeroU32,
    /// Of which uplink.
    pub uplink: u8,
    /// Time at which it was asked, by the borrower's clock in milliseconds, modulo 2^32.
    pub at_ms: u32,
    /// Rates wanted.
    pub rates: Rates,
    /// Bytes wanted from now on, both ways together.
    pub bytes: u64,
    /// For how long, in milliseconds from the asking on.
    pub duration_ms: u32,
}

/// Grants of a lender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The lease.
    pub lease: NonZeroU32,
    /// `at_ms` of the [`LeaseRequest`] that this answers.
    pub at_ms: u32,
    /// Rates of the uplink that may be used.
    pub rates: Rates,
    /// Bytes that may still go over it, both ways together.
    pub bytes: u64,
    /// For how long after the asking, in milliseconds.
    pub duration_ms: NonZeroU32,
}

macro_rules! reasons {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its number on the wire.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self {
                    $(Self::$variant => $number,)+
                }
            }

            pub(super) fn read(number: u8, field: &'static str) -> Result<Self, Error> {
                let found = Self::ALL.iter().find(|reason| reason.number() == number);
                found.copied().ok_or(Error::Range { field })
            }
        }
    };
}

reasons! {
    /// Reason for which there is no session.
    Refusal {
        /// The maximum number of sessions is reached.
        Busy = 1,
        /// The cookie has expired, is another's, or was used before.
        Cookie = 2,
        /// Nothing is lent now.
        NotLending = 3,
    }
}

reasons! {
    /// Reason for which there is no lease.
    Denial {
        /// The uplink is not lent.
        NoUplink = 1,
        /// It has as many borrowers as it may, or each would get too little.
        Full = 2,
        /// The maximum number of bytes has been lent already.
        Quota = 3,
        /// The lender's battery, or the cost of the uplink.
        Policy = 4,
        /// The number of the lease was used before, or nothing was wanted.
        Invalid = 5,
    }
}

reasons! {
    /// Reason for which a lease ends before its time.
    Revocation {
        /// The uplink is not lent any more.
        Withdrawn = 1,
        /// The lender's battery, or the cost of the uplink.
        Policy = 2,
        /// All its bytes are used.
        Quota = 3,
    }
}

/// A message whose seal has not been checked.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    pub(super) message: Message,
    pub(super) covered: &'a [u8],
    pub(super) tag: Tag,
}

impl Claim<'_> {
    /// Claims that find the key, also for a reader without it, such as one of a capture.
    pub const fn unchecked(&self) -> &Message {
        &self.message
    }

    /// The message, if its seal was made with this key.
    ///
    /// # Errors
    /// [`Forged`] if it was not.
    pub fn open(&self, key: &Key) -> Result<Message, Forged> {
        key.verify(LABEL, &[self.covered], &self.tag).map(|()| self.message)
    }
}

impl Body {
    /// The end of a session that sends this, and seals it with the session's key; `None` for a
    /// message sealed with the cluster's.
    #[must_use]
    pub const fn sealing_role(&self) -> Option<Role> {
        match self {
            Self::Announce(_)
            | Self::Query
            | Self::Goodbye
            | Self::Hello { .. }
            | Self::Challenge { .. }
            | Self::Refuse { .. } => None,
            Self::Response { .. }
            | Self::LeaseRequest(_)
            | Self::Release { .. }
            | Self::Noted { .. } => Some(Role::Borrower),
            Self::Welcome
            | Self::Grant(_)
            | Self::Deny { .. }
            | Self::Terms { .. }
            | Self::Over { .. }
            | Self::Revoke { .. } => Some(Role::Lender),
            Self::Leave { by } | Self::Left { by } => Some(*by),
        }
    }

    /// Whether this is for everybody, or may be.
    #[must_use]
    pub const fn is_public(&self) -> bool {
        matches!(self, Self::Announce(_) | Self::Query | Self::Goodbye)
    }
}
