//! Links that join existing nodes, and converters with hosts behind them.

use super::report::{Check, names_group, shown};
use crate::diagnostic::Refusal;
use crate::expand::{self, Expanded};
use crate::flow::Flow;
use crate::limits;
use crate::link::Link;
use crate::node::Kind;
use crate::transport::Transport;
use std::collections::BTreeSet;

impl Check<'_> {
    pub(super) fn links(&mut self, nodes: &[Expanded]) {
        let mut seen = BTreeSet::new();
        for (i, link) in self.scenario.link.iter().enumerate() {
            if let Some(refusal) = refused_ends(nodes, link) {
                self.report(("link", i), "ends", refusal);
                continue;
            }
            for (a, b) in expand::wires(nodes, link) {
                if !seen.insert((a.min(b), a.max(b))) {
                    let (a, b) = (&nodes[a].name, &nodes[b].name);
                    let message = format!("another link joins {a:?} and {b:?}");
                    self.report(("link", i), "ends", Refusal::new(message));
                    break;
                }
            }
            if seen.len() > limits::MAX_LINKS {
                let refusal = Refusal::new(format!("more than {} links", limits::MAX_LINKS));
                return self.report(("link", i), "ends", refusal);
            }
        }
    }

    pub(super) fn taps(&mut self, nodes: &[Expanded]) {
        let unknown = |tap: &&String| expand::matching(nodes, tap).is_empty();
        if let Some(tap) = self.scenario.record.taps.iter().find(unknown) {
            let names: Vec<_> = nodes.iter().map(|n| n.name.as_str()).collect();
            self.report(("record", 0), "taps", refused_name(tap, &names, "tap"));
        }
    }

    /// Behind every converter there is something, and no second way to its access point: a
    /// bridge would send frames round such a loop for ever.
    pub(super) fn converters(&mut self, nodes: &[Expanded]) {
        let islands = expand::wired_islands(self.scenario, nodes);
        let mut refused = BTreeSet::new();
        for (i, node) in nodes.iter().enumerate() {
            if !self.is_converter(node) || refused.contains(&node.group) {
                continue;
            }
            let beside = |j: &usize| *j != i && islands[*j] == islands[i];
            let aps = expand::access_points_of(self.scenario, nodes, node);
            let other = (0..nodes.len())
                .filter(beside)
                .find(|&j| aps.contains(&j) || self.is_converter(&nodes[j]));
            let refusal = match other {
                Some(other) => looped(&node.name, &nodes[other].name),
                None if (0..nodes.len()).any(|j| beside(&j)) => continue,
                None => unwired(&node.name),
            };
            refused.insert(node.group);
            self.report(("node", node.group), "kind", refusal);
        }
    }

    /// The end of a flow that is a converter: its key, and the node's name.
    pub(super) fn bridge_among<'n>(
        &self,
        nodes: &'n [Expanded],
        from: usize,
        to: usize,
    ) -> Option<(&'static str, &'n str)> {
        let mut ends = [("from", from), ("to", to)].into_iter();
        let (key, end) = ends.find(|&(_, end)| self.is_converter(&nodes[end]))?;
        Some((key, &nodes[end].name))
    }

    /// Whether a flow from a host would have to fill a link that is never full.
    pub(super) fn is_endless(&self, nodes: &[Expanded], flow: &Flow, from: usize) -> bool {
        let is_host = matches!(self.scenario.node[nodes[from].group].kind, Kind::Host(_));
        is_host
            && flow.transport.fills_links()
            && self.scenario.link.iter().any(|link| {
                let sends = |&(a, b): &(usize, usize)| {
                    (a == from && link.is_ever_unlimited(false))
                        || (b == from && link.is_ever_unlimited(true))
                };
                expand::wires(nodes, link).iter().any(sends)
            })
    }

    /// A probe that watches another: that is one flow of its own, from the same node.
    pub(super) fn watchers(&mut self) {
        for (i, flow) in self.scenario.flow.iter().enumerate() {
            let Transport::Probe(probe) = &flow.transport else { continue };
            let Some(name) = &probe.watches else { continue };
            let is_probe = |other: &&Flow| matches!(other.transport, Transport::Probe(_));
            let others = self.scenario.flow.iter().filter(is_probe).filter(|f| f.name != flow.name);
            let found = others.clone().find(|other| other.name == *name);
            let refusal = match found {
                Some(other) if other.from != flow.from => {
                    let message =
                        format!("{name:?} is sent by {:?}, this flow by another", other.from);
                    Refusal::new(message).help("one clock must see both: write the same from")
                }
                Some(other) if other.from.ends_with('*') || other.to.ends_with('*') => {
                    Refusal::new(format!("{name:?} is a pattern of flows")).help("name one flow")
                }
                Some(_) => continue,
                None => {
                    let names: Vec<_> = others.map(|other| other.name.as_str()).collect();
                    Refusal::new(format!("there is no other probe called {name:?}"))
                        .among(name, &shown(&names))
                }
            };
            self.report(("flow", i), "watches", refusal);
        }
    }

    fn is_converter(&self, node: &Expanded) -> bool {
        matches!(self.scenario.node[node.group].kind, Kind::Converter(_))
    }
}

/// Errors in the ends of a link.
fn refused_ends(nodes: &[Expanded], link: &Link) -> Option<Refusal> {
    let names: Vec<_> = nodes.iter().map(|n| n.name.as_str()).collect();
    let [a, b] = link.ends.each_ref().map(|end| (end, expand::matching(nodes, end).len()));
    if let Some((end, _)) = [a, b].into_iter().find(|(_, count)| *count == 0) {
        return Some(refused_name(end, &names, "link"));
    }
    if link.ends.iter().all(|end| end.ends_with('*')) && a.1 != b.1 {
        let message = format!("{:?} matches {} nodes, but {:?} {}", a.0, a.1, b.0, b.1);
        let help = "two patterns are joined one by one, in order; or name one node at one end";
        return Some(Refusal::new(message).help(help));
    }
    let pairs = expand::wires(nodes, link);
    let same = || Refusal::new("the link's ends are the same node");
    (pairs.is_empty() || pairs.iter().any(|(a, b)| a == b)).then(same)
}

/// Reason for which a name or pattern that no node has is refused, of which there is a `what` for
/// each node.
pub(super) fn refused_name(name: &str, names: &[&str], what: &str) -> Refusal {
    let unknown = || match name.strip_suffix('*') {
        None => Refusal::new(format!("there is no node called {name:?}")),
        Some(prefix) => Refusal::new(format!("no node's name begins with {prefix:?}")),
    };
    names_group(name, names, what).unwrap_or_else(|| unknown().among(name, &shown(names)))
}

fn unwired(name: &str) -> Refusal {
    Refusal::new(format!("nothing is wired to the converter {name:?}")).help(format!(
        "add a host and a [[link]] with ends = [\"pc\", {name:?}], or make it a station"
    ))
}

fn looped(name: &str, other: &str) -> Refusal {
    Refusal::new(format!("the converter {name:?} is also joined to {other:?} by wire"))
        .help("behind a bridge are hosts alone: a second way would be a loop")
}
