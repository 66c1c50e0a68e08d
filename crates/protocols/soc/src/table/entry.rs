//! State of one station in the table: its key, and the estimate of its SoC.

use super::config::{Decay, TableConfig};
use super::facts::{Refusal, Station};
use super::guard::Guard;
use crate::policy::{Policies, Weight};
use fairwave_units::{Db, Duration, Instant};
use fairwave_wire::soc::{self, CentiDb, Plain, Report};
use smallvec::SmallVec;

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) station: Station,
    pub(super) guard: Guard,
    /// Unknown until the first report, and after long silence.
    pub(super) level: Option<Level>,
    /// Time of its registration or last report.
    pub(super) reported_at: Instant,
    /// Last weights reported to the scheduler, by class. Few are the classes: each report compares
    /// them, and they lie beside the rest.
    pub(super) last_reported: SmallVec<[Weight; 4]>,
}

/// Estimate of its SoC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// Now, and one report or one miss before, in dB.
    pub(super) soc: Db,
    before: Db,
    /// After hysteresis.
    counted: Option<Db>,
    /// Factor of the weight, if weights decay.
    factor: f64,
    pub(super) misses: u32,
    interval: Duration,
    /// Time at which the next report will have been missed.
    pub(super) due: Instant,
}

impl Entry {
    /// Reads the fields that a report changes, wherever they lie.
    pub(super) fn glance(&self) -> [bool; 4] {
        let (has_key, is_new) = (self.station.key.is_some(), self.last_reported.is_empty());
        [has_key, is_new, self.level.is_some(), self.guard.is_new()]
    }

    /// Reads a report and checks everything about it.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        claim: &soc::Claim<'_>,
        config: &TableConfig,
    ) -> Result<Report, Refusal> {
        let key = self.station.key.as_ref().ok_or(Refusal::Unknown)?;
        let report = claim.open(key).map_err(|_| Refusal::Forged)?;
        let wrong_ipv4 = self.station.ipv4.is_some_and(|own| own != report.ipv4);
        let wrong_ipv6 = self.station.ipv6.is_some_and(|own| own != report.ipv6);
        if wrong_ipv4 || wrong_ipv6 {
            return Err(Refusal::WrongAddress);
        }
        self.guard.admit(now, &report, config)?;
        Ok(report)
    }

    /// The same for the format of the paper, of which only address and pace can be checked.
    pub(super) fn admit_plain(
        &mut self,
        now: Instant,
        plain: Plain,
        config: &TableConfig,
    ) -> Result<CentiDb, Refusal> {
        if self.station.key.is_some() {
            return Err(Refusal::Unsealed);
        }
        if self.station.ipv4.is_some_and(|own| own != plain.ipv4) {
            return Err(Refusal::WrongAddress);
        }
        self.guard.at_pace(now, config)?;
        Ok(CentiDb::from_db(f64::from(plain.soc_db)))
    }

    /// Takes a believed SoC; the next one is expected after `interval`.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        reported: CentiDb,
        interval: Duration,
        floor: Db,
    ) -> Db {
        let soc = Db(reported.db().max(floor.0));
        let before = self.level;
        self.level = Some(Level {
            soc,
            before: before.map_or(soc, |level| level.soc),
            counted: before.and_then(|level| level.counted),
            factor: 1.0,
            misses: 0,
            interval,
            due: now + interval + interval / 2,
        });
        self.reported_at = now;
        soc
    }

    /// Returns the time of its next event: a report is missed, or it ages out.
    pub(super) fn alarm(&self, forget_after: Duration) -> Option<Instant> {
        self.level.map(|level| level.due.min(self.reported_at + forget_after))
    }
}

impl Level {
    /// A report did not come (paper, section 4.2; its Fig. 4 is lost, see `docs/models/soc.md`).
    pub(super) fn miss(&mut self, config: &TableConfig) {
        self.misses += 1;
        self.due += self.interval;
        self.before = self.soc;
        match config.decay {
            Decay::Soc => {
                let above = self.soc.0 - config.floor.0;
                self.soc = Db(config.floor.0 + config.beta * above);
            }
            Decay::Weight => self.factor *= config.beta,
        }
        debug_assert!(self.soc.0 >= config.floor.0, "{self:?} is below the floor");
        debug_assert!((0.0..=1.0).contains(&self.factor), "{self:?}");
    }

    /// Updates the counted value, and returns the weight of each class for it.
    pub(super) fn weigh(
        &mut self,
        policies: &Policies,
        smoothing: f64,
    ) -> impl Iterator<Item = Weight> {
        let smoothed = Db(smoothing * self.soc.0 + (1.0 - smoothing) * self.before.0);
        let counted = policies.play(self.counted, smoothed);
        self.counted = Some(counted);
        let factor = self.factor;
        policies
            .classes()
            .map(move |class| Weight::from_fraction(factor * policies.weight(class, counted)))
    }
}
