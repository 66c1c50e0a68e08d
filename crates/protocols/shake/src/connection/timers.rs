//! Timers: retransmission, joins and leaves repeated, a shut window, no path at all.

use super::paths::MAX_REPEATED;
use super::{Connection, Control, Event, Phase};
use crate::path::{Path, State};
use fairwave_tcp::Payload;
use fairwave_units::{Duration, Instant};
use fairwave_wire::shake::{Reason, Side};

/// Doublings of the time between probes of a shut window.
const MAX_DOUBLINGS: u32 = 6;

impl<P: Payload> Connection<P> {
    /// Handles the timers that are due.
    pub(super) fn expire(&mut self, now: Instant) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        for index in 0..self.paths.len() {
            self.repeat(now, index);
            if is_due(self.paths[index].loss_at()) {
                self.find_lost(now, index);
                self.unstick();
            }
            if is_due(self.paths[index].timer()) {
                self.time_out(index);
            }
            if is_due(self.paths[index].life.check_at()) {
                self.paths[index].life.note_check();
                self.control.push_back(Control::Check(index));
            }
        }
        if is_due(self.persist_at) {
            self.persist_at = None;
            self.persist_backoff += 1;
            self.control.push_back(Control::Persist);
        }
        if is_due(self.pathless_since.map(|since| since + self.config.give_up)) {
            self.reset(Reason::NoPath, false);
        }
        let over = |path: &Path| path.deadline().filter(|at| *at <= now);
        debug_assert_eq!(self.paths.iter().find_map(over), None, "what is due has happened");
    }

    /// Repeats a join or a leave.
    fn repeat(&mut self, now: Instant, index: usize) {
        let later = |tries: u32| now + (self.config.initial_rto * (2 << tries.min(5)));
        match self.paths[index].life.state() {
            State::Joining { tries, retry_at, .. }
                if retry_at <= now && self.is_over() && tries >= MAX_REPEATED =>
            {
                self.paths[index].life.enter(State::Left);
            }
            State::Joining { nonce, tries, retry_at } if retry_at <= now => {
                let retry_at = later(tries);
                let tries = tries + 1;
                self.paths[index].life.enter(State::Joining { nonce, tries, retry_at });
                self.control.push_back(Control::Join(index));
            }
            State::Challenged { nonce, tries, retry_at: Some(at) } if at <= now => {
                let goes_on = tries < MAX_REPEATED || self.phase == Phase::Open;
                let retry_at = goes_on.then(|| later(tries));
                let tries = tries + 1;
                self.paths[index].life.enter(State::Challenged { nonce, tries, retry_at });
                self.control.push_back(Control::Challenge(index));
            }
            State::Leaving { tries, retry_at } if retry_at <= now => {
                let tries = tries + 1;
                if tries >= MAX_REPEATED && self.phase != Phase::Open {
                    self.go(index);
                    return;
                }
                // A peer that has nothing to send would never hear of it otherwise.
                let retry_at = later(tries - 1);
                self.paths[index].life.enter(State::Leaving { tries, retry_at });
                if tries == MAX_REPEATED {
                    self.report(Event::PathLeft { path: self.paths[index].id() });
                }
                self.control.push_back(Control::Leave(index));
            }
            _ => {}
        }
    }

    /// The retransmission timer of a path: all that is in flight on it is lost, and where a timeout
    /// rewinds, all that is not known to have arrived (TCP SHAKE sections 2.2.1 and 2.3).
    fn time_out(&mut self, index: usize) {
        let (flight, cwnd) = (self.paths[index].flight(), self.paths[index].cwnd());
        // As for losses found earlier: a window that is validated was used.
        let used = if self.config.validate_window { flight.max(cwnd) } else { flight };
        self.stats.timeouts += 1;
        self.duplicates = 0;
        self.abandon(index);
        if self.config.timeout_rewinds || self.config.sack_blocks == 0 {
            self.board.lose_all();
        }
        let path = &mut self.paths[index];
        path.time_out(used);
        if path.life.is_up() && path.rtt.backoff() >= self.config.dead_after {
            path.life.enter(State::Dead);
            let id = path.id();
            self.report(Event::PathDead { path: id });
        }
        let is_alone = self
            .paths
            .iter()
            .enumerate()
            .all(|(other, path)| other == index || !path.life.is_up() || path.is_suspect());
        let is_dead = self.paths[index].life.is_dead();
        if is_dead {
            self.control.push_back(Control::Check(index));
        } else if self.config.suspects_get_copies && !is_alone {
            self.control.push_back(Control::Probe(index));
        }
    }

    /// Nothing more can be sent now: sets the timers that wait for the peer or for a path.
    pub(super) fn set_waits(&mut self, now: Instant) {
        self.set_checks(now);
        let has_path = self.paths.iter().any(|path| path.life.is_up());
        let has_more = self.written > self.board.next() || (self.finishing && !self.fin_sent);
        let owes = !self.board.is_empty() || has_more;
        let may_rest = !owes && self.paths.iter().any(|path| path.life.is_dead());
        // The acceptor has no path before it gets a message.
        let awaits = self.paths.is_empty() && self.side == Side::Acceptor;
        if has_path || may_rest || self.is_over() || awaits {
            self.pathless_since = None;
        } else if self.pathless_since.is_none() {
            self.pathless_since = Some(now);
        }
        let waits = self.board.lost() > 0 || self.written > self.board.next();
        let is_paced = self.pace_at.is_some();
        if self.phase != Phase::Open || self.in_flight() || !waits || !has_path || is_paced {
            self.persist_at = None;
        } else if self.persist_at.is_none() {
            let minimum = Duration::from_millis(200).max(self.config.min_rto);
            let doublings = self.persist_backoff.min(MAX_DOUBLINGS);
            self.persist_at = Some(now + minimum * (1 << doublings));
        }
    }

    /// Times at which paths are asked for a sign of life: dead ones at the interval of probes,
    /// others less and less often.
    fn set_checks(&mut self, now: Instant) {
        for index in 0..self.paths.len() {
            let path = &self.paths[index];
            let is_wanted = self.is_to_be_checked(path);
            let wait = match path.life.state() {
                State::Dead => self.config.probe_interval,
                _ => self.config.initial_rto * (1 << path.life.checks().min(MAX_DOUBLINGS)),
            };
            let path = &mut self.paths[index];
            let at = is_wanted.then(|| path.life.check_at().unwrap_or(now + wait));
            path.life.set_check(at);
        }
    }
}
