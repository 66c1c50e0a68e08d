//! The priorities of a session's paths, which its opener chooses, and the counts of its paths.

use super::carrier::Carrier;
use super::path::{Path, PathStats};
use super::session::{Session, Waiting};
use fairwave_units::Instant;
use fairwave_wire::shake::Side;
use fairwave_wire::shake::record::Priority;

impl Session {
    /// A path has this priority. The opener's next questions report it to
    /// the peer.
    pub(super) fn prioritize(&mut self, now: Instant, id: u8, priority: Priority) {
        let Some(path) = self.path(id).filter(|path| path.priority != priority) else { return };
        path.priority = priority;
        self.each(|stream| stream.carrier.prioritize(now, id, priority));
        if self.side == Side::Opener {
            self.waiting.push_back(Waiting::Ping(id, None));
        }
    }

    /// Passes the priorities that are not regular to a new stream.
    pub(super) fn pass_priorities(&mut self, now: Instant, slot: usize) {
        for (id, path) in self.paths.iter().enumerate() {
            if path.priority != Priority::Regular {
                self.streams[slot].carrier.prioritize(now, id as u8, path.priority);
            }
        }
    }

    /// Counts of the paths.
    pub(super) fn stats(&self, now: Instant) -> Vec<PathStats> {
        let known = |(_, path): &(usize, &Path)| path.route.is_some();
        let paths = self.paths.iter().enumerate().filter(known);
        let stats = |(id, path): (usize, &Path)| {
            let stats = path.stats(id as u8);
            let works = self.side == Side::Acceptor || path.answers(now);
            PathStats { is_up: stats.is_up && works, ..stats }
        };
        let mut all: Vec<_> = paths.map(stats).collect();
        for (_, stream) in &self.streams {
            for (id, bytes) in stream.carrier.in_flight() {
                if let Some(stats) = all.iter_mut().find(|stats| stats.path == id) {
                    stats.in_flight += u64::from(bytes);
                }
            }
        }
        all
    }

    /// Bytes of all streams that were written and never sent.
    pub(super) fn unsent(&self) -> u64 {
        let streams = self.streams.iter().map(|(_, stream)| &stream.carrier);
        streams.filter(|carrier| !carrier.is_over()).map(Carrier::unsent).sum()
    }
}
