//! Shares of stations in a network, in words, bars and a page.

use crate::table::Table;
use fairwave_fairness::results::{
    Counted, Ending, RadioSample, Record, Station, StationSummary, Summary,
};
use fairwave_lab::means::MeanSummary;
use fairwave_lab::page::{CSS, responsive};
use fairwave_lab::plot::{BarSeries, Content, Curve, Figure, Interval, Mark};
use fairwave_lab::stats::mean;
use fairwave_units::several;
use maud::{DOCTYPE, PreEscaped, html};

/// Length of the longest bar in characters.
const BAR: f64 = 24.0;
/// Clock errors and late starts from which a warning is shown, in milliseconds.
const NOTICED_MS: f64 = 50.0;
/// Jain's index below which stations have clearly unequal shares.
const UNEQUAL: f64 = 0.95;

/// The tables, then their interpretation.
pub(crate) fn words(summary: &Summary, record: &Record) -> String {
    if summary.repetitions == 0 {
        return "Nothing was measured.\n".to_owned();
    }
    stations(summary) + &radio(record) + &sentences(summary).join("\n") + "\n"
}

/// Figures of radios over all intervals of all repetitions; empty if there are none.
fn radio(record: &Record) -> String {
    let heads =
        ["station", "signal dBm", "sends Mbps", "hears Mbps", "retries", "given up", "air %"];
    let mut table = Table::new("Radio by station", &heads);
    let told = |name| record.of(name).flat_map(|station| &station.radio).collect::<Vec<_>>();
    let radios = record.names().into_iter().map(|name| (name, told(name)));
    let radios: Vec<_> = radios.filter(|(_, samples)| !samples.is_empty()).collect();
    if radios.is_empty() {
        return String::new();
    }
    for (name, samples) in radios {
        let values = |of: &dyn Fn(&RadioSample) -> Option<f64>| -> Vec<f64> {
            samples.iter().filter_map(|sample| of(sample)).collect()
        };
        let sum = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum());
        let airtime = mean(&values(&|sample| sample.airtime_ms));
        table.row(vec![
            name.to_owned(),
            span(&values(&|sample| sample.signal_dbm), 0),
            span(&values(&|sample| sample.tx_mbps), 1),
            span(&values(&|sample| sample.rx_mbps), 1),
            or_dash(sum(&values(&|sample| sample.retries.map(f64::from))), 0),
            or_dash(sum(&values(&|sample| sample.failed.map(f64::from))), 0),
            or_dash(airtime.map(|ms| ms / record.interval_s / 10.0), 0),
        ]);
    }
    table.render()
}

/// The mean, with minimum and maximum if they differ.
fn span(values: &[f64], decimals: usize) -> String {
    let least = values.iter().copied().min_by(f64::total_cmp);
    let most = values.iter().copied().max_by(f64::total_cmp);
    match (mean(values), least.zip(most)) {
        (Some(mean), Some((least, most))) if least < most => {
            format!("{mean:.decimals$} ({least:.decimals$} to {most:.decimals$})")
        }
        (mean, _) => or_dash(mean, decimals),
    }
}

fn stations(summary: &Summary) -> String {
    let most = summary.stations.iter().map(|station| station.mbps.mean).fold(0.0, f64::max);
    let heads = ["station", "", "Mbps", "+-", "up", "down", "loss %", "AVR %", "law"];
    let mut table = Table::new("Payload by station", &heads);
    for station in &summary.stations {
        let StationSummary { mbps, up_mbps, down_mbps, loss, achievement, .. } = station;
        let middle = |figure: &Option<MeanSummary>| or_dash(figure.map(|of| of.mean), 2);
        let bar = if most > 0.0 { (BAR * mbps.mean / most).round() as usize } else { 0 };
        table.row(vec![
            station.name.clone(),
            format!("{:<width$}", "#".repeat(bar), width = BAR as usize),
            format!("{:.2}", mbps.mean),
            or_dash(mbps.half_width, 2),
            middle(up_mbps),
            middle(down_mbps),
            or_dash(loss.map(|loss| 100.0 * loss), 2),
            or_dash(achievement.map(|avr| 100.0 * avr.mean), 0),
            if station.laws.is_empty() { "-".to_owned() } else { station.laws.join(", ") },
        ]);
    }
    table.render()
}

