//! Delays of the packets of trials, and lost ones, corrected for the drift of clocks.

#[cfg(test)]
mod tests;

use crate::Account;
use crate::timeline::{self, Timeline};

/// The packets of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Delays {
    /// Length of the packets, as UDP payload.
    pub payload_bytes: u32,
    /// Number of packets, from the first, were sent apart.
    pub spaced: usize,
    /// Time at which each packet was sent, in seconds since the first.
    pub sent_s: Vec<f64>,
    /// Excess of the one-way delay over the fastest packet of the trial, in milliseconds; `None` if
    /// it was lost.
    pub waits_ms: Vec<Option<f64>>,
    /// The wait that nine in ten packets of the train do not exceed, in milliseconds: that of a
    /// full buffer, if the train filled it.
    pub longest_ms: f64,
}

impl Delays {
    /// Packets that were sent apart, and how many of them were lost.
    pub fn lost_apart(&self) -> (usize, usize) {
        let apart = &self.waits_ms[..self.spaced];
        (apart.len(), apart.iter().filter(|wait| wait.is_none()).count())
    }
}

/// The delays of each trial of which at least one packet arrived.
pub fn delays(accounts: &[Account]) -> Vec<Delays> {
    let drift = timeline::drift(accounts);
    accounts.iter().filter_map(|account| of_account(account, drift)).collect()
}

/// Drift of the receiver's clock against the sender's, in millionths. Zero where it is unknown.
pub fn drift_ppm(accounts: &[Account]) -> f64 {
    1e6 * timeline::drift(accounts)
}

fn of_account(account: &Account, drift: f64) -> Option<Delays> {
    let line = Timeline::new(account, drift)?;
    let first = *account.sent.first()?;
    let waits = (0..line.sent.len()).map(|number| Some(line.wait(number)? as f64 / 1e6));
    Some(Delays {
        payload_bytes: account.trial.payload_bytes,
        spaced: line.spaced,
        sent_s: account.sent.iter().map(|sent| sent.since(first).as_secs_f64()).collect(),
        waits_ms: waits.collect(),
        longest_ms: line.longest_wait as f64 / 1e6,
    })
}
