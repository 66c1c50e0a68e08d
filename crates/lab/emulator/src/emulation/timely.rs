//! Runs one after the other in real time: each is repeated once if it was late.

use crate::drive::Turn;
use crate::emulation::live::Live;
use crate::emulation::run::{self, Request};
use fairwave_lab::results;
use fairwave_lab::run::{Kept, Run, kept};
use fairwave_scenario::plan::{Job, Plan};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How runs are made.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Whether the emulator's loop gets a real-time priority.
    pub realtime: bool,
    /// Ends the run under way when it becomes true.
    pub stop: Arc<AtomicBool>,
    /// Fairwave's own program, which is the proxy of flows on sockets that pass one.
    pub program: PathBuf,
}

/// A run, and how often it was made.
#[derive(Clone, Debug)]
pub struct Timely {
    /// The run; the second one if the first was late.
    pub run: Run,
    /// Whether the first was late.
    pub is_repeated: bool,
}

/// Reason for which there is no run.
#[derive(Debug, thiserror::Error)]
pub enum TimelyError {
    /// It failed.
    #[error(transparent)]
    Emulation(#[from] run::Error),
    /// It was cut short in mid-run.
    #[error("{0}; the runs until then are kept")]
    Broken(String),
    /// Somebody ended it.
    #[error("interrupted; the runs until then are kept")]
    Interrupted,
    /// What it left could not be removed.
    #[error(transparent)]
    Results(#[from] results::Error),
}

/// Emulates `job` of `plan` into `directory`, and once more if the emulator did not keep real time.
/// A run that is cut short leaves no summary, so that its directory does not count as complete.
///
/// # Errors
/// [`TimelyError`]; a run that was late twice is none.
pub fn timely(
    plan: &Plan,
    job: Job,
    directory: &Path,
    manner: &Manner,
    show: &mut dyn FnMut(&Turn<'_>),
) -> Result<Timely, TimelyError> {
    let first = once(plan, job, directory, manner, show)?;
    if late(&first).is_none() {
        return Ok(Timely { run: first, is_repeated: false });
    }
    let run = once(plan, job, directory, manner, show)?;
    Ok(Timely { run, is_repeated: true })
}

/// Reason for which a run cannot be believed, if it cannot.
pub fn late(run: &Run) -> Option<&str> {
    run.summary.emulation.as_ref()?.invalid_reason.as_deref()
}

/// The run of `job` that an earlier process completed in `directory`, if there is one and it kept
/// real time.
///
/// # Errors
/// When the directory has a summary and cannot be read.
pub fn completed(plan: &Plan, job: Job, directory: &Path) -> Result<Option<Run>, results::Error> {
    Ok(match kept(plan, job, directory)? {
        Kept::Run(run) if late(&run).is_none() => Some(*run),
        _ => None,
    })
}

fn once(
    plan: &Plan,
    job: Job,
    directory: &Path,
    manner: &Manner,
    show: &mut dyn FnMut(&Turn<'_>),
) -> Result<Run, TimelyError> {
    let request = Request {
        plan,
        job,
        directory: Some(directory),
        uplinks: &[],
        between: None,
        records: false,
        windows: false,
        beside_simulation: false,
        stop: Arc::clone(&manner.stop),
        shell: None,
        realtime: manner.realtime,
        program: &manner.program,
        live: &Live::default(),
    };
    let emulated = run::run(&request, show)?;
    let error = match emulated.broken {
        Some(broken) => TimelyError::Broken(broken.to_string()),
        None if manner.stop.load(Ordering::Relaxed) => TimelyError::Interrupted,
        None => return Ok(emulated.run),
    };
    let path = directory.join("summary.json");
    fs::remove_file(&path).map_err(|source| results::Error::Io { path, source })?;
    Err(error)
}
