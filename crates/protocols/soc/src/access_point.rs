//! The access point's loop: from reports and its own view of stations to weights that are worth
//! setting in a real scheduler.
//!
//! A [`Table`] gives the weight that each station should have now. Setting a weight in a kernel
//! costs a system call and disturbs queues, so [`AccessPoint`] asks for a change only when it
//! matters, and not more often than [`ApConfig::pace`] for one station.

mod config;
mod datagram;
mod facts;
mod greeting;
mod station;

pub use config::{ApConfig, NOISE};
pub use facts::{
    Action, ApCounters, ApInput, Decision, Reach, Routed, Source, StationStatus, StationView,
    WeightReason,
};

use crate::policy::Weight;
use crate::stations::Stations;
use crate::table::{Observation, ReceivedFrame, Refusal, Station, Table, TableConfig, TableInput};
use fairwave_machine::Machine;
use fairwave_units::{Db, Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::{self, Answer, Greeting, Plain};
use station::{Change, Known};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};

/// Purpose for which the key of one station is derived.
const STATION_KEY: &str = "soc station";

/// Length of a key in bytes, of a network as of a station.
pub const KEY_LEN: usize = 32;

/// The key of one station of a network. Whoever has it can speak for that station and no other.
pub fn station_secret(network: &Key, station: Mac) -> [u8; KEY_LEN] {
    let mut secret = [0; KEY_LEN];
    for (part, half) in secret.chunks_exact_mut(KEY_LEN / 2).enumerate() {
        half.copy_from_slice(&network.tag(STATION_KEY, &[&station.0, &[part as u8]]).0);
    }
    secret
}

/// Mean time between two answers of an access point: the cost of answers, and their airtime, do not
/// grow with a crowd.
const ANSWER_PACE: Duration = Duration::from_millis(10);
/// The longest time between two answers to one station, whatever the crowd: one may be lost and
/// another one late before the station concludes that no access point listens.
const MAX_ANSWER: Duration = Duration::from_secs(2);

/// Attempts of unknown stations that may arrive together.
const STRANGERS_BURST: u64 = 64;

/// The loop of one access point. Its outputs are the scheduler's tasks.
#[derive(Debug)]
pub struct AccessPoint {
    config: ApConfig,
    table: Table,
    stations: Stations<Known>,
    /// Addresses of stations behind routers.
    addresses: BTreeMap<IpAddr, Mac>,
    /// Way of the report that the table is processing.
    hearing: Reach,
    /// Time at which a station is looked at again: a change that waited, or a view that gets old.
    alarms: BTreeSet<(Instant, Mac)>,
    actions: VecDeque<Action>,
    events: VecDeque<Decision>,
    counters: ApCounters,
    /// Room for a station's target weights, so that a report allocates nothing.
    wanted: Vec<Weight>,
    /// Time at which the next unknown station is expected at the earliest, at their pace.
    strangers: Instant,
}

/// Evidence that a station is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// A report in the paper's format, which anybody can send.
    Nothing,
    /// The radio's driver lists it.
    Radio,
    /// A report sealed by its key.
    Key,
}

impl AccessPoint {
    /// Makes an access point without stations.
    pub fn new(config: ApConfig) -> Self {
        Self {
            table: Table::new(config.table.clone()),
            config,
            stations: Stations::default(),
            addresses: BTreeMap::new(),
            hearing: Reach::Link,
            alarms: BTreeSet::new(),
            actions: VecDeque::new(),
            events: VecDeque::new(),
            counters: ApCounters::default(),
            wanted: Vec::new(),
            strangers: Instant::ZERO,
        }
    }

    /// Returns the counts of events in this loop.
    pub const fn counters(&self) -> &ApCounters {
        &self.counters
    }

    /// Number of reports that were believed, and why others were not.
    pub const fn table_counters(&self) -> &crate::table::Counters {
        self.table.counters()
    }

    /// The stations that are served, in the order of their link addresses.
    pub fn stations(&self, now: Instant) -> Vec<StationStatus> {
        let served = self.stations.iter().filter(|(_, known)| known.is_served());
        served.map(|(link, known)| self.status(now, link, known)).collect()
    }

    /// Reads the state that these reports will be compared with. A processor with little of it in
    /// its caches fetches it for several stations at once here, and for one after the other in
    /// [`Machine::handle`]. Nothing changes.
    pub fn foresee(&self, reports: &[ReceivedFrame]) {
        let looked_at = |frame: &ReceivedFrame| {
            let known = self.stations.get(frame.from()).map(Known::glance);
            (known, self.table.glance(frame.from()))
        };
        for frame in reports {
            let _ = black_box(looked_at(frame));
        }
    }

