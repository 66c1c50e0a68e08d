//! The simulator: virtual time, nodes, links, an 802.11 radio.
//!
//! [`run`] takes a [`world::World`] and drives its machines (TCP connections, links, radio
//! channels) from deadline to deadline. It knows no file and no clock; what it sees goes to a
//! [`Sink`], and what a run came to is its [`Outcome`]. The same world and seed give the same
//! samples and outcome on any machine.

mod access;
mod check;
pub mod deadlines;
mod flow;
mod handover;
mod key;
mod line;
mod metered;
mod monitor;
mod observe;
mod outcome;
mod packet;
mod proxy;
mod radio;
mod roaming;
mod routes;
mod service;
mod simulator;
mod soc;
mod spread;
pub mod world;

pub use fairwave_probe as probe;
use fairwave_trace::Sink;
use fairwave_units::Instant;
pub use key::shared_key;
pub use observe::queue_names;
pub use outcome::{
    DatagramOutcome, FlowOutcome, Outcome, PathOutcome, ProbeOutcome, QueueOutcome, ShakeOutcome,
    StationOutcome, Times, VideoOutcome, WebOutcome,
};
pub use routes::{Astray, detour, passes};
use simulator::{Actor, Simulator};
use world::World;

/// Why a world cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value in the world is not usable; the text says which and why.
    #[error("{0}")]
    Invalid(String),
}

/// Events between two calls of `progress`.
const PROGRESS_EVERY: u64 = 1 << 14;

/// Runs `world` to its end. `progress` hears the virtual time now and then.
pub fn run(
    world: &World,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Instant),
) -> Result<Outcome, Error> {
    let mut simulator = Simulator::new(world, sink)?;
    simulator.begin_roaming(sink);
    simulator.begin_soc(sink);
    let end = Instant::ZERO + world.duration;
    let mut warm = simulator.snapshot();
    while let Some(actor) = simulator.advance(end) {
        match actor {
            Actor::Sampler => simulator.sample(sink),
            Actor::WarmUp => warm = simulator.end_warm_up(),
            Actor::Bin => simulator.end_bin(),
            actor => simulator.act(actor, sink),
        }
        if simulator.events.is_multiple_of(PROGRESS_EVERY) {
            progress(simulator.now);
        }
    }
    progress(end);
    Ok(simulator.outcome(&warm))
}
