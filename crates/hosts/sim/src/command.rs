//! Changes that a host may make to a running world.

use crate::world::{Change, World};
use fairwave_dot11::Path;
use fairwave_queue::{Spec, Weight};
use fairwave_trace::NodeId;
use fairwave_units::Metres;

/// A change of a world under way, from outside.
#[derive(Clone, Debug)]
pub enum Command {
    /// A radio is elsewhere from now on. The world must be [steerable](World::steerable).
    Place {
        /// Whose radio.
        node: NodeId,
        /// Position.
        position: (Metres, Metres),
    },
    /// Applies `change` to a link, at the time that it states; changes that the world has for it
    /// come in their time.
    Link {
        /// Its index among [`World::links`].
        link: usize,
        /// Its new state.
        change: Change,
    },
    /// Replaces a queue by another one, which takes over the waiting packets.
    Queue {
        /// The queue.
        queue: Place,
        /// The new queue.
        spec: Spec,
    },
    /// New weight of a station in the queue of its access point.
    Weight {
        /// Whose queue.
        ap: NodeId,
        /// The station.
        station: NodeId,
        /// Its weight.
        weight: Weight,
    },
}

/// Place of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the radio of a node.
    Radio(NodeId),
    /// Before a direction of a link.
    Line {
        /// The link's index among [`World::links`].
        link: usize,
        /// 0 from its first end, 1 from its second.
        way: usize,
    },
}

impl World {
    /// The same world, whose radios can be placed elsewhere by [`Command::Place`]. It takes more
    /// time to simulate and gives the same results.
    pub fn steerable(mut self) -> Self {
        for radio in self.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
            if radio.path.is_none() && radio.snr_trace.is_none() {
                radio.path = Some(Path::steered(radio.position));
            }
        }
        self
    }
}
