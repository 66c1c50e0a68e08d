//! One-way delays of the data that a flow delivers.

use crate::spread::Spread;
use fairwave_trace::{DelayBin, Times};
use fairwave_units::Duration;

/// The delays of the measured span and, if they are recorded, of the sample interval.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    measured: Spread,
    interval: Option<Box<Spread>>,
}

impl Delays {
    /// Enables the delays of sample intervals, for [`Self::end_interval`].
    pub fn keep_intervals(&mut self) {
        self.interval = Some(Box::default());
    }

    /// Something was delivered that took so long.
    pub fn add(&mut self, delay: Duration) {
        self.measured.add(delay);
        if let Some(interval) = &mut self.interval {
            interval.add(delay);
        }
    }

    /// The delays since this was called last; `None` without any.
    pub fn end_interval(&mut self) -> Option<Times> {
        let interval = self.interval.as_mut()?;
        let times = interval.times();
        interval.restart();
        times
    }

    /// The warm-up is over: the measured span begins.
    pub fn restart(&mut self) {
        self.measured.restart();
    }

    /// Summary of the delays of the measured span; `None` without any.
    pub fn times(&self) -> Option<Times> {
        self.measured.times()
    }

    /// The distribution of the delays of the measured span.
    pub fn bins(&self) -> impl Iterator<Item = DelayBin> {
        self.measured.bins()
    }
}
