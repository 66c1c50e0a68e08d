//! Programs of an emulation, which are started and ended at their times or with the run.
//!
//! They are handled by a separate thread: to start a process takes milliseconds, which the loop
//! that drives the world cannot spare.

use fairwave_lab::results::ProgramSummary;
use fairwave_linux::clock::Clock;
use fairwave_netns::{Invocation, Namespaces, Program, ProgramPlan};
use fairwave_scenario::Started;
use fairwave_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Folder of the run directory with the output of programs.
pub const LOGS: &str = "programs";
/// Maximum time for a program to end after it was asked to.
const GRACE: Duration = Duration::from_secs(1);
/// Period at which programs are checked.
const LOOK: Duration = Duration::from_millis(5);

/// Name of the file with the output of the `number`th program of a node, from 0.
pub fn log_name(node: &str, number: usize) -> String {
    match number {
        0 => format!("{node}.log"),
        more => format!("{node}-{}.log", more + 1),
    }
}

/// A program of the emulation.
struct Job {
    /// Index of its namespace, and the node's name.
    node: (usize, String),
    start: Instant,
    stop: Option<Instant>,
    command: String,
    log: Option<PathBuf>,
    /// Whether it uses the terminal; the run then ends with it.
    is_shell: bool,
    state: State,
}

enum State {
    Waits,
    Runs(Program),
    /// It was asked to end, and will be killed at this time.
    Ends(Program, Instant),
    Over {
        status: Option<ExitStatus>,
        by_run: bool,
    },
    /// It could not be started, for this reason.
    Failed(String),
}

/// All programs of an emulation.
pub(crate) struct Programs<'n> {
    namespaces: &'n Namespaces,
    jobs: Vec<Job>,
    has_directory: bool,
}

impl<'n> Programs<'n> {
    /// Creates the programs, whose output is written below `directory`.
    ///
    /// # Errors
    /// If the folder for their output cannot be created.
    pub(crate) fn new(
        namespaces: &'n Namespaces,
        started: &[Started],
        name: impl Fn(&Started) -> String,
        directory: Option<&Path>,
    ) -> io::Result<Self> {
        let folder = directory.filter(|_| !started.is_empty()).map(|d| d.join(LOGS));
        folder.as_deref().map_or(Ok(()), fs::create_dir_all)?;
        let mut of_node: BTreeMap<String, usize> = BTreeMap::new();
        let job = |started: &Started| {
            let node = name(started);
            let number = of_node.entry(node.clone()).or_default();
            let log = folder.as_ref().map(|folder| folder.join(log_name(&node, *number)));
            *number += 1;
            Some(Job {
                node: (namespaces.find(&node)?, node),
                start: Instant::ZERO + started.program.start,
                stop: started.program.stop.map(|stop| Instant::ZERO + stop),
                command: started.program.command.clone(),
                log,
                is_shell: false,
                state: State::Waits,
            })
        };
        let jobs = started.iter().filter_map(job).collect();
        Ok(Self { namespaces, jobs, has_directory: directory.is_some() })
    }

    /// Adds a shell in a node, on this process's terminal.
    pub(crate) fn add_shell(&mut self, node: &str) {
        // The command is replaced by the user's shell.
        let command = "exec \"${SHELL:-/bin/sh}\"".to_owned();
        let job = |place| Job {
            node: (place, node.to_owned()),
            start: Instant::ZERO,
            stop: None,
            command,
            log: None,
            is_shell: true,
            state: State::Waits,
        };
        self.jobs.extend(self.namespaces.find(node).map(job));
    }

    /// Starts and ends programs until `over`, or until the keeper and with it the programs have
    /// ended. `count` is set to the number of running programs. Returns early, with `true`, when no
    /// program runs or waits any more, or when the shell has ended.
    pub(crate) fn attend(&mut self, clock: Clock, over: &AtomicBool, count: &AtomicUsize) -> bool {
        while !over.load(Ordering::Relaxed) && self.namespaces.check_keeper().is_ok() {
            let now = clock.now();
            for job in &mut self.jobs {
                job.attend(self.namespaces, now);
            }
            let runs = |job: &&Job| matches!(job.state, State::Runs(_) | State::Ends(..));
            count.store(self.jobs.iter().filter(runs).count(), Ordering::Relaxed);
            let goes_on = |job: &Job| !matches!(job.state, State::Over { .. } | State::Failed(_));
            let is_left = |job: &Job| job.is_shell && !goes_on(job);
            let has_ended = !self.jobs.is_empty() && !self.jobs.iter().any(goes_on);
            if has_ended || self.jobs.iter().any(is_left) {
                return true;
            }
            clock.sleep_until(now + LOOK);
        }
        false
    }

