//! Which congestion controls a scenario may name: `fairwave-cc`'s list.

/// Every name, for messages and the schema.
pub(super) fn names() -> Vec<String> {
    fairwave_cc::names()
}

pub(super) fn exists(name: &str) -> bool {
    names().iter().any(|n| n == name)
}
