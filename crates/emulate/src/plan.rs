//! From a scenario to namespaces and to the world that is driven.

use crate::order::Uplink;
use core::net::{Ipv4Addr, Ipv6Addr};
use fairwave_emu::address;
use fairwave_emu::drive::Options;
use fairwave_netns::{NodePlan, Offload, Plan, Prefix, Route, UplinkPlan};
use fairwave_scenario::{Emulate, Scenario};
use fairwave_sim::world::World;
use fairwave_trace::NodeId;
use fairwave_units::Duration;

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
    let leads_out = |id: &NodeId| {
        let name = &world.nodes[id.0 as usize].name;
        uplinks.first().is_some_and(|uplink| uplink.node != *name)
    };
    // Nodes without a way out of their own reach the rest of the world through one that has it.
    let ways = uplinks.iter().map(|Uplink { node, interface }| {
        let has_ipv6 = fairwave_netns::lack_of_ipv6(interface).is_none();
        UplinkPlan { node: node.clone(), interface: interface.clone(), has_ipv6 }
    });
    let ways: Vec<UplinkPlan> = ways.collect();
    let four = Route { to: Prefix::new(Ipv4Addr::UNSPECIFIED, 0), source: None };
    let six = Route { to: Prefix::new(Ipv6Addr::UNSPECIFIED, 0), source: None };
    let has_six = ways.first().is_some_and(|way| way.has_ipv6);
    let out = || [four].into_iter().chain(has_six.then_some(six)).collect();
    let node = |id: &NodeId| NodePlan {
        addresses: vec![
            Prefix::new(address::v4(*id), address::V4_PREFIX_LEN),
            Prefix::new(address::v6(*id), address::V6_PREFIX_LEN),
        ],
        mtu: emulate.mtu,
        routes: if leads_out(id) { out() } else { Vec::new() },
        offload: if emulate.offload { Offload::On } else { Offload::Off },
        sysctls: sysctls.clone(),
        ..NodePlan::new(world.nodes[id.0 as usize].name.clone())
    };
    Plan { nodes: real.iter().map(node).collect(), uplinks: ways, ..Plan::default() }
}

/// `KEY=VALUE`, which scenario files are checked for.
fn setting(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=')?;
    Some((key.trim().to_owned(), value.trim().to_owned()))
}

/// How the world is driven.
pub(crate) fn options(emulate: &Emulate) -> Options {
    let mut options =
        Options { busy_wait: emulate.busy_wait.unwrap_or(Duration::ZERO), ..Options::default() };
    options.limits.lateness_p99 = emulate.lateness_limit;
    options
}
