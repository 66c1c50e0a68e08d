//! Whether delays grow: a line through the newest sums of delay variations, and a threshold for
//! its slope that adapts (draft-ietf-rmcat-gcc-02 sections 5.3 and 5.4; the line and its constants
//! after libwebrtc's `TrendlineEstimator`).

use super::arrival::Delta;
use std::collections::VecDeque;

/// Points that the line is fitted to.
const WINDOW: usize = 20;
/// Share of the old value in the smoothed delay.
const SMOOTHING: f64 = 0.9;
/// Factor from a slope to the value compared with the threshold, in ms.
const GAIN: f64 = 4.0;
/// The slope counts more with each group, up to this number.
const MAX_DELTAS: u32 = 60;
/// Over-use is reported when the threshold was exceeded for longer than this.
const OVERUSE_MS: f64 = 10.0;
/// A value further above the threshold than this does not move it: it is a spike.
const MAX_OFFSET_MS: f64 = 15.0;
/// Longest time that one step of the threshold stands for, in ms.
const MAX_STEP_MS: f64 = 100.0;

/// Speed with which the threshold follows the value compared with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threshold {
    /// As the draft has it (section 5.4): up by 0.01 of the distance in a ms, down by 0.00018. It
    /// stays high after others have filled the queue.
    #[default]
    Draft,
    /// As libwebrtc has it: 0.0087 and 0.039. It comes down faster than it goes up.
    Libwebrtc,
}

impl Threshold {
    /// Up and down, per ms.
    const fn speeds(self) -> (f64, f64) {
        match self {
            Self::Draft => (0.01, 0.00018),
            Self::Libwebrtc => (0.0087, 0.039),
        }
    }
}

/// Meaning of delays for the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// A queue empties.
    Under,
    /// Delays stay.
    Normal,
    /// A queue grows.
    Over,
}

/// The filter and the detector behind it.
#[derive(Clone, Debug)]
pub struct Trendline {
    speeds: (f64, f64),
    points: VecDeque<(f64, f64)>,
    first_ms: Option<f64>,
    deltas: u32,
    sum: f64,
    smoothed: f64,
    slope: f64,
    threshold: f64,
    last_ms: Option<f64>,
    /// For how long the threshold has been exceeded, and how often in a row.
    over_for: Option<f64>,
    over_times: u32,
    usage: Usage,
}

impl Trendline {
    pub(super) fn new(threshold: Threshold) -> Self {
        Self {
            speeds: threshold.speeds(),
            points: VecDeque::with_capacity(WINDOW + 1),
            first_ms: None,
            deltas: 0,
            sum: 0.0,
            smoothed: 0.0,
            slope: 0.0,
            threshold: 12.5,
            last_ms: None,
            over_for: None,
            over_times: 0,
            usage: Usage::Normal,
        }
    }

