//! The payload that open streams grow to.

use fairwave_units::{Duration, Instant};

/// Time for which paths must have taken segments of a size before open streams grow to it. A return
/// to a smaller one retransmits what is in flight.
const GROW_AFTER: Duration = Duration::from_secs(10);

/// A payload of segments that all paths take, which may be larger than those of open streams: after
/// a fall, a path may answer a question for a smaller MTU first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steady {
    mss: Option<u16>,
    /// Time since which this is so, or at which streams last grew.
    since: Instant,
}

impl Steady {
    /// Notes the payload that all paths take now. Returns it if they have taken it for long enough
    /// that open streams should grow to it, once in each such time.
    pub(super) fn note(&mut self, now: Instant, mss: Option<u16>) -> Option<u16> {
        if mss != self.mss {
            *self = Self { mss, since: now };
        }
        let due = mss.filter(|_| now.since(self.since) >= GROW_AFTER)?;
        self.since = now;
        Some(due)
    }
}
