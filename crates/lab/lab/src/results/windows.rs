//! Windows of the kernel's connections at each ACK, in an emulation that was asked for them.

use super::cell::Cell;
use super::columns::{integer, nanos, or_null, text, time};
use super::table::Table;
use fairwave_units::{Duration, Instant};
use std::sync::Arc;

/// A row of [`WINDOWS`].
#[derive(Clone, Debug)]
pub struct WindowRow {
    /// Time.
    pub at: Instant,
    /// The flow's name.
    pub flow: Arc<str>,
    /// The name of the node that the path passes, where the flow has several.
    pub path: Option<Arc<str>>,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes; `None` while unset.
    pub ssthresh: Option<u64>,
    /// Bytes sent and not yet acknowledged.
    pub flight: u64,
    /// Bytes in flight that are neither SACKed nor held to be lost.
    pub pipe: u64,
    /// Smoothed round-trip time; `None` before a sample.
    pub srtt: Option<Duration>,
    /// Bytes acknowledged so far.
    pub acked: u64,
    /// Segments retransmitted so far.
    pub retransmissions: u64,
    /// Segments held to be lost so far.
    pub lost: u64,
    /// Phase of loss recovery.
    pub phase: &'static str,
}

/// Windows of each flow on a connection of the kernel, at each segment that reaches its source.
pub const WINDOWS: Table<WindowRow> = Table {
    file: "windows.parquet",
    doc: "One row for each segment that reached the source of a flow on a connection of the \
          kernel, as the connection was before the kernel handled that segment. Only with \
          `fairwave emulate --windows`. Counters are cumulative.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &WindowRow| time(r.at)),
        text("flow", "Name of the flow.", &|r: &WindowRow| Cell::Text(r.flow.clone())),
        or_null(&text(
            "path",
            "Node that the path passes; null for a flow of one path.",
            &|r: &WindowRow| r.path.clone().map_or(Cell::Null, Cell::Text),
        )),
        integer("cwnd_bytes", "Congestion window.", &|r: &WindowRow| Cell::unsigned(r.cwnd)),
        or_null(&integer(
            "ssthresh_bytes",
            "Slow start threshold; null while unset.",
            &|r: &WindowRow| r.ssthresh.map_or(Cell::Null, Cell::unsigned),
        )),
        integer("flight_bytes", "Bytes sent and not yet acknowledged.", &|r: &WindowRow| {
            Cell::unsigned(r.flight)
        }),
        integer(
            "pipe_bytes",
            "Estimate of the bytes on their way: segments that were SACKed or are held to be lost \
             do not count.",
            &|r: &WindowRow| Cell::unsigned(r.pipe),
        ),
        or_null(&integer(
            "srtt_ns",
            "Smoothed round-trip time; null before a sample.",
            &|r: &WindowRow| r.srtt.map_or(Cell::Null, nanos),
        )),
        integer("acked_bytes", "Bytes acknowledged.", &|r: &WindowRow| Cell::unsigned(r.acked)),
        integer("retransmissions", "Retransmitted segments.", &|r: &WindowRow| {
            Cell::unsigned(r.retransmissions)
        }),
        integer("lost_packets", "Segments held to be lost.", &|r: &WindowRow| {
            Cell::unsigned(r.lost)
        }),
        text(
            "phase",
            "Phase of loss recovery: open, disorder, cwr, recovery or loss.",
            &|r: &WindowRow| Cell::Text(r.phase.into()),
        ),
    ],
};
