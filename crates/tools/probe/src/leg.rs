//! Results of one direction between the hosts.

use super::sizes::{Percentiles, ip_bytes, largest};
use fairwave_probe::Account;
use fairwave_probe::delay;
use std::net::SocketAddr;

/// If the receiver gets less than this share of the sending rate, the path does not carry all that
/// is sent.
const CARRIED: f64 = 0.97;

/// Rate of a train's IP packets that arrived, in Mbps; `None` if it is not below the sending rate.
pub(super) fn carried_mbps(account: &Account, server: SocketAddr) -> Option<f64> {
    let mut leg = Leg::default();
    leg.take(std::slice::from_ref(account), server);
    leg.carried_mbps
}

/// Sending rate of a train's IP packets, in Mbps; `None` if too few were sent, or none arrived.
pub(super) fn sent_mbps(account: &Account, server: SocketAddr) -> Option<f64> {
    let size = largest(std::slice::from_ref(account))?;
    Some(size.sent_rate? * ip_bytes(size.payload_bytes, server) as f64 * 8.0 / 1e6)
}

/// One direction between the hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leg {
    /// Rate of the narrowest link in Mbps of IP packets; `None` if it is not below the sending
    /// rate.
    pub carried_mbps: Option<f64>,
    /// Number of spaced packets sent.
    pub apart: usize,
    /// Number of spaced packets lost.
    pub lost: usize,
    /// 90th percentile of the waits of a train's packets in milliseconds; the maximum over all
    /// trains.
    pub longest_ms: f64,
    /// Delays of spaced packets beyond that of the fastest one of their trial, in milliseconds and
    /// ascending order.
    waits_ms: Vec<f64>,
}

impl Leg {
    /// The share of spaced packets that were lost.
    pub fn loss(&self) -> Option<f64> {
        (self.apart > 0).then(|| self.lost as f64 / self.apart as f64)
    }

    /// Delays of spaced packets in milliseconds, for a delay of `fastest_ms` of the fastest one.
    pub fn delay_ms(&self, fastest_ms: f64) -> Option<Percentiles> {
        let Percentiles { p50, p95 } = Percentiles::of_sorted(&self.waits_ms)?;
        Some(Percentiles { p50: fastest_ms + p50, p95: fastest_ms + p95 })
    }

    /// Evaluates the accounts of a session. The results of spaced packets accumulate; those of
    /// trains replace the earlier ones.
    pub(super) fn take(&mut self, accounts: &[Account], server: SocketAddr) {
        let delays = delay::delays(accounts);
        for trial in &delays {
            let (sent, lost) = trial.lost_apart();
            self.apart += sent;
            self.lost += lost;
            self.waits_ms.extend(trial.waits_ms[..trial.spaced].iter().flatten());
        }
        // Trials without any arrival have no delays.
        for silent in accounts.iter().filter(|account| account.arrived.is_empty()) {
            let apart = silent.sent.len().min(silent.trial.spaced as usize);
            self.apart += apart;
            self.lost += apart;
        }
        self.waits_ms.sort_by(f64::total_cmp);
        self.longest_ms = delays.iter().map(|trial| trial.longest_ms).fold(0.0, f64::max);
        let Some(size) = largest(accounts) else { return };
        let bytes = ip_bytes(size.payload_bytes, server) as f64;
        let narrow = size.sent_rate.zip(size.drain_rate);
        let narrow = narrow.filter(|(sent, drained)| drained.mean < CARRIED * sent);
        self.carried_mbps = narrow.map(|(_, drained)| drained.mean * bytes * 8.0 / 1e6);
    }
}
