//! What is run for this study, and what the axes of its sweeps are called.

use fairwave_study::Experiment;

pub(super) const UPLOADS: &str = "uploads";
pub(super) const DELAYED: &str = "delayed-ack";
pub(super) const UP_DOWN: &str = "up-down";
pub(super) const UNREPAIRED: &str = "up-down-unrepaired";
pub(super) const REMEDIES: &str = "remedies";
pub(super) const REMEDIES_UP_DOWN: &str = "remedies-up-down";
pub(super) const DETAIL: &str = "detail";
pub(super) const COUNT: &str = "node.sta.count";
pub(super) const LAW: &str = "tcp.congestion_control";
pub(super) const ERRORS: &str = "cell.errors.data";
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
    Experiment {
        name: DETAIL,
        file: "studies/ack-loss/detail.toml",
        text: include_str!("../../../../studies/ack-loss/detail.toml"),
        quick: &[],
        series: true,
    },
    Experiment {
        name: UPLOADS,
        file: "studies/ack-loss/uploads.toml",
        text: include_str!("../../../../studies/ack-loss/uploads.toml"),
        quick: &["sweep.seeds=3", SHORT, "sweep.node.sta.count=[4, 16]"],
        series: false,
    },
    Experiment {
        name: DELAYED,
        file: "studies/ack-loss/delayed-ack.toml",
        text: include_str!("../../../../studies/ack-loss/delayed-ack.toml"),
        quick: &["sweep.seeds=3", SHORT, "sweep.node.sta.count=[16]"],
        series: false,
    },
    Experiment {
        name: UP_DOWN,
        file: "studies/ack-loss/up-down.toml",
        text: include_str!("../../../../studies/ack-loss/up-down.toml"),
        quick: &[
            "sweep.seeds=3",
            SHORT,
            "sweep.cell.errors.data=[0.001, 0.3, 0.5]",
            "sweep.tcp.congestion_control=[\"compound\", \"ack-loss-literal+compound\"]",
        ],
        series: false,
    },
    Experiment {
        name: UNREPAIRED,
        file: "studies/ack-loss/up-down-unrepaired.toml",
        text: include_str!("../../../../studies/ack-loss/up-down-unrepaired.toml"),
        quick: &[
            "sweep.seeds=3",
            SHORT,
            "sweep.cell.errors.data=[0.001, 0.03]",
            "sweep.tcp.congestion_control=[\"compound\"]",
        ],
        series: false,
    },
    Experiment {
        name: REMEDIES,
        file: "studies/ack-loss/remedies.toml",
        text: include_str!("../../../../studies/ack-loss/remedies.toml"),
        quick: QUICK_REMEDIES,
        series: false,
    },
    Experiment {
        name: REMEDIES_UP_DOWN,
        file: "studies/ack-loss/remedies-up-down.toml",
        text: include_str!("../../../../studies/ack-loss/remedies-up-down.toml"),
        quick: QUICK_REMEDIES,
        series: false,
    },
];

/// With the sockets of a kernel: experiments of the same names. The remedies at the access point
/// are left to the simulator.
pub(super) const EMULATED: &[Experiment] = &[
    Experiment {
        name: UPLOADS,
        file: "studies/ack-loss/emulated-uploads.toml",
        text: include_str!("../../../../studies/ack-loss/emulated-uploads.toml"),
        quick: &["sweep.seeds=2", "duration=60 s"],
        series: true,
    },
    Experiment {
        name: UP_DOWN,
        file: "studies/ack-loss/emulated-up-down.toml",
        text: include_str!("../../../../studies/ack-loss/emulated-up-down.toml"),
        quick: &["sweep.seeds=2", "duration=45 s"],
        series: true,
    },
];
