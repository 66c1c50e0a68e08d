//! Which congestion controls a scenario may name: `fairwave-cc`'s list.

/// Every name, for messages and the schema.
pub(super) fn names() -> Vec<String> {
    fairwave_cc::names()
}

pub(super) fn exists(name: &str) -> bool {
    names().iter().any(|n| n == name)
}

/// Whether a law, with or without a wrapper, has a target.
pub(super) fn aims(name: &str) -> bool {
    name.rsplit('+').next() == Some("tcp-av")
}
