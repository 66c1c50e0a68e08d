//! From tables to a scenario: every key with its type, bounds and default.

use super::air;
use super::around::Around;
use super::diagnostic::{Problem, Refusal};
use super::flow::Flow;
use super::keys::Keyed;
use super::limits::{self, DAY, NANOSECOND};
use super::link::link;
use super::medium;
use super::model::{Cell, Errors, Record, Scenario};
use super::node::{Names, node};
use super::phy::Generation;
use super::reader::{self, Problems, Read, Reader};
use super::soc;
use super::tcp::{Defaults, Tcp};
use super::value::{Data, Table, Value};
use super::words;
use fairwave_dot11::{Band, Phy, Standard};
use fairwave_units::{Db, Dbm, Duration, Hertz};
use std::path::Path;

/// Reads the tables of a scenario without its sweep; files that it names are sought from `base`.
pub(super) fn scenario(root: &Table, base: &Path) -> Result<Scenario, Vec<Problem>> {
    let problems = Problems::default();
    let empty = Table::default();
    let top = Reader::new("", root, 0..0, &problems);
    let (cell, phys) = cells(&top);
    let names = Names::new(root, phys, base);
    let tcp = top.table("tcp", &empty);
    Tcp::keys(&tcp, None, &Defaults::of_table());
    tcp.finish(&[]);
    let tcp = match root.get("tcp").map(|value| &value.data) {
        Some(Data::Table(table)) => table.clone(),
        _ => empty.clone(),
    };
    let around = Around { base: base.to_owned(), tcp };
    let scenario = Scenario {
        title: top.or("title", String::new(), reader::text),
        duration: top.or("duration", Duration::from_secs(60), span(Duration::from_millis(1), DAY)),
        warm_up: top.or("warm_up", Duration::ZERO, span(Duration::ZERO, DAY)),
        seed: top.or("seed", 1, reader::integer(0, i64::MAX as u64)),
        record: record(&top.table("record", &empty)),
        cell,
        node: tables(&top, "node", |r| node(r, &names)),
        link: tables(&top, "link", link),
        flow: tables(&top, "flow", |r| {
            let flow = Flow::keys(r, None, &around);
            r.finish(&[]);
            Some(flow)
        }),
    };
    top.finish(&[]);
    let problems = problems.into_inner();
    if problems.is_empty() { Ok(scenario) } else { Err(problems) }
}

fn tables<T>(
    top: &Reader<'_>,
    key: &'static str,
    read: impl Fn(&Reader<'_>) -> Option<T>,
) -> Vec<T> {
    let readers = top.tables(key);
    if readers.len() > limits::MOST_TABLES {
        let message = format!("more than {} tables", limits::MOST_TABLES);
        top.report(0..0, key, Refusal::new(message));
        return Vec::new();
    }
    readers.iter().filter_map(read).collect()
}

fn span(min: Duration, max: Duration) -> impl Fn(&Value) -> Read<Duration> {
    reader::within(min, max)
}

fn record(r: &Reader<'_>) -> Record {
    let record = Record {
        sample_every: r.or("sample_every", Duration::from_millis(100), span(NANOSECOND, DAY)),
        pcap: r.or("pcap", false, reader::boolean),
        drops: r.or("drops", true, reader::boolean),
        taps: r.or("taps", Vec::new(), reader::nodes),
        snap_length: r.or("snap_length", None, reader::or_word("all", reader::size(64, 65_535))),
        bins: r.or("bins", None, reader::or_word("off", span(Duration::from_millis(1), DAY))),
    };
    if record.taps.is_empty() && record.snap_length.is_some() {
        r.meaningless(&["snap_length"], "no node is tapped");
    }
    r.finish(&[]);
    record
}

/// Reads the cells; also what each is called, and its PHY where that could be read.
fn cells(top: &Reader<'_>) -> (Vec<Cell>, Vec<(String, Option<Phy>)>) {
    let mut names = Vec::new();
    let cells = {
        let names = core::cell::RefCell::new(&mut names);
        tables(top, "cell", |r| {
            let name = r.or("name", "cell".to_owned(), reader::name);
            let cell = cell(r, name.clone());
            let phy = cell.as_ref().map(Cell::phy);
            names.borrow_mut().push((name, phy));
            cell
        })
    };
    (cells, names)
}

fn cell(r: &Reader<'_>, name: String) -> Option<Cell> {
    let written = "standard = \"802.11a\"";
    let standard = r.required("standard", written, reader::choice(words::STANDARDS));
    let generation = Generation::read(r, standard);
    let phy = generation.phy(standard.unwrap_or(Standard::A));
    let channel = Hertz(match phy.band {
        Band::Ghz5 => 5_180_000_000,
        Band::Ghz2_4 => 2_412_000_000,
    });
    let ratio = |max| reader::within(Db(0.0), Db(max));
    let cell = Cell {
        name,
        standard: standard.unwrap_or(Standard::A),
        generation,
        frequency: medium::frequency(r, channel),
        path_loss_exponent: r.or("path_loss_exponent", 3.0, reader::real(1.0, 10.0)),
        noise_figure: r.or("noise_figure", Db(7.0), ratio(50.0)),
        carrier_sense: r.or("carrier_sense", Dbm(-82.0), reader::level),
        preamble_detection: r.or(
            "preamble_detection",
            Some(Db(4.0)),
            reader::or_word("off", ratio(50.0)),
        ),
        capture: r.or("capture", Some(Db(10.0)), reader::or_word("off", ratio(100.0))),
        errors: r.or("errors", Errors::Snr, errors),
        fading: r.or("fading", None, reader::or_word("off", air::fading)),
        shadowing: r.or("shadowing", None, reader::or_word("off", air::shadowing)),
        soc: r.or("soc", None, reader::or_word("off", soc::soc)),
        link_monitor: r.or("link_monitor", None, reader::or_word("off", soc::link_monitor)),
        rts_threshold: r.or("rts_threshold", None, reader::or_word("off", reader::size(0, 65_536))),
        short_retry_limit: r.or("short_retry_limit", 7, reader::count(1, 255)),
        long_retry_limit: r.or("long_retry_limit", 4, reader::count(1, 255)),
        beacon_interval: r.or(
            "beacon_interval",
            Some(Duration::from_micros(102_400)),
            reader::or_word("off", span(Duration::from_millis(1), Duration::from_secs(60))),
        ),
    };
    let by_category = cell.soc.as_ref().is_some_and(|soc| soc.by_category.is_some());
    if by_category && !cell.generation.edca {
        let refusal = Refusal::new("access categories have no queues of their own in this cell");
        r.refuse("soc", refusal.help("write edca = true, or remove soc.by_category"));
    }
    r.finish(Generation::KEYS);
    standard.map(|_| cell)
}

fn errors(value: &Value) -> Read<Errors> {
    match &value.data {
        Data::Table(table) if table.get("p").is_some() || table.get("r").is_some() => {
            reader::nested(table, value, air::bursts)
        }
        Data::Table(table) if table.get("middle").is_some() || table.get("width").is_some() => {
            reader::nested(table, value, air::slope)
        }
        Data::Table(table) => reader::nested(table, value, |r| Errors::Rate {
            data: r.or("data", 0.0, reader::probability),
            control: r.or("control", 0.0, reader::probability),
        }),
        Data::Text(text) if text == "snr" => Ok(Errors::Snr),
        _ => Err(Refusal::new("this must be \"snr\" or a table")
            .help("write errors = \"snr\", or errors = { data = 0.1, control = 0.0 }")),
    }
}
