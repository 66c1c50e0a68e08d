//! The cost of a case.

use super::place;
use crate::callgrind::{Events, Profile};
use std::collections::BTreeMap;

/// Functions by which a program asks for memory or returns it.
const HEAP: [&str; 4] = ["malloc", "calloc", "realloc", "free"];

/// The cost of a case between its two durations.
pub(super) struct Cost {
    pub(super) name: String,
    pub(super) profile: Profile,
    pub(super) frames: u64,
}

impl Cost {
    pub(super) fn per_frame(&self, count: u64) -> f64 {
        count as f64 / self.frames as f64
    }

    /// Events of the whole program.
    pub(super) fn sum(&self) -> Events {
        let mut sum = Events::default();
        self.profile.files().into_values().for_each(|events| sum += events);
        sum
    }

    /// Events of each part of the program.
    pub(super) fn parts(&self) -> BTreeMap<String, Events> {
        let mut parts: BTreeMap<String, Events> = BTreeMap::new();
        for (file, events) in self.profile.files() {
            *parts.entry(place::part(file)).or_default() += events;
        }
        parts
    }

    /// Calls that ask for memory, enlarge or return it.
    pub(super) fn heap_calls(&self) -> u64 {
        self.profile.calls_of(&HEAP)
    }
}
