//! Experiments of this study, and the names of the axes of their sweeps.

use crate::declare::experiment;
use fairwave_study::Experiment;

pub(super) const UPLOADS: &str = "uploads";
pub(super) const DELAYED: &str = "delayed-ack";
pub(super) const UP_DOWN: &str = "up-down";
pub(super) const THRESHOLD: &str = "threshold";
pub(super) const UNREPAIRED: &str = "up-down-unrepaired";
pub(super) const REMEDIES: &str = "remedies";
pub(super) const REMEDIES_UP_DOWN: &str = "remedies-up-down";
pub(super) const DETAIL: &str = "detail";
pub(super) const COUNT: &str = "node.sta.count";
pub(super) const ALGORITHM: &str = "tcp.congestion_control";
pub(super) const ERRORS: &str = "cell.errors.data";
pub(super) const LOST_ACKS: &str = "tcp.thresh_ack_losses";
/// The number of uploads in the paper's figures.
pub(super) const PAPER_UPLOADS: &str = "16";
/// The packet error rates that stand for the paper's "low" and "high", which it does not state.
pub(super) const LOW: &str = "0.001";
pub(super) const HIGH: &str = "0.3";

/// 40 s are measured behind the warm-up, where the full form measures 100 s.
const SHORT: &str = "duration=60 s";

pub(super) const QUICK_REMEDIES: &[&str] = &[
    "sweep.seeds=2",
    SHORT,
    "sweep.tcp.congestion_control=['compound', 'ack-loss-literal+compound']",
    "sweep.node.ap.queue.discipline=['drop-tail', 'fq-codel', 'airtime-drr']",
    "sweep.node.ap.queue.limit=['100 packets']",
];

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!("ack-loss", DETAIL, "detail", &[], true),
    experiment!(
        "ack-loss",
        UPLOADS,
        "uploads",
        &["sweep.seeds=3", SHORT, "sweep.node.sta.count=[4, 16]"],
        false
    ),
    experiment!(
        "ack-loss",
        THRESHOLD,
        "threshold",
        &["sweep.seeds=2", SHORT, "sweep.tcp.congestion_control=['ack-loss-literal+reno']"],
        false
    ),
    experiment!(
        "ack-loss",
        DELAYED,
        "delayed-ack",
        &["sweep.seeds=3", SHORT, "sweep.node.sta.count=[16]"],
        false
    ),
    experiment!(
        "ack-loss",
        UP_DOWN,
        "up-down",
        &[
            "sweep.seeds=3",
            SHORT,
            "sweep.cell.errors.data=[0.001, 0.3, 0.5]",
            "sweep.tcp.congestion_control=[\"compound\", \"ack-loss-literal+compound\"]",
        ],
        false
    ),
    experiment!(
        "ack-loss",
        UNREPAIRED,
        "up-down-unrepaired",
        &[
            "sweep.seeds=3",
            SHORT,
            "sweep.cell.errors.data=[0.001, 0.03]",
            "sweep.tcp.congestion_control=[\"compound\"]",
        ],
        false
    ),
    experiment!("ack-loss", REMEDIES, "remedies", QUICK_REMEDIES, false),
    experiment!("ack-loss", REMEDIES_UP_DOWN, "remedies-up-down", QUICK_REMEDIES, false),
];

/// With the sockets of a kernel: experiments of the same names. The remedies at the access point
/// are left to the simulator.
pub(super) const EMULATED: &[Experiment] = &[
    experiment!("ack-loss", UPLOADS, "emulated-uploads", &["sweep.seeds=2", "duration=60 s"], true),
    experiment!("ack-loss", UP_DOWN, "emulated-up-down", &["sweep.seeds=2", "duration=45 s"], true),
    experiment!(
        "ack-loss",
        DELAYED,
        "emulated-delayed-ack",
        &["sweep.seeds=2", "duration=60 s"],
        true
    ),
];
