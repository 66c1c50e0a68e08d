//! Allowed targets of a server, and the resources that its sessions share.

use fairwave_console::shares::Shares;
use ipnet::IpNet;
use std::sync::Arc;

/// Associations of UDP at a time, and those of one session.
const ASSOCIATIONS: (usize, usize) = (256, 32);
/// Test streams at a time, and those of one session.
const TESTS: (usize, usize) = (4, 2);
/// Threads that resolve names, and those of one session. They are fewer than the runtime has (512):
/// its queue would make all sessions wait for one whose names no server answers for.
const RESOLVERS: (usize, usize) = (64, 8);

/// Limits of a server. A session is known by its number.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Prefixes of the targets that may be reached; all if it is empty.
    pub(crate) allow: Vec<IpNet>,
    pub(crate) associations: Shares<usize>,
    pub(crate) tests: Shares<usize>,
    pub(crate) resolvers: Arc<Shares<usize>>,
}

impl Limits {
    pub(crate) fn new(allow: &[IpNet]) -> Self {
        let shares = |(total, of_one)| Shares::new(total, of_one);
        Self {
            allow: allow.to_vec(),
            associations: shares(ASSOCIATIONS),
            tests: shares(TESTS),
            resolvers: Arc::new(shares(RESOLVERS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_leaves_most_of_each_resource_to_others() {
        let limits = Limits::new(&[]);
        for shares in [&limits.associations, &limits.tests, &*limits.resolvers] {
            let mut taken = Vec::new();
            while let Some(place) = shares.try_take(1) {
                taken.push(place);
            }
            assert!(shares.try_take(2).is_some());
        }
    }
}
