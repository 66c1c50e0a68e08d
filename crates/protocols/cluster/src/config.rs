//! Configuration of a member, of its offers and of its wishes.

use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::cluster::{Cost, Kind, MAX_OFFERS, MemberId, Name, Rates};
use std::num::NonZeroU32;
use thiserror::Error;

/// Longest interval between announcements: the format allows longer ones, but no announcement
/// should count for hours.
pub(crate) const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// Settings of a member. They may differ between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its id, which no other member has.
    pub id: MemberId,
    /// Its name.
    pub name: Name,
    /// Number of this start. It must be greater than that of every earlier start with the same
    /// id, as a counter in lasting memory or the date in seconds is.
    pub start: u32,
    /// From one announcement to the next.
    pub announce_every: Duration,
    /// From one query to the next.
    pub query_every: Duration,
    /// The first interval of either, doubled until it is the other; also the minimum time between
    /// two announcements.
    pub first_interval: Duration,
    /// Number of announcers that are remembered.
    pub max_members: usize,
    /// Number of members that one IP address may stand for.
    pub max_per_address: usize,
    /// Number of borrowers that have a session at once.
    pub max_sessions: usize,
    /// Messages per second to hosts that have not proven their identity.
    pub strangers_per_second: u32,
    /// Time until a message that was not answered is sent again; doubled for each further one.
    pub retry: Duration,
    /// Silence after which a session without leases is over.
    pub session_idle: Duration,
    /// Time after which a lender is asked again for a denied lease.
    pub rest: Duration,
    /// Longest lease until it is renewed.
    pub longest_lease: Duration,
    /// For how long a lease that is revoked may still be used.
    pub notice: Duration,
    /// Interval at which shares are computed again from the lender's own traffic.
    pub review: Duration,
    /// A battery with less, in percent, and no charger ends the lending.
    pub min_battery: u8,
    /// Whether uplinks that cost by the byte are lent.
    pub lend_metered: bool,
    /// Time at which a day of the daily quotas begins; others begin each 24 h before and after.
    pub midnight: Instant,
    /// The lowest path id that is given to a borrowed uplink. Those below are the host's own.
    pub first_path: u8,
}

/// A [`Config`] that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A time with which a machine would never be idle, or which other members refuse.
    #[error("{name} is {found}, must be within {min} and {max}")]
    Time {
        /// Name of the option.
        name: &'static str,
        /// Its value.
        found: Duration,
        /// Minimum.
        min: Duration,
        /// Maximum.
        max: Duration,
    },
}

impl Config {
    /// Fairwave's values.
    #[must_use]
    pub fn new(id: MemberId, name: Name, start: u32) -> Self {
        Self {
            id,
            name,
            start,
            announce_every: Duration::from_secs(5),
            query_every: Duration::from_secs(30),
            first_interval: Duration::from_millis(250),
            max_members: 64,
            max_per_address: 4,
            max_sessions: 16,
            strangers_per_second: 50,
            retry: Duration::from_millis(250),
            session_idle: Duration::from_secs(60),
            rest: Duration::from_secs(10),
            longest_lease: Duration::from_secs(30),
            notice: Duration::from_secs(2),
            review: Duration::from_secs(1),
            min_battery: 30,
            lend_metered: false,
            midnight: Instant::ZERO,
            first_path: 1,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let (ms, day) = (Duration::from_millis(1), Duration::from_secs(86_400));
        let tenth = ms * 100;
        let times = [
            ("announce_every", self.announce_every, tenth, MAX_INTERVAL),
            ("query_every", self.query_every, tenth, day),
            ("first_interval", self.first_interval, ms, self.announce_every.min(self.query_every)),
            ("retry", self.retry, ms, MAX_INTERVAL),
            ("session_idle", self.session_idle, self.longest_lease, day),
            ("rest", self.rest, tenth, day),
            ("longest_lease", self.longest_lease, self.retry * 8, day),
            ("notice", self.notice, Duration::ZERO, self.longest_lease),
            ("review", self.review, tenth, day),
        ];
        let outside = |(_, found, min, max): &(_, _, _, _)| found < min || found > max;
        match times.into_iter().find(outside) {
            Some((name, found, min, max)) => Err(ConfigError::Time { name, found, min, max }),
            None => Ok(()),
        }
    }
}

/// Limits of lending of an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rates lent in all.
    pub rates: Rates,
    /// Rates lent to one borrower.
    pub borrower_rates: Rates,
    /// A further borrower is taken only if it gets this share of its wish, each way.
    pub min_share: BitRate,
    /// Borrowers at once.
    pub borrowers: u8,
    /// Bytes of one lease, renewals included, both ways together.
    pub lease_bytes: u64,
    /// Bytes of one borrower in a day.
    pub borrower_day_bytes: u64,
    /// Bytes of all borrowers in a day.
    pub day_bytes: u64,
}