    fn status(&self, now: Instant, link: Mac, known: &Known) -> StationStatus {
        let (reported, _) = self.table.last_reported(link);
        let (source, soc) = known.source(now, reported, &self.config);
        StationStatus {
            link,
            source,
            reach: known.reach,
            soc,
            age: known.age(now, source),
            weights: known.applied(),
            view: known.view.as_ref().map(|seen| seen.view.clone()),
        }
    }

    /// Takes a report that came in a frame, or in a datagram from this address.
    fn report(&mut self, now: Instant, frame: &ReceivedFrame, routed: Option<SocketAddr>) {
        let link = frame.from();
        if Greeting::is_meant(frame.payload()) {
            return self.take_greeting(now, frame);
        }
        let is_plain = self.config.table.compat && Plain::is_meant(frame.payload());
        // A seal counts for more: it registers anew a station that somebody reported of without.
        let is_registered = self
            .stations
            .get(link)
            .is_some_and(|known| known.is_registered && (known.has_key || is_plain));
        let introduced = match (is_registered, is_plain) {
            (true, _) => Ok(()),
            (false, true) => self.introduce_plain(now, frame),
            (false, false) => self.introduce(now, frame),
        };
        if let Err(why) = introduced {
            self.counters.strangers_refused[why as usize] += 1;
            return self.events.push_back(Decision::Refused { from: link, why });
        }
        self.hearing = routed.map_or(Reach::Link, |from| Reach::Address(from.ip()));
        self.table.handle(now, TableInput::Report(*frame));
        self.follow(now);
        self.answer(now, frame, routed);
    }

    /// Answers a report that was just accepted, if the station has not been answered for a while.
    fn answer(&mut self, now: Instant, frame: &ReceivedFrame, routed: Option<SocketAddr>) {
        let station = frame.from();
        let crowd = (ANSWER_PACE * self.stations.len() as u64).min(MAX_ANSWER);
        let every = self.config.answer_every.max(crowd);
        let Some(known) = self.stations.get_mut(station) else { return };
        let is_soon = known.answered.is_some_and(|at| now < at + every);
        if known.reported_at != Some(now) || is_soon {
            return;
        }
        let Ok((claim, _)) = soc::parse(frame.payload()) else { return };
        let sequence = claim.unchecked().sequence;
        known.answered = Some(now);
        if let Some(from) = routed {
            return self.reply(now, station, sequence, from, true);
        }
        self.say(station, sequence);
    }

    /// Sends a station an answer in a frame.
    fn say(&mut self, station: Mac, sequence: u64) {
        let Ok(key) = self.key_of(station) else { return };
        let answer = Answer { station, sequence, session: self.config.session };
        self.actions.push_back(Action::Answer { station, payload: answer.seal(&key) });
    }

    /// A station's own key. It seals greetings and answers.
    fn key_of(&self, station: Mac) -> Result<Key, Refusal> {
        let secret = station_secret(&self.config.key, station);
        Key::new(&secret).map_err(|_| Refusal::Forged)
    }

    /// Registers a station that proves with its first report that it has a key of this network, and
    /// knows this session.
    fn introduce(&mut self, now: Instant, frame: &ReceivedFrame) -> Result<(), Refusal> {
        let link = frame.from();
        let (claim, _) = soc::parse(frame.payload()).map_err(|_| Refusal::Malformed)?;
        if claim.station() != link {
            return Err(Refusal::WrongSender);
        }
        self.admit_stranger(now)?;
        let key = self.config.session.key(&self.key_of(link)?);
        claim.open(&key).map_err(|_| Refusal::Forged)?;
        if !self.make_room(now, link, Proof::Key) {
            return Err(Refusal::Full);
        }
        self.register(now, link, Some(key));
        Ok(())
    }

    /// Registers a station that reports in the paper's format, which proves nothing.
    fn introduce_plain(&mut self, now: Instant, frame: &ReceivedFrame) -> Result<(), Refusal> {
        Plain::parse(frame.payload()).map_err(|_| Refusal::Truncated)?;
        self.admit_stranger(now)?;
        if !self.make_room(now, frame.from(), Proof::Nothing) {
            return Err(Refusal::Full);
        }
        self.register(now, frame.from(), None);
        Ok(())
    }

