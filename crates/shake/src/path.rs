//! One path: its window, its round-trip time, its timer, and what flies on it.

use crate::growth::{PARTS, Window};
use crate::rtt::Rtt;
use crate::{Config, Growth, LossDetection, PathView};
use fairwave_machine::Replay;
use fairwave_units::{BitRate, Duration, Instant};
use std::collections::VecDeque;
use std::num::NonZeroU64;

#[cfg(test)]
mod tests;

/// Segments that a paced path sends at once after a pause: an initial window (RFC 6928).
const BURST: u64 = 10;

/// Messages of data after which older ones count half in the loss rate.
const LOSS_MEMORY: u32 = 1024;

/// Messages whose fate is known that may stand behind one whose fate is not, beside as many as fly.
const MOST_KNOWN: usize = 64;

/// A path that carries nothing forgets half of its losses in this time: they may be over.
const LOSS_HALF_LIFE: Duration = Duration::from_secs(8);

/// Where a path is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Opener: a join is under way.
    Joining { nonce: u64, tries: u32, retry_at: Instant },
    /// Acceptor: a challenge is under way. It is repeated for a while, and to whoever sends data.
    Challenged { nonce: u64, tries: u32, retry_at: Option<Instant> },
    /// It carries data.
    Up,
    /// It carried data, but timeouts in a row say that it does not: probes alone.
    Dead,
    /// The peer is being told that it is used no more.
    Leaving { tries: u32, retry_at: Instant },
    /// It is used no more.
    Left,
}

/// A message of data on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    pub(crate) number: u64,
    /// First byte of the segment that it carries.
    pub(crate) seq: u64,
    pub(crate) len: u32,
    pub(crate) at: Instant,
    /// Echoed, or known to have arrived, or given up.
    done: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) id: u8,
    pub(crate) state: State,
    /// The nonce of the join that was answered last.
    pub(crate) joined: Option<u64>,
    /// Acceptor: the nonce of the challenge that answered that join.
    pub(crate) challenged: Option<u64>,
    /// Whether the peer takes it for answered: it has sent data or an acknowledgement on it.
    pub(crate) is_confirmed: bool,
    /// When it is to be seen whether it works, and how often it was asked in a row.
    pub(crate) check_at: Option<Instant>,
    pub(crate) checks: u32,
    /// The peer's last message on it that told a window, and the end of that window.
    pub(crate) told: (u64, u64),
    /// The number of the peer's message that joined it last.
    pub(crate) joined_at: u64,
    /// This end's last number when it was left.
    pub(crate) left_at: u64,
    pub(crate) seen: Replay,
    pub(crate) nominal: Option<BitRate>,
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
    pub(crate) rtt: Rtt,
    /// Bytes that fly.
    pub(crate) flight: u32,
    /// When the retransmission timer expires.
    pub(crate) timer: Option<Instant>,
    /// When pacing lets the next segment go.
    pub(crate) ready_at: Instant,
    /// Smoothed time until it is known that a message arrived, which another path's acknowledgement
    /// may tell before its own: the window goes round once in it.
    turn: Option<Duration>,
    /// When word came of the last of what flew; `None` if that was given up.
    quiet_since: Option<Instant>,
    /// When messages are lost because a later one arrived some time ago.
    pub(crate) loss_at: Option<Instant>,
    /// With a redundant scheduler: it has carried all before this offset, or it is known to have
    /// arrived.
    pub(crate) carried: u64,
    /// Bytes acknowledged by what is being handled.
    pub(crate) acked: u32,
    pub(crate) delivered: u64,
    pub(crate) timeouts: u64,
    flights: VecDeque<Flight>,
    /// How many of these are not done.
    flying: usize,
    last_number: u64,
    highest_echo: u64,
    /// Losses up to this number have been answered.
    recover: u64,
    /// Parts of a byte that the window has grown by.
    credit: i64,
    since_loss: u64,
    between_losses: u64,
    sent: u32,
    lost: u32,
    loss_events: u32,
    /// Losses up to this number belong to the last loss event.
    event_until: u64,
    launched_at: Instant,
    initial_window: u32,
    mss: u32,
    probe_interval: Duration,
    most_round_trips: u32,
}

