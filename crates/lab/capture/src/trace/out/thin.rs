//! A long series in bounded memory: neighbours are merged, and their minimum and maximum kept.

use fairwave_units::Instant;

/// Number of spans after merging, if there are no gaps between them; a figure is about 700 pixels
/// wide.
const CAPACITY: usize = 1000;
/// A gap of at least this fraction of the whole time is preserved.
const GAP: u64 = 500;

/// Minimum and maximum of the values between two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: Instant,
    pub(super) to: Instant,
    pub(super) low: i64,
    pub(super) high: i64,
}

/// A series of spans.
#[derive(Clone, Debug)]
pub(super) struct Thinned {
    spans: Vec<Span>,
    /// Number of values per span.
    stride: u64,
    /// Number of values in the last span.
    filled: u64,
    /// Earliest and latest time of all values; `None` without a value.
    extent: Option<(Instant, Instant)>,
}

impl Default for Thinned {
    fn default() -> Self {
        Self { spans: Vec::new(), stride: 1, filled: 1, extent: None }
    }
}

impl Thinned {
    /// Adds a value.
    pub(super) fn value(&mut self, at: Instant, value: i64) {
        self.add(at, value, value);
    }

    /// Adds a range of values.
    pub(super) fn add(&mut self, at: Instant, low: i64, high: i64) {
        let next = Span { from: at, to: at, low, high };
        let (earliest, latest) = self.extent.unwrap_or((at, at));
        self.extent = Some((earliest.min(at), latest.max(at)));
        let longest = self.longest_merged_gap();
        let near = |last: &Span| last.gap(next) <= longest;
        match self.spans.last_mut().filter(|last| self.filled < self.stride && near(last)) {
            Some(last) => {
                *last = last.with(next);
                self.filled += 1;
            }
            None => {
                self.spans.push(next);
                self.filled = 1;
            }
        }
        if self.spans.len() > 2 * CAPACITY + GAP as usize {
            self.thin();
        }
    }

    /// The spans, in the order in which values were added.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The last span.
    pub(super) fn last(&self) -> Option<Span> {
        self.spans.last().copied()
    }

    /// The longest gap that is merged over, in nanoseconds.
    fn longest_merged_gap(&self) -> u64 {
        self.extent.map_or(0, |(earliest, latest)| latest.since(earliest).as_nanos() / GAP)
    }

    fn thin(&mut self) {
        self.merge_pairs(self.longest_merged_gap());
        // Time that only advances has at most `GAP` longer gaps. A clock that is set back again
        // and again makes any number of them.
        if self.spans.len() > 2 * CAPACITY {
            self.merge_pairs(u64::MAX);
        }
        self.stride = self.stride.saturating_mul(2);
        self.filled = self.stride;
    }

    /// Merges neighbours in pairs, unless the gap between them is longer than `longest`
    /// nanoseconds.
    fn merge_pairs(&mut self, longest: u64) {
        let mut merged: Vec<Span> = Vec::with_capacity(self.spans.len());
        let mut may_grow = false;
        for span in &self.spans {
            match merged.last_mut().filter(|last| may_grow && last.gap(*span) <= longest) {
                Some(last) => {
                    *last = last.with(*span);
                    may_grow = false;
                }
                None => {
                    merged.push(*span);
                    may_grow = true;
                }
            }
        }
        self.spans = merged;
    }
}

impl Span {
    fn with(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Nanoseconds between both, in whichever order they are; zero if they overlap.
    fn gap(self, other: Self) -> u64 {
        other.from.since(self.to).max(self.from.since(other.to)).as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_short_series_stays_as_it_is() {
        let mut thinned = Thinned::default();
        (0..100).for_each(|n| thinned.value(ms(n), n as i64));
        assert_eq!(thinned.spans().len(), 100);
        assert_eq!(thinned.spans()[7], Span { from: ms(7), to: ms(7), low: 7, high: 7 });
    }

    #[test]
    fn a_peak_and_a_gap_survive() {
        let mut thinned = Thinned::default();
        for n in 0..100_000u64 {
            let at = if n < 50_000 { n } else { n + 30_000 };
            thinned.value(ms(at), if n == 12_345 { 1_000_000 } else { 5 });
        }
        assert!(thinned.spans().len() <= 2 * CAPACITY + GAP as usize);
        let peaks = thinned.spans().iter().filter(|span| span.high == 1_000_000);
        assert_eq!(peaks.count(), 1);
        let over = |span: &&Span| span.from < ms(60_000) && span.to > ms(70_000);
        assert_eq!(thinned.spans().iter().filter(over).count(), 0, "the gap was drawn over");
    }

    #[test]
    fn a_clock_set_back_does_not_fill_the_memory() {
        let mut thinned = Thinned::default();
        (0..1500).for_each(|n| thinned.value(ms(1_000_000 + n), 9));
        (0..100_000).for_each(|n| thinned.value(ms(400_000 + n), n as i64 % 7));
        assert!(thinned.spans().len() <= 2 * CAPACITY + GAP as usize);
        let over = |span: &&Span| span.from < ms(600_000) && span.to > ms(900_000);
        assert_eq!(thinned.spans().iter().filter(over).count(), 0, "the step was drawn over");
    }

    proptest! {
        #[test]
        fn a_clock_that_jumps_stays_within_the_bound(
            times in prop::collection::vec((0u64..1_000_000, -9i64..9), 0..9000),
        ) {
            let mut thinned = Thinned::default();
            times.iter().for_each(|(at, value)| thinned.value(ms(*at), *value));
            let spans = thinned.spans();
            prop_assert!(spans.len() <= 2 * CAPACITY + GAP as usize);
            let low = times.iter().map(|(_, value)| *value).min();
            prop_assert_eq!(spans.iter().map(|span| span.low).min(), low);
            let last = times.iter().map(|(at, _)| ms(*at)).max();
            prop_assert_eq!(spans.iter().map(|span| span.to).max(), last);
        }

        #[test]
        fn everything_is_within_some_span(
            steps in prop::collection::vec((0u64..50, -9i64..9), 0..9000),
        ) {
            let (mut thinned, mut now) = (Thinned::default(), 0);
            let points: Vec<(Instant, i64)> = steps.iter().map(|(step, value)| {
                now += step;
                (ms(now), *value)
            }).collect();
            points.iter().for_each(|(at, value)| thinned.value(*at, *value));
            let spans = thinned.spans();
            prop_assert!(spans.windows(2).all(|pair| pair[0].to <= pair[1].from));
            let low = points.iter().map(|(_, value)| *value).min();
            prop_assert_eq!(spans.iter().map(|span| span.low).min(), low);
        }
    }
}
