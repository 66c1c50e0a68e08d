//! `cargo xtask compare-ns3`: goodput of cells here and in ns-3, table by table of
//! results/validation.md.

use super::build;
use super::cell::{Cell, Told};
use super::recorded::{self, Row};
use super::spread::{Spread, aligned};
use super::tables::Table;
use crate::machine::words;
use crate::packages;
use clap::Args;
use xtask::shell::{Outcome, cargo, command, note, run_aside, shown};
use xtask::workspace;

/// Options of `compare-ns3`.
#[derive(Args)]
pub(crate) struct Options {
    /// The table of results/validation.md.
    #[arg(long, value_enum, default_value = "uplinks")]
    table: Table,
    /// Only rows whose title contains this, such as "TCP" or "VHT80".
    #[arg(long, default_value = "")]
    only: String,
    /// Number of our seeds. Default: that of the table in results/validation.md.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// Run ns-3 too, and print its results instead of those recorded in `benches/runs`. Not for the
    /// table of uploads.
    #[arg(long)]
    with_ns3: bool,
    /// Number of ns-3's runs.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// Builds the necessary programs, runs them and prints a table of results/validation.md.
pub(crate) fn compare(options: &Options) -> Outcome {
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    if options.with_ns3 {
        packages::ns3()?;
        let version = words("dpkg-query", &["-W", "-f", "${Version}", "libns3-dev"])?;
        build(options.table.program(), &workspace::target().join("ns3"), &version)?;
    }
    let cells = options.table.rows().into_iter().map(|line| Cell::of(options.table, line));
    let (mut rows, mut reported) = (Vec::new(), Vec::new());
    for cell in cells.filter(|cell| cell.title().contains(&options.only)) {
        note(&cell.title());
        let ours = ours(&cell, options.seeds.unwrap_or(options.table.seeds()))?;
        let theirs = if options.with_ns3 && options.table != Table::Uploads {
            let theirs = theirs(&cell, options)?;
            reported.push(theirs.line(&cell.arguments));
            Some(theirs)
        } else {
            recorded::find(&cell.arguments)?
        };
        rows.push(match options.table {
            Table::Uploads => upload_row(&cell, &ours, theirs),
            _ => row(&cell, &ours, theirs),
        });
    }
    let heads = match options.table {
        Table::Uploads => {
            ["case", "Mbps", "ns-3", "Jain", "ns-3", "starved", "ACKs dropped, k", "ns-3: both"]
        }
        _ => ["case", "ours", "ns-3", "difference", "failed", "ns-3", "Jain", "ns-3"],
    };
    println!("{}", aligned(&heads.map(str::to_owned), &rows));
    if !reported.is_empty() {
        println!("\nFor benches/runs:\n\n{}", reported.concat());
    }
    Ok(())
}

fn ours(cell: &Cell, seeds: u32) -> Result<Vec<Told>, String> {
    let out = workspace::target().join("ns3/out");
    (1..=seeds).map(|seed| Cell::reported(&output(cell.ours(seed, &out))?)).collect()
}

/// Results of ns-3's runs. Its programs may abort; such runs are left out.
fn theirs(cell: &Cell, options: &Options) -> Result<Row, String> {
    let program = workspace::target().join("ns3").join(options.table.program());
    let program = program.to_string_lossy();
    let (mut mbps, mut failed, mut jain) = (Vec::new(), Vec::new(), Vec::new());
    for run in 1..=options.runs {
        let mut peer = command(&program, &[]);
        peer.args(cell.arguments.split(' ')).arg(format!("--run={run}"));
        let Ok(text) = output(peer) else { continue };
        let is_s2 = options.table == Table::Saturation;
        let names = if is_s2 { ["udp_payload_Mbps", "pcoll"] } else { ["goodput_Mbps", "failed"] };
        let number =
            |name: &str| number(&text, name).ok_or_else(|| format!("{name} is missing in {text}"));
        mbps.push(number(names[0])?);
        failed.push(number(names[1])?);
        jain.push(number("jain")?);
    }
    let decimals = |values: &[f64]| format!("{:.3}", mean(values));
    let (goodput, fifth) = (with_error(&mbps), String::new());
    Ok(Row { goodput, jain: decimals(&jain), fifth, sixth: decimals(&failed) })
}

/// The number behind a name in the output of one of ns-3's programs.
pub(super) fn number(text: &str, name: &str) -> Option<f64> {
    let (_, rest) = text.split_once(&format!(" {name}="))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Output of a program.
pub(super) fn output(mut program: std::process::Command) -> Result<String, String> {
    let line = shown(&program);
    let output = program.output().map_err(|error| format!("`{line}`: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("`{line}`: {}", String::from_utf8_lossy(&output.stderr)))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard error of the mean; not a number for a single value.
fn error(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let n = values.len() as f64;
    (squares / (n - 1.0) / n).sqrt()
}

/// A mean with its standard error: with three decimals below 10, two above.
fn with_error(values: &[f64]) -> String {
    let mean = mean(values);
    let decimals = if mean < 10.0 { 3 } else { 2 };
    if values.len() < 2 {
        return format!("{mean:.decimals$}");
    }
    format!("{mean:.decimals$} +- {:.decimals$}", error(values))
}

fn row(cell: &Cell, ours: &[Told], theirs: Option<Row>) -> [String; 8] {
    let all = |of: fn(&Told) -> f64| -> Vec<f64> { ours.iter().map(of).collect() };
    let mbps = all(|reported| reported.mbps);
    let theirs = theirs.unwrap_or_else(Row::nothing);
    let peer = recorded::mean(&theirs.goodput);
    let difference = peer.map(|peer| format!("{:+.1} %", 100.0 * (mean(&mbps) / peer - 1.0)));
    [
        cell.title(),
        with_error(&mbps),
        theirs.goodput,
        difference.unwrap_or_default(),
        format!("{:.3}", mean(&all(|reported| reported.failed))),
        theirs.sixth,
        format!("{:.2}", mean(&all(|reported| reported.jain))),
        theirs.jain,
    ]
}

/// Medians and ranges over the seeds.
fn upload_row(cell: &Cell, ours: &[Told], theirs: Option<Row>) -> [String; 8] {
    let spread = |of: fn(&Told) -> f64, decimals| Spread::of(ours.iter().map(of)).shown(decimals);
    let theirs = theirs.unwrap_or_else(Row::nothing);
    [
        cell.title(),
        spread(|reported| reported.mbps, 2),
        theirs.goodput,
        spread(|reported| reported.jain, 3),
        theirs.jain,
        spread(|reported| reported.starved, 0),
        spread(|reported| reported.acks_dropped, 0),
        format!("{}; {}", theirs.fifth, theirs.sixth),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_by_hand() {
        assert!((error(&[1.0, 2.0, 3.0]) - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(with_error(&[2.0]), "2.000");
    }

    #[test]
    fn a_number_stands_behind_its_name() {
        let text = " goodput_Mbps=56.25 jain=0.5\n retried=3 failed=0.25 rts=0\n";
        assert_eq!(number(text, "goodput_Mbps"), Some(56.25));
        assert_eq!(number(text, "failed"), Some(0.25));
        assert_eq!(number(text, "pcoll"), None);
    }

    #[test]
    fn a_row_compares_the_means() {
        let table = Table::Uplinks;
        let cell = Cell::of(table, "--std=n --mcs=7 --dir=up --n=4 --bar=0".to_owned());
        let reported =
            |mbps| Told { mbps, failed: 0.25, jain: 1.0, starved: 0.0, acks_dropped: 0.0 };
        let (goodput, jain) = ("50.00 +- 1.00".to_owned(), String::new());
        let theirs = Row { goodput, jain, fifth: String::new(), sixth: "0.2".to_owned() };
        let row = row(&cell, &[reported(50.0), reported(52.0)], Some(theirs));
        assert_eq!(row[..4], ["HT20 MCS 7, UDP up 4", "51.00 +- 1.00", "50.00 +- 1.00", "+2.0 %"]);
    }
}
