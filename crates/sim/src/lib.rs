//! The simulator: virtual time, nodes, links, an 802.11 radio. Under construction.

mod outcome;
pub mod world;

use fairwave_trace::Sink;
use fairwave_units::Instant;
pub use outcome::{FlowOutcome, Outcome, QueueOutcome, StationOutcome};
use world::World;

/// Why a world cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value in the world is not usable; the text says which and why.
    #[error("{0}")]
    Invalid(String),
}

/// Runs `world` to its end. `progress` hears the virtual time now and then.
pub fn run(
    world: &World,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Instant),
) -> Result<Outcome, Error> {
    let _ = (world, sink, progress);
    Err(Error::Invalid("not built yet".to_owned()))
}
