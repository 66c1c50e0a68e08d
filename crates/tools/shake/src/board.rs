//! The latest figures of a client, for the live table and for metrics, which run on threads of
//! their own.

use crate::report::ShakeOutput;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Notes that the live table shows.
const NOTES: usize = 3;

/// Figures and notes at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) output: ShakeOutput,
    /// The latest notes, the oldest first.
    pub(crate) notes: VecDeque<String>,
}

/// The latest figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board(Arc<Mutex<Shown>>);

impl Board {
    /// The figures now.
    pub(crate) fn shown(&self) -> Shown {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the figures.
    pub(crate) fn show(&self, output: ShakeOutput) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).output = output;
    }

    /// Adds a note.
    pub(crate) fn note(&self, text: &str) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.notes.len() == NOTES {
            shown.notes.pop_front();
        }
        shown.notes.push_back(text.to_owned());
    }
}
