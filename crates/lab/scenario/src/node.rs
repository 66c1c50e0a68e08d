//! Nodes on the air and on the wire.

use crate::air::{self, Roaming, SnrTrace, WayPoint};
use crate::cell::Cell;
use crate::diagnostic::Refusal;
use crate::keys::{Entry, Flat, keys, table, table_in};
use crate::kinds::{count, level, name, named, position, within};
use crate::limits::MAX_STATIONS;
use crate::own::OwnAlgorithms;
use crate::phy::{CONSTANT, Rate};
use crate::queue::{Place, Queue, queue};
use crate::reader::{self, Read, Reader};
use crate::service::Service;
use crate::variants::{Usual, variants};
use fairwave_dot11::Phy;
use fairwave_dot11::rate_control::Chosen;
use fairwave_units::{BitRate, Dbm, Metres};
use serde_json::json;
use std::path::{Path, PathBuf};

keys! {
    /// A node, or a group of stations, converters or hosts.
    pub struct Node |r| (names: Names = Names::default()) {
        /// Its name, unique among nodes.
        name: String = name(40).required("name = \"sta\"");
        /// Kind of the node.
        kind: Kind = Flat(names.clone());
    }
}

/// Examples of the kinds that most nodes have.
const KINDS: &str = "kind = \"station\", or kind = \"access-point\"";

variants! {
    /// Kind of a node.
    pub enum Kind by "kind", Usual::Example(KINDS), |r|
    (names: Names = Names::default()) {
        /// An access point.
        AccessPoint(AccessPoint) = "access-point", "it belongs to stations", names.clone();
        /// A station, or a group of `count` stations named with the group's name and 1, 2, ...
        Station(Station) = "station", "a station is in its access point's cell", names.clone();
        /// An Ethernet converter, or a group of them: a bridge client, which is a station to the
        /// access point and has wired hosts behind it. No flow begins or ends at it.
        Converter(Station) = "converter", "a station is in its access point's cell", names.clone();
        /// A node without a radio, or a group of `count` of them, named as a group of stations is.
        Host(Host) = "host", "a host has no radio", ();
    }
}

impl Kind {
    /// A station of an access point.
    pub(super) fn station(&self) -> Option<&Station> {
        match self {
            Self::Station(station) | Self::Converter(station) => Some(station),
            Self::AccessPoint(_) | Self::Host(_) => None,
        }
    }

    /// The radio of each of its nodes.
    pub(super) fn radio(&self) -> Option<&Radio> {
        match self {
            Self::AccessPoint(ap) => Some(&ap.radio),
            Self::Station(station) | Self::Converter(station) => Some(&station.radio),
            Self::Host(_) => None,
        }
    }

    /// Number of nodes that it stands for.
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::AccessPoint(_) => 1,
            Self::Station(station) | Self::Converter(station) => station.count(),
            Self::Host(host) => host.count.unwrap_or(1),
        }
    }

    /// Whether its nodes have numbers behind their name. A group keeps them where a sweep or a
    /// setting makes it a group of one, so that the names of its first nodes stay.
    pub(super) fn is_numbered(&self) -> bool {
        match self {
            Self::AccessPoint(_) => false,
            Self::Station(station) | Self::Converter(station) => station.count.is_some(),
            Self::Host(host) => host.count.is_some(),
        }
    }
}

keys! {
    /// A node without a radio, or a group of them.
    pub struct Host [Eq] |r| {
        /// Number of nodes. One without this key has the name without a number.
        count: Option<u32> = count(1, MAX_STATIONS).optional();
    }
}

keys! {
    /// An access point.
    pub struct AccessPoint |r| (names: Names = Names::default()) {
        /// Its cell.
        cell: String = reference(r, "cell", "cell", names.cells());
        /// Position.
        position: [Metres; 2] = position().or([Metres(0.0); 2]);
        /// Its radio.
        radio: Radio = Flat(names.air(&cell));
    }
}

keys! {
    /// A station of an access point, or a group of stations.
    pub struct Station |r| (names: Names = Names::default()) {
        let has_path = r.has("path");
        let has_position = r.peek("position", reader::position).is_some();
        /// Number of stations. One without this key has the name without a number.
        count: Option<u32> = count(1, MAX_STATIONS).optional();
        /// Its access point.
        ap: String = reference(r, "ap", "access point", names.aps());
        /// Distance from the access point. Stations placed by distance around one access point
        /// stand at equal angles, in the order of the file.
        distance: Option<Metres> = within(Metres(0.0), Metres(100_000.0))
            .or(Metres(4.0))
            .when(!has_path && !has_position, if has_path { HAS_PATH } else { HAS_POSITION });
        /// Movement of a single station on straight lines between way-points, instead of
        /// `distance`. Before the first and after the last it stands still.
        path: Vec<WayPoint> = air::path()
            .or(Vec::new())
            .terse()
            .only_if(is_single(count), "several stations do not walk in one place", Vec::new());
        /// SNR between it and access points, instead of the SNR computed from places, power and
        /// shadowing.
        snr_trace: Option<SnrTrace> =
            table_in(names.base.clone(), "write snr_trace = { file = \"walk.csv\" }").optional();
        /// Handovers between access points. Without this table it keeps its access point.
        roaming: Option<Roaming> = table_in((ap.clone(), names.aps()), "").optional();
        /// Service by the queues of its access points; without it, as for every station.
        service: Option<Service> = table("write service = { weight = 2 }").optional();
        /// Position of a single station, instead of `distance`.
        position: Option<[Metres; 2]> = position()
            .optional()
            .only_if(
                !has_path && is_single(count),
                if has_path { HAS_PATH } else { IN_ONE_PLACE },
                None,
            );
        /// Its radio.
        radio: Radio = Flat(names.air_of_ap(&ap));
    }
}

