//! What is run for this study, and what the axes of its sweeps are called.

use super::converter::experiments as converter;
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
    Experiment {
        name: DETAIL,
        file: "studies/fairness/detail.toml",
        text: include_str!("../../../../../studies/fairness/detail.toml"),
        quick: &[],
        series: true,
    },
    Experiment {
        name: SIX,
        file: "studies/fairness/six.toml",
        text: include_str!("../../../../../studies/fairness/six.toml"),
        quick: &["sweep.seeds=2"],
        series: true,
    },
    Experiment {
        name: SPLIT,
        file: "studies/fairness/split.toml",
        text: include_str!("../../../../../studies/fairness/split.toml"),
        // Ten minutes are five runs of two, and whether they are fairer one seed cannot tell.
        quick: &[
            "sweep.seeds=1",
            "variant=[\"as the paper's\", 'RTO of at most 1 s', 'an ACK for every segment', \
             'the same, RTO of at most 1 s']",
        ],
        series: false,
    },
    Experiment {
        name: MIXES,
        file: "studies/fairness/mixes.toml",
        text: include_str!("../../../../../studies/fairness/mixes.toml"),
        quick: &["sweep.seeds=1", "duration=60 s"],
        series: false,
    },
    Experiment {
        name: MAP,
        file: "studies/fairness/map.toml",
        text: include_str!("../../../../../studies/fairness/map.toml"),
        quick: &[
            "sweep.seeds=1",
            "duration=30 s",
            "sweep.node.ap.queue=['255 packets', '31 packets']",
        ],
        series: false,
    },
    Experiment {
        name: CORRECTED,
        file: "studies/fairness/corrected.toml",
        text: include_str!("../../../../../studies/fairness/corrected.toml"),
        quick: &["sweep.seeds=1", "duration=60 s"],
        series: false,
    },
    converter::TCP_EXPERIMENT,
    converter::UDP_EXPERIMENT,
    converter::LOAD_EXPERIMENT,
    converter::BLOCKING_EXPERIMENT,
];

/// With the sockets of a kernel: all terminals have this machine's stack.
pub(super) const EMULATED: &[Experiment] = &[Experiment {
    name: MIXES,
    file: "studies/fairness/emulated-mixes.toml",
    text: include_str!("../../../../../studies/fairness/emulated-mixes.toml"),
    quick: &["sweep.seeds=2", "duration=30 s"],
    series: true,
}];
