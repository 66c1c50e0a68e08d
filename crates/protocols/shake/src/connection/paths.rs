//! Paths join, are confirmed, leave, and come again.

use super::{Connection, Control, Event, Phase};
use crate::path::{Path, State};
use fairwave_tcp::Payload;
use fairwave_units::{BitRate, Instant};
use fairwave_wire::shake::{Challenge, Echo, Header, Join, Leave, Side};

/// Number of times that a leave is sent before the host gets its end, and that a challenge, a join
/// and a leave are sent at all unless the connection is open.
pub(super) const MAX_REPEATED: u32 = 6;

impl<P: Payload> Connection<P> {
    /// The host has a path.
    pub(super) fn join(&mut self, now: Instant, id: u8, nominal: Option<BitRate>) {
        let known = self.index_of(id);
        if let Some(path) = known {
            self.paths[path].nominal = nominal;
        }
        let is_wanted = known.is_none_or(|path| !self.paths[path].life.is_up());
        let is_reset = matches!(self.phase, Phase::Reset { .. });
        if let Some(path) = known.filter(|path| self.is_to_be_checked(&self.paths[*path])) {
            self.paths[path].life.forget_checks();
            self.control.push_back(Control::Check(path));
        }
        if self.side == Side::Acceptor || !is_wanted || is_reset {
            return;
        }
        // A challenge that answers the join under way still fits.
        let under_way = known.and_then(|path| match self.paths[path].life.state() {
            State::Joining { nonce, .. } => Some(nonce),
            _ => None,
        });
        let nonce = under_way.unwrap_or_else(|| self.nonces.next_u64());
        let retry_at = now + self.config.initial_rto;
        let state = State::Joining { nonce, tries: 0, retry_at };
        let path = match known {
            Some(path) => {
                self.restart(path, state);
                path
            }
            None if self.paths.len() < self.config.max_paths => {
                self.paths.push(Path::new(id, state, nominal, &self.config));
                self.paths.len() - 1
            }
            None => {
                self.stats.refused.unknown_path += 1;
                return;
            }
        };
        self.paths[path].life.join(nonce);
        self.control.push_back(Control::Join(path));
    }

    /// A known path begins anew: nothing is known of it but its numbers.
    fn restart(&mut self, index: usize, state: State) {
        self.abandon(index);
        let config = self.config;
        self.paths[index].restart(state, &config);
    }

    /// Sends the data in flight on the path on others.
    pub(super) fn abandon(&mut self, index: usize) {
        debug_assert!(self.lost.is_empty(), "losses not yet acted on");
        self.paths[index].lose_all(&mut self.lost);
        while let Some(lost) = self.lost.pop() {
            self.board.landed(lost.seq);
            if let Some(segment) = self.board.find(lost.seq)
                && self.board.get(segment).in_flight == 0
            {
                self.board.lose(segment);
            }
        }
        if self.counts() {
            // Acknowledgements of others have counted for what the path has lost.
            self.board.lose_where(|sent| sent.path == index && sent.in_flight == 0);
        }
        self.unstick();
    }

    pub(super) fn take_join(&mut self, now: Instant, index: usize, header: &Header, join: &Join) {
        let path = &mut self.paths[index];
        let number = header.number.get();
        if self.side == Side::Opener || number < path.life.joined_at() {
            self.stats.refused.stray += 1;
            return;
        }
        path.life.note_joined_at(number);
        if path.life.joined() != Some(join.nonce) {
            path.life.join(join.nonce);
            let nonce = self.nonces.next_u64();
            let retry_at = Some(now + self.config.initial_rto);
            self.restart(index, State::Challenged { nonce, tries: 0, retry_at });
            self.paths[index].life.challenge(nonce);
        }
        self.open_window(index, join.window);
        // The opener asks whether a path works that was answered for: an acknowledgement says so.
        let echo = Some(Echo { number: header.number, sent_us: header.sent_us });
        match self.paths[index].life.state() {
            State::Up => self.control.push_back(Control::Ack { path: index, echo }),
            State::Dead => {
                self.control.push_back(Control::Ack { path: index, echo });
                self.control.push_back(Control::Challenge(index));
            }
            State::Leaving { .. } | State::Left => self.control.push_back(Control::Leave(index)),
            _ => self.control.push_back(Control::Challenge(index)),
        }
    }

    /// The window that the peer has before anything was sent.
    fn open_window(&mut self, path: usize, window: u32) {
        let window = u64::from(window);
        self.edge = self.edge.max(window);
        self.paths[path].reported.open(window);
    }

