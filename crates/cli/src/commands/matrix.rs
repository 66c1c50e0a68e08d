//! `fairwave matrix`: the kernel's congestion controls over a grid of emulated links.

use super::reproduce::real::STOPS;
use super::shared::{load as load_file, option, settings, stem};
use super::sweep::refuse_to_replace;
use crate::args::{Common, assignment};
use crate::outcome::Failure;
use crate::place::Before as PlaceBefore;
use crate::progress::Progress;
use crate::{output, own, place, stop};
use clap::Args;
use fairwave_emulator::emulation::Manner;
use fairwave_emulator::emulation::matrix::{
    self, AlgorithmError, Competing, Context, Fault, Findings, Grid, MatrixRequest, Running,
};
use fairwave_emulator::report::{self, MatrixOutput};
use fairwave_lab::points::to_csv;
use fairwave_lab::run::Before;
use fairwave_scenario::OwnAlgorithms;
use fairwave_scenario::plan::{LoadError, Override, Plan};
use fairwave_units::Duration;
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  fairwave matrix
  fairwave matrix --algorithms reno,cubic,bbr --beside cubic --repeat 5 --out out/matrix
  fairwave matrix --out out/matrix --resume
  fairwave matrix --over 'link.wire.rate=5 Mbps,50 Mbps' --set link.wire.loss=0 --for 10s
  fairwave matrix scenarios/repairs.toml --flow transfer --algorithms cubic,bbr --simulate
  fairwave matrix --algorithms cubic,fw_ackloss_cubi --beside alone,4 --json

Each algorithm runs with each choice of competing flows at each point of the scenario's sweep, in
real time; the necessary time is printed first. Algorithms are those of this machine's kernel, by
its names; those that begin with fw_ are loaded by `fairwave cc load`. A run that is late is
repeated once.

Exit code 1: a run failed. Exit code 4: a run was late twice; it does not count, others do.";

/// Run the kernel's congestion controls over a grid of emulated links, in real time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Matrix {
    /// The scenario file [default: a wire of 20 Mbps between two hosts, scenarios/kernel-link.toml]
    scenario: Option<PathBuf>,
    /// Congestion control algorithms, by the kernel's names [default: all that it has]
    #[arg(long, value_name = "ALGORITHM", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Flows on the same link: alone (no other flow), the name of the algorithm of one more flow,
    /// or the total number of flows, all with the algorithm under test
    #[arg(long, value_name = "COMPETING", value_delimiter = ',', default_value = "alone,cubic,4")]
    beside: Vec<Competing>,
    /// Sweep a key of the scenario over these values, beside its own axes; may be repeated
    #[arg(long, value_name = "KEY=VALUE,VALUE", value_parser = assignment)]
    over: Vec<String>,
    /// The flow under test [default: the scenario's first one of TCP]
    #[arg(long, value_name = "FLOW")]
    flow: Option<String>,
    /// Runs of each combination [default: the scenario's seeds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repeat: Option<u64>,
    /// Length of each run, such as "10 s" [default: the scenario's duration]
    #[arg(long = "for", value_name = "DURATION")]
    lasts: Option<Duration>,
    /// Afterwards simulate the same with the algorithms that the simulator has, and show both
    #[arg(long)]
    simulate: bool,
    /// Continue the matrix that was interrupted in --out: only make the runs that are missing or
    /// were late there
    #[arg(long)]
    resume: bool,
    /// Print the means as CSV, with 95 % confidence intervals
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Give the emulator's loop a real-time priority, which makes it more punctual (needs root)
    #[arg(long)]
    realtime: bool,
}

/// The default scenario.
const USUAL: (&str, &str) =
    ("kernel-link.toml", include_str!("../../../../scenarios/kernel-link.toml"));

