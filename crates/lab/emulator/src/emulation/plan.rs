//! Conversion of a scenario to namespaces, and to the options of the loop.

use crate::address;
use crate::drive::Options;
use crate::emulation::options::Uplink;
use core::net::{Ipv4Addr, Ipv6Addr};
use fairwave_netns::{NodePlan, Offload, Plan, Prefix, Route, UplinkPlan};
use fairwave_scenario::{Emulate, Scenario};
use fairwave_sim::world::{Traffic, World};
use fairwave_trace::NodeId;
use fairwave_units::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// The namespaces of a scenario's real nodes.
pub(crate) fn namespaces(
    scenario: &Scenario,
    world: &World,
    real: &[NodeId],
    uplinks: &[Uplink],
) -> Plan {
    let emulate = scenario.emulation();
    let sysctls: Vec<(String, String)> =
        emulate.sysctls.iter().filter_map(|s| setting(s)).collect();
    // A node with an uplink has its default route there.
    let leads_out = |id: &NodeId| {
        let name = &world.nodes[id.0 as usize].name;
        !uplinks.is_empty() && uplinks.iter().all(|uplink| uplink.node != *name)
    };
    // Nodes without an uplink reach the outside world through a node that has one.
    let ways = uplinks.iter().map(|Uplink { node, interface }| {
        let has_ipv6 = fairwave_netns::lack_of_ipv6(interface).is_none();
        UplinkPlan { node: node.clone(), interface: interface.clone(), has_ipv6 }
    });
    let ways: Vec<UplinkPlan> = ways.collect();
    let four = Route::new(Prefix::new(Ipv4Addr::UNSPECIFIED, 0));
    let six = Route::new(Prefix::new(Ipv6Addr::UNSPECIFIED, 0));
    let has_six = ways.first().is_some_and(|way| way.has_ipv6);
    let out = [four].into_iter().chain(has_six.then_some(six));
    let undelayed = undelayed(scenario, world);
    let Paths { mut aliases, mut endpoints } = Paths::of(scenario, world);
    let mut node = |id: &NodeId| NodePlan {
        aliases: aliases.remove(id).unwrap_or_default().into_iter().collect(),
        endpoints: endpoints.remove(id).map(|all| all.into_iter().collect()),
        addresses: vec![
            Prefix::new(address::v4(*id), address::V4_PREFIX_LEN),
            Prefix::new(address::v6(*id), address::V6_PREFIX_LEN),
        ],
        mtu: emulate.mtu,
        routes: (out.clone().filter(|_| leads_out(id)))
            .chain(quick_routes(&undelayed, *id))
            .collect(),
        offload: if emulate.offload { Offload::On } else { Offload::Off },
        sysctls: sysctls.clone(),
        ..NodePlan::new(world.nodes[id.0 as usize].name.clone())
    };
    Plan { nodes: real.iter().map(&mut node).collect(), uplinks: ways, ..Plan::default() }
}

/// Pairs of nodes (receiver, sender) between which the scenario's TCP flows on the kernel's sockets
/// delay no ACK. The receiver's kernel leaves the mode of `TCP_QUICKACK` by itself, a route's
/// setting is permanent: a pair with another flow whose ACKs are delayed has the former alone.
fn undelayed(scenario: &Scenario, world: &World) -> BTreeSet<(NodeId, NodeId)> {
    let flows = scenario.kernel_flows();
    let pairs = flows.iter().filter_map(|id| {
        let flow = &world.flows[id.0 as usize];
        let Traffic::Tcp(tcp) = &flow.traffic else { return None };
        let sender = flow.proxy.as_ref().map_or(flow.source, |proxy| proxy.at);
        Some(((flow.sink, sender), tcp.receiver.delayed_ack.every == 1))
    });
    let (quick, delayed): (Vec<_>, Vec<_>) = pairs.partition(|(_, is_quick)| *is_quick);
    let is_delayed = |pair: &_| delayed.iter().any(|(other, _)| other == pair);
    quick.into_iter().map(|(pair, _)| pair).filter(|pair| !is_delayed(pair)).collect()
}

/// Routes from `receiver` to the senders whose data it acknowledges at once.
fn quick_routes(
    undelayed: &BTreeSet<(NodeId, NodeId)>,
    receiver: NodeId,
) -> impl Iterator<Item = Route> {
    let senders = undelayed.iter().filter(move |(sink, _)| *sink == receiver);
    senders.flat_map(|(_, sender)| {
        let hosts = [Prefix::new(address::v4(*sender), 32), Prefix::new(address::v6(*sender), 128)];
        hosts.map(|to| Route { to, quick_acks: true })
    })
}

/// Addresses at the nodes where flows over paths of the scenario begin and end.
#[derive(Debug, Default)]
struct Paths {
    /// One address for each path of each flow.
    aliases: BTreeMap<NodeId, BTreeSet<Ipv4Addr>>,
    /// Those addresses from which MPTCP opens subflows. The other ends of its flows have none.
    endpoints: BTreeMap<NodeId, BTreeSet<Ipv4Addr>>,
}

