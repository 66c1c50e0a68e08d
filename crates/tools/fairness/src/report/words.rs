//! Shares of stations in a network, in words and bars.

use crate::results::{
    Counted, EffectiveFrom, Ending, Flow, RadioSample, Record, StationSummary, Summary,
};
use fairwave_lab::means::MeanSummary;
use fairwave_lab::report::answer::text;
use fairwave_lab::stats::mean;
use fairwave_text::Table;
use fairwave_units::several;

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
    let tables = stations(summary) + &path(record) + &radio(record);
    let count = several(summary.stations.len(), "station");
    let question = format!("How do {count} share the network?");
    let answer = text(&question, &answer(summary));
    tables + &sentences(summary).join("\n") + "\n\n" + &answer
}

/// One or two sentences on the shares of the stations: their equality, the least, the target.
pub(crate) fn answer(summary: &Summary) -> Vec<String> {
    let total = summary.total_mbps.map_or(0.0, |total| total.mean);
    if total == 0.0 {
        return vec!["That is not known, as nothing arrived.".to_owned()];
    }
    let count = summary.stations.len();
    let least = summary.stations.iter().min_by(|a, b| a.mbps.mean.total_cmp(&b.mbps.mean));
    let shares = match (summary.jain.filter(|_| count > 1), least) {
        (Some(jain), Some(least)) if jain.mean < UNEQUAL => format!(
            "Unequally: {} has least, {:.2} of {total:.2} Mbps, where an equal share is {:.2} \
             (Jain's index {:.3}).",
            least.name,
            least.mbps.mean,
            total / count as f64,
            jain.mean
        ),
        (Some(jain), _) => {
            format!("Nearly equally: {total:.2} Mbps together, Jain's index {:.3}.", jain.mean)
        }
        (None, _) => format!("One station alone has {total:.2} Mbps."),
    };
    let starved = several(summary.starved_flows.len(), "flow");
    let starved = format!("{starved} had less than a tenth of an equal share.");
    let starved = (!summary.starved_flows.is_empty()).then_some(starved);
    [Some(shares), starved.or_else(|| reached(summary))].into_iter().flatten().collect()
}

/// Whether the stations reached their target.
fn reached(summary: &Summary) -> Option<String> {
    let target = summary.target?;
    let shares = summary.stations.iter().filter_map(|station| Some(station.achievement?.mean));
    let least = shares.min_by(f64::total_cmp)?;
    Some(format!(
        "The station furthest from its target of {:.2} Mbps has it in {:.0} % of the intervals.",
        target.mbps,
        100.0 * least
    ))
}

/// Round-trip times, retransmissions and jitter by station; empty without samples.
fn path(record: &Record) -> String {
    let heads = ["station", "RTT ms", "retransmitted", "jitter ms"];
    let mut table = Table::new("Path by station, while it sends and receives", &heads);
    let mut is_empty = true;
    for name in record.names() {
        let all = |of: fn(&Flow) -> &Vec<f64>| record.flows(name).flat_map(of).copied().collect();
        let (rtt, jitter): (Vec<f64>, Vec<f64>) = (all(|f| &f.rtt_ms), all(|f| &f.jitter_ms));
        is_empty &= rtt.is_empty() && jitter.is_empty();
        let counts = record.flows(name).flat_map(|flow| &flow.retransmitted);
        let resent = counts.map(|count| u64::from(*count)).reduce(u64::saturating_add);
        table.row(vec![
            name.to_owned(),
            span(&rtt, 1),
            resent.map_or_else(|| "-".to_owned(), |count| count.to_string()),
            span(&jitter, 2),
        ]);
    }
    if is_empty { String::new() } else { table.render() }
}

/// Figures of radios over all intervals of all repetitions; empty if there are none.
fn radio(record: &Record) -> String {
    let heads = ["station", "signal dBm", "tx Mbps", "rx Mbps", "retries", "given up", "air %"];
    let mut table = Table::new("Radio by station", &heads);
    let samples = |name| record.of(name).flat_map(|station| &station.radio).collect::<Vec<_>>();
    let radios = record.names().into_iter().map(|name| (name, samples(name)));
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
    let min = values.iter().copied().min_by(f64::total_cmp);
    let max = values.iter().copied().max_by(f64::total_cmp);
    match (mean(values), min.zip(max)) {
        (Some(mean), Some((min, max))) if min < max => {
            format!("{mean:.decimals$} ({min:.decimals$} to {max:.decimals$})")
        }
        (mean, _) => or_dash(mean, decimals),
    }
}

fn stations(summary: &Summary) -> String {
    let max = summary.stations.iter().map(|station| station.mbps.mean).fold(0.0, f64::max);
    let heads = ["station", "", "Mbps", "+-", "up", "down", "loss %", "AVR %", "algorithm"];
    let mut table = Table::new("Payload by station", &heads);
    for station in &summary.stations {
        let StationSummary { mbps, up_mbps, down_mbps, loss, achievement, .. } = station;
        let middle = |figure: &Option<MeanSummary>| or_dash(figure.map(|of| of.mean), 2);
        let bar = if max > 0.0 { (BAR * mbps.mean / max).round() as usize } else { 0 };
        table.row(vec![
            station.name.clone(),
            format!("{:<width$}", "#".repeat(bar), width = BAR as usize),
            format!("{:.2}", mbps.mean),
            or_dash(mbps.half_width, 2),
            middle(up_mbps),
            middle(down_mbps),
            or_dash(loss.map(|loss| 100.0 * loss), 2),
            or_dash(achievement.map(|avr| 100.0 * avr.mean), 0),
            if station.algorithms.is_empty() {
                "-".to_owned()
            } else {
                station.algorithms.join(", ")
            },
        ]);
    }
    table.render()
}

