//! The stations of a table, by link address.

use super::entry::Entry;
use fairwave_units::Instant;
use fairwave_wire::ethernet::Mac;

/// Stations in the order of their link addresses.
///
/// Each report looks for its station and moves its alarm. Addresses and alarms lie in vectors of
/// their own, so that a search and a look at all alarms stay within a few lines of a cache; a tree
/// would have a node, and its line of the cache, at each step. Stations come and go rarely.
#[derive(Debug, Default)]
pub(super) struct Entries {
    links: Vec<Mac>,
    /// When each is looked at next.
    alarms: Vec<Option<Instant>>,
    entries: Vec<Entry>,
}

/// The place of a station, until one is inserted or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(usize);

impl Entries {
    pub(super) const fn len(&self) -> usize {
        self.links.len()
    }

    pub(super) fn find(&self, link: Mac) -> Option<Place> {
        self.links.binary_search(&link).ok().map(Place)
    }

    pub(super) fn get(&self, link: Mac) -> Option<&Entry> {
        self.find(link).map(|place| &self.entries[place.0])
    }

    pub(super) fn at(&mut self, place: Place) -> &mut Entry {
        &mut self.entries[place.0]
    }

    pub(super) fn link(&self, place: Place) -> Mac {
        self.links[place.0]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Mac, &Entry)> {
        self.links.iter().copied().zip(&self.entries)
    }

    /// Inserts a station that is not there yet, without an alarm.
    pub(super) fn insert(&mut self, link: Mac, entry: Entry) -> Place {
        let at = self.links.partition_point(|before| *before < link);
        debug_assert!(self.links.get(at) != Some(&link), "{link} is there already");
        self.links.insert(at, link);
        self.alarms.insert(at, None);
        self.entries.insert(at, entry);
        Place(at)
    }

    pub(super) fn remove(&mut self, link: Mac) -> Option<Entry> {
        let Place(at) = self.find(link)?;
        self.links.remove(at);
        self.alarms.remove(at);
        Some(self.entries.remove(at))
    }

    pub(super) fn set_alarm(&mut self, place: Place, at: Option<Instant>) {
        self.alarms[place.0] = at;
    }

    /// The earliest alarm, and whose: of several at once that of the lowest address.
    pub(super) fn first_alarm(&self) -> Option<(Instant, Place)> {
        let set = self.alarms.iter().zip(0..);
        set.filter_map(|(at, index)| Some(((*at)?, Place(index)))).min()
    }
}
