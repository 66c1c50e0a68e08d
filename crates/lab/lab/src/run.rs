//! Running jobs: one into a summary and, if wanted, a run directory; many over worker threads.
//!
//! Runs are independent and serial within: the number of workers changes nothing but the time
//! it takes.

mod done;
mod elsewhere;
mod kept;
mod shard;
mod stored;
mod sweep;

pub use done::{Run, directory_of, root_of};
pub use elsewhere::{MakeError, check_version, make};
pub use kept::{Kept, complete_runs, kept, missing, none_of, remove_others, replaced};
pub use shard::{Shard, jobs_of};
pub use sweep::{Before, Progress, SweepOptions, Watch, sweep, sweep_all, sweep_with};

use crate::results::{
    self, EmulationSummary, Names, Recorder, RunDirectory, Stretches, Summary, Wanted,
};
use fairwave_scenario::Record;
use fairwave_scenario::plan::{Job, Plan};
use fairwave_sim::Outcome;
use fairwave_sim::world::World;
use fairwave_trace::{Kind, NodeId, Sample, Sink};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Contents, Datagram};
use std::collections::BTreeMap;
use std::path::Path;

/// Reason for which a run failed; the message names the seed, unless all runs were ended together.
#[derive(Debug, thiserror::Error)]
#[error("{}", message(*.seed, .axes, .cause))]
pub struct Error {
    /// The run's seed.
    pub seed: u64,
    /// Its point of the sweep.
    pub axes: Vec<(String, String)>,
    /// Its cause.
    #[source]
    pub cause: Cause,
}

/// Cause for which a run stopped.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The simulator refused the world.
    #[error(transparent)]
    Simulator(#[from] fairwave_sim::Error),
    /// The results could not be written.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// The worker threads could not be started.
    #[error("no worker threads: {0}")]
    Workers(#[from] rayon::ThreadPoolBuildError),
    /// An algorithm from outside could not go on; its caller knows why.
    #[error("an algorithm from outside failed")]
    Algorithm,
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
    /// Another host than the simulator could not run the world.
    #[error(transparent)]
    Host(#[from] Box<dyn std::error::Error + Send + Sync>),
}

fn message(seed: u64, axes: &[(String, String)], cause: &Cause) -> String {
    if matches!(cause, Cause::Interrupted) {
        return cause.to_string();
    }
    let list: Vec<String> = axes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let at = if list.is_empty() { String::new() } else { format!(" at {}", list.join(", ")) };
    format!("run with seed {seed}{at}: {cause}")
}

impl Error {
    /// Whether the only cause is that the user ended the run or its sweep.
    pub const fn is_interruption(&self) -> bool {
        matches!(self.cause, Cause::Interrupted)
    }

    const fn interrupted() -> Self {
        Self { seed: 0, axes: Vec::new(), cause: Cause::Interrupted }
    }
}

/// Passes each sample on to all recorders.
struct Tee<'a> {
    stretches: &'a mut Stretches,
    recorder: Option<&'a mut Recorder>,
}

impl Sink for Tee<'_> {
    fn wants(&self, kind: Kind) -> bool {
        self.stretches.wants(kind) || self.recorder.as_ref().is_some_and(|r| r.wants(kind))
    }

    fn taps(&self, node: NodeId) -> bool {
        self.recorder.as_ref().is_some_and(|r| r.taps(node))
    }

    fn note_contents(&mut self, datagram: &Datagram, contents: Contents) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note_contents(datagram, contents);
        }
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        self.stretches.record(at, sample);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(at, sample);
        }
    }
}

/// Name that the store gives to the series and captures of a run.
const SERIES: &str = "series";

