//! Leases of an uplink, and the account of what goes over them.

use crate::bucket::{Bucket, depth};
use crate::reach::Reach;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::cluster::{Denial, Terms};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Limits that the lender sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rate of all leases together, each way; `None` for no limit.
    pub rate: Option<BitRate>,
    /// Bytes of all leases in a day, both ways together; `None` for no limit. Packets from servers
    /// count even if they are dropped, as the uplink has carried them.
    pub day_bytes: Option<u64>,
    /// Maximum number of leases.
    pub max_leases: usize,
    /// Maximum number of leases of borrowers with one IP address.
    pub max_per_address: usize,
    /// Time without a renewal after which a lease is over.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rate: None,
            day_bytes: None,
            max_leases: 16,
            max_per_address: 4,
            idle: Duration::from_secs(15),
        }
    }
}

/// A lease. No two leases of a ledger have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseId(u64);

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the borrower to its server.
    Up,
    /// From the server to the borrower.
    Down,
}

/// Reason for which a packet may not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Excess {
    /// It would wait too long for its turn at the rate.
    #[error("beyond the rate")]
    Rate,
    /// The lease is over, or this packet ends it.
    #[error("the lease is over")]
    Over(Denial),
}

/// A lease and its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    /// Its number.
    pub lease: LeaseId,
    /// Address of the borrower when it asked first.
    pub borrower: IpAddr,
    /// The server, to which alone its datagrams go.
    pub target: SocketAddr,
    /// Bytes of IP packets that passed.
    pub up: u64,
    /// Bytes of IP packets that passed the other way.
    pub down: u64,
    /// Packets that were dropped because they would have waited too long.
    pub dropped: u64,
}

#[derive(Debug)]
struct Lease {
    is: Lent,
    buckets: Option<[Bucket; 2]>,
    /// Departure of the latest packet of each way.
    latest: [Instant; 2],
    renewed: Instant,
}

/// The leases of one uplink.
#[derive(Debug)]
pub struct Ledger {
    limits: Limits,
    reach: Reach,
    leases: BTreeMap<LeaseId, Lease>,
    next: u64,
    /// Buckets of all leases together: those of leases that come and go are full at first.
    whole: Option<[Bucket; 2]>,
    day: i64,
    today: u64,
    is_open: bool,
}

impl Ledger {
    /// A ledger without leases, on day 0, within the times of lending.
    #[must_use]
    pub fn new(limits: Limits, reach: Reach, now: Instant) -> Self {
        Self {
            whole: limits.rate.map(|rate| [Bucket::new(rate, now); 2]),
            limits,
            reach,
            leases: BTreeMap::new(),
            next: 0,
            day: 0,
            today: 0,
            is_open: true,
        }
    }

    /// Reports the lender's networks. Returns the leases that end, as their servers are no longer
    /// admitted.
    pub fn set_reach(&mut self, reach: Reach) -> Vec<LeaseId> {
        self.reach = reach;
        let is_over = |lent: &Lent| !self.reach.admits(lent.target.ip());
        self.lent().filter(is_over).map(|lent| lent.lease).collect()
    }

    /// Reports the day, whose number is another one at each midnight, and whether it is a time of
    /// lending. A later day begins a new count of bytes. An earlier one, by a clock that was set
    /// back or another time zone, continues the count. Returns the leases that end.
    pub fn set_day(&mut self, day: i64, is_open: bool) -> Vec<LeaseId> {
        if day > self.day {
            self.today = 0;
        }
        self.day = day;
        self.is_open = is_open;
        if is_open { Vec::new() } else { self.leases.keys().copied().collect() }
    }

    /// Gives a lease, or says why there is none.
    ///
    /// # Errors
    /// [`Denial`] is the answer to the borrower.
    pub fn ask(
        &mut self,
        now: Instant,
        borrower: IpAddr,
        target: SocketAddr,
    ) -> Result<LeaseId, Denial> {
        let borrower = borrower.to_canonical();
        if !self.reach.admits(target.ip()) || target.port() == 0 {
            return Err(Denial::Target);
        }
        self.may_go_on()?;
        let of_address = self.leases.values().filter(|lease| lease.is.borrower == borrower);
        if self.leases.len() >= self.limits.max_leases
            || of_address.count() >= self.limits.max_per_address
        {
            return Err(Denial::Full);
        }
        let lease = LeaseId(self.next);
        self.next += 1;
        let is = Lent { lease, borrower, target, up: 0, down: 0, dropped: 0 };
        // The bucket begins empty: a borrower gains nothing from asking again and again.
        let buckets = self.share(1).map(|rate| {
            let mut bucket = Bucket::new(rate, now);
            bucket.take(now, depth(rate));
            [bucket; 2]
        });
        self.leases.insert(lease, Lease { is, buckets, latest: [now; 2], renewed: now });
        self.share_out(now);
        Ok(lease)
    }

