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
mod setup;
mod stations;
mod turns;

pub use end::{End, EndCounts, Offload, Way};
pub use message::{Control, Inbox};
pub use options::Options;
pub use report::{Error, Report, Stopped, Turn};
pub use setup::Drive;
pub use stations::Association;

use crate::meter::Reference;
use core::ops::ControlFlow;
use fairwave_trace::Sink;
use turns::Turns;

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
