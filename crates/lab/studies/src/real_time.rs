//! A study in real time: its scenarios with the sockets of this machine's kernel, and in the
//! simulator beside.

use fairwave_emulator::emulation::{Manner, Timely, TimelyError, completed, late, timely};
use fairwave_lab::run::{self, Run, Watch};
use fairwave_scenario::plan::{Job, Override};
use fairwave_study::beside::{Beside, Judged, LeftOut};
use fairwave_study::{Planned, Results, Study, evaluate, simulate_plans};
use fairwave_units::Duration;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Directory of the simulator's runs, in that of the study.
const SIMULATOR: &str = "simulator";
/// Directory of the runs on the kernel's sockets.
const KERNEL: &str = "kernel";

/// Beginning of the reason for which late runs are left out.
pub const LATE: &str = "late twice";

/// Reason for which a study could not run on this host.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing of the study can run on a kernel's sockets.
    #[error("nothing of the study {study} runs with a kernel: {why}")]
    Nothing {
        /// The study.
        study: &'static str,
        /// Reason.
        why: String,
    },
    /// The study has no such experiment that runs with a kernel.
    #[error("{name:?} is no experiment that {study} runs with a kernel; there are: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The study.
        study: &'static str,
        /// The existing names.
        known: String,
    },
    /// The kernel does not list its congestion control algorithms.
    #[error("the kernel's congestion controls: {0}")]
    Algorithms(#[from] std::io::Error),
    /// The study could not be simulated or judged.
    #[error(transparent)]
    Study(#[from] fairwave_study::Error),
    /// A run on the kernel's sockets failed or was interrupted.
    #[error(transparent)]
    Emulation(#[from] TimelyError),
}

/// Progress of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs on the kernel's sockets that are done.
    pub done: usize,
    /// All of them.
    pub total: usize,
    /// Real time that the runs to come take, if none has to be repeated.
    pub left: Duration,
}

/// Settings of the runs on both hosts.
#[derive(Clone, Debug)]
pub struct Means {
    /// Threads of the simulator.
    pub workers: usize,
    /// Settings of the runs on the kernel's sockets. An error of one ends the study, its simulation
    /// too.
    pub manner: Manner,
    /// Whether runs that are complete in the directory are taken as they are.
    pub resume: bool,
}

/// Work to do: a study's experiments with the kernel's sockets, and those that it cannot carry.
#[derive(Debug)]
pub struct Agenda {
    study: &'static dyn Study,
    quick: bool,
    plans: Vec<Planned>,
    /// Jobs by the number of their plan.
    jobs: Vec<(usize, Job)>,
    left_out: Vec<LeftOut>,
}

impl Agenda {
    /// Selects the runs of `study` that this machine's kernel can carry, of the experiment `only`
    /// if one is named, with `more` settings.
    ///
    /// # Errors
    /// If a scenario or a setting is wrong, the experiment is unknown, or nothing can run.
    pub fn of(
        study: &'static dyn Study,
        quick: bool,
        only: Option<&str>,
        more: &[Override],
    ) -> Result<Self, Error> {
        let plans = Planned::all(study.emulated(), quick, more);
        let plans = chosen(study, plans.map_err(fairwave_study::Error::from)?, only)?;
        let (mut jobs, mut left_out) = (Vec::new(), Vec::<LeftOut>::new());
        for (number, planned) in plans.iter().enumerate() {
            for job in planned.plan.jobs() {
                match fairwave_emulator::emulation::misfit(&planned.plan, job)? {
                    None => jobs.push((number, job)),
                    Some(why) => leave_out(&mut left_out, planned.experiment.name, why),
                }
            }
        }
        if jobs.is_empty() {
            let of_runs = left_out.iter().map(|left| left.why.clone());
            let whys: Vec<String> =
                of_runs.chain(study.not_emulated().iter().map(|&why| why.to_owned())).collect();
            return Err(Error::Nothing { study: study.name(), why: whys.join("; ") });
        }
        Ok(Self { study, quick, plans, jobs, left_out })
    }

    /// The real time that the runs from number `first` on take at most.
    pub fn real_time(&self, first: usize) -> Duration {
        let lasts = |(plan, job): &(usize, Job)| {
            let planned = &self.plans[*plan];
            planned.plan.scenario(*job).duration / self.at_once(planned) as u64
        };
        self.jobs[first..].iter().map(lasts).fold(Duration::ZERO, |sum, one| sum + one)
    }

    /// Number of runs of an experiment that go at the same time.
    fn at_once(&self, planned: &Planned) -> usize {
        self.study.emulated_at_once(planned.experiment.name).max(1)
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.jobs.len()
    }

    /// A complete run under `root` that this study would replace if it resumed: one of other values
    /// or seeds, or of another version of Fairwave.
    pub fn replaced(&self, root: &Path) -> Option<PathBuf> {
        let place = |host: &str, planned: &Planned| root.join(host).join(planned.experiment.name);
        self.plans.iter().find_map(|planned| {
            let of = |host: &str| run::replaced(&planned.plan, &place(host, planned));
            of(KERNEL).or_else(|| of(SIMULATOR))
        })
    }

    /// Runs on the kernel's sockets, one after the other or as many at once as the study allows,
    /// and simulates the same afterwards; run directories go under `root`. A run that is late is
    /// repeated once, and left out if it is late again.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(
        mut self,
        root: &Path,
        means: &Means,
        progress: &dyn Fn(Progress),
    ) -> Result<Beside, Error> {
        let mut runs: BTreeMap<String, Vec<Run>> = BTreeMap::new();
        let mut repeated = 0;
        for (number, Timely { run: made, is_repeated }) in self.made(root, means, progress)? {
            let experiment = self.plans[number].experiment.name;
            repeated += usize::from(is_repeated);
            match late(&made) {
                None => runs.entry(experiment.to_owned()).or_default().push(made),
                Some(why) => leave_out(&mut self.left_out, experiment, format!("{LATE}: {why}")),
            }
        }
        let watch = Watch { progress: &|_| (), stop: &means.manner.stop };
        let mut simulated =
            simulate_plans(&self.plans, means.workers, &root.join(SIMULATOR), None, watch)?;
        keep_counterparts(&mut simulated, &runs);
        let judged = |runs| -> Result<Judged, Error> {
            let results = Results { quick: self.quick, runs, ..Results::default() };
            let findings = evaluate(self.study, &results)?;
            Ok(Judged { results, findings })
        };
        Ok(Beside {
            simulator: judged(simulated)?,
            kernel: judged(runs)?,
            release: fairwave_emulator::emulation::kernel_release(),
            left_out: self.left_out,
            repeated,
            wall_s: None,
        })
    }

    /// Makes all runs on the kernel's sockets. Returns them in the order of the jobs, with the
    /// numbers of their plans.
    fn made(
        &self,
        root: &Path,
        means: &Means,
        progress: &dyn Fn(Progress),
    ) -> Result<Vec<(usize, Timely)>, Error> {
        let (mut all, total) = (Vec::new(), self.jobs.len());
        let at_once = |(plan, _): &(usize, Job)| self.at_once(&self.plans[*plan]);
        for alike in self.jobs.chunk_by(|one, other| at_once(one) == at_once(other)) {
            let done = all.len();
            let report = |more: usize| {
                let done = done + more;
                progress(Progress { done, total, left: self.real_time(done) });
            };
            let make = |place: usize| {
                let (plan, job) = alike[place];
                made(&self.plans[plan], job, root, means).map(|made| (plan, made))
            };
            all.extend(together(alike.len(), at_once(&alike[0]), &make, &report)?);
        }
        progress(Progress { done: total, total, left: Duration::ZERO });
        Ok(all)
    }
}

