//! Groups of stations and flow patterns, written out one by one.

use super::model::{AccessPoint, Flow, Kind, Node, Scenario, Station};
use fairwave_units::{Metres, math};

/// One node of a group.
#[derive(Clone, Debug)]
pub(super) struct Expanded {
    pub(super) name: String,
    /// Index into [`Scenario::node`].
    pub(super) group: usize,
    /// Number within the group, from 0.
    pub(super) member: u32,
}

/// Every node, in the order of the file.
pub(super) fn nodes(scenario: &Scenario) -> Vec<Expanded> {
    let mut nodes = Vec::new();
    for (group, node) in scenario.node.iter().enumerate() {
        let count = match &node.kind {
            Kind::Station(station) => station.count,
            _ => 1,
        };
        for member in 0..count {
            let number = if count == 1 { String::new() } else { (member + 1).to_string() };
            nodes.push(Expanded { name: format!("{}{number}", node.name), group, member });
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
    let matches = |name: &str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    };
    (0..nodes.len()).filter(|&i| matches(&nodes[i].name)).collect()
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

/// For each node, the least node that it can reach: equal for nodes with a route.
pub(super) fn islands(scenario: &Scenario, nodes: &[Expanded]) -> Vec<usize> {
    let index = |name: &str| nodes.iter().position(|n| n.name == name);
    let wires = scenario.link.iter().map(|l| (index(&l.ends[0]), index(&l.ends[1])));
    let radio = nodes.iter().enumerate().flat_map(|(i, n)| {
        let aps: Vec<&String> = match &scenario.node[n.group].kind {
            Kind::Station(s) => {
                s.roaming.iter().flat_map(|roaming| &roaming.aps).chain([&s.ap]).collect()
            }
            _ => Vec::new(),
        };
        let joined = aps.into_iter().map(|ap| (Some(i), index(ap)));
        joined.collect::<Vec<_>>()
    });
    let mut root: Vec<usize> = (0..nodes.len()).collect();
    for (a, b) in wires.chain(radio) {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let (low, high) = (root[a].min(root[b]), root[a].max(root[b]));
        root.iter_mut().filter(|r| **r == high).for_each(|r| *r = low);
    }
    root
}

/// Where a station stands: where it says, or on its circle around `centre`. Stations placed by
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
    let around = |n: &Node| match &n.kind {
        Kind::Station(s) if s.ap == station.ap && s.distance.is_some() => s.count,
        _ => 0,
    };
    let before: u32 = scenario.node[..node.group].iter().map(around).sum();
    let all: u32 = scenario.node.iter().map(around).sum();
    let turn = f64::from(before + node.member) / f64::from(all);
    let angle = turn * core::f64::consts::TAU;
    let [x, y] = centre;
    let (dx, dy) = (distance.0 * math::cos(angle), distance.0 * math::sin(angle));
    [Metres(x.0 + dx), Metres(y.0 + dy)]
}
