//! Shares of stations in a network as a page.

use super::words::{or_dash, sentences, warnings};
use crate::results::{RadioSample, Record, Station, StationSummary, Summary};
use fairwave_lab::means::MeanSummary;
use fairwave_lab::page::document;
use fairwave_lab::plot::{BarSeries, Content, Curve, Figure, Interval, Mark, Plots};
use maud::{PreEscaped, html};

/// A self-contained page.
pub(crate) fn page(title: &str, record: &Record, error: Option<&str>) -> Result<String, String> {
    let summary = Summary::of(record);
    let mut plots = Plots::new(fairwave_show::explorer());
    let mut drawn = |figure: &Figure, id: &str, axis: &str| {
        plots.drawing(figure, id, axis).map_err(|error| error.to_string())
    };
    let bars = drawn(&bars(&summary), "stations", "")?;
    let lines = drawn(&over_time(record), "payload", "time")?;
    let radios = radios(record);
    let radios = radios
        .iter()
        .enumerate()
        .map(|(number, figure)| drawn(figure, &format!("radio-{number}"), "time"));
    let radios = radios.collect::<Result<Vec<_>, _>>()?;
    let body = html! {
        h1 { (title) }
        @if let Some(error) = error { p.quick { (error) } }
        @for line in sentences(&summary) { p { (line) } }
        @for line in warnings(record) { p.quick { (line) } }
        h2 { "Figures" }
        figure {
            div.plot { (PreEscaped(bars)) }
            figcaption {
                "Payload of each station; whiskers are 95 % confidence intervals over \
                 repetitions."
            }
        }
        figure {
            div.plot { (PreEscaped(lines)) }
            figcaption { "Payload by interval in the first repetition." }
        }
        @for radio in &radios { figure { div.plot { (PreEscaped(radio)) } } }
        @if !radios.is_empty() {
            p.note { "Figures of the stations' radios (nl80211), by interval." }
        }
        (rows(&summary))
        (plots.end())
    };
    Ok(document(title, &body))
}

fn rows(summary: &Summary) -> maud::Markup {
    let mean = |of: &Option<MeanSummary>| or_dash(of.map(|of| of.mean), 2);
    html! {
        div.wide role="region" aria-label="Stations" tabindex="0" { table.results {
            thead { tr {
                @for head in
                    ["station", "address", "Mbps", "+-", "up", "down", "AVR", "algorithm"]
                {
                    th scope="col" { (head) }
                }
            } }
            tbody { @for station in &summary.stations { tr {
                th scope="row" { (station.name) }
                td { (station.address.as_deref().unwrap_or("-")) }
                td { (or_dash(Some(station.mbps.mean), 2)) }
                td { (or_dash(station.mbps.half_width, 2)) }
                td { (mean(&station.up_mbps)) }
                td { (mean(&station.down_mbps)) }
                td { (mean(&station.achievement)) }
                td { (station.algorithms.join(", ")) }
            } } }
        } }
    }
}

fn bars(summary: &Summary) -> Figure {
    let interval = |of: MeanSummary| {
        let half = of.half_width.unwrap_or(0.0);
        Interval { mean: of.mean, low: (of.mean - half).max(0.0), high: of.mean + half }
    };
    let stations = &summary.stations;
    let one = |label: &str, value: &dyn Fn(&StationSummary) -> Option<MeanSummary>| BarSeries {
        label: label.to_owned(),
        values: stations.iter().map(|station| value(station).map(interval)).collect(),
    };
    let series = [one("up", &|station| station.up_mbps), one("down", &|station| station.down_mbps)];
    let has_any = |series: &BarSeries| series.values.iter().any(Option::is_some);
    Figure {
        title: "Payload by station".to_owned(),
        x_label: "station".to_owned(),
        y_label: "payload (Mbps)".to_owned(),
        y_range: None,
        content: Content::Bars {
            groups: stations.iter().map(|station| station.name.clone()).collect(),
            series: series.into_iter().filter(has_any).collect(),
        },
    }
}

fn over_time(record: &Record) -> Figure {
    let seconds = record.interval_s;
    let mbps = |bytes: u64| Some(bytes as f64 * 8.0 / 1e6 / seconds);
    let payload = |station: &Station| station.bytes().into_iter().map(mbps).collect();
    by_interval(record, "Payload", "payload (Mbps)", &payload)
}

