//! The stations of a table, by link address.

use super::entry::Entry;
use crate::stations::{Place, Stations};
use fairwave_units::Instant;
use fairwave_wire::ethernet::Mac;

/// Later than all alarms.
const NEVER: Instant = Instant::MAX;

/// Stations, and when each is looked at next.
///
/// Each report moves an alarm. They lie in a vector of their own, so that a look at all of them
/// stays within a few lines of a cache.
#[derive(Debug, Default)]
pub(super) struct Entries {
    stations: Stations<Entry>,
    /// [`NEVER`] where nothing is to be looked at.
    alarms: Vec<Instant>,
}

impl Entries {
    pub(super) const fn len(&self) -> usize {
        self.stations.len()
    }

    pub(super) fn find(&self, link: Mac) -> Option<Place> {
        self.stations.find(link)
    }

    pub(super) fn get(&self, link: Mac) -> Option<&Entry> {
        self.stations.get(link)
    }

    pub(super) fn at(&mut self, place: Place) -> &mut Entry {
        self.stations.at(place)
    }

    pub(super) fn link(&self, place: Place) -> Mac {
        self.stations.link(place)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Mac, &Entry)> {
        self.stations.iter()
    }

    /// Inserts a station that is not there yet, without an alarm.
    pub(super) fn insert(&mut self, link: Mac, entry: Entry) -> Place {
        let place = self.stations.insert(link, entry);
        self.alarms.insert(place.0, NEVER);
        place
    }

    pub(super) fn remove(&mut self, link: Mac) -> Option<Entry> {
        let (place, entry) = self.stations.remove(link)?;
        self.alarms.remove(place.0);
        Some(entry)
    }

    pub(super) fn set_alarm(&mut self, place: Place, at: Option<Instant>) {
        self.alarms[place.0] = at.unwrap_or(NEVER);
    }

    /// The earliest alarm, and whose: of several at once that of the lowest address.
    pub(super) fn first_alarm(&self) -> Option<(Instant, Place)> {
        // The least of numbers takes no branch, which a look at pairs of them would.
        let first = self.alarms.iter().copied().fold(NEVER, Instant::min);
        let place = self.alarms.iter().position(|at| *at == first)?;
        (first != NEVER).then_some((first, Place(place)))
    }
}