    fn register(&mut self, now: Instant, link: Mac, key: Option<Key>) {
        let known = self.stations.or_default(link);
        (known.is_registered, known.has_key) = (true, key.is_some());
        let station = Station { link, key, ipv4: None, ipv6: None };
        self.table.handle(now, TableInput::Register(station));
    }

    /// A token bucket, as the generic cell rate algorithm has it (ITU-T I.371).
    fn admit_stranger(&mut self, now: Instant) -> Result<(), Refusal> {
        let pace = self.config.strangers_pace;
        let next = self.strangers.max(now);
        if next > now + pace * STRANGERS_BURST {
            return Err(Refusal::Flooding);
        }
        self.strangers = next + pace;
        Ok(())
    }

    /// Returns whether there is room for one more station. A station that is gone makes room,
    /// those without a key first, then the one silent for longest; so does one that has proved
    /// nothing for one that has. One that has proved nothing displaces no station with a key, whose
    /// replay guard would go with it.
    fn make_room(&mut self, now: Instant, link: Mac, proof: Proof) -> bool {
        let is_new = self.stations.find(link).is_none();
        if !is_new || self.stations.len() < self.config.table.max_stations {
            return true;
        }
        let gives_way = |known: &Known| {
            let is_stranger = known.is_registered && !known.has_key && !known.is_associated;
            match proof {
                Proof::Nothing => !known.is_served() && !known.has_key,
                Proof::Radio | Proof::Key => !known.is_served() || is_stranger,
            }
        };
        let gone = self.stations.iter().filter(|(_, known)| gives_way(known));
        let Some(oldest) = gone.map(|(link, known)| (known.has_key, known.reported_at, link)).min()
        else {
            return false;
        };
        let Some((_, removed)) = self.stations.remove(oldest.2) else { return false };
        if removed.is_served() {
            let (action, reason) = (Action::Stop { station: oldest.2 }, WeightReason::Unknown);
            self.ask(oldest.2, action, Source::Nothing, reason);
        }
        self.give_up(removed.reach);
        self.alarms.retain(|(_, link)| *link != oldest.2);
        self.table.handle(now, TableInput::Forget(oldest.2));
        true
    }

    fn join(&mut self, now: Instant, link: Mac) {
        if !self.make_room(now, link, Proof::Radio) {
            self.counters.strangers_refused[Refusal::Full as usize] += 1;
            return self.events.push_back(Decision::Refused { from: link, why: Refusal::Full });
        }
        let known = self.stations.or_default(link);
        known.is_present = true;
        known.is_associated = true;
        self.update_weights(now, link, WeightReason::Joined);
    }

    fn leave(&mut self, now: Instant, link: Mac) {
        let Some(known) = self.stations.get_mut(link) else { return };
        known.is_present = false;
        known.is_associated = false;
        known.view = None;
        self.update_weights(now, link, WeightReason::Left);
    }

    fn see(&mut self, now: Instant, view: StationView) {
        let link = view.link;
        if !self.make_room(now, link, Proof::Radio) {
            self.counters.strangers_refused[Refusal::Full as usize] += 1;
            return;
        }
        let known = self.stations.or_default(link);
        known.is_present = true;
        known.see(now, view, &self.config);
        self.counters.views += 1;
        let level = known.level(now, &self.config);
        let reason = level.map_or(WeightReason::Unknown, |soc| WeightReason::View { soc });
        self.update_weights(now, link, reason);
    }

    /// Handles the table's events after an input to it.
    fn follow(&mut self, now: Instant) {
        // Weights are read from the table where they are compared with those in force.
        let mut is_changed = false;
        while self.table.poll(now).is_some() {
            is_changed = true;
        }
        while let Some(seen) = self.table.event() {
            self.receive(now, &seen, is_changed);
        }
    }

    /// `is_changed`: the table has reported a new weight.
    fn receive(&mut self, now: Instant, seen: &Observation, is_changed: bool) {
        match *seen {
            Observation::Reported { station, soc, .. } => {
                let reason = WeightReason::Report { soc };
                let Some(known) = self.stations.get_mut(station) else { return };
                (known.reported_at, known.reason, known.is_present) =
                    (Some(now), Some(reason), true);
                if known.reach != self.hearing {
                    self.note_reach(station, self.hearing);
                } else if known.is_steady && !is_changed {
                    // In a crowd most reports say what the one before said.
                    return;
                }
                self.update_weights(now, station, reason);
            }
            Observation::Missed { station, soc, misses } => {
                self.update_weights(now, station, WeightReason::Missed { soc, misses });
            }
            Observation::AgedOut { station } => self.lose(now, station, WeightReason::Silent),
            Observation::Ended { station } => self.lose(now, station, WeightReason::Ended),
            Observation::Evicted { .. } => {}
            Observation::Refused { from, why } => {
                self.events.push_back(Decision::Refused { from, why });
            }
        }
    }

