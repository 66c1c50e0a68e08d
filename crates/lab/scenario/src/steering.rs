//! Changes of a world under way, in the words of scenario files: a JSON object a change, such as
//! `{"link": {"name": "ap-server", "rate": "1 Mbps"}}`.

use crate::diagnostic::{Problem, Refusal};
use crate::expand;
use crate::keys::{Keyed, Kind, keys, written};
use crate::kinds::{position, real};
use crate::link::Change;
use crate::model::Scenario;
use crate::queue::{At, Place};
use crate::reader::{self, Read};
use crate::value::{Data, Entry, Table, Value};
use fairwave_queue::{Spec, Weight};
use fairwave_sim::world::{Role, World};
use fairwave_sim::{Command, Place as QueuePlace};
use fairwave_trace::NodeId;
use fairwave_units::{Instant, Metres};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Position of removed radios: out of range of all others, and of each other.
const FAR: f64 = 100_000.0;
/// Distance between them.
const APART: f64 = 10_000.0;
/// Number of them in a row.
const IN_A_ROW: u32 = 21;

keys! {
    /// Puts a radio elsewhere.
    struct Move |r| {
        /// The node.
        node: String = nodes().required("\"node\": \"sta1\"");
        /// Its position from now on.
        to: [Metres; 2] = position().required("\"to\": [\"10 m\", \"0 m\"]");
    }
}

keys! {
    /// A node alone.
    struct Named |r| {
        /// The node.
        node: String = nodes().required("\"node\": \"sta1\"");
    }
}

keys! {
    /// Weight of a station in the queue of its access point.
    struct Weigh |r| {
        /// The station.
        station: String = nodes().required("\"station\": \"sta1\"");
        /// Its share beside others', which weigh 1; 0 is not served.
        weight: f64 = real(0.0, 65_535.0).required("\"weight\": 2");
    }
}

fn nodes() -> Kind<String> {
    Kind::new(reader::text, |name| json!(name), |_| json!({ "type": "string" }))
}

/// Reads changes of one world, and keeps the parts that later ones leave as they are.
#[derive(Clone, Debug)]
pub struct Steering {
    world: World,
    /// The changes of each link, at its beginning and scheduled, in order of time.
    scheduled: Vec<Vec<Change>>,
    /// Names of links beside their ends.
    link_names: Vec<String>,
    /// Most recent changes of links, with their times.
    links: BTreeMap<usize, (Instant, Change)>,
    /// Most recent positions of radios.
    places: BTreeMap<NodeId, [Metres; 2]>,
    /// Positions of radios before their removal.
    removed: BTreeMap<NodeId, [Metres; 2]>,
}

