//! `fairwave shake connect --prometheus`: sessions and paths as metrics.

use crate::board::Board;
use crate::report::{PathOutput, ShakeOutput};
use fairwave_console::metrics::{Labels, Metric, serve};
use fairwave_console::{Console, Failure};
use std::net::SocketAddr;

/// Prefix of the metrics' names.
const PREFIX: &str = "fairwave_shake";

/// Serves metrics on a thread of their own.
///
/// # Errors
/// If there can be no thread.
pub(crate) fn start(
    console: impl Console + Send + 'static,
    at: SocketAddr,
    board: Board,
) -> Result<(), Failure> {
    let run = move || {
        let collect = move || Ok(metrics(&board.shown().output));
        // Connections are carried without metrics.
        if let Err(Failure::Run(text) | Failure::Usage(text)) = serve(&console, at, PREFIX, collect)
        {
            console.complain(&text);
        }
    };
    std::thread::Builder::new().spawn(run).map_err(Failure::run)?;
    Ok(())
}

/// A metric of paths: its name, its help, and its value.
type Gauge = (&'static str, &'static str, fn(&PathOutput) -> Option<f64>);

const GAUGES: [Gauge; 7] = [
    ("path_up", "1 if the path works.", |path| Some(f64::from(u8::from(path.is_up)))),
    ("path_rtt_seconds", "Smoothed round-trip time.", |path| path.rtt_ms.map(|ms| ms / 1e3)),
    ("path_min_rtt_seconds", "Minimum round-trip time.", |path| path.min_rtt_ms.map(|ms| ms / 1e3)),
    ("path_loss_ratio", "Part of the datagrams that did not arrive.", |path| path.loss),
    ("path_in_flight_bytes", "Bytes of streams in flight.", |path| Some(path.in_flight as f64)),
    ("path_signal_dbm", "Signal of its radio.", |path| path.radio?.signal_dbm.map(f64::from)),
    ("path_radio_bits_per_second", "Rate of the last frame that its radio sent.", |path| {
        path.radio?.tx_mbps.map(|mbps| mbps * 1e6)
    }),
];

/// A counter: its name without `_total`, its help, and its value.
type Counter = (&'static str, &'static str, fn(&ShakeOutput) -> u64);

const COUNTERS: [Counter; 3] = [
    ("connections", "Connections of applications.", |all| all.connections),
    ("connections_failed", "Connections that failed.", |all| all.failed),
    ("sessions", "Sessions with the server.", |all| all.sessions),
];

fn metrics(output: &ShakeOutput) -> Vec<Metric> {
    let unsent = Metric::gauge("unsent_bytes", "Bytes that no path has carried.");
    let counters =
        COUNTERS.map(|(name, help, value)| Metric::counter(name, help).value(value(output)));
    let gauges = GAUGES.map(|(name, help, value)| {
        Metric::gauge(name, help).of(&output.paths, |path| labels(path), |path| value(path))
    });
    let directions = |path: &PathOutput| {
        let with = |name: &str| [labels(path), vec![("direction", name.to_owned())]].concat();
        [(with("out"), path.bytes_sent), (with("in"), path.bytes_received)]
    };
    let bytes = Metric::counter("path_bytes", "Payload of UDP.").of(
        output.paths.iter().flat_map(directions),
        |(labels, _)| labels.clone(),
        |(_, bytes)| Some(*bytes),
    );
    let is_open = u64::from(output.paths.iter().any(|path| path.is_up));
    let session = Metric::gauge("session_up", "1 if the server answers over a path.");
    let all = [session.value(is_open), unsent.value(output.unsent), bytes];
    all.into_iter().chain(counters).chain(gauges).collect()
}

/// The labels of a path.
fn labels(path: &PathOutput) -> Labels {
    vec![("via", path.via.clone())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_labelled_by_their_interfaces() {
        let path = PathOutput {
            via: "w0".to_owned(),
            is_up: true,
            bytes_sent: 7,
            bytes_received: 8,
            min_rtt_ms: Some(20.0),
            ..PathOutput::default()
        };
        let output = ShakeOutput { unsent: 9, failed: 2, paths: vec![path], ..Default::default() };
        let text = fairwave_console::metrics::text(PREFIX, metrics(&output)).expect("a page");
        for line in [
            "unsent_bytes 9",
            "connections_failed_total 2",
            "path_bytes_total{via=\"w0\",direction=\"out\"} 7",
            "path_bytes_total{via=\"w0\",direction=\"in\"} 8",
            "path_min_rtt_seconds{via=\"w0\"} 0.02",
            "path_up{via=\"w0\"} 1.0",
            "session_up 1",
        ] {
            assert!(text.contains(&format!("\nfairwave_shake_{line}\n")), "{line}: {text}");
        }
        assert!(!text.contains("fairwave_shake_path_rtt_seconds{"), "{text}");
        let text = fairwave_console::metrics::text(PREFIX, metrics(&ShakeOutput::default()));
        assert!(text.expect("a page").contains("\nfairwave_shake_session_up 0\n"));
    }
}
