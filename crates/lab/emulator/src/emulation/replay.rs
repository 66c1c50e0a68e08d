//! Replay of an emulated run in virtual time.

use crate::emulation::drops::Attributing;
use crate::emulation::flows;
use crate::emulation::run::{Error, RECORD};
use crate::{ReplayError, Replayed};
use core::cell::RefCell;
use fairwave_lab::run::{self, Cause, Hosted, Output, Run};
use fairwave_scenario::plan::{Job, Plan};
use fairwave_scenario::{Scenario, Steering};
use fairwave_sim::world::World;
use fairwave_trace::{FlowId, Sink};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// Options of a replay.
#[derive(Debug)]
pub struct Replay<'a> {
    /// The plan of the recorded run's scenario, possibly with other settings.
    pub plan: &'a Plan,
    /// Its job.
    pub job: Job,
    /// The directory of the recorded run.
    pub recorded: &'a Path,
    /// The scenario of the recorded run.
    pub before: &'a Scenario,
    /// The directory for the output of the replay, if it is written.
    pub directory: Option<&'a Path>,
}

/// Errors of a replay.
#[derive(Debug, thiserror::Error)]
enum Lack {
    #[error("{0}: there is no record of the packets that entered this run; emulate with --record")]
    Missing(String),
    #[error("{0}: {1}")]
    Unreadable(String, io::Error),
    #[error("{0}: {1}")]
    Broken(String, ReplayError),
    #[error("the recorded run has other nodes: {0} instead of {1}")]
    Nodes(String, String),
}

/// A replayed run.
#[derive(Debug)]
pub struct Repeated {
    /// The run. Flows on the kernel's sockets have packets in it but no figures, which only the
    /// sockets had: the summary omits them.
    pub run: Run,
    /// The names of those flows.
    pub on_sockets: Vec<String>,
    /// Notes about the record, and about commands that could not be repeated.
    pub lints: Vec<String>,
}

/// Replays a recorded run.
///
/// # Errors
/// If there is no record, none of it can be read, or it does not fit the scenario. A truncated or
/// incomplete record is replayed as far as it goes.
pub fn replay(replay: &Replay<'_>) -> Result<Repeated, Error> {
    let &Replay { plan, job, recorded, before, directory } = replay;
    let scenario = plan.scenario(job);
    let path = recorded.join(RECORD);
    let mut lints = Vec::new();
    let mut on_sockets = Vec::new();
    let mut host = |world: &World, sink: &mut dyn Sink| {
        fits(before, job, world)?;
        let file = open(&path)?;
        let kernels = scenario.kernel_flows();
        let name = |id: &FlowId| world.flows[id.0 as usize].name.clone();
        on_sockets = kernels.iter().map(name).collect();
        let mut sink = Attributing::new(world, &kernels, sink);
        let world = flows::rest_of(world, &kernels).steerable();
        let steering = Steering::new(&scenario, &world);
        let refused = RefCell::new(Vec::new());
        let command = |text: &str| {
            let read = steering.replayed(text);
            read.map_err(|error| refused.borrow_mut().push(error)).ok()
        };
        let replayed = crate::replay(BufReader::new(file), &world, &mut sink, &command);
        let broken = |error| cause(Lack::Broken(path.display().to_string(), error));
        let mut replayed = replayed.map_err(broken)?;
        sink.put_into(&mut replayed.outcome.flows);
        lints = doubts_of(&path, &replayed);
        lints.extend(refused.take().iter().map(|error| format!("not done here: {error}")));
        let flows_without_figures = on_sockets.clone();
        Ok(Hosted { outcome: replayed.outcome, emulation: None, flows_without_figures })
    };
    let output = directory.map_or(Output::Nothing, Output::Full);
    let run = run::execute_on(plan, job, output, &mut host)?;
    lints.extend((!on_sockets.is_empty()).then(|| without_sockets(recorded, &on_sockets)));
    Ok(Repeated { run, on_sockets, lints })
}

/// Note about the figures of flows on sockets, which a replay lacks.
fn without_sockets(recorded: &Path, flows: &[String]) -> String {
    let (recorded, flows) = (recorded.display(), flows.join(", "));
    format!(
        "sockets of the kernel carried {flows}: the replay repeats their packets and has no \
         figures of the flows, which are in {recorded}/summary.json as they were recorded"
    )
}

/// Checks that the node numbers in the record refer to the same nodes.
fn fits(before: &Scenario, job: Job, world: &World) -> Result<(), Cause> {
    let names = |world: &World| -> Vec<String> {
        world.nodes.iter().map(|node| node.name.clone()).collect()
    };
    let (before, now) = (names(&before.to_world(job.seed)), names(world));
    if before == now {
        return Ok(());
    }
    Err(cause(Lack::Nodes(before.join(", "), now.join(", "))))
}

fn open(path: &Path) -> Result<File, Cause> {
    let name = || path.display().to_string();
    File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => cause(Lack::Missing(name())),
        _ => cause(Lack::Unreadable(name(), error)),
    })
}

fn doubts_of(path: &Path, replayed: &Replayed) -> Vec<String> {
    let path = path.display();
    let (packets, end) = (replayed.packets, replayed.end);
    let broken = replayed.broken.as_ref().map(|error| format!("{path}: {error}"));
    let is_cut = broken.is_some() || replayed.is_complete;
    let lacks = || {
        format!(
            "{path}: the emulator could not record all: {packets} packets until {end} are in it"
        )
    };
    broken.into_iter().chain((!is_cut).then(lacks)).collect()
}

fn cause(lack: Lack) -> Cause {
    Cause::Host(Box::new(lack))
}
