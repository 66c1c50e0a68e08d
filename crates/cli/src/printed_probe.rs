//! Types of the output of `fairwave probe HOST --json`.

use fairwave_probe_tool::{Interval, Kind, Latency, Leg, Measured, Percentiles, Way};
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave probe HOST --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProbeOutput {
    /// Address and port of the server.
    pub(crate) server: String,
    /// Maximum rate of IP packets that both ends allowed, in Mbps; null if they never agreed.
    #[schemars(extend("unit" = "megabits per second"))]
    pub(crate) rate_mbps: Option<f64>,
    /// Direction to which `buffer`, `kind` and `drain_mbps` refer: `up`, to the server, or `down`,
    /// from the server (`--reverse`).
    pub(crate) direction: String,
    /// The narrowest buffer in that direction; null if none filled, or if it drops before it is
    /// full.
    pub(crate) buffer: Option<BufferOutput>,
    /// `packets` or `bytes` (unit of the buffer's limit), `aqm` (drops before it is full),
    /// `per-station` (packets of other stations do not wait), `none-found`; null if undetermined.
    pub(crate) kind: Option<String>,
    /// IP packets that the narrowest link carries, in Mbps; null if it carries all that is sent.
    #[schemars(extend("unit" = "megabits per second"))]
    pub(crate) drain_mbps: Option<f64>,
    /// IP packets that the narrowest link carries in each direction, in Mbps.
    pub(crate) carried_mbps: CarriedOutput,
    /// Round-trip times of small packets of another flow, by the load at the same time.
    pub(crate) latency_ms: LatencyOutput,
    /// One-way delay of packets sent apart. The clocks of two hosts cannot determine how the
    /// minimum round-trip time is divided: half of it counts for each way. The excess over it is
    /// measured.
    pub(crate) one_way_ms: OneWayOutput,
    /// Shares of packets that were lost while there was no load.
    pub(crate) loss: LossOutput,
    /// Relative rate by which the server's clock runs faster than this host's; corrected in all
    /// delays.
    pub(crate) drift_ppm: f64,
    /// The numbers from which `kind` was determined, in sentences.
    pub(crate) evidence: Vec<String>,
    /// Warnings for the reader of the figures.
    pub(crate) warnings: Vec<String>,
    /// Reason why the measurement ended early; null if it did not.
    pub(crate) error: Option<String>,
}

/// Size of a buffer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BufferOutput {
    /// Packets of 1428 bytes (1448 over IPv6). The interval's upper end is one packet higher than
    /// that over trains, since it is unknown whether the limit counts the packet that is being
    /// sent.
    pub(crate) packets: IntervalOutput,
    /// Size in bytes of IP packets.
    pub(crate) bytes: IntervalOutput,
    /// Wait behind the full buffer in milliseconds: the 90th percentile of the waits in a train, as
    /// a mean over the trains that filled the buffer.
    pub(crate) ms: IntervalOutput,
}

/// A mean over trains with Student's t interval at 95 %.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IntervalOutput {
    /// The mean.
    #[schemars(extend("unit" = "that of the field"))]
    pub(crate) value: f64,
    /// Lower end of the interval.
    #[schemars(extend("unit" = "that of the field"))]
    pub(crate) low: f64,
    /// Upper end of the interval.
    #[schemars(extend("unit" = "that of the field"))]
    pub(crate) high: f64,
}

/// Round-trip times in milliseconds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LatencyOutput {
    /// Round-trip times while nothing else is sent; null if nothing came back.
    pub(crate) idle: Option<PercentilesOutput>,
    /// Round-trip times while this host sends more than the narrowest link carries; null if nothing
    /// came back.
    pub(crate) up: Option<PercentilesOutput>,
    /// Round-trip times while the server sends more than that; null if nothing came back.
    pub(crate) down: Option<PercentilesOutput>,
    /// Round-trip times while both do; null if nothing came back.
    pub(crate) both: Option<PercentilesOutput>,
}

/// Capacity of the narrowest link, by direction.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CarriedOutput {
    /// Rate towards the server; null if all that is sent arrives.
    #[schemars(extend("unit" = "megabits per second"))]
    pub(crate) up: Option<f64>,
    /// Rate from the server; null if all that is sent arrives.
    #[schemars(extend("unit" = "megabits per second"))]
    pub(crate) down: Option<f64>,
}

/// One-way delays in milliseconds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OneWayOutput {
    /// Delays towards the server; null if nothing arrived.
    pub(crate) up: Option<PercentilesOutput>,
    /// Delays from the server; null if nothing arrived.
    pub(crate) down: Option<PercentilesOutput>,
}

/// Percentiles of times.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PercentilesOutput {
    /// The median.
    #[schemars(extend("unit" = "milliseconds"))]
    pub(crate) p50: f64,
    /// The 95th percentile.
    #[schemars(extend("unit" = "milliseconds"))]
    pub(crate) p95: f64,
}

/// Shares of packets that were lost, from 0 to 1.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LossOutput {
    /// Share lost on the way to the server; null if nothing was sent.
    #[schemars(extend("unit" = "share"))]
    pub(crate) up: Option<f64>,
    /// Share lost on the way from the server; null if nothing was sent.
    #[schemars(extend("unit" = "share"))]
    pub(crate) down: Option<f64>,
    /// Share lost in both directions together, on an idle path; null if nothing was sent.
    #[schemars(extend("unit" = "share"))]
    pub(crate) round_trip: Option<f64>,
}

impl From<Interval> for IntervalOutput {
    fn from(Interval { value, low, high }: Interval) -> Self {
        Self { value, low, high }
    }
}

impl From<Percentiles> for PercentilesOutput {
    fn from(Percentiles { p50, p95 }: Percentiles) -> Self {
        Self { p50, p95 }
    }
}

/// The word for a kind.
pub(crate) const fn word(kind: Kind) -> &'static str {
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
    pub(crate) fn of(server: String, found: &Measured, error: Option<String>) -> Self {
        let Latency { sent, lost, .. } = found.idle;
        let one_way = |leg: &Leg| leg.delay_ms(found.fastest_ms?).map(Into::into);
        Self {
            server,
            rate_mbps: found.rate.map(fairwave_units::BitRate::as_mbps_f64),
            buffer: found.buffer.map(|buffer| BufferOutput {
                packets: buffer.packets.into(),
                bytes: buffer.bytes.into(),
                ms: buffer.ms.into(),
            }),
            kind: found.kind.map(|kind| word(kind).to_owned()),
            direction: if found.way == Way::There { "up" } else { "down" }.to_owned(),
            drain_mbps: found.drain_mbps(),
            carried_mbps: CarriedOutput {
                up: found.there.carried_mbps,
                down: found.back.carried_mbps,
            },
            latency_ms: LatencyOutput {
                idle: found.idle.ms.map(Into::into),
                up: found.up.ms.map(Into::into),
                down: found.down.ms.map(Into::into),
                both: found.both.ms.map(Into::into),
            },
            one_way_ms: OneWayOutput { up: one_way(&found.there), down: one_way(&found.back) },
            loss: LossOutput {
                up: found.there.loss(),
                down: found.back.loss(),
                round_trip: (sent > 0).then(|| lost as f64 / sent as f64),
            },
            drift_ppm: found.drift_ppm,
            evidence: found.evidence.clone(),
            warnings: crate::show_measured::warnings(found),
            error,
        }
    }
}
