//! Round-trip times to the far side by timestamps (RFC 7323), as Nichols' pping takes them.

use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Maximum number of timestamps that wait for their echo.
const WAITING_MAX: usize = 1_024;

/// Timestamp values of one end that the other has not echoed yet, with the time when each was
/// seen first.
#[derive(Clone, Debug, Default)]
pub(super) struct Echoes {
    waiting: VecDeque<(u32, Instant)>,
}

/// Whether a timestamp is later than another (RFC 7323 section 5.2).
pub(super) const fn is_later(value: u32, other: u32) -> bool {
    value.wrapping_sub(other).cast_signed() > 0
}

impl Echoes {
    /// A packet with this value passes.
    pub(super) fn value(&mut self, value: u32, at: Instant) {
        if self.waiting.back().is_some_and(|&(last, _)| !is_later(value, last)) {
            return;
        }
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back((value, at));
    }

    /// A packet of the other end echoes this value: the time since it passed, once for each; none
    /// if the clock was set back in between.
    pub(super) fn echo(&mut self, echo: u32, at: Instant) -> Option<Duration> {
        while let Some(&(value, since)) = self.waiting.front() {
            if is_later(value, echo) {
                return None;
            }
            self.waiting.pop_front();
            if value == echo {
                return at.checked_since(since);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_timed_once_from_when_it_passed_first() {
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut echoes = Echoes::default();
        for (value, at) in [(u32::MAX, 0), (u32::MAX, 1), (0, 2), (4, 6)] {
            echoes.value(value, ms(at));
        }
        assert_eq!(echoes.echo(u32::MAX - 1, ms(7)), None);
        assert_eq!(echoes.echo(u32::MAX, ms(20)), Some(Duration::from_millis(20)));
        assert_eq!(echoes.echo(u32::MAX, ms(21)), None);
        assert_eq!(echoes.echo(4, ms(30)), Some(Duration::from_millis(24)));
        // The clock was set back.
        echoes.value(5, ms(40));
        assert_eq!(echoes.echo(5, ms(10)), None);
    }
}
