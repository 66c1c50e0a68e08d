//! Nodes: what there is on the air and on the wire.

use super::air::{self, Roaming, SnrTrace, WayPoint};
use super::diagnostic::Refusal;
use super::keys::Keyed;
use super::phy::{self, Rate};
use super::queue::{Place, Queue, queue};
use super::reader::{self, Reader};
use super::service::Service;
use super::value::{Data, Table, Value};
use super::words::{self, KindWord};
use fairwave_dot11::Phy;
use fairwave_units::{Dbm, Metres};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A node, or a group of stations, converters or hosts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Node {
    /// Its name, unique among nodes. Required.
    pub name: String,
    /// What it is. Required.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// An access point.
    AccessPoint(AccessPoint),
    /// A station, or a group of them.
    Station(Station),
    /// An Ethernet converter, or a group of them: a bridge client, which is a station to the
    /// access point and has wired hosts behind it. No flow begins or ends at it.
    Converter(Station),
    /// A node without a radio, or a group of them.
    Host(Host),
}

impl Kind {
    /// What is a station to its access point.
    pub(super) fn station(&self) -> Option<&Station> {
        match self {
            Self::Station(station) | Self::Converter(station) => Some(station),
            Self::AccessPoint(_) | Self::Host(_) => None,
        }
    }

    /// How many nodes it stands for.
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::AccessPoint(_) => 1,
            Self::Station(station) | Self::Converter(station) => station.count,
            Self::Host(host) => host.count,
        }
    }
}

/// A node without a radio, or a group of `count` of them, named as a group of stations is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Host {
    /// How many, 1 to 1000. A single one has the name without a number. Default: 1.
    pub count: u32,
}

/// An access point.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AccessPoint {
    /// Its cell. Default: the only one.
    pub cell: String,
    /// Where it stands. Default: ["0 m", "0 m"].
    #[schemars(with = "[String; 2]")]
    pub position: [Metres; 2],
    /// Its radio.
    #[serde(flatten)]
    pub radio: Radio,
}

/// A station, or a group of `count` stations named with the group's name and 1, 2, ...
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Station {
    /// How many, 1 to 1000. A single one has the name without a number. Default: 1.
    pub count: u32,
    /// Its access point. Default: the only one.
    pub ap: String,
    /// Distance from the access point. Stations placed by distance around one access point
    /// stand at equal angles, in the order of the file. Default: "4 m".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub distance: Option<Metres>,
    /// Where a single station goes, on straight lines between way-points, instead of `distance`.
    /// Before the first and after the last it stands still.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<WayPoint>,
    /// SNR between it and access points, instead of what follows from places, power and shadowing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr_trace: Option<SnrTrace>,
    /// How it changes its access point. Without this table it keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roaming: Option<Roaming>,
    /// How the queues of its access points serve it. Default: as every station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// Where a single station stands, instead of `distance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<[String; 2]>")]
    pub position: Option<[Metres; 2]>,
    /// Its radio.
    #[serde(flatten)]
    pub radio: Radio,
}

/// What access points and stations have in common.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Radio {
    /// Transmit power. Default: "16 dBm".
    #[schemars(with = "String")]
    pub power: Dbm,
    /// How it sends data frames.
    #[serde(flatten)]
    pub rate: Rate,
    /// How it chooses its rates or MCS, beginning with the one set. Default: "constant".
    pub rate_control: String,
    /// Its transmit queue. Default: "100 packets".
    pub queue: Queue,
}

/// What tables are called, for references between them.
pub(super) struct Names {
    cells: Vec<(String, Option<Phy>)>,
    /// Access points with the cell each names.
    aps: Vec<(String, Option<String>)>,
    /// Where files that nodes name are sought.
    base: PathBuf,
}

impl Names {
    pub(super) fn new(root: &Table, cells: Vec<(String, Option<Phy>)>, base: &Path) -> Self {
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
const GROUP: &[&str] = &["ap", "distance", "path", "snr_trace", "roaming", "service"];

pub(super) fn node(r: &Reader<'_>, names: &Names) -> Option<Node> {
    let name = r.required("name", "name = \"sta\"", reader::name);
    let example = "kind = \"station\"";
    let kind = match r.required("kind", example, reader::choice(words::KINDS))? {
        KindWord::AccessPoint => {
            let others = [&["count"], GROUP].concat();
            r.meaningless(&others, "it belongs to stations");
            let kind = access_point(r, names).map(Kind::AccessPoint);
            r.finish(&[&others, phy::RATE].concat());
            kind
        }
        KindWord::Station => station(r, names).map(Kind::Station),
        KindWord::Converter => station(r, names).map(Kind::Converter),
        KindWord::Host => {
            let others = [RADIO, GROUP, &["cell", "position"]].concat();
            r.meaningless(&others, "a host has no radio");
            let count = r.or("count", 1, reader::count(1, crate::limits::MOST_STATIONS));
            r.finish(&others);
            Some(Kind::Host(Host { count }))
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

/// A station, or what is one to its access point.
fn station(r: &Reader<'_>, names: &Names) -> Option<Station> {
    r.meaningless(&["cell"], "a station is in its access point's cell");
    let aps: Vec<_> = names.aps.iter().map(|(name, _)| name.as_str()).collect();
    let ap = reference(r, "ap", "access point", &aps);
    let phy = ap.as_ref().and_then(|ap| names.phy_of_ap(ap));
    let count = r.or("count", 1, reader::count(1, crate::limits::MOST_STATIONS));
    let position = r.optional("position", reader::position);
    if position.is_some() {
        r.meaningless(&["distance"], "the station has a position");
    }
    if position.is_some() && count > 1 {
        r.meaningless(&["position"], "several stations do not stand in one place; use distance");
    }
    let metres = reader::within(Metres(0.0), Metres(100_000.0));
    let distance = r.or("distance", Metres(4.0), metres);
    let path: Vec<WayPoint> =
        r.optional("path", |value| air::path().read(value)).unwrap_or_default();
    if r.has("path") {
        r.meaningless(&["distance", "position"], "the station has a path");
    }
    if r.has("path") && count > 1 {
        r.meaningless(&["path"], "several stations do not walk in one place");
    }
    let reach = (ap.clone().unwrap_or_default(), names.aps.iter().map(|ap| ap.0.clone()).collect());
    let roaming = r.optional("roaming", |value| Roaming::nested(value, &reach, ""));
    let snr_trace = r.optional("snr_trace", |value| {
        SnrTrace::nested(value, &names.base, "write snr_trace = { file = \"walk.csv\" }")
    });
    let service = r
        .optional("service", |value| Service::nested(value, &(), "write service = { weight = 2 }"));
    let distance = (position.is_none() && path.is_empty()).then_some(distance);
    let radio = radio(r, phy);
    r.finish(&[&["cell"], phy::RATE].concat());
    Some(Station { count, ap: ap?, distance, position, path, snr_trace, roaming, service, radio })
}

/// Reads a radio's keys; `phy` is unknown where its cell could not be read.
fn radio(r: &Reader<'_>, phy: Option<Phy>) -> Radio {
    Radio {
        power: r.or("power", Dbm(16.0), reader::level),
        rate: Rate::read(r, phy),
        rate_control: r
            .or("rate_control", "constant".to_owned(), |value| air::rate_control().read(value)),
        queue: r.or("queue", Queue(Place::Radio.usual().into()), |value| {
            queue(Place::Radio).read(value)
        }),
    }
}
