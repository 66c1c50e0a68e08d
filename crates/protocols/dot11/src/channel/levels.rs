//! Levels between the radios of a channel, and how they vary.
//!
//! A mean level is transmit power less path loss and shadowing, or the value of a trace of measured
//! SNR. Where radios move or traces run, the levels of a transmitter's frames are computed anew
//! when it begins one, at most every 10 ms; nothing is scheduled for it. Fading comes on top of the
//! mean for the one frame that a receiver decodes: carrier sense, preambles that compete and
//! interference are computed from means, as a radio averages them too.

use super::{Config, RadioConfig};
use crate::shadowing::ShadowingLink;
use crate::{Path, SnrTrace, propagation};
use fairwave_units::{Db, Dbm, Instant, Metres, Seed, math};
use links::{Links, in_order, pair};

mod links;

/// Minimum interval between computations of the levels of a moving transmitter: walking makes 15
/// mm.
const TICK_NANOS: u64 = 10_000_000;

/// The tick of a row that is to be computed before it is used.
const STALE: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Levels {
    radios: usize,
    /// Mean level at `to` of a transmission of `from`, in milliwatts, at `from * radios + to`.
    mean_mw: Vec<f64>,
    /// `None` where levels stay as they are.
    varying: Option<Box<Varying>>,
}

/// Causes of varying levels.
#[derive(Debug)]
struct Varying {
    geometry: Geometry,
    present: Vec<bool>,
    may_leave: bool,
    /// Whether means change with time.
    moves: bool,
    /// Per transmitter: the tick of its levels, or [`STALE`].
    ticks: Vec<u64>,
    /// `None` without fading.
    fading: Option<Links>,
}

/// Inputs of mean levels.
#[derive(Debug)]
struct Geometry {
    config: Config,
    noise: Dbm,
    /// The path loss over one metre.
    at_one_metre: Db,
    paths: Vec<Path>,
    /// Per radio: whether it never moves.
    still: Vec<bool>,
    powers: Vec<Dbm>,
    access_points: Vec<bool>,
    traces: Vec<Option<SnrTrace>>,
    /// Per pair of radios; empty without shadowing.
    shadowing: Vec<ShadowingLink>,
}

impl Levels {
    pub(super) fn new(config: &Config, radios: &[RadioConfig], seed: Seed, channel: &str) -> Self {
        let geometry = Geometry::new(config, radios, seed, channel);
        let n = radios.len();
        let mut mean_mw = vec![0.0; n * n];
        for (from, row) in mean_mw.chunks_mut(n.max(1)).enumerate() {
            geometry.fill(from, Instant::ZERO, row);
        }
        Self { radios: n, mean_mw, varying: Varying::new(geometry, radios, seed, channel) }
    }

    /// Mean level at `to` of a transmission of `from`, in milliwatts.
    pub(super) fn mean(&self, from: u32, to: u32) -> f64 {
        self.mean_mw[from as usize * self.radios + to as usize]
    }

    /// Mean levels of a transmission of `from` at every radio, in milliwatts; zero at its own.
    pub(super) fn row(&self, from: u32) -> &[f64] {
        &self.mean_mw[from as usize * self.radios..][..self.radios]
    }

    /// Returns the level in milliwatts at which `to` receives the frame that `from` began to send
    /// at `start`.
    pub(super) fn received(&mut self, from: u32, to: u32, start: Instant) -> f64 {
        let mean = self.mean(from, to);
        self.varying.as_mut().map_or(mean, |varying| mean * varying.gain(from, to, start))
    }

    /// Returns whether the received level is always the mean, so that it can be judged for all at
    /// once.
    pub(super) fn is_steady(&self) -> bool {
        self.varying.as_ref().is_none_or(|v| v.fading.is_none() && !v.may_leave)
    }

    /// Whether probabilities for a pair of radios hold for the whole run.
    pub(super) fn is_constant(&self) -> bool {
        self.varying.is_none()
    }

    /// Whether a transmitter is not always sensed by the same radios.
    pub(super) fn reach_varies(&self) -> bool {
        self.varying.as_ref().is_some_and(|varying| varying.moves || varying.may_leave)
    }

    /// Whether a radio is on this channel at all.
    pub(super) fn is_present(&self, radio: u32) -> bool {
        self.varying.as_ref().is_none_or(|varying| varying.present[radio as usize])
    }

    /// A radio comes to this channel or leaves it. Transmissions under way keep their hearers.
    pub(super) fn set_present(&mut self, radio: u32, present: bool) {
        let varying = self.varying.as_mut().expect("only radios that roam come and go");
        varying.present[radio as usize] = present;
        varying.ticks.fill(STALE);
    }

    /// Puts a radio elsewhere. Transmissions under way keep their levels. False, and nothing is
    /// done, where all levels were found to be constant when the channel was made.
    pub(super) fn place(&mut self, radio: u32, position: (Metres, Metres)) -> bool {
        let Some(varying) = self.varying.as_mut().filter(|varying| varying.moves) else {
            return false;
        };
        varying.geometry.paths[radio as usize] = Path::steered(position);
        varying.geometry.still[radio as usize] = false;
        varying.ticks.fill(STALE);
        true
    }

