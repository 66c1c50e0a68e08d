//! Devices of real stations that are between two access points.

use crate::drive::Association;
use fairwave_netns::{Error, LinkState, Namespaces};
use fairwave_scenario::{Away, Emulate};
use fairwave_sim::world::World;
use fairwave_trace::NodeId;
use std::sync::mpsc::Receiver;

/// The devices of real stations, which lose their carrier without an access point.
pub(crate) struct Links<'a> {
    pub(crate) namespaces: &'a Namespaces,
    pub(crate) real: &'a [NodeId],
    /// State without an access point.
    pub(crate) away: LinkState,
}

/// State of a station's device without an access point, as a scenario has it.
pub(crate) fn away(emulate: &Emulate) -> LinkState {
    match emulate.away {
        Away::NoCarrier => LinkState::NoCarrier,
        Away::Dormant => LinkState::Dormant,
        Away::Up => LinkState::Up,
    }
}

/// Whether one of the `real` nodes is a station that roams.
pub(crate) fn roam(world: &World, real: &[NodeId]) -> bool {
    let roams = |node: &NodeId| {
        let radio = world.nodes[node.0 as usize].radio.as_ref();
        radio.is_some_and(|radio| radio.roaming.is_some())
    };
    real.iter().any(roams)
}

impl Links<'_> {
    /// Gives devices the states that follow from their stations' associations, until the last of
    /// those. A thread of its own does this: the kernel may be busy with links of others for
    /// milliseconds, which the loop cannot spare. Returns the first error, after which the devices
    /// stay as they are.
    pub(crate) fn follow(&self, associations: &Receiver<Association>) -> Option<Error> {
        let states = |is_associated| match is_associated {
            true => (self.away, LinkState::Up),
            false => (LinkState::Up, self.away),
        };
        associations.iter().find_map(|Association { node, is_associated }| {
            let place = self.real.iter().position(|real| *real == node)?;
            let (from, to) = states(is_associated);
            self.namespaces.set_link(place, from, to).err()
        })
    }
}
