//! A relay over time as a page: rates, loss event rate, round-trip time and handovers on one axis.

use super::RateLine;
use fairwave_lab::page::document;
use fairwave_lab::plot::{Content, Curve, Figure, Interval as Point, Mark, Plots};
use maud::{PreEscaped, html};

/// Caption of the plots.
const CAPTION: &str = "All figures have the same axis of time. A vertical line of dots is a change \
    of the way to the peer: the carrier, association or route was lost or is back, another access \
    point, another address.";

/// A value of a line, if it has it.
type Value = fn(&RateLine) -> Option<f64>;

/// A self-contained page.
///
/// # Errors
/// If a figure cannot be drawn.
pub(crate) fn page(title: &str, lines: &[RateLine]) -> Result<String, String> {
    let rates: [(&str, Value); 4] = [
        ("X", |line| line.allowed_mbps),
        ("X_recv", |line| line.receive_mbps),
        ("sent", |line| Some(line.sent_mbps)),
        ("received", |line| Some(line.received_mbps)),
    ];
    let figures = [
        figure("Rates", "rate (Mbps)", lines, &rates),
        figure("Loss event rate", "p (per packet)", lines, &[("p", |line| line.loss_event_rate)]),
        figure("Round-trip time", "round trip (ms)", lines, &[("R", |line| line.rtt_ms)]),
    ];
    let mut plots = Plots::new(fairwave_show::explorer());
    let drawn = figures.iter().enumerate().map(|(number, figure)| {
        let drawn = plots.drawing(figure, &format!("figure-{number}"), "time");
        drawn.map_err(|error| error.to_string())
    });
    let drawn = drawn.collect::<Result<Vec<_>, _>>()?;
    let changes = lines.iter().flat_map(|line| &line.handovers);
    let body = html! {
        h1 { (title) }
        h2 { "Figures" }
        @for plot in &drawn {
            figure { div.plot { (PreEscaped(plot.clone())) } }
        }
        p { (CAPTION) }
        h2 { "Handovers" }
        table {
            tr { th { "time (s)" } th { "change" } }
            @for one in changes {
                tr { td { (format!("{:.2}", one.at_s)) } td { (one.change) } }
            }
        }
        (plots.end())
    };
    Ok(document(title, &body))
}

fn figure(title: &str, y_label: &str, lines: &[RateLine], curves: &[(&str, Value)]) -> Figure {
    let mut drawn: Vec<Curve> = curves
        .iter()
        .map(|(label, value)| Curve {
            label: (*label).to_owned(),
            points: lines
                .iter()
                .filter_map(|line| Some((line.at_s, Point::exact(value(line)?))))
                .collect(),
            mark: Mark::Line,
        })
        .filter(|curve| !curve.points.is_empty())
        .collect();
    let heights = drawn.iter().flat_map(|curve| &curve.points).map(|(_, point)| point.mean);
    let top = heights.fold(0.0, f64::max);
    let steps = (0..=HEIGHTS).map(|step| top * f64::from(step) / f64::from(HEIGHTS));
    let steps: Vec<f64> = steps.collect();
    let changes = lines.iter().flat_map(|line| &line.handovers);
    drawn.push(Curve {
        label: "handover".to_owned(),
        points: changes
            .flat_map(|one| steps.iter().map(|height| (one.at_s, Point::exact(*height))))
            .collect(),
        mark: Mark::Dots,
    });
    drawn.retain(|curve| !curve.points.is_empty());
    Figure {
        title: title.to_owned(),
        x_label: "time (s)".to_owned(),
        y_label: y_label.to_owned(),
        y_range: None,
        content: Content::Curves(drawn),
    }
}

/// Dots of a vertical line.
const HEIGHTS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::HandoverOutput;

    #[test]
    fn a_page_has_all_figures_and_the_handovers() {
        let line = |n: u32| RateLine {
            at_s: f64::from(n) / 5.0,
            allowed_mbps: Some(2.0 + f64::from(n)),
            receive_mbps: Some(1.0),
            loss_event_rate: Some(0.01),
            rtt_ms: Some(20.0),
            ..RateLine::default()
        };
        let mut lines: Vec<RateLine> = (0..20).map(line).collect();
        lines[7].handovers = vec![HandoverOutput { at_s: 1.41, change: "lost".to_owned() }];
        let page = page("A relay", &lines).unwrap();
        for word in ["Rates", "X_recv", "Loss event rate", "Round-trip time", "1.41", "lost"] {
            assert!(page.contains(word), "{word}");
        }
        let is_explored = page.contains("[\"figure-2\",\"time\",{");
        assert_eq!(is_explored, !fairwave_show::explorer().script.is_empty());
    }

    #[test]
    fn a_relay_without_a_connection_has_a_page() {
        let lines = [RateLine::default(), RateLine { at_s: 1.0, ..RateLine::default() }];
        page("A relay", &lines).unwrap();
    }
}
