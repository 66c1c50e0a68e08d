//! The exchangeable parts by their names: one list of each kind, of which scenarios, listings and
//! messages are views.

use crate::{
    Balia, Blest, Ecf, Growth, Lia, MinRtt, Olia, Redundant, RetransmissionPath, RoundRobin,
    Scheduler, Uncoupled, Widest,
};

/// A part as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct Named<T> {
    /// Its spelling in scenarios.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Its source.
    pub source: &'static str,
    /// The value, or its constructor.
    pub part: T,
}

impl<T> Named<T> {
    const fn new(name: &'static str, summary: &'static str, source: &'static str, part: T) -> Self {
        Self { name, summary, source, part }
    }
}

/// Makes a scheduler.
pub type BuildScheduler = fn() -> Box<dyn Scheduler>;
/// Makes an algorithm of growth.
pub type BuildGrowth = fn() -> Box<dyn Growth>;

/// Every scheduler, in the order in which it is listed.
pub const SCHEDULERS: &[Named<BuildScheduler>] = &[
    Named::new(
        "widest",
        "the lowest numbers on the path with the largest window",
        "Iida, Ishihara, Mizuno: TCP SHAKE, section 2.2.2",
        || Box::new(Widest),
    ),
    Named::new(
        "least-rtt",
        "the path with the least round-trip time that has room",
        "Linux's default for MPTCP",
        || Box::new(MinRtt),
    ),
    Named::new("round-robin", "one path after the other, as they have room", "", || {
        Box::new(RoundRobin::default())
    }),
    Named::new(
        "blest",
        "least-rtt, but nothing on a slow path that would shut the receive window",
        "after Ferlin et al. 2016",
        || Box::new(Blest),
    ),
    Named::new(
        "ecf",
        "least-rtt, but waits for the fastest path where that is done earlier",
        "Lim et al. 2017",
        || Box::new(Ecf::default()),
    ),
    Named::new(
        "redundant",
        "every segment on every path",
        "Linux's scheduler for MPTCP of this name",
        || Box::new(Redundant),
    ),
];

/// Every algorithm of growth, in the order in which it is listed.
pub const GROWTHS: &[Named<BuildGrowth>] = &[
    Named::new("uncoupled", "each path as a connection of its own: Reno", "RFC 5681", || {
        Box::new(Uncoupled)
    }),
    Named::new(
        "lia",
        "together no more than one connection on the best path takes",
        "RFC 6356",
        || Box::new(Lia),
    ),
    Named::new("olia", "opportunistic linked increases", "Khalili et al. 2012", || Box::new(Olia)),
    Named::new("balia", "balanced linked adaptation", "Peng et al. 2016", || Box::new(Balia)),
];

/// Every choice of the path of retransmissions, in the order in which it is listed.
pub const RETRANSMISSION_PATHS: &[Named<RetransmissionPath>] = &[
    Named::new(
        "widest",
        "the path with the largest bandwidth, as known at the start",
        "Iida, Ishihara, Mizuno: TCP SHAKE, section 2.3",
        RetransmissionPath::Widest,
    ),
    Named::new(
        "same",
        "that on which it was lost",
        "Iida, Ishihara, Mizuno: TCP SHAKE, for comparison",
        RetransmissionPath::Same,
    ),
    Named::new(
        "largest-window",
        "the path with the largest window",
        "",
        RetransmissionPath::LargestWindow,
    ),
    Named::new(
        "least-rtt",
        "the path with the least round-trip time",
        "",
        RetransmissionPath::MinRtt,
    ),
    Named::new(
        "least-rtt-over-delivery",
        "the path with the least round-trip time over the part of its messages that arrives",
        "Iida, Ishihara, Mizuno: TCP SHAKE, future work",
        RetransmissionPath::MinRttOverDelivery,
    ),
];

/// The scheduler of this name, if there is one.
pub fn scheduler(name: &str) -> Option<Box<dyn Scheduler>> {
    SCHEDULERS.iter().find(|known| known.name == name).map(|known| (known.part)())
}

/// The algorithm of growth of this name, if there is one.
pub fn growth(name: &str) -> Option<Box<dyn Growth>> {
    GROWTHS.iter().find(|known| known.name == name).map(|known| (known.part)())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn what_is_built_bears_the_name_that_it_is_asked_for_by() {
        for known in SCHEDULERS {
            assert_eq!(scheduler(known.name).map(|built| built.name()), Some(known.name));
        }
        for known in GROWTHS {
            assert_eq!(growth(known.name).map(|built| built.name()), Some(known.name));
        }
        assert!(scheduler("Widest").is_none() && growth("reno").is_none());
    }

    #[test]
    fn what_profiles_use_is_listed() {
        for profile in Profile::ALL {
            let (rules, config) = (profile.rules(), profile.config());
            assert!(scheduler(rules.scheduler.name()).is_some(), "{profile:?}");
            assert!(growth(rules.growth.name()).is_some(), "{profile:?}");
            let chosen = config.retransmission;
            assert!(RETRANSMISSION_PATHS.iter().any(|known| known.part == chosen), "{profile:?}");
        }
    }
}