    /// Renews a lease. Its terms may have changed.
    ///
    /// # Errors
    /// [`Denial`] if it is over.
    pub fn renew(&mut self, now: Instant, lease: LeaseId) -> Result<Terms, Denial> {
        self.may_go_on()?;
        let rate = self.share(0);
        let left = self.limits.day_bytes.map(|all| all.saturating_sub(self.today));
        let lease = self.leases.get_mut(&lease).ok_or(Denial::Full)?;
        lease.renewed = now;
        Ok(Terms { rate, bytes_left: left })
    }

    /// Accounts for an IP packet of `bytes`, and returns the time at which it may pass: now, or
    /// later by no more than 100 ms or the time of 16 full packets. Packets of a lease and a way
    /// keep their order.
    ///
    /// # Errors
    /// [`Excess`]: the packet is to be dropped, and the lease ended if it says so.
    pub fn carry(
        &mut self,
        now: Instant,
        lease: LeaseId,
        way: Way,
        bytes: u64,
    ) -> Result<Instant, Excess> {
        self.may_go_on().map_err(Excess::Over)?;
        if self.limits.day_bytes.is_some_and(|all| bytes > all.saturating_sub(self.today)) {
            // The rest of the day's bytes is too little for a packet.
            self.today = self.today.max(self.limits.day_bytes.unwrap_or(0));
            return Err(Excess::Over(Denial::Quota));
        }
        let Some(lease) = self.leases.get_mut(&lease) else {
            return Err(Excess::Over(Denial::Full));
        };
        let mut departure = now;
        if let (Some(own), Some(whole)) = (&mut lease.buckets, &mut self.whole) {
            let (own, whole) = (&mut own[way as usize], &mut whole[way as usize]);
            let wait = own.wait(now, bytes).max(whole.wait(now, bytes));
            if wait > own.longest_wait() {
                lease.is.dropped += 1;
                if way == Way::Down {
                    // The uplink has brought it already.
                    self.today += bytes;
                }
                return Err(Excess::Rate);
            }
            own.take(now, bytes);
            whole.take(now, bytes);
            let latest = &mut lease.latest[way as usize];
            departure = (now + wait).max(*latest);
            *latest = departure;
        }
        self.today += bytes;
        *match way {
            Way::Up => &mut lease.is.up,
            Way::Down => &mut lease.is.down,
        } += bytes;
        Ok(departure)
    }

    /// Ends a lease; returns its counts.
    pub fn end(&mut self, now: Instant, lease: LeaseId) -> Option<Lent> {
        let ended = self.leases.remove(&lease)?;
        self.share_out(now);
        Some(ended.is)
    }

    /// The leases.
    pub fn lent(&self) -> impl Iterator<Item = Lent> {
        self.leases.values().map(|lease| lease.is)
    }

    /// Bytes of IP packets that the uplink carried today, both ways together: those that passed,
    /// and those from servers that were dropped.
    #[must_use]
    pub fn today(&self) -> u64 {
        self.today
    }

    /// The time at which a lease is over unless it is renewed before.
    #[must_use]
    pub fn expires(&self, lease: LeaseId) -> Option<Instant> {
        self.leases.get(&lease).map(|lease| lease.renewed + self.limits.idle)
    }

    fn may_go_on(&self) -> Result<(), Denial> {
        match () {
            () if !self.is_open => Err(Denial::Closed),
            () if self.limits.day_bytes.is_some_and(|all| self.today >= all) => Err(Denial::Quota),
            () => Ok(()),
        }
    }

    /// The rate of each lease when there are `more` of them.
    fn share(&self, more: usize) -> Option<BitRate> {
        let count = (self.leases.len() + more).max(1) as u64;
        self.limits.rate.map(|rate| BitRate(rate.0 / count))
    }

    /// Gives every lease its share of the rate.
    fn share_out(&mut self, now: Instant) {
        let Some(rate) = self.share(0) else { return };
        for bucket in self.leases.values_mut().filter_map(|lease| lease.buckets.as_mut()).flatten()
        {
            bucket.set_rate(now, rate);
        }
    }
}

#[cfg(test)]
mod tests;
