//! From tables to a scenario: every key with its type, bounds and default.

use super::air::{self, WayPoint};
use super::diagnostic::{Problem, Refusal};
use super::medium;
use super::model::{
    AccessPoint, Cell, Errors, Flow, Kind, Link, Node, Radio, Record, Scenario, Station, Transport,
};
use super::phy::{self, Generation, Rate};
use super::queue::{Place, Queue, queue};
use super::reader::{self, Problems, Read, Reader};
use super::tcp::{self, Defaults};
use super::traffic;
use super::value::{Data, Table, Value};
use super::words::{self, KindWord};
use fairwave_dot11::{AccessCategory, Band, Phy, Standard};
use fairwave_units::{BitRate, Db, Dbm, Duration, Hertz, Metres};
use std::path::{Path, PathBuf};

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
    };
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
        carrier_sense: r.or("carrier_sense", Dbm(-82.0), level),
        preamble_detection: r.or(
            "preamble_detection",
            Some(Db(4.0)),
            reader::or_word("off", ratio(50.0)),
        ),
        capture: r.or("capture", Some(Db(10.0)), reader::or_word("off", ratio(100.0))),
        errors: r.or("errors", Errors::Snr, errors),
        fading: r.or("fading", None, reader::or_word("off", air::fading)),
        shadowing: r.or("shadowing", None, reader::or_word("off", air::shadowing)),
        rts_threshold: r.or("rts_threshold", None, reader::or_word("off", reader::size(0, 65_536))),
        short_retry_limit: r.or("short_retry_limit", 7, reader::count(1, 255)),
        long_retry_limit: r.or("long_retry_limit", 4, reader::count(1, 255)),
        beacon_interval: r.or(
            "beacon_interval",
            Some(Duration::from_micros(102_400)),
            reader::or_word("off", span(Duration::from_millis(1), Duration::from_secs(60))),
        ),
    };
    r.finish(Generation::KEYS);
    standard.map(|_| cell)
}

fn level(value: &Value) -> Read<Dbm> {
    reader::within(Dbm(-150.0), Dbm(60.0))(value)
}

