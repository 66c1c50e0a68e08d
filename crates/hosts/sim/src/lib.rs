//! The simulator: virtual time, nodes, links, an 802.11 radio.
//!
//! [`run`] takes a [`world::World`] and drives its machines (TCP connections, links, radio
//! channels) from deadline to deadline. It knows no file and no clock; observations go to a
//! [`Sink`], and the result of a run is its [`Outcome`]. The same world and seed give the same
//! samples and outcome on any machine.
//!
//! [`Simulation`] does the same in steps, for a host with a clock and packets of its own; it has an
//! example. A world is usually made from a scenario file:
//! `crates/lab/scenario/examples` has programs that do so.

mod actors;
mod announcer;
mod check;
mod command;
mod context;
pub mod deadlines;
mod error;
mod flow;
mod frames;
mod key;
mod monitor;
mod network;
mod observer;
mod outcome;
mod outside;
mod owners;
mod packet;
mod proxy;
mod reports;
mod routes;
mod sampling;
mod simulation;
mod soc;
mod spread;
pub mod world;

pub use command::{Command, Place};
pub use error::Error;
pub use fairwave_probe as probe;
use fairwave_trace::Sink;
pub use fairwave_trace::Times;
use fairwave_units::Instant;
pub use flow::{Delays, Delivery, Departures, Reception, ports};
pub use key::shared_key;
pub use outcome::{
    DatagramOutcome, FlowOutcome, Outcome, PairOutcome, PathOutcome, ProbeOutcome, QueueOutcome,
    ShakeOutcome, StationOutcome, VideoOutcome, WebOutcome,
};
pub use outside::{OutsideEvent, OutsideFate, OutsidePacket};
pub use routes::{Astray, detour, passes};
pub use sampling::queue_names;
pub use simulation::Simulation;
pub use spread::Spread;
use world::World;

/// Runs `world` until its end. `progress` gets the virtual time now and then.
///
/// # Errors
/// [`Error`] says why the world cannot be simulated.
pub fn run(
    world: &World,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Instant),
) -> Result<Outcome, Error> {
    let mut goes_on = |now| {
        progress(now);
        true
    };
    Ok(run_while(world, sink, &mut goes_on)?.expect("`goes_on` never ends it"))
}

/// Runs `world` until its end, or until `goes_on`, which gets the virtual time now and then, ends
/// it: then there is no outcome.
///
/// # Errors
/// [`Error`] says why the world cannot be simulated.
pub fn run_while(
    world: &World,
    sink: &mut dyn Sink,
    goes_on: &mut dyn FnMut(Instant) -> bool,
) -> Result<Option<Outcome>, Error> {
    run_around(world, sink, goes_on, &|part| part())
}

/// The same with `around` each part of the run, which it has to call once: a part is the events
/// between two calls of `goes_on`.
///
/// # Errors
/// [`Error`] says why the world cannot be simulated.
pub fn run_around(
    world: &World,
    sink: &mut dyn Sink,
    goes_on: &mut dyn FnMut(Instant) -> bool,
    around: &dyn Fn(&mut dyn FnMut()),
) -> Result<Option<Outcome>, Error> {
    let mut simulation = Simulation::new(world, sink)?;
    let end = Instant::ZERO + world.duration;
    let mut is_over = false;
    loop {
        around(&mut || is_over = simulation.run_until(end, &mut |_| false));
        if is_over {
            goes_on(end);
            return Ok(Some(simulation.finish(end)));
        }
        if !goes_on(simulation.now()) {
            return Ok(None);
        }
    }
}