    /// Handles a station without reports: another source counts from now on.
    fn lose(&mut self, now: Instant, station: Mac, reason: WeightReason) {
        if let Some(known) = self.stations.get_mut(station) {
            known.is_present = known.is_associated;
        }
        self.update_weights(now, station, reason);
    }

    /// Compares a station's target with its present weights, and asks for the difference.
    fn update_weights(&mut self, now: Instant, link: Mac, reason: WeightReason) {
        let Self { config, table, stations, wanted, alarms, .. } = self;
        let Some(known) = stations.get_mut(link) else { return };
        let (reported, last_reported) = table.last_reported(link);
        let (source, soc) = known.source(now, reported, config);
        wanted.clear();
        wanted.extend(weights(&config.table, source, soc, last_reported));
        known.reason = Some(reason);
        if let Some(alarm) = known.alarm.take() {
            alarms.remove(&(alarm, link));
        }
        let target = known.is_wanted(source).then_some(wanted.as_slice());
        let Change { action, again, waits } = known.approach(link, now, target, config);
        known.is_steady = source == Source::Report && !waits;
        if let Some(alarm) = again {
            known.alarm = Some(alarm);
            alarms.insert((alarm, link));
        }
        debug_assert!(alarms.len() <= stations.len(), "a station has two alarms");
        if let Some(action) = action {
            self.ask(link, action, source, reason);
        }
    }

    /// Asks for a change, and notes why.
    fn ask(&mut self, link: Mac, action: Action, source: Source, reason: WeightReason) {
        if let (Action::Stop { .. }, Some(known)) = (&action, self.stations.get_mut(link)) {
            let reach = std::mem::take(&mut known.reach);
            self.give_up(reach);
        }
        self.counters.changes += 1;
        self.events.push_back(Decision::Changed { action: action.clone(), source, reason });
        self.actions.push_back(action);
    }

    /// A station's time has come: a change may be made now, or our view of it is too old.
    fn review(&mut self, now: Instant, link: Mac) {
        let Some(known) = self.stations.get_mut(link) else { return };
        known.alarm = None;
        let reason = known.reason.unwrap_or(WeightReason::Unknown);
        let is_blind = known.view.is_some() && known.level(now, &self.config).is_none();
        let by_view = matches!(reason, WeightReason::View { .. });
        self.update_weights(
            now,
            link,
            if is_blind && by_view { WeightReason::Silent } else { reason },
        );
    }
}

/// Returns the weights of a station's SoC, by class; `told` is the table's event on its reports.
fn weights<'t>(
    table: &'t TableConfig,
    source: Source,
    soc: Option<Db>,
    last_reported: &'t [Weight],
) -> impl Iterator<Item = Weight> + 't {
    let TableConfig { policies, first_weight, .. } = table;
    policies.classes().zip(0..).map(move |(class, index)| match (source, soc) {
        (Source::View, Some(soc)) => Weight::from_fraction(policies.weight(class, soc)),
        (Source::Report, _) => last_reported.get::<usize>(index).copied().unwrap_or(*first_weight),
        _ => *first_weight,
    })
}

impl Machine for AccessPoint {
    type Input = ApInput;
    type Output = Action;
    type Event = Decision;

    fn handle(&mut self, now: Instant, input: ApInput) {
        match input {
            ApInput::Report(frame) => self.report(now, &frame, None),
            ApInput::Datagram(datagram) => self.take_datagram(now, &datagram),
            ApInput::Joined(link) => self.join(now, link),
            ApInput::Left(link) => self.leave(now, link),
            ApInput::Seen(view) => self.see(now, view),
        }
    }

    fn wake(&mut self, now: Instant) {
        if self.table.deadline().is_some_and(|deadline| deadline <= now) {
            self.table.wake(now);
            self.follow(now);
        }
        while let Some(&(_, link)) = self.alarms.first().filter(|(at, _)| *at <= now) {
            self.alarms.pop_first();
            self.review(now, link);
        }
    }

    fn poll(&mut self, _: Instant) -> Option<Action> {
        self.actions.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let alarm = self.alarms.first().map(|(at, _)| *at);
        self.table.deadline().into_iter().chain(alarm).min()
    }

    fn event(&mut self) -> Option<Decision> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
