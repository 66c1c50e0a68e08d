//! Whether a driver shares airtime by weights, by the airtime of frames to stations.
//!
//! No driver reports which stations' packets wait. A station that has less than its share may want
//! less. So there is one certain sign against weights: the radio is busy, and stations with
//! different weights have equal airtime, time after time.

use crate::status::{Effect, ShareLine};
use fairwave_soc::StationStatus;
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use std::collections::BTreeMap;

/// Time of one measurement.
const WINDOW: Duration = Duration::from_secs(10);
/// Part of the time for which frames to stations have to occupy a radio that is busy, and part of
/// that from which a station counts.
const BUSY: f64 = 0.7;
const PART: f64 = 0.1;
/// Maximum ratio of airtimes that are equal, and minimum one of weights that differ.
const EQUAL: f64 = 1.15;
const DIFFERENT: f64 = 2.0;
/// Measurements in turn with equal airtimes that are no coincidence.
const TIMES: u32 = 3;

/// Measurement of the airtime of stations.
#[derive(Debug, Default)]
pub(crate) struct AirtimeMeter {
    window: Option<(Instant, BTreeMap<Mac, Seconds>)>,
    shares: Vec<ShareLine>,
    equal: u32,
}

/// A station's weight, and the airtime of frames to it so far.
#[derive(Clone, Copy, Debug)]
struct Seconds {
    weight: f64,
    seconds: f64,
}

impl AirtimeMeter {
    /// Whether a measurement is over.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.window.as_ref().is_none_or(|(since, _)| now.since(*since) >= WINDOW)
    }

    /// Ends a measurement, and begins the next one.
    pub(crate) fn take(&mut self, now: Instant, stations: &[StationStatus]) {
        let read = |one: &StationStatus| {
            let seconds = one.view.as_ref()?.sent_airtime?.as_secs_f64();
            let weight = one.weights.first()?.fraction();
            (weight > 0.0).then_some((one.link, Seconds { weight, seconds }))
        };
        let read: BTreeMap<Mac, Seconds> = stations.iter().filter_map(read).collect();
        if let Some((since, before)) = self.window.replace((now, read.clone())) {
            self.compare(now.since(since).as_secs_f64(), &before, &read);
        }
    }

    fn compare(
        &mut self,
        lasted: f64,
        before: &BTreeMap<Mac, Seconds>,
        now: &BTreeMap<Mac, Seconds>,
    ) {
        // A station with another weight than before, or that associated anew, is left out.
        let used = |(link, now): (&Mac, &Seconds)| {
            let before = before.get(link).filter(|before| before.weight == now.weight)?;
            let seconds = now.seconds - before.seconds;
            (seconds > 0.0).then_some((*link, Seconds { seconds, ..*now }))
        };
        let mut used: Vec<(Mac, Seconds)> = now.iter().filter_map(used).collect();
        let all = used.iter().map(|(_, one)| one.seconds).sum::<f64>();
        used.retain(|(_, one)| one.seconds >= PART * all);
        if all < BUSY * lasted || used.len() < 2 {
            self.equal = 0;
            return;
        }
        let all = used.iter().map(|(_, one)| one.seconds).sum::<f64>();
        let whole = used.iter().map(|(_, one)| one.weight).sum::<f64>();
        let line = |(link, one): &(Mac, Seconds)| ShareLine {
            station: Some(link.to_string()),
            traffic: "rest".to_owned(),
            share: one.seconds / all,
            due: one.weight / whole,
        };
        self.shares = used.iter().map(line).collect();
        let spread = |value: fn(&Seconds) -> f64| {
            let values = || used.iter().map(|(_, one)| value(one));
            values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min)
        };
        let ignores_weights =
            spread(|one| one.seconds) <= EQUAL && spread(|one| one.weight) >= DIFFERENT;
        self.equal = if ignores_weights { self.equal + 1 } else { 0 };
    }

    /// The result so far.
    pub(crate) fn effect(&self, interface: &str) -> Effect {
        let problem = (self.equal >= TIMES).then(|| {
            format!(
                "the driver of interface `{interface}` shares airtime as if all weights were \
                 equal: stations with different weights have the same airtime while the radio is \
                 busy; `--actuator hfsc` or `htb` with --rate shares bytes instead"
            )
        });
        let verdict = if problem.is_some() { "deviates" } else { "unknown" };
        Effect { verdict: verdict.to_owned(), problem, shares: self.shares.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_soc::{Reach, Source, StationView, Weight};

    /// Two stations with these weights and airtimes of frames to them, in each of `times`
    /// measurements.
    fn after(times: u64, weights: [f64; 2], used_ms: [u64; 2]) -> Effect {
        let mut meter = AirtimeMeter::default();
        for time in 0..=times {
            let station = |at: usize| StationStatus {
                link: Mac::local(at as u32),
                source: Source::Report,
                reach: Reach::Link,
                soc: None,
                age: None,
                weights: vec![Weight::from_fraction(weights[at])],
                view: Some(StationView {
                    sent_airtime: Some(Duration::from_millis(used_ms[at] * time)),
                    ..StationView::new(Mac::local(at as u32))
                }),
            };
            let now = Instant::ZERO + WINDOW * time;
            assert!(meter.is_due(now));
            meter.take(now, &[station(0), station(1)]);
            assert!(!meter.is_due(now));
        }
        meter.effect("wlan0")
    }

    #[test]
    fn equal_airtimes_of_different_weights_are_a_problem() {
        let effect = after(3, [1.0, 0.2], [4_100, 4_000]);
        assert_eq!(effect.verdict, "deviates");
        assert!(effect.problem.is_some_and(|why| why.contains("as if all weights were equal")));
        assert!((effect.shares[1].due - 1.0 / 6.0).abs() < 1e-4, "{:?}", effect.shares);
        assert_eq!(after(2, [1.0, 0.2], [4_100, 4_000]).verdict, "unknown");
    }

    #[test]
    fn stations_that_want_less_a_free_radio_and_equal_weights_are_none() {
        for (weights, used) in [
            ([1.0, 0.2], [2_000, 6_000]),
            ([1.0, 0.2], [7_000, 1_400]),
            ([1.0, 0.2], [1_000, 1_000]),
            ([1.0, 0.9], [4_000, 4_000]),
            ([1.0, 0.0], [4_000, 4_000]),
        ] {
            assert_eq!(after(5, weights, used).problem, None, "{weights:?} {used:?}");
        }
    }
}
