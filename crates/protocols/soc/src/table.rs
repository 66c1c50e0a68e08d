//! The access point's side ("SoC Frame Receiver" and "SoC Table", paper sections 4.2 and 4.4.2).

mod config;
mod entries;
mod entry;
mod facts;
mod guard;

pub use config::{Decay, TableConfig};
pub use facts::{Counters, Observation, ReceivedFrame, Refusal, Station, TableInput, WeightChange};

use crate::policy::{Class, Weight};
use crate::reporter::{INTERVAL_DESIGN, MIN_INTERVAL};
use crate::stations::Place;
use entries::Entries;
use entry::Entry;
use fairwave_machine::Machine;
use fairwave_units::{Db, Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::soc::{self, CentiDb, Plain};
use guard::Guard;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// The SoC of each registered station, and the weights that follow.
///
/// A report is missed when it has not come one and a half intervals after the last, and another
/// one each interval from then on: half an interval is for waiting for data and for the channel.
#[derive(Debug)]
pub struct Table {
    config: TableConfig,
    /// Each with the alarm that [`Entry::alarm`] says.
    entries: Entries,
    changes: VecDeque<WeightChange>,
    events: VecDeque<Observation>,
    counters: Counters,
}

impl Table {
    /// A table without stations.
    pub fn new(config: TableConfig) -> Self {
        Self {
            config,
            entries: Entries::default(),
            changes: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Returns the counts of events.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Number of stations that are registered.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.len() == 0
    }

    /// Returns the estimate of a station's SoC; `None` if it is unknown.
    pub fn soc(&self, station: Mac) -> Option<Db> {
        self.entries.get(station)?.level.map(|level| level.soc)
    }

    /// The weight in force, that of the first class if there is no such class.
    pub fn weight(&self, station: Mac, class: Class) -> Weight {
        let (_, weights) = self.last_reported(station);
        let own = weights.get(usize::from(class.0)).or(weights.first());
        own.copied().unwrap_or(self.config.first_weight)
    }

    /// Returns the estimate of a station's SoC, and the weights in force by class; `None` for one
    /// that is not registered.
    pub(crate) fn last_reported(&self, station: Mac) -> (Option<Db>, &[Weight]) {
        let entry = self.entries.get(station);
        entry
            .map_or((None, &[]), |entry| (entry.level.map(|level| level.soc), &entry.last_reported))
    }

    /// For a report that has arrived: whether its station has a key, never reported before, has a
    /// level, and has a guard that saw no report. `None` for a station that is not registered.
    pub(crate) fn glance(&self, station: Mac) -> Option<[bool; 4]> {
        self.entries.get(station).map(Entry::glance)
    }

    fn register(&mut self, now: Instant, station: Station) {
        let link = station.link;
        if let Some(place) = self.entries.find(link) {
            let entry = self.entries.at(place);
            if !is_same_key(&entry.station, &station) {
                entry.guard = Guard::new(&self.config, now);
            }
            entry.station = station;
            return;
        }
        if !self.make_room(now, station.key.is_some()) {
            return self.refuse(link, Refusal::Full);
        }
        let guard = Guard::new(&self.config, now);
        let entry =
            Entry { station, guard, level: None, reported_at: now, last_reported: SmallVec::new() };
        let place = self.entries.insert(link, entry);
        debug_assert!(self.entries.len() <= self.config.max_stations, "the table is too full");
        self.notify(place);
    }

    /// Makes room for one more station, and returns whether there is room. A station with a key is
    /// never evicted. One without a key is evicted for a station with one, and after it has been
    /// silent for `forget_after` also for another without.
    fn make_room(&mut self, now: Instant, has_key: bool) -> bool {
        if self.entries.len() < self.config.max_stations {
            return true;
        }
        let strangers = self.entries.iter().filter(|(_, entry)| entry.station.key.is_none());
        let quietest = strangers.map(|(link, entry)| (entry.reported_at, link)).min();
        let enough = self.config.forget_after;
        match quietest {
            Some((reported_at, link)) if has_key || now.since(reported_at) >= enough => {
                self.remove(link);
                self.counters.evicted += 1;
                self.events.push_back(Observation::Evicted { station: link });
                true
            }
            _ => false,
        }
    }

    /// Removes a station; the scheduler gets the weight of unknown ones.
    fn remove(&mut self, link: Mac) {
        let Some(entry) = self.entries.remove(link) else { return };
        let first = self.config.first_weight;
        for (class, last_reported) in self.config.policies.classes().zip(entry.last_reported) {
            if last_reported != first {
                self.changes.push_back(WeightChange { station: link, class, weight: first });
            }
        }
    }

    fn report(&mut self, now: Instant, frame: &ReceivedFrame) {
        let link = frame.from();
        let AcceptedReport { place, reported, interval, compat } = match self.believe(now, frame) {
            Ok(believed) => believed,
            Err(why) => return self.refuse(link, why),
        };
        if reported == CentiDb::NONE {
            return self.end(now, place);
        }
        let soc = self.entries.at(place).receive(now, reported, interval, self.config.floor);
        self.counters.accepted += 1;
        self.counters.compat += u64::from(compat);
        self.events.push_back(Observation::Reported { station: link, reported, soc });
        self.update(place);
    }

    /// Takes a station's last report: its SoC expires.
    fn end(&mut self, now: Instant, place: Place) {
        let station = self.entries.link(place);
        let entry = self.entries.at(place);
        (entry.level, entry.reported_at) = (None, now);
        self.counters.accepted += 1;
        self.events.push_back(Observation::Ended { station });
        self.update(place);
    }

    fn believe(&mut self, now: Instant, frame: &ReceivedFrame) -> Result<AcceptedReport, Refusal> {
        let payload = frame.payload();
        if self.config.compat && Plain::is_meant(payload) {
            let plain = Plain::parse(payload).map_err(|_| Refusal::Truncated)?;
            let place = self.entries.find(frame.from()).ok_or(Refusal::Unknown)?;
            let reported = self.entries.at(place).admit_plain(now, plain, &self.config)?;
            let interval = self.config.compat_interval;
            return Ok(AcceptedReport { place, reported, interval, compat: true });
        }
        let (claim, _) = soc::parse(payload).map_err(|error| refusal(error, payload))?;
        let place = self.entries.find(frame.from()).ok_or(Refusal::Unknown)?;
        if claim.station() != frame.from() {
            return Err(Refusal::WrongSender);
        }
        let report = self.entries.at(place).admit(now, &claim, &self.config)?;
        let interval = Duration::from_millis(u64::from(report.interval_ms.get()));
        let interval = interval.clamp(MIN_INTERVAL, *INTERVAL_DESIGN.end());
        Ok(AcceptedReport { place, reported: report.soc, interval, compat: false })
    }

    fn refuse(&mut self, from: Mac, why: Refusal) {
        self.counters.refuse(why);
        self.events.push_back(Observation::Refused { from, why });
    }

    /// A station's time has come: it missed a report, or has been silent for too long.
    fn alarm(&mut self, place: Place, at: Instant) {
        let link = self.entries.link(place);
        let entry = self.entries.at(place);
        debug_assert_eq!(entry.alarm(self.config.forget_after), Some(at), "a stale alarm");
        let Some(level) = entry.level.as_mut() else { return };
        if at >= entry.reported_at + self.config.forget_after {
            entry.level = None;
            self.counters.aged_out += 1;
            self.events.push_back(Observation::AgedOut { station: link });
        } else {
            level.miss(&self.config);
            self.counters.missed += 1;
            let (soc, misses) = (level.soc, level.misses);
            self.events.push_back(Observation::Missed { station: link, soc, misses });
        }
        self.update(place);
    }

    /// Updates a station after a change: its alarm and its weights.
    fn update(&mut self, place: Place) {
        let alarm = self.entries.at(place).alarm(self.config.forget_after);
        self.entries.set_alarm(place, alarm);
        self.notify(place);
    }

    /// Reports the weights that are new.
    fn notify(&mut self, place: Place) {
        let link = self.entries.link(place);
        let Entry { level, last_reported, .. } = self.entries.at(place);
        let TableConfig { policies, smoothing, first_weight, .. } = &self.config;
        let mut weights = level.as_mut().map(|level| level.weigh(policies, *smoothing));
        for (index, class) in policies.classes().enumerate() {
            let weight = weights.as_mut().and_then(Iterator::next).unwrap_or(*first_weight);
            let change = WeightChange { station: link, class, weight };
            match last_reported.get_mut(index) {
                None => last_reported.push(weight),
                Some(last_reported) if *last_reported != weight => *last_reported = weight,
                Some(_) => continue,
            }
            self.changes.push_back(change);
        }
    }
}

/// A report that counts.
struct AcceptedReport {
    place: Place,
    reported: CentiDb,
    /// Time to the next one.
    interval: Duration,
    /// Whether its format was the paper's.
    compat: bool,
}

/// Returns whether both stations have the same key, or none: keys are compared by a seal of each.
fn is_same_key(a: &Station, b: &Station) -> bool {
    let made = |station: &Station| station.key.as_ref().map(|key| key.tag("soc same key", &[]));
    made(a) == made(b)
}

/// Returns the reason for a parser's error.
fn refusal(error: soc::Error, payload: &[u8]) -> Refusal {
    match error {
        _ if Plain::is_meant(payload) && payload.len() >= Plain::LEN => Refusal::Unsealed,
        soc::Error::Truncated(_) => Refusal::Truncated,
        soc::Error::Version { .. } => Refusal::UnknownVersion,
        _ => Refusal::Malformed,
    }
}

impl Machine for Table {
    type Input = TableInput;
    type Output = WeightChange;
    type Event = Observation;

    fn handle(&mut self, now: Instant, input: TableInput) {
        match input {
            TableInput::Register(station) => self.register(now, station),
            TableInput::Forget(link) => self.remove(link),
            TableInput::Report(reported_at) => self.report(now, &reported_at),
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some((at, place)) = self.entries.first_alarm().filter(|(at, _)| *at <= now) {
            self.alarm(place, at);
        }
    }

    fn poll(&mut self, _: Instant) -> Option<WeightChange> {
        self.changes.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.entries.first_alarm().map(|(at, _)| at)
    }

    fn event(&mut self) -> Option<Observation> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
