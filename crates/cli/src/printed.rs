//! Types of the commands' output with `--json`. The JSON and its schemas are derived from them.

use fairwave_lab::points::Point;
use fairwave_lab::report::compare::CompareOutput;
use fairwave_lab::results::{Meta, Summary};
use fairwave_lab::schema;
use fairwave_scenario::{Diagnostic, KeyHelp, TableHelp};
use fairwave_study::StudySummary;
use fairwave_study::beside::BesideSummary;
use fairwave_study::map::MapSummary;

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunOfSweep {
    /// Sweep axes and their values, as TOML writes them.
    pub(crate) axes: BTreeMap<String, String>,
    /// Its master seed.
    pub(crate) seed: u64,
    /// Its run directory.
    pub(crate) directory: Option<String>,
    /// Results of the run: the content of `summary.json`.
    pub(crate) summary: Summary,
    /// Warnings for the reader of the results.
    pub(crate) warnings: Vec<String>,
}

/// Cost of the simulation.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SpeedSummary {
    /// Wall-clock time.
    pub(crate) wall_s: f64,
    /// Processor time of all threads; null if unknown.
    pub(crate) cpu_s: Option<f64>,
    /// Virtual time of all runs.
    pub(crate) simulated_s: f64,
    /// Frames put on the air in all runs.
    pub(crate) frames: u64,
    /// Virtual seconds per second of processor time; null if that is unknown.
    pub(crate) simulated_s_per_cpu_s: Option<f64>,
    /// Frames simulated per second of processor time; null if that is unknown.
    pub(crate) frames_per_cpu_s: Option<f64>,
}

/// Output of `fairwave run --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunOutput {
    #[serde(flatten)]
    pub(crate) run: RunOfSweep,
    /// The scenario file.
    pub(crate) scenario: String,
    #[serde(flatten)]
    pub(crate) speed: SpeedSummary,
}

/// Output of `fairwave emulate --json`. The summary also reports how well real time was kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EmulateOutput {
    #[serde(flatten)]
    pub(crate) run: RunOfSweep,
    /// The scenario file.
    pub(crate) scenario: String,
    /// The flows on sockets beside the same flows in the simulator, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agreement: Option<Value>,
}

/// Output of `fairwave sweep --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SweepOutput<'a> {
    /// The scenario file.
    pub(crate) scenario: String,
    /// The directory that contains the run directories.
    pub(crate) directory: String,
    /// Every run, by point and then by seed.
    pub(crate) runs: Vec<RunOfSweep>,
    /// Means over the seeds of each point.
    pub(crate) points: &'a [Point],
    /// Warnings for the reader of the results, each with the number of runs that it concerns.
    pub(crate) warnings: &'a [String],
    #[serde(flatten)]
    pub(crate) speed: SpeedSummary,
}

/// Output of `fairwave matrix --json`.
#[cfg(target_os = "linux")]
#[derive(Serialize, JsonSchema)]
pub(crate) struct MatrixOutput<'a> {
    /// The scenario file.
    pub(crate) scenario: String,
    /// The directory that contains the run directories.
    pub(crate) directory: String,
    /// The page with table and heat maps.
    pub(crate) page: String,
    /// Release of the kernel that provides the congestion control algorithms.
    pub(crate) kernel: String,
    /// Means over the valid runs of each point. The axes are `host` (`kernel` or `simulator`),
    /// `law`, `company` and those of the scenario's sweep.
    pub(crate) points: &'a [Point],
    /// Runs that were late twice, and are therefore excluded from the means.
    pub(crate) left_out: &'a [fairwave_emulator::emulation::matrix::Left],
    /// Number of runs that were late once and were repeated.
    pub(crate) repeated: usize,
    /// Warnings for the reader of the results.
    pub(crate) warnings: Vec<String>,
}

/// Output of `fairwave check --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckOutput {
    /// Each file, in the order of the command line.
    pub(crate) files: Vec<FileCheck>,
}

/// Errors of a scenario file, or its size.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct FileCheck {
    /// The file.
    pub(crate) file: String,
    /// Whether it is a valid scenario.
    pub(crate) valid: bool,
    /// Number of points of its sweep; only if the file is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) points: Option<usize>,
    /// Number of runs that a sweep makes, over all points and seeds; only if the file is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runs: Option<usize>,
    /// Settings that are valid but probably a mistake; only if the file is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warnings: Option<Vec<String>>,
    /// Errors, in the order of the file; only if the file is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diagnostics: Option<Vec<Diagnostic>>,
    /// Reason why the file could not be read; only in that case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// Output of `fairwave packets --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PacketsOutput {
    /// Every script, in the order of the command line.
    pub(crate) scripts: Vec<PlayedScript>,
}

/// Results of a packet script.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlayedScript {
    /// Its file, without the directory.
    pub(crate) script: String,
    /// Source and content of its requirements.
    pub(crate) about: String,
    /// Duration of the script in real time.
    pub(crate) length_s: f64,
    /// Reason why the kernel is known to differ; null if it is not known to.
    pub(crate) reason: Option<String>,
    /// One verdict for each side.
    pub(crate) verdicts: Vec<SideVerdict>,
}

