//! One-way delays of flows, over time and as a distribution.

use super::cell::Cell;
use super::columns::{integer, nanos, nullable_integer, text, time};
use super::table::Table;
use fairwave_trace::{DelayBin, Times};
use fairwave_units::{Duration, Instant};
use std::sync::Arc;

/// A row of [`DELAYS`].
#[derive(Clone, Debug)]
pub struct DelayRow {
    /// Time.
    pub at: Instant,
    /// The flow's name.
    pub flow: Arc<str>,
    /// Its delays since the row before.
    pub times: Option<Times>,
}

/// A row of [`DELAY_BINS`].
#[derive(Clone, Debug)]
pub struct DelayBinRow {
    /// The flow's name.
    pub flow: Arc<str>,
    /// The bin.
    pub bin: DelayBin,
}

/// A part of the delays of an interval; null where nothing was delivered.
fn of_times(row: &DelayRow, part: fn(&Times) -> Duration) -> Cell {
    row.times.as_ref().map_or(Cell::Null, |times| nanos(part(times)))
}

/// One-way delays of each flow, every sample interval.
pub const DELAYS: Table<DelayRow> = Table {
    file: "delays.parquet",
    doc: "One row for each flow and sample interval: one-way delays of data delivered in the \
          interval that ends at `t_ns`. The delay of a datagram counts from when the source's \
          application made it, that of a segment of TCP or SHAKE from when its bytes left the \
          source for the first time, retransmitted or not; both until the sink's application got \
          all of it, in order. Quantiles are exact within 0.4 %. Null where nothing was \
          delivered, and for multi-tcp.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &DelayRow| time(r.at)),
        text("flow", "Name of the flow.", &|r: &DelayRow| Cell::Text(r.flow.clone())),
        integer(
            "delivered",
            "Datagrams or segments delivered in the interval.",
            &|r: &DelayRow| Cell::unsigned(r.times.map_or(0, |times| times.count)),
        ),
        nullable_integer("mean_ns", "Mean delay.", &|r: &DelayRow| of_times(r, |t| t.mean)),
        nullable_integer("min_ns", "Least delay.", &|r: &DelayRow| of_times(r, |t| t.least)),
        nullable_integer("p50_ns", "Median delay.", &|r: &DelayRow| of_times(r, |t| t.median)),
        nullable_integer("p90_ns", "Delay that 90 % do not exceed.", &|r: &DelayRow| {
            of_times(r, |t| t.p90)
        }),
        nullable_integer("p95_ns", "Delay that 95 % do not exceed.", &|r: &DelayRow| {
            of_times(r, |t| t.p95)
        }),
        nullable_integer("p99_ns", "Delay that 99 % do not exceed.", &|r: &DelayRow| {
            of_times(r, |t| t.p99)
        }),
        nullable_integer("p999_ns", "Delay that 99.9 % do not exceed.", &|r: &DelayRow| {
            of_times(r, |t| t.p999)
        }),
        nullable_integer("max_ns", "Greatest delay.", &|r: &DelayRow| of_times(r, |t| t.most)),
    ],
};

/// The distribution of each flow's delays.
pub const DELAY_BINS: Table<DelayBinRow> = Table {
    file: "delay_bins.parquet",
    doc: "One row for each flow and each bin of its one-way delays in the measured span, after \
          the warm-up, that holds any; the least first. A bin is at most 0.8 % of its lower end \
          wide. Delays are those of `delays.parquet`.",
    columns: &[
        text("flow", "Name of the flow.", &|r: &DelayBinRow| Cell::Text(r.flow.clone())),
        integer("from_ns", "Lower end of the bin.", &|r: &DelayBinRow| nanos(r.bin.from)),
        integer("to_ns", "Upper end of the bin, which belongs to the next.", &|r: &DelayBinRow| {
            nanos(r.bin.to)
        }),
        integer("delivered", "Datagrams or segments with such a delay.", &|r: &DelayBinRow| {
            Cell::unsigned(r.bin.count)
        }),
    ],
};
