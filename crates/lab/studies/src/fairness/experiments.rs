//! Experiments of this study, and the names of the axes of their sweeps.

use super::converter::experiments as converter;
use crate::declare::experiment;
use fairwave_study::Experiment;

pub(super) const MIXES: &str = "mixes";
pub(super) const MAP: &str = "map";
pub(super) const DETAIL: &str = "detail";
pub(super) const SIX: &str = "six";
pub(super) const SPLIT: &str = "split";
pub(super) const CORRECTED: &str = "corrected";
pub(super) const QUEUE: &str = "node.ap.queue";
pub(super) const LINUX: &str = "node.linux.count";
pub(super) const XP: &str = "node.xp.count";
pub(super) const ACKS: &str = "tcp.delayed_ack";
/// The access points of the paper's figures.
pub(super) const LARGE: &str = "255 packets";
pub(super) const SMALL: &str = "31 packets";

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!("fairness", DETAIL, "detail", &[], true),
    experiment!("fairness", SIX, "six", &["sweep.seeds=2"], true),
    // Ten minutes are five runs of two, and whether they are fairer one seed cannot tell.
    experiment!(
        "fairness",
        SPLIT,
        "split",
        &[
            "sweep.seeds=1",
            "variant=[\"as the paper's\", 'RTO of at most 1 s', 'an ACK for every segment', \
             'the same, RTO of at most 1 s']",
        ],
        false
    ),
    experiment!("fairness", MIXES, "mixes", &["sweep.seeds=1", "duration=60 s"], false),
    experiment!(
        "fairness",
        MAP,
        "map",
        &["sweep.seeds=1", "duration=30 s", "sweep.node.ap.queue=['255 packets', '31 packets']",],
        false
    ),
    experiment!("fairness", CORRECTED, "corrected", &["sweep.seeds=1", "duration=60 s"], false),
    converter::TCP_EXPERIMENT,
    converter::UDP_EXPERIMENT,
    converter::LOAD_EXPERIMENT,
    converter::BLOCKING_EXPERIMENT,
];

/// With the sockets of a kernel: all terminals have this machine's stack.
pub(super) const EMULATED: &[Experiment] =
    &[experiment!("fairness", MIXES, "emulated-mixes", &["sweep.seeds=2", "duration=30 s"], true)];
