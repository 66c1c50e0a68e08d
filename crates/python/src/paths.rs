//! A scheduler of SHAKE that divides new data among paths by shares that an agent sets.

use fairwave_shake::{Job, PathView, Scheduler};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A share of one: shares are fixed-point numbers with 16 bits behind the point.
pub(crate) const ONE: u64 = 1 << 16;

/// Divides new data in proportion to shares. The next segment is for the path that is furthest
/// behind its share, and waits for room in that path's window: a scheduler that used whatever has
/// room would follow the windows instead.
#[derive(Debug)]
pub(crate) struct Shares {
    /// By the number of the path.
    shares: Arc<[AtomicU64]>,
    /// Bytes of each path over its share.
    sent: BTreeMap<u8, u64>,
    /// The same of the path that took the last segment. A path that joins again begins here: it
    /// has no claim to data of the time that it was away.
    front: u64,
}

impl Shares {
    pub(crate) fn new(shares: Arc<[AtomicU64]>) -> Self {
        Self { shares, sent: BTreeMap::new(), front: 0 }
    }

    fn position(&self, path: &PathView) -> u64 {
        self.sent.get(&path.id).map_or(self.front, |sent| (*sent).max(self.front))
    }
}

impl Scheduler for Shares {
    fn name(&self) -> &'static str {
        "steered"
    }

    fn pick(&mut self, job: &Job, paths: &[PathView]) -> Option<usize> {
        let behind = (0..paths.len()).min_by_key(|index| self.position(&paths[*index]))?;
        let path = &paths[behind];
        if !path.takes(job.len) {
            return None;
        }
        let share = self.shares.get(usize::from(path.id))?.load(Ordering::Relaxed).max(1);
        self.front = self.position(path);
        self.sent.insert(path.id, self.front + u64::from(job.len) * ONE / share);
        Some(behind)
    }
}
