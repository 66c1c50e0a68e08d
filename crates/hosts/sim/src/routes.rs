//! Next hops, by the fewest hops.

use crate::world::{Flow, Role, World};
use fairwave_trace::NodeId;
use std::collections::VecDeque;

/// Next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    /// Along a link: index of the line, which is twice the link's index, plus one from its
    /// second end.
    Line(usize),
    /// Over the radio to this node.
    Radio(NodeId),
}

/// The next hops from every node to every other.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Row>,
    /// For each node: the first node of its connected component.
    components: Vec<u32>,
}

/// The next hops from one node.
#[derive(Debug)]
enum Row {
    /// It has no neighbour.
    Alone,
    /// It has one neighbour: all ways begin with the same hop. Stations are many, and a hop to each
    /// node from each of them would take 16 MB for a thousand.
    Leaf(Hop),
    /// By destination.
    Hops(Box<[Option<Hop>]>),
}

impl Table {
    /// The next hop from a node to another, if there is a way.
    pub(crate) fn hop(&self, from: NodeId, to: NodeId) -> Option<Hop> {
        let (from, to) = (from.0 as usize, to.0 as usize);
        match &self.rows[from] {
            Row::Alone => None,
            Row::Leaf(hop) => {
                let is_joined = from != to && self.components[from] == self.components[to];
                is_joined.then_some(*hop)
            }
            Row::Hops(hops) => hops[to],
        }
    }
}

/// The neighbours of every node: links first, in order, then the radio. Stations in `roamed` are
/// at the access point beside them, others at that of their role.
fn neighbours(world: &World, roamed: &[(NodeId, NodeId)]) -> Vec<Vec<(NodeId, Hop)>> {
    let mut found = vec![Vec::new(); world.nodes.len()];
    for (i, link) in world.links.iter().enumerate() {
        let (a, b) = link.ends;
        found[a.0 as usize].push((b, Hop::Line(2 * i)));
        found[b.0 as usize].push((a, Hop::Line(2 * i + 1)));
    }
    for (i, node) in world.nodes.iter().enumerate() {
        if let Some(Role::Station { ap }) = node.radio.as_ref().map(|radio| radio.role) {
            let station = NodeId(i as u32);
            let ap = roamed.iter().find(|(node, _)| *node == station).map_or(ap, |(_, ap)| *ap);
            found[i].push((ap, Hop::Radio(ap)));
            found[ap.0 as usize].push((station, Hop::Radio(station)));
        }
    }
    found
}

/// The routes of the whole world, with every station at the access point of its role.
pub(crate) fn table(world: &World) -> Table {
    table_with(world, &[])
}

/// The same with the stations in `roamed` at the access point beside them.
pub(crate) fn table_with(world: &World, roamed: &[(NodeId, NodeId)]) -> Table {
    let neighbours = neighbours(world, roamed);
    let nodes = 0..world.nodes.len();
    let row = |from: usize| match &neighbours[from][..] {
        [] => Row::Alone,
        [(to, hop), rest @ ..] if rest.iter().all(|(other, _)| other == to) => Row::Leaf(*hop),
        _ => Row::Hops(from_node(from, &neighbours).into()),
    };
    Table { rows: nodes.map(row).collect(), components: components(&neighbours) }
}

/// The first node of each node's connected component.
fn components(neighbours: &[Vec<(NodeId, Hop)>]) -> Vec<u32> {
    let mut found = vec![u32::MAX; neighbours.len()];
    let mut next = Vec::new();
    for first in 0..neighbours.len() as u32 {
        next.push(NodeId(first));
        while let Some(node) = next.pop() {
            let component = &mut found[node.0 as usize];
            if *component == u32::MAX {
                *component = first;
                next.extend(neighbours[node.0 as usize].iter().map(|(other, _)| *other));
            }
        }
    }
    found
}

/// The nodes on the way, without the first and with the last; empty where there is none.
pub(crate) fn way(world: &World, table: &Table, from: NodeId, to: NodeId) -> Vec<NodeId> {
    let next = |node: &NodeId| {
        Some(match table.hop(*node, to)? {
            Hop::Radio(next) => next,
            Hop::Line(line) => {
                let (a, b) = world.links[line / 2].ends;
                if line.is_multiple_of(2) { b } else { a }
            }
        })
    };
    core::iter::successors(next(&from), next).collect()
}

/// Whether packets between the ends of `flow` pass `node`, both ways, and do not end there.
pub fn passes(world: &World, flow: &Flow, node: NodeId) -> bool {
    passes_by(world, &table(world), flow.source, flow.sink, node)
}

/// [`passes`] by a table that is at hand.
pub(crate) fn passes_by(
    world: &World,
    table: &Table,
    source: NodeId,
    sink: NodeId,
    node: NodeId,
) -> bool {
    let between = |(from, to)| {
        let way = way(world, table, from, to);
        way.split_last().is_some_and(|(_, inner)| inner.contains(&node))
    };
    [(source, sink), (sink, source)].into_iter().all(between)
}

/// Reason for which packets of a flow cannot go by way of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Astray {
    /// The node is one of the flow's ends.
    IsEnd,
    /// No way leads from this node to that one.
    NoWay(NodeId, NodeId),
    /// The way from this node to that one passes an end of the flow, the last one.
    PassesEnd(NodeId, NodeId, NodeId),
}

/// Whether packets between the ends of `flow` can go by way of `via`, there and back. Stations that
/// roam count as at the access point of their role.
///
/// # Errors
/// [`Astray`] says why not.
pub fn detour(world: &World, flow: &Flow, via: NodeId) -> Result<(), Astray> {
    detour_by(world, &table(world), flow.source, flow.sink, via)
}

/// [`detour`] by a table that is at hand.
pub(crate) fn detour_by(
    world: &World,
    table: &Table,
    source: NodeId,
    sink: NodeId,
    via: NodeId,
) -> Result<(), Astray> {
    if via == source || via == sink {
        return Err(Astray::IsEnd);
    }
    for (from, to) in [(source, via), (via, sink), (sink, via), (via, source)] {
        let way = way(world, table, from, to);
        let Some((_, inner)) = way.split_last() else { return Err(Astray::NoWay(from, to)) };
        if let Some(end) = inner.iter().find(|node| **node == source || **node == sink) {
            return Err(Astray::PassesEnd(from, to, *end));
        }
    }
    Ok(())
}

/// The first hops from a node to all others, breadth first.
fn from_node(from: usize, neighbours: &[Vec<(NodeId, Hop)>]) -> Vec<Option<Hop>> {
    let mut first: Vec<Option<Hop>> = vec![None; neighbours.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for &(next, hop) in &neighbours[node] {
            let index = next.0 as usize;
            if index != from && first[index].is_none() {
                first[index] = if node == from { Some(hop) } else { first[node] };
                queue.push_back(index);
            }
        }
    }
    first
}

#[cfg(test)]
pub(crate) mod tests;
