//! The columns of `fairwave cc trace`. They have the same names as in the tables of run
//! directories.

use fairwave_bpf::Event;
use fairwave_lab::results::column::{integer, nanos, or_null, text, time};
use fairwave_lab::results::{Cell, Table};

/// A row for each segment that reached a traced connection.
pub(crate) const TRACE: Table<Event> = Table {
    file: "trace.parquet",
    doc: "One row for each segment that reached a connection, as the connection was before the \
          kernel handled that segment. Counters are those since the connection began.",
    columns: &[
        integer("t_ns", "Nanoseconds since the trace began.", &|e: &Event| time(e.at)),
        text("flow", "Both ends, that of this kernel's socket first.", &|e: &Event| {
            Cell::Text(format!("{} > {}", e.local, e.remote).into())
        }),
        text("local", "Address of this end.", &|e: &Event| {
            Cell::Text(e.local.ip().to_string().into())
        }),
        integer("local_port", "Port of this end.", &|e: &Event| {
            Cell::unsigned(e.local.port().into())
        }),
        text("remote", "Address of the other end.", &|e: &Event| {
            Cell::Text(e.remote.ip().to_string().into())
        }),
        integer("remote_port", "Port of the other end.", &|e: &Event| {
            Cell::unsigned(e.remote.port().into())
        }),
        integer("namespace", "Inode of the network namespace.", &|e: &Event| {
            Cell::unsigned(e.namespace.into())
        }),
        integer("mss_bytes", "Maximum segment size.", &|e: &Event| Cell::unsigned(e.mss.into())),
        integer("cwnd_bytes", "Congestion window.", &|e: &Event| bytes(e, e.cwnd)),
        or_null(&integer(
            "ssthresh_bytes",
            "Slow start threshold; null while unset.",
            &|e: &Event| e.ssthresh.map_or(Cell::Null, |segments| bytes(e, segments)),
        )),
        integer("flight_bytes", "Bytes sent and not yet acknowledged.", &|e: &Event| {
            Cell::unsigned(e.unacknowledged.into())
        }),
        integer(
            "pipe_bytes",
            "Estimate of the bytes on their way: segments that were SACKed or are held to be lost \
             do not count.",
            &|e: &Event| bytes(e, e.in_flight),
        ),
        integer("send_window_bytes", "Window that the other end advertises.", &|e: &Event| {
            Cell::unsigned(e.send_window.into())
        }),
        or_null(&integer(
            "srtt_ns",
            "Smoothed round-trip time; null before a sample.",
            &|e: &Event| e.srtt.map_or(Cell::Null, nanos),
        )),
        integer("acked_bytes", "Bytes acknowledged.", &|e: &Event| Cell::unsigned(e.acked)),
        integer("retransmissions", "Retransmitted segments.", &|e: &Event| {
            Cell::unsigned(e.retransmitted.into())
        }),
        integer("lost_packets", "Segments held to be lost.", &|e: &Event| {
            Cell::unsigned(e.lost.into())
        }),
        or_null(&integer(
            "pacing_bps",
            "Rate of pacing; null where there is none.",
            &|e: &Event| e.pacing_bps.map_or(Cell::Null, Cell::unsigned),
        )),
        text(
            "phase",
            "Phase of loss recovery: open, disorder, cwr, recovery or loss.",
            &|e: &Event| Cell::Text(e.phase.name().into()),
        ),
    ],
};

/// Converts a number of segments to bytes by the connection's MSS.
fn bytes(event: &Event, segments: u32) -> Cell {
    Cell::unsigned(u64::from(segments) * u64::from(event.mss))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_columns() {
        let page = include_str!("../../../../../docs/cc-linux.md");
        let table = TRACE.to_markdown();
        assert!(page.contains(&table), "docs/cc-linux.md shall have\n\n{table}");
    }
}
