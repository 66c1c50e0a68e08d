//! Experiments of this study, and the names of the axes of their sweeps.

use crate::declare::experiment;
use fairwave_study::Experiment;

pub(super) const EFFECTIVE: &str = "effective";
pub(super) const TARGETS: &str = "targets";
pub(super) const RENO: &str = "reno";
pub(super) const WINDOWS: &str = "windows";
pub(super) const WINDOWS_RENO: &str = "windows-reno";
pub(super) const LAW: &str = "law";
pub(super) const DELAYS: &str = "delay";
pub(super) const LOAD: &str = "load";
pub(super) const SEVERAL: &str = "several";

/// The flow with a target; of several the first begins so.
pub(super) const FIRST: &str = "first";
pub(super) const DELAY: &str = "link.ap-server.delay";
pub(super) const TARGET: &str = "flow.first.proxy.av.target";
pub(super) const BUFFER: &str = "flow.first.proxy.buffer";
pub(super) const MARGIN: &str = "flow.first.proxy.av.margin";
pub(super) const FLOOR: &str = "flow.first.proxy.av.floor_at_reno";
pub(super) const QUEUE: &str = "node.ap.queue";
pub(super) const COUNT: &str = "node.sta.count";
pub(super) const RATE: &str = "flow.background.rate";
/// The paper's access point.
pub(super) const LARGE: &str = "255 packets";
/// Buffers of the proxy: Linux 2.4's for 64 KB, and one that does not bind.
pub(super) const NEAR: &str = "96 KiB";
pub(super) const WIDE: &str = "256 KiB";

/// Half of the duration in the paper's figures.
const SHORT: &str = "duration=60 s";

pub(super) const ONE_TARGET: &str = "sweep.flow.first.proxy.av.target=['6.25 Mbps']";

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!("tcp-av", "effective", &["sweep.seeds=1", "duration=30 s"], false),
    experiment!(
        "tcp-av",
        "targets",
        &[
            "sweep.seeds=2",
            SHORT,
            "sweep.flow.first.proxy.av.target=['2.5 Mbps', '6.25 Mbps', '12.5 Mbps']"
        ],
        false
    ),
    experiment!("tcp-av", "reno", &["sweep.seeds=2", SHORT], false),
    experiment!(
        "tcp-av",
        "windows",
        &[
            "sweep.seeds=2",
            SHORT,
            ONE_TARGET,
            "sweep.flow.first.proxy.buffer=['96 KiB', '256 KiB']",
            "sweep.node.ap.queue=['255 packets']",
        ],
        false
    ),
    experiment!(
        "tcp-av",
        "windows-reno",
        &[
            "sweep.seeds=2",
            SHORT,
            "sweep.flow.first.proxy.buffer=['96 KiB', '256 KiB']",
            "sweep.node.ap.queue=['255 packets']",
        ],
        false
    ),
    experiment!(
        "tcp-av",
        "law",
        &["sweep.seeds=1", SHORT, "sweep.flow.first.proxy.av.margin=[1.05]", ONE_TARGET],
        false
    ),
    experiment!(
        "tcp-av",
        "delay",
        &["sweep.seeds=1", SHORT, "sweep.link.ap-server.delay=['100 ms']"],
        false
    ),
    experiment!(
        "tcp-av",
        "load",
        &["sweep.seeds=1", SHORT, "sweep.flow.background.rate=['4 Mbps']"],
        false
    ),
    experiment!(
        "tcp-av",
        "several",
        &["sweep.seeds=1", SHORT, "sweep.flow.first.proxy.av.target=['5 Mbps', '9 Mbps']"],
        false
    ),
];

/// Experiments with the sockets of a kernel, through `fairwave proxy`.
pub(super) const EMULATED: &[Experiment] = &[
    experiment!("tcp-av", "effective", "emulated-effective", &["duration=30 s"], false),
    experiment!("tcp-av", "targets", "emulated-targets", &[], false),
    experiment!("tcp-av", "reno", "emulated-reno", &[], false),
];