    /// Ends the running programs: all are asked to end before the first is waited for, and share
    /// the time for that.
    pub(crate) fn end(mut self, clock: Clock) -> Vec<ProgramSummary> {
        let until = clock.now() + GRACE;
        for job in &mut self.jobs {
            job.request_end(until);
        }
        let has_directory = self.has_directory;
        let is_listed = |job: &Job| !job.is_shell || matches!(job.state, State::Failed(_));
        let ended = |mut job: Job| {
            job.await_end(clock);
            is_listed(&job).then_some(job).map(|job| job.ended(has_directory))
        };
        self.jobs.into_iter().filter_map(ended).collect()
    }
}

impl Job {
    fn attend(&mut self, namespaces: &Namespaces, now: Instant) {
        match &self.state {
            State::Waits if self.start <= now => {
                self.state = self.begin(namespaces).map_or_else(State::Failed, State::Runs);
            }
            State::Runs(_) => {
                self.look();
                if self.stop.is_some_and(|stop| stop <= now) {
                    self.request_end(now + GRACE);
                }
            }
            // The end is polled instead of waited for, as other programs may have to start at their
            // times.
            State::Ends(program, until)
                if *until <= now || !matches!(program.try_wait(), Ok(None)) =>
            {
                self.kill_after(Duration::ZERO);
            }
            _ => {}
        }
    }

    /// Checks whether the program has ended by itself.
    fn look(&mut self) {
        let State::Runs(program) = &self.state else { return };
        match program.try_wait() {
            Ok(Some(status)) => self.state = State::Over { status: Some(status), by_run: false },
            Ok(None) => {}
            Err(error) => self.state = State::Failed(error.to_string()),
        }
    }

    /// Asks the program to end before `until`, if it still runs.
    fn request_end(&mut self, until: Instant) {
        self.look();
        self.state = match std::mem::replace(&mut self.state, State::Waits) {
            State::Runs(program) => {
                program.request_end();
                State::Ends(program, until)
            }
            other => other,
        };
    }

    /// Waits for a program that was asked to end, and kills it when its time is over.
    fn await_end(&mut self, clock: Clock) {
        if let State::Ends(_, until) = self.state {
            self.kill_after(until.since(clock.now()));
        }
    }

    /// Kills a program that was asked to end unless it ends within `grace`.
    fn kill_after(&mut self, grace: Duration) {
        if let State::Ends(program, _) = &self.state {
            let grace = core::time::Duration::from_nanos(grace.as_nanos());
            let status = program.kill_after(grace).ok();
            self.state = State::Over { status, by_run: true };
        }
    }

    fn begin(&self, namespaces: &Namespaces) -> Result<Program, String> {
        if self.is_shell {
            let invocation = Invocation::Shell(self.command.clone());
            return namespaces.attach(self.node.0, &invocation).map_err(|error| error.to_string());
        }
        let path = self.log.clone().unwrap_or_else(|| PathBuf::from("/dev/null"));
        let open =
            File::options().create(true).write(true).truncate(self.log.is_some()).open(&path);
        let output = open.map_err(|error| format!("{}: {error}", path.display()))?;
        let plan = ProgramPlan {
            invocation: Invocation::Shell(self.command.clone()),
            output,
            environment: Vec::new(),
            directory: None,
        };
        namespaces.spawn(self.node.0, plan).map_err(|error| error.to_string())
    }

    fn ended(self, has_directory: bool) -> ProgramSummary {
        let was_started = !matches!(self.state, State::Waits);
        let (status, by_run, failed) = match self.state {
            State::Over { status, by_run } => {
                let failed = !by_run && !status.is_some_and(|status| status.success());
                (status, by_run, failed)
            }
            State::Failed(why) => {
                // The log gets a message as a shell would have written it.
                if let Some(log) = &self.log {
                    let _ = fs::write(log, format!("fairwave: {why}\n"));
                }
                (None, false, true)
            }
            // The run ended before the program's start.
            State::Waits => (None, false, false),
            State::Runs(_) | State::Ends(..) => (None, true, false),
        };
        let name = self.log.as_deref().and_then(Path::file_name);
        let log = name.filter(|_| has_directory && was_started);
        ProgramSummary {
            node: self.node.1,
            command: self.command,
            log: log.map(|name| format!("{LOGS}/{}", name.to_string_lossy())),
            status: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            ended_by_run: by_run,
            failed,
        }
    }
}
