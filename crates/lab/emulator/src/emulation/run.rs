//! One emulation, from a plan to a run directory.

use crate::agreement::{self, Agreement};
use crate::drive::{self, Association, Drive, End, Inbox, Report, Stopped, Turn, Way};
use crate::emulation::bridge::{self, Between};
use crate::emulation::control::{ControlState, Listener};
use crate::emulation::drops::Attributing;
use crate::emulation::flows::{self, Choices, KernelFlows};
use crate::emulation::links::{self, Links};
use crate::emulation::live::{Live, Publisher, Samples, Watching};
use crate::emulation::options::Uplink;
use crate::emulation::plan;
use crate::emulation::programs::Programs;
use crate::emulation::proxies;
use crate::emulation::summary::summary;
use crate::emulation::windows::{self, NoWindows, Tracing, Wanted, Windows};
use crate::{log, traffic};
use core::cell::RefCell;
use core::ops::ControlFlow;
use fairwave_lab::results::ProgramSummary;
use fairwave_lab::run::{self, Cause, Hosted, Output, Run};
use fairwave_linux::clock::Clock;
use fairwave_linux::{OwnProcessor, become_realtime};
use fairwave_netns::{Dropped, LinkState, Namespaces};
use fairwave_scenario::plan::{Job, Plan};
use fairwave_scenario::{Started, Steering};
use fairwave_sim::world::World;
use fairwave_trace::{FlowId, NodeId, Sink};
use fairwave_units::Instant;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// File of the run directory with the packets and commands that entered the world.
pub const RECORD: &str = "packets.fwin";

/// Options of an emulation.
#[derive(Debug)]
pub struct Request<'a> {
    /// The plan, which includes programs from the command line.
    pub plan: &'a Plan,
    /// The job of the plan.
    pub job: Job,
    /// The directory of the run, if it is written.
    pub directory: Option<&'a Path>,
    /// Uplinks.
    pub uplinks: &'a [Uplink],
    /// Interfaces of this machine between which the emulated cell is, and their nodes, from
    /// [`Between::places`].
    pub between: Option<(&'a Between, [NodeId; 2])>,
    /// Whether to record the packets that enter the world, for a replay.
    pub records: bool,
    /// Whether to write the windows at each ACK of flows that are connections of the kernel, if
    /// there is a directory.
    pub windows: bool,
    /// Whether to simulate the same world afterwards and compare both.
    pub beside_simulation: bool,
    /// Ends the run when it becomes true.
    pub stop: Arc<AtomicBool>,
    /// The node whose shell uses this process's terminal; the run ends with that shell.
    pub shell: Option<&'a str>,
    /// Whether the loop gets a real-time priority.
    pub realtime: bool,
    /// Fairwave's own program, which is run as proxy of flows on sockets.
    pub program: &'a Path,
    /// Receives the state of the run.
    pub live: &'a Live,
}

/// A completed emulation.
#[derive(Debug)]
pub struct Emulated {
    /// The run, as of a simulation; its summary includes the lateness of the emulator.
    pub run: Run,
    /// The error that ended it early; the results are those until then.
    pub broken: Option<drive::Error>,
    /// The reason for which the record is incomplete.
    pub incomplete_record: Option<String>,
    /// Report of the flows on sockets, if there are any.
    pub sockets: Option<traffic::Report>,
    /// Totals of the table of windows, if it was requested.
    pub windows: Option<Windows>,
    /// Comparison with a simulation of the same length, if it was requested and neither was
    /// interrupted.
    pub agreement: Option<Agreement>,
    /// The reason for which the run cannot be compared with a simulation, if there is one.
    pub incomparable: Option<&'static str>,
    /// The reason for which the loop had no real-time priority, if it was requested.
    pub no_realtime: Option<fairwave_netns::Error>,
    /// The reason for which real stations kept their carrier between access points, if the kernel
    /// did not change it.
    pub no_carrier: Option<fairwave_netns::Error>,
    /// Whether the user ended it ([`Request::stop`]).
    pub is_ended: bool,
}

/// Errors before an emulation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The namespaces could not be built.
    #[error(transparent)]
    Namespaces(#[from] fairwave_netns::Error),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] run::Error),
}