fn errors(value: &Value) -> Read<Errors> {
    match &value.data {
        Data::Table(table) if table.get("p").is_some() || table.get("r").is_some() => {
            reader::nested(table, value, air::bursts)
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

/// What tables are called, for references between them.
struct Names {
    cells: Vec<(String, Option<Phy>)>,
    /// Access points with the cell each names.
    aps: Vec<(String, Option<String>)>,
    /// Where files that nodes name are sought.
    base: PathBuf,
}

impl Names {
    fn new(root: &Table, cells: Vec<(String, Option<Phy>)>, base: &Path) -> Self {
        let nodes = match root.get("node").map(|v| &v.data) {
            Some(Data::List(nodes)) => nodes.as_slice(),
            _ => &[],
        };
        let ap = |v: &Value| match &v.data {
            Data::Table(t) if t.text("kind") == Some("access-point") => {
                Some((t.text("name")?.to_owned(), t.text("cell").map(str::to_owned)))
            }
            _ => None,
        };
        Self { cells, aps: nodes.iter().filter_map(ap).collect(), base: base.to_owned() }
    }

    fn phy(&self, cell: &str) -> Option<Phy> {
        self.cells.iter().find(|(name, _)| name == cell).and_then(|(_, phy)| *phy)
    }

    /// The PHY of the cell of the access point called `ap`.
    fn phy_of_ap(&self, ap: &str) -> Option<Phy> {
        let (_, cell) = self.aps.iter().find(|(name, _)| name == ap)?;
        self.phy(cell.as_ref().or(self.cells.first().map(|(name, _)| name))?)
    }
}

/// A reference to one of `names`; without the key, to the only one there is.
fn reference(r: &Reader<'_>, key: &'static str, what: &str, names: &[&str]) -> Option<String> {
    if let (false, [only]) = (r.has(key), names) {
        r.optional(key, reader::name);
        return Some((*only).to_owned());
    }
    let example = match names.first() {
        Some(first) => format!("{key} = {first:?}, or another {what}"),
        None => format!("a table for the {what} first: there is none"),
    };
    r.required(key, &example, |value| {
        let name = reader::text(value)?;
        if names.contains(&name.as_str()) {
            return Ok(name);
        }
        Err(Refusal::new(format!("there is no {what} called {name:?}")).among(&name, names))
    })
}

const RADIO: &[&str] =
    &["power", "data_rate", "mcs", "streams", "guard_interval", "rate_control", "queue"];
const GROUP: &[&str] = &["count", "ap", "distance", "path", "snr_trace", "roaming"];

fn node(r: &Reader<'_>, names: &Names) -> Option<Node> {
    let name = r.required("name", "name = \"sta\"", reader::name);
    let example = "kind = \"station\"";
    let kind = match r.required("kind", example, reader::choice(words::KINDS))? {
        KindWord::AccessPoint => {
            r.meaningless(GROUP, "it belongs to stations");
            let kind = access_point(r, names).map(Kind::AccessPoint);
            r.finish(&[GROUP, phy::RATE].concat());
            kind
        }
        KindWord::Station => {
            r.meaningless(&["cell"], "a station is in its access point's cell");
            let kind = station(r, names).map(Kind::Station);
            r.finish(&[&["cell"], phy::RATE].concat());
            kind
        }
        KindWord::Host => {
            let others = [RADIO, GROUP, &["cell", "position"]].concat();
            r.meaningless(&others, "a host has no radio");
            r.finish(&others);
            Some(Kind::Host {})
        }
    };
    Some(Node { name: name?, kind: kind? })
}

fn access_point(r: &Reader<'_>, names: &Names) -> Option<AccessPoint> {
    let cells: Vec<_> = names.cells.iter().map(|(name, _)| name.as_str()).collect();
    let cell = reference(r, "cell", "cell", &cells);
    let phy = cell.as_ref().and_then(|cell| names.phy(cell));
    let position = r.or("position", [Metres(0.0); 2], reader::position);
    let radio = radio(r, phy);
    Some(AccessPoint { cell: cell?, position, radio })
}

fn station(r: &Reader<'_>, names: &Names) -> Option<Station> {
    let aps: Vec<_> = names.aps.iter().map(|(name, _)| name.as_str()).collect();
    let ap = reference(r, "ap", "access point", &aps);
    let phy = ap.as_ref().and_then(|ap| names.phy_of_ap(ap));
    let count = r.or("count", 1, reader::count(1, words::MOST_STATIONS));
    let position = r.optional("position", reader::position);
    if position.is_some() {
        r.meaningless(&["distance"], "the station has a position");
    }
    if position.is_some() && count > 1 {
        r.meaningless(&["position"], "several stations do not stand in one place; use distance");
    }
    let metres = reader::within(Metres(0.0), Metres(100_000.0));
    let distance = r.or("distance", Metres(4.0), metres);
    let path: Vec<WayPoint> = r.optional("path", air::path).unwrap_or_default();
    if r.has("path") {
        r.meaningless(&["distance", "position"], "the station has a path");
    }
    if r.has("path") && count > 1 {
        r.meaningless(&["path"], "several stations do not walk in one place");
    }
    let roaming = |value: &Value| air::roaming(value, ap.as_deref().unwrap_or_default(), &aps);
    let roaming = r.optional("roaming", roaming);
    let snr_trace = r.optional("snr_trace", |value| air::snr_trace(value, &names.base));
    let distance = (position.is_none() && path.is_empty()).then_some(distance);
    let radio = radio(r, phy);
    Some(Station { count, ap: ap?, distance, position, path, snr_trace, roaming, radio })
}

/// Reads a radio's keys; `phy` is unknown where its cell could not be read.
fn radio(r: &Reader<'_>, phy: Option<Phy>) -> Radio {
    Radio {
        power: r.or("power", Dbm(16.0), level),
        rate: Rate::read(r, phy),
        rate_control: r.or("rate_control", "constant".to_owned(), air::rate_control),
        queue: r.or("queue", Queue(Place::Radio.usual().into()), queue(Place::Radio)),
    }
}

fn link(r: &Reader<'_>) -> Option<Link> {
    let ends = r.required("ends", "ends = [\"ap\", \"server\"]", reader::ends);
    let joined = ends.as_ref().map(|[a, b]| format!("{a}-{b}")).unwrap_or_default();
    let hour = Duration::from_secs(3600);
    let fastest = BitRate::mbps(1_000_000);
    let link = Link {
        name: r.or("name", joined, reader::name_up_to(89)),
        ends: ends.clone().unwrap_or_default(),
        rate: r.or("rate", BitRate::mbps(100), reader::within(BitRate(1_000), fastest)),
        delay: r.or("delay", Duration::ZERO, span(Duration::ZERO, hour)),
        jitter: r.or("jitter", Duration::ZERO, span(Duration::ZERO, hour)),
        loss: r.or("loss", 0.0, reader::probability),
        queue: r.or("queue", Queue(Place::Link.usual().into()), queue(Place::Link)),
    };
    r.finish(&[]);
    ends.map(|_| link)
}

fn flow(r: &Reader<'_>, defaults: &Defaults<'_>, base: &Path) -> Option<Flow> {
    let name = r.required("name", "name = \"up\"", reader::name);
    let from = r.required("from", "from = \"sta*\"", reader::text);
    let to = r.required("to", "to = \"server\"", reader::text);
    let start = r.or("start", Duration::ZERO, span(Duration::ZERO, DAY));
    let start_spread = r.or("start_spread", Duration::ZERO, span(Duration::ZERO, DAY));
    let stop = r.or("stop", None, reader::or_word("never", span(NANOSECOND, DAY)));
    let category = r.or("category", AccessCategory::BestEffort, reader::choice(words::CATEGORIES));
    let is_tcp = r.optional("transport", reader::choice(words::TRANSPORTS));
    let transport = match is_tcp {
        None if r.has("transport") => None,
        None | Some(true) => {
            r.meaningless(traffic::TRAFFIC_KEYS, "the flow is TCP");
            let tcp = defaults.flow(r);
            r.finish(traffic::TRAFFIC_KEYS);
            Some(Transport::Tcp(tcp))
        }
        Some(false) => {
            r.meaningless(tcp::KEYS, "the flow is UDP");
            let udp = traffic::udp(r, base).map(Transport::Udp);
            r.finish(&[tcp::KEYS, traffic::TRAFFIC_KEYS].concat());
            udp
        }
    };
    let transport = transport?;
    Some(Flow { name: name?, from: from?, to: to?, start, start_spread, stop, category, transport })
}
