//! Findings of a probe of a real network as a page.

use super::words::{warnings, words};
use crate::{Delays, Measured, Percentiles};
use fairwave_lab::page::document;
use fairwave_lab::plot::{BarSeries, Content, Curve, Figure, Interval as Point, Mark, Plots};
use maud::{PreEscaped, html};

/// Caption of the first plot.
const CAPTION: &str = "Each dot is a packet of the last trials: how much longer it took than the \
    fastest one. A buffer that fills is a slope with a flat top; its height is the wait behind a \
    full buffer.";

/// Caption of the second plot.
const ROUND_TRIPS: &str = "Round trips of small packets of another flow, as those of a call, while \
    nothing else is sent and beside loads. A pair that is not there was not measured.";

/// A self-contained page.
pub(crate) fn page(host: &str, found: &Measured, error: Option<&str>) -> Result<String, String> {
    let mut plots = Plots::new(fairwave_show::explorer());
    let mut drawn = |figure: &Figure, id: &str| {
        plots.drawing(figure, id, "").map_err(|error| error.to_string())
    };
    let waits = drawn(&waits(found), "waits")?;
    let trips = drawn(&round_trips(found), "round-trips")?;
    let title = format!("Probe of {host}");
    let body = html! {
        h1 { (title) }
        @if let Some(error) = error { p.quick { (error) } }
        @for line in words(host, found).lines() { p { (line) } }
        @for line in warnings(found) { p.quick { (line) } }
        h2 { "Figures" }
        figure {
            div.plot { (PreEscaped(waits)) }
            figcaption { (CAPTION) }
        }
        figure {
            div.plot { (PreEscaped(trips)) }
            figcaption { (ROUND_TRIPS) }
        }
        h2 { "Evidence" }
        @for line in &found.evidence { p { (line) } }
        (plots.end())
    };
    Ok(document(&title, &body))
}

/// Round-trip times by the load at the same time.
fn round_trips(found: &Measured) -> Figure {
    let all = [
        ("idle", &found.idle),
        ("beside an upload", &found.up),
        ("beside a download", &found.down),
        ("beside both", &found.both),
    ];
    let series = |label: &str, of: fn(Percentiles) -> f64| BarSeries {
        label: label.to_owned(),
        values: all.iter().map(|(_, latency)| latency.ms.map(|ms| Point::exact(of(ms)))).collect(),
    };
    Figure {
        title: "Round trips".to_owned(),
        x_label: "other traffic".to_owned(),
        y_label: "round trip (ms)".to_owned(),
        y_range: None,
        content: Content::Bars {
            groups: all.iter().map(|(name, _)| (*name).to_owned()).collect(),
            series: vec![series("median", |ms| ms.p50), series("95 of 100 within", |ms| ms.p95)],
        },
    }
}

fn waits(found: &Measured) -> Figure {
    let newest = found.delays.iter().rev().take(2);
    let curve = |delays: &Delays| Curve {
        label: format!("packets of {} bytes", delays.payload_bytes),
        points: delays
            .sent_s
            .iter()
            .zip(&delays.waits_ms)
            .filter_map(|(sent_s, wait)| Some((*sent_s, Point::exact((*wait)?.max(0.0)))))
            .collect(),
        mark: Mark::Dots,
    };
    Figure {
        title: "Waits in the buffer".to_owned(),
        x_label: "time since the first packet of the trial (s)".to_owned(),
        y_label: "wait (ms)".to_owned(),
        y_range: None,
        content: Content::Curves(newest.map(curve).collect()),
    }
}
