//! Experiments for section 5 of the paper.

use crate::declare::experiment;
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

pub(in crate::fairness) const TCP_EXPERIMENT: Experiment =
    experiment!("fairness", TCP, "converter-tcp", &["sweep.seeds=1"], true);
pub(in crate::fairness) const UDP_EXPERIMENT: Experiment =
    experiment!("fairness", UDP, "converter-udp", &["sweep.seeds=1"], true);
pub(in crate::fairness) const LOAD_EXPERIMENT: Experiment =
    experiment!("fairness", LOAD, "converter-load", &["sweep.seeds=1"], false);
pub(in crate::fairness) const BLOCKING_EXPERIMENT: Experiment =
    experiment!("fairness", BLOCKING, "converter-blocking", &["sweep.seeds=1"], false);