impl Steering {
    /// Words of changes.
    pub const WORDS: [&'static str; 6] = ["move", "remove", "restore", "link", "queue", "weight"];

    /// For the world that `scenario` makes.
    pub fn new(scenario: &Scenario, world: &World) -> Self {
        let nodes = expand::nodes(scenario);
        let links = expand::links(scenario, &nodes);
        let of = |(link, _): &(usize, _)| {
            let link = &scenario.link[*link];
            std::iter::once(link.at_first()).chain(link.changes.iter().copied()).collect()
        };
        Self {
            world: world.clone(),
            scheduled: links.iter().map(of).collect(),
            link_names: links.iter().map(|(link, _)| scenario.link[*link].name.clone()).collect(),
            links: BTreeMap::new(),
            places: BTreeMap::new(),
            removed: BTreeMap::new(),
        }
    }

    /// Reads a change that is asked for at `now`. The text that comes with it says the same, and
    /// all that this one leaves out: [`Self::replayed`] needs nothing else.
    ///
    /// # Errors
    /// The error, in one line.
    pub fn read(&self, now: Instant, text: &str) -> Result<(Command, String), String> {
        let (word, table) = split(text)?;
        let read = self.whole(now, &word, table).and_then(|(word, whole)| {
            let table = value(Json::Object(whole.clone()));
            Ok((self.absolute(word, &table)?, json!({ word: whole }).to_string()))
        });
        read.map_err(|refusal| in_words(&word, refusal))
    }

    /// The change that a text of [`Self::read`] stands for.
    ///
    /// # Errors
    /// The text is not one of those, or this world has other nodes or links.
    pub fn replayed(&self, text: &str) -> Result<Command, String> {
        let (word, table) = split(text)?;
        self.absolute(&word, &table).map_err(|refusal| in_words(&word, refusal))
    }

    /// Keeps the change of the world at `at` that a text of [`Self::read`] has made.
    pub fn note(&mut self, at: Instant, text: &str) {
        let Ok((word, table)) = split(text) else { return };
        match self.absolute(&word, &table) {
            Ok(Command::Place { node, position: (x, y) }) => {
                if [x, y] == far(node) {
                    let before = self.position(node, at).unwrap_or([x, y]);
                    self.removed.entry(node).or_insert(before);
                } else {
                    self.removed.remove(&node);
                }
                self.places.insert(node, [x, y]);
            }
            Ok(Command::Link { link, .. }) => {
                let change = self
                    .link(&table)
                    .and_then(|(_, rest)| Change::nested(&rest, &self.current(link, at), ""));
                self.links.extend(change.ok().map(|change| (link, (at, change))));
            }
            _ => {}
        }
    }

    /// The change without its dependence on the past: its word, and its whole table.
    fn whole<'w>(
        &self,
        now: Instant,
        word: &'w str,
        value: Value,
    ) -> Read<(&'w str, Map<String, Json>)> {
        match word {
            "remove" => {
                let node = self.node(&Named::nested(&value, &(), "")?.node, "node")?;
                self.position(node, now)?;
                Ok(("move", self.moved(node, far(node))))
            }
            "restore" => {
                let node = self.node(&Named::nested(&value, &(), "")?.node, "node")?;
                let before = self.removed.get(&node).copied();
                let before = before.ok_or_else(|| Refusal::new("this node was not removed"))?;
                Ok(("move", self.moved(node, before)))
            }
            "link" => {
                let (link, rest) = self.link(&value)?;
                let change = Change::nested(&rest, &self.current(link, now), "")?;
                let mut whole = written(&change);
                whole.shift_remove("at");
                whole.insert("name".to_owned(), json!(self.ends_of(link)));
                Ok((word, whole))
            }
            _ => match value.data {
                Data::Table(table) => Ok((word, to_json(&table))),
                _ => Err(reader::wrong_type(&value, "an object")),
            },
        }
    }

    fn absolute(&self, word: &str, value: &Value) -> Read<Command> {
        match word {
            "move" => {
                let Move { node, to: [x, y] } = Move::nested(value, &(), "")?;
                Ok(Command::Place { node: self.node(&node, "node")?, position: (x, y) })
            }
            "link" => {
                let (link, rest) = self.link(value)?;
                let change = Change::nested(&rest, &self.current(link, Instant::ZERO), "")?;
                Ok(Command::Link { link, change: change.to_world() })
            }
            "queue" => {
                let (at, rest) = taken(value, "at", "\"at\": \"ap\"")?;
                let (queue, place) = self.queue(&at)?;
                let spec =
                    Spec::nested(&rest, &At::of(place), "").and_then(|spec| place.check(spec))?;
                Ok(Command::Queue { queue, spec })
            }
            "weight" => {
                let Weigh { station, weight } = Weigh::nested(value, &(), "")?;
                let station = self.node(&station, "station")?;
                let ap = self.access_point(station)?;
                let weight = Weight((weight * f64::from(Weight::ONE.0)).round() as u32);
                Ok(Command::Weight { ap, station, weight })
            }
            _ => Err(Refusal::new("no change is called so").among(word, &Self::WORDS)),
        }
    }

    // Names.

    fn node(&self, name: &str, key: &str) -> Read<NodeId> {
        let names: Vec<&str> = self.world.nodes.iter().map(|node| node.name.as_str()).collect();
        let found = names.iter().position(|known| *known == name);
        let found = found.ok_or_else(|| unknown(key, "node", name, &names))?;
        Ok(NodeId(found as u32))
    }

    fn access_point(&self, station: NodeId) -> Read<NodeId> {
        let radio = self.world.nodes[station.0 as usize].radio.as_ref();
        match radio.map(|radio| radio.role) {
            Some(Role::Station { ap }) => Ok(ap),
            _ => Err(Refusal::new("a weight is that of a station at an access point")),
        }
    }

    /// Its ends, which no other link has unless both have the same.
    fn ends_of(&self, link: usize) -> String {
        let (a, b) = self.world.links[link].ends;
        let name = |node: NodeId| &*self.world.nodes[node.0 as usize].name;
        reader::joined(name(a), name(b))
    }

