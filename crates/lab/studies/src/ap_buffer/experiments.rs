//! Experiments of this study, and the names of the axes of their sweeps.

use crate::declare::experiment;
use fairwave_study::Experiment;

pub(super) const IDLE: &str = "idle";
pub(super) const BESIDE: &str = "beside";
pub(super) const KINDS: &str = "kinds";
pub(super) const QUEUE: &str = "node.ap.queue";
pub(super) const STANDARD: &str = "cell.standard";
pub(super) const VARIANT: &str = "variant";
pub(super) const ERRORS: &str = "cell.errors";

pub(super) const QUICK: &[&str] = &[
    "sweep.seeds=4",
    "duration=20 s",
    "flow.probe.trials=4",
    "flow.probe.spaced=80",
    "flow.probe.train=1500",
    "sweep.node.ap.queue=['255 packets', '135 packets', '31 packets']",
];

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!("ap-buffer", IDLE, "idle", QUICK, false),
    experiment!("ap-buffer", BESIDE, "beside", QUICK, false),
    experiment!("ap-buffer", KINDS, "kinds", &["sweep.seeds=2"], false),
];

/// With the sockets of a kernel: both ends of each probe, and the traffic beside it.
pub(super) const EMULATED: &[Experiment] = &[
    experiment!("ap-buffer", IDLE, "emulated-idle", EMULATED_QUICK, false),
    experiment!("ap-buffer", BESIDE, "emulated-beside", EMULATED_QUICK, false),
    experiment!("ap-buffer", KINDS, "emulated-kinds", &["sweep.seeds=1"], false),
];

/// The six access points with one standard and seed each.
const EMULATED_QUICK: &[&str] = &["sweep.seeds=1", "sweep.cell.standard=['802.11g']"];
