//! Everything that a run of the loop begins with.

use super::{Association, End, Inbox, Options};
use crate::log;
use fairwave_linux::clock::Clock;
use fairwave_sim::world::World;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

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