/// Whether and where runs leave their directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// Nowhere.
    Nothing,
    /// Scenario, provenance and summary only: for large sweeps.
    Summary(&'a Path),
    /// The same, captures that the scenario asks for, and the tables of these files.
    Tables(&'a Path, &'a [&'a str]),
    /// Everything that the scenario asks for.
    Full(&'a Path),
}

impl<'a> Output<'a> {
    fn path(self) -> Option<&'a Path> {
        match self {
            Self::Nothing => None,
            Self::Summary(path) | Self::Tables(path, _) | Self::Full(path) => Some(path),
        }
    }

    /// Name that the store gives to the series of a run; `None` if it leaves none.
    fn series(self) -> Option<String> {
        match self {
            Self::Nothing | Self::Summary(_) => None,
            Self::Tables(_, tables) => Some(format!("{SERIES} {}", tables.join(" "))),
            Self::Full(_) => Some(SERIES.to_owned()),
        }
    }

    fn at(self, path: &'a Path) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Summary(_) => Self::Summary(path),
            Self::Tables(_, tables) => Self::Tables(path, tables),
            Self::Full(_) => Self::Full(path),
        }
    }

    fn wanted(self, record: &Record, taps: Vec<NodeId>) -> Wanted {
        match self {
            Self::Nothing | Self::Summary(_) => Wanted::default(),
            Self::Tables(..) | Self::Full(_) => Wanted {
                series: true,
                tables: match self {
                    Self::Tables(_, tables) => {
                        Some(tables.iter().map(|table| (*table).to_owned()).collect())
                    }
                    _ => None,
                },
                drops: record.drops,
                capture: record.pcap,
                taps,
                snap_len: record.snap_length,
            },
        }
    }
}

/// Runs one job. `output` names the run's own directory.
///
/// # Errors
/// A world that the simulator refuses, or a directory that cannot be written.
pub fn execute(
    plan: &Plan,
    job: Job,
    output: Output<'_>,
    progress: &mut dyn FnMut(Instant),
) -> Result<Run, Error> {
    let mut goes_on = |now| {
        progress(now);
        true
    };
    execute_while(plan, job, output, &mut goes_on)
}

/// Executes the run until `goes_on`, which gets the virtual time, returns `false`. Such a run
/// leaves no summary.
///
/// # Errors
/// As [`execute`], [`Cause::Interrupted`] and [`Cause::Algorithm`].
pub fn execute_while(
    plan: &Plan,
    job: Job,
    output: Output<'_>,
    goes_on: &mut dyn FnMut(Instant) -> bool,
) -> Result<Run, Error> {
    let failure = plan.own.failure();
    let mut goes_on = |now| !failure.is_set() && goes_on(now);
    let is_own = plan.points[job.point].scenario.has_own_algorithms();
    let around = |part: &mut dyn FnMut()| if is_own { plan.own.around(part) } else { part() };
    let mut simulator = |world: &World, sink: &mut dyn Sink| {
        let outcome = fairwave_sim::run_around(world, sink, &mut goes_on, &around)?;
        let outcome = match failure.is_set() {
            true => return Err(Cause::Algorithm),
            false => outcome.ok_or(Cause::Interrupted)?,
        };
        Ok(Hosted { outcome, emulation: None, flows_without_figures: Vec::new() })
    };
    execute_on(plan, job, output, &mut simulator)
}

/// Results of a world on a host.
#[derive(Debug)]
pub struct Hosted {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Results that only an emulator has.
    pub emulation: Option<EmulationSummary>,
    /// Names of flows of which the host has no figures: the summary leaves them out.
    pub flows_without_figures: Vec<String>,
}

/// A host: runs a world and passes its samples to a sink.
pub type Host<'a> = dyn FnMut(&World, &mut dyn Sink) -> Result<Hosted, Cause> + 'a;

/// Runs one job on the host `run`. `output` names the run's own directory.
///
/// # Errors
/// A host that fails, or a directory that cannot be written.
pub fn execute_on(
    plan: &Plan,
    job: Job,
    output: Output<'_>,
    run: &mut Host<'_>,
) -> Result<Run, Error> {
    let axes = &plan.points[job.point].axes;
    host(plan, job, output, run).map_err(|cause| Error {
        seed: job.seed,
        axes: axes.clone(),
        cause,
    })
}

fn host(plan: &Plan, job: Job, output: Output<'_>, run: &mut Host<'_>) -> Result<Run, Cause> {
    let scenario = plan.scenario(job);
    let world = scenario.to_world(job.seed);
    let names = Names::of(&world);
    let axes: BTreeMap<String, String> = plan.points[job.point].axes.iter().cloned().collect();
    let wanted = output.wanted(&scenario.record, scenario.tapped());
    let meta = done::provenance(plan, job, &world, &wanted.taps);
    let open = |path| RunDirectory::create(path, &meta, &scenario.to_toml());
    let opened = output.path().map(open).transpose()?;
    let mut recorder = opened.as_ref().map(|d| d.recorder(&world, &wanted)).transpose()?;
    let mut stretches = Stretches::new(&names);
    let mut tee = Tee { stretches: &mut stretches, recorder: recorder.as_mut() };
    let Hosted { outcome, emulation, flows_without_figures } = run(&world, &mut tee)?;
    let summary = Summary { emulation, ..Summary::new(&names, &outcome, &stretches) };
    let summary = if flows_without_figures.is_empty() {
        summary
    } else {
        summary.without_flows(&flows_without_figures)
    };
    if let Some(recorder) = recorder {
        recorder.finish()?;
    }
    if let Some(opened) = opened {
        opened.summary(&summary)?;
    }
    Ok(Run { axes, seed: job.seed, summary, directory: output.path().map(Path::to_owned) })
}
