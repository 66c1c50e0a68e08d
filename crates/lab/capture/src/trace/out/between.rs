//! Output files of a comparison: a table over time, figures and a page.

use super::{DRAWN, Error, make};
use crate::trace::{ComparisonSummary, WayBetween, words};
use fairwave_lab::page::CSS;
use fairwave_lab::plot::{Content, Explorer, Figure, Form, Plots, Span, SpanSeries};
use fairwave_lab::results::column::{integer, nullable_integer, text};
use fairwave_lab::results::{Cell, Table, TableWriter, write_file};
use fairwave_trace::analysis::compare::{Bin, Bins};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Packets of one direction in one interval.
#[derive(Debug)]
pub struct BinRow {
    at_ns: u64,
    from: Arc<str>,
    to: Arc<str>,
    bin: Bin,
}

/// Losses and shifts over time.
pub const BETWEEN: Table<BinRow> = Table {
    file: "between.parquet",
    doc: "Fate of the packets of each sender between two captures, in each interval.",
    columns: &[
        integer("at_ns", "Begin, from the first frame of the first capture", &|row: &BinRow| {
            Cell::unsigned(row.at_ns)
        }),
        text("from", "Address and port of the sender", &|row: &BinRow| {
            Cell::Text(Arc::clone(&row.from))
        }),
        text("to", "Address and port of the receiver", &|row: &BinRow| {
            Cell::Text(Arc::clone(&row.to))
        }),
        integer("crossed", "Packets seen at both points", &|row: &BinRow| {
            Cell::unsigned(row.bin.crossed)
        }),
        integer("first_only", "Packets seen at the first point only", &|row: &BinRow| {
            Cell::unsigned(row.bin.alone[0])
        }),
        integer("second_only", "Packets seen at the second point only", &|row: &BinRow| {
            Cell::unsigned(row.bin.alone[1])
        }),
        nullable_integer(
            "shift_mean_ns",
            "Mean time at the second less that at the first",
            &|row: &BinRow| row.bin.mean_shift_ns().map_or(Cell::Null, Cell::Integer),
        ),
        nullable_integer("shift_min_ns", "The least of them", &|row: &BinRow| {
            row.bin.shift_ns.map_or(Cell::Null, |(min, _)| Cell::Integer(min))
        }),
        nullable_integer("shift_max_ns", "The greatest of them", &|row: &BinRow| {
            row.bin.shift_ns.map_or(Cell::Null, |(_, maximum)| Cell::Integer(maximum))
        }),
    ],
};

/// Writes table, figures, page and summary into a directory, which is created if needed. `explorer`
/// is the script of the page. Returns the path of the page.
///
/// # Errors
/// If a figure cannot be drawn or a file cannot be written.
pub fn between(
    summary: &ComparisonSummary,
    bins: &Bins,
    explorer: Explorer,
    directory: &Path,
) -> Result<PathBuf, Error> {
    let figures = directory.join("figures");
    make(&figures)?;
    let mut table = TableWriter::create(&BETWEEN, directory)?;
    for way in &summary.ways {
        rows(way, bins, &mut |row| table.push(row))?;
    }
    table.finish()?;
    let mut plots = Plots::new(explorer);
    let mut drawn = Vec::new();
    for (number, way) in summary.ways.iter().take(DRAWN).enumerate() {
        for (kind, figure) in [("packets", packets(way, bins)), ("shift", shifts(way, bins))] {
            let id = format!("way-{}-{kind}", number + 1);
            write_file(&figures.join(format!("{id}.svg")), figure.to_svg()?.as_bytes())?;
            let svg = plots.drawing(&figure, &id, "between")?;
            drawn.push((figure.title, svg));
        }
    }
    let json = serde_json::to_string_pretty(summary)?;
    write_file(&directory.join("summary.json"), json.as_bytes())?;
    let path = directory.join("report.html");
    write_file(&path, page(summary, &drawn, &plots).as_bytes())?;
    Ok(path)
}

fn rows(
    way: &WayBetween,
    bins: &Bins,
    push: &mut impl FnMut(BinRow) -> Result<(), fairwave_lab::results::Error>,
) -> Result<(), fairwave_lab::results::Error> {
    let [from, to] = [&way.ends.a, &way.ends.b].map(|end| Arc::from(&**end));
    let (flow, end) = way.place;
    for &(number, bin) in bins.of(flow, end) {
        let at_ns = u64::from(number) * bins.length().as_nanos();
        push(BinRow { at_ns, from: Arc::clone(&from), to: Arc::clone(&to), bin })?;
    }
    Ok(())
}