    /// Updates the levels of `from`, which begins a transmission. Returns whether they, or the set
    /// of present radios, may have changed.
    pub(super) fn refresh(&mut self, from: u32, now: Instant) -> bool {
        let Some(varying) = &mut self.varying else { return false };
        let from = from as usize;
        let tick = if varying.moves { now.as_nanos() / TICK_NANOS } else { 0 };
        if varying.ticks[from] == tick {
            return false;
        }
        varying.ticks[from] = tick;
        let row = &mut self.mean_mw[from * self.radios..(from + 1) * self.radios];
        varying.geometry.renew(from, Instant::from_nanos(tick * TICK_NANOS), row);
        true
    }

    /// Returns the mean level at `to` of a transmission of `from` at `now`, whether or not both are
    /// on the channel: a station's measurement of the beacons of an access point.
    pub(super) fn measure(&self, from: u32, to: u32, now: Instant) -> Dbm {
        match &self.varying {
            Some(varying) => varying.geometry.level(from as usize, to as usize, now),
            None => Dbm::from_milliwatts(self.mean(from, to)),
        }
    }
}

impl Varying {
    fn new(
        geometry: Geometry,
        radios: &[RadioConfig],
        seed: Seed,
        channel: &str,
    ) -> Option<Box<Self>> {
        let may_leave = radios.iter().any(|radio| radio.roams);
        let moves = geometry.moves();
        let n = radios.len();
        let names = || radios.iter().map(|radio| radio.name.clone()).collect();
        let fading = geometry.config.fading;
        let fading = fading.map(|fading| Links::new(fading, seed, channel, names()));
        (may_leave || moves || fading.is_some()).then(|| {
            Box::new(Self {
                geometry,
                present: vec![true; n],
                may_leave,
                moves,
                ticks: vec![0; n],
                fading,
            })
        })
    }

    fn gain(&mut self, from: u32, to: u32, at: Instant) -> f64 {
        let fading = self.fading.as_mut();
        fading.map_or(1.0, |fading| fading.gain(from as usize, to as usize, at))
    }
}

impl Geometry {
    fn new(config: &Config, radios: &[RadioConfig], seed: Seed, channel: &str) -> Self {
        let mut shadowing = Vec::new();
        if let Some(config) = config.shadowing {
            for (high, b) in radios.iter().enumerate() {
                shadowing.extend(radios[..high].iter().map(|a| {
                    let name = format!("shadowing/{channel}/{}/{}", a.name, b.name);
                    ShadowingLink::new(config, seed.stream(&name))
                }));
            }
        }
        let path = |r: &RadioConfig| r.path.clone().unwrap_or_else(|| Path::still(r.position));
        let paths: Vec<Path> = radios.iter().map(path).collect();
        Self {
            noise: propagation::noise(config.phy.bandwidth(), config.noise_figure),
            at_one_metre: propagation::loss_at_one_metre(config.frequency),
            still: paths.iter().map(Path::is_still).collect(),
            paths,
            powers: radios.iter().map(|radio| radio.power).collect(),
            access_points: radios.iter().map(|radio| radio.is_access_point).collect(),
            traces: radios.iter().map(|radio| radio.snr_trace.clone()).collect(),
            shadowing,
            config: config.clone(),
        }
    }

    fn moves(&self) -> bool {
        !self.still.iter().all(|still| *still) || self.traces.iter().any(Option::is_some)
    }

    /// Whether the mean level between two radios changes with time.
    fn varies(&self, from: usize, to: usize) -> bool {
        match self.trace(from, to) {
            Some(trace) => !trace.is_constant(),
            None => !(self.still[from] && self.still[to]),
        }
    }

    /// The levels of `from` at every radio, in milliwatts.
    fn fill(&self, from: usize, at: Instant, row: &mut [f64]) {
        for (to, level) in row.iter_mut().enumerate().filter(|(to, _)| *to != from) {
            *level = self.level(from, to, at).milliwatts();
        }
    }

    /// [`Geometry::fill`] of a row that was filled before.
    fn renew(&self, from: usize, at: Instant, row: &mut [f64]) {
        for (to, level) in row.iter_mut().enumerate().filter(|(to, _)| *to != from) {
            if self.varies(from, to) {
                *level = self.level(from, to, at).milliwatts();
            }
        }
    }

    fn level(&self, from: usize, to: usize, at: Instant) -> Dbm {
        if let Some(trace) = self.trace(from, to) {
            return self.noise + trace.at(at);
        }
        let (here, there) = (self.paths[from].position(at), self.paths[to].position(at));
        let distance = Metres(math::hypot(here.0.0 - there.0.0, here.1.0 - there.1.0));
        let exponent = self.config.path_loss_exponent;
        let loss = propagation::path_loss_beyond(self.at_one_metre, exponent, distance);
        self.powers[from] - loss - self.shadow(from, to, here, there)
    }

    /// The trace that holds between a station and an access point.
    fn trace(&self, from: usize, to: usize) -> Option<&SnrTrace> {
        match (self.access_points[from], self.access_points[to]) {
            (false, true) => self.traces[from].as_ref(),
            (true, false) => self.traces[to].as_ref(),
            _ => None,
        }
    }

    fn shadow(
        &self,
        from: usize,
        to: usize,
        here: (Metres, Metres),
        there: (Metres, Metres),
    ) -> Db {
        if self.shadowing.is_empty() {
            return Db(0.0);
        }
        let (low, high) = in_order(from, to);
        let (first, second) = if from == low { (here, there) } else { (there, here) };
        self.shadowing[pair(low, high)].loss(first, second)
    }
}

#[cfg(test)]
mod tests;
