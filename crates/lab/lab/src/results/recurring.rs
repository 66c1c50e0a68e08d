//! Texts that recur in a column, as names do.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Different texts, each with a value that is made once.
#[derive(Debug)]
pub(super) struct Recurring<V> {
    all: Vec<Known<V>>,
    places: BTreeMap<Arc<str>, usize>,
    /// Place of the last text.
    last: usize,
}

#[derive(Debug)]
struct Known<V> {
    text: Arc<str>,
    value: V,
    /// Place of the other text that followed it the last time.
    follower: usize,
}

impl<V> Recurring<V> {
    /// No texts.
    pub(super) const fn new() -> Self {
        Self { all: Vec::new(), places: BTreeMap::new(), last: 0 }
    }

    /// The value of a text; `make` makes it, and a text to keep, if the text is new.
    pub(super) fn get(&mut self, text: &str, make: impl FnOnce() -> (Arc<str>, V)) -> &V {
        // Names come in the same order in each interval, or several times in a row.
        let expected = self.all.get(self.last).map(|last| [last.follower, self.last]);
        let is_at = |place: &usize| is_same(&self.all[*place].text, text);
        let found = expected.and_then(|places| places.into_iter().find(is_at));
        let place = found.unwrap_or_else(|| self.place(text, make));
        if place != self.last {
            self.all[self.last].follower = place;
            self.last = place;
        }
        &self.all[place].value
    }

    fn place(&mut self, text: &str, make: impl FnOnce() -> (Arc<str>, V)) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let (text, value) = make();
        self.places.insert(text.clone(), self.all.len());
        self.all.push(Known { text, value, follower: 0 });
        self.all.len() - 1
    }
}

/// Whether texts are equal. Equal ones mostly share their memory.
fn is_same(a: &str, b: &str) -> bool {
    core::ptr::eq(a, b) || a == b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_in_whatever_order_texts_come() {
        let mut texts = Recurring::new();
        let mut made = Vec::new();
        for text in ["a", "b", "c", "a", "b", "c", "c", "a", "d", "b"] {
            let value = texts.get(text, || {
                made.push(text);
                (text.into(), text.to_owned())
            });
            assert_eq!(value, text);
        }
        assert_eq!(made, ["a", "b", "c", "d"]);
    }
}
