//! Groups of nodes, and patterns of flows and links, written out one by one.

use super::flow::Flow;
use super::link::Link;
use super::model::Scenario;
use super::node::{AccessPoint, Kind, Node, Station};
use fairwave_units::{Metres, math};

/// One node of a group.
#[derive(Clone, Debug)]
pub(super) struct Expanded {
    pub(super) name: String,
    /// Index into [`Scenario::node`].
    pub(super) group: usize,
    /// Number within the group, from 0.
    pub(super) member: u32,
    /// Name of its group, if it is the only node of a group with numbers: patterns may name it so.
    alias: Option<String>,
}

/// Every node, in the order of the file.
pub(super) fn nodes(scenario: &Scenario) -> Vec<Expanded> {
    let mut nodes = Vec::new();
    for (group, node) in scenario.node.iter().enumerate() {
        let count = node.kind.count();
        for member in 0..count {
            let is_numbered = node.kind.is_numbered();
            let number = if is_numbered { (member + 1).to_string() } else { String::new() };
            let alias = (is_numbered && count == 1).then(|| node.name.clone());
            nodes.push(Expanded { name: format!("{}{number}", node.name), group, member, alias });
        }
    }
    nodes
}

pub(super) fn access_points(scenario: &Scenario) -> impl Iterator<Item = (&Node, &AccessPoint)> {
    scenario.node.iter().filter_map(|node| match &node.kind {
        Kind::AccessPoint(ap) => Some((node, ap)),
        _ => None,
    })
}

/// Indices of the nodes that `pattern` matches.
pub(super) fn matching(nodes: &[Expanded], pattern: &str) -> Vec<usize> {
    let is_meant =
        |node: &Expanded| matches(pattern, &node.name) || node.alias.as_deref() == Some(pattern);
    (0..nodes.len()).filter(|&i| is_meant(&nodes[i])).collect()
}

/// The indices of the names that `pattern` matches.
pub(super) fn named(names: &[String], pattern: &str) -> Vec<usize> {
    (0..names.len()).filter(|&i| matches(pattern, &names[i])).collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

/// The flows that `flow` stands for: name, source and sink. A node at the fixed end of a
/// pattern has no flow to itself.
pub(super) fn pairs(nodes: &[Expanded], flow: &Flow) -> Vec<(String, usize, usize)> {
    let (sources, sinks) = (matching(nodes, &flow.from), matching(nodes, &flow.to));
    let pattern = flow.from.ends_with('*') || flow.to.ends_with('*');
    let mut pairs = Vec::new();
    for &source in &sources {
        for &sink in &sinks {
            if pattern && source == sink {
                continue;
            }
            let many = if flow.from.ends_with('*') { source } else { sink };
            let name = match pattern {
                true => format!("{}-{}", flow.name, nodes[many].name),
                false => flow.name.clone(),
            };
            pairs.push((name, source, sink));
        }
    }
    pairs
}

/// The pairs of nodes that `link` joins: two patterns one by one, else each node at one end with
/// each at the other. A node at the fixed end of a pattern has no link to itself.
pub(super) fn wires(nodes: &[Expanded], link: &Link) -> Vec<(usize, usize)> {
    let [a, b] = &link.ends;
    let [is_many, are_many] = [a, b].map(|end| end.ends_with('*'));
    let (near, far) = (matching(nodes, a), matching(nodes, b));
    if is_many && are_many {
        return near.into_iter().zip(far).collect();
    }
    let pairs = near.iter().flat_map(|&a| far.iter().map(move |&b| (a, b)));
    pairs.filter(|(a, b)| a != b || !(is_many || are_many)).collect()
}

/// The links of the whole scenario, one by one: which of the file each is, and its ends.
pub(super) fn links(scenario: &Scenario, nodes: &[Expanded]) -> Vec<(usize, (usize, usize))> {
    let links = scenario.link.iter().enumerate();
    links.flat_map(|(i, link)| wires(nodes, link).into_iter().map(move |ends| (i, ends))).collect()
}

/// For each node, the smallest node that it can reach: equal for nodes with a route.
pub(super) fn islands(scenario: &Scenario, nodes: &[Expanded]) -> Vec<usize> {
    let wires = links(scenario, nodes).into_iter().map(|(_, ends)| ends);
    let radio = nodes.iter().enumerate().flat_map(|(i, node)| {
        access_points_of(scenario, nodes, node).into_iter().map(move |ap| (i, ap))
    });
    joined(nodes.len(), wires.chain(radio))
}

/// For each node, the smallest node that it can reach by wire.
pub(super) fn wired_islands(scenario: &Scenario, nodes: &[Expanded]) -> Vec<usize> {
    joined(nodes.len(), links(scenario, nodes).into_iter().map(|(_, ends)| ends))
}

/// The access points that a node may be associated with.
pub(super) fn access_points_of(
    scenario: &Scenario,
    nodes: &[Expanded],
    node: &Expanded,
) -> Vec<usize> {
    let Some(station) = scenario.node[node.group].kind.station() else { return Vec::new() };
    let names = station.roaming.iter().flat_map(|roaming| &roaming.aps).chain([&station.ap]);
    names.filter_map(|name| nodes.iter().position(|n| n.name == *name)).collect()
}

/// Returns for each of this number of nodes the smallest one that `edges` lead to.
fn joined(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut root: Vec<usize> = (0..nodes).collect();
    for (a, b) in edges {
        let (low, high) = (root[a].min(root[b]), root[a].max(root[b]));
        root.iter_mut().filter(|r| **r == high).for_each(|r| *r = low);
    }
    root
}

/// Position of a station: the written one, or on its circle around `centre`. Stations placed by
/// distance around one access point share the circle's angles equally.
pub(super) fn position(
    scenario: &Scenario,
    node: &Expanded,
    station: &Station,
    centre: [Metres; 2],
) -> [Metres; 2] {
    let (Some(distance), None) = (station.distance, station.position) else {
        return station.position.unwrap_or(centre);
    };
    let flow_context = |n: &Node| match n.kind.station() {
        Some(s) if s.ap == station.ap && s.distance.is_some() => s.count(),
        _ => 0,
    };
    let before: u32 = scenario.node[..node.group].iter().map(flow_context).sum();
    let all: u32 = scenario.node.iter().map(flow_context).sum();
    let turn = f64::from(before + node.member) / f64::from(all);
    let angle = turn * core::f64::consts::TAU;
    let [x, y] = centre;
    let (dx, dy) = (distance.0 * math::cos(angle), distance.0 * math::sin(angle));
    [Metres(x.0 + dx), Metres(y.0 + dy)]
}
