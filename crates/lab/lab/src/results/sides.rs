//! Sides of the radio on which nodes are: the station in front of each host.

use fairwave_sim::world::{Role, World};
use fairwave_trace::NodeId;

/// Islands of nodes that wires join, and the station in front of each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sides {
    /// For each node, the lowest index in its island.
    islands: Vec<usize>,
    /// For each island, by its lowest index, the first station in it.
    stations: Vec<Option<NodeId>>,
    radios: Vec<bool>,
}

impl Sides {
    pub(super) fn of(world: &World) -> Self {
        let mut islands: Vec<usize> = (0..world.nodes.len()).collect();
        for link in &world.links {
            let [a, b] = [link.ends.0, link.ends.1].map(|end| islands[end.0 as usize]);
            islands.iter_mut().filter(|i| **i == a.max(b)).for_each(|i| *i = a.min(b));
        }
        let mut stations = vec![None; islands.len()];
        for (i, node) in world.nodes.iter().enumerate() {
            let role = node.radio.as_ref().map(|radio| radio.role);
            if matches!(role, Some(Role::Station { .. })) {
                stations[islands[i]].get_or_insert(NodeId(i as u32));
            }
        }
        let radios = world.nodes.iter().map(|node| node.radio.is_some()).collect();
        Self { islands, stations, radios }
    }

    /// The station that `node` is, or is behind.
    pub(super) fn station(&self, node: NodeId) -> Option<NodeId> {
        self.stations[self.islands[node.0 as usize]]
    }

    /// The node whose MAC address stands for `node` in captures at `at`. Beyond a station it is the
    /// station's own, which stands for all hosts behind it.
    pub(super) fn seen_from(&self, at: NodeId, node: NodeId) -> NodeId {
        let [here, there] = [at, node].map(|node| self.islands[node.0 as usize]);
        if here == there || self.radios[node.0 as usize] {
            return node;
        }
        self.stations[there].unwrap_or(node)
    }
}
