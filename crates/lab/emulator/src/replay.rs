//! A recorded run again, in virtual time.

use crate::entrance::Entrance;
use crate::log::{self, Reader, Record};
use crate::packet;
use fairwave_sim::world::World;
use fairwave_sim::{Command, Outcome, Simulation};
use fairwave_trace::Sink;
use fairwave_units::Instant;
use std::io::Read;

/// Reason for which nothing could be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The record cannot be read from its beginning.
    #[error(transparent)]
    Log(#[from] log::Error),
    /// The world cannot be simulated.
    #[error(transparent)]
    World(#[from] fairwave_sim::Error),
}

/// What a replay came to.
#[derive(Debug)]
pub struct Replayed {
    /// The run's outcome.
    pub outcome: Outcome,
    /// Packets that were given to the world.
    pub packets: u64,
    /// Time at which the run ended.
    pub end: Instant,
    /// Whether the record has everything that went in.
    pub is_complete: bool,
    /// Why the record could not be read to its end, if it could not. The run ends before that.
    pub broken: Option<log::Error>,
}

/// Gives `world` what a record says that it was given: the same samples go to `sink` as in the
/// recorded run, if the world is the same.
///
/// `command` reads the texts of commands again.
///
/// # Errors
/// [`Error`]; a record that is broken later on is replayed up to there.
pub fn replay(
    record: impl Read,
    world: &World,
    sink: &mut dyn Sink,
    command: &dyn Fn(&str) -> Option<Command>,
) -> Result<Replayed, Error> {
    let mut reader = Reader::new(record)?;
    let mut simulation = Simulation::new(world, sink)?;
    let mut entrance = Entrance::default();
    let (mut packets, mut is_complete) = (0, false);
    let broken = loop {
        match reader.read() {
            Ok(Some(Record::Packet { at, ends, len, bytes })) => {
                // What a world refuses now it has refused before.
                if let Ok(description) = packet::describe(bytes, len) {
                    let _ =
                        entrance.inject(&mut simulation, at, &description, bytes, packets, ends);
                }
                packets += 1;
                while simulation.take().is_some() {}
            }
            Ok(Some(Record::Control { at, text })) => {
                // The recorded run found it possible, and so does the same world.
                if let Some(command) = command(text) {
                    let _ = simulation.command(&command, at);
                }
            }
            Ok(Some(Record::End { is_complete: all, .. })) => is_complete = all,
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let end = reader.until();
    Ok(Replayed { outcome: simulation.finish(end), packets, end, is_complete, broken })
}