    /// Returns whether a path is to be asked for a sign of life: it is dead and has no data in
    /// flight, or the opener does not know whether its response arrived.
    pub(super) fn is_to_be_checked(&self, path: &Path) -> bool {
        let is_idle = path.life.is_dead() && path.flight() == 0;
        let life = &path.life;
        let is_unsure = self.side == Side::Opener && life.is_up() && !life.is_confirmed();
        self.phase == Phase::Open && (is_idle || is_unsure)
    }

    /// The challenge of a path that has not been confirmed, or seems dead.
    pub(super) fn challenge(&self, path: usize) -> Option<Challenge> {
        let life = &self.paths[path].life;
        let nonce = match life.state() {
            State::Challenged { nonce, .. } => nonce,
            State::Dead => life.challenged()?,
            _ => return None,
        };
        Some(Challenge { nonce, answers: life.joined()?, window: self.receiver.window() })
    }

    pub(super) fn take_challenge(&mut self, index: usize, number: u64, challenge: &Challenge) {
        let path = &mut self.paths[index];
        // Whoever is done answers all: the peer may need a path to learn that.
        let is_closed = self.phase == Phase::Closed;
        let fits = is_closed || path.life.joined() == Some(challenge.answers);
        if !fits || self.side == Side::Acceptor {
            self.stats.refused.stray += 1;
            return;
        }
        match path.life.state() {
            State::Joining { .. } => {
                path.life.note_joined_at(number);
                self.open_window(index, challenge.window);
                self.come_up(index);
            }
            // The response was lost, or the acceptor asks whether the path works.
            State::Up | State::Dead => {}
            _ if is_closed => {}
            State::Leaving { .. } | State::Left => {
                self.control.push_back(Control::Leave(index));
                return;
            }
            _ => {
                self.stats.refused.stray += 1;
                return;
            }
        }
        self.control.push_back(Control::Response { path: index, answers: challenge.nonce });
    }

    pub(super) fn take_response(&mut self, index: usize, answers: u64) {
        match self.paths[index].life.state() {
            State::Challenged { nonce, .. } if nonce == answers => self.come_up(index),
            State::Dead if self.paths[index].life.challenged() == Some(answers) => {
                self.revive(index);
            }
            State::Leaving { .. } | State::Left => self.control.push_back(Control::Leave(index)),
            _ => self.stats.refused.stray += 1,
        }
    }

    fn come_up(&mut self, index: usize) {
        self.paths[index].life.enter(State::Up);
        if self.phase == Phase::Opening {
            self.phase = Phase::Open;
            self.report(Event::Opened);
        }
        self.pathless_since = None;
        self.report(Event::PathUp { path: self.paths[index].id() });
    }

    /// The host has a path no more.
    pub(super) fn leave(&mut self, now: Instant, id: u8) {
        let Some(index) = self.index_of(id) else { return };
        if self.paths[index].life.is_left() {
            return;
        }
        // A path that was not answered for may be so by now, at the other end.
        let retry_at = now + self.config.initial_rto;
        let path = &mut self.paths[index];
        path.life.note_left_at(path.last_number());
        path.life.enter(State::Leaving { tries: 0, retry_at });
        self.abandon(index);
        self.control.push_back(Control::Leave(index));
    }

    /// The path is used no more, and both ends know or need not.
    pub(super) fn go(&mut self, index: usize) {
        let path = &mut self.paths[index];
        if !path.life.is_left() {
            path.life.note_left_at(path.last_number());
        }
        let left = Event::PathLeft { path: path.id() };
        let is_reported =
            matches!(path.life.state(), State::Leaving { tries, .. } if tries >= MAX_REPEATED);
        path.life.enter(State::Left);
        self.abandon(index);
        // When this end is done too: a peer that missed the last acknowledgement may need the path,
        // and the opener's host alone can join it again.
        if !is_reported && !matches!(self.phase, Phase::Reset { .. }) {
            self.events.push_back(left);
        }
    }

    pub(super) fn take_leave(&mut self, over: usize, leave: Leave) {
        let Some(index) = self.index_of(leave.path) else {
            self.stats.refused.stray += 1;
            return;
        };
        let life = &self.paths[index].life;
        if leave.last >= life.joined_at() && life.state() != State::Left {
            self.go(index);
        }
        self.control.push_back(Control::Left { path: over, leave });
    }

    pub(super) fn take_left(&mut self, leave: Leave) {
        let index = self.index_of(leave.path);
        let is_answer = |index: &usize| {
            let life = &self.paths[*index].life;
            matches!(life.state(), State::Leaving { .. }) && life.left_at() == leave.last
        };
        match index.filter(is_answer) {
            Some(index) => self.go(index),
            None => self.stats.refused.stray += 1,
        }
    }
}
