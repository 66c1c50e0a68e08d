//! `fairwave emulate`: a scenario in real time, with real programs in its nodes.

mod ctl;

use super::run::only_job;
use super::shared::{flag, load, option, stem};
use crate::args::Common;
use crate::outcome::Failure;
use crate::progress::Progress;
use crate::stop::{self, SIGNALS};
use crate::{output, own, place};
use clap::{Args, Subcommand};
use ctl::Ctl;
use fairwave_emulator::emulation::{
    self, Between, Emulated, Live, NoWindows, ProgramOption, Request, Turn, Uplink, live_view,
};
use fairwave_emulator::report::{self, EmulateOutput, Fault};
use fairwave_netns::Standing;
use fairwave_scenario::plan::{Job, Override, Plan};
use fairwave_trace::NodeId;
use fairwave_units::Duration;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag as signal_flag;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const EXAMPLES: &str = "\
Examples:
  fairwave emulate home.toml --for 10s --exec 'server=iperf3 -s' --exec 'sta1@1s=iperf3 -c server'
  fairwave emulate home.toml --exec 'server=python3 -m http.server 80' --exec 'sta1=curl server'
  fairwave emulate home.toml --kernel-flows 'up*' --json --out out/real
  fairwave emulate home.toml --kernel-flows 'up*' --windows --out out/kernel
  fairwave emulate home.toml --uplink server=eth0 --exec 'sta1=curl https://example.org'
  fairwave emulate home.toml --bridge sta1=eth1,server=eth2 --for 1h

Each station and host is a network namespace with the device fw0. Names of nodes resolve to their
addresses inside. Nothing of it is left afterwards. Works without root, but for --uplink, --bridge,
--windows and --realtime.

Exit code 1: a program or a flow on sockets failed. Exit code 4: the run is not valid, as the
emulator did not keep real time or lost packets itself; results are written nevertheless, and
summary.json says why.";

/// Run a scenario in real time: its nodes are network namespaces with real programs in them
#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Emulate {
    #[command(subcommand)]
    task: Option<Task>,
    /// The scenario file
    #[arg(required = true)]
    scenario: Option<PathBuf>,
    /// Length of the run, such as "10 s" [default: the scenario's duration]
    #[arg(long = "for", value_name = "DURATION")]
    lasts: Option<Duration>,
    /// Start a program in a node, at a time if wanted; may be repeated, and the node may be a
    /// pattern such as "sta*"
    #[arg(long, value_name = "NODE[@TIME]=COMMAND")]
    exec: Vec<ProgramOption>,
    /// Let sockets of the kernel carry these flows of the scenario; may be repeated, and be a
    /// pattern such as "up*" [default: the scenario's emulate.kernel_flows]
    #[arg(long, value_name = "FLOW")]
    kernel_flows: Vec<String>,
    /// Give a node a way out by an interface of this machine (NAT; needs root)
    #[arg(long, value_name = "NODE=INTERFACE")]
    uplink: Vec<Uplink>,
    /// Put the cell between two interfaces of this machine, as a transparent link: frames of each
    /// come out of the other. The nodes are the scenario's two real ones, or those named (needs
    /// root)
    #[arg(long, value_name = "[NODE=]IF,[NODE=]IF", conflicts_with = "shell")]
    bridge: Option<Between>,
    /// Also write every frame on the air, for Wireshark
    #[arg(long)]
    pcap: bool,
    /// Also write every packet at this node, as tcpdump there would; may be repeated, and be a
    /// pattern [default: the scenario's record.taps]
    #[arg(long, value_name = "NODE")]
    tap: Vec<String>,
    /// Record all packets that enter the emulated network, for `fairwave run --replay`
    #[arg(long)]
    record: bool,
    /// Also write the windows of the kernel's TCP flows at each ACK, for `fairwave plot --y
    /// windows.cwnd_bytes` (needs root)
    #[arg(long)]
    windows: bool,
    /// Afterwards simulate the same scenario, its flows on the simulator's own stack, and show
    /// both side by side
    #[arg(long)]
    beside_simulation: bool,
    /// Open a shell in this node; the run ends when the shell does, or with --for
    #[arg(long, value_name = "NODE", conflicts_with = "json")]
    shell: Option<String>,
    /// Show live figures on the terminal: Mbps, queues, retries, airtime, lateness; q ends the run
    #[arg(long, conflicts_with_all = ["json", "shell"])]
    live: bool,
    /// Give the emulator's loop a real-time priority, which makes it more punctual (needs root)
    #[arg(long)]
    realtime: bool,
}

/// Further commands of `fairwave emulate`.
#[derive(Debug, Subcommand)]
enum Task {
    // Documented at its arguments.
    Ctl(Ctl),
}

/// Interval between updates of the progress bar, in nanoseconds.
const SHOW_EVERY_NS: u64 = 100_000_000;

/// Emulates and shows the results; or controls a run that another process has started.
pub(super) fn run(common: &Common, emulate: &Emulate) -> Result<(), Failure> {
    match (&emulate.task, &emulate.scenario) {
        (Some(Task::Ctl(ctl)), _) => ctl::run(ctl),
        (None, Some(file)) => emulate_file(common, emulate, file),
        (None, None) => Err(Failure::Usage("name a scenario file".to_owned())),
    }
}

