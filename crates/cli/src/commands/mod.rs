//! The one table of commands: arguments, functions, common options, JSON schemas and platforms of
//! each. A command has a file of its own here, with its arguments and examples.

#[cfg(all(target_os = "linux", feature = "kernel-cc"))]
mod cc;
#[cfg(not(all(target_os = "linux", feature = "kernel-cc")))]
mod cc_missing;
mod check;
mod compare;
#[cfg(target_os = "linux")]
mod dccp;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod emulate;
mod explain;
#[cfg(target_os = "linux")]
mod fairness;
#[cfg(target_os = "linux")]
mod keep_namespaces;
mod list;
mod manual;
#[cfg(target_os = "linux")]
mod matrix;
mod merge;
#[cfg(target_os = "linux")]
mod packets;
mod plot;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod proxy;
mod query;
mod reference;
mod reproduce;
mod run;
#[cfg(target_os = "linux")]
mod shake;
#[cfg(target_os = "linux")]
mod share;
mod shared;
mod show;
#[cfg(target_os = "linux")]
mod soc;
mod store;
mod sweep;
#[cfg(test)]
mod tests;
mod trace;
#[cfg(target_os = "linux")]
mod web;

pub(crate) use reproduce::answer;

use crate::args::{self, Common, Uses, on};
use crate::outcome::Failure;
use crate::schema::{Schema, file, of, output};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
#[cfg(all(target_os = "linux", feature = "kernel-cc"))]
use fairwave_cc_tool::report::CcOutput;
#[cfg(target_os = "linux")]
use fairwave_dccp_tool::report::{DccpOutput, RateLine, RelayOutput};
#[cfg(target_os = "linux")]
use fairwave_emulator::machine::DoctorOutput;
#[cfg(target_os = "linux")]
use fairwave_emulator::report::{EmulateOutput, MatrixOutput};
#[cfg(target_os = "linux")]
use fairwave_fairness::report::FairnessOutput;
use fairwave_lab::merge::MergeOutput;
use fairwave_lab::report::compare::CompareOutput;
use fairwave_lab::report::explain::ExplainOutput;
use fairwave_lab::report::plot::PlotOutput;
use fairwave_lab::report::run::RunOutput;
use fairwave_lab::report::store::StoreOutput;
use fairwave_lab::report::sweep::SweepOutput;
use fairwave_lab::results::{Meta, Summary};
#[cfg(target_os = "linux")]
use fairwave_packets::PacketsOutput;
#[cfg(target_os = "linux")]
use fairwave_probe_tool::report::ProbeOutput;
#[cfg(target_os = "linux")]
use fairwave_proxy::report::ProxyOutput;
use fairwave_scenario::list::ListOutput;
use fairwave_scenario::report::CheckOutput;
#[cfg(target_os = "linux")]
use fairwave_shake_tool::report::{DiagnosisOutput, ServeOutput, ShakeOutput};
#[cfg(target_os = "linux")]
use fairwave_share_tool::report::{LendOutput, ShareListOutput};
use fairwave_show::report::ShowOutput;
#[cfg(target_os = "linux")]
use fairwave_soc_tool::status::Status;
use fairwave_study::StudySummary;
use fairwave_study::beside::BesideSummary;
use fairwave_study::map::MapSummary;
use serde_json::json;
use std::ffi::OsString;
use std::iter::successors;

