//! Memory that the streams of all sessions of a host share.

use super::config::{LEAST_SHARE, PART};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that the streams of all sessions may still buffer in each direction, beyond the
/// minimum share of each.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<AtomicU64>);

/// Bytes that a stream may buffer in each direction. What it has of the budget goes back when it is
/// dropped.
#[derive(Debug)]
pub(super) struct Share {
    bytes: u32,
    extra: u32,
    budget: Budget,
}

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// Takes the share of a stream that asks for `bytes`: not more than a part of what is left, so
    /// that streams of other sessions find some.
    pub(super) fn take(&self, bytes: u32) -> Share {
        let left = u32::try_from(self.left() / PART).unwrap_or(u32::MAX);
        let extra = bytes.saturating_sub(LEAST_SHARE as u32).min(left);
        self.0.fetch_sub(extra.into(), Ordering::Relaxed);
        Share { bytes: bytes.min(LEAST_SHARE as u32) + extra, extra, budget: self.clone() }
    }

    fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Share {
    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns all of it, once the buffers are freed.
    pub(super) fn free(&mut self) {
        self.budget.0.fetch_add(self.extra.into(), Ordering::Relaxed);
        (self.bytes, self.extra) = (0, 0);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 256 << 20;

    #[test]
    fn streams_of_all_sessions_stay_within_the_budget_and_return_it() {
        let budget = Budget::new(BYTES);
        let shares: Vec<_> = (0..10_000).map(|_| budget.take(8_000_000)).collect();
        let extra: u64 = shares.iter().map(|share| u64::from(share.bytes()) - LEAST_SHARE).sum();
        assert!(extra <= BYTES && budget.left() == BYTES - extra, "{extra}");
        assert_eq!(shares[0].bytes(), 8_000_000, "the first has all it asks for");
        drop(shares);
        assert_eq!(budget.left(), BYTES);
        let mut small = budget.take(1_000);
        assert_eq!((small.bytes(), budget.left()), (1_000, BYTES));
        small.free();
        assert_eq!(small.bytes(), 0);
    }
}
