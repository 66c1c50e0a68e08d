//! Transmissions of each radio to each receiver: airtime, rates and sizes of A-MPDUs.

use super::cell::Cell;
use super::columns::{integer, nanos, nullable_integer, or_null, text, time};
use super::table::Table;
use fairwave_sim::PairOutcome;
use fairwave_trace::{NodeId, PairSample, Ppdu};
use fairwave_units::{BitRate, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row of [`PAIRS`].
#[derive(Clone, Debug)]
pub struct PairRow {
    /// Time.
    pub at: Instant,
    /// Time at which the interval began.
    pub since: Instant,
    /// Both names: `ap>sta1`, and `ap>*` for broadcasts.
    pub name: Arc<str>,
    /// The transmitter's name.
    pub transmitter: Arc<str>,
    /// The receiver's name; `None` for broadcasts.
    pub receiver: Option<Arc<str>>,
    /// Counts from then on; the last PPDU is that of the whole run.
    pub sample: PairSample,
}

/// Counts at the previous sample of the pairs.
#[derive(Debug)]
pub(super) struct PairsBefore {
    sent: BTreeMap<(NodeId, Option<NodeId>), (PairSample, Arc<str>)>,
    /// Beginning and end of the interval that is being sampled; `None` before the first pair.
    interval: Option<(Instant, Instant)>,
    /// Length of the interval before the first sample: there are none without pairs.
    every: Duration,
}

impl PairsBefore {
    /// Counts of pairs that are sampled `every` so often, before any frame.
    pub(super) const fn new(every: Duration) -> Self {
        Self { sent: BTreeMap::new(), interval: None, every }
    }

    /// The row of a pair whose counters are those of `sample` at the end of an interval.
    pub(super) fn row(
        &mut self,
        at: Instant,
        ids: (NodeId, Option<NodeId>),
        transmitter: Arc<str>,
        receiver: Option<Arc<str>>,
        sample: &PairSample,
    ) -> PairRow {
        let (mut since, end) = self.interval.unwrap_or((at - self.every, at));
        if at > end {
            since = end;
        }
        self.interval = Some((since, at));
        // A new receiver begins with counts of zero.
        let name = || pair_name(&transmitter, receiver.as_deref()).into();
        let (before, name) =
            self.sent.entry(ids).or_insert_with(|| (PairSample::default(), name()));
        let before = std::mem::replace(before, *sample);
        let sample = since_then(&before, sample);
        PairRow { at, since, name: name.clone(), transmitter, receiver, sample }
    }
}

/// Counts between two samples.
fn since_then(from: &PairSample, to: &PairSample) -> PairSample {
    PairSample {
        ppdus: to.ppdus - from.ppdus,
        failures: to.failures - from.failures,
        mpdus: to.mpdus - from.mpdus,
        retries: to.retries - from.retries,
        psdu_bytes: to.psdu_bytes - from.psdu_bytes,
        mcs_sum: to.mcs_sum - from.mcs_sum,
        streams_sum: to.streams_sum - from.streams_sum,
        width_mhz_sum: to.width_mhz_sum - from.width_mhz_sum,
        rate_bps_sum: to.rate_bps_sum - from.rate_bps_sum,
        airtime: to.airtime - from.airtime,
        control_airtime: to.control_airtime - from.control_airtime,
        last: to.last,
    }
}

/// A value of the last data PPDU; null before the first.
fn last(row: &PairRow, part: fn(&Ppdu, BitRate) -> u64) -> Cell {
    row.sample.last.map_or(Cell::Null, |(ppdu, rate)| Cell::unsigned(part(&ppdu, rate)))
}

/// The mean over the interval's data PPDUs, from their sum and a factor `scale`; null without
/// any.
fn mean(row: &PairRow, scale: u64, sum: fn(&PairSample) -> u64) -> Cell {
    let ppdus = row.sample.ppdus;
    let mean = |ppdus| (u128::from(sum(&row.sample)) * u128::from(scale) + ppdus / 2) / ppdus;
    match u64::try_from(mean(u128::from(ppdus.max(1)))) {
        Ok(mean) if ppdus > 0 => Cell::unsigned(mean),
        _ => Cell::Null,
    }
}

/// Share of the interval that the pair's frames took, in millionths.
fn share_ppm(row: &PairRow) -> Cell {
    let span = row.at.since(row.since).as_nanos().max(1);
    let airtime = row.sample.airtime + row.sample.control_airtime;
    Cell::unsigned((u128::from(airtime.as_nanos()) * 1_000_000 / u128::from(span)) as u64)
}

/// Name of a pair: `ap>sta1`, and `ap>*` for broadcasts.
fn pair_name(transmitter: &str, receiver: Option<&str>) -> String {
    format!("{transmitter}>{}", receiver.unwrap_or("*"))
}

/// Transmissions of each radio to each receiver, every sample interval.
pub const PAIRS: Table<PairRow> = Table {
    file: "pairs.parquet",
    doc: "One row for each transmitter, receiver and sample interval, from the first frame \
          between them on. Counts and means are of the interval that ends at `t_ns`; means are \
          over its data PPDUs, retransmissions included, and null without any. Airtimes of a \
          transmitter add up to those of `stations.parquet`.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &PairRow| time(r.at)),
        text(
            "pair",
            "Both names: `ap>sta1`, and `ap>*` for what is sent to everybody.",
            &|r: &PairRow| Cell::Text(r.name.clone()),
        ),
        text("transmitter", "Name of the transmitter.", &|r: &PairRow| {
            Cell::Text(r.transmitter.clone())
        }),
        or_null(&text("receiver", "Name of the receiver; null for everybody.", &|r: &PairRow| {
            r.receiver.clone().map_or(Cell::Null, Cell::Text)
        })),
        integer("ppdus", "Data PPDUs sent.", &|r: &PairRow| Cell::unsigned(r.sample.ppdus)),
        integer("failures", "Of them those without ACK or BlockAck.", &|r: &PairRow| {
            Cell::unsigned(r.sample.failures)
        }),
        integer("mpdus", "MPDUs in them.", &|r: &PairRow| Cell::unsigned(r.sample.mpdus)),
        integer("retries", "Of the MPDUs those that were on the air before.", &|r: &PairRow| {
            Cell::unsigned(r.sample.retries)
        }),
        integer("psdu_bytes", "Bytes of their PSDUs, MAC headers included.", &|r: &PairRow| {
            Cell::unsigned(r.sample.psdu_bytes)
        }),
        integer(
            "airtime_ns",
            "Time spent transmitting data, RTS, BlockAckReqs, beacons.",
            &|r: &PairRow| nanos(r.sample.airtime),
        ),
        integer(
            "control_airtime_ns",
            "Time spent transmitting ACK, BlockAck and CTS.",
            &|r: &PairRow| nanos(r.sample.control_airtime),
        ),
        integer("airtime_ppm", "Both, as a share of the interval in millionths.", &share_ppm),
        nullable_integer(
            "mcs",
            "MCS of the last data PPDU; before 802.11n the place in the list of rates, from 0.",
            &|r: &PairRow| last(r, |ppdu, _| ppdu.mcs.into()),
        ),
        nullable_integer("streams", "Spatial streams of the last data PPDU.", &|r: &PairRow| {
            last(r, |ppdu, _| ppdu.streams.into())
        }),
        nullable_integer("width_mhz", "Its width in megahertz.", &|r: &PairRow| {
            last(r, |ppdu, _| ppdu.width_mhz.into())
        }),
        nullable_integer("rate_bps", "Its bit rate in bits per second.", &|r: &PairRow| {
            last(r, |_, rate| rate.0)
        }),
        nullable_integer("mcs_mean_milli", "Mean MCS, in thousandths.", &|r: &PairRow| {
            mean(r, 1000, |s| s.mcs_sum)
        }),
        nullable_integer(
            "streams_mean_milli",
            "Mean number of streams, in thousandths.",
            &|r: &PairRow| mean(r, 1000, |s| s.streams_sum),
        ),
        nullable_integer(
            "width_mean_mhz",
            "Mean width, rounded to a megahertz.",
            &|r: &PairRow| mean(r, 1, |s| s.width_mhz_sum),
        ),
        nullable_integer("rate_mean_bps", "Mean bit rate of the PPDUs.", &|r: &PairRow| {
            mean(r, 1, |s| s.rate_bps_sum)
        }),
        nullable_integer(
            "ampdu_mean_milli",
            "Mean number of MPDUs in a data PPDU, in thousandths; 1000 without aggregation.",
            &|r: &PairRow| mean(r, 1000, |s| s.mpdus),
        ),
        nullable_integer(
            "ampdu_mean_bytes",
            "Mean length of a data PPDU's PSDU.",
            &|r: &PairRow| mean(r, 1, |s| s.psdu_bytes),
        ),
    ],
};