impl Path {
    pub(crate) fn new(id: u8, state: State, nominal: Option<BitRate>, config: &Config) -> Self {
        Self {
            id,
            state,
            joined: None,
            challenged: None,
            is_confirmed: false,
            check_at: None,
            checks: 0,
            told: (0, 0),
            joined_at: 0,
            left_at: 0,
            seen: Replay::default(),
            nominal,
            cwnd: config.initial_window.max(1),
            ssthresh: config.initial_ssthresh,
            rtt: Rtt::new(config),
            flight: 0,
            timer: None,
            loss_at: None,
            ready_at: Instant::ZERO,
            turn: None,
            quiet_since: None,
            carried: 0,
            acked: 0,
            delivered: 0,
            timeouts: 0,
            flights: VecDeque::new(),
            flying: 0,
            last_number: 0,
            highest_echo: 0,
            recover: 0,
            credit: 0,
            since_loss: 0,
            between_losses: 0,
            sent: 0,
            lost: 0,
            loss_events: 0,
            event_until: 0,
            launched_at: Instant::ZERO,
            initial_window: config.initial_window.max(1),
            mss: config.mss,
            probe_interval: config.probe_interval,
            most_round_trips: config.most_round_trips,
        }
    }

    /// Whether a loss has just been answered: no message sent since has been echoed.
    pub(crate) fn is_recovering(&self) -> bool {
        self.highest_echo.max(1) <= self.recover
    }

    /// Begins anew. What is kept: numbers, what is known of its bandwidth, and counts.
    pub(crate) fn restart(&mut self, state: State, config: &Config) {
        let new = Self::new(self.id, state, self.nominal, config);
        *self = Self {
            joined: self.joined,
            joined_at: self.joined_at,
            seen: self.seen,
            delivered: self.delivered,
            timeouts: self.timeouts,
            last_number: self.last_number,
            highest_echo: self.highest_echo,
            recover: self.last_number,
            ..new
        };
    }

    /// Whether this end uses it no more, whether the other knows or not.
    pub(crate) fn is_left(&self) -> bool {
        matches!(self.state, State::Leaving { .. } | State::Left)
    }

    /// Whether it has been answered for and not left: it takes part, dead or not.
    pub(crate) fn is_joined(&self) -> bool {
        matches!(self.state, State::Up | State::Dead)
    }

    /// Whether it carries data and is not in doubt; with `doubts` a timeout puts it in doubt.
    pub(crate) fn is_sound(&self, doubts: bool) -> bool {
        self.state == State::Up && !(doubts && self.is_suspect())
    }

    /// Whether its timer has expired and nothing arrived since.
    pub(crate) fn is_suspect(&self) -> bool {
        self.rtt.backoff() > 0
    }

    /// A number that was never used.
    pub(crate) fn take_number(&mut self) -> NonZeroU64 {
        self.last_number += 1;
        NonZeroU64::new(self.last_number).expect("it was increased")
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.last_number
    }

    pub(crate) fn view(&self, now: Instant) -> PathView {
        let (halvings, srtt) = (self.forgotten(now), self.expected_rtt(now));
        PathView {
            id: self.id,
            cwnd: self.usable(),
            flight: self.flight,
            is_ready: self.ready_at <= now,
            in_slow_start: self.cwnd < self.ssthresh,
            srtt,
            least_rtt: self.rtt.least().min(srtt),
            rttvar: self.rtt.var(),
            nominal: self.nominal,
            sent: self.sent >> halvings,
            lost: self.lost >> halvings,
            loss_events: self.loss_events >> halvings,
        }
    }

