//! Configuration of a table.

use crate::policy::{Policies, Weight};
use fairwave_units::{Db, Duration};

/// Value that a missing report lowers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decay {
    /// The SoC: its distance from the floor times beta.
    #[default]
    Soc,
    /// The weight: the SoC stays, the weight is multiplied by beta.
    Weight,
}

/// Configuration of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableConfig {
    /// From SoC to weight.
    pub policies: Policies,
    /// Share of the newest SoC in the weighted value, beside the one before: the `a` of Fig. 7, of
    /// which the paper gives no value. 1 is the newest alone.
    pub smoothing: f64,
    /// Factor of a missing report; 0.7 in the paper.
    pub beta: f64,
    /// Value that a missing report lowers. Fairwave's reading of the lost Fig. 4 is the SoC.
    pub decay: Decay,
    /// Limit of a SoC's decay, and its minimum. Fairwave's choice: a negative number of decibels
    /// would rise when it is damped.
    pub floor: Db,
    /// Silence after which a SoC expires. Fairwave's choice.
    pub forget_after: Duration,
    /// Weight of a station whose SoC is not known. Fairwave's choice is 1.
    pub first_weight: Weight,
    /// Whether the paper's unsealed format is believed, of stations without a key. Whoever can
    /// send with another's link address can then set that one's weight.
    pub compat: bool,
    /// From one report to the next in that format, which does not say.
    pub compat_interval: Duration,
    /// Stations that there is room for.
    pub max_stations: usize,
    /// Mean time between a station's reports below which they are a flood.
    pub pace: Duration,
    /// Number of reports that may arrive together nevertheless.
    pub burst: u32,
    /// By how much a report may be later than the fastest one of its station.
    pub max_lateness: Duration,
}

impl TableConfig {
    /// The paper's values, and Fairwave's where it has none.
    pub fn new(policies: Policies) -> Self {
        Self {
            policies,
            smoothing: 1.0,
            beta: 0.7,
            decay: Decay::Soc,
            floor: Db(0.0),
            forget_after: Duration::from_secs(60),
            first_weight: Weight::ONE,
            compat: false,
            compat_interval: Duration::from_millis(200),
            max_stations: 1024,
            pace: Duration::from_millis(15),
            burst: 8,
            max_lateness: Duration::from_secs(2),
        }
    }
}
