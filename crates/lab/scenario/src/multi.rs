//! Flows of multi-connection SHAKE: their keys, and the conversion to the simulator's inputs.

use crate::carrier::Carrier;
use crate::diagnostic::Refusal;
use crate::flow_context::FlowContext;
use crate::keys::{Flat, keys};
use crate::kinds::{choice, count, size, text};
use crate::limits::GIB;
use crate::path_list::{EXAMPLE, Via, paths};
use crate::reader::Reader;
use crate::tcp::{Defaults, Tcp};
use fairwave_shake::multi::MIN_BLOCK;
use fairwave_sim::world;
use fairwave_sim::world::Split;
use fairwave_tcp::Config;
use fairwave_trace::NodeId;
use fairwave_wire::multi::HEADER_LEN;

/// Bytes of each segment for the timestamps option (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;

keys! {
    /// One stream over several TCP connections opened by `from`, one for each path. The keys of
    /// TCP flows hold for each of its connections, but for `web`, `video` and `proxy`.
    pub struct MultiTcp |r| (defaults: Defaults = Defaults::of_set(&FlowContext::default())) {
        let split = r.peek("split", crate::reader::choice(SPLITS)).unwrap_or(Split::Weighted);
        let own = Tcp::quietly(r, defaults);
        /// The paths of its connections: a list of tables.
        paths: Vec<WeightedPath> = paths(split).required(EXAMPLE);
        /// Connection for the next block: each in turn ("equal"), each as often as its weight says
        /// ("weighted"), or the one that would deliver it first ("adaptive").
        split: Split = choice(SPLITS).or(Split::Weighted);
        /// Size of the block that a connection gets as a whole.
        block: u32 = size(MIN_BLOCK.into(), u16::MAX.into())
            .or(usual_block(&own.options))
            .phrase("a segment less its header of 12 bytes");
        /// Buffer of either end outside its connections: for early data, and with "adaptive" for
        /// data that is not known to have arrived.
        buffer: u32 = size(MIN_BLOCK.into(), GIB)
            .or(match split {
                Split::Equal | Split::Weighted => block,
                Split::Adaptive => {
                    own.options.receive_buffer.saturating_mul(paths.len() as u32).min(GIB)
                }
            })
            .phrase("a block; with \"adaptive\" the receive buffers of all connections together");
        /// Its connections.
        tcp: Tcp = Flat(defaults.clone());
    }
    check Self::check;
}

keys! {
    /// The path of a connection: the way that passes a node.
    pub struct WeightedPath [Eq] |r| (split: Split = Split::Weighted) {
        /// The node that its packets go to first, in both directions, and from there on to the
        /// other end.
        via: String = text().required("via = \"phone1\"");
        /// Relative number of its blocks, where the split is "weighted".
        weight: Option<u32> = count(1, 1_000_000)
            .or(1)
            .when(*split == Split::Weighted, format!("the split is {:?}", split.name()));
    }
}

impl Via for WeightedPath {
    fn via(&self) -> &str {
        &self.via
    }
}

const SPLITS: &[(&str, Split)] = &[
    (Split::Equal.name(), Split::Equal),
    (Split::Weighted.name(), Split::Weighted),
    (Split::Adaptive.name(), Split::Adaptive),
];

/// Makes a segment of `tcp` with its header.
fn usual_block(tcp: &Config) -> u32 {
    let taken = if tcp.timestamps { TIMESTAMPS_LEN } else { 0 } + HEADER_LEN as u32;
    u32::from(tcp.mss).saturating_sub(taken).max(u32::from(MIN_BLOCK))
}

impl MultiTcp {
    fn check(&self, r: &Reader<'_>) {
        let Self { block, buffer, tcp, .. } = self;
        let maximum = tcp.options.send_buffer.saturating_sub(HEADER_LEN as u32);
        if self.paths.is_empty() {
            // What the paths lack was told.
            return;
        }
        if block > buffer {
            let message = format!("the buffer of {buffer} B holds no block of {block} B");
            r.refuse("buffer", Refusal::new(message).help("make it larger, or the block smaller"));
        } else if *block > maximum {
            let message = format!(
                "a send buffer of {} B takes blocks of {maximum} B",
                tcp.options.send_buffer
            );
            let help = "make it smaller, or `send_buffer` larger";
            r.refuse("block", Refusal::new(message).help(help));
        }
    }
}

impl Carrier for MultiTcp {
    fn to_world(&self, id: &dyn Fn(&str) -> NodeId) -> world::Traffic {
        let path = |path: &WeightedPath| world::MultiTcpPath {
            via: id(&path.via),
            weight: path.weight.unwrap_or(1),
        };
        world::Traffic::MultiTcp(world::MultiTcpFlow {
            tcp: self.tcp.connection(),
            paths: self.paths.iter().map(path).collect(),
            split: self.split,
            block: u16::try_from(self.block).unwrap_or(u16::MAX),
            buffer: self.buffer,
        })
    }

    fn vias(&self) -> Vec<&str> {
        self.paths.iter().map(Via::via).collect()
    }
}
