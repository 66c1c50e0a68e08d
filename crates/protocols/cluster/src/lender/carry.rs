//! Packets over a lent uplink: permission, and accounts.

use super::Lender;
use super::link::Link;
use crate::config::Config;
use crate::facts::{Excess, LeaseId, Way};
use crate::post::Post;
use fairwave_units::{Duration, Instant};
use fairwave_wire::cluster::Revocation;

impl Lender {
    /// Whether a packet may go over a lease; if so it is accounted for.
    pub(crate) fn carry(
        &mut self,
        now: Instant,
        id: LeaseId,
        way: Way,
        bytes: u64,
        config: &Config,
        post: &mut Post,
    ) -> Result<(), Excess> {
        self.days.turn(now);
        let checked = self.check(now, id, way, bytes);
        let uplink = checked.and_then(|uplink| {
            let is_booked = self.days.add(uplink, id.borrower, bytes);
            if is_booked { Ok(uplink) } else { Err(Excess::Quota) }
        });
        if uplink == Err(Excess::Quota) {
            self.revoke(now, id, Revocation::Quota, Duration::ZERO, config, post);
        }
        let uplink = uplink?;
        if let Some(lease) = self.lease_mut(id.borrower, id.lease) {
            lease.carried += bytes;
            lease.bucket(way).take(now, bytes);
        }
        if let Some(link) = self.link_mut(uplink) {
            link.take(now, way, bytes);
        }
        Ok(())
    }

    /// The uplink of the packet, if it may go.
    fn check(&mut self, now: Instant, id: LeaseId, way: Way, bytes: u64) -> Result<u8, Excess> {
        let lease = self.lease_mut(id.borrower, id.lease).filter(|lease| lease.ends > now);
        let lease = lease.ok_or(Excess::NoLease)?;
        let uplink = lease.uplink;
        let fits_lease = lease.carried.saturating_add(bytes) <= lease.most;
        let has_rate = lease.bucket(way).has(now, bytes);
        let (total, account) = self.days.carried(uplink, id.borrower);
        let link = self.link_mut(uplink).ok_or(Excess::NoLease)?;
        let limits = link.is.limits;
        let fits_day = total.saturating_add(bytes) <= limits.day_bytes
            && account.saturating_add(bytes) <= limits.borrower_day_bytes;
        if !fits_lease || !fits_day {
            return Err(Excess::Quota);
        }
        if has_rate && link.has(now, way, bytes) { Ok(uplink) } else { Err(Excess::Rate) }
    }

    /// The lender itself has sent or received over an uplink.
    pub(crate) fn own(&mut self, now: Instant, uplink: u8, way: Way, bytes: u64) {
        if let Some(link) = self.link_mut(uplink) {
            link.own(now, way, bytes);
        }
    }

    fn link_mut(&mut self, uplink: u8) -> Option<&mut Link> {
        self.links.iter_mut().find(|link| link.is.number == uplink)
    }
}
