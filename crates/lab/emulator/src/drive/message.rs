//! Messages to a world in operation.

use fairwave_sim::Command;
use fairwave_trace::Sample;
use fairwave_units::Instant;
use std::sync::mpsc::{Receiver, SyncSender};

/// Channels of messages to the world.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Samples of flows on sockets, for the sink.
    pub samples: Option<Receiver<(Instant, Sample)>>,
    /// Changes of the world.
    pub controls: Option<Receiver<Control>>,
}

/// A change of the world.
#[derive(Debug)]
pub struct Control {
    /// The change.
    pub command: Command,
    /// The change as text, for the record; a replay parses it again.
    pub text: String,
    /// Receives the time of the change, or the reason of a failure.
    pub done: SyncSender<Result<Instant, String>>,
}
