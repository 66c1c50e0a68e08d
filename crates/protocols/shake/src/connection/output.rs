//! Output: messages about the connection, then data.

use super::{Connection, Control, Segment};
use crate::path::State;
use crate::scoreboard::Sent;
use crate::{Job, PathView};
use fairwave_tcp::{Payload, Store};
use fairwave_units::Instant;
use fairwave_wire::shake::{Body, Data, Header, Join, Leave, Side};

/// Lost segments that are looked at for one that may go: each may have a path of its own.
const MAX_LOST_TRIED: usize = 64;
/// Segments from the first missing one on that may be sent a second time on another path.
const MAX_REINJECTED: usize = 64;
/// Lost messages among them not seen before, which are examined: messages sent later are later,
/// too.
const MAX_HELD_BACK: usize = 16;

impl<P: Payload> Connection<P> {
    fn header(&mut self, now: Instant, path: usize, body: Body) -> Header {
        let path = &mut self.paths[path];
        Header {
            connection: self.id,
            from: self.side,
            path: path.id(),
            number: path.take_number(),
            sent_us: (now.as_nanos() / 1000) as u32,
            body,
        }
    }

    fn message(&mut self, now: Instant, path: usize, body: Body) -> Option<Segment<P>> {
        Some(Segment { header: self.header(now, path, body), payload: P::default() })
    }

    /// Returns the next message about the connection, unless it has become pointless.
    pub(super) fn control_segment(&mut self, now: Instant, control: Control) -> Option<Segment<P>> {
        match control {
            Control::Join(path) => {
                let State::Joining { nonce, .. } = self.paths[path].life.state() else {
                    return None;
                };
                let (open, window) = (self.is_opening(), self.receiver.window());
                self.message(now, path, Body::Join(Join { open, nonce, window }))
            }
            Control::Challenge(path) => {
                let challenge = self.challenge(path)?;
                self.message(now, path, Body::Challenge(challenge))
            }
            Control::Response { path, answers } => {
                self.message(now, path, Body::Response { answers })
            }
            Control::Ack { path, echo } => {
                let ack = self.receiver.acknowledge(echo, self.config.sack_blocks);
                self.message(now, path, Body::Ack(ack))
            }
            Control::WindowUpdate => {
                self.update_due = false;
                self.choose_paths_for_window();
                None
            }
            Control::Leave(left) => {
                let path = &self.paths[left];
                let leave = Leave { path: path.id(), last: path.life.left_at() };
                let over =
                    path.life.is_left().then(|| self.best_path(Some(left)).unwrap_or(left))?;
                self.message(now, over, Body::Leave(leave))
            }
            Control::Left { path, leave } => self.message(now, path, Body::Left(leave)),
            Control::Reset { path, reason } => self.message(now, path, Body::Reset { reason }),
            Control::Probe(path) => self.probe(now, path),
            Control::Check(path) => self.check(now, path),
            Control::Persist => self.persist(now),
        }
    }

    /// The path of the most recent data reports the window, if it works. After a shut window all
    /// do: the peer is silent until it gets the report, and one that only receives does not see a
    /// path die.
    fn choose_paths_for_window(&mut self) {
        let works = |path: &usize| self.paths.get(*path).is_some_and(|path| path.life.is_joined());
        let last = Some(self.last_arrival).filter(works).or_else(|| self.best_path(None));
        let was_shut = self.receiver.reported_window() < u64::from(self.config.mss);
        for (index, path) in self.paths.iter().enumerate() {
            if Some(index) == last || (was_shut && path.life.is_up()) {
                self.control.push_back(Control::Ack { path: index, echo: None });
            }
        }
    }

    /// The next segment of data that a path may carry.
    pub(super) fn dispatch(&mut self, now: Instant) -> Option<Segment<P>> {
        self.paths.iter_mut().for_each(|path| path.await_turn(now, false));
        let segment = self.next_segment(now);
        if segment.is_none() {
            self.paths.iter_mut().for_each(|path| path.pause(now));
        }
        segment
    }

