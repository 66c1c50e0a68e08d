//! What others say to a world that is driven.

use fairwave_sim::Command;
use fairwave_trace::Sample;
use fairwave_units::Instant;
use std::sync::mpsc::{Receiver, SyncSender};

/// What others have to say to the world meanwhile.
#[derive(Debug, Default)]
pub struct Inbox {
    /// What flows on sockets saw, for the sink.
    pub samples: Option<Receiver<(Instant, Sample)>>,
    /// Changes.
    pub controls: Option<Receiver<Control>>,
}

/// A change of the world.
#[derive(Debug)]
pub struct Control {
    /// What is to change.
    pub command: Command,
    /// The same as the record keeps it, for who reads it again.
    pub text: String,
    /// Hears when it was done, or why not.
    pub done: SyncSender<Result<Instant, String>>,
}
