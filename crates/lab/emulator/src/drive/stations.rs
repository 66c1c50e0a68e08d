//! Real stations that change their access point.

use super::end::Port;
use fairwave_sim::Simulation;
use fairwave_sim::world::World;
use fairwave_trace::NodeId;
use std::sync::mpsc::Sender;

/// A change of a real station's association with an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Association {
    /// The station.
    pub node: NodeId,
    /// Whether it has an access point now.
    pub is_associated: bool,
}

/// The real stations that roam, and the receiver of their changes.
#[derive(Debug)]
pub(super) struct Stations {
    /// Each with its state at the last look.
    roaming: Vec<Association>,
    changes: Option<Sender<Association>>,
}

impl Stations {
    pub(super) fn new(world: &World, ports: &[Port], changes: Option<Sender<Association>>) -> Self {
        let roams = |node: &NodeId| {
            let radio = world.nodes[node.0 as usize].radio.as_ref();
            changes.is_some() && radio.is_some_and(|radio| radio.roaming.is_some())
        };
        let nodes = ports.iter().map(|port| port.end.node).filter(roams);
        let roaming = nodes.map(|node| Association { node, is_associated: true }).collect();
        Self { roaming, changes }
    }

    /// Reports the changes up to the present time of the world. A handover without a gap is none.
    pub(super) fn look(&mut self, simulation: &Simulation<'_>) {
        for station in &mut self.roaming {
            let is_associated = !simulation.is_away(station.node);
            if station.is_associated != is_associated {
                station.is_associated = is_associated;
                // The receiver ends only after the run.
                let _ = self.changes.as_ref().map(|changes| changes.send(*station));
            }
        }
    }
}