    fn next_segment(&mut self, now: Instant) -> Option<Segment<P>> {
        (self.pace_at, self.overdue_at) = (None, None);
        let len = self.next_len();
        let has_lost = self.board.lost() > 0;
        let is_redundant = self.rules.scheduler.is_redundant();
        let repeats = self.config.opportunistic || is_redundant;
        let may_repeat = repeats && !self.board.is_empty() && !has_lost;
        if !has_lost && len.is_none() && !may_repeat {
            return None;
        }
        self.look_at_paths(now);
        self.pace_at = self.next_ready(now);
        if !self.views.iter().any(|view| view.takes(1)) {
            return None;
        }
        if let Some((segment, path)) = self.pick_lost() {
            self.stats.retransmissions += 1;
            return Some(self.resend(now, segment, path));
        }
        if is_redundant {
            return self.send_everywhere(now, len);
        }
        if let Some((payload, fin)) = len {
            if let Some((held, path)) = self.pick_hastened(now, payload) {
                return Some(self.reinject(now, held, path));
            }
            let (job, views) = (self.job(payload), &self.views[..self.in_use]);
            if let Some(view) = self.rules.scheduler.pick(&job, views) {
                debug_assert!(self.views[view].takes(payload), "{:?}", self.rules.scheduler);
                self.rouse_suspects();
                return Some(self.send_new(now, payload, fin, self.view_paths[view]));
            }
        } else if may_repeat && let Some((held, path)) = self.pick_held_back(now) {
            return Some(self.reinject(now, held, path));
        }
        self.try_standby(now)
    }

    /// A copy of a segment that another path holds back.
    fn reinject(&mut self, now: Instant, segment: usize, path: usize) -> Segment<P> {
        self.stats.reinjections += 1;
        self.board.get_mut(segment).reinjected = true;
        self.resend(now, segment, path)
    }

    /// Returns the next segment of the path that the scheduler picks among those that have one:
    /// data that it has not carried and that is not known to have arrived, else new data, if `new`
    /// gives its length.
    fn send_everywhere(&mut self, now: Instant, new: Option<(u32, bool)>) -> Option<Segment<P>> {
        let new_len = new.map(|(payload, fin)| payload + u32::from(fin));
        let (mut kept, mut minimum) = (0, u32::MAX);
        for place in 0..self.views.len() {
            let (view, path) = (self.views[place], self.view_paths[place]);
            let next = self.board.next_missing(&mut self.paths[path].carried);
            let Some(len) = next.map(|next| self.board.get(next).len).or(new_len) else { continue };
            if view.takes(len) {
                (self.views[kept], self.view_paths[kept]) = (view, path);
                (kept, minimum) = (kept + 1, minimum.min(len));
            }
        }
        self.views.truncate(kept);
        let picked = self.rules.scheduler.pick(&self.job(minimum), &self.views)?;
        let path = self.view_paths[picked];
        debug_assert!(self.views[picked].takes(minimum), "{:?}", self.rules.scheduler);
        self.rouse_suspects();
        if let Some(next) = self.board.next_missing(&mut self.paths[path].carried) {
            self.stats.copies += 1;
            let segment = *self.board.get(next);
            self.paths[path].carried = segment.end();
            // The fastest path retransmits what is lost, when its window permits: a copy on a
            // slower one may come much later.
            let is_slower = self.config.standby && self.best_path(None) != Some(path);
            if segment.lost && is_slower {
                self.board.copied(next);
                return Some(self.copy(now, next, path));
            }
            return Some(self.resend(now, next, path));
        }
        let segment = new.map(|(payload, fin)| self.send_new(now, payload, fin, path));
        self.paths[path].carried = self.board.next();
        segment
    }

    /// Bytes of the next new segment, and whether the stream ends behind it; `None` if there is
    /// nothing or the window is shut.
    fn next_len(&self) -> Option<(u32, bool)> {
        let next = self.board.next();
        let waiting = self.written.saturating_sub(next);
        if self.fin_sent || (waiting == 0 && !self.finishing) {
            return None;
        }
        let window = self.edge.saturating_sub(next);
        let wanted = waiting.min(u64::from(self.config.mss));
        let len = wanted.min(window);
        // Silly window avoidance (RFC 9293 section 3.8.6.2.1).
        let is_silly = len < wanted && !self.board.is_empty();
        let fin = self.finishing && len == waiting;
        ((len > 0 || fin) && !is_silly).then_some((len as u32, fin))
    }

