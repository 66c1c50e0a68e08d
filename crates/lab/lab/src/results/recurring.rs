//! Texts that recur in a column, as names do.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Different texts, each with a value that is made once.
#[derive(Debug)]
pub(super) struct Recurring<V> {
    all: Vec<(Arc<str>, V)>,
    places: BTreeMap<Arc<str>, usize>,
    /// Place of the last text. Names come in the same order in each interval, or several times in
    /// a row, so that the next one is nearly always there or behind it.
    last: usize,
}

impl<V> Recurring<V> {
    /// No texts.
    pub(super) const fn new() -> Self {
        Self { all: Vec::new(), places: BTreeMap::new(), last: 0 }
    }

    /// A text and its value, which `make` makes if the text is new.
    pub(super) fn get(&mut self, text: &str, make: impl FnOnce(&Arc<str>) -> V) -> &(Arc<str>, V) {
        let behind = if self.last + 1 < self.all.len() { self.last + 1 } else { 0 };
        let is_at = |place: &usize| self.all.get(*place).is_some_and(|(known, _)| **known == *text);
        let expected = [behind, self.last].into_iter().find(is_at);
        self.last = expected.unwrap_or_else(|| self.place(text, make));
        &self.all[self.last]
    }

    fn place(&mut self, text: &str, make: impl FnOnce(&Arc<str>) -> V) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let text: Arc<str> = text.into();
        let value = make(&text);
        self.places.insert(text.clone(), self.all.len());
        self.all.push((text, value));
        self.all.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_in_whatever_order_texts_come() {
        let mut texts = Recurring::new();
        let mut made = Vec::new();
        for text in ["a", "b", "c", "a", "b", "c", "c", "a", "d", "b"] {
            let (known, value) = texts.get(text, |text| {
                made.push(text.to_string());
                text.len()
            });
            assert_eq!((&**known, *value), (text, 1));
        }
        assert_eq!(made, ["a", "b", "c", "d"]);
    }
}