    /// The link that a table names, and the rest of the table with a time.
    fn link(&self, value: &Value) -> Read<(usize, Value)> {
        let (name, rest) = taken(value, "name", "\"name\": \"ap-server\"")?;
        let ends: Vec<String> = (0..self.world.links.len()).map(|i| self.ends_of(i)).collect();
        let of = |names: &[String]| -> Vec<usize> {
            (0..names.len()).filter(|i| names[*i] == name).collect()
        };
        let by_name = of(&self.link_names);
        let found = if by_name.len() == 1 { by_name } else { of(&ends) };
        let [link] = found[..] else {
            let own = self.link_names.iter().filter(|own| !own.is_empty() && !ends.contains(own));
            let known: Vec<&String> = ends.iter().chain(own).collect();
            return Err(unknown("name", "link", &name, &known));
        };
        let Data::Table(mut table) = rest.data else { unreachable!("it is a table") };
        if table.get("at").is_some() {
            let help = "it takes place now; leave \"at\" out";
            return Err(Refusal::new("no time can be given").help(help));
        }
        if table.0.is_empty() {
            let help = "add rate, delay, loss or up";
            return Err(Refusal::new("this says nothing of the link").help(help));
        }
        table.insert("at", 0..0, Value { span: 0..0, data: Data::Text("0 s".to_owned()) });
        Ok((link, Value { data: Data::Table(table), span: 0..0 }))
    }

    /// The queue of that name in a run's tables: a node's, or `A>B` from one end of a link.
    fn queue(&self, name: &str) -> Read<(QueuePlace, Place)> {
        let World { nodes, links, .. } = &self.world;
        let name_of = |node: NodeId| &*nodes[node.0 as usize].name;
        let radios = (0..).map(NodeId).zip(nodes).filter(|(_, node)| node.radio.is_some());
        let radios =
            radios.map(|(id, node)| (node.name.clone(), QueuePlace::Radio(id), Place::Radio));
        let lines = links.iter().enumerate().flat_map(|(link, of)| {
            let (a, b) = (name_of(of.ends.0), name_of(of.ends.1));
            [format!("{a}>{b}"), format!("{b}>{a}")]
                .into_iter()
                .enumerate()
                .map(move |(way, name)| (name, QueuePlace::Line { link, way }, Place::Link))
        });
        let all: Vec<_> = radios.chain(lines).collect();
        match all.iter().find(|(known, ..)| known == name) {
            Some((_, queue, place)) => Ok((*queue, *place)),
            None => {
                let names: Vec<&str> = all.iter().map(|(name, ..)| name.as_str()).collect();
                Err(unknown("at", "queue", name, &names))
            }
        }
    }

    // What holds now.

    /// State of a link at `now`, by the scenario or by later changes.
    fn current(&self, link: usize, now: Instant) -> Change {
        let due = |change: &&Change| Instant::ZERO + change.at <= now;
        let scheduled = self.scheduled[link].iter().rev().find(due);
        let scheduled = *scheduled.unwrap_or(&self.scheduled[link][0]);
        match self.links.get(&link) {
            Some((at, change)) if *at >= Instant::ZERO + scheduled.at => *change,
            _ => scheduled,
        }
    }

    /// Position of a radio at `now`.
    fn position(&self, node: NodeId, now: Instant) -> Read<[Metres; 2]> {
        let radio = self.world.nodes[node.0 as usize].radio.as_ref();
        let radio = radio.ok_or_else(|| Refusal::new("this node has no radio"))?;
        let (x, y) = radio.path.as_ref().map_or(radio.position, |path| path.position(now));
        Ok(self.places.get(&node).copied().unwrap_or([x, y]))
    }

    fn moved(&self, node: NodeId, to: [Metres; 2]) -> Map<String, Json> {
        written(&Move { node: self.world.nodes[node.0 as usize].name.clone(), to })
    }
}

/// Position of a removed radio: far from all others.
fn far(node: NodeId) -> [Metres; 2] {
    let row = node.0 / IN_A_ROW % 2;
    let x = if row == 0 { FAR } else { -FAR };
    [Metres(x), Metres(f64::from(node.0 % IN_A_ROW) * APART - FAR)]
}

/// A text with the table taken out, and the rest.
fn taken(value: &Value, key: &str, example: &str) -> Read<(String, Value)> {
    let Data::Table(table) = &value.data else {
        return Err(reader::wrong_type(value, "an object"));
    };
    let mut table = table.clone();
    let missing = || Refusal::new(format!("{key:?} is missing")).help(format!("write {example}"));
    let name = reader::text(&table.take(key).ok_or_else(missing)?.value)?;
    Ok((name, Value { data: Data::Table(table), span: 0..0 }))
}

