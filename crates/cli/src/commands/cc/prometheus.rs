//! `fairwave cc status --prometheus`: connections and totals as metrics.

use super::show::connections;
use crate::metrics;
use crate::outcome::Failure;
use crate::printed_cc::CcConnection;
use fairwave_bpf::{LAWS, Store, Totals, Watcher, totals};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use std::fmt;
use std::net::SocketAddr;

/// Prefix of the metrics' names.
const PREFIX: &str = "fairwave_cc";

/// Serves the metrics until the process is interrupted.
pub(crate) fn serve(store: Store, at: SocketAddr) -> Result<(), Failure> {
    let mut watcher = Watcher::new()?;
    metrics::serve(at, PREFIX, move || {
        let counted = LAWS.iter().filter_map(|law| Some((law.name, totals(&store, law).ok()?)));
        let counted = counted.collect();
        Ok(Figures { found: connections(&store, &mut watcher)?, counted })
    })
}

/// Figures for one request.
#[derive(Debug)]
struct Figures {
    found: Vec<CcConnection>,
    counted: Vec<(&'static str, Totals)>,
}

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
    ("connections_opened", "Connections that began to use the law.", |all| all.opened),
    ("connections_closed", "Connections that ceased to.", |all| all.closed),
    ("acks_lost", "ACKs found lost by connections that ended.", |all| all.acks_lost),
    ("answers", "Reductions for lost ACKs by connections that ended.", |all| all.answers),
    ("events_missed", "Events for which a ring buffer had no room.", |all| all.missed),
];

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, value) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for one in &self.found {
                let Some(value) = value(one) else { continue };
                let namespace = one.namespace.to_string();
                let labels = [
                    ("law", one.law.as_str()),
                    ("local", &one.local),
                    ("remote", &one.remote),
                    ("namespace", &namespace),
                ];
                family.encode_family(&labels)?.encode_gauge(&value)?;
            }
        }
        for (name, help, value) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (law, totals) in &self.counted {
                let labels = [("law", *law)];
                let mut counter = family.encode_family(&labels)?;
                counter.encode_counter::<NoLabelSet, _, u64>(&value(totals), None)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_counters_of_their_law() {
        let totals = Totals { opened: 3, closed: 1, acks_lost: 7, answers: 2, missed: 1 };
        let figures = Figures { found: Vec::new(), counted: vec![("fw_compound", totals)] };
        let text = metrics::written(PREFIX, figures).expect("a page");
        let counts = [
            ("connections_opened", 3),
            ("connections_closed", 1),
            ("acks_lost", 7),
            ("answers", 2),
            ("events_missed", 1),
        ];
        for (name, value) in counts {
            let line = format!("\nfairwave_cc_{name}_total{{law=\"fw_compound\"}} {value}\n");
            assert!(text.contains(&line), "{name}: {text}");
        }
        assert!(text.contains("# TYPE fairwave_cc_srtt_seconds gauge\n"), "{text}");
        assert!(!text.contains("fairwave_cc_srtt_seconds{"));
    }
}
