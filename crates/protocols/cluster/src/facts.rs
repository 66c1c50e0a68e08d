//! Inputs, outputs and events of a member.

use crate::{Power, Uplinks, Want};
use fairwave_units::{BitRate, Instant};
use fairwave_wire::cluster::{Denial, MemberId, Name, Offers, Rates, Refusal, Revocation};
use std::net::SocketAddr;
use std::num::NonZeroU32;

/// A fact for a [`Member`](crate::Member).
#[derive(Clone, Debug)]
pub enum Input {
    /// A datagram came to the port of the cluster.
    Datagram {
        /// Whence.
        from: SocketAddr,
        /// What.
        bytes: Vec<u8>,
    },
    /// These uplinks are lent from now on, and no others.
    Lend(Uplinks),
    /// State of the battery.
    Power(Power),
    /// This is wanted from now on; `None` gives back everything borrowed.
    Want(Option<Want>),
    /// The host goes: nothing is lent or wanted, and all members that need to know are notified.
    Leave,
}

/// Whither a datagram is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To everybody on the local link.
    All,
    /// To one host.
    One(SocketAddr),
}

/// A datagram to transmit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Whither.
    pub to: To,
    /// What.
    pub bytes: Vec<u8>,
}

/// Number of the lease, at its lender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseId {
    /// Its holder.
    pub borrower: MemberId,
    /// Its number there.
    pub lease: NonZeroU32,
}

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Into the network outside.
    Up,
    /// Out of it.
    Down,
}

/// Reason for which a packet may not go over a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// There is no such lease, or it is over.
    NoLease,
    /// The lease's rate, the total lent, or the rest that the lender leaves of its uplink.
    Rate,
    /// The lease's bytes, or those of the day. The lease is revoked.
    Quota,
}

/// Uplink of a borrowed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    /// Its lender.
    pub lender: MemberId,
    /// Whither packets for it are to be sent: the host that announced it.
    pub address: SocketAddr,
    /// Index among the lender's uplinks.
    pub uplink: u8,
    /// The lender's number of the lease, beside this member's id.
    pub lease: NonZeroU32,
    /// Rates that may be used.
    pub rates: Rates,
}

/// Reason for which a lease is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The borrower gave it back.
    Released,
    /// It was not renewed in time.
    Expired,
    /// The lender took it back.
    Revoked(Revocation),
    /// The lender knows it no more.
    Unknown,
    /// One of both has left, or has been started again.
    Left,
}

/// Events of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A new lender.
    Found {
        /// Who.
        member: MemberId,
        /// Its name.
        name: Name,
        /// Its address.
        address: SocketAddr,
    },
    /// A member lends no more, or has fallen silent.
    Lost {
        /// Who.
        member: MemberId,
    },
    /// There is a borrowed path, or a path has other rates: `Join` of SHAKE, which takes a join of
    /// a path that it has as a change of its bandwidth.
    Join {
        /// Its id.
        path: u8,
        /// Rates that may be sent over it; `None` if nothing is left of it for now.
        nominal: Option<BitRate>,
        /// Its uplink.
        over: Over,
    },
    /// A borrowed path is to be used no more: `Leave` of SHAKE.
    Leave {
        /// Its id.
        path: u8,
        /// Why.
        why: End,
    },
    /// A lender gave no session.
    Refused {
        /// The lender.
        lender: MemberId,
        /// Why.
        reason: Refusal,
    },
    /// A lender gave no lease.
    Denied {
        /// The lender.
        lender: MemberId,
        /// The uplink asked for.
        uplink: u8,
        /// Why.
        reason: Denial,
    },
    /// An uplink has been lent, or a lease has other rates.
    Lent {
        /// The lease.
        lease: LeaseId,
        /// Address of its borrower.
        address: SocketAddr,
        /// The uplink.
        uplink: u8,
        /// Rates that may be used.
        rates: Rates,
    },
    /// A lease is over at its lender.
    Returned {
        /// The lease.
        lease: LeaseId,
        /// Why.
        why: End,
        /// Bytes that went over it, both ways together.
        carried: u64,
    },
}

/// A lease as its lender knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    /// Which.
    pub lease: LeaseId,
    /// Of which uplink.
    pub uplink: u8,
    /// Rates that may be used.
    pub rates: Rates,
    /// Bytes that went over it, both ways together.
    pub carried: u64,
    /// Time at which it ends without renewal.
    pub ends: Instant,
    /// Whether it has been revoked, and is still usable for a while.
    pub is_revoked: bool,
}

/// A lease as its borrower knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The path that it is.
    pub path: u8,
    /// Its uplink.
    pub over: Over,
    /// Time at which it ends without renewal.
    pub ends: Instant,
}

/// An announcer as this member knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Who.
    pub member: MemberId,
    /// Its name.
    pub name: Name,
    /// Its address.
    pub address: SocketAddr,
    /// Its offers.
    pub offers: Offers,
}

/// Amount of a member's state about others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Announcers.
    pub members: usize,
    /// Sessions with lenders, those being opened or left included.
    pub lenders: usize,
    /// Leases held or asked for.
    pub held: usize,
    /// Sessions with borrowers.
    pub borrowers: usize,
    /// Leases given.
    pub lent: usize,
    /// Cookies that were used.
    pub cookies: usize,
    /// Lenders and uplinks that are not asked for a while.
    pub resting: usize,
}

/// Messages that were not believed or not answered, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// No message, or of another version.
    pub malformed: u64,
    /// Of another cluster.
    pub foreign: u64,
    /// This member's own, come back.
    pub own: u64,
    /// For another member.
    pub misdirected: u64,
    /// Sealed with another key, or changed.
    pub forged: u64,
    /// Older than one that came before, or come before.
    pub replayed: u64,
    /// Of a session that there is not.
    pub no_session: u64,
    /// Announcers beyond the available room.
    pub crowded: u64,
    /// Strangers beyond the rate at which they are answered.
    pub strangers: u64,
    /// Responses whose cookie is no good.
    pub cookie: u64,
    /// Sessions beyond the maximum number.
    pub busy: u64,
    /// Answers to nothing.
    pub stray: u64,
    /// Leases denied.
    pub denied: u64,
}
