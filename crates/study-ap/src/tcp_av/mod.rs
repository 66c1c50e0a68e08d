//! TCP-AV through a proxy on a wireless LAN: Ando, Murase and Oguchi, section 6.

mod claims;
mod figures;
mod measure;

use fairwave_study::{Error, Experiment, Findings, Results, Study};

/// The study.
#[derive(Clone, Copy, Debug)]
pub struct TcpAv;

const EFFECTIVE: &str = "effective";
const TARGETS: &str = "targets";
const RENO: &str = "reno";
const WINDOWS: &str = "windows";
const WINDOWS_RENO: &str = "windows-reno";
const LAW: &str = "law";
const DELAYS: &str = "delay";
const LOAD: &str = "load";
const SEVERAL: &str = "several";

/// The flow with a target; of several the first begins so.
const FIRST: &str = "first";
const DELAY: &str = "link.ap-server.delay";
const TARGET: &str = "flow.first.proxy.av.target";
const BUFFER: &str = "flow.first.proxy.buffer";
const MARGIN: &str = "flow.first.proxy.av.margin";
const FLOOR: &str = "flow.first.proxy.av.floor_at_reno";
const QUEUE: &str = "node.ap.queue";
const COUNT: &str = "node.sta.count";
const RATE: &str = "flow.background.rate";
/// The paper's access point.
const LARGE: &str = "255 packets";
/// Buffers of the proxy: what Linux 2.4 makes of 64 KB, and one that does not bind.
const NEAR: &str = "96 KiB";
const WIDE: &str = "256 KiB";

/// An experiment of this study by its name, of which `--quick` runs less.
macro_rules! experiment {
    ($name:literal, $quick:expr) => {
        Experiment {
            name: $name,
            file: concat!("studies/tcp-av/", $name, ".toml"),
            text: include_str!(concat!("../../../../studies/tcp-av/", $name, ".toml")),
            quick: $quick,
            series: false,
        }
    };
}

const ONE_TARGET: &str = "sweep.flow.first.proxy.av.target=['6.25 Mbps']";

const EXPERIMENTS: &[Experiment] = &[
    experiment!("effective", &["sweep.seeds=1", "duration=30 s"]),
    experiment!(
        "targets",
        &[
            "sweep.seeds=2",
            "sweep.flow.first.proxy.av.target=['2.5 Mbps', '6.25 Mbps', '12.5 Mbps']"
        ]
    ),
    experiment!("reno", &["sweep.seeds=2"]),
    experiment!(
        "windows",
        &[
            "sweep.seeds=2",
            ONE_TARGET,
            "sweep.flow.first.proxy.buffer=['96 KiB', '256 KiB']",
            "sweep.node.ap.queue=['255 packets']",
        ]
    ),
    experiment!(
        "windows-reno",
        &[
            "sweep.seeds=2",
            "sweep.flow.first.proxy.buffer=['96 KiB', '256 KiB']",
            "sweep.node.ap.queue=['255 packets']",
        ]
    ),
    experiment!("law", &["sweep.seeds=1", "sweep.flow.first.proxy.av.margin=[1.05]", ONE_TARGET]),
    experiment!("delay", &["sweep.seeds=1", "sweep.link.ap-server.delay=['100 ms']"]),
    experiment!("load", &["sweep.seeds=1", "sweep.flow.background.rate=['4 Mbps']"]),
    experiment!(
        "several",
        &["sweep.seeds=1", "sweep.flow.first.proxy.av.target=['5 Mbps', '9 Mbps']"]
    ),
];

impl Study for TcpAv {
    fn name(&self) -> &'static str {
        "tcp-av"
    }

    fn paper(&self) -> &'static str {
        "R. Ando, T. Murase, M. Oguchi: An evaluation of fairness of bandwidth affected by the \
         buffer size of access point in the wireless LAN environment (in Japanese), Ochanomizu \
         University and NEC; section 6"
    }

    fn statement(&self) -> &'static str {
        "Five terminals upload through one access point. A TCP proxy between one of them and its \
         Ethernet converter goes on with TCP-AV, whose window aims at a target bandwidth; the \
         others have plain TCP. The target is reached in every interval of 5 s, also where it is \
         a little above the fair share, and with twice the delay."
    }

    fn experiments(&self) -> &'static [Experiment] {
        EXPERIMENTS
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "The curves of Figs 26 and 27 are not in the text, only that AVR is 100 % for a target \
             a little above the fair share.",
            "TCP-AV's equations are not public: the law is Fairwave's reading of the six points of \
             US 2009/0147676 (docs/models/tcp-av.md).",
            "The paper does not say which terminals run Linux 2.4 and which Windows XP (here 1, 2 \
             and 4 are Linux), what the proxy and the server run (Linux 2.4 here), nor the queues \
             of the converters (100 packets).",
            "Sockets of 64 KB are taken as windows of 64 KiB. Linux 2.4 doubles what is asked for \
             and offers three quarters as window, 96 KiB: larger windows are an experiment of \
             their own.",
            "The radio is without errors, and no terminal is hidden from another.",
            "Long delays, high load, several targets, margins and tolerances are not in the paper: \
             it names the first two as future work.",
        ]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        Ok(Findings {
            claims: claims::all(results),
            exhibits: figures::exhibits(results),
            tables: figures::tables(results),
            explanations: claims::explanations(results),
        })
    }
}

#[cfg(test)]
mod tests;
