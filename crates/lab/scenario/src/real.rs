//! The parts of a scenario that an emulation makes real.

use crate::emulate::{Emulate, Program};
use crate::expand::{self, Expanded};
use crate::keys::defaults;
use crate::model::Scenario;
use crate::node;
use fairwave_trace::{FlowId, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// A program at one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Place in which it runs.
    pub node: NodeId,
    /// What runs.
    pub program: Program,
}

impl Scenario {
    /// The table `[emulate]`, or its defaults.
    pub fn emulation(&self) -> Emulate {
        self.emulate.clone().unwrap_or_else(defaults)
    }

    /// The nodes that an emulation makes real, in their order.
    pub fn real_nodes(&self) -> Vec<NodeId> {
        let nodes = expand::nodes(self);
        let patterns = self.emulation().nodes;
        let has_namespace = |i: &usize| is_end(self, &nodes[*i]);
        let chosen: BTreeSet<usize> = patterns
            .iter()
            .flat_map(|pattern| expand::matching(&nodes, pattern))
            .filter(has_namespace)
            .collect();
        chosen.into_iter().map(|node| NodeId(node as u32)).collect()
    }

    /// The flows that sockets of the kernel carry in an emulation, in their order.
    pub fn kernel_flows(&self) -> Vec<FlowId> {
        let names = flow_names(self, &expand::nodes(self));
        let patterns = self.emulation().kernel_flows;
        let chosen: BTreeSet<usize> =
            patterns.iter().flat_map(|pattern| expand::named(&names, pattern)).collect();
        chosen.into_iter().map(|flow| FlowId(flow as u32)).collect()
    }

    /// The flows that have a congestion control of the kernel by its own name, with that.
    pub fn kernel_congestion_control(&self) -> Vec<(FlowId, String)> {
        let names = flow_names(self, &expand::nodes(self));
        let emulate = self.emulation();
        let of = |(pattern, algorithm): (&str, &str)| {
            let flows = expand::named(&names, pattern).into_iter();
            flows.map(|flow| (FlowId(flow as u32), algorithm.to_owned())).collect::<Vec<_>>()
        };
        // The last one for a flow takes the place of those before.
        let algorithms: BTreeMap<FlowId, String> = emulate.algorithms().flat_map(of).collect();
        algorithms.into_iter().collect()
    }

    /// The names of the flows that the table number `table` of [`Self::flow`] stands for.
    pub fn flows_of(&self, table: usize) -> Vec<String> {
        let nodes = expand::nodes(self);
        let pairs = self.flow.get(table).map(|flow| expand::pairs(&nodes, flow));
        pairs.into_iter().flatten().map(|(name, ..)| name).collect()
    }

    /// The programs of an emulation, node by node.
    pub fn programs(&self) -> Vec<Started> {
        let nodes = expand::nodes(self);
        let started = |program: &Program| {
            let at = expand::matching(&nodes, &program.node).into_iter();
            let at = at.filter(|node| is_end(self, &nodes[*node]));
            let started = |node| Started { node: NodeId(node as u32), program: program.clone() };
            at.map(started).collect::<Vec<_>>()
        };
        self.program.iter().flat_map(started).collect()
    }
}

/// Whether packets begin and end there: access points and converters only pass them on.
pub(crate) fn is_end(scenario: &Scenario, node: &Expanded) -> bool {
    matches!(scenario.node[node.group].kind, node::Kind::Station(_) | node::Kind::Host(_))
}

/// Names of all flows, in the order of the world's.
pub(crate) fn flow_names(scenario: &Scenario, nodes: &[Expanded]) -> Vec<String> {
    let names = |flow| expand::pairs(nodes, flow).into_iter().map(|(name, ..)| name);
    scenario.flow.iter().flat_map(names).collect()
}
