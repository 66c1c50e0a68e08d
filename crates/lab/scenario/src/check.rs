//! Checks that need the whole scenario: names, references, routes, bounds.

mod capabilities;
mod emulation;
mod queues;
mod report;
mod ways;
mod wiring;

use super::diagnostic::{Problem, Refusal};
use super::expand::{self, Expanded};
use super::flow::Flow;
use super::limits;
use super::medium;
use super::model::Scenario;
use super::node::Kind;
use super::value::{Data, Table};
use report::{Check, names_group, shown};
use std::collections::BTreeSet;

/// Everything that is wrong with a scenario whose keys are right one by one.
pub(super) fn check(scenario: &Scenario, root: &Table) -> Vec<Problem> {
    let mut check = Check { scenario, root, problems: Vec::new() };
    check.times();
    check.names();
    check.radios();
    check.tcp();
    let nodes = expand::nodes(scenario);
    if check.problems.is_empty() && check.node_count(&nodes) {
        check.links(&nodes);
    }
    if check.problems.is_empty() {
        check.taps(&nodes);
        check.converters(&nodes);
        check.queues(&nodes);
    }
    if check.problems.is_empty() {
        check.flows(&nodes);
        check.proxies(&nodes);
        check.paths(&nodes);
        check.watchers();
        check.emulation(&nodes);
    }
    check.problems
}

