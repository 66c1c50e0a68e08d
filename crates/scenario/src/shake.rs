//! SHAKE flows: their keys, and from those to what the simulator runs.

use super::decode::span;
use super::diagnostic::Refusal;
use super::expand::{self, Expanded};
use super::model::{
    Scenario, Transport, bytes, bytes_or_unlimited, or_never, or_unlimited, segments,
};
use super::reader::{self, Read, Reader};
use super::value::{Data, Value};
use fairwave_shake::{
    GROWTHS, LossDetection, Named, Profile, RETRANSMISSION_PATHS, RetransmissionPath, SCHEDULERS,
};
use fairwave_sim::{Astray, world};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

const GIB: u32 = 1 << 30;
const DAY: Duration = Duration::from_secs(86_400);
/// Paths of a flow.
const MOST_PATHS: usize = 16;

/// Keys of SHAKE flows that are not keys of all flows, and not of other kinds.
pub(super) const OWN_KEYS: &[&str] = &[
    "paths",
    "scheduler",
    "growth",
    "retransmission",
    "duplicates",
    "spills",
    "pacing",
    "opportunistic",
];
/// Those that other kinds have too.
const SHARED_KEYS: &[&str] = &[
    "size",
    "profile",
    "sack",
    "mss",
    "send_buffer",
    "receive_buffer",
    "initial_window",
    "initial_ssthresh",
];

/// One connection opened by `from` over several paths, inside UDP (TCP SHAKE). What has no default
/// of its own below has that of the profile.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Shake {
    /// How much to send, or "unlimited". Default: "unlimited".
    #[serde(serialize_with = "or_unlimited")]
    #[schemars(with = "String")]
    pub size: Option<Bytes>,
    /// Its paths, 1 to 16, numbered from 0: a list of tables. Required.
    pub paths: Vec<SharedPath>,
    /// Whose choices the keys below default to: those of the "paper", or "modern" ones. Default:
    /// "modern".
    #[serde(serialize_with = "profile")]
    #[schemars(with = "String", extend("enum" = ["paper", "modern"]))]
    pub profile: Profile,
    /// Which path carries new data. Default: "blest"; in the paper "widest".
    #[schemars(extend("enum" = names(SCHEDULERS)))]
    pub scheduler: String,
    /// How windows grow: each path for itself, or coupled. Default: "uncoupled".
    #[schemars(extend("enum" = names(GROWTHS)))]
    pub growth: String,
    /// Which path repeats what was lost. Default: "least-rtt-over-delivery"; in the paper "widest".
    #[serde(serialize_with = "retransmission")]
    #[schemars(with = "String", extend("enum" = names(RETRANSMISSION_PATHS)))]
    pub retransmission: RetransmissionPath,
    /// Acknowledge selectively. Default: true.
    pub sack: bool,
    /// Largest segment payload, 64 B to 2216 B; headers take 80 bytes more. Default: "1400 B"; in
    /// the paper "1460 B".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub mss: u32,
    /// Send buffer, up to 1 GiB. Default: "8 MB"; in the paper "52560 B".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub send_buffer: u32,
    /// Receive buffer, up to 1 GiB. Default: "4 MB"; in the paper "52560 B".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub receive_buffer: u32,
    /// Window of a path at its start, 1 to 1000. Default: "10 segments"; in the paper one.
    #[serde(serialize_with = "segments")]
    #[schemars(with = "String")]
    pub initial_window: u32,
    /// Slow start threshold of a path at its start, or "unlimited". Default: "unlimited"; in the
    /// paper "29200 B".
    #[serde(serialize_with = "bytes_or_unlimited")]
    #[schemars(with = "String")]
    pub initial_ssthresh: Option<u32>,
    /// Acknowledgements in a row that do not advance, over all paths, which mean a loss; 1 to 255.
    /// Only where the profile counts them: in the paper, 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u32>,
    /// Repeat what was lost on the next best path while the chosen one's window is full. Default:
    /// true; in the paper false.
    pub spills: bool,
    /// Spread a path's segments over its round-trip time. Default: true; in the paper false.
    pub pacing: bool,
    /// Repeat what another path holds back on one that could send. Default: true; in the paper
    /// false.
    pub opportunistic: bool,
}

/// A path of a flow: the way that passes a node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SharedPath {
    /// The node that its packets go to first, in both directions, and from there on to the other
    /// end: a neighbour, an access point, a gateway. Required.
    pub via: String,
    /// Its bandwidth as `from` was told, or "unknown". Default: "unknown".
    #[serde(serialize_with = "or_unknown")]
    #[schemars(with = "String")]
    pub bandwidth: Option<BitRate>,
    /// When `from` joins it, counted from the flow's start, up to 24 h. Default: "0 s".
    #[schemars(with = "String")]
    pub join: Duration,
    /// When `from` leaves it, counted from the flow's start, or "never". Default: "never".
    #[serde(serialize_with = "or_never")]
    #[schemars(with = "String")]
    pub leave: Option<Duration>,
}

