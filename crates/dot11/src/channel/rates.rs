//! The rate control of one radio: a controller for each receiver.

use super::RateChoice;
use crate::rate_control::{RateControl, Setup};
use crate::{ACK_BYTES, DATA_OVERHEAD_BYTES, Mode, Phy};
use fairwave_units::{Duration, Instant, Seed};
use std::collections::BTreeMap;

/// IP packet for which airtimes are compared.
const USUAL_BYTES: u32 = 1500;

#[derive(Debug)]
pub(super) struct Rates {
    choice: RateChoice,
    airtimes: Vec<Duration>,
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
    pub(super) fn new(choice: RateChoice, phy: Phy, seed: Seed, name: String) -> Self {
        let airtime = |mode: &Mode| {
            let ack = phy.sifs() + phy.tx_time(phy.response_mode(*mode), ACK_BYTES);
            let access = phy.difs() + phy.slot() * u64::from(phy.cw_min()) / 2;
            access + phy.tx_time(*mode, USUAL_BYTES + DATA_OVERHEAD_BYTES) + ack
        };
        let airtimes = choice.modes.iter().map(airtime).collect();
        Self { choice, airtimes, seed, name, links: BTreeMap::new() }
    }

    /// The mode for an attempt at a frame for `to`, called `name`; `attempt` counts from 0.
    pub(super) fn choose(&mut self, to: u32, name: &str, attempt: u32, now: Instant) -> Mode {
        let link = self.links.entry(to).or_insert_with(|| {
            let setup = Setup {
                airtimes: self.airtimes.clone(),
                initial: self.choice.initial,
                stream: self.seed.stream(&format!("rates/{}/{name}", self.name)),
            };
            Link { control: (self.choice.algorithm.build)(setup), chosen: self.choice.initial }
        });
        link.chosen = link.control.choose(now, attempt);
        self.choice.modes[link.chosen]
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

#[cfg(test)]
mod tests;
