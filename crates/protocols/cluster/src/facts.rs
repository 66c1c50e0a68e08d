//! Inputs, outputs and events of a member.

use crate::{Power, Uplinks, Want};
use fairwave_units::{BitRate, Instant};
use fairwave_wire::cluster::{Denial, MemberId, Name, Offers, Rates, Refusal, Revocation};
use std::net::SocketAddr;
use std::num::NonZeroU32;

/// An input of a [`Member`](crate::Member).
#[derive(Clone, Debug)]
pub enum Input {
    /// A datagram arrived at the port of the cluster.
    Datagram {
        /// Sender.
        from: SocketAddr,
        /// Content of the datagram.
        bytes: Vec<u8>,
    },
    /// Lends these uplinks from now on, and no others.
    Lend(Uplinks),
    /// State of the battery.
    Power(Power),
    /// Requests this from now on; `None` returns everything borrowed.
    Want(Option<Want>),
    /// The host leaves: nothing is lent or requested any more, and the members concerned are
    /// notified.
    Leave,
}

/// Receiver of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// All hosts on the local link.
    All,
    /// One host.
    One(SocketAddr),
}

/// A datagram to transmit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Receiver.
    pub to: To,
    /// Content of the datagram.
    pub bytes: Vec<u8>,
}

/// Identification of a lease at its lender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseId {
    /// Its holder.
    pub borrower: MemberId,
    /// Its number at the borrower.
    pub lease: NonZeroU32,
}

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// To the outside network.
    Up,
    /// From the outside network.
    Down,
}

/// Reason for which a packet must not use a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// The lease does not exist, or has ended.
    NoLease,
    /// The rate of the lease, the total lent rate, or the rate that the lender leaves of its uplink
    /// is exceeded.
    Rate,
    /// The bytes of the lease or of the day are used up. The lease is revoked.
    Quota,
}

/// Uplink of a borrowed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    /// Its lender.
    pub lender: MemberId,
    /// Address for its packets: the host that announced it.
    pub address: SocketAddr,
    /// Index among the lender's uplinks.
    pub uplink: u8,
    /// Number of the lease at the lender, together with this member's id.
    pub lease: NonZeroU32,
    /// Permitted rates.
    pub rates: Rates,
}

/// Reason for the end of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The borrower returned it.
    Released,
    /// It was not renewed in time.
    Expired,
    /// The lender revoked it.
    Revoked(Revocation),
    /// The lender does not know it any more.
    Unknown,
    /// The lender or the borrower has left, or was restarted.
    Left,
}

/// Events of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A lender was found.
    Found {
        /// The member.
        member: MemberId,
        /// Its name.
        name: Name,
        /// Its address.
        address: SocketAddr,
    },
    /// A member has stopped lending, or has fallen silent.
    Lost {
        /// The member.
        member: MemberId,
    },
    /// A borrowed path is available, or has other rates: `Join` of SHAKE, for which the join of an
    /// existing path changes its bandwidth.
    Join {
        /// Its id.
        path: u8,
        /// Permitted sending rate; `None` if none is left at present.
        nominal: Option<BitRate>,
        /// Its uplink.
        over: Over,
    },
    /// A borrowed path must not be used any more: `Leave` of SHAKE.
    Leave {
        /// Its id.
        path: u8,
        /// Reason.
        why: End,
    },
    /// A lender refused a session.
    Refused {
        /// The lender.
        lender: MemberId,
        /// Reason.
        reason: Refusal,
    },
    /// A lender denied a lease.
    Denied {
        /// The lender.
        lender: MemberId,
        /// The requested uplink.
        uplink: u8,
        /// Reason.
        reason: Denial,
    },
    /// An uplink was lent, or a lease has other rates.
    Lent {
        /// The lease.
        lease: LeaseId,
        /// Address of its borrower.
        address: SocketAddr,
        /// The uplink.
        uplink: u8,
        /// Permitted rates.
        rates: Rates,
    },
    /// A lease has ended at its lender.
    Returned {
        /// The lease.
        lease: LeaseId,
        /// Reason.
        why: End,
        /// Bytes carried over it, in both directions together.
        carried: u64,
    },
}

/// A lease from its lender's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    /// The lease.
    pub lease: LeaseId,
    /// Index of its uplink.
    pub uplink: u8,
    /// Permitted rates.
    pub rates: Rates,
    /// Bytes carried over it, in both directions together.
    pub carried: u64,
    /// Time of its end if it is not renewed.
    pub ends: Instant,
    /// Whether it was revoked; it remains usable for a short time.
    pub is_revoked: bool,
}

/// A lease from its borrower's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Id of its path.
    pub path: u8,
    /// Its uplink.
    pub over: Over,
    /// Time of its end if it is not renewed.
    pub ends: Instant,
}

/// A member that announces itself, as this member knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The member.
    pub member: MemberId,
    /// Its name.
    pub name: Name,
    /// Its address.
    pub address: SocketAddr,
    /// Its offers.
    pub offers: Offers,
}

/// Number of objects in a member's state about others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Members that announce themselves.
    pub members: usize,
    /// Sessions with lenders, including those that are being opened or left.
    pub lenders: usize,
    /// Leases held or requested.
    pub held: usize,
    /// Sessions with borrowers.
    pub borrowers: usize,
    /// Leases granted.
    pub lent: usize,
    /// Used cookies, which are not accepted again.
    pub cookies: usize,
    /// Lenders and uplinks that are not asked for some time.
    pub resting: usize,
}

/// Messages that were not accepted or not answered, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Not a message, or of another version.
    pub malformed: u64,
    /// Of another cluster.
    pub foreign: u64,
    /// This member's own message, received again.
    pub own: u64,
    /// For another member.
    pub misdirected: u64,
    /// Sealed with another key, or modified.
    pub forged: u64,
    /// Older than an earlier message, or a duplicate.
    pub replayed: u64,
    /// For a session that does not exist.
    pub no_session: u64,
    /// Announcements beyond the maximum number of members.
    pub crowded: u64,
    /// Messages of strangers beyond the rate at which they are answered.
    pub strangers: u64,
    /// Responses with an invalid cookie.
    pub cookie: u64,
    /// Sessions beyond the maximum number.
    pub busy: u64,
    /// Answers without a request.
    pub stray: u64,
    /// Leases denied.
    pub denied: u64,
}