impl Check<'_> {
    fn times(&mut self) {
        let Scenario { duration, warm_up, record, .. } = self.scenario;
        if warm_up >= duration {
            let message = format!("the warm-up of {warm_up} is not shorter than the run");
            let help = format!("the run lasts {duration}");
            self.report(("", 0), "warm_up", Refusal::new(message).help(help));
        }
        if *duration / record.sample_every > limits::MAX_SAMPLES {
            let message = format!("more than {} samples in a run", limits::MAX_SAMPLES);
            let refusal = Refusal::new(message).help("sample less often");
            self.report(("record", 0), "sample_every", refusal);
        }
        if record.bins.is_some_and(|bin| *duration / bin > limits::MAX_SAMPLES) {
            let message = format!("more than {} bins in a run", limits::MAX_SAMPLES);
            self.report(("record", 0), "bins", Refusal::new(message));
        }
    }

    fn proxies(&mut self, nodes: &[Expanded]) {
        if self.problems.is_empty() {
            for (flow, refusal) in ways::misplaced(self.scenario, nodes) {
                self.report(("flow", flow), "proxy", refusal);
            }
        }
    }

    fn paths(&mut self, nodes: &[Expanded]) {
        if self.problems.is_empty() {
            for (flow, refusal) in ways::astray(self.scenario, nodes) {
                self.report(("flow", flow), "paths", refusal);
            }
        }
    }

    fn names(&mut self) {
        let s = self.scenario;
        let cells: Vec<_> = s.cell.iter().map(|c| c.name.as_str()).collect();
        let nodes: Vec<_> = s.node.iter().map(|n| n.name.as_str()).collect();
        let links: Vec<_> = s.link.iter().map(|l| l.name.as_str()).collect();
        let flows: Vec<_> = s.flow.iter().map(|f| f.name.as_str()).collect();
        for (table, names) in [("cell", cells), ("node", nodes), ("link", links), ("flow", flows)] {
            let mut seen = BTreeSet::new();
            for (i, name) in names.into_iter().enumerate() {
                if !seen.insert(name) {
                    let message = format!("there is another {table} called {name:?}");
                    self.report((table, i), "name", Refusal::new(message));
                }
            }
        }
    }

    fn radios(&mut self) {
        for (i, other) in medium::at_odds(self.scenario) {
            let message = format!("cell {other:?} is on this frequency, with other settings");
            let help = "cells on one frequency share its medium: only their names may differ";
            self.report(("cell", i), "name", Refusal::new(message).help(help));
        }
        self.reporters();
        self.services();
        self.weighers();
        self.capabilities();
        for (i, cell) in self.scenario.cell.iter().enumerate() {
            if expand::access_points(self.scenario).all(|(_, ap)| ap.cell != cell.name) {
                let refusal = Refusal::new("no access point is in this cell")
                    .help("add a [[node]] with kind = \"access-point\", or remove the cell");
                self.report(("cell", i), "name", refusal);
            }
        }
    }

    /// Stations that report their channels to one access point cannot go to another.
    fn reporters(&mut self) {
        let aps = expand::access_points(self.scenario).filter(|(_, ap)| {
            let cell = self.scenario.cell.iter().find(|cell| cell.name == ap.cell);
            cell.is_some_and(|cell| cell.soc.is_some())
        });
        let aps: Vec<&str> = aps.map(|(node, _)| node.name.as_str()).collect();
        for (i, node) in self.scenario.node.iter().enumerate() {
            let Some(station) = node.kind.station() else { continue };
            if station.roaming.is_some() && aps.contains(&station.ap.as_str()) {
                let message = "a station of a cell with `soc` reports to one access point";
                let refusal = Refusal::new(message).help("remove `roaming`, or the cell's `soc`");
                self.report(("node", i), "roaming", refusal);
            }
        }
    }

    /// Warns of an agreement with a station that the queues of its access points ignore.
    fn services(&mut self) {
        for (i, node) in self.scenario.node.iter().enumerate() {
            let Some(station) = node.kind.station() else { continue };
            let Some(service) = &station.service else { continue };
            let roaming = station.roaming.iter().flat_map(|roaming| roaming.aps.iter());
            let names: Vec<&String> = [&station.ap].into_iter().chain(roaming).collect();
            let mut aps = expand::access_points(self.scenario);
            let refusal = aps.find_map(|(ap, kind)| {
                let queue = &kind.radio.queue.0;
                names.contains(&&ap.name).then_some(())?;
                if !queue.follows_weights() {
                    let message = format!("the queue of {:?} knows no weights", ap.name);
                    let help = "give it a scheduler: queue = { discipline = \"wfq\" }";
                    return Some(Refusal::new(message).help(help));
                }
                if service.has_curves() && !queue.has_service_curves() {
                    let message = format!("the queue of {:?} knows no service curves", ap.name);
                    let help = "write queue = { discipline = \"h-fsc\" } there";
                    return Some(Refusal::new(message).help(help));
                }
                None
            });
            if let Some(refusal) = refusal {
                self.report(("node", i), "service", refusal);
            }
        }
    }

    /// Warns of a queue that serves by reports, where there are none.
    fn weighers(&mut self) {
        for (i, node) in self.scenario.node.iter().enumerate() {
            let (radio, cell) = match &node.kind {
                Kind::AccessPoint(ap) => (&ap.radio, Some(&ap.cell)),
                Kind::Station(station) | Kind::Converter(station) => (&station.radio, None),
                Kind::Host(_) => continue,
            };
            let cell = self.scenario.cell.iter().find(|known| Some(&known.name) == cell);
            let name = radio.queue.0.name();
            if !name.starts_with("socps") || cell.is_some_and(|cell| cell.soc.is_some()) {
                continue;
            }
            let refusal = match cell {
                Some(cell) => {
                    let message = format!(
                        "{name:?} serves by reports, and cell {:?} has no `soc`",
                        cell.name
                    );
                    let help = "give the cell soc = { policy = \"pw\" }, or use \"wfq\"";
                    Refusal::new(message).help(help)
                }
                None => {
                    let message =
                        format!("{name:?} serves by reports, and only access points get any");
                    Refusal::new(message).help("use \"wfq\"")
                }
            };
            self.report(("node", i), "queue", refusal);
        }
    }

    /// A `[tcp]` table without a flow that reads it, and timers out of order.
    fn tcp(&mut self) {
        let (mut used, mut aims) = (false, false);
        for (i, flow) in self.scenario.flow.iter().enumerate() {
            let Some(tcp) = flow.transport.connections() else { continue };
            used = true;
            aims |= tcp.av.is_some();
            let (min, max) = (tcp.options.min_rto, tcp.options.max_rto);
            if min > max {
                let message = format!("min_rto is {min}, which is more than max_rto, {max}");
                self.report(("flow", i), "min_rto", Refusal::new(message));
            }
        }
        let aim = match self.root.get("tcp").map(|value| &value.data) {
            Some(Data::Table(table)) => table.get("av").map(|value| value.span.clone()),
            _ => None,
        };
        if let Some(span) = aim.filter(|_| used && !aims) {
            let refusal = Refusal::new("no flow's algorithm is \"tcp-av\"").help("remove the key");
            self.problems.push(Problem { span, key: "tcp.av".to_owned(), refusal });
        }
        if self.root.get("tcp").is_some() && !used {
            let refusal = Refusal::new("no flow uses TCP").help("remove the table");
            let span = self.root.get("tcp").map_or(0..0, |v| v.span.clone());
            self.problems.push(Problem { span, key: "tcp".to_owned(), refusal });
        }
    }

    fn node_count(&mut self, nodes: &[Expanded]) -> bool {
        let maximum = limits::MAX_NODES;
        if nodes.len() > maximum {
            let message = format!("{} nodes; at most {maximum} are possible", nodes.len());
            let last = self.scenario.node.len() - 1;
            self.report(("node", last), "count", Refusal::new(message));
            return false;
        }
        let mut seen = BTreeSet::new();
        for node in nodes {
            if !seen.insert(node.name.as_str()) {
                let message = format!("there is another node called {:?}", node.name);
                self.report(("node", node.group), "name", Refusal::new(message));
            }
        }
        self.problems.is_empty()
    }

    /// Checks the start and stop times of a flow.
    fn times_of(&mut self, i: usize, flow: &Flow) {
        let at = ("flow", i);
        if flow.start + flow.start_spread >= self.scenario.duration {
            let refusal = Refusal::new("the flow may start only after the run has ended");
            let late = flow.start >= self.scenario.duration;
            self.report(at, if late { "start" } else { "start_spread" }, refusal);
        }
        if flow.stop.is_some_and(|stop| stop <= flow.start + flow.start_spread) {
            let refusal = Refusal::new("the flow may stop before it has started");
            self.report(at, "stop", refusal);
        }
    }

    fn flows(&mut self, nodes: &[Expanded]) {
        let names: Vec<_> = nodes.iter().map(|n| n.name.as_str()).collect();
        let islands = expand::islands(self.scenario, nodes);
        let mut total = 0;
        let mut seen = BTreeSet::new();
        for (i, flow) in self.scenario.flow.iter().enumerate() {
            let at = ("flow", i);
            self.times_of(i, flow);
            for (key, pattern) in [("from", &flow.from), ("to", &flow.to)] {
                if expand::matching(nodes, pattern).is_empty() {
                    let refusal = no_match(pattern, &names);
                    self.report(at, key, refusal);
                }
            }
            if flow.from.ends_with('*') && flow.to.ends_with('*') {
                let refusal = Refusal::new("only one of from and to may be a pattern");
                self.report(at, "to", refusal);
                continue;
            }
            let pairs = expand::pairs(nodes, flow);
            if pairs.is_empty() && self.problems.is_empty() {
                self.report(at, "from", no_pair(flow));
            }
            total += pairs.len();
            for (name, from, to) in &pairs {
                if flow.transport.remedies_at_source() && !roams(self.scenario, nodes, *from) {
                    let message = format!("{:?} stays with its access point", names[*from]);
                    let help =
                        "the sender of media is notified only of handovers of its own station";
                    self.report(at, "remedies", Refusal::new(message).help(help));
                    break;
                }
                if let Some((key, bridge)) = self.bridge_among(nodes, *from, *to) {
                    let message = format!("{bridge:?} is a converter, and sends nothing itself");
                    let help = "a flow begins and ends at hosts: name one behind the converter";
                    self.report(at, key, Refusal::new(message).help(help));
                    break;
                }
                if self.is_endless(nodes, flow, *from) {
                    let refusal = Refusal::new("nothing saturates a link of unlimited rate");
                    self.report(at, "traffic", refusal.help("give the link a rate"));
                    break;
                }
                if from == to {
                    let message = format!("the flow goes from {:?} to itself", names[*from]);
                    self.report(at, "to", Refusal::new(message));
                } else if islands[*from] != islands[*to] {
                    let message = format!("no route from {:?} to {:?}", names[*from], names[*to]);
                    let refusal = Refusal::new(message).help("add a [[link]] between them");
                    self.report(at, "to", refusal);
                    break;
                }
                if !seen.insert(name.clone()) {
                    let message = format!("there is another flow called {name:?}");
                    self.report(at, "name", Refusal::new(message));
                }
            }
            if total > limits::MAX_FLOWS {
                let refusal = Refusal::new(format!("more than {} flows", limits::MAX_FLOWS));
                self.report(at, "from", refusal);
                break;
            }
        }
    }
}

/// Whether a node changes its access point.
fn roams(scenario: &Scenario, nodes: &[Expanded], node: usize) -> bool {
    let station = scenario.node[nodes[node].group].kind.station();
    station.is_some_and(|station| station.roaming.is_some())
}

/// The error for a flow from a node to itself.
fn no_pair(flow: &Flow) -> Refusal {
    let (pattern, end) = match flow.from.ends_with('*') {
        true => (&flow.from, &flow.to),
        false => (&flow.to, &flow.from),
    };
    Refusal::new(format!("this makes no flow: {pattern:?} matches {end:?} alone"))
        .help(format!("write a pattern that other nodes have, or name the node beside {end:?}"))
}

fn no_match(pattern: &str, names: &[&str]) -> Refusal {
    if let Some(refusal) = names_group(pattern, names, "flow") {
        return refusal;
    }
    Refusal::new(format!("no node is called {pattern:?}")).among(pattern, &shown(names))
}
