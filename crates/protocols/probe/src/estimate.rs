//! Number of packets that a buffer holds: the paper's count, and ours that subtracts the drained
//! ones.
//!
//! The paper (Ando, Murase, Oguchi, section 3) takes the number just before the first gap, `N1`.
//! While the train filled the buffer the radio drained it, so `N1` is too many: at a rate `lambda`
//! of the train and `mu` of the radio the buffer is about `N1 (1 - mu / lambda)`. Here, instead of
//! using rates, the packets are counted that the receiver had when the first one was dropped.

#[cfg(test)]
mod tests;

use crate::Account;
use crate::timeline::{self, Timeline};
use fairwave_units::stats::Estimate;

/// Result of one train on the buffer, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Packets of the train that waited when the first was dropped: sent before it, less those
    /// drained until then, less the one that the radio was sending.
    pub waiting: f64,
    /// The same as the mean over later drops, once all that waited at the first had left.
    pub later: Option<f64>,
    /// Mean number of packets that left the buffer together, as an A-MPDU; 1 where they left one by
    /// one. With bursts `waiting` is the median over all drops at a full buffer, and packets in the
    /// air count as gone.
    pub burst: f64,
}

/// Result of the trains of one packet size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeEstimate {
    /// Length of the packets, as UDP payload.
    pub payload_bytes: u32,
    /// Trains of this size.
    pub trains: usize,
    /// The paper's count, over the trains with a gap.
    pub naive: Option<Estimate>,
    /// [`Fill::waiting`] over the trains that filled the buffer: the estimate.
    pub waiting: Option<Estimate>,
    /// Its extremes.
    pub extremes: Option<(f64, f64)>,
    /// [`Fill::later`] over the trains.
    pub later: Option<Estimate>,
    /// [`Fill::burst`] over the trains.
    pub burst: Option<Estimate>,
    /// Packets per second that were sent.
    pub sent_rate: Option<f64>,
    /// Packets per second that arrived.
    pub drain_rate: Option<Estimate>,
    /// The paper's count corrected by the rates: `N1 (1 - mu / lambda)`.
    pub by_rates: Option<f64>,
}

/// The paper's count: packets of the train before the first that is missing.
pub fn naive(account: &Account) -> Option<u32> {
    let line = Timeline::new(account, 0.0)?;
    let first = *line.losses().first()?;
    Some((first - line.spaced) as u32)
}

/// Returns the result of a train, if it filled the buffer. `drift` is the lead of the receiver's
/// clock, as a share.
pub fn fill(account: &Account, drift: f64) -> Option<Fill> {
    let line = Timeline::new(account, drift)?;
    let overflow = line.overflow();
    let first = *overflow.first()?;
    let came = line.came(first);
    if line.is_bursty() {
        let mut held: Vec<usize> = overflow.iter().map(|number| line.held[*number]).collect();
        held.sort_unstable();
        let waiting = held[held.len() / 2] as f64;
        return Some(Fill { waiting, later: None, burst: line.burst });
    }
    // A packet that the radio lost left the buffer too: the last that arrived tells.
    let before = line.arrivals.iter().filter(|(number, at)| *at <= came && *number < first);
    let left = before.map(|(number, _)| number + 1).max().unwrap_or(0);
    let waiting = (first - left) as f64 - 1.0;
    Some(Fill { waiting, later: later(&line, &overflow, came), burst: 1.0 })
}

/// Mean, over the drops after a full buffer's wait, of the packets accepted and not drained.
fn later(line: &Timeline, overflow: &[usize], came: i64) -> Option<f64> {
    let from = came.saturating_add(line.longest_wait);
    let accepted: Vec<usize> = line
        .arrived
        .iter()
        .scan(0, |count, arrived| {
            let before = *count;
            *count += usize::from(arrived.is_some());
            Some(before)
        })
        .collect();
    let (mut sum, mut count, mut drained) = (0.0, 0, 0);
    for number in overflow.iter().filter(|number| line.came(**number) >= from) {
        let came = line.came(*number);
        while line.arrivals.get(drained).is_some_and(|(_, at)| *at <= came) {
            drained += 1;
        }
        sum += accepted[*number] as f64 - drained as f64 - 1.0;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// The estimates, for each packet size in the order in which it was first sent.
pub fn by_size(accounts: &[Account]) -> Vec<SizeEstimate> {
    let mut sizes: Vec<u32> = Vec::new();
    for account in accounts {
        if !sizes.contains(&account.trial.payload_bytes) {
            sizes.push(account.trial.payload_bytes);
        }
    }
    let drift = timeline::drift(accounts);
    sizes.into_iter().map(|size| of_size(accounts, size, drift)).collect()
}

fn of_size(accounts: &[Account], payload_bytes: u32, drift: f64) -> SizeEstimate {
    let own: Vec<&Account> =
        accounts.iter().filter(|a| a.trial.payload_bytes == payload_bytes).collect();
    let counts: Vec<f64> = own.iter().filter_map(|a| naive(a)).map(f64::from).collect();
    let fills: Vec<Fill> = own.iter().filter_map(|a| fill(a, drift)).collect();
    let waiting: Vec<f64> = fills.iter().map(|fill| fill.waiting).collect();
    let later: Vec<f64> = fills.iter().filter_map(|fill| fill.later).collect();
    let bursts: Vec<f64> = fills.iter().map(|fill| fill.burst).collect();
    let rates: Vec<(f64, f64)> =
        own.iter().filter_map(|a| Timeline::new(a, drift)?.rates()).collect();
    let drained: Vec<f64> = rates.iter().map(|(_, drained)| *drained).collect();
    let sent: Vec<f64> = rates.iter().map(|(sent, _)| *sent).collect();
    let naive = Estimate::of(&counts);
    let sent_rate = Estimate::of(&sent).map(|rate| rate.mean);
    let drain_rate = Estimate::of(&drained);
    let by_rates = naive.zip(sent_rate).zip(drain_rate);
    let extremes = |values: &[f64]| {
        let min = values.iter().copied().reduce(f64::min)?;
        Some((min, values.iter().copied().reduce(f64::max)?))
    };
    SizeEstimate {
        payload_bytes,
        trains: own.len(),
        naive,
        waiting: Estimate::of(&waiting),
        extremes: extremes(&waiting),
        later: Estimate::of(&later),
        burst: Estimate::of(&bursts),
        sent_rate,
        drain_rate,
        by_rates: by_rates.map(|((naive, sent), drain)| naive.mean * (1.0 - drain.mean / sent)),
    }
}
