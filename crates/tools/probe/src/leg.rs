//! What is known of one way between the hosts.

use super::sizes::{Percentiles, ip_bytes, largest};
use fairwave_probe::Account;
use fairwave_probe::delay;
use std::net::SocketAddr;

/// Of what the receiver gets less than this share, the path does not carry what is sent.
const CARRIED: f64 = 0.97;

/// IP packets that arrived of one train, in Mbps; `None` if that is not less than what was sent.
pub(super) fn carried_mbps(account: &Account, server: SocketAddr) -> Option<f64> {
    let mut leg = Leg::default();
    leg.take(std::slice::from_ref(account), server);
    leg.carried_mbps
}

/// IP packets that were sent of one train, in Mbps; `None` if hardly any was, or none arrived.
pub(super) fn sent_mbps(account: &Account, server: SocketAddr) -> Option<f64> {
    let size = largest(std::slice::from_ref(account))?;
    Some(size.sent_rate? * ip_bytes(size.payload_bytes, server) as f64 * 8.0 / 1e6)
}

/// One way between the hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leg {
    /// IP packets that the narrowest link carries, in Mbps; `None` if that is not less than what
    /// is sent.
    pub carried_mbps: Option<f64>,
    /// Packets that were sent apart.
    pub apart: usize,
    /// Number of lost ones.
    pub lost: usize,
    /// How long nine in ten packets of a train waited at most, in milliseconds; the longest of all
    /// trains.
    pub longest_ms: f64,
    /// How much longer than the fastest of its trial each packet apart took, in milliseconds, in
    /// ascending order.
    waits_ms: Vec<f64>,
}

impl Leg {
    /// The share of packets apart that were lost.
    pub fn loss(&self) -> Option<f64> {
        (self.apart > 0).then(|| self.lost as f64 / self.apart as f64)
    }

    /// How long packets apart took, in milliseconds, if the fastest took so long.
    pub fn delay_ms(&self, fastest_ms: f64) -> Option<Percentiles> {
        let Percentiles { p50, p95 } = Percentiles::of_sorted(&self.waits_ms)?;
        Some(Percentiles { p50: fastest_ms + p50, p95: fastest_ms + p95 })
    }

    /// Takes the accounts of a session. What packets apart met adds up; what trains met replaces
    /// what was known.
    pub(super) fn take(&mut self, accounts: &[Account], server: SocketAddr) {
        let delays = delay::delays(accounts);
        for trial in &delays {
            let (sent, lost) = trial.lost_apart();
            self.apart += sent;
            self.lost += lost;
            self.waits_ms.extend(trial.waits_ms[..trial.spaced].iter().flatten());
        }
        // Trials of which nothing arrived have no delays.
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
