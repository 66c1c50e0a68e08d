//! State of one station in the loop: the views of it, and the weights asked for.

use super::config::ApConfig;
use super::facts::{Action, Reach, Source, StationView, WeightReason};
use crate::policy::Weight;
use fairwave_units::{Db, Duration, Instant};
use fairwave_wire::ethernet::Mac;

/// Share of the newest view in the level that counts, beside the level before it.
const NEWEST: f64 = 0.5;

#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Whether the table has it, and its key, without which it reports in the paper's format.
    pub(super) is_registered: bool,
    pub(super) has_key: bool,
    /// Whether it reports, is seen, or is associated.
    pub(super) is_present: bool,
    /// Whether the radio reported that it associated, and not yet that it left.
    pub(super) is_associated: bool,
    /// Way of the last accepted report.
    pub(super) reach: Reach,
    /// Time at which a report of it was last believed.
    pub(super) reported_at: Option<Instant>,
    /// Apart, so that the fields that each report reads lie together.
    pub(super) view: Option<Box<Seen>>,
    /// Time at which it is looked at again.
    pub(super) alarm: Option<Instant>,
    /// Its last view.
    pub(super) reason: Option<WeightReason>,
    /// Time at which it was last answered.
    pub(super) answered: Option<Instant>,
    /// Whether it has the weights of its reports: there is nothing to do until they change.
    pub(super) is_steady: bool,
    served: Option<Served>,
}

#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) view: StationView,
    pub(super) at: Instant,
    /// Signal over noise, low-pass filtered.
    level: Option<Db>,
}

#[derive(Clone, Debug)]
struct Served {
    reach: Reach,
    weights: Vec<Weight>,
    since: Instant,
}

/// Consequences of a target.
#[derive(Default)]
pub(super) struct Change {
    pub(super) action: Option<Action>,
    /// Time at which the station is to be looked at again.
    pub(super) again: Option<Instant>,
    /// Whether a change that matters is put off.
    pub(super) waits: bool,
}

impl Known {
    /// Reads the fields that a report changes, wherever they lie.
    pub(super) fn glance(&self) -> [bool; 4] {
        let (has_report, is_answered) = (self.reported_at.is_some(), self.answered.is_some());
        [self.is_registered, has_report, is_answered, self.reason.is_some()]
    }

    pub(super) const fn is_served(&self) -> bool {
        self.served.is_some()
    }

    pub(super) fn applied(&self) -> Vec<Weight> {
        self.served.as_ref().map(|served| served.weights.clone()).unwrap_or_default()
    }

    pub(super) fn see(&mut self, now: Instant, view: StationView, config: &ApConfig) {
        let before = self.level(now, config);
        let newest = view.signal.map(|signal| signal - view.noise.unwrap_or(config.noise));
        let level = match (before, newest) {
            (Some(before), Some(newest)) => Some(Db(NEWEST * newest.0 + (1.0 - NEWEST) * before.0)),
            (before, newest) => newest.or(before),
        };
        self.view = Some(Box::new(Seen { view, at: now, level }));
    }

    /// The level by the access point's view, as long as that is fresh.
    pub(super) fn level(&self, now: Instant, config: &ApConfig) -> Option<Db> {
        let seen = self.view.as_ref().filter(|seen| now < seen.at + config.view_lasts)?;
        seen.level
    }

    /// Returns its SoC, and the source: its own report, if there is one, before our view of it.
    pub(super) fn source(
        &self,
        now: Instant,
        reported: Option<Db>,
        config: &ApConfig,
    ) -> (Source, Option<Db>) {
        if let Some(soc) = reported.filter(|_| self.is_present) {
            return (Source::Report, Some(soc));
        }
        let seen = self.level(now, config);
        (seen.map_or(Source::Nothing, |_| Source::View), seen)
    }

    /// Moves towards these weights, or towards none at all: at once where that matters and is not
    /// too soon.
    pub(super) fn approach(
        &mut self,
        link: Mac,
        now: Instant,
        target: Option<&[Weight]>,
        config: &ApConfig,
    ) -> Change {
        let fresh = self.view.as_ref().map(|seen| seen.at + config.view_lasts);
        let fades = fresh.filter(|until| *until > now);
        let Some(weights) = target else {
            let action = self.served.take().map(|_| Action::Stop { station: link });
            return Change { action, again: fades, waits: false };
        };
        let (is_due, ready) = match &self.served {
            None => (true, now),
            Some(served) => {
                let is_elsewhere = served.reach != self.reach;
                let is_due = is_elsewhere || matters(&served.weights, weights, config.step);
                (is_due, served.since + config.pace)
            }
        };
        if !is_due {
            return Change { action: None, again: fades, waits: false };
        }
        if ready > now {
            let again = fades.map_or(ready, |fades| fades.min(ready));
            return Change { action: None, again: Some(again), waits: true };
        }
        let (reach, weights) = (self.reach, weights.to_vec());
        self.served = Some(Served { reach, weights: weights.clone(), since: now });
        let action = Some(Action::Serve { station: link, reach, weights });
        Change { action, again: fades, waits: false }
    }

    /// Whether a station of whose SoC this is the source is to be served.
    pub(super) fn is_wanted(&self, source: Source) -> bool {
        self.is_associated || source != Source::Nothing
    }

    /// Returns the time since its last report or view.
    pub(super) fn age(&self, now: Instant, source: Source) -> Option<Duration> {
        let at = match source {
            Source::Report => self.reported_at,
            Source::View => self.view.as_ref().map(|seen| seen.at),
            Source::Nothing => None,
        };
        at.map(|at| now.since(at))
    }
}

/// Whether the weights are so far apart that a change is worth its cost.
fn matters(now: &[Weight], then: &[Weight], step: f64) -> bool {
    let is_far = |(now, then): (&Weight, &Weight)| {
        let turns = (*now == Weight::ZERO) != (*then == Weight::ZERO);
        turns || (now.fraction() - then.fraction()).abs() >= step
    };
    now.len() != then.len() || now.iter().zip(then).any(is_far)
}
