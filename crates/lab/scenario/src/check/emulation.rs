//! Checks for features that the emulator does not support.

use super::report::Check;
use super::wiring::refused_name;
use crate::diagnostic::Refusal;
use crate::emulate::Emulate;
use crate::expand::{self, Expanded};
use crate::probe::Probe;
use crate::real::{flow_names, is_end};
use crate::transport::Transport;
use std::collections::{BTreeMap, BTreeSet};

impl Check<'_> {
    /// The tables `[emulate]` and `[[program]]`.
    pub(super) fn emulation(&mut self, nodes: &[Expanded]) {
        let scenario = self.scenario;
        if let Some(emulate) = &scenario.emulate {
            for pattern in &emulate.nodes {
                if let Some(refusal) = self.unreal(nodes, pattern, "namespace") {
                    self.report(("emulate", 0), "nodes", refusal);
                }
            }
        }
        for (i, program) in scenario.program.iter().enumerate() {
            let refusal = self.unreal(nodes, &program.node, "program").or_else(|| {
                let real = scenario.real_nodes();
                let is_real = |i: &usize| real.iter().any(|id| id.0 as usize == *i);
                let unreal = expand::matching(nodes, &program.node).into_iter();
                let unreal =
                    unreal.filter(|i| is_end(scenario, &nodes[*i])).find(|i| !is_real(i))?;
                let message = format!("{:?} is simulated", nodes[unreal].name);
                Some(Refusal::new(message).help("add it to `nodes` of [emulate]"))
            });
            if let Some(refusal) = refusal {
                self.report(("program", i), "node", refusal);
            }
            if program.start >= scenario.duration {
                let refusal = Refusal::new("the program may start only after the run has ended");
                self.report(("program", i), "start", refusal);
            }
        }
        self.kernel_flows(nodes);
        self.kernel_congestion_control(nodes);
    }

    /// Only flows on sockets have a congestion control of the kernel.
    fn kernel_congestion_control(&mut self, nodes: &[Expanded]) {
        let scenario = self.scenario;
        let (names, on_sockets) = (flow_names(scenario, nodes), scenario.kernel_flows());
        for (pattern, _) in scenario.emulate.iter().flat_map(Emulate::algorithms) {
            let matching = expand::named(&names, pattern);
            let is_simulated = |i: &&usize| on_sockets.iter().all(|id| id.0 as usize != **i);
            let refusal = if matching.is_empty() {
                no_flow(pattern, &names)
            } else if let Some(flow) = matching.iter().find(is_simulated) {
                let message = format!("{:?} is simulated", names[*flow]);
                Refusal::new(message).help("add it to `kernel_flows`")
            } else {
                continue;
            };
            return self.report(("emulate", 0), "kernel_congestion_control", refusal);
        }
    }

    /// The reason for which no node of `pattern` can be a namespace, if there is one.
    fn unreal(&self, nodes: &[Expanded], pattern: &str, what: &str) -> Option<Refusal> {
        let matching = expand::matching(nodes, pattern);
        if matching.is_empty() {
            let names: Vec<_> = nodes.iter().map(|n| n.name.as_str()).collect();
            return Some(refused_name(pattern, &names, what));
        }
        if matching.iter().any(|i| is_end(self.scenario, &nodes[*i])) {
            return None;
        }
        let message = format!("{pattern:?} only passes packets on; it runs no programs");
        Some(Refusal::new(message).help("name stations or hosts"))
    }

    /// Sockets carry flows between real nodes.
    fn kernel_flows(&mut self, nodes: &[Expanded]) {
        let scenario = self.scenario;
        let patterns = scenario.emulate.iter().flat_map(|emulate| &emulate.kernel_flows);
        let names = flow_names(scenario, nodes);
        let unknown = |pattern: &&String| expand::named(&names, pattern).is_empty();
        if let Some(pattern) = patterns.clone().find(unknown) {
            return self.report(("emulate", 0), "kernel_flows", no_flow(pattern, &names));
        }
        let ends = scenario.flow.iter().flat_map(|flow| {
            expand::pairs(nodes, flow).into_iter().map(move |(_, a, b)| (flow, [a, b]))
        });
        let ends: Vec<_> = ends.collect();
        let real = scenario.real_nodes();
        // The kernel knows addresses of a node for all of its connections, not for each.
        let mut paths = BTreeMap::<usize, Option<BTreeSet<&str>>>::new();
        for flow in scenario.kernel_flows() {
            let (table, ends) = ends[flow.0 as usize];
            let name = &names[flow.0 as usize];
            let simulated =
                ends.into_iter().find(|end| real.iter().all(|id| id.0 as usize != *end));
            let refusal = match (&table.transport, simulated) {
                (
                    Transport::Tcp(_)
                    | Transport::Udp(_)
                    | Transport::Probe(_)
                    | Transport::Dccp(_)
                    | Transport::Shake(_)
                    | Transport::MultiTcp(_),
                    Some(end),
                ) => {
                    let message =
                        format!("{name:?} ends at {:?}, which is simulated", nodes[end].name);
                    Refusal::new(message).help("add it to `nodes`")
                }
                (
                    Transport::Tcp(_)
                    | Transport::Udp(_)
                    | Transport::Dccp(_)
                    | Transport::MultiTcp(_),
                    None,
                ) => continue,
                (Transport::Shake(_), None) if !scenario.emulation().mptcp => continue,
                (Transport::Shake(_), None) => {
                    let vias = table.transport.vias();
                    let known = paths.entry(ends[0]).or_default();
                    if joins_others(known, vias) {
                        continue;
                    }
                    let from = &nodes[ends[0]].name;
                    let message =
                        format!("another flow from {from:?} has other paths than {name:?}");
                    Refusal::new(message)
                        .help("MPTCP takes all paths of a node for each of its connections")
                }
                (Transport::Probe(probe), None) => match self.apart(name, probe, &names) {
                    Some(refusal) => refusal,
                    None => continue,
                },
                _ => Refusal::new(format!("{name:?} is neither TCP, UDP, DCCP nor SHAKE"))
                    .help("the simulated flow runs beside real packets; leave it out here"),
            };
            return self.report(("emulate", 0), "kernel_flows", refusal);
        }
    }

    /// Reason for which a probe on sockets cannot watch another, if so: that one is simulated, and
    /// its arrivals are not known here.
    fn apart(&self, name: &str, probe: &Probe, names: &[String]) -> Option<Refusal> {
        let watched = probe.watches.as_ref()?;
        let on_sockets = self.scenario.kernel_flows();
        if on_sockets.iter().any(|id| names[id.0 as usize] == *watched) {
            return None;
        }
        let message = format!("{name:?} watches {watched:?}, which is simulated");
        Some(Refusal::new(message).help("add that to `kernel_flows`, too"))
    }
}

/// Whether a flow by way of `vias` has the paths that are `known` of the flows from its node, if
/// there are any. A single path is TCP's, which opens no subflow.
fn joins_others<'a>(known: &mut Option<BTreeSet<&'a str>>, vias: Vec<&'a str>) -> bool {
    let vias: BTreeSet<&str> = vias.into_iter().collect();
    vias.len() == 1 || *known.get_or_insert_with(|| vias.clone()) == vias
}

/// Refuses a pattern that matches none of the flows `names`.
fn no_flow(pattern: &str, names: &[String]) -> Refusal {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("{pattern:?} matches no flow");
    Refusal::new(message).among(pattern, &super::shown(&names))
}