/// Spans of the bins for which `shown` has values.
fn spans(way: &WayBetween, bins: &Bins, shown: impl Fn(&Bin) -> Option<(f64, f64)>) -> Vec<Span> {
    let length = bins.length().as_secs_f64();
    let (flow, end) = way.place;
    let bins = bins.of(flow, end).iter();
    bins.filter_map(|(number, bin)| {
        let (low, high) = shown(bin)?;
        let from = f64::from(*number) * length;
        Some(Span { from, to: from + length, low, high })
    })
    .collect()
}

fn packets(way: &WayBetween, bins: &Bins) -> Figure {
    let series = |label: &str, count: fn(&Bin) -> u64| {
        let shown = |bin: &Bin| Some((count(bin) as f64, count(bin) as f64));
        SpanSeries { label: label.to_owned(), spans: spans(way, bins, shown), form: Form::Steps }
    };
    let series = vec![
        series("at both points", |bin| bin.crossed),
        series("at the first only", |bin| bin.alone[0]),
        series("at the second only", |bin| bin.alone[1]),
    ];
    let y_label = format!("packets per {}", bins.length());
    figure(format!("{}: packets", words::way(way)), y_label, series)
}

/// The shifts above the minimum of all, so that the offset of the clocks has no influence.
fn shifts(way: &WayBetween, bins: &Bins) -> Figure {
    let min = way.shift.map_or(0, |shift| shift.min_ns);
    let millis = |shift: i64| shift.saturating_sub(min) as f64 / 1e6;
    let range = |bin: &Bin| bin.shift_ns.map(|(low, high)| (millis(low), millis(high)));
    let mean = |bin: &Bin| bin.mean_shift_ns().map(|mean| (millis(mean), millis(mean)));
    let series = |label: &str, spans, form| SpanSeries { label: label.to_owned(), spans, form };
    let series = vec![
        series("least to greatest", spans(way, bins, range), Form::Dots),
        series("mean", spans(way, bins, mean), Form::Steps),
    ];
    let y_label = "shift above the least [ms]".to_owned();
    figure(format!("{}: time between the points", words::way(way)), y_label, series)
}

fn figure(title: String, y_label: String, series: Vec<SpanSeries>) -> Figure {
    let highest = series.iter().flat_map(|one| &one.spans).map(|span| span.high);
    let top = highest.fold(0.0, f64::max);
    Figure {
        title,
        x_label: "time from the first packet of the first capture [s]".to_owned(),
        y_label,
        y_range: Some((0.0, if top > 0.0 { top * 1.06 } else { 1.0 })),
        content: Content::Spans { series, x_range: None },
    }
}

fn page(summary: &ComparisonSummary, drawn: &[(String, String)], plots: &Plots) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Fairwave: two captures compared" }
                style { (PreEscaped(CSS)) }
            }
            body {
                header {
                    h1 { "Two captures of the same traffic" }
                    @for line in words::comparison(summary) { p.paper { (line) } }
                }
                main {
                    section { h2 { "Between them, the most lossy first" } (ways(summary)) }
                    section {
                        h2 { "Over time" }
                        @for (title, svg) in drawn {
                            figure {
                                div.plot role="img" aria-label=(title) { (PreEscaped(svg)) }
                            }
                        }
                    }
                }
                footer { p { "Fairwave " (env!("CARGO_PKG_VERSION")) } }
                (plots.end())
            }
        }
    };
    page.into_string()
}

fn ways(summary: &ComparisonSummary) -> Markup {
    html! {
        div.wide role="group" aria-label="from > to" tabindex="0" {
            table.results {
                thead {
                    tr {
                        th scope="col" { "from > to" }
                        @for head in words::BETWEEN_COLUMNS { th scope="col" { (head) } }
                    }
                }
                tbody {
                    @for way in summary.ways.iter().take(super::page::ROWS) {
                        tr {
                            th scope="row" { (words::way(way)) }
                            @for cell in words::between(way) { td { (cell) } }
                        }
                    }
                }
            }
        }
    }
}
