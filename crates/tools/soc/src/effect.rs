//! Whether weights have an effect: shares that were measured beside those of the weights.
//!
//! Weights decide while packets of several classes wait at once. Only such times are compared, and
//! only whole runs of them: a class that runs empty takes less than its share by its own choice.

use crate::status::{Effect, ShareLine};
use fairwave_linux::ClassCount;
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use std::collections::BTreeMap;

/// Minimum length of a run, and of the time over which an interface's counter is compared.
const RUN: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_secs(5);
/// Bytes that a run has to have for a full weight: classes take turns of some 64 kB.
const BYTES: f64 = 640_000.0;
/// Bytes of the interface below which nothing is concluded from it.
const MIN_SENT: u64 = 250_000;
/// Factor between share and weight that turns do not explain.
const FACTOR: f64 = 1.5;

/// Counters of the interface and its classes at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// Bytes that the interface has sent.
    pub(crate) sent: u64,
    pub(crate) classes: Vec<ClassCount>,
}

/// Classes that wait, by station, kind of traffic and bits of the weight.
type Waiting = BTreeMap<(Option<[u8; 6]>, usize, u64), ClassCount>;

/// Measurement of the shares of an interface.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Begin of the present run, and the counters then of classes that have waited since.
    run: Option<(Instant, Waiting)>,
    /// Begin of the present time over which the interface's counter is compared.
    window: Option<(Instant, Reading)>,
    shares: Vec<Share>,
    /// Share of the interface's bytes in no class, where it is most of them.
    bypass: Option<f64>,
}

/// Share of a class in a run, and that of its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share {
    class: (Option<[u8; 6]>, usize),
    share: f64,
    due: f64,
}

impl Share {
    fn deviates(&self) -> bool {
        self.share > self.due * FACTOR || self.share < self.due / FACTOR
    }
}

impl Meter {
    /// Takes a reading; those of a run are fractions of a second apart.
    pub(crate) fn take(&mut self, now: Instant, reading: Reading) {
        self.compare_with_interface(now, &reading);
        let wait = |one: &ClassCount| one.waiting > 0 && one.weight > 0.0;
        let key = |one: ClassCount| ((one.station, one.kind, one.weight.to_bits()), one);
        let waiting: Waiting = reading.classes.into_iter().filter(wait).map(key).collect();
        if let Some((since, begin)) = &mut self.run {
            begin.retain(|key, _| waiting.contains_key(key));
            let is_short = now.since(*since) < RUN;
            if begin.len() > 1 && (is_short || !shares(begin, &waiting, &mut self.shares)) {
                return;
            }
        }
        self.run = Some((now, waiting));
    }

    fn compare_with_interface(&mut self, now: Instant, reading: &Reading) {
        let Some((since, before)) = &self.window else {
            self.window = Some((now, reading.clone()));
            return;
        };
        if now.since(*since) < WINDOW {
            return;
        }
        let sent = reading.sent.saturating_sub(before.sent);
        let same = |one: &ClassCount, other: &ClassCount| {
            (one.station, one.kind) == (other.station, other.kind)
        };
        let is_whole = before.classes.len() == reading.classes.len()
            && before.classes.iter().zip(&reading.classes).all(|(one, other)| same(one, other));
        if is_whole && sent >= MIN_SENT {
            let bytes = |all: &[ClassCount]| all.iter().map(|one| one.bytes).sum::<u64>();
            let counted = bytes(&reading.classes).saturating_sub(bytes(&before.classes));
            let past = sent.saturating_sub(counted) as f64 / sent as f64;
            self.bypass = (past > 0.5).then_some(past);
        }
        self.window = Some((now, reading.clone()));
    }

    /// The result so far. `traffic` has the names of classes of traffic.
    pub(crate) fn effect(&self, interface: &str, traffic: &[String]) -> Effect {
        let shares = &self.shares;
        let worst = shares.iter().filter(|one| one.deviates()).max_by(|a, b| {
            let factor = |one: &Share| (one.share / one.due).max(one.due / one.share);
            factor(a).total_cmp(&factor(b))
        });
        let (verdict, problem) = match (self.bypass, worst) {
            (Some(past), _) => ("bypassed", Some(bypassed(interface, past))),
            (None, Some(worst)) => ("deviates", Some(deviates(interface, worst))),
            (None, None) if shares.is_empty() => ("unknown", None),
            (None, None) => ("follows", None),
        };
        let line = |one: &Share| ShareLine {
            station: one.class.0.map(|link| Mac(link).to_string()),
            traffic: traffic.get(one.class.1).cloned().unwrap_or_default(),
            share: one.share,
            due: one.due,
        };
        let shares = shares.iter().map(line).collect();
        Effect { verdict: verdict.to_owned(), problem, shares }
    }
}

