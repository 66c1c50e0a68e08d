//! The rate control of one radio: a controller for each receiver.

use super::mac::in_ampdu;
use super::{Config, RateChoice};
use crate::phy::Format;
use crate::rate_control::{Choice, Rate, RateControl, Setup};
use crate::{ACK_BYTES, Aggregation, DATA_OVERHEAD_BYTES, Mode, QOS_BYTES};
use fairwave_units::{Instant, Seed};
use std::collections::BTreeMap;

/// IP packet for which rates are compared.
const USUAL_BYTES: u32 = 1500;

#[derive(Debug)]
pub(super) struct Rates {
    choice: RateChoice,
    costs: Vec<Rate>,
    seed: Seed,
    name: String,
    links: BTreeMap<u32, Link>,
}

#[derive(Debug)]
struct Link {
    control: Box<dyn RateControl>,
    /// Index of the rate of the attempt under way.
    chosen: usize,
}

impl Rates {
    /// `name` distinguishes the random streams of radios.
    pub(super) fn new(choice: RateChoice, config: &Config, seed: Seed, name: String) -> Self {
        let costs = costs(config, &choice.modes);
        Self { choice, costs, seed, name, links: BTreeMap::new() }
    }

    /// The mode for an attempt at a frame for `to`, called `name`, and whether it is a sample;
    /// `attempt` counts from 0.
    pub(super) fn choose(
        &mut self,
        to: u32,
        name: &str,
        attempt: u32,
        now: Instant,
    ) -> (Mode, bool) {
        let link = self.links.entry(to).or_insert_with(|| {
            let setup = Setup {
                rates: self.costs.clone(),
                initial: Some(self.choice.initial),
                stream: self.seed.stream(&format!("rates/{}/{name}", self.name)),
            };
            Link { control: (self.choice.algorithm.build)(setup), chosen: 0 }
        });
        let Choice { rate, is_sample } = link.control.choose(now, attempt);
        link.chosen = rate;
        (self.choice.modes[rate], is_sample)
    }

    /// The mode in which most frames for `to` are sent now; `None` before the first.
    pub(super) fn current(&self, to: u32) -> Option<Mode> {
        self.links.get(&to).map(|link| self.choice.modes[link.control.current()])
    }

    /// The mode of the last attempt at a frame for `to`; `None` before the first.
    pub(super) fn last(&self, to: u32) -> Option<Mode> {
        self.links.get(&to).map(|link| self.choice.modes[link.chosen])
    }

    /// The attempt at a frame for `to` is over: of `sent` MPDUs, `acknowledged` were.
    pub(super) fn hear(&mut self, to: u32, sent: u32, acknowledged: u32, now: Instant) {
        debug_assert!(acknowledged <= sent, "{acknowledged} of {sent} MPDUs");
        if let Some(link) = self.links.get_mut(&to) {
            link.control.hear(now, link.chosen, sent, acknowledged);
        }
    }
}

/// What a frame costs in each of `modes`.
fn costs(config: &Config, modes: &[Mode]) -> Vec<Rate> {
    let mut group = 0;
    let mut costs: Vec<Rate> = Vec::with_capacity(modes.len());
    for (i, mode) in modes.iter().enumerate() {
        let kind = |mode: &Mode| (mode.format(), mode.streams(), mode.width());
        group += usize::from(i > 0 && kind(mode) != kind(&modes[i - 1]));
        costs.push(cost(config, *mode, group));
    }
    costs
}

fn cost(config: &Config, mode: Mode, group: usize) -> Rate {
    let phy = config.phy;
    let aggregation =
        config.aggregation.filter(|limits| limits.mpdus > 1 && mode.format() >= Format::Ht);
    let bytes = USUAL_BYTES + DATA_OVERHEAD_BYTES;
    let mpdu = match aggregation {
        None => mode.data_time(bytes),
        Some(_) => mode.rate().time_for(u64::from(in_ampdu(bytes + QOS_BYTES))),
    };
    let response = aggregation.map_or(ACK_BYTES, Aggregation::block_ack_bytes);
    let response = phy.sifs() + phy.tx_time(phy.response_mode(mode), response);
    let access = phy.difs() + phy.slot() * u64::from(phy.cw_min()) / 2;
    let preamble = phy.tx_time(mode, 0) - mode.data_time(0);
    Rate { mpdu, overhead: access + preamble + response, streams: mode.streams(), group }
}

#[cfg(test)]
mod tests;
