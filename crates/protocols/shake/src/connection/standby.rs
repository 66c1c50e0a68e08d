//! Paths that would cost the others more than they bring: they carry copies alone.

use super::{Connection, Segment};
use crate::PathView;
use crate::path::Path;
use crate::scheduler::{Crowd, passing};
use fairwave_tcp::Payload;
use fairwave_units::{Duration, Instant};

/// Missing segments that are examined for one that would close the receive window.
const MAX_HASTENED: usize = 16;
/// The largest share of the receive window; a path that shares nothing has no limit.
const MAX_QUOTA: u32 = u32::MAX - 1;
/// Interval of the copies that measure a path on standby.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

impl<P: Payload> Connection<P> {
    /// Moves the paths on standby behind the others, which stay in their order.
    pub(super) fn set_standby(&mut self, now: Instant) {
        self.in_use = self.views.len();
        if !self.config.standby || self.rules.scheduler.is_redundant() {
            return;
        }
        if !self.is_judged {
            self.is_judged = true;
            self.judge(now);
        }
        let mut kept = 0;
        for place in 0..self.views.len() {
            let path = &self.paths[self.view_paths[place]];
            if !path.is_standby {
                self.views[place].quota = path.quota;
                self.views[kept..=place].rotate_right(1);
                self.view_paths[kept..=place].rotate_right(1);
                kept += 1;
            }
        }
        self.in_use = kept;
    }

    /// Chooses the paths on standby. The receive window has no share for them, their losses would
    /// close it for others for longer than they bring, or their priority holds them back.
    fn judge(&mut self, now: Instant) {
        self.hold_back();
        for path in &mut self.paths {
            path.is_lossy = false;
        }
        self.share_window(now);
        if self.views.iter().all(|view| view.loss_events == 0) {
            return;
        }
        let job = self.job(self.config.mss);
        let crowd = Crowd::of(&self.views, job.window);
        let mut any_lossy = false;
        for (view, path) in self.views.iter().zip(&self.view_paths) {
            let path = &mut self.paths[*path];
            path.is_lossy = !path.is_standby && crowd.suffers_from(view, &job);
            any_lossy |= path.is_lossy;
        }
        if any_lossy {
            self.share_window(now);
        }
    }

    /// Shares the receive window among the paths, the one with the least round-trip time first. A
    /// path's share is the part of the window that faster paths do not fill before its data
    /// arrives (minimum round-trip time and mean deviation). A path without a segment's share is
    /// on standby, as the others would wait for it. The queue of each path is limited, so that its
    /// data is acknowledged before all paths together have filled the window. A path without a
    /// sample is measured by copies.
    fn share_window(&mut self, now: Instant) {
        let window = self.edge.saturating_sub(self.board.una());
        self.find_needless(window);
        let (mut total, mut last) = (0u64, None);
        for rank in 0..self.views.len() {
            let key = |place: &usize| self.rank(*place);
            let rest =
                (0..self.views.len()).filter(|place| last.is_none_or(|last| key(place) > last));
            let Some(place) = rest.min_by_key(key) else { return };
            last = Some(key(&place));
            let (view, path) = (&mut self.views[place], &mut self.paths[self.view_paths[place]]);
            let left = window.saturating_sub(passing(total, view.min_rtt + view.rttvar));
            let is_first = rank == 0;
            let has_share = is_first || (!is_untested(path) && left >= u64::from(self.config.mss));
            let is_needless = path.is_needless && !is_first;
            path.is_standby = path.is_held || path.is_lossy || is_needless || !has_share;
            view.quota = if is_first { MAX_QUOTA } else { bounded(left.into()) };
            if !path.is_standby {
                total += rate_within(view, path, window);
            }
        }
        for (view, path) in self.views.iter_mut().zip(&self.view_paths) {
            let path = &mut self.paths[*path];
            if !path.is_standby && path.rate() > 0 {
                let others = total.saturating_sub(rate_within(view, path, window));
                let limit =
                    queue_limit(path.rate(), others, window).max(path.busy_with(now).into());
                view.quota = view.quota.min(bounded(limit));
            }
            path.quota = view.quota;
        }
    }

    /// Order in which paths share the receive window.
    fn rank(&self, place: usize) -> (bool, bool, bool, Duration, usize) {
        let path = &self.paths[self.view_paths[place]];
        let is_left_out = path.is_lossy || path.is_needless;
        (path.is_held, is_left_out, is_untested(path), self.views[place].min_rtt, place)
    }

    /// Finds paths that bring next to nothing, as a wider one fills the receive window alone. A
    /// path with a shorter round-trip time carries more in the same window; another only takes
    /// from the wide one what it would carry itself.
    fn find_needless(&mut self, window: u64) {
        let by_rate = |place: &usize| self.paths[self.view_paths[*place]].rate();
        let fills = |place: &usize| {
            let (view, path) = (&self.views[*place], &self.paths[self.view_paths[*place]]);
            let is_usable = !path.is_held && !path.is_lossy && !is_untested(path);
            is_usable && fills_alone(view, path, window)
        };
        let widest = (0..self.views.len()).filter(fills).max_by_key(by_rate);
        let filler = widest.map(|place| (place, by_rate(&place), self.views[place].min_rtt));
        for (place, index) in self.view_paths.iter().enumerate() {
            let path = &mut self.paths[*index];
            path.is_needless = filler.is_some_and(|(wide, rate, min_rtt)| {
                place != wide && gain(&self.views[place], path, window, min_rtt) < rate / 16
            });
        }
    }

