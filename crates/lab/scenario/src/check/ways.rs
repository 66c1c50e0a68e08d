//! Ways of flows: whether they pass their proxies, and the nodes of their paths.

use crate::diagnostic::Refusal;
use crate::expand::{self, Expanded};
use crate::model::Scenario;
use fairwave_sim::{Astray, world};
use fairwave_trace::NodeId;

/// Errors in the places of proxies, by flow.
pub(super) fn misplaced(scenario: &Scenario, nodes: &[Expanded]) -> Vec<(usize, Refusal)> {
    let mut problems = Vec::new();
    for (i, flow) in scenario.flow.iter().enumerate() {
        let Some(proxy) = flow.transport.proxy() else { continue };
        let (there, flows) = (expand::matching(nodes, &proxy.at), expand::pairs(nodes, flow).len());
        let names: Vec<_> = nodes.iter().map(|n| n.name.as_str()).take(24).collect();
        if there.is_empty() {
            let refusal = Refusal::new(format!("no node is called {:?}", proxy.at));
            problems.push((i, refusal.among(&proxy.at, &names)));
        } else if proxy.at.ends_with('*') && there.len() != flows {
            let message = format!("{:?} are {} nodes, for {flows} flows", proxy.at, there.len());
            problems.push((i, Refusal::new(message)));
        }
    }
    if problems.is_empty() { off_the_way(scenario) } else { problems }
}

/// Flows that do not pass their proxy.
fn off_the_way(scenario: &Scenario) -> Vec<(usize, Refusal)> {
    if !scenario.flow.iter().any(|flow| flow.transport.proxy().is_some()) {
        return Vec::new();
    }
    let world = scenario.to_world(scenario.seed);
    let nodes = expand::nodes(scenario);
    let of = scenario.flow.iter().enumerate();
    let of = of.flat_map(|(i, flow)| expand::pairs(&nodes, flow).into_iter().map(move |_| i));
    let mut problems: Vec<(usize, Refusal)> = Vec::new();
    for (i, flow) in of.zip(&world.flows) {
        let Some(proxy) = &flow.proxy else { continue };
        if fairwave_sim::passes(&world, flow, proxy.at) || problems.iter().any(|(at, _)| *at == i) {
            continue;
        }
        let name = |node: NodeId| &world.nodes[node.0 as usize].name;
        let (from, to, at) = (name(flow.source), name(flow.sink), name(proxy.at));
        let message = format!("{at:?} is not between {from:?} and {to:?}");
        let help = "a proxy is at a node that the flow's packets pass, both ways";
        problems.push((i, Refusal::new(message).help(help)));
    }
    problems
}

/// Errors in the ways of paths, by flow.
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