    pub(super) fn job(&self, len: u32) -> Job {
        let next = self.board.next();
        Job {
            len,
            waiting: self.written - next.min(self.written),
            window: self.edge - self.board.una().min(self.edge),
        }
    }

    /// Computes which paths may carry data: those that work, and of them those in doubt only if all
    /// are.
    fn look_at_paths(&mut self, now: Instant) {
        self.views.clear();
        self.view_paths.clear();
        let doubts = self.config.suspects_get_copies;
        let any_sound = self.paths.iter().any(|path| path.is_sound(doubts));
        for (index, path) in self.paths.iter().enumerate() {
            if path.is_sound(doubts && any_sound) {
                self.views.push(path.view(now));
                self.view_paths.push(index);
            }
        }
        self.set_standby(now);
    }

    /// Returns the time at which pacing, and nothing else, lets a path send.
    fn next_ready(&mut self, now: Instant) -> Option<Instant> {
        let mut first = None;
        for (view, path) in self.views.iter().zip(&self.view_paths) {
            if !view.is_ready && view.has_room(1) {
                let path = &mut self.paths[*path];
                path.await_turn(now, true);
                first = first.into_iter().chain([path.ready_at()]).min();
            }
        }
        first
    }

    /// The first lost segment that some path may carry, and that path.
    fn pick_lost(&mut self) -> Option<(usize, usize)> {
        let policy = self.config.retransmission;
        // Each other path of a redundant scheduler carries the segment in its turn anyway. The
        // first lost ones wait for the fastest: a slow one would keep the receive window shut.
        let spills = self.config.retransmission_spills && !self.rules.scheduler.is_redundant();
        let (views, paths) = (&self.views[..self.in_use], &self.paths);
        let tried = self.board.lost_segments().take(MAX_LOST_TRIED);
        let mut fitting = tried.filter(|(_, lost)| self.fits_window(lost));
        let first = fitting.find_map(|(index, lost)| {
            let view = policy.pick(lost.len, paths[lost.path].id(), spills, views)?;
            Some((index, self.view_paths[view]))
        });
        first.or_else(|| self.pick_later_lost())
    }

    /// Whether a segment ends within the receive window.
    fn fits_window(&self, segment: &Sent) -> bool {
        segment.seq + u64::from(segment.payload()) <= self.edge
    }

    /// A lost segment of a redundant scheduler that a slower path with room delivers before the
    /// fastest one has sent all that was lost before it, and that path.
    fn pick_later_lost(&self) -> Option<(usize, usize)> {
        if !self.config.retransmission_spills || !self.rules.scheduler.is_redundant() {
            return None;
        }
        let fastest = self.views.iter().min_by_key(|view| view.expected_time())?;
        let mut with_room =
            self.views.iter().zip(&self.view_paths).filter(|(view, _)| view.takes(1));
        with_room.find_map(|(view, path)| {
            let later = view.expected_time() - fastest.expected_time();
            let bytes = u128::from(fastest.rate()) * u128::from(later) / 1_000_000_000;
            let ahead = usize::try_from(bytes / u128::from(self.config.mss)).ok()?;
            let (index, lost) = self.board.lost_segments().nth(ahead)?;
            (view.takes(lost.len) && self.fits_window(lost)).then_some((index, *path))
        })
    }

    /// A segment that a path with room would deliver before the one that carries it, and that path.
    /// If there is none yet, there may be one when a segment is overdue.
    fn pick_held_back(&mut self, now: Instant) -> Option<(usize, usize)> {
        let with_room = || {
            self.views[..self.in_use].iter().zip(&self.view_paths).filter(|(view, _)| view.takes(1))
        };
        let best = with_room().min_by_key(|(view, _)| view.srtt)?;
        let second = with_room().filter(|(_, path)| *path != best.1);
        let second = second.min_by_key(|(view, _)| view.srtt);
        let held = self.board.missing_segments().take(MAX_REINJECTED);
        let held = held.filter(|(_, segment)| !segment.reinjected);
        for (index, segment) in held.take(MAX_HELD_BACK) {
            let other = if segment.path == *best.1 { second } else { Some(best) };
            let Some((view, path)) = other.filter(|(view, _)| view.takes(segment.len)) else {
                continue;
            };
            let overdue_at = segment.at + self.paths[segment.path].rtt.loss_delay();
            if overdue_at <= now || self.is_earlier(now, view, segment) {
                return Some((index, *path));
            }
            self.overdue_at = self.overdue_at.into_iter().chain([overdue_at]).min();
        }
        None
    }