/// Result of a packet script against one side.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SideVerdict {
    /// `simulator`, `endpoint` or `kernel`.
    pub(crate) side: String,
    /// `follows`, `differs`, `known` (differs, as the script states), `surprises` (does not differ,
    /// although the script states so), or `-` (not played).
    pub(crate) verdict: String,
    /// Whether the script predicts this verdict.
    pub(crate) expected: bool,
    /// The first difference, or the reason why it was not played; null if there is none.
    pub(crate) difference: Option<String>,
}

/// Output of `fairwave plot --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlotOutput {
    /// Title of the figure.
    pub(crate) figure: String,
    /// The files that were written.
    pub(crate) files: Vec<String>,
}

/// One entry of `fairwave list`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListItem {
    /// Its name in scenario files or commands.
    pub(crate) name: String,
    /// Description of the entry.
    pub(crate) summary: String,
    /// Origin, such as a paper; empty if none is given.
    pub(crate) source: String,
}

/// Output of `fairwave list --json`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a type of which only the schema is wanted")]
struct ListOutput(Vec<ListItem>);

/// Output of `fairwave explain --json`: the requested keys or figures, or all tables.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a type of which only the schema is wanted")]
enum ExplainOutput {
    /// The requested keys.
    Keys(Vec<KeyHelp>),
    /// Every table of scenario files.
    Tables(Vec<TableHelp>),
    /// The requested figures of `fairwave probe`.
    #[cfg(target_os = "linux")]
    Figures(Vec<crate::commands::figures::Figure>),
}

/// Files and outputs that have a JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Described {
    /// Scenario files
    Scenario,
    /// Output of `run --json`
    Run,
    /// Output of `emulate --json`
    #[cfg(target_os = "linux")]
    Emulate,
    /// Output of `cc --json`
    #[cfg(all(target_os = "linux", feature = "kernel-laws"))]
    Cc,
    /// Output of `matrix --json`
    #[cfg(target_os = "linux")]
    Matrix,
    /// Output of `sweep --json`
    Sweep,
    /// Output of `reproduce --json`
    Reproduce,
    /// Output of `reproduce --host emulate --json`
    ReproduceBeside,
    /// Output of `reproduce --map --json`
    ReproduceMap,
    /// Output of `check --json`
    Check,
    /// Output of `packets --json`
    #[cfg(target_os = "linux")]
    Packets,
    /// Output of `probe HOST --json`
    #[cfg(target_os = "linux")]
    Probe,
    /// Output of `dccp send HOST --json`
    #[cfg(target_os = "linux")]
    Dccp,
    /// Output of `fairness run --json`
    #[cfg(target_os = "linux")]
    Fairness,
    /// Output of `proxy --json`
    #[cfg(target_os = "linux")]
    Proxy,
    /// Output of `soc status --json`
    #[cfg(target_os = "linux")]
    Soc,
    /// Output of `store --json`
    Store,
    /// Output of `compare --json`
    Compare,
    /// Output of `plot --json`
    Plot,
    /// Output of `list --json`
    List,
    /// Output of `explain --json`
    Explain,
    /// Output of `trace --json`
    Trace,
    /// The file summary.json of a run directory
    Summary,
    /// The file meta.json of a run directory
    Meta,
}

impl Described {
    /// The JSON schema (draft 2020-12).
    pub(crate) fn schema(self) -> Value {
        let of = |schema: Schema| json!(schema);
        match self {
            Self::Scenario => fairwave_scenario::schema(),
            Self::Run => of(schema::of::<RunOutput>()),
            #[cfg(target_os = "linux")]
            Self::Emulate => of(schema::of::<EmulateOutput>()),
            #[cfg(all(target_os = "linux", feature = "kernel-laws"))]
            Self::Cc => of(schema::of::<fairwave_cc_tool::report::CcOutput>()),
            #[cfg(target_os = "linux")]
            Self::Matrix => of(schema::of::<MatrixOutput<'_>>()),
            Self::Sweep => of(schema::of::<SweepOutput<'_>>()),
            Self::Reproduce => of(schema::of::<StudySummary>()),
            Self::ReproduceBeside => of(schema::of::<BesideSummary>()),
            Self::ReproduceMap => of(schema::of::<MapSummary>()),
            Self::Check => of(schema::of::<CheckOutput>()),
            #[cfg(target_os = "linux")]
            Self::Packets => of(schema::of::<PacketsOutput>()),
            #[cfg(target_os = "linux")]
            Self::Probe => of(schema::of::<fairwave_probe_tool::report::ProbeOutput>()),
            #[cfg(target_os = "linux")]
            Self::Dccp => of(schema::of::<fairwave_dccp_tool::report::DccpOutput>()),
            #[cfg(target_os = "linux")]
            Self::Fairness => of(schema::of::<fairwave_fairness::report::FairnessOutput>()),
            #[cfg(target_os = "linux")]
            Self::Proxy => of(schema::of::<fairwave_proxy::report::ProxyOutput>()),
            #[cfg(target_os = "linux")]
            Self::Soc => of(schema::of::<fairwave_soc_tool::status::Status>()),
            Self::Store => of(schema::of::<crate::printed_store::StoreOutput>()),
            Self::Compare => of(schema::of::<CompareOutput>()),
            Self::Plot => of(schema::of::<PlotOutput>()),
            Self::List => of(schema::of::<ListOutput>()),
            Self::Explain => of(schema::of::<ExplainOutput>()),
            Self::Trace => of(fairwave_capture::trace::schema()),
            Self::Summary => of(schema::of::<Summary>()),
            Self::Meta => of(schema::of::<Meta>()),
        }
    }
}