const PROFILES: &[(&str, Profile)] =
    &[(Profile::Paper.name(), Profile::Paper), (Profile::Modern.name(), Profile::Modern)];

fn names<T>(list: &'static [Named<T>]) -> Vec<&'static str> {
    list.iter().map(|known| known.name).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn profile<S: Serializer>(value: &Profile, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(value.name())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn retransmission<S: Serializer>(value: &RetransmissionPath, s: S) -> Result<S::Ok, S::Error> {
    let known = RETRANSMISSION_PATHS.iter().find(|known| known.part == *value);
    s.serialize_str(known.map_or("", |known| known.name))
}

fn or_unknown<S: Serializer>(value: &Option<BitRate>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&value.map_or_else(|| "unknown".to_owned(), |rate| rate.to_string()))
}

/// An entry of a list of parts, by its name.
fn named<T>(list: &'static [Named<T>]) -> impl Fn(&Value) -> Read<&'static Named<T>> {
    move |value| {
        let written = reader::text(value)?;
        list.iter().find(|known| known.name == written).ok_or_else(|| {
            Refusal::new(format!("{written:?} is unknown")).among(&written, &names(list))
        })
    }
}

/// Every key of SHAKE flows that is not one of all flows.
pub(super) fn keys() -> Vec<&'static str> {
    [OWN_KEYS, SHARED_KEYS].concat()
}

/// Reads a SHAKE flow.
pub(super) fn shake(r: &Reader<'_>) -> Option<Shake> {
    let profile = r.or("profile", Profile::Modern, reader::choice(PROFILES));
    let (config, rules) = (profile.config(), profile.rules());
    let part = |key, list, usual: &str| -> String {
        r.optional(key, named(list)).map_or(usual, |known| known.name).to_owned()
    };
    let scheduler = part("scheduler", SCHEDULERS, rules.scheduler.name());
    let growth = r.optional("growth", named(GROWTHS));
    let growth = growth.map_or(rules.growth.name(), |known| known.name).to_owned();
    let retransmission = r.optional("retransmission", named(RETRANSMISSION_PATHS));
    let buffer = || reader::size(2304, GIB);
    let unlimited = Some(config.initial_ssthresh).filter(|bytes| *bytes < u32::MAX);
    let ssthresh = reader::or_word("unlimited", reader::size(1, GIB));
    let mss = r.or("mss", config.mss, reader::size(64, 2216));
    let size = reader::or_word("unlimited", reader::within(Bytes(1), Bytes(1 << 50)));
    let flag = |key, usual| r.or(key, usual, reader::boolean);
    Some(Shake {
        size: r.or("size", None, size),
        paths: r.required("paths", EXAMPLE, paths)?,
        profile,
        scheduler,
        growth,
        retransmission: retransmission.map_or(config.retransmission, |known| known.part),
        sack: flag("sack", config.sack_blocks > 0),
        mss,
        send_buffer: r.or("send_buffer", config.send_buffer, buffer()),
        receive_buffer: r.or("receive_buffer", config.receive_buffer, buffer()),
        initial_window: r.or(
            "initial_window",
            config.initial_window / config.mss,
            reader::counted("segments", 1, 1000),
        ),
        initial_ssthresh: r.or("initial_ssthresh", unlimited, ssthresh),
        duplicates: duplicates(r, profile),
        spills: flag("spills", config.retransmission_spills),
        pacing: flag("pacing", config.pacing),
        opportunistic: flag("opportunistic", config.opportunistic),
    })
}

/// The threshold of duplicates, where they are counted.
fn duplicates(r: &Reader<'_>, profile: Profile) -> Option<u32> {
    if let LossDetection::Duplicates(usual) = profile.config().loss_detection {
        return Some(r.or("duplicates", usual, reader::count(1, 255)));
    }
    let why = format!("profile {:?} finds losses path by path", profile.name());
    r.meaningless(&["duplicates"], &why);
    r.know(&["duplicates"]);
    None
}

const EXAMPLE: &str = "paths = [{ via = \"phone1\" }, { via = \"phone2\" }]";

fn paths(value: &Value) -> Read<Vec<SharedPath>> {
    let Data::List(list) = &value.data else {
        let help = format!("write {EXAMPLE}");
        return Err(reader::wrong_type(value, "a list of tables").help(help));
    };
    if list.is_empty() || list.len() > MOST_PATHS {
        let message = format!("{} paths, not 1 to {MOST_PATHS}", list.len());
        return Err(Refusal::new(message).help(format!("write {EXAMPLE}")));
    }
    let mut paths: Vec<SharedPath> = Vec::with_capacity(list.len());
    for value in list {
        let next = path(value)?;
        if paths.iter().any(|path| path.via == next.via) {
            let message = format!("two paths pass {:?}", next.via);
            return Err(Refusal::new(message).help("each path passes a node of its own"));
        }
        paths.push(next);
    }
    Ok(paths)
}

fn path(value: &Value) -> Read<SharedPath> {
    let Data::Table(table) = &value.data else {
        return Err(reader::wrong_type(value, "a table such as { via = \"phone1\" }"));
    };
    let rates = reader::within(BitRate(1_000), BitRate::mbps(1_000_000));
    let path = reader::nested(table, value, |r| SharedPath {
        via: r.required("via", "via = \"phone1\"", reader::text).unwrap_or_default(),
        bandwidth: r.or("bandwidth", None, reader::or_word("unknown", &rates)),
        join: r.or("join", Duration::ZERO, span(Duration::ZERO, DAY)),
        leave: r.or("leave", None, reader::or_word("never", span(Duration::ZERO, DAY))),
    })?;
    match path.leave.filter(|leave| *leave <= path.join) {
        Some(leave) => {
            let message = format!("the path is left at {leave} and joined at {}", path.join);
            Err(Refusal::new(message).help("a path is joined first"))
        }
        None => Ok(path),
    }
}

impl Transport {
    /// The nodes that its paths are to pass, by name.
    fn vias(&self) -> Vec<&str> {
        match self {
            Self::Shake(shake) => shake.paths.iter().map(|path| path.via.as_str()).collect(),
            Self::MultiTcp(multi) => multi.paths.iter().map(|path| path.via.as_str()).collect(),
            _ => Vec::new(),
        }
    }
}

/// What is wrong with the ways of paths, by flow.
pub(super) fn astray(scenario: &Scenario, nodes: &[Expanded]) -> Vec<(usize, Refusal)> {
    let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
    let mut problems = Vec::new();
    for (i, flow) in scenario.flow.iter().enumerate() {
        let vias = flow.transport.vias();
        if let Some(via) = vias.into_iter().find(|via| !names.contains(via)) {
            let refusal = Refusal::new(format!("no node is called {via:?}"));
            let shown: Vec<_> = names.iter().copied().take(24).collect();
            problems.push((i, refusal.among(via, &shown)));
        }
    }
    if !problems.is_empty() || scenario.flow.iter().all(|flow| flow.transport.vias().is_empty()) {
        return problems;
    }
    let world = scenario.to_world(scenario.seed);
    let of = scenario.flow.iter().enumerate();
    let of = of.flat_map(|(i, flow)| expand::pairs(nodes, flow).into_iter().map(move |_| i));
    for (i, flow) in of.zip(&world.flows) {
        let vias = flow.traffic.vias().into_iter();
        let mut refused = vias.filter_map(|via| Some((via, world_detour(&world, flow, via)?)));
        if let Some((via, astray)) = refused.next()
            && problems.iter().all(|(at, _)| *at != i)
        {
            problems.push((i, refusal(&names, via, astray)));
        }
    }
    problems
}

fn world_detour(world: &world::World, flow: &world::Flow, via: NodeId) -> Option<Astray> {
    fairwave_sim::detour(world, flow, via).err()
}

fn refusal(names: &[&str], via: NodeId, astray: Astray) -> Refusal {
    let name = |node: NodeId| names[node.0 as usize];
    let via = name(via);
    match astray {
        Astray::IsEnd => Refusal::new(format!("{via:?} is an end of the flow"))
            .help("a path passes a node between the ends"),
        Astray::NoWay(from, to) => {
            let message = format!("no way leads from {:?} to {:?}", name(from), name(to));
            Refusal::new(message).help(format!("join {via:?} to both ends, or drop the path"))
        }
        Astray::PassesEnd(from, to, end) => {
            let (from, to, end) = (name(from), name(to), name(end));
            Refusal::new(format!("the way from {from:?} to {to:?} passes {end:?}"))
                .help(format!("{via:?} is between the ends only if it has a link of its own there"))
        }
    }
}

impl Shake {
    /// `id` tells the nodes that there are, which were found.
    pub(super) fn to_world(&self, id: impl Fn(&str) -> NodeId) -> world::Traffic {
        let usual = self.profile.config();
        let config = world::ShakeConfig {
            mss: self.mss,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            initial_window: self.initial_window * self.mss,
            initial_ssthresh: self.initial_ssthresh.unwrap_or(u32::MAX),
            loss_detection: self.duplicates.map_or(usual.loss_detection, LossDetection::Duplicates),
            sack_blocks: if self.sack { usual.sack_blocks } else { 0 },
            retransmission: self.retransmission,
            retransmission_spills: self.spills,
            pacing: self.pacing,
            opportunistic: self.opportunistic,
            ..usual
        };
        let path = |path: &SharedPath| world::ShakePath {
            via: id(&path.via),
            nominal: path.bandwidth,
            join: path.join,
            leave: path.leave,
        };
        world::Traffic::Shake(world::ShakeFlow {
            config,
            scheduler: self.scheduler.clone(),
            growth: self.growth.clone(),
            size: self.size,
            paths: self.paths.iter().map(path).collect(),
        })
    }
}