    /// A segment on another path that would close the receive window for the fastest with room
    /// before it is delivered, where this is the last moment to send a copy of it; and that path.
    pub(super) fn pick_hastened(&mut self, now: Instant, len: u32) -> Option<(usize, usize)> {
        if !self.config.opportunistic || self.views.len() < 2 {
            return None;
        }
        let window = self.edge.saturating_sub(self.board.una());
        let left = self.edge.saturating_sub(self.board.next());
        let with_room = (0..self.in_use).filter(|place| self.views[*place].takes(len));
        let best = with_room.min_by_key(|place| self.views[*place].srtt)?;
        let view = &self.views[best];
        let soon = u64::from(view.cwnd) * if view.in_slow_start { 2 } else { 1 };
        if left > soon {
            return None;
        }
        let path = self.view_paths[best];
        let total: u64 = self.views[..self.in_use].iter().map(PathView::rate).sum();
        let missing = self.board.missing_segments().take(MAX_HASTENED);
        let mut held = missing.filter(|(_, segment)| !segment.reinjected && segment.path != path);
        let found = held.find(|(_, segment)| {
            let due = segment.at + self.paths[segment.path].expected_delay(now);
            // The window moves on until this segment is the first missing one.
            let left = (segment.seq + window).saturating_sub(self.board.next());
            let is_overdue = segment.at + self.paths[segment.path].rtt.loss_delay() <= now;
            is_overdue || (due > now + view.srtt && passing(total, due.since(now)) > left)
        });
        found.map(|(index, _)| (index, path))
    }

    /// A copy for a path on standby: of its first flight, or one that measures it.
    pub(super) fn try_standby(&mut self, now: Instant) -> Option<Segment<P>> {
        for place in self.in_use..self.views.len() {
            let index = self.view_paths[place];
            let is_spared = self.is_spared(index);
            if !self.views[place].takes(self.config.mss) || self.board.is_empty() || is_spared {
                continue;
            }
            let path = &mut self.paths[index];
            let segment = if is_untested(path) {
                self.board.next_missing(&mut path.carried)
            } else if !path.is_lossy
                && path.flight() == 0
                && now >= path.launched_at() + PROBE_INTERVAL
            {
                self.board.first_missing()
            } else {
                None
            };
            let Some(segment) = segment else { continue };
            path.carried = path.carried.max(self.board.get(segment).end());
            self.stats.copies += 1;
            self.board.copied(segment);
            return Some(self.copy(now, segment, index));
        }
        None
    }
}

/// Whether a path would fill the receive window without others: it nearly does, or others take a
/// part of the window and it has no queue.
fn fills_alone(view: &PathView, path: &Path, window: u64) -> bool {
    let filled = passing(path.rate(), view.min_rtt);
    let is_free = u64::from(view.cwnd) >= window && view.srtt <= view.min_rtt * 9 / 8;
    filled >= window - window / 8 || (is_free && filled >= window / 2)
}

/// Bytes per second that a path adds to one with this round-trip time that fills the receive window
/// alone: the part of the window that it takes passes in a shorter time.
fn gain(view: &PathView, path: &Path, window: u64, min_rtt: Duration) -> u64 {
    let sooner = u128::from(min_rtt.saturating_sub(view.min_rtt).as_nanos());
    let gain = u128::from(rate_within(view, path, window)) * sooner;
    u64::try_from(gain / u128::from(min_rtt.as_nanos().max(1))).unwrap_or(u64::MAX)
}

/// Whether no message of data has been acknowledged on it.
fn is_untested(path: &Path) -> bool {
    path.rtt.srtt().is_none()
}

/// Bytes per second that a path sends in its share of the receive window.
fn rate_within(view: &PathView, path: &Path, window: u64) -> u64 {
    let rate = view.rate_within(window.min(view.quota.into()));
    let grown = if view.in_slow_start && u64::from(view.cwnd) < window { 2 } else { 1 };
    if path.rate() == 0 { rate } else { rate.min(path.rate() * grown) }
}

/// Bytes in flight with which a path of this delivery rate has a queue no longer than the time in
/// which it and the others fill the window; less by up to a quarter, the more the others bring.
fn queue_limit(rate: u64, others: u64, window: u64) -> u128 {
    let all = u128::from(rate.saturating_add(others).max(1));
    let share = u128::from(rate) * u128::from(window) / all;
    share - share * u128::from(others) / (4 * all)
}

/// A share of the receive window, however large.
fn bounded(bytes: u128) -> u32 {
    u32::try_from(bytes).unwrap_or(MAX_QUOTA).min(MAX_QUOTA)
}
