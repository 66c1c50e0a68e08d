//! What commands print with `--json`, as types: JSON and its schemas are made of them.

use fairwave_lab::compare::Comparison;
use fairwave_lab::points::Point;
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
    /// What it came to: the content of `summary.json`.
    pub(crate) summary: Summary,
    /// What whoever reads the results should know.
    pub(crate) warnings: Vec<String>,
}

/// What simulating took.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SpeedSummary {
    /// Time on the wall.
    pub(crate) wall_s: f64,
    /// Processor time of all threads; null where it is not known.
    pub(crate) cpu_s: Option<f64>,
    /// Virtual time of all runs.
    pub(crate) simulated_s: f64,
    /// Frames put on the air in all runs.
    pub(crate) frames: u64,
    /// Virtual seconds per second of processor time; null where that is not known.
    pub(crate) simulated_s_per_cpu_s: Option<f64>,
    /// Frames simulated per second of processor time; null where that is not known.
    pub(crate) frames_per_cpu_s: Option<f64>,
}

/// What `fairwave run --json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunOutput {
    #[serde(flatten)]
    pub(crate) run: RunOfSweep,
    /// The scenario file.
    pub(crate) scenario: String,
    #[serde(flatten)]
    pub(crate) speed: SpeedSummary,
}

/// What `fairwave emulate --json` prints. The summary also says how well real time was kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EmulateOutput {
    #[serde(flatten)]
    pub(crate) run: RunOfSweep,
    /// The scenario file.
    pub(crate) scenario: String,
    /// The flows on sockets beside the same flows in the simulator, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agreement: Option<Value>,
}

/// What `fairwave sweep --json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SweepOutput<'a> {
    /// The scenario file.
    pub(crate) scenario: String,
    /// Where the run directories are.
    pub(crate) directory: String,
    /// Every run, by point and then by seed.
    pub(crate) runs: Vec<RunOfSweep>,
    /// Means over the seeds of each point.
    pub(crate) points: &'a [Point],
    /// What whoever reads the results should know, each with the number of runs where it was so.
    pub(crate) warnings: &'a [String],
    #[serde(flatten)]
    pub(crate) speed: SpeedSummary,
}

/// What `fairwave matrix --json` prints.
#[cfg(target_os = "linux")]
#[derive(Serialize, JsonSchema)]
pub(crate) struct MatrixOutput<'a> {
    /// The scenario file.
    pub(crate) scenario: String,
    /// Where the run directories are.
    pub(crate) directory: String,
    /// The page with table and heat maps.
    pub(crate) page: String,
    /// Release of the kernel whose laws these are.
    pub(crate) kernel: String,
    /// Means over the runs of each point that count. The axes are `host` (`kernel` or `simulator`),
    /// `law`, `company` and those of the scenario's sweep.
    pub(crate) points: &'a [Point],
    /// Runs that were late twice and do not count.
    pub(crate) left_out: &'a [fairwave_emulator::emulation::matrix::Left],
    /// Number of runs that were late once and made a second time.
    pub(crate) repeated: usize,
    /// What whoever reads the results should know.
    pub(crate) warnings: Vec<String>,
}

/// What `fairwave check --json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckOutput {
    /// Each file, in the order of the command line.
    pub(crate) files: Vec<FileCheck>,
}

/// What is wrong with a scenario file, or how large it is.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct FileCheck {
    /// The file.
    pub(crate) file: String,
    /// Whether it is a valid scenario.
    pub(crate) valid: bool,
    /// Number of points of its sweep; only where it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) points: Option<usize>,
    /// Number of runs that a sweep makes, over all points and seeds; only where it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runs: Option<usize>,
    /// What is valid and hardly meant; only where it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warnings: Option<Vec<String>>,
    /// What is wrong, in the order of the file; only where it is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diagnostics: Option<Vec<Diagnostic>>,
    /// Why it could not be read; only then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// What `fairwave packets --json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PacketsOutput {
    /// Every script, in the order of the command line.
    pub(crate) scripts: Vec<PlayedScript>,
}

/// What a packet script came to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlayedScript {
    /// Its file, without the directory.
    pub(crate) script: String,
    /// The source of its demands, and what they are.
    pub(crate) about: String,
    /// How long it takes in real time.
    pub(crate) length_s: f64,
    /// Why the kernel is known to differ; null where it is not.
    pub(crate) reason: Option<String>,
    /// One for each side.
    pub(crate) verdicts: Vec<SideVerdict>,
}