/// A value of each station by interval in the first repetition.
fn by_interval(
    record: &Record,
    title: &str,
    y_label: &str,
    values: &dyn Fn(&Station) -> Vec<Option<f64>>,
) -> Figure {
    let first = record.repetitions.first().map_or(&[][..], |first| &first.stations);
    let at = |bin: i32| f64::from(bin) * record.interval_s;
    let curve = |station: &Station| Curve {
        label: station.name.clone(),
        points: values(station)
            .into_iter()
            .zip(1..)
            .filter_map(|(value, bin)| Some((at(bin), Interval::exact(value?))))
            .collect(),
        mark: Mark::DottedLine,
    };
    Figure {
        title: format!("{title} over time"),
        x_label: "time (s)".to_owned(),
        y_label: y_label.to_owned(),
        y_range: None,
        content: Content::Curves(
            first.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect(),
        ),
    }
}

/// Figures of radios on the same time axis, as far as there are any.
fn radios(record: &Record) -> Vec<Figure> {
    let of = |title: &str, unit: &str, value: &dyn Fn(&RadioSample) -> Option<f64>| {
        let values = |station: &Station| station.radio.iter().map(value).collect();
        by_interval(record, title, &format!("{} ({unit})", title.to_lowercase()), &values)
    };
    let interval_ms = record.interval_s * 1e3;
    let signal = of("Signal", "dBm", &|sample| sample.signal_dbm);
    let figures = [
        // Signal levels are negative, so their axis cannot start at zero as the others do.
        Figure { y_range: Some((-100.0, 0.0)), ..signal },
        of("Rate of frames sent", "Mbps", &|sample| sample.tx_mbps),
        of("Retries", "frames", &|sample| sample.retries.map(f64::from)),
        of("Airtime", "%", &|sample| sample.airtime_ms.map(|ms| 100.0 * ms / interval_ms)),
    ];
    let has_any = |figure: &Figure| matches!(&figure.content, Content::Curves(c) if !c.is_empty());
    figures.into_iter().filter(has_any).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::words;
    use crate::results::{Ending, Repetition};

    /// The figures of a real kernel's radio are tested in a guest (`cargo xtask vm measure`).
    #[test]
    fn a_page_shows_reports_of_radios() {
        let sample =
            RadioSample { signal_dbm: Some(-60.0), retries: Some(4), ..RadioSample::default() };
        let station = |radio: &[RadioSample]| Station {
            name: "sta".to_owned(),
            address: None,
            clock_error_ms: None,
            late_ms: None,
            ending: Ending::Complete,
            flows: Vec::new(),
            radio: radio.to_vec(),
        };
        let record = |radio: &[RadioSample]| Record {
            interval_s: 1.0,
            begun_unix_s: None,
            target_bps: None,
            effective_bps: None,
            single: Vec::new(),
            repetitions: vec![Repetition { stations: vec![station(radio)] }],
        };
        let titles = |radio: &[RadioSample]| -> Vec<String> {
            radios(&record(radio)).into_iter().map(|figure| figure.title).collect()
        };
        assert_eq!(titles(&[sample; 3]), ["Signal over time", "Retries over time"]);
        assert_eq!(titles(&[]), Vec::<String>::new());
        let page = page("title", &record(&[sample; 3]), None).unwrap();
        assert_eq!(page.matches("<svg id=").count(), 4);
        let is_explored = page.contains("[\"radio-1\",\"time\",{");
        assert_eq!(is_explored, !fairwave_show::explorer().script.is_empty());
        let weaker = RadioSample { signal_dbm: Some(-66.0), airtime_ms: Some(250.0), ..sample };
        let words = words(&Summary::of(&record(&[sample, weaker])), &record(&[sample, weaker]));
        let row = words.lines().find(|line| line.contains("-63 (-66 to -60)")).expect(&words);
        let figures: Vec<&str> = row.split_whitespace().rev().take(5).collect();
        assert_eq!(figures, ["25", "-", "8", "-", "-"], "{words}");
        // There are no flows.
        assert!(words.contains("Nothing arrived in any flow."), "{words}");
        assert!(!crate::report::words(&Summary::of(&record(&[])), &record(&[])).contains("Radio"));
    }
}