impl Limits {
    /// Half of each rate, a quarter for one borrower, to four of them, without quotas.
    #[must_use]
    pub fn half_of(nominal: Rates) -> Self {
        let part = |parts| Rates {
            up: BitRate(nominal.up.0 / parts),
            down: BitRate(nominal.down.0 / parts),
        };
        Self {
            rates: part(2),
            borrower_rates: part(4),
            min_share: BitRate(64_000),
            borrowers: 4,
            lease_bytes: u64::MAX,
            borrower_day_bytes: u64::MAX,
            day_bytes: u64::MAX,
        }
    }
}

/// An uplink, and its limits of lending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uplink {
    /// Its number at its owner.
    pub number: u8,
    /// Its kind.
    pub kind: Kind,
    /// Whether its owner pays for it.
    pub cost: Cost,
    /// Its own rates.
    pub nominal: Rates,
    /// Its round-trip time to a host outside in microseconds, if it is known.
    pub rtt_us: Option<NonZeroU32>,
    /// Its limits of lending.
    pub limits: Limits,
    /// Bytes that went over it for others today, if the machine cannot know because it was not
    /// there.
    pub carried_today: u64,
}

/// The uplinks that a member lends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uplinks(Vec<Uplink>);

/// Uplinks that cannot be announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UplinksError {
    /// More than an announcement holds.
    #[error("{found} uplinks, an announcement holds {MAX_OFFERS}: lend the best ones")]
    TooMany {
        /// How many.
        found: usize,
    },
    /// Two have the same number.
    #[error("two uplinks have the number {number}: give each its own")]
    Twice {
        /// The number.
        number: u8,
    },
}

impl Uplinks {
    /// These uplinks, in any order.
    ///
    /// # Errors
    /// [`UplinksError`].
    pub fn new(mut uplinks: Vec<Uplink>) -> Result<Self, UplinksError> {
        if uplinks.len() > MAX_OFFERS {
            return Err(UplinksError::TooMany { found: uplinks.len() });
        }
        uplinks.sort_by_key(|uplink| uplink.number);
        let twice = uplinks.windows(2).find(|pair| pair[0].number == pair[1].number);
        match twice {
            Some(pair) => Err(UplinksError::Twice { number: pair[0].number }),
            None => Ok(Self(uplinks)),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Uplink> {
        self.0
    }
}

/// Wishes of a borrowing host: leases of this number of uplinks, each alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Uplinks at once.
    pub uplinks: u8,
    /// Rates of each.
    pub rates: Rates,
    /// Bytes over each until it is renewed, both ways together.
    pub bytes: u64,
    /// Time until it is renewed.
    pub duration: Duration,
    /// Whether uplinks that cost their owner by the byte are wanted too.
    pub metered: bool,
}

/// A host's knowledge of its battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Power {
    /// Its charge in percent.
    pub percent: u8,
    /// Whether it is being charged.
    pub charging: bool,
}
