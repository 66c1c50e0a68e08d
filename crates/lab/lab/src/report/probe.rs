//! Tables of buffer probes' findings.

use crate::results::{FlowSummary, IntervalSummary};
use fairwave_text::Table;

/// Buffer sizes by packet size, then the kind of each buffer.
pub(super) fn probes(flows: &[FlowSummary]) -> String {
    [sizes(flows), findings(flows)].concat()
}

fn sizes(flows: &[FlowSummary]) -> String {
    let heads =
        ["flow", "payload B", "trains", "naive", "corrected", "+-", "by rates", "drain pkt/s"];
    let mut table = Table::new("Buffers in packets", &heads);
    let mean = |found: &Option<IntervalSummary>| number(found.map(|found| found.mean));
    for flow in flows {
        for size in flow.probe.iter().flat_map(|probe| &probe.sizes) {
            table.row(vec![
                flow.name.clone(),
                size.payload_bytes.to_string(),
                size.trains.to_string(),
                mean(&size.naive),
                mean(&size.corrected),
                number(size.corrected.and_then(|found| found.half_width)),
                number(size.by_rates),
                mean(&size.drained_per_s),
            ]);
        }
    }
    table.render()
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

fn findings(flows: &[FlowSummary]) -> String {
    let mut text = String::new();
    for flow in flows {
        let Some(probe) = &flow.probe else { continue };
        text.push_str(&format!("Probe {}: {}\n", flow.name, probe.ended));
        for (question, found) in probe.findings() {
            let verdict = found.verdict.as_deref().unwrap_or("cannot tell");
            text.push_str(&format!("  {question:<8} {verdict:<12} {}\n", found.evidence));
        }
        text.push('\n');
    }
    text
}