/// Transmissions of a radio to one receiver in the measured span. Means are over data PPDUs,
/// retransmissions included; null without any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairSummary {
    /// Both names: `ap>sta1`, and `ap>*` for broadcasts.
    pub name: String,
    /// The transmitter's name.
    pub transmitter: String,
    /// The receiver's name; null for broadcasts.
    pub receiver: Option<String>,
    /// Data PPDUs sent.
    pub ppdus: u64,
    /// PPDUs among them without ACK or BlockAck.
    pub failures: u64,
    /// MPDUs in them.
    pub mpdus: u64,
    /// MPDUs among them that had been on the air before.
    pub retries: u64,
    /// Time spent transmitting to the receiver, control frames included, over the measured span.
    /// Those of a transmitter add up to its station's.
    #[schemars(extend("unit" = "of the measured span, 0 to 1"))]
    pub airtime_share: f64,
    /// The part of control frames in it: ACK, BlockAck and CTS.
    #[schemars(extend("unit" = "of the measured span, 0 to 1"))]
    pub control_airtime_share: f64,
    /// Mean MCS; before 802.11n the mean index in the list of rates, from 0.
    #[schemars(extend("unit" = "index of the MCS"))]
    pub mcs_mean: Option<f64>,
    /// Mean number of spatial streams.
    #[schemars(extend("unit" = "spatial streams"))]
    pub streams_mean: Option<f64>,
    /// Mean width.
    pub width_mean_mhz: Option<f64>,
    /// Mean bit rate of the PPDUs.
    pub rate_mean_bps: Option<u64>,
    /// Mean number of MPDUs in a PPDU: the size of A-MPDUs; 1 without aggregation.
    #[schemars(extend("unit" = "MPDUs"))]
    pub ampdu_mean_mpdus: Option<f64>,
    /// Mean length of a PPDU's PSDU in bytes, MAC headers included.
    pub ampdu_mean_bytes: Option<f64>,
}

