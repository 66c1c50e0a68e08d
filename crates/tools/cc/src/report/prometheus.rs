//! `fairwave cc status --prometheus`: connections and totals as metrics.

use super::output::CcConnection;
use fairwave_bpf::Totals;
use fairwave_console::metrics::{Labels, Metric};

/// Prefix of the metrics' names.
pub(crate) const PREFIX: &str = "fairwave_cc";

/// A metric of connections: its name, its help, and its value.
type Gauge = (&'static str, &'static str, fn(&CcConnection) -> Option<f64>);

const GAUGES: [Gauge; 7] = [
    ("cwnd_segments", "Congestion window.", |one| Some(one.cwnd_segments.into())),
    ("ssthresh_segments", "Slow start threshold.", |one| one.ssthresh_segments.map(f64::from)),
    ("srtt_seconds", "Smoothed round-trip time.", |one| Some(one.srtt_us as f64 / 1e6)),
    ("connection_acks_lost", "ACKs found lost.", |one| Some(one.acks_lost as f64)),
    ("acked_bytes", "Bytes acknowledged.", |one| Some(one.acked_bytes as f64)),
    ("target_bits_per_second", "Rate to reach.", |one| one.target_bps.map(|rate| rate as f64)),
    ("reached_bits_per_second", "Mean rate since the target was set.", |one| {
        one.reached_bps.map(|rate| rate as f64)
    }),
];

/// A metric of an algorithm: its name without `_total`, its help, and its value.
type Counter = (&'static str, &'static str, fn(&Totals) -> u64);

const COUNTERS: [Counter; 5] = [
    ("connections_opened", "Connections that began to use the algorithm.", |all| all.opened),
    ("connections_closed", "Connections that ceased to.", |all| all.closed),
    ("acks_lost", "ACKs found lost by connections that ended.", |all| all.acks_lost),
    ("answers", "Reductions for lost ACKs by connections that ended.", |all| all.answers),
    ("events_missed", "Events for which a ring buffer had no room.", |all| all.missed),
];

/// Metrics of connections, and of the algorithms' totals.
pub(crate) fn metrics(found: &[CcConnection], counted: &[(&str, Totals)]) -> Vec<Metric> {
    let gauges = GAUGES.map(|(name, help, value)| {
        Metric::gauge(name, help).of(found, |one| of(one), |one| value(one))
    });
    let counters = COUNTERS.map(|(name, help, value)| {
        let labels =
            |(algorithm, _): &&(&str, Totals)| vec![("algorithm", (*algorithm).to_owned())];
        Metric::counter(name, help).of(counted, labels, |(_, totals)| Some(value(totals)))
    });
    gauges.into_iter().chain(counters).collect()
}

/// The labels of a connection.
fn of(one: &CcConnection) -> Labels {
    vec![
        ("algorithm", one.algorithm.clone()),
        ("local", one.local.clone()),
        ("remote", one.remote.clone()),
        ("namespace", one.namespace.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_counters_of_their_algorithm() {
        let totals = Totals { opened: 3, closed: 1, acks_lost: 7, answers: 2, missed: 1 };
        let metrics = metrics(&[], &[("fw_compound", totals)]);
        let text = fairwave_console::metrics::text(PREFIX, metrics).expect("a page");
        let counts = [
            ("connections_opened", 3),
            ("connections_closed", 1),
            ("acks_lost", 7),
            ("answers", 2),
            ("events_missed", 1),
        ];
        for (name, value) in counts {
            let line = format!("\nfairwave_cc_{name}_total{{algorithm=\"fw_compound\"}} {value}\n");
            assert!(text.contains(&line), "{name}: {text}");
        }
        assert!(text.contains("# TYPE fairwave_cc_srtt_seconds gauge\n"), "{text}");
        assert!(!text.contains("fairwave_cc_srtt_seconds{"));
    }
}
