//! What is run for section 5 of the paper.

use fairwave_study::Experiment;

pub(super) const TCP: &str = "converter-tcp";
pub(super) const UDP: &str = "converter-udp";
pub(super) const LOAD: &str = "converter-load";
pub(super) const BLOCKING: &str = "converter-blocking";
pub(super) const FROM: &str = "flow.up.from";
pub(super) const RATE: &str = "flow.up.rate";
/// A terminal behind a converter, and one that has the radio itself.
pub(super) const WIRED: &str = "pc";
pub(super) const RADIO: &str = "sta";

pub(in crate::fairness) const TCP_EXPERIMENT: Experiment = Experiment {
    name: TCP,
    file: "studies/fairness/converter-tcp.toml",
    text: include_str!("../../../../../../studies/fairness/converter-tcp.toml"),
    quick: &["sweep.seeds=1"],
    series: true,
};
pub(in crate::fairness) const UDP_EXPERIMENT: Experiment = Experiment {
    name: UDP,
    file: "studies/fairness/converter-udp.toml",
    text: include_str!("../../../../../../studies/fairness/converter-udp.toml"),
    quick: &["sweep.seeds=1"],
    series: true,
};
pub(in crate::fairness) const LOAD_EXPERIMENT: Experiment = Experiment {
    name: LOAD,
    file: "studies/fairness/converter-load.toml",
    text: include_str!("../../../../../../studies/fairness/converter-load.toml"),
    quick: &["sweep.seeds=1"],
    series: false,
};
pub(in crate::fairness) const BLOCKING_EXPERIMENT: Experiment = Experiment {
    name: BLOCKING,
    file: "studies/fairness/converter-blocking.toml",
    text: include_str!("../../../../../../studies/fairness/converter-blocking.toml"),
    quick: &["sweep.seeds=1"],
    series: false,
};
