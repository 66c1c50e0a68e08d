//! State of each station, by link address.

use fairwave_wire::ethernet::Mac;

/// Stations in the order of their link addresses.
///
/// Each report looks for its station. Addresses lie in a vector of their own, as whole numbers, so
/// that a search stays within a few lines of a cache and branches on nothing; a tree would have a
/// node, and its lines of the cache, at each step. Stations come and go rarely.
#[derive(Clone, Debug)]
pub(crate) struct Stations<T> {
    links: Vec<u64>,
    values: Vec<T>,
}

/// The place of a station, until one is inserted or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(pub(crate) usize);

impl<T> Default for Stations<T> {
    fn default() -> Self {
        Self { links: Vec::new(), values: Vec::new() }
    }
}

impl<T> Stations<T> {
    pub(crate) const fn len(&self) -> usize {
        self.links.len()
    }

    pub(crate) fn find(&self, link: Mac) -> Option<Place> {
        self.links.binary_search(&number(link)).ok().map(Place)
    }

    pub(crate) fn get(&self, link: Mac) -> Option<&T> {
        self.find(link).map(|place| &self.values[place.0])
    }

    pub(crate) fn get_mut(&mut self, link: Mac) -> Option<&mut T> {
        self.find(link).map(|place| &mut self.values[place.0])
    }

    pub(crate) fn at(&mut self, place: Place) -> &mut T {
        &mut self.values[place.0]
    }

    pub(crate) fn link(&self, place: Place) -> Mac {
        link(self.links[place.0])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Mac, &T)> {
        self.links.iter().map(|&number| link(number)).zip(&self.values)
    }

    /// Inserts a station that is not there yet.
    pub(crate) fn insert(&mut self, link: Mac, value: T) -> Place {
        let at = self.links.partition_point(|before| *before < number(link));
        debug_assert!(self.links.get(at) != Some(&number(link)), "{link} is there already");
        self.links.insert(at, number(link));
        self.values.insert(at, value);
        Place(at)
    }

    pub(crate) fn remove(&mut self, link: Mac) -> Option<(Place, T)> {
        let place = self.find(link)?;
        self.links.remove(place.0);
        Some((place, self.values.remove(place.0)))
    }
}

impl<T: Default> Stations<T> {
    /// The station, which is inserted if it is not there.
    pub(crate) fn or_default(&mut self, link: Mac) -> &mut T {
        let place = self.find(link).unwrap_or_else(|| self.insert(link, T::default()));
        self.at(place)
    }
}

/// Numbers have the order of addresses.
fn number(Mac([a, b, c, d, e, f]): Mac) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

fn link(number: u64) -> Mac {
    let [_, _, link @ ..] = number.to_be_bytes();
    Mac(link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((any::<[u8; 2]>(), any::<bool>()), 0..80)) {
            let (mut ours, mut map) = (Stations::<usize>::default(), BTreeMap::new());
            for ([first, last], is_removed) in steps {
                // Few addresses, so that they meet again; the first and the last byte are used.
                let link = Mac([first % 3, 0, 0, 0, 0, last % 4]);
                if is_removed {
                    let removed = ours.remove(link);
                    prop_assert_eq!(removed.map(|(_, value)| value), map.remove(&link));
                } else {
                    *ours.or_default(link) += 1;
                    *map.entry(link).or_default() += 1;
                }
                prop_assert_eq!(ours.len(), map.len());
                prop_assert_eq!(ours.get(link), map.get(&link));
                prop_assert!(ours.iter().eq(map.iter().map(|(&link, value)| (link, value))));
                for (&link, value) in &mut map {
                    let found = ours.find(link).map(|place| (ours.link(place), *ours.at(place)));
                    prop_assert_eq!(found, Some((link, *value)));
                    prop_assert_eq!(ours.get_mut(link), Some(value));
                }
            }
        }
    }
}
