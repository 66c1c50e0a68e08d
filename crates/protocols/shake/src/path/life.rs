//! Life cycle of a path: joined, up, dead, left, and the messages of each change.

use fairwave_machine::Replay;
use fairwave_units::Instant;
use std::num::NonZeroU64;

/// State of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Opener: a join is under way.
    Joining { nonce: u64, tries: u32, retry_at: Instant },
    /// Acceptor: a challenge is under way. It is repeated for a time, and whenever the peer sends
    /// data.
    Challenged { nonce: u64, tries: u32, retry_at: Option<Instant> },
    /// It carries data.
    Up,
    /// It carried data, but successive timeouts show that it no longer does: only probes are sent.
    Dead,
    /// The peer is being notified that the path is no longer used.
    Leaving { tries: u32, retry_at: Instant },
    /// It is no longer used.
    Left,
}

/// The state of a path, and the messages that changed it.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    state: State,
    /// The nonce of the most recent join.
    joined: Option<u64>,
    /// Acceptor: the nonce of the challenge that answered that join.
    challenged: Option<u64>,
    /// Whether the peer knows that the path is up: it has sent data or an acknowledgement on it.
    is_confirmed: bool,
    /// Time to request a sign of life, and number of successive requests.
    check_at: Option<Instant>,
    checks: u32,
    /// Number of the peer's message that joined it most recently.
    joined_at: u64,
    /// This end's last number at the time when the path was left.
    left_at: u64,
    /// Numbers of the peer's messages that have arrived.
    seen: Replay,
}

impl Life {
    pub(crate) fn new(state: State) -> Self {
        Self {
            state,
            joined: None,
            challenged: None,
            is_confirmed: false,
            check_at: None,
            checks: 0,
            joined_at: 0,
            left_at: 0,
            seen: Replay::default(),
        }
    }

    /// A new life in `state` that keeps the last join and the peer's numbers, so that recorded
    /// messages stay invalid.
    pub(crate) fn restarted(&self, state: State) -> Self {
        let (joined, joined_at, seen) = (self.joined, self.joined_at, self.seen);
        Self { joined, joined_at, seen, ..Self::new(state) }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn enter(&mut self, state: State) {
        self.state = state;
    }

    /// Whether it carries data.
    pub(crate) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.state == State::Dead
    }

    /// Whether this end no longer uses it; the peer may not know this yet.
    pub(crate) fn is_left(&self) -> bool {
        matches!(self.state, State::Leaving { .. } | State::Left)
    }

    /// Whether the handshake is complete and the path was not left. It may be dead.
    pub(crate) fn is_joined(&self) -> bool {
        matches!(self.state, State::Up | State::Dead)
    }

    /// The nonce of the most recent join.
    pub(crate) fn joined(&self) -> Option<u64> {
        self.joined
    }

    /// Records the nonce of a join that was sent or received.
    pub(crate) fn join(&mut self, nonce: u64) {
        self.joined = Some(nonce);
    }

    /// Acceptor: the nonce of the challenge that answered the most recent join.
    pub(crate) fn challenged(&self) -> Option<u64> {
        self.challenged
    }

    pub(crate) fn challenge(&mut self, nonce: u64) {
        self.challenged = Some(nonce);
    }

    /// Whether the peer knows that the path is up.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Records that the peer has sent data or an acknowledgement.
    pub(crate) fn confirm(&mut self) {
        self.is_confirmed = true;
    }

    /// Number of the peer's message that joined it most recently.
    pub(crate) fn joined_at(&self) -> u64 {
        self.joined_at
    }

    pub(crate) fn note_joined_at(&mut self, number: u64) {
        self.joined_at = number;
    }

    /// This end's last number at the time when the path was left.
    pub(crate) fn left_at(&self) -> u64 {
        self.left_at
    }

    pub(crate) fn note_left_at(&mut self, number: u64) {
        self.left_at = number;
    }

    /// Records the number of a message of the peer. Returns whether it is new.
    pub(crate) fn admit(&mut self, number: NonZeroU64) -> bool {
        self.seen.admit(number)
    }

    /// Time to request a sign of life.
    pub(crate) fn check_at(&self) -> Option<Instant> {
        self.check_at
    }

    pub(crate) fn set_check(&mut self, at: Option<Instant>) {
        self.check_at = at;
    }

    /// Records that a sign of life was requested.
    pub(crate) fn note_check(&mut self) {
        self.check_at = None;
        self.checks += 1;
    }

    /// Number of successive requests for a sign of life.
    pub(crate) fn checks(&self) -> u32 {
        self.checks
    }

    pub(crate) fn forget_checks(&mut self) {
        self.checks = 0;
    }

    /// Time at which the message of the present state is repeated.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        match self.state {
            State::Joining { retry_at, .. } | State::Leaving { retry_at, .. } => Some(retry_at),
            State::Challenged { retry_at, .. } => retry_at,
            State::Up | State::Dead | State::Left => None,
        }
    }
}
