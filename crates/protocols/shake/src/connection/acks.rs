//! Acknowledgements: arrivals, losses, changes of windows.

use super::{Connection, Event};
use crate::path::{Path, echoes};
use crate::{LossDetection, TimeoutRule, scoreboard};
use fairwave_tcp::{Payload, Store};
use fairwave_units::{Duration, Instant};
use fairwave_wire::shake::{Ack, Block, Echo};

/// Echo of an acknowledgement.
#[derive(Clone, Copy, Debug)]
enum Echoed {
    /// Nothing that was sent.
    None,
    /// A copy of the segment that begins at this offset, which was not known to have arrived.
    Copy(u64),
    /// Copies abandoned or known to have arrived, perhaps of a segment that has been repeated.
    Late,
}

impl<P: Payload> Connection<P> {
    pub(super) fn take_ack(&mut self, now: Instant, path: usize, number: u64, ack: &Ack) {
        if ack.cumulative > self.board.next() {
            self.stats.refused.ack_of_unsent += 1;
            return;
        }
        let una = self.board.una();
        self.take_window(path, number, ack);
        let echoed = ack.echo.map_or(Echoed::None, |echo| self.take_echo(now, path, echo));
        self.take_arrivals(now, ack, echoed);
        self.grow();
        let advanced = self.board.una() > una;
        match self.loss_detection() {
            LossDetection::Echoes(_) => self.find_lost(now, path),
            LossDetection::Duplicates(threshold) => {
                self.count_duplicate(now, advanced, ack.echo.is_some(), threshold);
                if !self.counts() {
                    self.forget_overtaken(now, path);
                }
            }
        }
        self.release(una);
        self.unstick();
        self.close_if_done();
    }

    /// A window ends before an earlier one only if both were reported on this path, in the order of
    /// their numbers: acknowledgements overtake each other.
    fn take_window(&mut self, path: usize, number: u64, ack: &Ack) {
        let edge = ack.cumulative + u64::from(ack.window);
        if edge > self.edge {
            self.edge = edge;
            self.persist_backoff = 0;
            self.persist_at = None;
        }
        let shrinks = self.paths[path].reported.take(number, edge);
        self.stats.refused.window_shrunk += u64::from(shrinks);
    }

    /// The message of data echoed came over this path: a sign of life, and a round-trip time.
    fn take_echo(&mut self, now: Instant, index: usize, echo: Echo) -> Echoed {
        let path = &mut self.paths[index];
        let number = echo.number.get();
        if number > path.last_number() {
            self.stats.refused.echo_of_unsent += 1;
            return Echoed::None;
        }
        if self.counts() {
            self.count_ack(now, index, echo);
            self.revive(index);
            return Echoed::Late;
        }
        let path = &mut self.paths[index];
        let echoed = match path.echo(now, number) {
            Some(flight) => {
                path.sample(now, now.since(flight.at));
                self.board.landed(flight.seq);
                Echoed::Copy(flight.seq)
            }
            // It was known to have arrived, or given up: the echoed time is all there is.
            None => {
                note_echoed_time(now, path, echo);
                Echoed::Late
            }
        };
        self.revive(index);
        echoed
    }

    /// Whether paths count segments and acknowledgements ([`TimeoutRule::Counts`]).
    pub(super) fn counts(&self) -> bool {
        let by_fate = matches!(self.loss_detection(), LossDetection::Echoes(_));
        self.config.timeouts == TimeoutRule::Counts && !by_fate
    }

    /// Counts an acknowledgement received on a path for the oldest segment in flight there. One
    /// that arrives after a timeout counts for a segment sent later: counts cannot tell.
    fn count_ack(&mut self, now: Instant, index: usize, echo: Echo) {
        let path = &mut self.paths[index];
        if let Some(flight) = path.count_ack(now, echo.number.get()) {
            self.board.landed(flight.seq);
        }
        note_echoed_time(now, path, echo);
    }

    /// An answer came over a path: if it was dead, it carries data again.
    pub(super) fn revive(&mut self, index: usize) {
        let path = &mut self.paths[index];
        if path.life.is_dead() {
            path.revive();
            let id = path.id();
            self.report(Event::PathUp { path: id });
        }
    }