    /// Returns whether a copy sent now on `view` is likely acknowledged before the one in flight.
    fn is_earlier(&self, now: Instant, view: &PathView, segment: &Sent) -> bool {
        let carrier = &self.paths[segment.path];
        let doubtful = !carrier.life.is_joined() || carrier.is_suspect();
        doubtful || segment.at + carrier.window().srtt > now + view.srtt
    }

    /// Suspect paths without data in flight get a copy of data that goes elsewhere.
    fn rouse_suspects(&mut self) {
        if self.views.len() == self.paths.len() {
            return;
        }
        for (index, path) in self.paths.iter().enumerate() {
            if path.life.is_joined() && path.is_suspect() && path.flight() == 0 {
                self.control.push_back(Control::Probe(index));
            }
        }
    }

    fn send_new(&mut self, now: Instant, payload: u32, fin: bool, path: usize) -> Segment<P> {
        let seq = self.board.next();
        let segment = Sent {
            seq,
            len: payload + u32::from(fin),
            fin,
            delivered: false,
            lost: false,
            reinjected: false,
            repeated: false,
            in_flight: 0,
            path,
            number: 0,
            at: now,
        };
        self.fin_sent |= fin;
        let index = self.board.push(segment);
        self.resend(now, index, path)
    }

    /// A copy of a segment leaves, the latest one from now on.
    fn resend(&mut self, now: Instant, index: usize, path: usize) -> Segment<P> {
        let copy = self.copy(now, index, path);
        self.board.note_resent(index, path, copy.header.number.get(), now);
        copy
    }

    /// A copy of a segment leaves on `path`.
    pub(super) fn copy(&mut self, now: Instant, index: usize, path: usize) -> Segment<P> {
        let segment = *self.board.get(index);
        let data = Data { seq: segment.seq, fin: segment.fin };
        let header = self.header(now, path, Body::Data(data));
        self.paths[path].launch(now, segment.seq, segment.len);
        if self.config.pacing {
            self.paths[path].pace(now, segment.len);
        }
        self.stats.segments += 1;
        let from = segment.seq - self.board.una();
        Segment { header, payload: self.payload(from, segment.payload()) }
    }

    fn payload(&self, from: u64, len: u32) -> P {
        if len == 0 { P::default() } else { self.store.copy(from, len) }
    }

    /// A copy of the first missing segment, on a path in doubt. The copy that is under way
    /// elsewhere stays the one that counts.
    fn probe(&mut self, now: Instant, path: usize) -> Option<Segment<P>> {
        let wanted = self.paths[path].life.is_joined() && self.paths[path].flight() == 0;
        let missing = self.board.first_missing().filter(|_| wanted && !self.is_over())?;
        self.stats.probes += 1;
        self.board.copied(missing);
        Some(self.copy(now, missing, path))
    }

    /// Returns a message that makes the peer answer on a path: a copy that it lacks, or the join or
    /// challenge over again, with the nonces that both know.
    fn check(&mut self, now: Instant, index: usize) -> Option<Segment<P>> {
        if !self.is_to_be_checked(&self.paths[index]) {
            return None;
        }
        if let Some(copy) = self.probe(now, index) {
            return Some(copy);
        }
        let body = match self.side {
            Side::Opener => {
                let (open, window) = (self.is_opening(), self.receiver.window());
                Body::Join(Join { open, nonce: self.paths[index].life.joined()?, window })
            }
            Side::Acceptor => Body::Challenge(self.challenge(index)?),
        };
        self.message(now, index, body)
    }

    /// A byte beyond a window that has been shut for long: its acknowledgement reports the window.
    fn persist(&mut self, now: Instant) -> Option<Segment<P>> {
        let path = self.best_path(None).filter(|_| !self.is_over())?;
        self.stats.probes += 1;
        let lost = self.board.lost_segments().next().map(|(index, _)| index);
        if let Some(lost) = lost {
            return Some(self.resend(now, lost, path));
        }
        let waits = self.written > self.board.next();
        waits.then(|| {
            self.send_new(now, 1, self.finishing && self.written == self.board.next() + 1, path)
        })
    }
}
