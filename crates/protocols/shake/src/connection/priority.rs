//! Paths that the host would rather not use: metered links, and links that are likely to fail.

use super::Connection;
use crate::Priority;
use crate::path::State;
use crate::scheduler::passing;
use fairwave_tcp::Payload;

impl<P: Payload> Connection<P> {
    /// The host changes the priority of a path, which may join later.
    pub(super) fn prioritize(&mut self, id: u8, priority: Priority) {
        self.priorities.retain(|(known, _)| *known != id);
        if priority != Priority::Regular && self.priorities.len() < self.config.max_paths {
            self.priorities.push((id, priority));
        }
    }

    fn priority(&self, path: usize) -> Priority {
        let id = self.paths[path].id();
        let found = self.priorities.iter().find(|(known, _)| *known == id);
        found.map_or(Priority::Regular, |(_, priority)| *priority)
    }

    /// Whether a path is a metered link without leave to carry data: not even copies measure it.
    pub(super) fn is_spared(&self, path: usize) -> bool {
        self.paths[path].is_held && self.priority(path) == Priority::Backup
    }

    /// Chooses the paths that their priority keeps from carrying new data, among those that work.
    pub(super) fn hold_back(&mut self) {
        for path in &mut self.paths {
            path.is_held = false;
        }
        if self.priorities.is_empty() {
            self.is_backlogged = false;
            return;
        }
        let any =
            |wanted: Priority| self.view_paths.iter().any(|path| self.priority(*path) == wanted);
        let is_coming = (0..self.paths.len()).any(|path| self.is_coming(path));
        let has_regular = any(Priority::Regular) || is_coming;
        let has_other = has_regular || any(Priority::Backup);
        self.is_backlogged = has_regular && !is_coming && self.needs_backups();
        for place in 0..self.view_paths.len() {
            let path = self.view_paths[place];
            self.paths[path].is_held = match self.priority(path) {
                Priority::Regular => false,
                Priority::Backup => has_regular && !self.is_backlogged,
                Priority::Standby => has_other,
            };
        }
    }

    /// Whether a regular path is being joined, and is expected to answer at once.
    fn is_coming(&self, path: usize) -> bool {
        let state = self.paths[path].life.state();
        let is_joining =
            matches!(state, State::Joining { tries: 0, .. } | State::Challenged { tries: 0, .. });
        is_joining && self.priority(path) == Priority::Regular
    }

    /// Whether the regular paths need too long for the bytes that wait. It lasts until half as many
    /// wait. As long as one of the paths is in slow start, their rate is not known.
    fn needs_backups(&self) -> bool {
        let mut rate = 0u64;
        for (view, path) in self.views.iter().zip(&self.view_paths) {
            if self.priority(*path) == Priority::Regular {
                if view.in_slow_start {
                    return false;
                }
                // Window over round-trip time is too low as long as a queue shrinks.
                rate += self.paths[*path].rate().max(view.rate());
            }
        }
        let bound = passing(rate, self.config.backup_after);
        self.job(0).waiting > if self.is_backlogged { bound / 2 } else { bound }
    }
}
