//! The page of a trace analysis: the capture, its connections, and figures of some.

use crate::trace::{Connection, TraceSummary, UdpStream, air, words};
use fairwave_lab::page::CSS;
use fairwave_lab::plot::Plots;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeMap;

/// Maximum number of rows of a table on the page; the Parquet files have all.
pub(super) const ROWS: usize = 200;

/// A figure's title and its drawing.
type Drawn = Vec<(String, String)>;

/// The page as text.
pub(in crate::trace) fn page(
    summary: &TraceSummary,
    drawn: &BTreeMap<u32, Drawn>,
    plots: &Plots,
) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Fairwave: " (summary.capture.file) }
                style { (PreEscaped(CSS)) }
            }
            body {
                header {
                    h1 { "Capture " (summary.capture.file) }
                    @for line in words::summary(summary) { p.paper { (line) } }
                }
                main {
                    @if let Some(broken) = &summary.capture.broken {
                        p.quick role="note" {
                            strong { "Damaged: " }
                            "byte " (broken.offset) ", behind packet " (broken.packets) ": "
                            (broken.reason) ". Figures cover the packets before it."
                        }
                    }
                    section { h2 { "Connections, the worst first" } (connections(summary)) }
                    @if !summary.udp.is_empty() {
                        section { h2 { "UDP streams" } (udp("udp", &summary.udp)) }
                    }
                    @if !summary.dccp.is_empty() {
                        section { h2 { "DCCP streams" } (udp("dccp", &summary.dccp)) }
                    }
                    @if !summary.air.is_empty() {
                        section { h2 { (air::TITLE) } (air(summary)) }
                    }
                    @for one in &summary.connections {
                        @if let Some(figures) = drawn.get(&one.number) {
                            section { (closely(one, figures)) }
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

fn connections(summary: &TraceSummary) -> Markup {
    let rows = summary.connections.iter().map(|one| (words::name(one), words::row(one)));
    let more = summary.connections.len().saturating_sub(ROWS) as u64 + summary.left_out;
    html! {
        (table("connection", &words::COLUMNS, rows.take(ROWS)))
        @if more > 0 { p.note { (more) " more; connections.parquet has all" } }
    }
}

fn udp(protocol: &str, streams: &[UdpStream]) -> Markup {
    let rows = streams.iter().take(ROWS).flat_map(|one| words::udp_rows(protocol, one));
    table("stream", &words::UDP_COLUMNS, rows)
}

/// Use of the air by transmitter and receiver.
fn air(summary: &TraceSummary) -> Markup {
    let rows = summary.air.iter().map(|pair| (air::name(pair), air::row(pair)));
    let more = summary.air.len().saturating_sub(ROWS);
    html! {
        (table("transmitter > receiver", &air::COLUMNS, rows.take(ROWS)))
        @if more > 0 { p.note { (more) " more; summary.json has all" } }
    }
}

/// A table with names in its first column.
fn table<const COLUMNS: usize>(
    first: &str,
    columns: &[&str; COLUMNS],
    rows: impl Iterator<Item = (String, [String; COLUMNS])>,
) -> Markup {
    html! {
        div.wide role="group" aria-label=(first) tabindex="0" {
            table.results {
                thead {
                    tr {
                        th scope="col" { (first) }
                        @for head in columns { th scope="col" { (head) } }
                    }
                }
                tbody {
                    @for (name, row) in rows {
                        tr { th scope="row" { (name) } @for cell in row { td { (cell) } } }
                    }
                }
            }
        }
    }
}

fn closely(one: &Connection, figures: &Drawn) -> Markup {
    html! {
        h2 { "Connection " (words::name(one)) }
        ul { @for line in words::connection(one) { li { (line) } } }
        @for (title, svg) in figures {
            figure {
                div.plot role="img" aria-label=(title) { (PreEscaped(svg)) }
            }
        }
    }
}
