//! The rate control of one radio: a controller for each receiver.

use super::{Config, RateChoice};
use crate::phy::{Format, in_ampdu};
use crate::rate_control::{Choice, Rate, RateControl, Setup};
use crate::{ACK_BYTES, Aggregation, Capabilities, DATA_OVERHEAD_BYTES, Mode, Phy, QOS_BYTES};
use fairwave_units::{Instant, Seed};
use std::collections::BTreeMap;

/// IP packet for which rates are compared.
const USUAL_BYTES: u32 = 1500;

#[derive(Debug)]
pub(super) struct Rates {
    choice: RateChoice,
    own: Capabilities,
    phy: Phy,
    aggregation: Option<Aggregation>,
    seed: Seed,
    name: String,
    links: BTreeMap<u32, Link>,
}

#[derive(Debug)]
struct Link {
    control: Box<dyn RateControl>,
    /// The modes that both ends can use.
    modes: Vec<Mode>,
}

/// A receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer<'a> {
    pub(super) name: &'a str,
    pub(super) capabilities: Capabilities,
}

impl Rates {
    /// `name` distinguishes the random streams of radios.
    pub(super) fn new(
        choice: RateChoice,
        own: Capabilities,
        config: &Config,
        seed: Seed,
        name: String,
    ) -> Self {
        let (phy, aggregation) = (config.phy, config.aggregation);
        Self { choice, own, phy, aggregation, seed, name, links: BTreeMap::new() }
    }

    /// The mode for an attempt at a frame for `to`, and its choice; `attempt` counts from 0.
    pub(super) fn choose(
        &mut self,
        to: u32,
        peer: Peer<'_>,
        attempt: u32,
        now: Instant,
    ) -> (Mode, Choice) {
        let link = self.links.entry(to).or_insert_with(|| {
            let modes = self.own.common(peer.capabilities).modes(self.phy);
            let initial = self.choice.initial;
            let setup = Setup {
                rates: costs(self.phy, self.aggregation, &modes),
                initial: initial.and_then(|first| modes.iter().position(|mode| *mode == first)),
                stream: self.seed.stream(&format!("rates/{}/{}", self.name, peer.name)),
            };
            Link { control: self.choice.algorithm.build(setup), modes }
        });
        let choice = link.control.choose(now, attempt);
        (link.modes[choice.rate], choice)
    }

    /// Returns the most used mode of frames for `to`; `None` before the first.
    pub(super) fn current(&self, to: u32) -> Option<Mode> {
        self.links.get(&to).map(|link| link.modes[link.control.current()])
    }

    /// The attempt at a frame for `to` at this rate is over: of `sent` MPDUs,
    /// `acknowledged` were.
    pub(super) fn on_attempt(
        &mut self,
        to: u32,
        rate: usize,
        sent: u32,
        acknowledged: u32,
        now: Instant,
    ) {
        debug_assert!(acknowledged <= sent, "{acknowledged} of {sent} MPDUs");
        if let Some(link) = self.links.get_mut(&to) {
            link.control.on_attempt(now, rate, sent, acknowledged);
        }
    }
}

/// Returns the cost of a frame in each of `modes`.
fn costs(phy: Phy, aggregation: Option<Aggregation>, modes: &[Mode]) -> Vec<Rate> {
    let mut group = 0;
    let mut costs: Vec<Rate> = Vec::with_capacity(modes.len());
    for (i, mode) in modes.iter().enumerate() {
        let kind = |mode: &Mode| (mode.format(), mode.streams(), mode.width());
        group += usize::from(i > 0 && kind(mode) != kind(&modes[i - 1]));
        costs.push(cost(phy, aggregation, *mode, group));
    }
    costs
}

fn cost(phy: Phy, aggregation: Option<Aggregation>, mode: Mode, group: usize) -> Rate {
    let aggregation = aggregation.filter(|limits| limits.mpdus > 1 && mode.format() >= Format::Ht);
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
