//! Transmissions on the air, and their reception.
//!
//! A transmission that overlaps no other is judged by its SNR alone. Where transmissions overlap,
//! each receiver's view is replayed from their start times: the preamble that it locked on,
//! captures, and the SINR of every stretch.

use super::levels::Levels;
use super::{Config, ErrorModel, FrameKind, RadioConfig};
use crate::error_model::{self, Decoder};
use crate::{BurstLink, Mode, propagation};
use blocks::along_curve;
use collision::Collision;
use fairwave_units::{Db, Dbm, Instant, Seed};
use memo::Memos;
use odds::Odds;
use std::collections::BTreeMap;
use together::{Detection, Together};
pub(super) use transmission::Transmission;

mod blocks;
mod bystanders;
mod collision;
mod memo;
mod odds;
mod shares;
#[cfg(test)]
mod tests;
mod together;
mod transmission;

/// No receiver: broadcast.
pub(super) const BROADCAST: u32 = u32::MAX;

/// A frame as seen by a receiver that detected its preamble and held on to it. To others it was
/// energy only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    /// The FCS was right.
    Decoded,
    /// An A-MPDU that its receiver held until the end: each MPDU is judged by itself.
    Aggregate,
    /// The FCS was wrong: EIFS follows.
    Errored,
}

#[derive(Debug)]
pub(super) struct Air {
    radios: usize,
    config: Config,
    noise: Dbm,
    noise_mw: f64,
    sense_mw: f64,
    detection: f64,
    capture: Option<f64>,
    pub(super) levels: Levels,
    /// The bursts of the links that have carried data, by transmitter and receiver.
    bursts: BTreeMap<(u32, u32), BurstLink>,
    /// Names of the random streams of links: the seed, the channel and its radios.
    seed: Seed,
    name: String,
    names: Vec<String>,
    memos: Memos,
    /// The last level over noise for which a set delivery was computed, and the loss there.
    last_slope: (f64, f64),
    /// The curves of errors by SINR, if it decides.
    decoder: Option<Decoder>,
    /// Per mode met so far.
    odds: Vec<Odds>,
    /// Per transmitter: the radios that sense it.
    hearers: Vec<Box<[u32]>>,
    /// Per transmitter: the lowest level at any of its hearers, in milliwatts.
    weakest_mw: Vec<f64>,
    /// Transmissions under way, and ended ones that overlap one under way; by start.
    list: Vec<Transmission>,
    under_way: u32,
    /// Starts before this are no longer replayed: their result is in `held`.
    horizon: Instant,
    /// Per radio: the transmission its receiver held just before `horizon`, or [`NOTHING`].
    held: Vec<u64>,
    /// Length of `list` at which records are sought that can go.
    prune_at: usize,
    /// The parts of the frame that is being received, between starts and ends of others.
    stretches: Vec<Stretch>,
    /// The same for the addressed receiver of an A-MPDU.
    parts: Vec<Part>,
    together: Together,
    collision: Collision,
}

/// A part of a frame during which the interference does not change.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: Instant,
    bits: f64,
}

/// A part of an A-MPDU during which the interference at its receiver does not change.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its end, in bits from the beginning of the A-MPDU.
    end: f64,
    /// Interference in milliwatts, and SINR.
    interference: f64,
    sinr: f64,
}

/// The transmission that an idle receiver holds; transmissions are numbered from one.
const NOTHING: u64 = 0;

/// Records that are kept without asking whether they can go.
const FEW: usize = 32;

impl Air {
    pub(super) fn new(config: Config, radios: &[RadioConfig], seed: Seed, name: &str) -> Self {
        let n = radios.len();
        let levels = Levels::new(&config, radios, seed, name);
        let noise = propagation::noise(config.phy.bandwidth(), config.noise_figure);
        let decoder = config.errors.decoder();
        let mut air = Self {
            weakest_mw: vec![0.0; n],
            radios: n,
            noise,
            noise_mw: noise.milliwatts(),
            sense_mw: config.carrier_sense.milliwatts(),
            detection: config.preamble_detection.map_or(0.0, Db::linear),
            capture: config.capture.map(Db::linear),
            hearers: vec![Box::default(); n],
            bursts: BTreeMap::new(),
            seed,
            name: name.to_owned(),
            names: radios.iter().map(|radio| radio.name.clone()).collect(),
            memos: Memos::new(n, decoder.is_some() && levels.is_constant()),
            last_slope: (f64::NAN, 0.0),
            odds: Vec::new(),
            decoder,
            config,
            list: Vec::with_capacity(FEW),
            under_way: 0,
            horizon: Instant::ZERO,
            held: vec![NOTHING; n],
            prune_at: FEW,
            stretches: Vec::new(),
            parts: Vec::new(),
            levels,
            together: Together::default(),
            collision: Collision::new(along_curve(radios), decoder.unwrap_or_default()),
        };
        (0..n as u32).for_each(|from| _ = air.survey(from));
        air
    }

