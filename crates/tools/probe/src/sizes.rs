//! Packet sizes, and percentiles of samples.

use fairwave_probe::estimate::{self, SizeEstimate};
use fairwave_probe::{Account, HEADER_BYTES, HEADER_BYTES_V6};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::SocketAddr;

/// Payload of the large packets in bytes: with headers it fits links and tunnels with an MTU of
/// 1500.
pub(super) const LARGE: u32 = 1_400;

/// Percentiles of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PercentilesOutput")]
pub struct Percentiles {
    /// The median.
    #[schemars(extend("unit" = "milliseconds"))]
    pub p50: f64,
    /// The 95th percentile.
    #[schemars(extend("unit" = "milliseconds"))]
    pub p95: f64,
}

impl Percentiles {
    /// Computes the percentiles of samples in ascending order.
    pub(super) fn of_sorted(samples: &[f64]) -> Option<Self> {
        // The smallest value that this share of the samples does not exceed.
        let at = |share: f64| {
            let place = (samples.len() as f64 * share).ceil() as usize;
            samples.get(place.max(1) - 1).copied()
        };
        Some(Self { p50: at(0.5)?, p95: at(0.95)? })
    }
}

/// Length of an IP packet with this payload, in bytes.
pub(super) const fn ip_bytes(payload_bytes: u32, server: SocketAddr) -> u64 {
    let header = if server.is_ipv4() { HEADER_BYTES } else { HEADER_BYTES_V6 };
    payload_bytes as u64 + header
}

/// The estimate for the largest packet size.
pub(super) fn largest(accounts: &[Account]) -> Option<SizeEstimate> {
    estimate::by_size(accounts).into_iter().max_by_key(|size| size.payload_bytes)
}
