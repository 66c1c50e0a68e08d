//! Types of the output of `fairwave probe HOST --json`.

use super::words::{answer, warnings};
use crate::{Buffer, Interval, Kind, Latency, Leg, Measured, Percentiles, Way};
use fairwave_units::BitRate;
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave probe HOST --json`.
#[derive(Serialize, JsonSchema)]
pub struct ProbeOutput {
    /// Address and port of the server.
    pub server: String,
    /// Maximum rate of IP packets that both ends allowed, in Mbps; null if they never agreed.
    #[schemars(extend("unit" = "megabits per second"))]
    pub rate_mbps: Option<f64>,
    /// Length of the large IP packets: 1428 (1448 over IPv6) unless the path's MTU is lower or
    /// `--packet-size` sets another.
    #[schemars(extend("unit" = "bytes"))]
    pub packet_bytes: u64,
    /// Mean number of packets that the path delivers together, as a radio with A-MPDUs does; 1
    /// where they come one by one.
    #[schemars(extend("unit" = "packets"))]
    pub burst_packets: f64,
    /// Direction to which `buffer`, `kind` and `drain_mbps` refer: `up`, to the server, or `down`,
    /// from the server (`--reverse`).
    pub direction: String,
    /// The narrowest buffer in that direction; null if none filled, or if it drops before it is
    /// full.
    pub buffer: Option<Buffer>,
    /// Packets of a train before the first that is missing: the buffer as Ando, Murase and Oguchi
    /// count it, in which packets that left meanwhile count; null if no packet was missing.
    #[schemars(extend("unit" = "packets"))]
    pub packets_before_gap: Option<Interval>,
    /// `packets` or `bytes` (unit of the buffer's limit), `aqm` (drops before it is full),
    /// `per-station` (packets of other stations do not wait), `none-found`; null if undetermined.
    pub kind: Option<String>,
    /// IP packets that the narrowest link carries, in Mbps; null if it carries all that is sent.
    #[schemars(extend("unit" = "megabits per second"))]
    pub drain_mbps: Option<f64>,
    /// IP packets that the narrowest link carries in each direction, in Mbps.
    pub carried_mbps: CarriedOutput,
    /// Round-trip times of small packets of another flow, by the load at the same time.
    pub latency_ms: LatencyOutput,
    /// Number of those packets, and of lost ones, by the load at the same time.
    pub pings: PingsOutput,
    /// One-way delay of spaced packets. The clocks of two hosts cannot determine how the
    /// minimum round-trip time is divided: half of it counts for each way. The excess over it is
    /// measured.
    pub one_way_ms: OneWayOutput,
    /// Shares of packets that were lost while there was no load.
    pub loss: LossOutput,
    /// Relative rate by which the server's clock runs faster than this host's; corrected in all
    /// delays.
    pub drift_ppm: f64,
    /// How long a call waits beside a load in that direction, and a remedy, in sentences.
    pub answer: Vec<String>,
    /// The numbers from which `kind` was determined, in sentences.
    pub evidence: Vec<String>,
    /// Warnings for the reader of the figures.
    pub warnings: Vec<String>,
    /// Reason why the measurement ended early; null if it did not.
    pub error: Option<String>,
}

/// Round-trip times in milliseconds.
#[derive(Serialize, JsonSchema)]
pub struct LatencyOutput {
    /// Round-trip times while nothing else is sent; null if nothing came back.
    pub idle: Option<Percentiles>,
    /// Round-trip times while this host sends more than the narrowest link carries; null if nothing
    /// came back.
    pub up: Option<Percentiles>,
    /// Round-trip times while the server sends more than that; null if nothing came back.
    pub down: Option<Percentiles>,
    /// Round-trip times while both do; null if nothing came back.
    pub both: Option<Percentiles>,
}

/// Pings under each load.
#[derive(Serialize, JsonSchema)]
pub struct PingsOutput {
    /// While nothing else is sent.
    pub idle: PingCounts,
    /// While this host sends more than the narrowest link carries.
    pub up: PingCounts,
    /// While the server sends more than that.
    pub down: PingCounts,
    /// While both do.
    pub both: PingCounts,
}

/// Number of pings.
#[derive(Serialize, JsonSchema)]
pub struct PingCounts {
    /// Pings sent.
    #[schemars(extend("unit" = "packets"))]
    pub sent: usize,
    /// Pings that were not answered.
    #[schemars(extend("unit" = "packets"))]
    pub lost: usize,
}

impl PingCounts {
    const fn of(latency: &Latency) -> Self {
        Self { sent: latency.sent, lost: latency.lost }
    }
}

/// Capacity of the narrowest link, by direction.
#[derive(Serialize, JsonSchema)]
pub struct CarriedOutput {
    /// Rate towards the server; null if all that is sent arrives.
    #[schemars(extend("unit" = "megabits per second"))]
    pub up: Option<f64>,
    /// Rate from the server; null if all that is sent arrives.
    #[schemars(extend("unit" = "megabits per second"))]
    pub down: Option<f64>,
}

/// One-way delays in milliseconds.
#[derive(Serialize, JsonSchema)]
pub struct OneWayOutput {
    /// Delays towards the server; null if nothing arrived.
    pub up: Option<Percentiles>,
    /// Delays from the server; null if nothing arrived.
    pub down: Option<Percentiles>,
}

/// Shares of packets that were lost, from 0 to 1.
#[derive(Serialize, JsonSchema)]
pub struct LossOutput {
    /// Share lost on the way to the server; null if nothing was sent.
    #[schemars(extend("unit" = "share"))]
    pub up: Option<f64>,
    /// Share lost on the way from the server; null if nothing was sent.
    #[schemars(extend("unit" = "share"))]
    pub down: Option<f64>,
    /// Share lost in both directions together, on an idle path; null if nothing was sent.
    #[schemars(extend("unit" = "share"))]
    pub round_trip: Option<f64>,
}

/// The word for a kind.
const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Packets => "packets",
        Kind::Bytes => "bytes",
        Kind::Aqm => "aqm",
        Kind::PerStation => "per-station",
        Kind::NoneFound => "none-found",
    }
}

impl ProbeOutput {
    /// The output for a measurement.
    pub fn of(server: String, found: &Measured, error: Option<String>) -> Self {
        let Latency { sent, lost, .. } = found.idle;
        let one_way = |leg: &Leg| leg.delay_ms(found.fastest_ms?);
        Self {
            server,
            rate_mbps: found.rate.map(BitRate::as_mbps_f64),
            packet_bytes: found.packet_bytes,
            burst_packets: found.burst,
            buffer: found.buffer,
            packets_before_gap: found.before_gap,
            kind: found.kind.map(|kind| word(kind).to_owned()),
            direction: if found.way == Way::There { "up" } else { "down" }.to_owned(),
            drain_mbps: found.drain_mbps(),
            carried_mbps: CarriedOutput {
                up: found.there.carried_mbps,
                down: found.back.carried_mbps,
            },
            latency_ms: LatencyOutput {
                idle: found.idle.ms,
                up: found.up.ms,
                down: found.down.ms,
                both: found.both.ms,
            },
            pings: PingsOutput {
                idle: PingCounts::of(&found.idle),
                up: PingCounts::of(&found.up),
                down: PingCounts::of(&found.down),
                both: PingCounts::of(&found.both),
            },
            one_way_ms: OneWayOutput { up: one_way(&found.there), down: one_way(&found.back) },
            loss: LossOutput {
                up: found.there.loss(),
                down: found.back.loss(),
                round_trip: (sent > 0).then(|| lost as f64 / sent as f64),
            },
            drift_ppm: found.drift_ppm,
            answer: answer(found),
            evidence: found.evidence.clone(),
            warnings: warnings(found),
            error,
        }
    }
}