    /// Computes the radios that sense `from`; returns whether others did before.
    fn survey(&mut self, from: u32) -> bool {
        let row = self.levels.row(from);
        let senses = |&to: &u32| {
            to != from && self.levels.is_present(to) && row[to as usize] >= self.sense_mw
        };
        let radios = if self.levels.is_present(from) { self.radios as u32 } else { 0 };
        let hearers = || (0..radios).filter(senses);
        let levels = hearers().map(|to| row[to as usize]);
        self.weakest_mw[from as usize] = levels.fold(f64::INFINITY, f64::min);
        let is_same = hearers().eq(self.hearers[from as usize].iter().copied());
        if !is_same {
            self.hearers[from as usize] = hearers().collect();
        }
        !is_same
    }

    /// Mean level at `to` of a transmission of `from`, in milliwatts.
    fn level(&self, from: u32, to: u32) -> f64 {
        self.levels.mean(from, to)
    }

    pub(super) fn levels(&self) -> &Levels {
        &self.levels
    }

    pub(super) fn set_present(&mut self, radio: u32, present: bool) {
        self.levels.set_present(radio, present);
    }

    /// Returns the level over noise, as a factor, of the frame from `from` since `start` at `to`.
    pub(super) fn snr(&mut self, from: u32, to: u32, start: Instant) -> f64 {
        self.levels.received(from, to, start) / self.noise_mw
    }

    /// Noise over the channel's bandwidth.
    pub(super) fn noise(&self) -> Dbm {
        self.noise
    }

    /// Returns the level at which `to` received the frame that `from` began to send at `start`.
    pub(super) fn level_dbm(&mut self, from: u32, to: u32, start: Instant) -> Dbm {
        Dbm::from_milliwatts(self.levels.received(from, to, start))
    }

    /// Returns the excess over its mean level at which `to` would receive a frame that `from`
    /// begins at `now`.
    pub(super) fn fading(&mut self, from: u32, to: u32, now: Instant) -> Db {
        // Means are brought up to date where `from` begins to send, which may be long ago.
        let last = self.levels.mean(from, to);
        let level = self.levels.received(from, to, now);
        if level == last && last > 0.0 {
            return Db(0.0);
        }
        Dbm::from_milliwatts(level) - Dbm::from_milliwatts(last)
    }

    pub(super) fn name_of(&self, radio: u32) -> &str {
        &self.names[radio as usize]
    }

    /// Returns for each radio the radios that sense it.
    pub(super) fn hearers(&self) -> &[Box<[u32]>] {
        &self.hearers
    }

    /// Takes the list of radios that sense `from`; give it back with [`Air::return_hearers`]. Lets
    /// the caller change the channel while it walks the list.
    pub(super) fn take_hearers(&mut self, from: u32) -> Box<[u32]> {
        core::mem::take(&mut self.hearers[from as usize])
    }

    pub(super) fn return_hearers(&mut self, from: u32, hearers: Box<[u32]>) {
        self.hearers[from as usize] = hearers;
    }

    /// Puts a transmission on the air, marking overlaps. Whether others than before may sense it.
    pub(super) fn begin(&mut self, mut tx: Transmission) -> bool {
        let is_new = self.levels.refresh(tx.from, tx.start) && self.survey(tx.from);
        tx.sure_mw = self.odds_of(tx.mode).sure_mw;
        debug_assert!(
            self.list.iter().all(|other| other.over || other.from != tx.from),
            "radio {} sends two frames at once",
            tx.from
        );
        for other in self.list.iter_mut().filter(|other| other.end > tx.start) {
            other.overlapped = true;
            tx.overlapped = true;
        }
        self.list.push(tx);
        self.under_way += 1;
        is_new
    }

    /// A transmission's end: takes it off the air, but keeps its record while it can matter to
    /// one that overlapped it.
    pub(super) fn end(&mut self, id: u64) -> Transmission {
        let index = self.list.iter().position(|tx| tx.id == id);
        let tx = &mut self.list[index.expect("every end belongs to a transmission that began")];
        tx.over = true;
        self.under_way -= 1;
        *tx
    }

