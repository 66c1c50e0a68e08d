//! The loop that passes real packets through a world in real time.
//!
//! A turn handles all events of the world that are due, writes the packets that arrived, and waits
//! until the next deadline or until an end has packets. A packet enters the world at the time when
//! it was read. Events that are due are handled in the order of their times, so that the lateness
//! of each is known, and arrived packets are written before the next event.

mod end;
mod message;
mod options;
mod report;
mod stations;
mod turns;

pub use end::{End, EndCounts, Offload, Way};
pub use message::{Control, Inbox};
pub use options::Options;
pub use report::{Error, Report, Stopped, Turn};
pub use stations::Association;

use crate::log;
use crate::meter::Reference;
use core::ops::ControlFlow;
use fairwave_linux::clock::Clock;
use fairwave_sim::world::World;
use fairwave_trace::Sink;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use turns::Turns;

/// A world and everything that is needed to drive it in real time.
#[derive(Debug)]
pub struct Drive<'w> {
    /// The clock; its zero is the start of the world.
    pub clock: Clock,
    /// The simulated world. Its duration is the maximum duration of the run.
    pub world: &'w World,
    /// Ends of its real nodes.
    pub ends: Vec<End>,
    /// Options of the loop.
    pub options: Options,
    /// Record of the packets and commands that enter the world.
    pub record: Option<log::Writer>,
    /// Ends the run soon after it becomes true; the results are kept.
    pub stop: Option<Arc<AtomicBool>>,
    /// Messages for the world during the run.
    pub inbox: Inbox,
    /// Receives the changes of real stations' associations, if somebody wants them.
    pub associations: Option<Sender<Association>>,
}

impl Drive<'_> {
    /// Runs until the end, until it is stopped, or until an error; there are results in each case.
    /// `on_turn` is called in each turn, and at least every [`Options::min_turn`].
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

    /// As [`Self::run`]. `on_end` is called as soon as no end is read any more, before records are
    /// closed.
    ///
    /// # Errors
    /// The world cannot be simulated.
    pub fn run_and_then(
        self,
        sink: &mut dyn Sink,
        on_turn: &mut dyn FnMut(&Turn<'_>) -> ControlFlow<()>,
        on_end: &mut dyn FnMut(),
    ) -> Result<Report, fairwave_sim::Error> {
        let stop = self.stop.clone();
        let reference = self.options.measures_host.then(Reference::start).flatten();
        let mut turns = Turns::new(self, sink)?;
        let stopped = turns.run(stop.as_deref(), reference.as_ref(), on_turn);
        on_end();
        Ok(turns.finish(stopped, reference.as_ref()))
    }
}
