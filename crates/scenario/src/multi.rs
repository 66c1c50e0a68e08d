//! Flows of multi-connection SHAKE: their keys, and from those to what the simulator runs.

use super::diagnostic::Refusal;
use super::model::{Tcp, bytes};
use super::reader::{self, Read, Reader};
use super::tcp::{self, Defaults};
use super::value::{Data, Value};
use fairwave_shake::multi::LEAST_BLOCK;
use fairwave_sim::world;
use fairwave_sim::world::Split;
use fairwave_trace::NodeId;
use fairwave_wire::multi::HEADER_LEN;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Connections of a flow.
const MOST_PATHS: usize = 16;
const MOST_WEIGHT: u32 = 1_000_000;
const GIB: u32 = 1 << 30;
/// What the timestamps option takes of each segment (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;

/// Keys that are not keys of all flows, and not of other kinds.
pub(super) const OWN_KEYS: &[&str] = &["split", "block", "buffer"];
/// Keys of TCP flows that a set of connections does not have.
const NOT_OF_TCP: &[&str] = &["web", "video", "proxy"];

/// One stream over several TCP connections opened by `from`, one for each path. The keys of TCP
/// flows hold for each of its connections, but for `web`, `video` and `proxy`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MultiTcp {
    /// The paths of its connections, 1 to 16: a list of tables. Required.
    #[schemars(extend("minItems" = 1, "maxItems" = 16))]
    pub paths: Vec<WeightedPath>,
    /// Which connection gets the next block: each in turn ("equal"), each as often as its weight
    /// says ("weighted"), or that which would deliver it first ("adaptive"). Default: "weighted".
    #[serde(serialize_with = "split")]
    #[schemars(with = "String", extend("enum" = ["equal", "weighted", "adaptive"]))]
    pub split: Split,
    /// What goes to a connection as a whole, 64 B to 65 535 B. Default: what makes a segment with
    /// its header of 12 bytes, "1448 B".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub block: u32,
    /// What either end keeps outside its connections, up to 1 GiB: what came too early, and with
    /// "adaptive" what is not known to have arrived. Default: a block; with "adaptive" the receive
    /// buffers of all connections together.
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub buffer: u32,
    /// Its connections.
    #[serde(flatten)]
    pub tcp: Tcp,
}

/// The path of a connection: the way that passes a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WeightedPath")]
pub struct WeightedPath {
    /// The node that its packets go to first, in both directions, and from there on to the other
    /// end. Required.
    pub via: String,
    /// How often it gets a block, 1 to 1 000 000, where the split is "weighted". Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
}

const SPLITS: &[(&str, Split)] = &[
    (Split::Equal.name(), Split::Equal),
    (Split::Weighted.name(), Split::Weighted),
    (Split::Adaptive.name(), Split::Adaptive),
];

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn split<S: Serializer>(value: &Split, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(value.name())
}

/// Every key that is not one of all flows.
pub(super) fn keys() -> Vec<&'static str> {
    let of_tcp = tcp::KEYS.iter().copied().filter(|key| !NOT_OF_TCP.contains(key));
    OWN_KEYS.iter().copied().chain(["paths"]).chain(of_tcp).collect()
}

/// Reads a flow; `defaults` are those of TCP flows.
pub(super) fn multi(r: &Reader<'_>, defaults: &Defaults<'_>) -> Option<MultiTcp> {
    let split = r.or("split", Split::Weighted, reader::choice(SPLITS));
    let tcp = defaults.flow(r);
    let paths = r.required("paths", EXAMPLE, |value| paths(value, split))?;
    let taken = if tcp.timestamps { TIMESTAMPS_LEN } else { 0 } + HEADER_LEN as u32;
    let usual = tcp.mss.saturating_sub(taken).max(u32::from(LEAST_BLOCK));
    let block = r.or("block", usual, reader::size(LEAST_BLOCK.into(), u16::MAX.into()));
    let usual = match split {
        Split::Equal | Split::Weighted => block,
        Split::Adaptive => tcp.receive_buffer.saturating_mul(paths.len() as u32).min(GIB),
    };
    let buffer = r.or("buffer", usual, reader::size(LEAST_BLOCK.into(), GIB));
    let most = tcp.send_buffer.saturating_sub(HEADER_LEN as u32);
    if block > buffer {
        let message = format!("the buffer of {buffer} B holds no block of {block} B");
        r.refuse("buffer", Refusal::new(message).help("make it larger, or the block smaller"));
    } else if block > most {
        let message = format!("a send buffer of {} B takes blocks of {most} B", tcp.send_buffer);
        r.refuse("block", Refusal::new(message).help("make it smaller, or `send_buffer` larger"));
    }
    Some(MultiTcp { paths, split, block, buffer, tcp })
}

const EXAMPLE: &str = "paths = [{ via = \"phone1\" }, { via = \"phone2\" }]";

fn paths(value: &Value, split: Split) -> Read<Vec<WeightedPath>> {
    let Data::List(list) = &value.data else {
        let help = format!("write {EXAMPLE}");
        return Err(reader::wrong_type(value, "a list of tables").help(help));
    };
    if list.is_empty() || list.len() > MOST_PATHS {
        let message = format!("{} paths, not 1 to {MOST_PATHS}", list.len());
        return Err(Refusal::new(message).help(format!("write {EXAMPLE}")));
    }
    let mut paths: Vec<WeightedPath> = Vec::with_capacity(list.len());
    for value in list {
        let next = path(value, split)?;
        if paths.iter().any(|path| path.via == next.via) {
            let message = format!("two paths pass {:?}", next.via);
            return Err(Refusal::new(message).help("each path passes a node of its own"));
        }
        paths.push(next);
    }
    Ok(paths)
}

fn path(value: &Value, split: Split) -> Read<WeightedPath> {
    let Data::Table(table) = &value.data else {
        return Err(reader::wrong_type(value, "a table such as { via = \"phone1\" }"));
    };
    reader::nested(table, value, |r| {
        let via = r.required("via", "via = \"phone1\"", reader::text).unwrap_or_default();
        if split == Split::Weighted {
            let weight = Some(r.or("weight", 1, reader::count(1, MOST_WEIGHT)));
            return WeightedPath { via, weight };
        }
        r.meaningless(&["weight"], &format!("the split is {:?}", split.name()));
        r.know(&["weight"]);
        WeightedPath { via, weight: None }
    })
}

impl MultiTcp {
    /// The flow with its connections as `tcp`; `id` tells the nodes that there are, which were
    /// found.
    pub(super) fn to_world(
        &self,
        tcp: world::TcpFlow,
        id: impl Fn(&str) -> NodeId,
    ) -> world::Traffic {
        let path = |path: &WeightedPath| world::MultiTcpPath {
            via: id(&path.via),
            weight: path.weight.unwrap_or(1),
        };
        world::Traffic::MultiTcp(world::MultiTcpFlow {
            tcp,
            paths: self.paths.iter().map(path).collect(),
            split: self.split,
            block: u16::try_from(self.block).unwrap_or(u16::MAX),
            buffer: self.buffer,
        })
    }
}