    /// Forgets records that no transmission under way overlaps. Called after each end.
    pub(super) fn prune(&mut self) {
        if self.under_way == 0 {
            self.list.clear();
            if self.horizon != Instant::ZERO {
                self.held.fill(NOTHING);
                self.horizon = Instant::ZERO;
            }
        } else if self.list.len() > self.prune_at && !self.collision.is_under_way(&self.list) {
            self.prune_to_oldest();
            self.prune_at = FEW.max(2 * self.list.len());
        }
    }

    /// A record without present overlaps can still have decided the frame that a receiver held when
    /// a present one began. That is noted before the record goes.
    fn prune_to_oldest(&mut self) {
        let under_way = self.list.iter().filter(|tx| !tx.over);
        let Some(oldest) = under_way.map(|tx| tx.start).min() else { return };
        for radio in 0..self.radios as u32 {
            let held = self.follow(radio, |tx| tx.start < oldest);
            let held = held.filter(|held| held.end > oldest).map_or(NOTHING, |held| held.id);
            self.held[radio as usize] = held;
        }
        self.horizon = oldest;
        self.list.retain(|tx| tx.end > oldest);
    }

    /// Leaves every reception to chance.
    #[cfg(test)]
    pub(super) fn forget_sure_levels(&mut self) {
        for odds in &mut self.odds {
            *odds = Odds::open(odds.mode);
        }
    }

    /// Whether every radio that senses `tx` is certain to have decoded it.
    pub(super) fn is_sure(&self, tx: &Transmission) -> bool {
        let steady = !tx.overlapped && self.levels.is_steady();
        steady && self.weakest_mw[tx.from as usize] >= tx.sure_mw
    }

    /// The odds of `mode`; with a set error rate all is open.
    fn odds_of(&mut self, mode: Mode) -> Odds {
        if let Some(odds) = self.odds.iter().find(|odds| odds.mode == mode) {
            return *odds;
        }
        let odds = match self.decoder {
            Some(decoder) => {
                let detection = self.config.preamble_detection;
                let detection_db = detection.map_or(0, |db| db.0.max(0.0) as i32 + 1);
                Odds::new(mode, decoder, self.noise_mw, detection_db)
            }
            None => Odds::open(mode),
        };
        self.odds.push(odds);
        odds
    }

    /// Appends to `receptions`, in the order of `hearers`, how each of them received `tx`, which
    /// just ended; radios to which it was energy only are left out. `chance` is asked whether a
    /// radio meets with a probability that is neither 0 nor 1.
    pub(super) fn receive(
        &mut self,
        tx: &Transmission,
        hearers: &[u32],
        mut chance: impl FnMut(u32, f64) -> bool,
        receptions: &mut Vec<(u32, Reception)>,
    ) {
        let mut note = |radio, success: f64| {
            debug_assert!((0.0..=1.0).contains(&success), "{success} for radio {radio}");
            if tx.mpdus > 1 && radio == tx.to {
                return receptions.push((radio, Reception::Aggregate));
            }
            let lost = success < 1.0 && chance(radio, 1.0 - success);
            let reception = if lost { Reception::Errored } else { Reception::Decoded };
            receptions.push((radio, reception));
        };
        if !tx.overlapped {
            for &radio in hearers {
                let success = self.undisturbed(tx, radio);
                if let Some(success) = success.filter(|_| self.levels.is_present(radio)) {
                    note(radio, success);
                }
            }
            return;
        }
        if self.is_judged(tx) {
            // Bystanders have their receptions already: see `receive_together`.
            let held = self.held_of_all(tx.to);
            if held.is_some_and(|(place, ..)| self.list[place].id == tx.id) {
                self.cut(tx);
                let odds = self.odds_of(tx.mode);
                note(tx.to, self.disturbed(tx, tx.to, &odds));
            }
            return;
        }
        self.cut(tx);
        let odds = self.odds_of(tx.mode);
        let one_start = self.horizon == Instant::ZERO
            && self.list.first().map(|tx| tx.start) == self.list.last().map(|tx| tx.start);
        if !one_start {
            for &radio in hearers {
                if self.holds(tx, radio) && self.levels.is_present(radio) {
                    note(radio, self.disturbed(tx, radio, &odds));
                }
            }
            return;
        }
        let (index, holders) = self.take_holders(tx);
        let is_constant = self.levels.is_constant();
        for &radio in &holders {
            if is_constant && self.is_hopeless(tx, radio, &odds) {
                note(radio, 0.0);
            } else if is_constant
                || (hearers.binary_search(&radio).is_ok() && self.levels.is_present(radio))
            {
                note(radio, self.disturbed(tx, radio, &odds));
            }
        }
        self.together.return_holders(index, holders);
    }