fn unknown(key: &str, what: &str, name: &str, known: &[impl AsRef<str>]) -> Refusal {
    Refusal::new(format!("{key}: there is no {what} called {name:?}")).among(name, known)
}

/// The word of a change, and its value.
fn split(text: &str) -> Result<(String, Value), String> {
    let example = "write one object with one key, such as {\"link\": {\"name\": \"ap-server\", \
                   \"up\": false}}";
    let json: Json = serde_json::from_str(text).map_err(|e| format!("not JSON: {e}; {example}"))?;
    let Json::Object(map) = json else { return Err(example.to_owned()) };
    let mut entries = map.into_iter();
    match (entries.next(), entries.next()) {
        (Some((word, json)), None) => Ok((word, value(json))),
        _ => Err(example.to_owned()),
    }
}

/// A value of JSON as scenario files have it.
fn value(json: Json) -> Value {
    let data = match json {
        Json::Null => Data::Alien("null"),
        Json::Bool(b) => Data::Boolean(b),
        Json::String(text) => Data::Text(text),
        Json::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(n), _) => Data::Integer(n),
            (None, Some(x)) => Data::Float(x),
            (None, None) => Data::Alien("a number out of range"),
        },
        Json::Array(list) => Data::List(list.into_iter().map(value).collect()),
        Json::Object(map) => {
            let entry = |(key, json)| Entry { key, key_span: 0..0, value: value(json) };
            Data::Table(Table(map.into_iter().map(entry).collect()))
        }
    };
    Value { span: 0..0, data }
}

fn to_json(table: &Table) -> Map<String, Json> {
    fn of(value: &Value) -> Json {
        match &value.data {
            Data::Text(text) => json!(text),
            Data::Integer(n) => json!(n),
            Data::Float(x) => json!(x),
            Data::Boolean(b) => json!(b),
            Data::List(list) => list.iter().map(of).collect(),
            Data::Table(table) => Json::Object(to_json(table)),
            Data::Alien(_) => Json::Null,
        }
    }
    table.0.iter().map(|entry| (entry.key.clone(), of(&entry.value))).collect()
}

