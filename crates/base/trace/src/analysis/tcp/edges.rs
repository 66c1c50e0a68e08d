//! The edge of a window as its sender knew it some time ago.

use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Steps in which a round-trip time is resolved.
const STEPS: u64 = 32;

/// Edges that an end offered, as far back as a packet under way may have been sent by.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    offered: VecDeque<(Instant, i64)>,
}

impl Edges {
    /// An edge is offered; `back` is how far back will be asked.
    pub(super) fn offer(&mut self, at: Instant, edge: i64, back: Duration) {
        let near = |&(last, _): &(Instant, i64)| at.since(last) < back / STEPS;
        match self.offered.back_mut() {
            Some(last) if near(last) => last.1 = last.1.max(edge),
            _ => self.offered.push_back((at, edge)),
        }
        while self.offered.get(1).is_some_and(|&(next, _)| at.since(next) >= back) {
            self.offered.pop_front();
        }
        // Clocks may leap: bounded whatever they say.
        if self.offered.len() > 4 * STEPS as usize {
            self.offered.pop_front();
        }
    }

    /// The edge that stood at a time.
    pub(super) fn at(&self, when: Instant) -> Option<i64> {
        let known = self.offered.iter().rev().find(|&&(at, _)| at <= when);
        known.or_else(|| self.offered.front()).map(|&(_, edge)| edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_from_afar_was_sent_by_an_older_edge() {
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let back = Duration::from_millis(20);
        let mut edges = Edges::default();
        assert_eq!(edges.at(ms(0)), None);
        (0..1000u64).for_each(|n| edges.offer(ms(n), n as i64 * 100, back));
        assert_eq!(edges.at(ms(979)), Some(97_900));
        assert_eq!(edges.at(ms(2_000)), Some(99_900));
        assert!(edges.offered.len() < 40, "{}", edges.offered.len());
    }
}