    /// Takes two groups, and returns the meaning of delays by now.
    pub fn take(&mut self, delta: &Delta) -> Usage {
        self.deltas = (self.deltas + 1).min(MAX_DELTAS);
        let first = *self.first_ms.get_or_insert(delta.at_ms);
        self.sum += delta.arrival_ms - delta.departure_ms;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.sum;
        self.points.push_back((delta.at_ms - first, self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let before = self.slope;
        if self.points.len() == WINDOW {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        self.detect(before, delta);
        self.usage
    }

    /// The value compared with the threshold, in ms.
    pub fn value(&self) -> f64 {
        f64::from(self.deltas) * self.slope * GAIN
    }

    /// The threshold, in ms.
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }

    fn detect(&mut self, slope_before: f64, delta: &Delta) {
        let value = self.value();
        if value > self.threshold {
            let over_for = match self.over_for {
                None => delta.departure_ms / 2.0,
                Some(before) => before + delta.departure_ms,
            };
            self.over_for = Some(over_for);
            self.over_times += 1;
            // A falling slope means that the queue already drains, so it is no over-use.
            if over_for > OVERUSE_MS && self.over_times > 1 && self.slope >= slope_before {
                (self.over_for, self.over_times) = (Some(0.0), 0);
                self.usage = Usage::Over;
            }
        } else {
            (self.over_for, self.over_times) = (None, 0);
            self.usage = if value < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.adapt(value.abs(), delta.at_ms);
    }

    /// Draft section 5.4: the threshold follows the value compared with it, so that a flow that
    /// only reacts to delays is not starved by one that fills the queue.
    fn adapt(&mut self, value: f64, at_ms: f64) {
        let last = self.last_ms.replace(at_ms).unwrap_or(at_ms);
        if value > self.threshold + MAX_OFFSET_MS {
            return;
        }
        let (up, down) = self.speeds;
        let speed = if value < self.threshold { down } else { up };
        let step = (at_ms - last).clamp(0.0, MAX_STEP_MS);
        self.threshold += speed * (value - self.threshold) * step;
        self.threshold = self.threshold.clamp(6.0, 600.0);
    }
}

/// Returns the slope of the regression line; `None` if all points have one time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0, y + p.1));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let (up, down) = points.iter().fold((0.0, 0.0), |(up, down), (x, y)| {
        (up + (x - mean_x) * (y - mean_y), down + (x - mean_x) * (x - mean_x))
    });
    (down > 0.0).then(|| up / down)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups every 20 ms, each `more` ms later than the one before.
    fn after(trendline: &mut Trendline, groups: u32, start: u32, more: f64) -> Usage {
        let mut usage = Usage::Normal;
        for n in start..start + groups {
            let at_ms = f64::from(n) * (20.0 + more);
            usage = trendline.take(&Delta { arrival_ms: 20.0 + more, departure_ms: 20.0, at_ms });
        }
        usage
    }

    #[test]
    fn a_line_has_its_slope() {
        let points: VecDeque<_> =
            (0..20).map(|x| (f64::from(x), 3.0 + 0.5 * f64::from(x))).collect();
        assert!((slope(&points).expect("times differ") - 0.5).abs() < 1e-12);
        assert_eq!(slope(&VecDeque::from(vec![(1.0, 2.0); 20])), None);
    }

    /// Delays that grow by 2 ms in each 22 ms settle at a slope of 1/11: after 60 groups the
    /// value is 60 * 4 / 11 = 21.8 ms, above the 12.5 ms that the threshold began with and has
    /// come down from since.
    #[test]
    fn growing_delays_are_over_use() {
        let mut trendline = Trendline::new(Threshold::Libwebrtc);
        assert_eq!(after(&mut trendline, 19, 0, 2.0), Usage::Normal);
        assert_eq!(after(&mut trendline, 81, 19, 2.0), Usage::Over);
        assert!((trendline.value() - 21.8).abs() < 0.5, "{}", trendline.value());
    }

    #[test]
    fn falling_delays_are_under_use_and_even_ones_normal() {
        let mut trendline = Trendline::new(Threshold::Libwebrtc);
        assert_eq!(after(&mut trendline, 100, 0, -2.0), Usage::Under);
        let mut trendline = Trendline::new(Threshold::Libwebrtc);
        assert_eq!(after(&mut trendline, 100, 0, 0.0), Usage::Normal);
        // Nothing happens: the threshold goes down to its least.
        assert_eq!(trendline.threshold(), 6.0);
    }

    /// One step: the first group sets the clock; the second, 100 ms later, with a value of zero,
    /// lowers 12.5 by 0.039 * 12.5 * 100 = 48.75, to the minimum, 6. A spike far above does not
    /// move it.
    #[test]
    fn the_threshold_adapts_but_not_to_spikes() {
        let mut trendline = Trendline::new(Threshold::Libwebrtc);
        trendline.adapt(0.0, 0.0);
        trendline.adapt(0.0, 1.0);
        assert!((trendline.threshold() - (12.5 - 0.039 * 12.5)).abs() < 1e-12);
        let before = trendline.threshold();
        trendline.adapt(before + 15.1, 2.0);
        assert_eq!(trendline.threshold(), before);
        trendline.adapt(before + 10.0, 3.0);
        assert!((trendline.threshold() - (before + 0.0087 * 10.0)).abs() < 1e-12);
    }
}