/// A refusal in one line.
fn in_words(word: &str, mut refusal: Refusal) -> String {
    let key = match refusal.more.inside.take() {
        Some((_, key)) => format!("{word}.{key}"),
        None => word.to_owned(),
    };
    Problem { span: 0..0, key, refusal }.in_one_line()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::{BitRate, Duration};

    const HOME: &str = "duration = \"9 s\"\ncell = { standard = \"802.11a\" }\n\
        [[node]]\nname = \"ap\"\nkind = \"access-point\"\nqueue = { discipline = \"wfq\" }\n\
        [[node]]\nname = \"sta\"\nkind = \"station\"\ncount = 2\n\
        [[node]]\nname = \"server\"\nkind = \"host\"\n\
        [[link]]\nends = [\"ap\", \"server\"]\nrate = \"50 Mbps\"\ndelay = \"3 ms\"\n\
        changes = [{ at = \"5 s\", delay = \"7 ms\" }]\n";

    fn steering() -> Steering {
        let scenario = Scenario::parse("s", HOME).expect("it is valid");
        Steering::new(&scenario, &scenario.to_world(1))
    }

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    #[test]
    fn what_a_link_keeps_is_what_held_when_it_was_asked() {
        let mut steering = steering();
        let ask = |s: &Steering, secs, text: &str| {
            let (command, whole) = s.read(at(secs), text).expect(text);
            assert_eq!(format!("{command:?}"), format!("{:?}", s.replayed(&whole).unwrap()));
            let Command::Link { link: 0, change } = command else { panic!("{command:?}") };
            (change, whole)
        };
        let slow = r#"{"link": {"name": "ap-server", "rate": "1 Mbps"}}"#;
        let (early, whole) = ask(&steering, 1, slow);
        assert_eq!((early.rate, early.delay), (Some(BitRate::mbps(1)), Duration::from_millis(3)));
        let (late, _) = ask(&steering, 6, slow);
        assert_eq!(late.delay, Duration::from_millis(7));
        steering.note(at(1), &whole);
        let (down, _) = ask(&steering, 2, r#"{"link": {"name": "ap-server", "up": false}}"#);
        assert_eq!((down.rate, down.is_up), (Some(BitRate::mbps(1)), false));
    }

    #[test]
    fn links_are_found_by_their_names_and_those_are_listed() {
        let named = HOME.replace("ends = [", "name = \"isp\"\nends = [");
        let scenario = Scenario::parse("s", &named).expect("it is valid");
        let steering = Steering::new(&scenario, &scenario.to_world(1));
        let (_, whole) =
            steering.read(at(1), r#"{"link": {"name": "isp", "up": false}}"#).expect("its name");
        assert!(whole.contains("ap-server"), "{whole}");
        let unknown = r#"{"link": {"name": "dsl", "up": false}}"#;
        let error = steering.read(at(1), unknown).expect_err("no such link");
        assert!(error.contains("accepted here: ap-server, isp"), "{error}");
    }

    #[test]
    fn a_removed_node_comes_back_to_where_it_was() {
        let mut steering = steering();
        let place = |s: &Steering, text: &str| match s.read(at(1), text) {
            Ok((Command::Place { node: NodeId(2), position: (x, y) }, whole)) => {
                ((x.0, y.0), whole)
            }
            other => panic!("{other:?}"),
        };
        let (to, whole) = place(&steering, r#"{"move": {"node": "sta2", "to": ["9 m", "1 m"]}}"#);
        assert_eq!(to, (9.0, 1.0));
        steering.note(at(1), &whole);
        let (gone, whole) = place(&steering, r#"{"remove": {"node": "sta2"}}"#);
        assert!(gone.0 >= FAR);
        steering.note(at(1), &whole);
        steering.note(at(1), &whole);
        let (back, whole) = place(&steering, r#"{"restore": {"node": "sta2"}}"#);
        assert_eq!(back, (9.0, 1.0));
        steering.note(at(1), &whole);
        assert!(steering.read(at(1), r#"{"restore": {"node": "sta2"}}"#).is_err());
    }

    #[test]
    fn queues_and_weights_are_those_of_scenario_files() {
        let steering = steering();
        let ask = |text: &str| steering.read(at(1), text).expect(text).0;
        let text = r#"{"queue": {"at": "ap", "discipline": "fq-codel", "target": "3 ms"}}"#;
        match ask(text) {
            Command::Queue { queue: QueuePlace::Radio(NodeId(0)), spec: Spec::FqCodel(config) } => {
                assert_eq!(config.codel.target, Duration::from_millis(3));
            }
            other => panic!("{other:?}"),
        }
        match ask(r#"{"queue": {"at": "server>ap", "limit": "7 packets"}}"#) {
            Command::Queue { queue: QueuePlace::Line { link: 0, way: 1 }, spec } => {
                assert_eq!(spec.name(), "drop-tail");
            }
            other => panic!("{other:?}"),
        }
        match ask(r#"{"weight": {"station": "sta1", "weight": 0.5}}"#) {
            Command::Weight { ap: NodeId(0), station: NodeId(1), weight: Weight(0x8000) } => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for (text, printed) in [
            ("nonsense", "not JSON"),
            ("[]", "one object with one key"),
            ("{}", "one object with one key"),
            (r#"{"lnk": {}}"#, "did you mean \"link\"?"),
            (r#"{"move": 7}"#, "object"),
            (r#"{"move": {"node": "sta9", "to": ["1 m", "1 m"]}}"#, "accepted here: ap, sta1"),
            (r#"{"move": {"node": "sta1", "to": ["1", "1 m"]}}"#, "move.to"),
            (r#"{"move": {"node": "sta1"}}"#, "move.to: this key is missing"),
            (r#"{"remove": {"node": "server"}}"#, "no radio"),
            (r#"{"link": {"name": "ap-server"}}"#, "says nothing"),
            (r#"{"link": {"name": "ap-server", "at": "1 s", "up": true}}"#, "no time"),
            (r#"{"link": {"name": "ap-server", "rate": "5"}}"#, "link.rate"),
            (r#"{"link": {"name": "ap-server", "rte": "5 Mbps"}}"#, "did you mean \"rate\"?"),
            (r#"{"queue": {"at": "ap", "discipline": "blue"}}"#, "no queue discipline"),
            (r#"{"queue": {"at": "ap>server", "discipline": "mac80211"}}"#, "no airtime"),
            (r#"{"queue": {"discipline": "wfq"}}"#, "\"at\" is missing"),
            (r#"{"weight": {"station": "server", "weight": 1}}"#, "that of a station"),
            (r#"{"weight": {"station": "sta1", "weight": -1}}"#, "weight.weight"),
        ] {
            let error = steering().read(at(1), text).expect_err(text);
            assert!(error.contains(printed) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