/// Whether a group of this written size is one node.
fn is_single(count: Option<u32>) -> bool {
    count.unwrap_or(1) == 1
}

impl Station {
    /// Number of stations that it stands for.
    pub(super) fn count(&self) -> u32 {
        self.count.unwrap_or(1)
    }
}

const HAS_PATH: &str = "the station has a path";
const HAS_POSITION: &str = "the station has a position";
const IN_ONE_PLACE: &str = "several stations do not stand in one place; use distance";

keys! {
    /// Properties common to access points and stations.
    pub struct Radio |r| (air: Air = Air::unknown(OwnAlgorithms::default())) {
        /// Transmit power.
        power: Dbm = level().or(Dbm(16.0));
        /// Transmission of data frames.
        rate: Rate = Flat(air.phy);
        /// Rate control that chooses its rates or MCS, beginning with the one set, among the modes
        /// that both ends can use: from 802.11n on those with an MCS, so that it cannot begin with
        /// a `data_rate`. "constant" without a rate or an MCS takes the highest of these.
        rate_control: Chosen = air
            .own
            .rate_control()
            .checked(beginning_with(rate.data_rate, air.phy))
            .or(air::rate_control(rate.usual_control(air.acknowledges)))
            .phrase(
                "\"minstrel\" where no rate or MCS is set and the cell has acknowledgements, else \
                 \"constant\"",
            );
        /// Its transmit queue: a bound, or `{ discipline = "fq-codel" }` with its parameters.
        queue: Queue =
            queue(Place::Radio, air.own.clone()).or(Queue(Place::Radio.usual().into()));
    }
}

/// Refuses a rate control that adapts where it can never use `data_rate`.
fn beginning_with(
    data_rate: Option<BitRate>,
    phy: Option<Phy>,
) -> impl Fn(Chosen) -> Read<Chosen> + 'static {
    let useless = data_rate.filter(|_| phy.is_some_and(Phy::is_qos));
    move |chosen| match useless {
        Some(rate) if chosen.name() != CONSTANT => {
            let name = chosen.name();
            let message = format!("{name} chooses an MCS and cannot begin with a rate of {rate}");
            Err(Refusal::new(message).help("set mcs instead of data_rate, or neither"))
        }
        _ => Ok(chosen),
    }
}

/// Inputs of a radio's defaults from its cell.
#[derive(Clone, Debug)]
pub(crate) struct Air {
    /// `None` if the cell could not be read.
    phy: Option<Phy>,
    /// Whether receivers acknowledge frames, which is all that rate control learns from.
    acknowledges: bool,
    /// Algorithms from outside.
    own: OwnAlgorithms,
}

impl Air {
    const fn unknown(own: OwnAlgorithms) -> Self {
        Self { phy: None, acknowledges: true, own }
    }
}

/// Names of tables, for references between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    cells: Vec<(String, Air)>,
    /// Access points with the cell each names.
    aps: Vec<(String, Option<String>)>,
    /// Directory in which files named by nodes are sought.
    base: PathBuf,
    /// Algorithms from outside.
    own: OwnAlgorithms,
}

impl Names {
    /// Nodes of the scenario that `r` reads, whose cells have been read.
    pub(super) fn new(r: &Reader<'_>, cells: &[Cell], base: &Path, own: &OwnAlgorithms) -> Self {
        let cell = |(r, cell): (Reader<'_>, &Cell)| {
            let phy = Cell::standard(&r).map(|_| cell.phy());
            let own = own.clone();
            (cell.name.clone(), Air { phy, acknowledges: cell.acknowledges(), own })
        };
        let ap = |r: Reader<'_>| {
            let text = |key| r.peek(key, reader::text);
            (text("kind")? == "access-point").then_some((text("name")?, text("cell")))
        };
        r.quietly(|r| Self {
            cells: r.tables("cell").into_iter().zip(cells).map(cell).collect(),
            aps: r.tables("node").into_iter().filter_map(ap).collect(),
            base: base.to_owned(),
            own: own.clone(),
        })
    }

    fn cells(&self) -> Vec<String> {
        self.cells.iter().map(|(name, _)| name.clone()).collect()
    }

    fn aps(&self) -> Vec<String> {
        self.aps.iter().map(|(name, _)| name.clone()).collect()
    }

    fn air(&self, cell: &str) -> Air {
        let known = self.cells.iter().find(|(name, _)| name == cell);
        known.map_or(Air::unknown(self.own.clone()), |(_, air)| air.clone())
    }

    /// Properties set by the cell of the access point `ap`.
    fn air_of_ap(&self, ap: &str) -> Air {
        let named = self.aps.iter().find(|(name, _)| name == ap);
        let first = || self.cells.first().map(|(name, _)| name);
        let cell = named.and_then(|(_, cell)| cell.as_ref().or_else(first));
        cell.map_or(Air::unknown(self.own.clone()), |cell| self.air(cell))
    }
}

/// A reference under `key` to one of `names`; without the key, to the only one there is.
fn reference(r: &Reader<'_>, key: &str, what: &'static str, names: Vec<String>) -> Entry<String> {
    let first = names.first().cloned();
    let example = match &first {
        Some(first) => format!("{key} = {first:?}, or another {what}"),
        None => format!("a table for the {what} first: there is none"),
    };
    let is_needed = r.is_reading() && names.len() != 1;
    let kind = named(names, move |name| format!("there is no {what} called {name:?}"))
        .described(|_| json!({ "type": "string" }));
    let entry = kind.or(first.unwrap_or_default()).phrase("the only one");
    if is_needed { entry.needs(example) } else { entry }
}