    /// How often what is known of losses has been halved since something was sent.
    fn forgotten(&self, now: Instant) -> u32 {
        let rest = now.since(self.launched_at);
        if rest < LOSS_HALF_LIFE {
            return 0;
        }
        u32::try_from(rest.as_nanos() / LOSS_HALF_LIFE.as_nanos())
            .unwrap_or(u32::MAX)
            .min(u32::BITS - 2)
    }

    fn forget_losses(&mut self, halvings: u32) {
        self.sent >>= halvings;
        self.lost >>= halvings;
        self.loss_events >>= halvings;
    }

    /// What of its window may fly: that which passes in so many of its least round-trip times.
    fn usable(&self) -> u32 {
        self.usable_of(self.cwnd)
    }

    /// The part of a window that may fly, if with all of it the round-trip time is that of now.
    fn usable_of(&self, window: u32) -> u32 {
        let most = self.rtt.least() * u64::from(self.most_round_trips);
        let Some(srtt) = self.rtt.srtt().filter(|srtt| *srtt > most && !most.is_zero()) else {
            return window;
        };
        let part = u128::from(window) * u128::from(most.as_nanos()) / u128::from(srtt.as_nanos());
        u32::try_from(part).unwrap_or(window).max(self.mss)
    }

    /// A queue holds more than the path may keep there, and has not overflowed: the window becomes
    /// one with which that is not so. `was` is the window that the round-trip time is of.
    fn fit_window(&mut self, was: u32) {
        let usable = self.usable_of(was).max(2 * self.mss);
        if usable < self.cwnd {
            (self.cwnd, self.ssthresh) = (usable, usable);
        }
    }

    pub(crate) fn window(&self) -> Window {
        Window {
            cwnd: self.cwnd,
            mss: self.mss,
            srtt: self.rtt.srtt().unwrap_or(self.rtt.base_rto()),
            since_loss: self.since_loss,
            between_losses: self.between_losses,
        }
    }

    /// Whether nothing has flown for a round-trip time: then no queue holds anything of this path,
    /// and what was measured with one there is out of date.
    fn has_rested(&self, now: Instant) -> bool {
        let Some((since, srtt)) = self.quiet_since.zip(self.rtt.srtt()) else { return false };
        self.flight == 0 && now >= since + srtt
    }

    /// What the next message will take.
    fn expected_rtt(&self, now: Instant) -> Duration {
        let srtt = self.rtt.srtt().unwrap_or(self.rtt.base_rto());
        if self.has_rested(now) { srtt.min(self.rtt.least()) } else { srtt }
    }

    /// A message of data leaves, with the number taken last.
    pub(crate) fn launch(&mut self, now: Instant, seq: u64, len: u32) {
        if self.has_rested(now) {
            self.fit_window(self.cwnd);
            self.rtt.rest();
        }
        let number = self.last_number;
        self.flights.push_back(Flight { number, seq, len, at: now, done: false });
        self.flight += len;
        self.flying += 1;
        self.forget_losses(self.forgotten(now) + u32::from(self.sent >= LOSS_MEMORY));
        self.launched_at = now;
        self.sent += 1;
        if self.timer.is_none() {
            self.arm(now);
        }
    }

    /// A segment of `len` bytes has left: the next one waits for its share of the round-trip time.
    pub(crate) fn pace(&mut self, now: Instant, len: u32) {
        // A copy that tries the path did not wait for its share, and takes none.
        let Some(srtt) = self.turn.or(self.rtt.srtt()).filter(|_| self.ready_at <= now) else {
            return;
        };
        let rate = u64::from(self.cwnd) * if self.cwnd < self.ssthresh { 8 } else { 5 };
        let gap = srtt * (4 * u64::from(len)) / rate.max(1);
        let earliest = now.since(Instant::ZERO).saturating_sub(gap * BURST);
        self.ready_at = self.ready_at.max(Instant::ZERO + earliest) + gap;
    }

