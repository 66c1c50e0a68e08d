//! Operations common to all transports.

use fairwave_sim::world;
use fairwave_trace::NodeId;

/// A transport of a flow.
pub(crate) trait Carrier {
    /// Returns the simulator's inputs; `id` finds the nodes of names, which exist.
    fn to_world(&self, id: &dyn Fn(&str) -> NodeId) -> world::Traffic;

    /// The nodes that its paths are to pass, by name.
    fn vias(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Whether it has remedies that only a handover of the source brings into play.
    fn remedies_at_source(&self) -> bool {
        false
    }

    /// Whether it sends as fast as the interface takes its packets.
    fn fills_links(&self) -> bool {
        false
    }
}
