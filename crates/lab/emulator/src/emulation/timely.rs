//! Successive runs in real time: each is repeated once if it was late.

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

/// Options of the runs.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Whether the emulator's loop gets a real-time priority.
    pub realtime: bool,
    /// Ends the run under way when it becomes true.
    pub stop: Arc<AtomicBool>,
    /// Fairwave's own program, which is run as proxy of flows on sockets.
    pub program: PathBuf,
}

/// A run, and whether it was repeated.
#[derive(Clone, Debug)]
pub struct Timely {
    /// The run; if the first was late, the second one.
    pub run: Run,
    /// Whether the first was late.
    pub is_repeated: bool,
}

/// Errors that prevent a run.
#[derive(Debug, thiserror::Error)]
pub enum TimelyError {
    /// It failed.
    #[error(transparent)]
    Emulation(#[from] run::Error),
    /// It ended early because of an error.
    #[error("{0}; the runs until then are kept")]
    Broken(String),
    /// The user interrupted it.
    #[error("interrupted; the runs until then are kept")]
    Interrupted,
    /// Its output could not be removed.
    #[error(transparent)]
    Results(#[from] results::Error),
}

/// Emulates `job` of `plan` into `directory`, and repeats it once if the emulator did not keep real
/// time. A run that ends early leaves no summary, so that its directory does not count as complete.
///
/// # Errors
/// Any [`TimelyError`]. A run that was late twice is no error.
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

/// The reason for which a run is not valid, if it is not.
pub fn late(run: &Run) -> Option<&str> {
    run.summary.emulation.as_ref()?.invalid_reason.as_deref()
}

/// The run of `job` that an earlier process completed in `directory`, if it exists and kept real
/// time.
///
/// # Errors
/// If the directory has a summary that cannot be read.
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
