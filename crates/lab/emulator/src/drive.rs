//! The loop: real packets through a world, in real time.
//!
//! A turn lets everything happen in the world that is due, writes the packets that arrived, and
//! waits until the next deadline or until an end has packets. What is read enters the world at the
//! time when it was read. Events that are due are handled one time after the other, so that the
//! lateness of each is known, and packets that arrive are written before the next.

mod end;
mod message;
mod options;
mod report;
mod turns;

pub use end::{End, EndCounts, Offload, Way};
pub use message::{Control, Inbox};
pub use options::Options;
pub use report::{Error, Report, Stopped, Turn};

use crate::log;
use crate::meter::Reference;
use core::ops::ControlFlow;
use fairwave_linux::clock::Clock;
use fairwave_sim::world::World;
use fairwave_trace::Sink;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use turns::Turns;

/// A world that is to be driven by the clock.
#[derive(Debug)]
pub struct Drive<'w> {
    /// The clock, whose zero is the world's.
    pub clock: Clock,
    /// What is simulated. Its duration is the longest that the run lasts.
    pub world: &'w World,
    /// Its real nodes.
    pub ends: Vec<End>,
    /// How it is driven.
    pub options: Options,
    /// Where what goes in is recorded.
    pub record: Option<log::Writer>,
    /// Ends the run when it becomes true: soon, and with results.
    pub stop: Option<Arc<AtomicBool>>,
    /// What others have to say to the world meanwhile.
    pub inbox: Inbox,
}

impl Drive<'_> {
    /// Runs until the end, until it is stopped, or until something fails; results come in any case.
    /// `on_turn` is called in each turn, every [`Options::turn_at_least`] if nothing happens.
    ///
    /// # Errors
    /// The world cannot be simulated.
    pub fn run(
        self,
        sink: &mut dyn Sink,
        on_turn: &mut dyn FnMut(&Turn<'_>) -> ControlFlow<()>,
    ) -> Result<Report, fairwave_sim::Error> {
        self.run_and_then(sink, on_turn, &mut || {})
    }

    /// The same; `on_end` is called as soon as nothing is read any more, before records are closed.
    ///
    /// # Errors
    /// The world cannot be simulated.
    pub fn run_and_then(
        self,
        sink: &mut dyn Sink,
        on_turn: &mut dyn FnMut(&Turn<'_>) -> ControlFlow<()>,
        on_end: &mut dyn FnMut(),
    ) -> Result<Report, fairwave_sim::Error> {
        let Self { clock, world, ends, options, record, stop, inbox } = self;
        let reference = options.measures_host.then(Reference::start).flatten();
        let mut turns = Turns::new(clock, world, ends, options, record, inbox, sink)?;
        let stopped = turns.run(stop.as_deref(), reference.as_ref(), on_turn);
        on_end();
        Ok(turns.finish(stopped, reference.as_ref()))
    }
}