/// Computes the shares of a run; `false` while too few bytes were sent. A class that was made anew
/// ends the run without any.
fn shares(begin: &Waiting, end: &Waiting, found: &mut Vec<Share>) -> bool {
    let sent = |(key, before): (&_, &ClassCount)| end.get(key)?.bytes.checked_sub(before.bytes);
    let Some(sent) = begin.iter().map(sent).collect::<Option<Vec<u64>>>() else { return true };
    let all = sent.iter().sum::<u64>() as f64;
    let whole = begin.values().map(|one| one.weight).sum::<f64>();
    if all < BYTES * whole {
        return false;
    }
    let share = |(one, bytes): (&ClassCount, &u64)| Share {
        class: (one.station, one.kind),
        share: *bytes as f64 / all,
        due: one.weight / whole,
    };
    *found = begin.values().zip(&sent).map(share).collect();
    true
}

fn deviates(interface: &str, worst: &Share) -> String {
    let class = worst
        .class
        .0
        .map_or("traffic of unknown stations".to_owned(), |link| Mac(link).to_string());
    format!(
        "weights have little effect at interface `{interface}`: {class} has {:.2} of the bytes \
         where {:.2} is the share of its weight, while packets of all wait; `--actuator \
         user-space` shares without the kernel's classes",
        worst.share, worst.due
    )
}

fn bypassed(interface: &str, past: f64) -> String {
    format!(
        "weights have no effect on most of the traffic: {:.0} % of the bytes that interface \
         `{interface}` sends pass by its qdisc, as with flow offloading to hardware or programs \
         that bypass qdiscs; switch that off",
        100.0 * past
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 3] = [1.0, 1.0, 0.2];

    fn reading(sent: u64, bytes: [u64; 3], waiting: [u32; 3]) -> Reading {
        let class = |at: usize| ClassCount {
            station: (at > 0).then_some([2, 0, 0, 0, 0, at as u8]),
            kind: 0,
            weight: WEIGHTS[at],
            bytes: bytes[at],
            waiting: waiting[at],
        };
        Reading { sent, classes: (0..3).map(class).collect() }
    }

    /// Readings each 200 ms for 10 s at these bytes a step; whether packets wait by step.
    fn after(bytes: [u64; 3], past: u64, waiting: impl Fn(u64) -> [u32; 3]) -> (Meter, Effect) {
        let mut meter = Meter::default();
        for step in 0..=50 {
            let now = Instant::ZERO + Duration::from_millis(200 * step);
            let sent = (bytes.iter().sum::<u64>() + past) * step;
            meter.take(now, reading(sent, bytes.map(|one| one * step), waiting(step)));
        }
        let effect = meter.effect("wl0", &["rest".to_owned()]);
        (meter, effect)
    }

    #[test]
    fn shares_of_the_weights_have_an_effect_and_others_are_a_problem() {
        let (_, effect) = after([0, 400_000, 80_000], 0, |_| [0, 9, 9]);
        assert_eq!((effect.verdict.as_str(), effect.problem), ("follows", None));
        assert_eq!(effect.shares.len(), 2);
        assert!((effect.shares[1].share - effect.shares[1].due).abs() < 1e-9);
        // As HTB shared joined segments.
        let (_, effect) = after([0, 310_000, 190_000], 0, |_| [0, 9, 9]);
        assert_eq!(effect.verdict, "deviates");
        let problem = effect.problem.unwrap();
        assert!(problem.contains("02:00:00:00:00:02 has 0.38"), "{problem}");
        assert!(problem.contains("where 0.17 is"), "{problem}");
    }

    #[test]
    fn a_class_that_runs_empty_is_no_problem() {
        let at_times = |step: u64| [0, 9, u32::from(!step.is_multiple_of(5))];
        for waiting in [|_| [0, 9, 0], |_| [0, 0, 0]] {
            assert_eq!(after([0, 10_000, 400_000], 0, waiting).1.verdict, "unknown");
        }
        assert_eq!(after([0, 10_000, 400_000], 0, at_times).1.verdict, "unknown");
    }

    #[test]
    fn a_few_turns_are_too_few() {
        assert_eq!(after([0, 400, 800], 0, |_| [0, 9, 9]).1.verdict, "unknown");
    }

    #[test]
    fn bytes_in_no_class_are_a_problem() {
        let (_, effect) = after([10_000, 0, 0], 90_000, |_| [0; 3]);
        assert_eq!(effect.verdict, "bypassed");
        assert!(effect.problem.is_some_and(|why| why.contains("90 % of the bytes")));
        // Segments that are cut below count a little more there.
        assert_eq!(after([100_000, 0, 0], 10_000, |_| [0; 3]).1.verdict, "unknown");
    }
}
