//! The runs of a matrix.

use super::findings::{Findings, Gathering};
use super::grid::{Grid, Half};
use super::{KERNEL, SIMULATOR};
use crate::drive::Turn;
use crate::emulation::timely::{Manner, Timely, TimelyError, completed, timely};
use fairwave_lab::results;
use fairwave_lab::run::{self, Before, Output, Watch, directory_of, missing};
use fairwave_scenario::plan::Job;
use fairwave_units::Duration;
use std::path::{Path, PathBuf};

/// Progress of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Completed runs in real time.
    pub done: usize,
    /// Total number of runs.
    pub total: usize,
    /// Real time of the completed runs.
    pub passed: Duration,
    /// Real time of all runs, if none has to be repeated.
    pub whole: Duration,
}

/// Options of running a matrix.
#[derive(Clone, Debug)]
pub struct Running<'a> {
    /// Root of the run directories, below which there are `kernel` and `simulator`.
    pub root: &'a Path,
    /// Treatment of existing complete runs. Late runs are always repeated.
    pub before: Before,
    /// Number of threads for the simulation of the same grid; `None` simulates nothing.
    pub simulate: Option<usize>,
    /// Options of the runs in real time.
    pub manner: Manner,
}

/// Errors that end a matrix early.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A run in real time failed.
    #[error(transparent)]
    Run(#[from] TimelyError),
    /// A run in the simulator failed.
    #[error(transparent)]
    Simulation(#[from] run::Error),
    /// The output of a run could not be read.
    #[error(transparent)]
    Results(#[from] results::Error),
}

impl Running<'_> {
    /// Number of runs in real time that are still missing, and their total duration. Existing runs
    /// that were late are not included.
    pub fn ahead(&self, half: &Half) -> (usize, Duration) {
        let root = self.root.join(KERNEL);
        let absent = self.absent(half, &root);
        let jobs = half.plan.jobs().into_iter();
        let jobs = jobs.filter(|job| absent.contains(&directory_of(&half.plan, *job, &root)));
        let lasts = |job: Job| half.plan.points[job.point].scenario.duration;
        jobs.fold((0, Duration::ZERO), |(runs, sum), job| (runs + 1, sum + lasts(job)))
    }

    /// An existing complete run that this matrix would replace in its continuation: with other
    /// values or seeds, or of another version of Fairwave.
    pub fn replaced(&self, grid: &Grid) -> Option<PathBuf> {
        if self.before == Before::Rerun {
            return None;
        }
        let simulated = self.simulate.map(|_| (&grid.simulator.plan, SIMULATOR));
        let mut plans = [(&grid.kernel.plan, KERNEL)].into_iter().chain(simulated);
        plans.find_map(|(plan, host)| run::replaced(plan, &self.root.join(host)))
    }

    /// Directories below `root` of the missing runs.
    fn absent(&self, half: &Half, root: &Path) -> Vec<PathBuf> {
        match self.before {
            Before::Resume => missing(&half.plan, None, root),
            Before::Rerun => {
                let jobs = half.plan.jobs().into_iter();
                jobs.map(|job| directory_of(&half.plan, job, root)).collect()
            }
        }
    }
}

/// Runs `grid` on the kernel's sockets, run by run, and then optionally in the simulator.
///
/// # Errors
/// Any [`Fault`]. Completed runs are kept.
pub fn run(grid: &Grid, running: &Running<'_>, show: &dyn Fn(Progress)) -> Result<Findings, Fault> {
    let mut gathering = Gathering::default();
    in_real_time(&grid.kernel, running, show, &mut gathering)?;
    if let Some(workers) = running.simulate {
        let root = running.root.join(SIMULATOR);
        let output = (Output::Full(&root), running.before);
        let half = &grid.simulator;
        let watch = Watch { progress: &|_| (), stop: &running.manner.stop };
        let runs = run::sweep_with(&half.plan, workers, output, watch, &|run| run)?;
        for (job, run) in half.plan.jobs().into_iter().zip(&runs) {
            gathering.add(SIMULATOR, &half.entries[job.point], run)?;
        }
    }
    Ok(gathering.end())
}

fn in_real_time(
    half: &Half,
    running: &Running<'_>,
    show: &dyn Fn(Progress),
    gathering: &mut Gathering,
) -> Result<(), Fault> {
    let root = running.root.join(KERNEL);
    let absent = running.absent(half, &root);
    let jobs = half.plan.jobs();
    let mut progress =
        Progress { done: 0, total: jobs.len(), passed: Duration::ZERO, whole: half.lasts() };
    for job in jobs {
        show(progress);
        let directory = directory_of(&half.plan, job, &root);
        let is_there = !absent.contains(&directory);
        let earlier = match is_there {
            true => completed(&half.plan, job, &directory)?,
            false => None,
        };
        let run = match earlier {
            Some(run) => run,
            None => {
                let at = |turn: &Turn<'_>| {
                    let passed = progress.passed + Duration::from_nanos(turn.now.as_nanos());
                    show(Progress { passed, ..progress });
                };
                let Timely { run, is_repeated } =
                    timely(&half.plan, job, &directory, &running.manner, &mut { at })?;
                gathering.repeated += usize::from(is_repeated);
                run
            }
        };
        gathering.add(KERNEL, &half.entries[job.point], &run)?;
        progress.done += 1;
        progress.passed += half.plan.points[job.point].scenario.duration;
    }
    show(progress);
    Ok(())
}
