//! Planned packets, and their outcome.

use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::Record;

/// Packets far apart, which find the path empty, then as many as fast as the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Length of each packet, counted as UDP payload.
    pub payload_bytes: u32,
    /// Number of packets that are sent apart.
    pub spaced: u32,
    /// The time between them, and before the train.
    pub interval: Duration,
    /// Number of packets that the train has.
    pub train: u32,
}

impl Trial {
    /// Packets in all.
    pub const fn packets(&self) -> u32 {
        self.spaced.saturating_add(self.train)
    }
}

/// Direction of the packets of a session's trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// From the sender to the receiver.
    #[default]
    There,
    /// From the receiver to the sender, which asks for them.
    Back,
}

/// The trials of a session, one after the other; at most 65536.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In the order in which they are sent.
    pub trials: Vec<Trial>,
    /// Silence after a trial is accounted for.
    pub rest: Duration,
}

impl Plan {
    /// Packets of data in all.
    pub fn packets(&self) -> u64 {
        self.trials.iter().map(|trial| u64::from(trial.packets())).sum()
    }
}

/// Packets of a trial, and their arrivals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The planned packets. Fewer may have been sent.
    pub trial: Trial,
    /// Time at which each packet was sent, by the clock of the end that sent it; the spaced ones
    /// come first.
    pub sent: Vec<Instant>,
    /// Arrivals in their order, by the other end's clock; no number twice, none that was not sent.
    pub arrived: Vec<Record>,
}