impl PairSummary {
    pub(super) fn of(pair: &PairOutcome, measured: Duration) -> Self {
        let sent = since_then(&pair.at_warm_up, &pair.at_end);
        let mean = |sum: u64| (sent.ppdus > 0).then(|| sum as f64 / sent.ppdus as f64);
        let share = |time: Duration| time.as_nanos() as f64 / measured.as_nanos().max(1) as f64;
        Self {
            name: pair_name(&pair.transmitter, pair.receiver.as_deref()),
            transmitter: pair.transmitter.clone(),
            receiver: pair.receiver.clone(),
            ppdus: sent.ppdus,
            failures: sent.failures,
            mpdus: sent.mpdus,
            retries: sent.retries,
            airtime_share: share(sent.airtime + sent.control_airtime),
            control_airtime_share: share(sent.control_airtime),
            mcs_mean: mean(sent.mcs_sum),
            streams_mean: mean(sent.streams_sum),
            width_mean_mhz: mean(sent.width_mhz_sum),
            rate_mean_bps: (sent.ppdus > 0).then(|| sent.rate_bps_sum / sent.ppdus),
            ampdu_mean_mpdus: mean(sent.mpdus),
            ampdu_mean_bytes: mean(sent.psdu_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_of_a_run_may_come_late() {
        let every = Duration::from_millis(100);
        let mut before = PairsBefore::new(every);
        let mut share = |to: u32, ms: u64, airtime_ms: u64| {
            let at = Instant::ZERO + Duration::from_millis(ms);
            let airtime = Duration::from_millis(airtime_ms);
            let sample = PairSample { airtime, ..PairSample::default() };
            let ids = (NodeId(0), Some(NodeId(to)));
            share_ppm(&before.row(at, ids, "ap".into(), Some("sta".into()), &sample))
        };
        assert_eq!(share(1, 5_100, 50), Cell::Integer(500_000));
        assert_eq!(share(1, 5_200, 75), Cell::Integer(250_000));
        assert_eq!(share(2, 5_200, 10), Cell::Integer(100_000), "a new receiver");
    }
}