/// Makes `count` runs in this number of threads, each by its place. Returns them in order.
///
/// # Errors
/// The first error. No run begins after it; those under way are waited for.
fn together<T: Send>(
    count: usize,
    threads: usize,
    make: &(dyn Fn(usize) -> Result<T, Error> + Sync),
    report: &dyn Fn(usize),
) -> Result<Vec<T>, Error> {
    let next = AtomicUsize::new(0);
    let (sender, results) = channel();
    let mut all: Vec<Option<T>> = (0..count).map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= count || sender.send((place, make(place))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        report(0);
        for (done, (place, made)) in (1..).zip(results) {
            all[place] = Some(made.inspect_err(|_| next.store(count, Ordering::Relaxed))?);
            report(done);
        }
        Ok(all.into_iter().flatten().collect())
    })
}

/// Makes a run, or takes the one that is complete in its directory.
fn made(planned: &Planned, job: Job, root: &Path, means: &Means) -> Result<Timely, Error> {
    let place = root.join(KERNEL).join(planned.experiment.name);
    let directory = run::directory_of(&planned.plan, job, &place);
    let kept = match means.resume {
        true => completed(&planned.plan, job, &directory).map_err(TimelyError::from)?,
        false => None,
    };
    Ok(match kept {
        Some(run) => Timely { run, is_repeated: false },
        None => timely(&planned.plan, job, &directory, &means.manner, &mut |_| ())?,
    })
}

/// The experiment `only`, or all of them.
fn chosen(
    study: &'static dyn Study,
    plans: Vec<Planned>,
    only: Option<&str>,
) -> Result<Vec<Planned>, Error> {
    let Some(name) = only else { return Ok(plans) };
    let known: Vec<&str> = plans.iter().map(|planned| planned.experiment.name).collect();
    if !plans.is_empty() && !known.contains(&name) {
        let (name, known) = (name.to_owned(), known.join(", "));
        return Err(Error::Unknown { name, study: study.name(), known });
    }
    Ok(plans.into_iter().filter(|planned| planned.experiment.name == name).collect())
}

/// Keeps the simulated runs that the kernel made too: both are judged by the same.
fn keep_counterparts(
    simulated: &mut BTreeMap<String, Vec<Run>>,
    made: &BTreeMap<String, Vec<Run>>,
) {
    for (experiment, runs) in simulated {
        let made = made.get(experiment).map_or(&[][..], Vec::as_slice);
        runs.retain(|run| made.iter().any(|it| (it.seed, &it.axes) == (run.seed, &run.axes)));
    }
}

/// Adds a run to the runs left out for the same reason. Their lateness differs; the text is that of
/// the first.
fn leave_out(left_out: &mut Vec<LeftOut>, experiment: &str, why: String) {
    let is_like = |left: &str| left == why || left.starts_with(LATE) && why.starts_with(LATE);
    let same = |left: &&mut LeftOut| left.experiment == experiment && is_like(&left.why);
    match left_out.iter_mut().find(same) {
        Some(left) => left.runs += 1,
        None => left_out.push(LeftOut { experiment: experiment.to_owned(), runs: 1, why }),
    }
}