impl Paths {
    /// Addresses of those flows of `scenario` that use sockets of the kernel.
    fn of(scenario: &Scenario, world: &World) -> Self {
        let mut paths = Self::default();
        for id in scenario.kernel_flows() {
            let flow = &world.flows[id.0 as usize];
            let vias = flow.traffic.vias();
            let addresses = vias.iter().filter_map(|via| address::on_path(flow.source, *via));
            paths.aliases.entry(flow.source).or_default().extend(addresses.clone());
            let is_shake = matches!(flow.traffic, Traffic::Shake(_));
            if vias.len() > 1 && is_shake && scenario.emulation().mptcp {
                paths.endpoints.entry(flow.source).or_default().extend(addresses);
                paths.endpoints.entry(flow.sink).or_default();
            }
        }
        paths
    }
}

/// Parses `KEY=VALUE`; scenario files were checked for this form.
fn setting(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=')?;
    Some((key.trim().to_owned(), value.trim().to_owned()))
}

/// Options of the loop.
pub(crate) fn options(emulate: &Emulate) -> Options {
    let mut options =
        Options { busy_wait: emulate.busy_wait.unwrap_or(Duration::ZERO), ..Options::default() };
    options.limits.lateness_p99 = emulate.lateness_limit;
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_scenario::plan::Plan as ScenarioPlan;

    const SCENARIO: &str = r#"# Which addresses do paths have?
title = "A flow over two paths and one over one: for tests"
duration = "1 s"
emulate = { kernel_flows = ["*"], mptcp = true }
node = [
    { name = "host", kind = "host" },
    { name = "phone", kind = "host", count = 3 },
    { name = "server", kind = "host" },
]
link = [{ ends = ["host", "phone*"] }, { ends = ["phone*", "server"] }]
[[flow]]
name = "both"
from = "host"
to = "server"
transport = "shake"
paths = [{ via = "phone1" }, { via = "phone2" }]
[[flow]]
name = "alone"
from = "host"
to = "server"
transport = "shake"
paths = [{ via = "phone3" }]
"#;

    /// A flow with a single path uses TCP: no MPTCP subflows are opened there.
    #[test]
    fn each_path_has_an_address_at_its_source() {
        let plan = ScenarioPlan::parse("paths.toml", SCENARIO, &[]).expect("a scenario");
        let job = plan.jobs()[0];
        let scenario = plan.scenario(job);
        let world = scenario.to_world(job.seed);
        let built = namespaces(&scenario, &world, &scenario.real_nodes(), &[]);
        let of = |name: &str| built.nodes.iter().find(|node| node.name == name).expect("it is");
        let paths = [1, 2, 3].map(|via| Ipv4Addr::new(10, 128, 0, via));
        assert_eq!(of("host").aliases, paths);
        assert_eq!(of("host").endpoints.as_deref(), Some(&paths[..2]));
        assert_eq!((of("server").aliases.len(), of("server").endpoints.clone()), (0, Some(vec![])));
        assert_eq!((of("phone1").aliases.len(), of("phone1").endpoints.clone()), (0, None));
    }

    #[test]
    fn each_node_with_an_uplink_has_its_default_route_there() {
        let plan = ScenarioPlan::parse("paths.toml", SCENARIO, &[]).expect("a scenario");
        let job = plan.jobs()[0];
        let scenario = plan.scenario(job);
        let world = scenario.to_world(job.seed);
        let uplink = |node: &str| Uplink { node: node.to_owned(), interface: "lo".to_owned() };
        let uplinks = [uplink("server"), uplink("host")];
        let built = namespaces(&scenario, &world, &scenario.real_nodes(), &uplinks);
        let led = built.nodes.iter().filter(|node| !node.routes.is_empty());
        let led: Vec<&str> = led.map(|node| &*node.name).collect();
        assert_eq!(led, ["phone1", "phone2", "phone3"]);
    }

    const QUICK: &str = r#"# Which ACKs does the kernel delay?
title = "Uploads whose ACKs are delayed, and one whose are not: for tests"
duration = "1 s"
emulate = { kernel_flows = ["*"] }
node = [{ name = "sta", kind = "host", count = 2 }, { name = "server", kind = "host" }]
link = [{ ends = ["sta*", "server"] }]
[[flow]]
name = "up"
from = "sta*"
to = "server"
delayed_ack = "off"
[[flow]]
name = "late"
from = "sta2"
to = "server"
delayed_ack = "on"
"#;

    #[test]
    fn a_receiver_has_a_route_without_delayed_acks_where_no_flow_delays_them() {
        let plan = ScenarioPlan::parse("quick.toml", QUICK, &[]).expect("a scenario");
        let job = plan.jobs()[0];
        let scenario = plan.scenario(job);
        let world = scenario.to_world(job.seed);
        let built = namespaces(&scenario, &world, &scenario.real_nodes(), &[]);
        let of = |name: &str| built.nodes.iter().find(|node| node.name == name).expect("it is");
        let first = NodeId(0);
        let to = [Prefix::new(address::v4(first), 32), Prefix::new(address::v6(first), 128)];
        let quick = to.map(|to| Route { to, quick_acks: true });
        assert_eq!(of("server").routes, quick, "not to sta2, which has a flow of each kind");
        assert_eq!(of("sta1").routes, []);
    }
}