fn emulate_file(common: &Common, emulate: &Emulate, file: &Path) -> Result<(), Failure> {
    if emulate.live && !std::io::stdout().is_terminal() {
        return Err(Failure::Usage("--live: standard output is no terminal".to_owned()));
    }
    fairwave_netns::support().map_err(Failure::run)?;
    // The kernel only lets a process with one thread enter a new user namespace.
    let standing = fairwave_netns::become_root_inside().map_err(Failure::run)?;
    let mut plan = load(common, file, &settings(emulate))?;
    let (job, of_seeds) = only_job(common, &plan, file, "emulate", "")?;
    emulation::add_programs(&mut plan, job, &emulate.exec).map_err(Failure::Usage)?;
    emulation::check_shell(&plan, job, emulate.shell.as_deref()).map_err(Failure::Usage)?;
    emulation::check_uplinks(&emulate.uplink).map_err(Failure::Usage)?;
    if emulate.windows {
        check_windows(&plan, job, standing)?;
    }
    let bridged = bridged(&plan, job, emulate)?;
    let directory = place::choose(common, &stem(file))?;
    let has_shell = emulate.shell.is_some();
    if has_shell {
        // Ctrl-C is meant for the program that runs in the shell.
        signal_flag::register(SIGINT, Arc::default()).map_err(Failure::run)?;
    }
    let signals: &[i32] = if has_shell { &[SIGTERM, SIGHUP] } else { &SIGNALS };
    let (live, program) = (Live::default(), own::program()?);
    let request = Request {
        plan: &plan,
        job,
        directory: Some(directory.path()),
        uplinks: &emulate.uplink,
        between: emulate.bridge.as_ref().zip(bridged),
        records: emulate.record,
        windows: emulate.windows,
        beside_simulation: emulate.beside_simulation,
        stop: stop::on(signals)?,
        shell: emulate.shell.as_deref(),
        realtime: emulate.realtime,
        program: &program,
        live: &live,
    };
    let hidden = has_shell || emulate.live;
    let progress = if hidden { Progress::none() } else { Progress::new(common) };
    let emulated = execute(&request, emulate.live, &progress)?;
    drop(progress);
    let mut warnings = report::warnings(&request, &emulated);
    warnings.extend(of_seeds);
    let shown = if common.json {
        output::print_json(&json!(EmulateOutput::new(&emulated, file, warnings)))
    } else {
        let shown = output::print(&report::text(&emulated, directory.path()));
        warnings.iter().for_each(|warning| output::warn(warning));
        shown
    };
    Failure::unless_closed(shown)?;
    match emulated.fault() {
        None => Ok(()),
        Some(Fault::Failed(text)) => Err(Failure::Run(text)),
        Some(Fault::Late(text)) => Err(Failure::Late(text)),
    }
}

/// Keys that options of the command line set.
fn settings(emulate: &Emulate) -> Vec<Override> {
    let Emulate { lasts, kernel_flows, pcap, tap, .. } = emulate;
    // The run ends with the shell, not with the scenario.
    let endless = emulate.shell.as_ref().map(|_| Duration::from_secs(24 * 3600));
    let list = |name: &str, key: &str, list: &[String]| {
        (!list.is_empty()).then(|| option(name, list.join(" "), format!("{key}={list:?}")))
    };
    let settings = [
        lasts.or(endless).map(|lasts| option("--for", lasts, format!("duration={lasts}"))),
        list("--kernel-flows", "emulate.kernel_flows", kernel_flows),
        pcap.then(|| flag("--pcap", "record.pcap=true")),
        list("--tap", "record.taps", tap),
    ];
    settings.into_iter().flatten().collect()
}

/// Refuses to trace windows if that is not possible here.
fn check_windows(plan: &Plan, job: Job, standing: Standing) -> Result<(), Failure> {
    let scenario = &plan.points[job.point].scenario;
    let checked = emulation::check_windows(scenario, &scenario.to_world(job.seed), standing);
    checked.map_err(|lack| match lack {
        NoWindows::NoConnection => Failure::Usage(format!("--windows: {lack}")),
        _ => Failure::Run(format!("--windows: {lack}")),
    })
}

/// The nodes that are at the interfaces of `--bridge`.
fn bridged(plan: &Plan, job: Job, emulate: &Emulate) -> Result<Option<[NodeId; 2]>, Failure> {
    let scenario = &plan.points[job.point].scenario;
    let places = |between: &Between| between.places(scenario, &scenario.to_world(job.seed));
    let places = emulate.bridge.as_ref().map(places).transpose();
    places.map_err(|error| Failure::Usage(format!("--bridge: {error}")))
}

/// Runs the emulation, with a progress bar or the live view.
fn execute(request: &Request<'_>, live: bool, progress: &Progress) -> Result<Emulated, Failure> {
    let whole_ns = request.plan.points[request.job.point].scenario.duration.as_nanos();
    let mut shown = 0;
    let over = AtomicBool::new(false);
    let mut show = |turn: &Turn<'_>| {
        let now = turn.now.as_nanos();
        // The loop must not spend its time on drawing.
        if now >= shown + SHOW_EVERY_NS {
            shown = now;
            progress.set(now as f64 / whole_ns as f64);
            progress.say(&format!("{:.1} of {:.1} s", now as f64 / 1e9, whole_ns as f64 / 1e9));
        }
    };
    thread::scope(|scope| {
        let watch = || live_view::watch(request.live, &request.stop, &over);
        let watching = live.then(|| scope.spawn(watch));
        let emulated = emulation::run(request, &mut show);
        // The view ends by this flag, so it must be set before the join.
        over.store(true, Ordering::Relaxed);
        let watched = watching.map_or(Ok(()), |thread| thread.join().expect("it does not panic"));
        if let Err(error) = watched {
            output::warn(&format!("--live: {error}"));
        }
        emulated.map_err(Failure::run)
    })
}
