//! Traffic over uplinks for others today.

use fairwave_units::{Duration, Instant};
use fairwave_wire::cluster::MemberId;
use std::collections::BTreeMap;

const DAY: Duration = Duration::from_secs(86_400);
/// Maximum number of borrowers of an uplink with an account in a day. Each has used it.
const MAX_ACCOUNTS: usize = 1024;

/// The accounts of a day; a new day begins with empty ones.
#[derive(Debug)]
pub(crate) struct Days {
    midnight: Instant,
    today: u64,
    totals: BTreeMap<u8, u64>,
    accounts: BTreeMap<(u8, MemberId), u64>,
}

impl Days {
    pub(crate) fn new(midnight: Instant) -> Self {
        Self { midnight, today: 0, totals: BTreeMap::new(), accounts: BTreeMap::new() }
    }

    /// Time until the next midnight.
    pub(crate) fn rest(&self, now: Instant) -> Duration {
        let first = self.midnight.since(now);
        let since = Duration::from_nanos(now.since(self.midnight).as_nanos() % DAY.as_nanos());
        if first.is_zero() { DAY - since } else { first }
    }

    /// Begins a new day if it is one.
    pub(crate) fn turn(&mut self, now: Instant) {
        let begun = u64::from(now >= self.midnight);
        let day = begun + now.since(self.midnight) / DAY;
        if day != self.today {
            self.today = day;
            self.totals.clear();
            self.accounts.clear();
        }
    }

    /// Traffic over an uplink, for all and for one.
    pub(crate) fn carried(&self, uplink: u8, borrower: MemberId) -> (u64, u64) {
        let account = self.accounts.get(&(uplink, borrower));
        (self.total(uplink), account.copied().unwrap_or(0))
    }

    pub(crate) fn total(&self, uplink: u8) -> u64 {
        self.totals.get(&uplink).copied().unwrap_or(0)
    }

    /// So much is known to have gone over it.
    pub(crate) fn at_least(&mut self, uplink: u8, bytes: u64) {
        let total = self.totals.entry(uplink).or_default();
        *total = (*total).max(bytes);
    }

    /// Adds bytes to both accounts; false, and nothing is added, if there is no room for another
    /// borrower's.
    pub(crate) fn add(&mut self, uplink: u8, borrower: MemberId, bytes: u64) -> bool {
        let key = (uplink, borrower);
        if self.accounts.len() >= MAX_ACCOUNTS && !self.accounts.contains_key(&key) {
            return false;
        }
        for account in
            [self.accounts.entry(key).or_default(), self.totals.entry(uplink).or_default()]
        {
            *account = account.saturating_add(bytes);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    fn member(id: u64) -> MemberId {
        MemberId(NonZeroU64::new(id).unwrap())
    }

    fn at(hours: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(3_600) * hours
    }

    #[test]
    fn a_day_ends_at_midnight() {
        let mut days = Days::new(at(5));
        days.turn(at(1));
        assert!(days.add(2, member(1), 100) && days.add(2, member(3), 10));
        assert_eq!(days.carried(2, member(1)), (110, 100));
        assert_eq!(days.carried(0, member(1)), (0, 0));
        assert_eq!(days.rest(at(1)), Duration::from_secs(4 * 3_600));
        days.turn(at(4));
        assert_eq!(days.total(2), 110);
        days.turn(at(5));
        assert_eq!(days.carried(2, member(1)), (0, 0));
        assert_eq!(days.rest(at(5)), DAY);
        days.at_least(2, 70);
        days.at_least(2, 60);
        assert_eq!(days.total(2), 70);
        days.turn(at(28));
        assert_eq!((days.total(2), days.rest(at(28))), (70, Duration::from_secs(3_600)));
        days.turn(at(29));
        assert_eq!(days.total(2), 0);
    }

    #[test]
    fn accounts_are_bounded() {
        let mut days = Days::new(at(0));
        let taken = (1..=2_000).filter(|id| days.add(1, member(*id), 1)).count();
        assert_eq!((taken, days.total(1)), (MAX_ACCOUNTS, MAX_ACCOUNTS as u64));
        assert!(days.add(1, member(1), 1), "known ones go on");
    }
}
