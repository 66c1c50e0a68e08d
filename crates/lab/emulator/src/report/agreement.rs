//! An emulation beside the simulation of the same world.

use crate::agreement::{Agreement, Disagreement, Figures, Row, Tolerance};
use fairwave_text::Table;
use serde_json::{Value, json};

/// A table of both, flow by flow.
pub(super) fn text(agreement: &Agreement) -> String {
    let tolerance = Tolerance::default();
    let heads = ["flow", "simulator", "emulator", "difference", "p99 ms", "emulator", "outside"];
    let mut table = Table::new("Mbps and delay, beside the simulation", &heads);
    for row in &agreement.rows {
        let (simulator, emulator) = (&row.simulator, &row.emulator);
        table.row(vec![
            row.flow.clone(),
            format!("{:.3}", simulator.goodput_mbps),
            format!("{:.3}", emulator.goodput_mbps),
            percent(row.difference().goodput),
            p99(simulator),
            p99(emulator),
            row.disagreements(&tolerance).into_iter().map(name).collect::<Vec<_>>().join(", "),
        ]);
    }
    let (simulator, emulator) = agreement.total_goodput_mbps();
    let total = percent(agreement.total_difference());
    let sum = [format!("{simulator:.3}"), format!("{emulator:.3}"), total];
    let rest = [const { String::new() }; 3];
    table.row(["all".to_owned()].into_iter().chain(sum).chain(rest).collect());
    table.render()
}

/// Figures of both, as JSON.
pub(super) fn json(agreement: &Agreement) -> Value {
    let tolerance = Tolerance::default();
    let (simulator, emulator) = agreement.total_goodput_mbps();
    json!({
        "simulator_mbps": simulator,
        "emulator_mbps": emulator,
        "difference": agreement.total_difference(),
        "flows": agreement.rows.iter().map(|row| flow(row, &tolerance)).collect::<Vec<_>>(),
    })
}

fn flow(row: &Row, tolerance: &Tolerance) -> Value {
    let difference = row.difference();
    json!({
        "name": row.flow,
        "tcp": row.is_tcp,
        "simulator": figures(&row.simulator),
        "emulator": figures(&row.emulator),
        "goodput_difference": difference.goodput,
        "delay_p50_difference_s": difference.delay_median_s,
        "delay_p99_difference_s": difference.delay_p99_s,
        "outside": row.disagreements(tolerance).into_iter().map(name).collect::<Vec<_>>(),
    })
}

fn figures(of: &Figures) -> Value {
    json!({
        "goodput_mbps": of.goodput_mbps,
        "delay_p50_s": of.delay.map(|(p50, _)| p50.as_secs_f64()),
        "delay_p99_s": of.delay.map(|(_, p99)| p99.as_secs_f64()),
        "loss": of.loss,
        "retransmitted": of.retransmitted,
    })
}

fn name(disagreement: Disagreement) -> &'static str {
    match disagreement {
        Disagreement::Goodput => "goodput",
        Disagreement::Delay => "delay",
        Disagreement::NoDelay => "no delay",
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:+.1} %", 100.0 * share))
}

fn p99(figures: &Figures) -> String {
    figures.delay.map_or_else(String::new, |(_, p99)| format!("{:.3}", 1e3 * p99.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Duration;

    fn agreement() -> Agreement {
        let us = Duration::from_micros;
        let of = |goodput_mbps, p99| Figures {
            goodput_mbps,
            delay: Some((us(900), us(p99))),
            ..Figures::default()
        };
        let row = Row {
            flow: "voice".to_owned(),
            is_tcp: false,
            simulator: of(10.0, 1_000),
            emulator: of(9.9, 1_300),
        };
        Agreement { rows: vec![row] }
    }

    #[test]
    fn people_see_flows_their_sum_and_what_is_outside() {
        let text = text(&agreement());
        assert!(text.contains("voice") && text.contains("all"), "{text}");
        assert!(text.contains("-1.0 %") && text.contains("1.300") && text.contains("delay"));
    }

    #[test]
    fn programs_see_the_same() {
        let value = json(&agreement());
        assert_eq!(value["flows"][0]["outside"], json!(["delay"]));
        assert_eq!(value["flows"][0]["emulator"]["delay_p99_s"], json!(0.0013));
        assert_eq!(value["emulator_mbps"], json!(9.9));
    }
}