/// Makes of each row a variant of [`Command`], an arm of [`Command::run`], and entries of
/// [`uses`] and [`of_commands`]. The platforms of a row are in brackets before it.
macro_rules! commands {
    ($(
        $([$gate:meta])? $(#[$attribute:meta])*
        $name:ident($arguments:ty) => $run:expr, uses [$($uses:expr),*], gives [$($schema:expr),*];
    )+) => {
        /// The commands.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[cfg($gate)])? $(#[$attribute])* $name($arguments),)+
        }

        impl Command {
            /// Runs the command.
            pub(crate) fn run(self, common: &Common) -> Result<(), Failure> {
                match self {
                    $($(#[cfg($gate)])? Self::$name(arguments) => $run(common, &arguments),)+
                }
            }
        }

        /// The common options that have an effect on each command.
        fn uses() -> Vec<Uses> {
            let all: &[&[Uses]] = &[$($(#[cfg($gate)])? &[$($uses),*],)+];
            all.concat()
        }

        /// Schemas of the commands' output.
        fn of_commands() -> Vec<Schema> {
            let all: &[&[Schema]] = &[$($(#[cfg($gate)])? &[$($schema),*],)+];
            all.concat()
        }
    };
}

commands! {
    Run(run::Run) => run::run,
        uses [on("run", "json seed out force set")],
        gives [output("run", "run", of::<RunOutput>)];
    [target_os = "linux"]
    Emulate(emulate::Emulate) => emulate::run,
        uses [on("emulate", "json seed out force set"), on("emulate ctl", "json")],
        gives [output("emulate", "emulate", of::<EmulateOutput>)];
    [all(target_os = "linux", feature = "kernel-cc")]
    /// Congestion controls in this machine's kernel: load, watch, measure, unload
    #[command(after_help = fairwave_cc_tool::command::options::EXAMPLES)]
    Cc(fairwave_cc_tool::command::options::Cc) => cc::run,
        uses [on("cc", "json")],
        gives [output("cc", "cc", of::<CcOutput>)];
    [not(all(target_os = "linux", feature = "kernel-cc"))]
    Cc(cc_missing::Cc) => cc_missing::run,
        uses [on("cc", "json")],
        gives [];
    [target_os = "linux"]
    #[command(hide = true)]
    KeepNamespaces(keep_namespaces::KeepNamespaces) => keep_namespaces::run,
        uses [],
        gives [];
    [target_os = "linux"]
    Matrix(matrix::Matrix) => matrix::run,
        uses [on("matrix", "json seed jobs out force set")],
        gives [output("matrix", "matrix", of::<MatrixOutput<'_>>)];
    Sweep(sweep::Sweep) => sweep::run,
        uses [on("sweep", "json seed jobs out force set")],
        gives [output("sweep", "sweep", of::<SweepOutput<'_>>)];
    Merge(merge::Merge) => merge::run,
        uses [on("merge", "json out").out("Directory of the whole")],
        gives [output("merge", "merge", of::<MergeOutput>)];
    Reproduce(reproduce::Reproduce) => reproduce::run,
        uses [on("reproduce", "json jobs out force")],
        gives [
            output("reproduce", "reproduce", of::<StudySummary>),
            output("reproduce-beside", "reproduce --host emulate", of::<BesideSummary>),
            output("reproduce-map", "reproduce --map", of::<MapSummary>)
        ];
    Store(store::Store) => store::run,
        uses [on("store", "json")],
        gives [output("store", "store", of::<StoreOutput>)];
    Plot(plot::Plot) => plot::run,
        uses [on("plot", "json")],
        gives [output("plot", "plot", of::<PlotOutput>)];
    Compare(compare::Compare) => compare::run,
        uses [on("compare", "json")],
        gives [output("compare", "compare", of::<CompareOutput>)];
    Query(query::Query) => query::run,
        uses [on("query", "json")],
        gives [];
    Show(show::Show) => show::run,
        uses [on("show", "json out")
            .file("FILE", "Write the page into this file and open no browser")],
        gives [output("show", "show", of::<ShowOutput>)];
    [target_os = "linux"]
    /// Serve the laboratory on this machine: scenarios to write, run and compare in a browser
    #[command(after_help = fairwave_web::command::EXAMPLES)]
    Web(fairwave_web::command::Web) => web::run,
        uses [],
        gives [];
    Check(check::Check) => check::run,
        uses [on("check", "json seed set")],
        gives [output("check", "check", of::<CheckOutput>)];
    [target_os = "linux"]
    Packets(packets::Packets) => packets::run,
        uses [on("packets", "json")],
        gives [output("packets", "packets", of::<PacketsOutput>)];
    [target_os = "linux"]
    /// Measure the buffer on the way to a host, and the latency of a path under load
    #[command(after_help = fairwave_probe_tool::command::EXAMPLES)]
    Probe(fairwave_probe_tool::command::Probe) => probe::run,
        uses [
            on("probe", "json out")
                .out("Also write probe.json and probe.html into this directory"),
            on("probe serve", "json")
        ],
        gives [output("probe", "probe HOST", of::<ProbeOutput>)];
    [target_os = "linux"]
    /// Send and receive datagrams with congestion control: DCCP over IP or inside UDP
    #[command(after_help = fairwave_dccp_tool::command::EXAMPLES)]
    Dccp(fairwave_dccp_tool::command::Dccp) => dccp::run,
        uses [on("dccp", "json")],
        gives [
            output("dccp", "dccp send HOST", of::<DccpOutput>),
            output("dccp-relay", "dccp relay", of::<RelayOutput>),
            output("dccp-watch", "dccp watch PATH", of::<RateLine>)
        ];
    [target_os = "linux"]
    /// Measure how stations share a network, with TCP or UDP of their kernels
    #[command(after_help = fairwave_fairness::command::options::EXAMPLES)]
    Fairness(fairwave_fairness::command::options::Fairness) => fairness::run,
        uses [
            on("fairness", "json"),
            on("fairness serve", "json"),
            on("fairness run", "json out").out(OUT_FAIRNESS),
            on("fairness show", "json out").out(OUT_FAIRNESS)
        ],
        gives [output("fairness", "fairness run", of::<FairnessOutput>)];
    [target_os = "linux"]
    /// Relay TCP connections, with a target rate towards the server
    #[command(after_help = fairwave_proxy::command::EXAMPLES)]
    Proxy(fairwave_proxy::command::Proxy) => proxy::run,
        uses [on("proxy", "json")],
        gives [output("proxy", "proxy", of::<ProxyOutput>)];
    [target_os = "linux"]
    /// Carry connections over all links of a host at once, to a host that opens them
    #[command(after_help = fairwave_shake_tool::command::EXAMPLES)]
    Shake(fairwave_shake_tool::command::Shake) => shake::run,
        uses [on("shake", "json")],
        gives [
            output("shake", "shake connect HOST", of::<ShakeOutput>),
            output("shake-serve", "shake serve", of::<ServeOutput>),
            output("shake-diagnose", "shake diagnose HOST", of::<DiagnosisOutput>)
        ];
    [target_os = "linux"]
    /// Lend this host's uplink to hosts near by, as a path of their `fairwave shake connect`
    #[command(after_help = fairwave_share_tool::command::EXAMPLES)]
    Share(fairwave_share_tool::command::Share) => share::run,
        uses [on("share", "json")],
        gives [
            output("share-lend", "share lend", of::<LendOutput>),
            output("share-list", "share list", of::<ShareListOutput>)
        ];
    [target_os = "linux"]
    /// Report how good a station's channel is, and share an access point's interface by it
    #[command(after_help = fairwave_soc_tool::command::program::EXAMPLES)]
    Soc(fairwave_soc_tool::command::program::Soc) => soc::run,
        uses [on("soc", "json")],
        gives [output("soc", "soc status", of::<Status>)];
    Trace(trace::Trace) => trace::run,
        uses [on("trace", "json out force")
            .out("Also write the results into this directory; must be empty or new")],
        gives [output("trace", "trace", || json!(fairwave_capture::trace::schema()))];
    List(list::List) => list,
        uses [on("list", "json")],
        gives [output("list", "list", of::<ListOutput>)];
    Explain(explain::Explain) => explain,
        uses [on("explain", "json")],
        gives [output("explain", "explain", of::<ExplainOutput>)];
    [target_os = "linux"]
    Doctor(doctor::Doctor) => doctor::run,
        uses [on("doctor", "json")],
        gives [output("doctor", "doctor", of::<DoctorOutput>)];
    Completions(manual::Completions) => completions,
        uses [on("completions", "")],
        gives [];
    Man(manual::Man) => man,
        uses [on("man", "out force")
            .out("Write a page for each command into this directory; must be empty or new")],
        gives [];
}

#[cfg(target_os = "linux")]
const OUT_FAIRNESS: &str = "Also write fairness.json, fairness.html and repetition-N.flent.gz into \
                            this directory";

/// Files and outputs that have a JSON schema.
fn schemas() -> Vec<Schema> {
    let scenario = file("scenario", "Scenario files", fairwave_scenario::schema);
    let summary = file("summary", "The file summary.json of a run directory", of::<Summary>);
    let meta = file("meta", "The file meta.json of a run directory", of::<Meta>);
    #[cfg(target_os = "linux")]
    let serving = vec![file(
        "serve",
        "The first line of commands that serve, with --json: they print it once they listen",
        of::<fairwave_console::Listening>,
    )];
    #[cfg(not(target_os = "linux"))]
    let serving = Vec::new();
    [vec![scenario], of_commands(), serving, vec![summary, meta]].concat()
}

// Views of the whole table get it as an argument: a file of a command must not use this one, which
// uses it.
fn list(common: &Common, list: &list::List) -> Result<(), Failure> {
    let pages = list::Pages {
        commands: || reference::commands(definition(), EXIT_CODES),
        fields: || reference::fields(&schemas()),
    };
    list::run(common, list, &schemas(), &pages)
}

fn explain(common: &Common, explain: &explain::Explain) -> Result<(), Failure> {
    explain::run(common, explain, &schemas())
}

fn completions(_: &Common, completions: &manual::Completions) -> Result<(), Failure> {
    manual::completions(completions, &definition())
}

fn man(common: &Common, _: &manual::Man) -> Result<(), Failure> {
    manual::man(common, definition())
}

/// Part of both the short and the long help.
macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0  everything ran
  1  a run or a program of an emulation failed, a signal ended a command before its results, or
     a file could not be read or written
  2  bad usage, a scenario that is not valid, or a file that is no capture
  3  with --strict: a claim fails
  4  an emulation is not valid, as it did not keep real time"
    };
}

const EXIT_CODES: &str = exit_codes!();

const EXAMPLES: &str = concat!(
    "\
Examples:
  fairwave reproduce ack-loss
  fairwave run scenarios/ack-loss.toml --set tcp.congestion_control=reno --out out/one
  fairwave run scenarios/single-tcp.toml --set flow.up.delayed_ack=off --seed 7 --json
  fairwave sweep scenarios/ack-loss.toml --jobs 2
  fairwave check scenarios/ack-loss.toml studies/ack-loss/uploads.toml
  fairwave trace capture.pcapng
  fairwave list congestion-controls
  fairwave list schema run
  fairwave explain flow.congestion_control
  fairwave completions bash
",
    "\n",
    exit_codes!()
);

/// A laboratory for transport protocols over wireless LANs.
///
/// Scenarios are simulated in virtual time; the same scenario, seed and version give the same
/// bytes on any machine, with any number of jobs.
#[derive(Debug, Parser)]
#[command(name = "fairwave", version, after_help = EXIT_CODES, after_long_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// An option that was given although it has no effect on `command`.
    pub(crate) fn idle_option(&self, command: &str) -> Option<&'static str> {
        self.common.idle_option(command, &uses())
    }
}

/// The definition of the command line. The help of a command leaves out common options that have no
/// effect on it.
fn definition() -> clap::Command {
    let whole = Cli::command();
    let all: Vec<Arg> = whole.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let names = schemas().into_iter().map(|of| PossibleValue::new(of.name).help(of.about));
    let names = PossibleValuesParser::new(names);
    let whole =
        whole.mut_subcommand("list", |list| list.mut_arg("of", |of| of.value_parser(names)));
    args::on_commands(whole, "", &all, &uses())
}

/// Options that were renamed: the former name, and the present one.
const RENAMED: &[(&str, &str)] = &[
    ("--between", "--bridge"),
    ("--bin", "--interval"),
    ("--laws", "--algorithms"),
    ("--opening", "--connect-timeout"),
];

/// Names the present option in the error about a former one.
fn with_new_name(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let former = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => option.as_str(),
        _ => return error,
    };
    let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == former) else { return error };
    let new = ContextValue::String((*new).to_owned());
    error.insert(ContextKind::SuggestedArg, new);
    error
}

/// Parses a command line. Also returns the name of its command, such as `probe serve`.
pub(crate) fn read<T: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = T>,
) -> Result<(Cli, String), clap::Error> {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    // Help, errors and `list` need the definition with the options of each command, which takes
    // longer to make than a short run takes.
    match parse(Cli::command(), &words) {
        Ok((cli, command)) if !matches!(cli.command, Command::List(_)) => Ok((cli, command)),
        _ => parse(definition(), &words),
    }
}

fn parse(mut definition: clap::Command, words: &[OsString]) -> Result<(Cli, String), clap::Error> {
    let matches = definition.try_get_matches_from_mut(words).map_err(with_new_name)?;
    let names = successors(matches.subcommand(), |(_, inner)| inner.subcommand());
    let command = names.map(|(name, _)| name).collect::<Vec<_>>().join(" ");
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))?;
    Ok((cli, command))
}