/// A number with so many decimals, or a dash.
pub(super) fn or_dash(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Interpretation of the figures.
pub(super) fn sentences(summary: &Summary) -> Vec<String> {
    let count = summary.stations.len();
    let mut lines = Vec::new();
    if let Some(total) = summary.total_mbps {
        let over = match summary.repetitions {
            1 => String::new(),
            n => format!(", mean of {n} repetitions"),
        };
        let (stations, within) = (several(count, "station"), within(total, 2));
        let (shared, lasted) = (summary.shared_s, summary.lasted_s);
        let time = match shared < lasted {
            true => format!(" in the first {shared:.1} of {lasted:.1} s, which all took part in"),
            false => String::new(),
        };
        lines.push(format!("{stations} had {:.2}{within} Mbps together{over}{time}.", total.mean));
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
        let text = if nothing { "Nothing arrived in any flow." } else { "No flow starved." };
        lines.push(text.to_owned());
    }
    if summary.unfair_repetitions > 0 {
        lines.push(format!(
            "In {} of {} a station had nearly nothing while another had more than its share.",
            summary.unfair_repetitions,
            several(summary.repetitions, "repetition")
        ));
    }
    lines.extend(single(summary));
    lines.extend(target(summary));
    lines
}

/// Half the width of an interval, if there is one.
fn within(of: MeanSummary, decimals: usize) -> String {
    of.half_width.map_or_else(String::new, |half| format!(" +- {half:.decimals$}"))
}

/// Rates of the flows that had the network for themselves.
fn single(summary: &Summary) -> Option<String> {
    let rates = summary.single.iter().map(|flow| format!("{} {:.2}", flow.station, flow.mbps));
    let rates: Vec<String> = rates.collect();
    (!rates.is_empty()).then(|| format!("One flow alone, in Mbps: {}.", rates.join(", ")))
}

fn target(summary: &Summary) -> Option<String> {
    let target = summary.target?;
    let from = match target.effective_from {
        EffectiveFrom::Stated => "stated",
        EffectiveFrom::SingleFlow => "the maximum of one flow alone",
        EffectiveFrom::Total => "the total of all stations",
    };
    let reached = summary.stations.iter().filter_map(|station| {
        let avr = station.achievement?.mean;
        Some(format!("{} in {:.0} % of intervals", station.name, 100.0 * avr))
    });
    let reached: Vec<String> = reached.collect();
    Some(format!(
        "The target of {:.2} Mbps is {} of the effective bandwidth, {:.2} Mbps ({from}); an \
         equal share is {:.2} Mbps. Reached (AVR): {}.",
        target.mbps,
        target.normalized.map_or_else(|| "no part".to_owned(), |n| format!("{:.0} %", 100.0 * n)),
        target.effective_mbps,
        target.fair_share_mbps,
        if reached.is_empty() { "not reported".to_owned() } else { reached.join(", ") }
    ))
}

/// Warnings about the figures.
pub(crate) fn warnings(record: &Record) -> Vec<String> {
    let mut warnings = Vec::new();
    let single = record.single.iter().map(|one| ("one flow alone".to_owned(), one));
    let numbered = record.repetitions.iter().zip(1..);
    let numbered = numbered.map(|(one, number)| (format!("repetition {number}"), one));
    for (place, repetition) in single.chain(numbered) {
        for station in &repetition.stations {
            let name = &station.name;
            let ended = match station.ending {
                Ending::Complete => None,
                Ending::Left => Some("was broken off by its user"),
                Ending::Gone => Some("fell silent"),
                Ending::UsedUp => {
                    Some("used up the bytes that the server grants; raise --max-bytes there")
                }
                Ending::Open => Some("was cut off"),
            };
            warnings.extend(ended.map(|how| format!("{place}: {name} {how}")));
            if station.flows.iter().any(|flow| flow.is_broken) {
                warnings.push(format!("{place}: a connection of {name} broke"));
            }
            let noticed = |ms: Option<f64>| ms.filter(|ms| *ms > NOTICED_MS);
            let clock = noticed(station.clock_error_ms).map(|ms| {
                let rtt = 2.0 * ms;
                format!(
                    "its clock is known to {ms:.0} ms, half of the shortest round trip, {rtt:.0} ms"
                )
            });
            let late =
                noticed(station.late_ms).map(|ms| format!("its start was late by {ms:.0} ms"));
            let off = clock.into_iter().chain(late);
            warnings.extend(off.map(|what| format!("{place}: {name}: {what}")));
        }
    }
    let flows = || {
        let all = record.single.iter().chain(&record.repetitions);
        let stations = all.flat_map(|repetition| &repetition.stations);
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
