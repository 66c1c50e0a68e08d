//! Two interfaces of this machine with the emulated cell between them.

use crate::drive::{End, Offload, Way};
use core::str::FromStr;
use fairwave_netns::{Error, between};
use fairwave_scenario::Scenario;
use fairwave_sim::world::{Role, World};
use fairwave_trace::NodeId;
use std::io;
use std::os::fd::AsFd;

/// Two interfaces and the nodes that they represent: `IF,IF` or `NODE=IF,NODE=IF`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// Names of this machine's interfaces.
    pub interfaces: [String; 2],
    /// Names of the nodes; `None` if they follow from the scenario.
    pub nodes: Option<[String; 2]>,
}

impl FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?}: write IF,IF or NODE=IF,NODE=IF");
        let (one, other) = text.split_once(',').ok_or_else(wrong)?;
        let (interfaces, nodes) = match (one.split_once('='), other.split_once('=')) {
            (None, None) => ([one, other], None),
            (Some((a, one)), Some((b, other))) => ([one, other], Some([a, b])),
            _ => return Err(format!("{text:?}: name both nodes or none")),
        };
        let words = interfaces.iter().chain(nodes.iter().flatten());
        if words.map(|word| word.trim()).any(|word| word.is_empty() || word.contains([',', '='])) {
            return Err(wrong());
        }
        let owned = |words: [&str; 2]| words.map(|word| word.trim().to_owned());
        Ok(Self { interfaces: owned(interfaces), nodes: nodes.map(owned) })
    }
}

impl Between {
    /// The nodes of the interfaces. Without names they are the two real nodes, or the station and
    /// its access point if there are no others.
    ///
    /// # Errors
    /// A text for the user: the nodes are ambiguous, missing, or used otherwise by the scenario.
    pub fn places(&self, scenario: &Scenario, world: &World) -> Result<[NodeId; 2], String> {
        let places = match &self.nodes {
            Some(names) => named(names, world)?,
            None => unnamed(scenario, world)?,
        };
        places.iter().try_for_each(|place| is_unused(*place, scenario, world)).map(|()| places)
    }
}

fn named(names: &[String; 2], world: &World) -> Result<[NodeId; 2], String> {
    let find = |name: &String| {
        let place = world.nodes.iter().position(|node| node.name == *name);
        place.map(|place| NodeId(place as u32)).ok_or_else(|| format!("there is no node {name:?}"))
    };
    let [one, other] = names;
    let places = [find(one)?, find(other)?];
    if places[0] == places[1] {
        return Err(format!("{one:?} cannot stand at both interfaces"));
    }
    Ok(places)
}

fn unnamed(scenario: &Scenario, world: &World) -> Result<[NodeId; 2], String> {
    let real = scenario.real_nodes();
    let is_access_point = |node: &usize| {
        let radio = world.nodes[*node].radio.as_ref();
        radio.is_some_and(|radio| radio.role == Role::AccessPoint)
    };
    let access_points: Vec<_> = (0..world.nodes.len()).filter(is_access_point).collect();
    match (&real[..], &access_points[..]) {
        ([one, other], _) => Ok([*one, *other]),
        ([one], [ap]) => Ok([*one, NodeId(*ap as u32)]),
        _ => {
            let name = |id: &NodeId| world.nodes[id.0 as usize].name.clone();
            let names: Vec<_> = real.iter().take(24).map(name).collect();
            let names = names.join(", ");
            Err(format!(
                "say which nodes stand at the interfaces, NODE=IF,NODE=IF: there are {names}"
            ))
        }
    }
}

/// Checks that nothing runs at the node of an interface, as it has no namespace.
fn is_unused(place: NodeId, scenario: &Scenario, world: &World) -> Result<(), String> {
    let name = &world.nodes[place.0 as usize].name;
    if let Some(started) = scenario.programs().iter().find(|started| started.node == place) {
        let command = &started.program.command;
        return Err(format!("{name:?} stands at an interface and cannot run `{command}`"));
    }
    let touches = |id: &fairwave_trace::FlowId| {
        let flow = &world.flows[id.0 as usize];
        flow.source == place || flow.sink == place
    };
    match scenario.kernel_flows().iter().find(|id| touches(id)) {
        Some(id) => {
            let flow = &world.flows[id.0 as usize].name;
            Err(format!(
                "{name:?} stands at an interface: the kernel cannot carry flow {flow:?} there"
            ))
        }
        None => Ok(()),
    }
}

/// Opens the ends of the world at both interfaces.
///
/// # Errors
/// If an interface does not exist, or the process lacks the privilege.
pub(crate) fn ends(between: &Between, places: [NodeId; 2]) -> Result<[End; 2], Error> {
    let [one, other] = &between.interfaces;
    let [a, b] = between::open(one, other)?;
    let end = |socket: between::FrameSocket, node, to| -> io::Result<End> {
        let fd = socket.as_fd().try_clone_to_owned()?;
        Ok(End { node, fd, offload: Offload::On, way: Way::Bridged { to } })
    };
    let broken = |cause| Error::Kernel { step: "interfaces of --bridge".to_owned(), cause };
    let ends = end(a, places[0], places[1]).and_then(|a| Ok([a, end(b, places[1], places[0])?]));
    ends.map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_nodes_are_named_or_none() {
        let read: Between = "eth1,eth2".parse().expect("two interfaces");
        assert_eq!((read.interfaces, read.nodes), (["eth1", "eth2"].map(str::to_owned), None));
        let read: Between = "sta1=eth1, server=eth2".parse().expect("with nodes");
        let names = ["sta1", "server"].map(str::to_owned);
        assert_eq!((&*read.interfaces[1], read.nodes), ("eth2", Some(names)));
        for text in ["eth1", "eth1,", "a=eth1,eth2", "a=,b=c", "a=b=c,d=e", "a,b,c"] {
            let error = text.parse::<Between>().expect_err(text);
            assert!(error.contains(text), "{error}");
        }
    }
}
