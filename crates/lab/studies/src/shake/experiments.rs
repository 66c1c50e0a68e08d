//! Experiments of this study, and the names of the axes of their sweeps.

use crate::declare::experiment;
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

pub(super) const FEW_SIZES: &str = "sweep.flow.transfer.size=['100 KB', '500 KB', '1000 KB']";

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!("shake", "repetition", &["sweep.seeds=10"], true),
    experiment!("shake", "losses", &["sweep.seeds=10", FEW_SIZES], false),
    experiment!("shake", "bursts", &["sweep.seeds=20"], false),
    experiment!("shake", "connections-shake", &["sweep.seeds=10", FEW_SIZES], false),
    experiment!("shake", "connections-tcp", &["sweep.seeds=10", FEW_SIZES], false),
    experiment!("shake", "changes-shake", &["sweep.seeds=10"], false),
    experiment!("shake", "changes-tcp", &["sweep.seeds=10"], false),
    experiment!(
        "shake",
        "today",
        &[
            "duration=8 s",
            "warm_up=3 s",
            "sweep.flow.transfer.scheduler=['widest', 'blest', 'redundant']",
            "sweep.flow.transfer.growth=['uncoupled', 'olia']"
        ],
        false
    ),
    experiment!(
        "shake",
        "today-lossy",
        &[
            "sweep.seeds=1",
            "duration=8 s",
            "warm_up=3 s",
            "sweep.flow.transfer.scheduler=['widest', 'blest', 'redundant']",
            "sweep.flow.transfer.growth=['uncoupled', 'olia']"
        ],
        false
    ),
    experiment!("shake", "today-paths", &["duration=10 s"], false),
    experiment!("shake", "today-paths-lossy", &["sweep.seeds=1", "duration=10 s"], false),
    experiment!("shake", "policy", &["sweep.seeds=10"], false),
    experiment!("shake", "policy-today", &["sweep.seeds=2"], false),
    experiment!("shake", "shared", &["sweep.seeds=3", "duration=40 s", "warm_up=10 s"], false),
    experiment!("shake", "apart", &["sweep.seeds=3", "duration=40 s", "warm_up=10 s"], false),
];

/// In real time, with the code of `fairwave shake` on the sockets of a kernel: experiments of the
/// paper's paths, and those of today.
pub(super) const EMULATED: &[Experiment] = &[
    experiment!("shake", REPETITION, "emulated-repetition", &["sweep.seeds=2"], true),
    experiment!("shake", CHANGES_SHAKE, "emulated-changes-shake", &["sweep.seeds=2"], false),
    experiment!("shake", CHANGES_TCP, "emulated-changes-tcp", &["sweep.seeds=2"], false),
    experiment!("shake", LOSSES, "emulated-losses", &["sweep.seeds=2"], false),
    experiment!("shake", BURSTS, "emulated-bursts", &["sweep.seeds=2"], false),
    experiment!(
        "shake",
        CONNECTIONS_SHAKE,
        "emulated-connections-shake",
        &["sweep.seeds=2"],
        false
    ),
    experiment!("shake", CONNECTIONS_TCP, "emulated-connections-tcp", &["sweep.seeds=2"], false),
    experiment!("shake", TODAY_PATHS, "emulated-paths", &["duration=8 s", "warm_up=3 s"], true),
    experiment!(
        "shake",
        TODAY_PATHS_LOSSY,
        "emulated-paths-lossy",
        &["duration=8 s", "warm_up=3 s"],
        true
    ),
];

/// Number of runs that go at the same time in real time: those of the paper's paths, of 128 kbps
/// together, have a few dozen packets a second.
pub(super) fn emulated_at_once(experiment: &str) -> usize {
    match experiment {
        TODAY_PATHS | TODAY_PATHS_LOSSY => 1,
        _ => 80,
    }
}