/// Runs an emulation. `show` is called in each turn of the loop, and must return quickly.
///
/// # Errors
/// Any [`Error`]. A run that ended early has results and is no error.
pub fn run(request: &Request<'_>, show: &mut dyn FnMut(&Turn<'_>)) -> Result<Emulated, Error> {
    let scenario = request.plan.scenario(request.job);
    let world = scenario.to_world(request.job.seed);
    let bridged: Vec<NodeId> = request.between.iter().flat_map(|(_, places)| *places).collect();
    let mut real = scenario.real_nodes();
    real.retain(|node| !bridged.contains(node));
    let options = plan::options(&scenario.emulation());
    let own = own_processor(request, &options);
    let site = plan::namespaces(&scenario, &world, &real, request.uplinks);
    let namespaces = build(site, own.as_ref())?;
    let bridge = RefCell::new(ends_of_bridge(request)?);
    let (kernel_flows, choices) = (scenario.kernel_flows(), Choices::of(&scenario));
    let mut programs = proxies::of_flows(&world, &kernel_flows, &choices, request.program);
    programs.extend(scenario.programs());
    let name = |id: &NodeId| world.nodes[id.0 as usize].name.clone();
    let emulation = Emulation {
        request,
        options,
        namespaces: &namespaces,
        programs: &programs,
        real: &real,
        kernel_flows,
        choices,
        ends_when_idle: scenario.emulation().ends_when_idle,
        away: links::away(&scenario.emulation()),
        steering: Steering::new(&scenario, &world),
        names: real.iter().chain(&bridged).map(name).collect(),
        bridge,
    };
    let mut after = Aftermath::default();
    let mut host = |world: &World, sink: &mut dyn Sink| {
        let steerable = world.clone().steerable();
        let mut prepare = || after.no_realtime = prepare(request, own.as_ref());
        let Driven { report, sockets, programs, windows, no_carrier } =
            emulation.drive(&steerable, sink, &mut prepare, show)?;
        (after.windows, after.no_carrier) = (windows, no_carrier);
        after.is_ended = request.stop.load(Ordering::Relaxed);
        after.incomparable = incomparable(&report);
        // Whoever interrupted the run does not wait for a simulation.
        if request.beside_simulation && !after.is_ended && after.incomparable.is_none() {
            after.agreement = agree(world, &report, &request.stop)?;
        }
        let failure = sockets.as_ref().and_then(traffic::Report::failure);
        let emulation = Some(summary(&report, failure, &emulation.names, programs));
        after.sockets = sockets;
        if let Stopped::Failed(error) = report.stopped {
            after.broken = Some(error);
        }
        after.incomplete_record = report.recorded.as_ref().and_then(missing);
        Ok(Hosted { outcome: report.outcome, emulation, flows_without_figures: Vec::new() })
    };
    let output = request.directory.map_or(Output::Nothing, Output::Full);
    let run = run::execute_on(request.plan, request.job, output, &mut host)?;
    Ok(after.of(run))
}

/// Results of an emulation beside those of its run. The fields are those of [`Emulated`].
#[derive(Default)]
struct Aftermath {
    broken: Option<drive::Error>,
    incomplete_record: Option<String>,
    sockets: Option<traffic::Report>,
    windows: Option<Windows>,
    agreement: Option<Agreement>,
    incomparable: Option<&'static str>,
    no_realtime: Option<fairwave_netns::Error>,
    no_carrier: Option<fairwave_netns::Error>,
    is_ended: bool,
}

impl Aftermath {
    fn of(self, run: Run) -> Emulated {
        Emulated {
            run,
            broken: self.broken,
            incomplete_record: self.incomplete_record,
            sockets: self.sockets,
            windows: self.windows,
            agreement: self.agreement,
            incomparable: self.incomparable,
            no_realtime: self.no_realtime,
            no_carrier: self.no_carrier,
            is_ended: self.is_ended,
        }
    }
}

/// The loop's own processor, if it is to wait busily. It is reserved before any process is started,
/// which could otherwise run there too.
fn own_processor(request: &Request<'_>, options: &drive::Options) -> Option<OwnProcessor> {
    (request.realtime && !options.busy_wait.is_zero()).then(OwnProcessor::reserve).flatten()
}

/// Gives the calling thread a real-time priority and its own processor, if that is requested.
/// Returns the error if it is not permitted.
fn prepare(request: &Request<'_>, own: Option<&OwnProcessor>) -> Option<fairwave_netns::Error> {
    if !request.realtime {
        return None;
    }
    let refused = become_realtime().err();
    own.iter().for_each(|own| own.take());
    refused
}

/// The ends at the interfaces of a bridge.
fn ends_of_bridge(request: &Request<'_>) -> Result<Vec<End>, fairwave_netns::Error> {
    let ends = request.between.map(|(between, places)| bridge::ends(between, places));
    Ok(ends.transpose()?.into_iter().flatten().collect())
}

