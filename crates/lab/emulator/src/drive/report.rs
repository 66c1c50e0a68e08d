//! State of a run, and its results.

use super::EndCounts;
use crate::log::Recorded;
use crate::meter::{Fidelity, Lateness, Limits, Meter, Reference, Verdict};
use fairwave_sim::Outcome;
use fairwave_units::{Duration, Instant};
use rustix::io::Errno;

/// State of a run between two turns.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Time since the start.
    pub now: Instant,
    /// Measurements so far.
    pub meter: &'a Meter,
    /// Counters of each end.
    pub ends: &'a [EndCounts],
    /// Packets in the world.
    pub under_way: usize,
    pub(super) reference: Option<&'a Reference>,
}

impl Turn<'_> {
    /// Lateness of a bare timer loop so far, if one runs.
    pub fn reference(&self) -> Option<Lateness> {
        self.reference.map(Reference::lateness)
    }
}

/// Reason for which a run ended.
#[derive(Debug)]
pub enum Stopped {
    /// Its time was over.
    End,
    /// It was asked to end.
    Asked,
    /// It failed.
    Failed(Error),
}

/// Errors that end a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The interface of a node has vanished.
    #[error("the interface of {node} has vanished: {cause}")]
    Vanished {
        /// The node's name.
        node: String,
        /// Error from the kernel.
        cause: Errno,
    },
    /// Waiting for the ends failed.
    #[error("no waiting for packets: {0}")]
    Wait(Errno),
    /// The machine is too slow for this world.
    #[error("the world is {0} behind the clock: the machine cannot keep up with it")]
    Overloaded(Duration),
    /// The caller found that a resource of the run is gone.
    #[error("{0}")]
    Gone(Box<dyn core::error::Error + Send + Sync>),
}

/// Results of a run.
#[derive(Debug)]
pub struct Report {
    /// Outcome, as of a simulated run.
    pub outcome: Outcome,
    /// Lateness and losses of the emulator.
    pub fidelity: Fidelity,
    /// Limits within which the run is valid.
    pub limits: Limits,
    /// Counters of each end, in the order of the ends.
    pub ends: Vec<EndCounts>,
    /// Time at which it ended.
    pub end: Instant,
    /// Reason of its end.
    pub stopped: Stopped,
    /// Number of changes of the world by [`Control`](super::Control).
    pub changes: u64,
    /// State of the record, if one was written.
    pub recorded: Option<Recorded>,
}

impl Report {
    /// Decides whether the run is valid; if not, with the first reason.
    pub fn verdict(&self) -> Verdict {
        match &self.stopped {
            Stopped::Failed(error) => Verdict::Invalid(error.to_string()),
            Stopped::End | Stopped::Asked => self.fidelity.verdict(&self.limits),
        }
    }
}
