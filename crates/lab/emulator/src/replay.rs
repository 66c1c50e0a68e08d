//! Replay of a record in virtual time.

use crate::entrance::Entrance;
use crate::log::{self, Reader, Record};
use crate::packet;
use fairwave_sim::world::World;
use fairwave_sim::{Command, Outcome, Simulation};
use fairwave_trace::Sink;
use fairwave_units::Instant;
use std::io::Read;

/// Errors before the first entry of a record.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The header of the record cannot be read.
    #[error(transparent)]
    Log(#[from] log::Error),
    /// The world cannot be simulated.
    #[error(transparent)]
    World(#[from] fairwave_sim::Error),
}

/// Result of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// The run's outcome.
    pub outcome: Outcome,
    /// Number of packets that entered the world.
    pub packets: u64,
    /// Time at which the run ended.
    pub end: Instant,
    /// Whether the record is complete.
    pub is_complete: bool,
    /// The error at which reading the record ended, if there was one. The run ends there.
    pub broken: Option<log::Error>,
}

/// Replays a record into `world`. If the world is the same as in the recorded run, `sink` receives
/// the same samples.
///
/// `command` parses the texts of commands.
///
/// # Errors
/// Any [`Error`]. A record with later damage is replayed up to the damage.
pub fn replay(
    record: impl Read,
    world: &World,
    sink: &mut dyn Sink,
    command: &dyn Fn(&str) -> Option<Command>,
) -> Result<Replayed, Error> {
    let mut reader = Reader::new(record)?;
    let mut simulation = Simulation::new(world, sink)?;
    let mut entrance = Entrance::new(world);
    let (mut packets, mut is_complete) = (0, false);
    let broken = loop {
        match reader.read() {
            Ok(Some(Record::Packet { at, ends, len, bytes })) => {
                // A packet that the world refuses here was also refused in the recorded run.
                if let Ok(description) = packet::describe(bytes, len) {
                    let _ =
                        entrance.inject(&mut simulation, at, &description, bytes, packets, ends);
                }
                packets += 1;
                while simulation.take().is_some() {}
            }
            Ok(Some(Record::Control { at, text })) => {
                // The command succeeded in the recorded run, and therefore does in the same world.
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