/// How a packet script ended against one side.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SideVerdict {
    /// `simulator`, `endpoint` or `kernel`.
    pub(crate) side: String,
    /// `follows`, `differs`, `known` (differs, as the script says), `surprises` (does not, though
    /// the script says so), or `-` (not played).
    pub(crate) verdict: String,
    /// Whether that is what the script leads to expect.
    pub(crate) expected: bool,
    /// The first difference, or why it was not played; null where there is none.
    pub(crate) difference: Option<String>,
}

/// What `fairwave compare --json` and `fairwave fairness --compare A B --json` print.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompareOutput {
    /// Where the first runs are.
    pub(crate) first: String,
    /// Where the second runs are.
    pub(crate) second: String,
    /// Every figure at every point that both have.
    pub(crate) comparisons: Vec<Comparison>,
}

/// What `fairwave plot --json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlotOutput {
    /// Title of the figure.
    pub(crate) figure: String,
    /// The files that were written.
    pub(crate) files: Vec<String>,
}

/// One thing that `fairwave list` lists.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListItem {
    /// Its name, as scenario files or commands take it.
    pub(crate) name: String,
    /// What it is.
    pub(crate) summary: String,
    /// Where it comes from; empty where that needs no saying.
    pub(crate) source: String,
}

/// What `fairwave list --json` prints.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a type of which only the schema is wanted")]
struct ListOutput(Vec<ListItem>);

/// What `fairwave explain --json` prints: the keys or figures that were asked for, or all tables.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a type of which only the schema is wanted")]
enum ExplainOutput {
    /// The keys that were asked for.
    Keys(Vec<KeyHelp>),
    /// Every table of scenario files.
    Tables(Vec<TableHelp>),
    /// The figures of `fairwave probe` that were asked for.
    #[cfg(target_os = "linux")]
    Figures(Vec<crate::commands::figures::Figure>),
}

/// What has a JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Described {
    /// Scenario files
    Scenario,
    /// What `run --json` prints
    Run,
    /// What `emulate --json` prints
    #[cfg(target_os = "linux")]
    Emulate,
    /// What `cc --json` prints
    #[cfg(all(target_os = "linux", feature = "kernel-laws"))]
    Cc,
    /// What `matrix --json` prints
    #[cfg(target_os = "linux")]
    Matrix,
    /// What `sweep --json` prints
    Sweep,
    /// What `reproduce --json` prints
    Reproduce,
    /// What `reproduce --host emulate --json` prints
    ReproduceBeside,
    /// What `reproduce --map --json` prints
    ReproduceMap,
    /// What `check --json` prints
    Check,
    /// What `packets --json` prints
    #[cfg(target_os = "linux")]
    Packets,
    /// What `probe HOST --json` prints
    #[cfg(target_os = "linux")]
    Probe,
    /// What `dccp send HOST --json` prints
    #[cfg(target_os = "linux")]
    Dccp,
    /// What `fairness run --json` prints
    #[cfg(target_os = "linux")]
    Fairness,
    /// What `proxy --json` prints
    #[cfg(target_os = "linux")]
    Proxy,
    /// What `soc status --json` prints
    #[cfg(target_os = "linux")]
    Soc,
    /// What `store --json` prints
    Store,
    /// What `compare --json` prints
    Compare,
    /// What `plot --json` prints
    Plot,
    /// What `list --json` prints
    List,
    /// What `explain --json` prints
    Explain,
    /// What `trace --json` prints
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
            Self::Cc => of(schema::of::<crate::printed_cc::CcOutput>()),
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
            Self::Probe => of(schema::of::<crate::printed_probe::ProbeOutput>()),
            #[cfg(target_os = "linux")]
            Self::Dccp => of(schema::of::<crate::printed_dccp::DccpOutput>()),
            #[cfg(target_os = "linux")]
            Self::Fairness => of(schema::of::<crate::printed_fairness::FairnessOutput>()),
            #[cfg(target_os = "linux")]
            Self::Proxy => of(schema::of::<crate::printed_proxy::ProxyOutput>()),
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