    fn arm(&mut self, now: Instant) {
        let rto = self.rtt.rto();
        let timeout = if self.state == State::Dead { rto.min(self.probe_interval) } else { rto };
        self.timer = (self.flight > 0).then(|| self.rtt.expiry(now, timeout));
    }

    /// The message of this number has arrived; `None` if that was known. `is_sure`: it, and not
    /// another copy, so that its time counts.
    pub(crate) fn settle(&mut self, now: Instant, number: u64, is_sure: bool) -> Option<Flight> {
        let index = self.flights.partition_point(|flight| flight.number < number);
        let flight = self.flights.get_mut(index).filter(|flight| flight.number == number)?;
        if flight.done {
            return None;
        }
        flight.done = true;
        let flight = *flight;
        self.flight -= flight.len;
        self.flying -= 1;
        self.acked += flight.len;
        self.delivered += u64::from(flight.len);
        self.since_loss += u64::from(flight.len);
        if is_sure {
            let turn = now.since(flight.at);
            self.turn = Some(self.turn.map_or(turn, |old| (old * 7 + turn) / 8));
        }
        self.note_quiet(now);
        self.arm(now);
        self.forget_front();
        Some(flight)
    }

    /// Its own acknowledgement says that the message of this number has arrived, and with it that
    /// the path works.
    pub(crate) fn echo(&mut self, now: Instant, number: u64) -> Option<Flight> {
        self.highest_echo = self.highest_echo.max(number);
        self.rtt.alive();
        self.settle(now, number, true)
    }

    /// The echo of a message that flies no more took so long.
    pub(crate) fn note_late_echo(&mut self, now: Instant, age: Duration) {
        self.rtt.sample(age);
        self.arm(now);
    }

    fn note_quiet(&mut self, now: Instant) {
        if self.flight == 0 {
            self.quiet_since = Some(now);
        }
    }

    /// The message that left first of those that fly and came before the latest one echoed.
    pub(crate) fn overtaken(&self) -> Option<Flight> {
        let flight = self.flights.front().filter(|flight| !flight.done)?;
        (flight.number < self.highest_echo).then_some(*flight)
    }

    fn forget_front(&mut self) {
        while self.flights.front().is_some_and(|flight| flight.done) {
            self.flights.pop_front();
        }
        // One that is never echoed must not keep all behind it.
        if self.flights.len() > 2 * self.flying + MOST_KNOWN {
            self.flights.retain(|flight| !flight.done);
        }
    }

    /// A message of this number was lost, whether anything is missing for it or not.
    fn count_lost(&mut self, number: u64) {
        self.lost += 1;
        if number > self.event_until {
            // The first ends the first slow start, which overshoots on any path.
            self.loss_events += u32::from(self.event_until > 0);
            self.event_until = self.last_number;
        }
    }

    /// Gives up the message at `index`.
    fn give_up(&mut self, index: usize, lost: &mut Vec<Flight>) {
        let flight = &mut self.flights[index];
        if flight.done {
            return;
        }
        flight.done = true;
        self.flying -= 1;
        self.flight -= flight.len;
        let flight = *flight;
        self.count_lost(flight.number);
        lost.push(flight);
    }

    /// Appends to `lost` what later arrivals on this path say is lost.
    pub(crate) fn find_lost(&mut self, now: Instant, threshold: usize, lost: &mut Vec<Flight>) {
        let highest = self.highest_echo;
        let until = self.flights.partition_point(|flight| flight.number <= highest);
        let delay = self.rtt.loss_delay();
        self.loss_at = None;
        for index in 0..until {
            let flight = self.flights[index];
            if flight.done {
                continue;
            }
            if until - 1 - index < threshold && flight.at + delay > now {
                self.loss_at = Some(flight.at + delay);
                break;
            }
            self.give_up(index, lost);
        }
        self.landed(now);
    }

    /// Something that flew is gone.
    fn landed(&mut self, now: Instant) {
        self.forget_front();
        self.note_quiet(now);
        if self.flight == 0 {
            self.timer = None;
        } else if self.timer.is_none() {
            self.arm(now);
        }
    }

