//! From tables to a scenario: every key with its type, bounds and default.

use super::air;
use super::dccp;
use super::diagnostic::{Problem, Refusal};
use super::link::link;
use super::medium;
use super::model::{Cell, Errors, Flow, Record, Scenario, Transport};
use super::multi;
use super::node::{Names, node};
use super::phy::Generation;
use super::probe;
use super::reader::{self, Problems, Read, Reader};
use super::rtc;
use super::shake;
use super::soc;
use super::tcp::{self, Defaults};
use super::traffic;
use super::value::{Data, Table, Value};
use super::video;
use super::words::{self, TransportWord};
use fairwave_dot11::{AccessCategory, Band, Phy, Standard};
use fairwave_units::{Db, Dbm, Duration, Hertz};
use std::path::Path;

const DAY: Duration = Duration::from_secs(86_400);
pub(super) const NANOSECOND: Duration = Duration::from_nanos(1);

/// Reads the tables of a scenario without its sweep; files that it names are sought from `base`.
pub(super) fn scenario(root: &Table, base: &Path) -> Result<Scenario, Vec<Problem>> {
    let problems = Problems::default();
    let empty = Table::default();
    let top = Reader::new("", root, 0..0, &problems);
    let (cell, phys) = cells(&top);
    let names = Names::new(root, phys, base);
    let defaults = Defaults::new(&top, root, &empty);
    let scenario = Scenario {
        title: top.or("title", String::new(), reader::text),
        duration: top.or("duration", Duration::from_secs(60), span(Duration::from_millis(1), DAY)),
        warm_up: top.or("warm_up", Duration::ZERO, span(Duration::ZERO, DAY)),
        seed: top.or("seed", 1, reader::integer(0, i64::MAX as u64)),
        record: record(&top.table("record", &empty)),
        cell,
        node: tables(&top, "node", |r| node(r, &names)),
        link: tables(&top, "link", link),
        flow: tables(&top, "flow", |r| flow(r, &defaults, base)),
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
    if readers.len() > words::MOST_TABLES {
        let message = format!("more than {} tables", words::MOST_TABLES);
        top.report(0..0, key, Refusal::new(message));
        return Vec::new();
    }
    readers.iter().filter_map(read).collect()
}

pub(super) fn span(min: Duration, max: Duration) -> impl Fn(&Value) -> Read<Duration> {
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

fn flow(r: &Reader<'_>, defaults: &Defaults<'_>, base: &Path) -> Option<Flow> {
    let name = r.required("name", "name = \"up\"", reader::name);
    let from = r.required("from", "from = \"sta*\"", reader::text);
    let to = r.required("to", "to = \"server\"", reader::text);
    let start = r.or("start", Duration::ZERO, span(Duration::ZERO, DAY));
    let start_spread = r.or("start_spread", Duration::ZERO, span(Duration::ZERO, DAY));
    let stop = r.or("stop", None, reader::or_word("never", span(NANOSECOND, DAY)));
    let category = r.or("category", AccessCategory::BestEffort, reader::choice(words::CATEGORIES));
    let playout = r.optional("playout", video::playout);
    let transport = transport(r, defaults, base)?;
    if playout.is_some() && !transport.has_frames() {
        let help = "a flow with a source of datagrams can be watched, or one with `video`";
        r.refuse("playout", Refusal::new("this flow has no frames").help(help));
    }
    Some(Flow {
        name: name?,
        from: from?,
        to: to?,
        start,
        start_spread,
        stop,
        category,
        playout,
        transport,
    })
}

/// What carries a flow, by its own keys; those of other kinds are told apart from unknown ones.
fn transport(r: &Reader<'_>, defaults: &Defaults<'_>, base: &Path) -> Option<Transport> {
    let word = r.optional("transport", reader::choice(words::TRANSPORTS));
    let foreign = [
        tcp::KEYS,
        traffic::TRAFFIC_KEYS,
        probe::KEYS,
        dccp::OWN_KEYS,
        rtc::OWN_KEYS,
        shake::OWN_KEYS,
        multi::OWN_KEYS,
    ];
    let others = |own: &[&'static str]| -> Vec<&'static str> {
        let all = foreign.iter().flat_map(|keys| keys.iter().copied());
        all.filter(|key| !own.contains(key)).collect()
    };
    match word {
        None if r.has("transport") => None,
        None | Some(TransportWord::Tcp) => {
            let others = others(tcp::KEYS);
            r.meaningless(&others, "the flow is TCP");
            let tcp = defaults.flow(r);
            r.finish(&others);
            Some(Transport::Tcp(tcp))
        }
        Some(TransportWord::Udp) => {
            r.meaningless(&others(traffic::TRAFFIC_KEYS), "the flow is UDP");
            let udp = traffic::udp(r, base).map(Transport::Udp);
            r.finish(&foreign.concat());
            udp
        }
        Some(TransportWord::Probe) => {
            let others = others(probe::KEYS);
            r.meaningless(&others, "the flow is a probe");
            let probe = probe::probe(r).map(Transport::Probe);
            r.finish(&others);
            probe
        }
        Some(TransportWord::Dccp) => {
            r.meaningless(&others(&dccp::keys()), "the flow is DCCP");
            let dccp = dccp::dccp(r, base).map(Transport::Dccp);
            r.finish(&foreign.concat());
            dccp
        }
        Some(TransportWord::Rtc) => {
            let others = others(&rtc::keys());
            r.meaningless(&others, "the flow is real-time media");
            let rtc = rtc::rtc(r).map(Transport::Rtc);
            r.finish(&others);
            rtc
        }
        Some(TransportWord::Shake) => {
            let others = others(&shake::keys());
            r.meaningless(&others, "the flow is SHAKE");
            let shake = shake::shake(r).map(Transport::Shake);
            r.finish(&others);
            shake
        }
        Some(TransportWord::MultiTcp) => {
            let others = others(&multi::keys());
            r.meaningless(&others, "the flow is a set of TCP connections");
            let multi = multi::multi(r, defaults).map(Transport::MultiTcp);
            r.finish(&others);
            multi
        }
    }
}