/// Builds the namespaces. Received packets are processed on other processors than the loop's own.
fn build(
    mut site: fairwave_netns::Plan,
    own: Option<&OwnProcessor>,
) -> Result<Namespaces, fairwave_netns::Error> {
    site.receivers = own.map(OwnProcessor::others);
    Namespaces::build(&site)
}

/// The reason for which a run cannot be compared with a simulation of the same world.
const fn incomparable(report: &Report) -> Option<&'static str> {
    match report.stopped {
        Stopped::Failed(_) => Some("the run failed"),
        _ if report.changes > 0 => Some("the run was changed by `emulate ctl`"),
        _ => None,
    }
}

/// The agreement with a simulation of the same world, which ends when the run did; `None` if it was
/// stopped.
fn agree(
    world: &World,
    report: &Report,
    stop: &AtomicBool,
) -> Result<Option<Agreement>, fairwave_sim::Error> {
    let world = World { duration: report.end.since(Instant::ZERO), ..world.clone() };
    let simulated = agreement::simulate(&world, &mut |_| !stop.load(Ordering::Relaxed))?;
    Ok(simulated.map(|flows| Agreement::of(&world, &flows, &report.outcome.flows)))
}

/// The reason for which a record is incomplete.
fn missing(recorded: &log::Recorded) -> Option<String> {
    let packets = recorded.missed;
    match &recorded.error {
        Some(error) => Some(format!("{RECORD}: {error}; {packets} packets are not in it")),
        None if packets > 0 => {
            Some(format!("{RECORD}: the disk was too slow; {packets} packets are not in it"))
        }
        None => None,
    }
}

/// Marks a run as failed if its namespaces are gone, by the keeper's check.
fn stop_if_keeper_ended(report: &mut Report, check: Result<(), fairwave_netns::Error>) {
    if let Err(gone) = check {
        report.stopped = Stopped::Failed(drive::Error::Gone(Box::new(gone)));
    }
}

/// Counts packets that overflowed the queue of their node's device as lost in the emulator, and
/// apart from them those that were sent without a carrier.
fn count_dropped(
    report: &mut Report,
    dropped: Vec<Result<Dropped, fairwave_netns::Error>>,
) -> Result<(), fairwave_netns::Error> {
    for (end, dropped) in report.ends.iter_mut().zip(dropped) {
        let Dropped { unread, without_carrier } = dropped?;
        end.lost_at_read += unread;
        end.without_carrier += without_carrier;
        report.fidelity.packets_lost += unread;
        report.fidelity.packets_in += unread;
    }
    Ok(())
}

/// Parts of an emulation.
struct Emulation<'a> {
    request: &'a Request<'a>,
    options: drive::Options,
    namespaces: &'a Namespaces,
    programs: &'a [Started],
    real: &'a [NodeId],
    /// Names of all ends: first those of real nodes, then those at interfaces.
    names: Vec<String>,
    /// Ends at interfaces, until they are taken.
    bridge: RefCell<Vec<End>>,
    kernel_flows: Vec<FlowId>,
    choices: Choices,
    /// Whether the run ends with the flows on sockets.
    ends_when_idle: bool,
    /// State of a station's device while it has no access point.
    away: LinkState,
    steering: Steering,
}

/// Ends the threads beside the loop when it is dropped: the scope waits for them also where the
/// loop panics, or a later thread is refused.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Inputs of the threads beside the loop.
struct Threads<'a, 'n> {
    clock: Clock,
    programs: &'a mut Programs<'n>,
    /// Set once the run has to end, as its programs have ended or the keeper is gone.
    has_ended: &'a AtomicBool,
    ends_with_programs: bool,
    listener: Option<&'a Listener>,
    control: &'a ControlState<'a>,
    changes: mpsc::Receiver<Association>,
}

/// Results of driving the world.
struct Driven {
    report: Report,
    sockets: Option<traffic::Report>,
    programs: Vec<ProgramSummary>,
    windows: Option<Windows>,
    no_carrier: Option<fairwave_netns::Error>,
}