    /// Returns the radios that detected `tx` and held on to it until its end, all on the air having
    /// begun together.
    fn take_holders(&mut self, tx: &Transmission) -> (usize, Vec<u32>) {
        let Self { noise_mw, sense_mw, detection: sinr, .. } = *self;
        let by = Detection { noise_mw, sense_mw, sinr };
        self.together.find_holders(&self.list, &self.levels, by);
        let index = self.list.iter().position(|other| other.id == tx.id);
        let index = index.expect("what ends is still on the list");
        (index, self.together.take_holders(index))
    }

    /// Returns whether a frame that began with `tx` has ruined its beginning for `radio`.
    fn is_hopeless(&self, tx: &Transmission, radio: u32, odds: &Odds) -> bool {
        let interference = self.together.interference(radio);
        let sinr = self.sinr(tx, self.level(tx.from, radio), interference);
        odds.certain(sinr, self.stretches[0].bits) == Some(0.0)
    }

    /// Probability that `radio` decodes a frame that met no other, if it detects it.
    fn undisturbed(&mut self, tx: &Transmission, radio: u32) -> Option<f64> {
        let level = self.levels.received(tx.from, radio, tx.start);
        if level >= tx.sure_mw {
            return Some(1.0);
        }
        (level >= self.detection * self.noise_mw).then(|| self.clean_success(tx, radio, level))
    }

    /// Probability of decoding a frame that nothing interfered with.
    fn clean_success(&mut self, tx: &Transmission, radio: u32, level: f64) -> f64 {
        if tx.mpdus > 1 && radio == tx.to {
            // Each MPDU has a chance of its own: `shares`.
            return 1.0;
        }
        let Some(decoder) = self.decoder else {
            return 1.0 - self.set_loss(tx, radio, level);
        };
        let (sinr, bits) = (self.sinr(tx, level, 0.0), tx.mpdu_bits());
        let success = || decoder.success(tx.mode, sinr, bits);
        self.memos.success(tx, radio, success)
    }

    /// Returns the set probability that a frame received at `level` is lost. It applies to the
    /// addressed receiver only: losses of bystanders change nothing but their EIFS.
    fn set_loss(&mut self, tx: &Transmission, radio: u32, level: f64) -> f64 {
        match (&self.config.errors, tx.kind) {
            _ if tx.to != radio => 0.0,
            (ErrorModel::Snr | ErrorModel::Table, _) | (_, FrameKind::Beacon) => 0.0,
            (ErrorModel::Rate { data, .. }, FrameKind::Data) => *data,
            (ErrorModel::Rate { control, .. }, _) => *control,
            (ErrorModel::Bursts(chain), FrameKind::Data) => {
                let stream = || {
                    let (from, to) = (&self.names[tx.from as usize], &self.names[radio as usize]);
                    self.seed.stream(&format!("bursts/{}/{from}/{to}", self.name))
                };
                let link = self.bursts.entry((tx.from, radio));
                link.or_insert_with(|| BurstLink::new(stream())).next(chain)
            }
            (ErrorModel::Slope(slope), FrameKind::Data) => {
                let snr = self.sinr(tx, level, 0.0);
                if self.last_slope.0 != snr {
                    self.last_slope = (snr, slope.loss(snr));
                }
                self.last_slope.1
            }
            (ErrorModel::Psk, _) => {
                let (snr, bits) = (self.sinr(tx, level, 0.0), tx.mpdu_bits());
                1.0 - error_model::psk_success(tx.mode.modulation(), snr, bits)
            }
            (ErrorModel::Bursts(_) | ErrorModel::Slope(_), _) => 0.0,
        }
    }

    /// SINR of each stream of `tx` at a receiver that gets it at `level` beside `interference`,
    /// both in milliwatts.
    fn sinr(&self, tx: &Transmission, level: f64, interference: f64) -> f64 {
        let noise = self.noise_mw * tx.mode.width_ratio();
        level / (noise + interference) / f64::from(tx.mode.streams())
    }

