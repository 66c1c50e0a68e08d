//! What is run for this study, and what the axes of its sweeps are called.

use fairwave_study::Experiment;

pub(super) const REPETITION: &str = "repetition";
pub(super) const LOSSES: &str = "losses";
pub(super) const BURSTS: &str = "bursts";
pub(super) const CONNECTIONS_SHAKE: &str = "connections-shake";
pub(super) const CONNECTIONS_TCP: &str = "connections-tcp";
pub(super) const CHANGES_SHAKE: &str = "changes-shake";
pub(super) const CHANGES_TCP: &str = "changes-tcp";
pub(super) const TODAY: &str = "today";
pub(super) const TODAY_LOSSY: &str = "today-lossy";
pub(super) const TODAY_PATHS: &str = "today-paths";
pub(super) const TODAY_PATHS_LOSSY: &str = "today-paths-lossy";
pub(super) const POLICY: &str = "policy";
pub(super) const POLICY_TODAY: &str = "policy-today";
pub(super) const SHARED: &str = "shared";
pub(super) const APART: &str = "apart";

pub(super) const VARIANT: &str = "variant";
pub(super) const SIZE: &str = "flow.transfer.size";
pub(super) const BURST: &str = "link.path2.loss.mean_burst";
pub(super) const SCHEDULER: &str = "flow.transfer.scheduler";
pub(super) const GROWTH: &str = "flow.transfer.growth";
pub(super) const RETRANSMISSION: &str = "flow.transfer.retransmission";

/// The flow that is measured, in every scenario.
pub(super) const TRANSFER: &str = "transfer";
/// Variants of [`REPETITION`].
pub(super) const WIDEST: &str = "widest";
pub(super) const SAME: &str = "same";
pub(super) const NO_SACK: &str = "no SACK";

pub(super) const QUICK_WARNING: &str = "This is the quick form: fewer seeds and points. Verdicts \
    near their bounds can come out otherwise than in the full form, which counts.";

/// An experiment of this study by its name, of which `--quick` runs less.
macro_rules! experiment {
    ($name:literal, $series:expr, $quick:expr) => {
        Experiment {
            name: $name,
            file: concat!("studies/shake/", $name, ".toml"),
            text: include_str!(concat!("../../../../studies/shake/", $name, ".toml")),
            quick: $quick,
            series: $series,
        }
    };
}

pub(super) const FEW_SIZES: &str = "sweep.flow.transfer.size=['100 KB', '500 KB', '1000 KB']";

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!("repetition", true, &["sweep.seeds=10"]),
    experiment!("losses", false, &["sweep.seeds=10", FEW_SIZES]),
    experiment!("bursts", false, &["sweep.seeds=20"]),
    experiment!("connections-shake", false, &["sweep.seeds=10", FEW_SIZES]),
    experiment!("connections-tcp", false, &["sweep.seeds=10", FEW_SIZES]),
    experiment!("changes-shake", false, &["sweep.seeds=10"]),
    experiment!("changes-tcp", false, &["sweep.seeds=10"]),
    experiment!(
        "today",
        false,
        &[
            "duration=8 s",
            "warm_up=3 s",
            "sweep.flow.transfer.scheduler=['widest', 'blest', 'redundant']",
            "sweep.flow.transfer.growth=['uncoupled', 'olia']"
        ]
    ),
    experiment!(
        "today-lossy",
        false,
        &[
            "sweep.seeds=1",
            "duration=8 s",
            "warm_up=3 s",
            "sweep.flow.transfer.scheduler=['widest', 'blest', 'redundant']",
            "sweep.flow.transfer.growth=['uncoupled', 'olia']"
        ]
    ),
    experiment!("today-paths", false, &["duration=10 s"]),
    experiment!("today-paths-lossy", false, &["sweep.seeds=1", "duration=10 s"]),
    experiment!("policy", false, &["sweep.seeds=10"]),
    experiment!("policy-today", false, &["sweep.seeds=2"]),
    experiment!("shared", false, &["sweep.seeds=3", "duration=40 s", "warm_up=10 s"]),
    experiment!("apart", false, &["sweep.seeds=3", "duration=40 s", "warm_up=10 s"]),
];

/// With the sockets of a kernel: its MPTCP and TCP over the paths of the experiment of this name.
pub(super) const EMULATED: &[Experiment] = &[
    Experiment {
        name: TODAY_PATHS,
        file: "studies/shake/emulated-paths.toml",
        text: include_str!("../../../../studies/shake/emulated-paths.toml"),
        quick: &["duration=8 s", "warm_up=3 s"],
        series: true,
    },
    Experiment {
        name: TODAY_PATHS_LOSSY,
        file: "studies/shake/emulated-paths-lossy.toml",
        text: include_str!("../../../../studies/shake/emulated-paths-lossy.toml"),
        quick: &["duration=8 s", "warm_up=3 s", "sweep.seeds=1"],
        series: true,
    },
];
