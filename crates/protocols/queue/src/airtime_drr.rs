//! Airtime shared out among stations (Høiland-Jørgensen, Kazior, Täht, Hurtig, Brunstrom: Ending
//! the Anomaly, USENIX ATC 2017, algorithm 3).

use crate::fair::{FairConfig, FairQueues};
use crate::slab::{Ends, NONE};
use crate::{Discipline, Goes, Item};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Duration, Instant};

/// Parameters of airtime fairness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirtimeConfig {
    /// Time on the medium that a station is given in its turn.
    pub quantum: Duration,
    /// The flows of each station.
    pub flows: FairConfig,
}

/// The queues of Linux's mac80211: [`AirtimeDrr`] above a device that takes little at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac80211Config {
    /// Order of service.
    pub airtime: AirtimeConfig,
    /// Room of the device.
    pub limits: QueueLimits,
}

/// Linux's airtime queue limits: how much airtime a device takes over from the queues above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// For one station and category, where the device is busy.
    pub low: Duration,
    /// The same where it is not.
    pub high: Duration,
    /// Airtime of all that the device has, from which on it is busy.
    pub threshold: Duration,
}

/// Time after which a station without packets leaves the rounds, and is charged no more
/// (`AIRTIME_ACTIVE_DURATION` in Linux's `net/mac80211/ieee80211_i.h`).
const ACTIVE: Duration = Duration::from_millis(100);

/// Stations served by deficit round robin in airtime, each station's flows by FQ-CoDel.
///
/// The host reports by [`Discipline::charge`] the time of transmissions to a station, retries
/// included, and of receptions from it. A station that is slow, or hard to reach, or sends a lot
/// itself, waits accordingly longer.
///
/// A station in debt keeps its place in the rounds although it has no packets, and so pays with
/// the time that others use meanwhile (Linux 6.0, `net/mac80211/tx.c`,
/// `ieee80211_txq_keep_active`). In algorithm 3 of the paper it would pay only when its next
/// packets come: a TCP flow that empties its queue into each PPDU then waits twice.
#[derive(Clone, Debug)]
pub struct AirtimeDrr<T> {
    flows: FairQueues<T>,
    quantum: i64,
    stations: Vec<Station>,
    new: Ends,
    old: Ends,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    /// Nanoseconds of airtime that it may still use.
    deficit: i64,
    listed: bool,
    /// Time at which it last had packets here.
    active: Instant,
    after: u32,
}

impl Ends {
    fn append(&mut self, stations: &mut [Station], number: u32) {
        match self.last {
            NONE => self.first = number,
            last => stations[last as usize].after = number,
        }
        self.last = number;
        stations[number as usize].after = NONE;
    }

    fn remove_first(&mut self, stations: &[Station]) {
        self.first = stations[self.first as usize].after;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

impl<T: Item> AirtimeDrr<T> {
    /// An empty queue.
    pub fn new(config: AirtimeConfig) -> Self {
        Self {
            flows: FairQueues::new(config.flows, true),
            quantum: config.quantum.as_nanos() as i64,
            stations: Vec::new(),
            new: Ends::EMPTY,
            old: Ends::EMPTY,
        }
    }

    fn station(&mut self, number: u32) -> &mut Station {
        if number as usize >= self.stations.len() {
            self.meet(number);
        }
        &mut self.stations[number as usize]
    }

    /// Whether a station has packets, or had some until a short time ago.
    fn is_active(&self, now: Instant, last: Instant, number: u32) -> bool {
        now.since(last) <= ACTIVE || self.flows.peek_to(number).is_some()
    }

    #[cold]
    fn meet(&mut self, number: u32) {
        let unknown =
            Station { deficit: self.quantum, listed: false, active: Instant::ZERO, after: NONE };
        self.stations.resize(number as usize + 1, unknown);
    }
}

impl<T: Item + Debug + Send> Discipline<T> for AirtimeDrr<T> {
    fn push(&mut self, now: Instant, item: T) {
        let number = item.receiver();
        self.flows.push(now, item);
        let station = self.station(number);
        station.active = now;
        if !core::mem::replace(&mut station.listed, true) {
            self.new.append(&mut self.stations, number);
        }
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        loop {
            let (number, is_new) = match (self.new.first, self.old.first) {
                (NONE, NONE) => return None,
                (NONE, first) => (first, false),
                (first, _) => (first, true),
            };
            let station = &mut self.stations[number as usize];
            debug_assert!(station.listed, "station {number} has no turn");
            let in_debt = station.deficit <= 0;
            if !in_debt && let Some(item) = self.flows.pop(now, number as usize) {
                station.active = now;
                return Some(item);
            }
            if in_debt {
                station.deficit += self.quantum;
            }
            let active = station.active;
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.remove_first(&self.stations);
            // An emptied new station waits once behind the old ones, lest it stay new for ever.
            let pays = in_debt && self.is_active(now, active, number);
            if pays || (is_new && !in_debt) {
                self.old.append(&mut self.stations, number);
            } else {
                self.stations[number as usize].listed = false;
            }
        }
    }

    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        let item = self.flows.pop(now, receiver as usize)?;
        self.station(receiver).active = now;
        Some(item)
    }

    fn withdraw(&mut self, _: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        self.flows.withdraw(receiver, goes)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.flows.peek_to(receiver)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.flows.dropped()
    }

    fn len(&self) -> u32 {
        self.flows.len()
    }

    fn bytes(&self) -> Bytes {
        self.flows.bytes()
    }

    fn charge(&mut self, now: Instant, receiver: u32, airtime: Duration) {
        let active = self.station(receiver).active;
        if !self.is_active(now, active, receiver) {
            return;
        }
        let station = self.station(receiver);
        station.deficit -= airtime.as_nanos() as i64;
        if station.deficit <= 0 && !core::mem::replace(&mut station.listed, true) {
            self.old.append(&mut self.stations, receiver);
        }
    }
}