    /// Detects losses path by path where every segment comes more than once, since then
    /// acknowledgements that do not advance mean nothing.
    fn loss_detection(&self) -> LossDetection {
        match self.config.loss_detection {
            LossDetection::Duplicates(threshold) if self.rules.scheduler.is_redundant() => {
                LossDetection::Echoes(threshold)
            }
            as_set => as_set,
        }
    }

    /// Marks arrived segments. A segment's path is credited for it where it was sent once, or where
    /// one copy alone is left that may have arrived; that one gives no time (Karn). Otherwise
    /// copies keep their place in the windows until they are echoed or lost: a path that is full of
    /// copies is full. Where all paths carry the same, only their own echoes show arrivals on them.
    fn take_arrivals(&mut self, now: Instant, ack: &Ack, echoed: Echoed) {
        let next = self.board.next();
        let range = |block: &Block| {
            let start = ack.cumulative + u64::from(block.offset.get());
            (start, start + u64::from(block.len.get()))
        };
        let unsent = ack.blocks.iter().filter(|block| range(block).1 > next).count();
        self.stats.refused.block_of_unsent += unsent as u64;
        let credits = !self.rules.scheduler.is_redundant() && !self.counts();
        let paths = &mut self.paths;
        let mut arrived = |segment: &scoreboard::Sent| {
            let is_open = match echoed {
                Echoed::None => true,
                Echoed::Copy(seq) => seq != segment.seq,
                Echoed::Late => false,
            };
            if credits && (!segment.repeated || (is_open && segment.in_flight == 1)) {
                paths[segment.path].acknowledge(now, segment.number, !segment.repeated);
            }
        };
        self.board.acknowledge(ack.cumulative, &mut arrived);
        let blocks = ack.blocks.iter().map(range).filter(|range| range.1 <= next);
        if self.config.sack_blocks > 0 {
            self.board.sack_blocks(blocks, arrived);
        }
    }

    /// Where no loss is looked for path by path: copies that a later message of their path has
    /// overtaken are not in flight any more once another has arrived.
    fn forget_overtaken(&mut self, now: Instant, index: usize) {
        let is_missing = |board: &scoreboard::Scoreboard, seq| {
            board.find(seq).is_some_and(|s| !board.get(s).delivered)
        };
        while let Some(flight) = self.paths[index].overtaken()
            && !is_missing(&self.board, flight.seq)
        {
            self.paths[index].lose(now, flight.number, &mut self.lost);
            self.board.landed(flight.seq);
        }
        self.lost.clear();
    }

    /// Grows the windows of the paths with new acknowledgements.
    fn grow(&mut self) {
        if !self.paths.iter().any(Path::take_changed) {
            return;
        }
        self.look_at_windows();
        let mut index = 0;
        let algorithm = self.rules.growth.as_ref();
        for path in &mut self.paths {
            if path.life.is_up() {
                path.grow(algorithm, index, &self.windows, self.config.validate_window);
                index += 1;
            }
            path.discard_acked();
        }
    }

    /// Looks for losses on one path.
    pub(super) fn find_lost(&mut self, now: Instant, index: usize) {
        let Some(threshold) = echoes(self.loss_detection()) else { return };
        debug_assert!(self.lost.is_empty(), "losses not yet acted on");
        let flight = self.paths[index].flight();
        self.paths[index].find_lost(now, threshold, &mut self.lost);
        self.answer_losses(index, flight);
    }

    /// Handles the losses in `self.lost` on the path, which had `flight` bytes before: its window
    /// is lowered unless all of them have arrived otherwise. A copy delivered by another path, as
    /// by a redundant scheduler, does not make the path less full.
    fn answer_losses(&mut self, index: usize, flight: u32) {
        let mut newest = None;
        let is_redundant = self.rules.scheduler.is_redundant();
        let retransmits =
            is_redundant && self.config.standby && self.best_path(None) == Some(index);
        while let Some(lost) = self.lost.pop() {
            self.board.landed(lost.seq);
            if is_redundant {
                newest = newest.max(Some(lost.number));
            }
            let Some(segment) = self.board.find(lost.seq) else { continue };
            if self.board.get(segment).delivered {
                continue;
            }
            self.stats.losses_found += 1;
            newest = newest.max(Some(lost.number));
            // Copies on slower paths would come later than a new one. Where the latest transmission
            // is lost, an earlier one is too late if this was reinjected for that reason; other
            // copies in flight only measure paths on standby.
            let sent = self.board.get(segment);
            let is_latest = sent.path == index && sent.number == lost.number;
            let others_are_late = is_latest && (sent.reinjected || !is_redundant);
            if sent.in_flight == 0 || retransmits || others_are_late {
                self.board.lose(segment);
            }
        }
        if let Some(newest) = newest {
            self.lower_window(index, newest, flight);
        }
    }