/// Runs the matrix and shows the results.
pub(super) fn run(common: &Common, requested: &Matrix) -> Result<(), Failure> {
    let (file, base) = load(common, requested)?;
    let algorithms = matrix::algorithms(&requested.algorithms, &requested.beside).map_err(
        |error| match error {
            AlgorithmError::Absent(_) => Failure::Usage(error.to_string()),
            AlgorithmError::Unlisted(_) => Failure::run(error),
        },
    )?;
    let grid = MatrixRequest {
        flow: requested.flow.clone(),
        algorithms,
        competitors: requested.beside.clone(),
    };
    let grid = Grid::new(&file, &base, &grid);
    let grid = grid.map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
    fairwave_netns::support().map_err(Failure::run)?;
    // The kernel only lets a process with one thread enter a new user namespace.
    fairwave_netns::become_root_inside().map_err(Failure::run)?;
    let (before, in_place) = match requested.resume {
        true => (Before::Resume, PlaceBefore::Results),
        false => (Before::Rerun, PlaceBefore::Nothing),
    };
    let name = stem(Path::new(&file));
    let directory = place::choose_with(common, &format!("matrix-{name}"), in_place)?;
    let stop = stop::on_saying(&stop::SIGNALS, STOPS)?;
    let manner = Manner { realtime: requested.realtime, stop, program: own::program()? };
    let simulate = requested.simulate.then(|| common.jobs().get());
    let running = Running { root: directory.path(), before, simulate, manner };
    if !common.force {
        refuse_to_replace(running.replaced(&grid), running.root, "matrix")?;
    }
    if !common.json && !common.quiet {
        output::note(&report::ahead(&running, &grid));
    }
    let findings = perform(common, &grid, &running)?;
    let mut notes = base.warnings();
    notes.extend(report::no_realtime(requested.realtime));
    let context = Context { command: command(), scenario: file.clone(), notes: notes.clone() };
    let page = findings.write(&grid, &context, directory.path()).map_err(Failure::run)?;
    let shown = if common.json {
        let out = directory.path();
        let value = MatrixOutput::new(&findings, file, out, &page, notes);
        output::print_json(&json!(value))
    } else {
        let shown = match requested.csv {
            true => output::print_raw(to_csv(&findings.points).as_bytes()),
            false => output::print(&format!("{}Page: {}\n", findings.text(), page.display())),
        };
        notes.iter().for_each(|note| output::warn(note));
        shown
    };
    Failure::unless_closed(shown)?;
    findings.lateness().map_or(Ok(()), |text| Err(Failure::Late(text)))
}

/// The scenario with the settings of the command line, and its name.
fn load(common: &Common, requested: &Matrix) -> Result<(String, Plan), Failure> {
    let lasts = requested.lasts.map(|lasts| option("--for", lasts, format!("duration={lasts}")));
    let repeat = |seeds| option("--repeat", seeds, format!("sweep.seeds={seeds}"));
    let repeat = requested.repeat.map(repeat);
    let over = requested.over.iter().map(|over| option("--over", over, matrix::axis(over)));
    let own: Vec<Override> = lasts.into_iter().chain(repeat).chain(over).collect();
    match &requested.scenario {
        Some(file) => Ok((file.display().to_string(), load_file(common, file, &own)?)),
        None => {
            let (name, text) = USUAL;
            let plan =
                Plan::parse_with(name, text, &settings(common, &own), &OwnAlgorithms::default());
            Ok((name.to_owned(), plan.map_err(LoadError::Scenario)?))
        }
    }
}

fn perform(common: &Common, grid: &Grid, running: &Running<'_>) -> Result<Findings, Failure> {
    let progress = Progress::new(common);
    let show = |now: matrix::Progress| {
        progress.set(now.passed.as_secs_f64() / now.whole.as_secs_f64());
        progress.say(&format!("{} of {} runs", now.done, now.total));
    };
    matrix::run(grid, running, &show).map_err(|fault: Fault| {
        let out = output::quoted(&running.root.display().to_string());
        let resume = format!("--out {out} --resume goes on");
        Failure::Run(format!("{fault}; {resume}"))
    })
}

/// The command line as the user typed it.
fn command() -> String {
    let arguments = own::words().map(|argument| output::quoted(&argument));
    ["fairwave".to_owned()].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}