impl Emulation<'_> {
    /// Drives the world while programs and flows on sockets run. `prepare` is called by the thread
    /// of the loop just before it.
    fn drive(
        &self,
        whole: &World,
        sink: &mut dyn Sink,
        prepare: &mut dyn FnMut(),
        show: &mut dyn FnMut(&Turn<'_>),
    ) -> Result<Driven, Cause> {
        let Self { request, namespaces, .. } = self;
        let mut programs = self.programs(whole).map_err(host_error)?;
        let flows = self.open_flows(whole)?;
        let world = flows::rest_of(whole, &self.kernel_flows);
        let (ends, record) = (self.ends().map_err(host_error)?, self.record().map_err(host_error)?);
        let (clock, windows) = self.start_clock(whole).map_err(host_error)?;
        let started = flows.start(clock, whole, self.ends_when_idle);
        let (running, samples) = started.map_err(host_error)?;
        let (over, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let listener = request.directory.map(Listener::bind).transpose().map_err(host_error)?;
        let (steering, stop) = (self.steering.clone(), Arc::clone(&request.stop));
        let (control, controls) = ControlState::new(steering, clock, request.live, stop, &over);
        let samples_seen = Samples::default();
        let mut publisher = Publisher::new(whole, &self.names, request.live, &samples_seen);
        let mut watching = Watching { sink, samples: &samples_seen };
        let mut sink = Attributing::new(whole, &self.kernel_flows, &mut watching);
        let (associations, changes) = self.associations(whole);
        let inbox = Inbox { samples, controls: Some(controls) };
        let drive = self.setup(clock, &world, ends, record, inbox, associations);
        let mut dropped = Vec::new();
        // Counted at once: programs continue to send until they are ended.
        let nodes = 0..self.real.len();
        let mut on_end = || dropped.extend(nodes.clone().map(|node| namespaces.dropped(node)));
        let mut on_turn = |turn: &Turn<'_>| {
            publisher.show(turn);
            show(turn);
            let is_idle = self.ends_when_idle && running.have_ended();
            let is_over = is_idle || has_ended.load(Ordering::Relaxed);
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let threads = Threads {
            clock,
            programs: &mut programs,
            has_ended: &has_ended,
            ends_with_programs: self.ends_with_programs(whole),
            listener: listener.as_ref(),
            control: &control,
            changes,
        };
        let run = || {
            prepare();
            drive.run_and_then(&mut sink, &mut on_turn, &mut on_end)
        };
        let (report, no_carrier) = self.beside(threads, run).map_err(host_error)?;
        let mut report = report?;
        let is_cut_short = self.finish(&mut report, dropped).map_err(host_error)?;
        let sockets = running.put_into(&mut report, is_cut_short).map_err(host_error)?;
        sink.put_into(&mut report.outcome.flows);
        let windows = windows.map(Tracing::end).transpose().map_err(host_error)?;
        let programs = self.end_programs(programs, clock, &mut report);
        Ok(Driven { report, sockets, programs, windows, no_carrier })
    }

    /// Calls `run` while threads attend to programs, commands and links. Returns its result, and
    /// the error for which devices kept their carrier, if there was one.
    fn beside<T>(
        &self,
        threads: Threads<'_, '_>,
        run: impl FnOnce() -> T,
    ) -> io::Result<(T, Option<fairwave_netns::Error>)> {
        let Self { request, namespaces, .. } = self;
        let Threads { clock, programs, has_ended, ends_with_programs, listener, control, changes } =
            threads;
        thread::scope(|scope| {
            let ending = Ending(control.over);
            let named = |name: &str| thread::Builder::new().name(format!("fairwave-{name}"));
            let attend = || {
                let have_all = programs.attend(clock, control.over, &request.live.programs);
                let is_abandoned = namespaces.check_keeper().is_err();
                has_ended.store(have_all && ends_with_programs || is_abandoned, Ordering::Relaxed);
            };
            let attending = named("programs").spawn_scoped(scope, attend)?;
            let listening = listener.map(|listener| {
                named("control").spawn_scoped(scope, move || control.attend(listener, scope))
            });
            let links = Links { namespaces, real: self.real, away: self.away };
            let follow = move || links.follow(&changes);
            let following = named("links").spawn_scoped(scope, follow)?;
            let result = run();
            drop(ending);
            attending.join().expect("it does not panic");
            listening.transpose()?;
            Ok((result, following.join().expect("it does not panic")))
        })
    }

    /// The loop's setup over `world`.
    fn setup<'w>(
        &self,
        clock: Clock,
        world: &'w World,
        ends: Vec<End>,
        record: Option<log::Writer>,
        inbox: Inbox,
        associations: Option<mpsc::Sender<Association>>,
    ) -> Drive<'w> {
        let (options, stop) = (self.options.clone(), Some(Arc::clone(&self.request.stop)));
        Drive { clock, world, ends, options, record, stop, inbox, associations }
    }

    /// The channel of associations, whose sender the loop has if devices follow them.
    fn associations(
        &self,
        whole: &World,
    ) -> (Option<mpsc::Sender<Association>>, mpsc::Receiver<Association>) {
        let (sender, receiver) = mpsc::channel();
        let is_wanted = self.away != LinkState::Up && links::roam(whole, self.real);
        (is_wanted.then_some(sender), receiver)
    }

    /// Whether the run ends with the last program: only programs send traffic, or one is a shell.
    fn ends_with_programs(&self, whole: &World) -> bool {
        let request = self.request;
        (whole.flows.is_empty() && request.between.is_none()) || request.shell.is_some()
    }

    /// Ends the programs. If the keeper was killed, its programs have ended before it, so that the
    /// keeper is checked once more.
    fn end_programs(
        &self,
        programs: Programs<'_>,
        clock: Clock,
        report: &mut Report,
    ) -> Vec<ProgramSummary> {
        let ended = programs.end(clock);
        stop_if_keeper_ended(report, self.namespaces.check_keeper_after_programs());
        ended
    }

    /// Adds information from the namespaces to a report: packets that were not read, and errors.
    /// Returns whether the run ended early.
    fn finish(
        &self,
        report: &mut Report,
        dropped: Vec<Result<Dropped, fairwave_netns::Error>>,
    ) -> Result<bool, fairwave_netns::Error> {
        stop_if_keeper_ended(report, self.namespaces.check_keeper());
        count_dropped(report, dropped)?;
        Ok(!matches!(report.stopped, Stopped::End))
    }

    /// The programs of the scenario, and the shell.
    fn programs(&self, whole: &World) -> io::Result<Programs<'_>> {
        let Self { request, namespaces, .. } = self;
        let name = |started: &Started| whole.nodes[started.node.0 as usize].name.clone();
        let mut programs = Programs::new(namespaces, self.programs, name, request.directory)?;
        request.shell.iter().for_each(|node| programs.add_shell(node));
        Ok(programs)
    }

    /// Opens the sockets of the flows that use the kernel.
    fn open_flows(&self, whole: &World) -> Result<KernelFlows, Cause> {
        let (flows, choices) = (&*self.kernel_flows, &self.choices);
        KernelFlows::open(whole, flows, choices, self.namespaces, self.real).map_err(host_error)
    }

    /// Starts the clock of the run. Window tracing, if requested, starts before, as the kernel
    /// needs time to verify the program.
    fn start_clock(&self, world: &World) -> Result<(Clock, Option<Box<dyn Tracing>>), NoWindows> {
        let &Self { request, namespaces, real, ref choices, .. } = self;
        let wanted = Wanted { world, ids: &self.kernel_flows, namespaces, real, choices };
        let directory = request.directory.filter(|_| request.windows);
        let trace = |directory| windows::trace(&wanted, directory);
        let windows = directory.map(trace).transpose()?;
        let clock = Clock::start();
        windows.iter().for_each(|windows| windows.begin(clock));
        Ok((clock, windows))
    }

    fn ends(&self) -> io::Result<Vec<End>> {
        let gateway = self.request.uplinks.first();
        let gateway = gateway.and_then(|uplink| {
            let place = self.names.iter().position(|name| *name == uplink.node)?;
            Some(self.real[place])
        });
        let end = |(place, node): (usize, &NodeId)| {
            Ok(End {
                node: *node,
                fd: self.namespaces.tun_fd(place).try_clone_to_owned()?,
                offload: drive::Offload::On,
                way: Way::Addressed { gateway: gateway.filter(|gateway| gateway != node) },
            })
        };
        let ends: io::Result<Vec<End>> = self.real.iter().enumerate().map(end).collect();
        Ok(ends?.into_iter().chain(self.bridge.take()).collect())
    }

    /// Begins the record, if it is requested. That of an earlier run in this directory is removed
    /// in any case: a replay would take it for this run's.
    fn record(&self) -> io::Result<Option<log::Writer>> {
        let Some(path) = self.request.directory.map(|directory| directory.join(RECORD)) else {
            return Ok(None);
        };
        if self.request.records {
            return log::Writer::new(File::create(path)?, log::Keep::Whole).map(Some);
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        }
    }
}

fn host_error(error: impl std::error::Error + Send + Sync + 'static) -> Cause {
    Cause::Host(Box::new(error))
}