    /// Gives up the message of this number, if it flies.
    pub(crate) fn lose(&mut self, now: Instant, number: u64, lost: &mut Vec<Flight>) {
        let index = self.flights.partition_point(|flight| flight.number < number);
        if self.flights.get(index).is_some_and(|flight| flight.number == number) {
            self.give_up(index, lost);
            self.landed(now);
        }
    }

    /// Gives up everything that flies.
    pub(crate) fn lose_all(&mut self, lost: &mut Vec<Flight>) {
        (0..self.flights.len()).for_each(|index| self.give_up(index, lost));
        self.flights.clear();
        (self.timer, self.loss_at, self.quiet_since) = (None, None, None);
    }

    /// Lowers the window for losses with `flight` bytes on the path before them, once a window.
    pub(crate) fn cut(&mut self, number: u64, target: u32) {
        if number <= self.recover {
            return;
        }
        self.recover = self.last_number;
        self.ssthresh = target.max(2 * self.mss);
        self.cwnd = self.ssthresh;
        self.note_loss();
    }

    fn note_loss(&mut self) {
        self.credit = 0;
        (self.between_losses, self.since_loss) = (self.since_loss, 0);
    }

    /// The timer has expired with `used` bytes of the window in use, all given up: one segment (RFC
    /// 5681 section 3.1); the threshold is lowered by the first of several timeouts.
    pub(crate) fn time_out(&mut self, used: u32) {
        if !self.is_suspect() {
            self.ssthresh = (used / 2).max(2 * self.mss);
            self.note_loss();
        }
        self.cwnd = self.mss;
        self.recover = self.last_number;
        self.timeouts += 1;
        self.rtt.back_off();
    }

    /// It works again, from its initial window.
    pub(crate) fn revive(&mut self) {
        self.state = State::Up;
        self.rtt.alive();
        self.cwnd = self.initial_window;
        self.credit = 0;
    }

    /// The window grows for what was acknowledged since the last call. `windows` are those of all
    /// that work, this path's at `index`.
    pub(crate) fn grow(
        &mut self,
        law: &dyn Growth,
        index: usize,
        windows: &[Window],
        validate: bool,
    ) {
        let acked = std::mem::take(&mut self.acked);
        let before = u64::from(self.flight) + u64::from(acked);
        let slow_start = self.cwnd < self.ssthresh;
        let used = if slow_start { 2 * before } else { before + 2 * u64::from(self.mss) };
        let limits = !validate || used >= u64::from(self.cwnd);
        if acked == 0 || !limits || self.is_recovering() {
            return;
        }
        if self.usable() < self.cwnd {
            if slow_start {
                // What was measured now left when the window was half of what it is.
                self.fit_window(self.cwnd / 2);
            }
            return;
        }
        if slow_start {
            self.cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh.max(self.cwnd));
            return;
        }
        self.credit += law.increase(index, acked, windows);
        let whole = self.credit / PARTS as i64;
        self.credit -= whole * PARTS as i64;
        let cwnd = i64::from(self.cwnd) + whole;
        self.cwnd = u32::try_from(cwnd.max(i64::from(self.mss))).unwrap_or(u32::MAX);
    }

    /// When it wants to be woken.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let retry = match self.state {
            State::Joining { retry_at, .. } | State::Leaving { retry_at, .. } => Some(retry_at),
            State::Challenged { retry_at, .. } => retry_at,
            _ => None,
        };
        [self.timer, self.loss_at, self.check_at, retry].into_iter().flatten().min()
    }
}

/// How many later messages tell that one is lost; `None` where paths are not looked at alone.
pub(crate) fn echoes(detection: LossDetection) -> Option<usize> {
    match detection {
        LossDetection::Echoes(threshold) => Some(threshold.max(1) as usize),
        LossDetection::Duplicates(_) => None,
    }
}