    /// Whether `radio` held on to `tx` until its end, by a replay of all that overlapped.
    fn holds(&self, tx: &Transmission, radio: u32) -> bool {
        self.follow(radio, |other| other.start < tx.end).is_some_and(|held| held.id == tx.id)
    }

    /// Returns the transmission that the receiver of `radio` holds after the starts of the first
    /// records, those that are `early`.
    fn follow(&self, radio: u32, early: impl Fn(&Transmission) -> bool) -> Option<&Transmission> {
        let mut locked = match self.held[radio as usize] {
            NOTHING => None,
            id => self.list.iter().find(|tx| tx.id == id),
        };
        let mut rest = &self.list[self.list.partition_point(|tx| tx.start < self.horizon)..];
        while let Some(first) = rest.first().filter(|tx| early(tx)) {
            let start = first.start;
            let (together, later) = rest.split_at(rest.partition_point(|tx| tx.start == start));
            rest = later;
            locked = locked.filter(|held| held.end > start);
            if self.list.iter().any(|own| own.from == radio && is_on(own, start)) {
                locked = None;
                continue;
            }
            // Of preambles that begin together, only the strongest can be detected.
            let strongest = together
                .iter()
                .max_by(|a, b| self.level(a.from, radio).total_cmp(&self.level(b.from, radio)));
            locked = strongest.filter(|s| self.takes(s, locked, radio)).or(locked);
        }
        locked
    }

    /// Whether `radio`, holding `locked`, goes over to `tx`, which begins now.
    fn takes(&self, tx: &Transmission, locked: Option<&Transmission>, radio: u32) -> bool {
        let level = self.level(tx.from, radio);
        let detected = level >= self.sense_mw
            && level >= self.detection * (self.noise_mw + self.interference(tx, radio, tx.start));
        let free = match (locked, self.capture) {
            (None, _) => true,
            (Some(held), Some(capture)) => level >= capture * self.level(held.from, radio),
            (Some(_), None) => false,
        };
        detected && free
    }

    /// Power at `radio` at `when` of everything but `tx`, in milliwatts.
    fn interference(&self, tx: &Transmission, radio: u32, when: Instant) -> f64 {
        let others = self.list.iter().filter(|o| o.id != tx.id && is_on(o, when));
        others.map(|o| self.level(o.from, radio)).sum()
    }

    /// Cuts `tx` where others begin or end.
    fn cut(&mut self, tx: &Transmission) {
        self.stretches.clear();
        let bits_per_nano = tx.mpdu_bits() / tx.end.since(tx.start).as_nanos() as f64;
        let mut from = tx.start;
        while from < tx.end {
            let to = self.next_change(from).min(tx.end);
            let bits = bits_per_nano * to.since(from).as_nanos() as f64;
            self.stretches.push(Stretch { from, bits });
            from = to;
        }
    }

    /// Probability of decoding `tx`, which [`Air::cut`] has cut, at `radio` through the
    /// interference it met.
    fn disturbed(&mut self, tx: &Transmission, radio: u32, odds: &Odds) -> f64 {
        let level = self.levels.received(tx.from, radio, tx.start);
        if tx.mpdus > 1 && radio == tx.to {
            // Each MPDU has a chance of its own: `shares`.
            return 1.0;
        }
        let met = self.stretches.iter().map(|s| (self.interference(tx, radio, s.from), s.bits));
        let Some(decoder) = self.decoder else {
            let worst = met.map(|(interference, _)| interference).fold(0.0, f64::max);
            let captures = self.capture.is_some_and(|capture| level >= capture * worst);
            let survives = captures || worst < self.sense_mw;
            return if survives { 1.0 - self.set_loss(tx, radio, level) } else { 0.0 };
        };
        let mut success = 1.0;
        for (interference, bits) in met {
            let sinr = self.sinr(tx, level, interference);
            match odds.certain(sinr, bits) {
                Some(1.0) => {}
                Some(_) => return 0.0,
                None => success *= decoder.success(tx.mode, sinr, bits),
            }
        }
        success
    }

    /// Returns the time after `when` of the next beginning or end of a transmission.
    fn next_change(&self, when: Instant) -> Instant {
        let edges = self.list.iter().flat_map(|tx| [tx.start, tx.end]);
        edges.filter(|edge| *edge > when).min().unwrap_or(Instant::MAX)
    }
}

fn is_on(tx: &Transmission, when: Instant) -> bool {
    tx.start <= when && when < tx.end
}
