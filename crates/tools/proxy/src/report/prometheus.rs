//! `fairwave proxy --prometheus`: connections, refusals and targets as metrics.

use crate::account::{FlowReport, Report};
use fairwave_console::metrics::{Labels, Metric, serve};
use fairwave_console::{Console, Failure};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Prefix of the metrics' names.
const PREFIX: &str = "fairwave_proxy";

/// The most recent report, shared with the server of metrics.
#[derive(Clone, Default)]
pub(crate) struct Page(Option<Arc<Mutex<Report>>>);

/// Serves metrics on a thread of their own, if an address is given.
pub(crate) fn start(
    console: impl Console + Send + 'static,
    at: Option<SocketAddr>,
) -> Result<Page, Failure> {
    let Some(at) = at else { return Ok(Page::default()) };
    let shared = Arc::new(Mutex::new(Report::default()));
    let shown = Arc::clone(&shared);
    let run = move || {
        let collect =
            move || Ok(metrics(&shown.lock().unwrap_or_else(PoisonError::into_inner).clone()));
        // The proxy works without metrics.
        if let Err(Failure::Run(text) | Failure::Usage(text)) = serve(&console, at, PREFIX, collect)
        {
            console.complain(&text);
        }
    };
    std::thread::Builder::new().spawn(run).map_err(Failure::run)?;
    Ok(Page(Some(shared)))
}

impl Page {
    /// Publishes this report.
    pub(crate) fn show(&self, report: &Report) {
        if let Some(shared) = &self.0 {
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = report.clone();
        }
    }
}

/// A counter without labels: its name without `_total`, its help, and its value.
type Counter = (&'static str, &'static str, fn(&Report) -> u64);

const COUNTERS: [Counter; 4] = [
    ("connections_opened", "Connections that were relayed.", |all| all.opened),
    ("connections_broken", "Connections that a reset ended.", |all| all.broken),
    ("connections_idle", "Connections that carried nothing for too long.", |all| all.idle),
    ("connections_best_effort", "Connections without capacity for their target.", |all| {
        all.best_effort
    }),
];

/// A counter with one label: its name, its help, the label's name, and its values.
type Labelled = (&'static str, &'static str, &'static str, fn(&Report) -> Vec<(&'static str, u64)>);

const LABELLED: [Labelled; 3] = [
    ("payload_bytes", "Payload that was relayed.", "direction", |all| {
        vec![("up", all.bytes_up), ("down", all.bytes_down)]
    }),
    ("clients_refused", "Clients that were turned away.", "reason", |all| {
        let refused = all.refused;
        vec![
            ("not_allowed", refused.not_allowed),
            ("busy", refused.busy),
            ("malformed", refused.malformed),
            ("unreachable", refused.unreachable),
        ]
    }),
    ("bins", "Intervals by the result of their targets.", "result", |all| {
        let achieved = all.achieved;
        vec![
            ("reached", achieved.reached),
            ("missed", achieved.missed),
            ("not_offered", achieved.not_offered),
        ]
    }),
];

/// A metric of targets: its name, its help, and its value.
type Gauge = (&'static str, &'static str, fn(&FlowReport) -> Option<f64>);

const GAUGES: [Gauge; 3] = [
    ("target_bits_per_second", "Rate to reach.", |flow| Some(flow.target.0 as f64)),
    ("reached_bits_per_second", "Rate in the last bin.", |flow| {
        flow.rate.map(|rate| rate.0 as f64)
    }),
    ("reached_share", "Bins that reached the target.", |flow| flow.achieved.share()),
];

fn metrics(report: &Report) -> Vec<Metric> {
    let active = Metric::gauge("connections", "Connections under way.").value(report.active);
    let counters =
        COUNTERS.map(|(name, help, value)| Metric::counter(name, help).value(value(report)));
    let labelled = LABELLED.map(|(name, help, label, values)| {
        let labels = |(value, _): &(&str, u64)| vec![(label, (*value).to_owned())];
        Metric::counter(name, help).of(values(report), labels, |(_, count)| Some(*count))
    });
    let gauges = GAUGES.map(|(name, help, value)| {
        Metric::gauge(name, help).of(&report.flows, |flow| labels(flow), |flow| value(flow))
    });
    [active].into_iter().chain(counters).chain(labelled).chain(gauges).collect()
}

/// The labels of a target.
fn labels(flow: &FlowReport) -> Labels {
    let server = flow.server.map(|server| server.to_string());
    vec![
        ("client", flow.client()),
        ("server", server.unwrap_or_default()),
        ("rule", flow.rule.to_string()),
        ("direction", flow.direction.name().to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use fairwave_units::BitRate;

    #[test]
    fn targets_are_gauges_and_refusals_counters() {
        let mut report = Report { active: 2, bytes_up: 7, ..Report::default() };
        report.refused.busy = 3;
        let flows = [1, 2].map(|rule| FlowReport {
            rule,
            client: [10, 0, 0, 1].into(),
            port: None,
            server: None,
            direction: Direction::Up,
            flows: 2,
            target: BitRate(50),
            rate: None,
            achieved: crate::Achieved { reached: 3, missed: 1, not_offered: 0 },
        });
        report.flows = flows.to_vec();
        let text = fairwave_console::metrics::text(PREFIX, metrics(&report)).expect("a page");
        for line in [
            "connections 2",
            "payload_bytes_total{direction=\"up\"} 7",
            "clients_refused_total{reason=\"busy\"} 3",
            r#"target_bits_per_second{client="10.0.0.1",server="",rule="1",direction="up"} 50.0"#,
            r#"reached_share{client="10.0.0.1",server="",rule="2",direction="up"} 0.75"#,
        ] {
            assert!(text.contains(&format!("\nfairwave_proxy_{line}\n")), "{line}: {text}");
        }
        assert!(!text.contains("fairwave_proxy_reached_bits_per_second{"), "{text}");
    }
}
