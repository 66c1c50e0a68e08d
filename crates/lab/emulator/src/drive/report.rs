//! What a run shows while it lasts, and what it came to.

use super::EndCounts;
use crate::log::Recorded;
use crate::meter::{Fidelity, Lateness, Limits, Meter, Reference, Verdict};
use fairwave_sim::Outcome;
use fairwave_units::{Duration, Instant};
use rustix::io::Errno;

/// A run between two turns.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Time since the start.
    pub now: Instant,
    /// Measurements so far.
    pub meter: &'a Meter,
    /// What passed each end.
    pub ends: &'a [EndCounts],
    /// Packets in the world.
    pub under_way: usize,
    pub(super) reference: Option<&'a Reference>,
}

impl Turn<'_> {
    /// How late a bare timer loop has been meanwhile, if one runs.
    pub fn reference(&self) -> Option<Lateness> {
        self.reference.map(Reference::lateness)
    }
}

/// Reason for which a run ended.
#[derive(Debug)]
pub enum Stopped {
    /// Its time was over.
    End,
    /// It was told to.
    Asked,
    /// It could not go on.
    Failed(Error),
}

/// Reason for which a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The interface of a node does not exist any more.
    #[error("the interface of {node} has vanished: {cause}")]
    Vanished {
        /// The node's name.
        node: String,
        /// What the kernel said.
        cause: Errno,
    },
    /// The kernel cannot wait for the ends.
    #[error("no waiting for packets: {0}")]
    Wait(Errno),
    /// The machine is too slow for this world.
    #[error("the world is {0} behind the clock: the machine cannot keep up with it")]
    Overloaded(Duration),
    /// What the run stands on is gone, as those say who built it.
    #[error("{0}")]
    Gone(Box<dyn core::error::Error + Send + Sync>),
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// As of a simulated run.
    pub outcome: Outcome,
    /// How well real time was kept.
    pub fidelity: Fidelity,
    /// What is to be kept for the run to be valid.
    pub limits: Limits,
    /// What passed each end, in the order in which the ends were given.
    pub ends: Vec<EndCounts>,
    /// Time at which it ended.
    pub end: Instant,
    /// Why.
    pub stopped: Stopped,
    /// What became of the record, if one was kept.
    pub recorded: Option<Recorded>,
}

impl Report {
    /// Whether the run is valid; if not, the first reason against it.
    pub fn verdict(&self) -> Verdict {
        match &self.stopped {
            Stopped::Failed(error) => Verdict::Invalid(error.to_string()),
            Stopped::End | Stopped::Asked => self.fidelity.verdict(&self.limits),
        }
    }
}