    /// Lowers the window of a path that had `flight` bytes in flight, for the loss of the message
    /// `number`.
    fn lower_window(&mut self, index: usize, number: u64, flight: u32) {
        // A window that is validated was used, even if the receive window keeps it from being full
        // now: Linux halves it too, where RFC 5681 halves the flight.
        let cwnd = self.paths[index].cwnd();
        let used = if self.config.validate_window { flight.max(cwnd) } else { flight };
        let target = self.after_loss(index, used);
        self.paths[index].cut(number, target);
    }

    /// Returns the windows that coupled algorithms weigh: a dead path shares nothing with those
    /// that carry data.
    fn look_at_windows(&mut self) {
        let up = self.paths.iter().filter(|path| path.life.is_up());
        self.windows.clear();
        self.windows.extend(up.map(Path::window));
    }

    fn after_loss(&mut self, index: usize, flight: u32) -> u32 {
        if !self.paths[index].life.is_up() {
            return flight / 2;
        }
        self.look_at_windows();
        let before = self.paths[..index].iter().filter(|path| path.life.is_up()).count();
        self.rules.growth.after_loss(before, flight, &self.windows)
    }

    /// Fast retransmit (RFC 5681 section 3.2), over all paths together: the path of the first
    /// missing segment is taken to have lost it.
    fn count_duplicate(&mut self, now: Instant, advanced: bool, is_echo: bool, threshold: u32) {
        if advanced || self.board.is_empty() {
            self.duplicates = 0;
            return;
        }
        self.duplicates += u32::from(is_echo);
        if self.duplicates != threshold {
            return;
        }
        let Some(missing) = self.board.first_missing() else { return };
        let segment = *self.board.get(missing);
        let flight = self.paths[segment.path].flight();
        if !self.counts() {
            self.paths[segment.path].lose(now, segment.number, &mut self.lost);
            self.answer_losses(segment.path, flight);
        } else if !segment.lost {
            self.stats.losses_found += 1;
            self.lower_window(segment.path, segment.number, flight);
        }
        self.board.lose(missing);
    }

    /// Forgets the bytes below the first unacknowledged segment, which was `una` before.
    fn release(&mut self, una: u64) {
        let end = |una: u64| una.min(self.written);
        let freed = end(self.board.una()) - end(una);
        self.store.discard(freed);
        debug_assert_eq!(
            self.store.len(),
            self.written - end(self.board.una()),
            "bytes kept from the first unacknowledged one on"
        );
        if freed > 0 && self.writable_wanted && self.send_space() > 0 {
            self.writable_wanted = false;
            self.report(Event::Writable);
        }
    }

    /// Returns whether data is in flight whose fate will be known: on a path in doubt that counts
    /// only if all are, as it may be the same copy for ever.
    pub(super) fn in_flight(&self) -> bool {
        let doubts = self.config.suspects_get_copies;
        let any_sound = self.paths.iter().any(|path| path.is_sound(doubts));
        let counts = |path: &Path| !any_sound || path.is_sound(doubts);
        self.paths.iter().any(|path| path.flight() > 0 && counts(path))
    }

    /// If nothing is in flight and nothing is known as lost, the missing data was refused.
    pub(super) fn unstick(&mut self) {
        if !self.in_flight() && !self.board.is_empty() && self.board.lost() == 0 {
            self.board.lose_all();
        }
    }
}

/// Takes the time that an acknowledgement echoes as a round-trip time of its path.
fn note_echoed_time(now: Instant, path: &mut Path, echo: Echo) {
    let now_us = now.as_nanos() / 1000;
    let age = (now_us as u32).wrapping_sub(echo.sent_us);
    if u64::from(age) <= now_us && path.life.is_joined() {
        path.note_late_echo(now, Duration::from_micros(age.into()));
    }
}