fn or_dash(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

fn sentences(summary: &Summary) -> Vec<String> {
    let count = summary.stations.len();
    let mut lines = Vec::new();
    if let Some(total) = summary.total_mbps {
        let over = match summary.repetitions {
            1 => String::new(),
            n => format!(", mean of {n} repetitions"),
        };
        let (stations, within) = (several(count, "station"), within(total, 2));
        lines.push(format!("{stations} had {:.2}{within} Mbps together{over}.", total.mean));
    }
    if let Some(jain) = summary.jain.filter(|_| count > 1) {
        let verdict = if jain.mean < UNEQUAL { "unequal" } else { "nearly equal" };
        lines.push(format!(
            "Jain's index is {:.3}{} (1 is equal, {:.3} is one with everything): {verdict} shares.",
            jain.mean,
            within(jain, 3),
            1.0 / count as f64
        ));
    }
    for starved in &summary.starved_flows {
        lines.push(format!(
            "Flow {} of {} starved in repetition {}: {:.3} Mbps.",
            starved.flow, starved.station, starved.repetition, starved.mbps
        ));
    }
    if summary.starved_flows.is_empty() {
        // If nothing arrived at all, the shares say nothing about starvation.
        let nothing = summary.total_mbps.is_none_or(|total| total.mean == 0.0);
        let told = if nothing { "Nothing arrived in any flow." } else { "No flow starved." };
        lines.push(told.to_owned());
    }
    if summary.unfair_repetitions > 0 {
        lines.push(format!(
            "In {} of {} a station had nearly nothing while another had more than its share.",
            summary.unfair_repetitions,
            several(summary.repetitions, "repetition")
        ));
    }
    lines.extend(target(summary));
    lines
}

/// Half the width of an interval, if there is one.
fn within(of: MeanSummary, decimals: usize) -> String {
    of.half_width.map_or_else(String::new, |half| format!(" +- {half:.decimals$}"))
}

fn target(summary: &Summary) -> Option<String> {
    let target = summary.target?;
    let stated = if target.is_stated { "stated" } else { "what all had together" };
    let reached = summary.stations.iter().filter_map(|station| {
        let avr = station.achievement?.mean;
        Some(format!("{} in {:.0} % of intervals", station.name, 100.0 * avr))
    });
    let reached: Vec<String> = reached.collect();
    Some(format!(
        "The target of {:.2} Mbps is {} of EB, {:.2} Mbps ({stated}); an equal share is \
         {:.2} Mbps. Reached: {}.",
        target.mbps,
        target.normalized.map_or_else(|| "no part".to_owned(), |n| format!("{:.0} %", 100.0 * n)),
        target.effective_mbps,
        target.fair_share_mbps,
        if reached.is_empty() { "nobody told".to_owned() } else { reached.join(", ") }
    ))
}

/// Warnings about the figures.
pub(crate) fn warnings(record: &Record) -> Vec<String> {
    let mut warnings = Vec::new();
    for (repetition, number) in record.repetitions.iter().zip(1..) {
        for station in &repetition.stations {
            let name = &station.name;
            let ended = match station.ending {
                Ending::Complete => None,
                Ending::Left => Some("was broken off by its user"),
                Ending::Gone => Some("fell silent"),
                Ending::UsedUp => Some("used up what the server grants; raise --max-bytes there"),
                Ending::Open => Some("was cut off"),
            };
            warnings.extend(ended.map(|how| format!("repetition {number}: {name} {how}")));
            if station.flows.iter().any(|flow| flow.is_broken) {
                warnings.push(format!("repetition {number}: a connection of {name} broke"));
            }
            let off = [
                ("clock may be wrong by", station.clock_error_ms),
                ("start was late by", station.late_ms),
            ];
            for (what, ms) in off {
                let noticed = ms.filter(|ms| *ms > NOTICED_MS);
                warnings.extend(
                    noticed.map(|ms| format!("repetition {number}: {name}: its {what} {ms:.0} ms")),
                );
            }
        }
    }
    let flows = || {
        let stations = record.repetitions.iter().flat_map(|repetition| &repetition.stations);
        stations.flat_map(|station| &station.flows)
    };
    if flows().any(|flow| flow.counted == Counted::AtSender) {
        warnings.push(
            "some bytes were counted by their sender when its kernel took them: more than arrived"
                .to_owned(),
        );
    }
    warnings
}

/// A self-contained page.
pub(crate) fn page(title: &str, record: &Record, error: Option<&str>) -> Result<String, String> {
    let summary = Summary::of(record);
    let drawn = |figure: &Figure| {
        figure.to_svg().map(|svg| responsive(&svg)).map_err(|error| error.to_string())
    };
    let (bars, lines) = (drawn(&bars(&summary))?, drawn(&over_time(record))?);
    let radios: Result<Vec<String>, String> = radios(record).iter().map(drawn).collect();
    let radios = radios?;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(CSS)) }
            }
            body {
                h1 { (title) }
                @if let Some(error) = error { p.quick { (error) } }
                @for line in sentences(&summary) { p { (line) } }
                @for line in warnings(record) { p.quick { (line) } }
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
                    p.note { "What the stations' own radios told (nl80211), by interval." }
                }
                (rows(&summary))
            }
        }
    };
    Ok(markup.into_string())
}

fn rows(summary: &Summary) -> maud::Markup {
    let mean = |of: &Option<MeanSummary>| or_dash(of.map(|of| of.mean), 2);
    html! {
        div.wide { table.results {
            thead { tr {
                @for head in ["station", "address", "Mbps", "+-", "up", "down", "AVR", "law"] {
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
                td { (station.laws.join(", ")) }
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
    use fairwave_fairness::results::Repetition;

    /// The figures of a real kernel's radio are tested in a guest (`cargo xtask vm measure`).
    #[test]
    fn a_page_shows_what_radios_told_where_there_are_any() {
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
            repetitions: vec![Repetition { stations: vec![station(radio)] }],
        };
        let titles = |radio: &[RadioSample]| -> Vec<String> {
            radios(&record(radio)).into_iter().map(|figure| figure.title).collect()
        };
        assert_eq!(titles(&[sample; 3]), ["Signal over time", "Retries over time"]);
        assert_eq!(titles(&[]), Vec::<String>::new());
        let page = page("title", &record(&[sample; 3]), None).unwrap();
        assert_eq!(page.matches("<svg").count(), 4);
        let weaker = RadioSample { signal_dbm: Some(-66.0), airtime_ms: Some(250.0), ..sample };
        let words = words(&Summary::of(&record(&[sample, weaker])), &record(&[sample, weaker]));
        let row = words.lines().find(|line| line.contains("-63 (-66 to -60)")).expect(&words);
        let figures: Vec<&str> = row.split_whitespace().rev().take(5).collect();
        assert_eq!(figures, ["25", "-", "8", "-", "-"], "{words}");
        // There are no flows.
        assert!(words.contains("Nothing arrived in any flow."), "{words}");
        assert!(!self::words(&Summary::of(&record(&[])), &record(&[])).contains("Radio"));
    }
}
