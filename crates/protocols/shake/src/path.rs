//! One path: its life, its window, its round-trip time, its timer, and its data in flight.

mod delivery;
mod flights;
mod life;
mod loss_rate;
mod pacer;
mod reported;
mod window;

use crate::growth::Window;
use crate::rtt::Rtt;
use crate::scheduler::passing;
use crate::{Config, Growth, LossDetection, PathView};
use delivery::{Arrived, DeliveryRate};
use fairwave_units::{BitRate, Duration, Instant};
pub(crate) use flights::Flight;
use flights::Flights;
use life::Life;
pub(crate) use life::State;
use loss_rate::LossRate;
use pacer::Pacer;
use reported::ReportedWindow;
use std::num::NonZeroU64;
use window::CongestionWindow;

#[cfg(test)]
mod tests;

/// A path, composed of parts that keep one thing each. Its own work concerns several of them.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    id: u8,
    /// Its bandwidth, if it was stated.
    pub(crate) nominal: Option<BitRate>,
    pub(crate) life: Life,
    pub(crate) reported: ReportedWindow,
    pub(crate) rtt: Rtt,
    /// With a redundant scheduler: all before this offset was sent on it, or is known to have
    /// arrived.
    pub(crate) carried: u64,
    /// Whether it carries copies alone, as its data would cost the others more than they bring.
    pub(crate) is_standby: bool,
    /// Whether its priority keeps it from carrying new data now.
    pub(crate) is_held: bool,
    /// Whether it is on standby for its losses: it rests, until they are forgotten.
    pub(crate) is_lossy: bool,
    /// Whether it is on standby because another path fills the receive window alone.
    pub(crate) is_needless: bool,
    /// Bytes that may be in flight so that it does not hold up the others.
    pub(crate) quota: u32,
    flights: Flights,
    window: CongestionWindow,
    losses: LossRate,
    pacer: Pacer,
    /// Time at which the retransmission timer expires. It runs while anything is in flight.
    timer: Option<Instant>,
    delivered: u64,
    delivery: DeliveryRate,
    timeouts: u64,
    probe_interval: Duration,
    max_round_trips: u32,
    permitted_queue: Duration,
}

impl Path {
    pub(crate) fn new(id: u8, state: State, nominal: Option<BitRate>, config: &Config) -> Self {
        Self {
            id,
            nominal,
            life: Life::new(state),
            reported: ReportedWindow::default(),
            rtt: Rtt::new(config),
            carried: 0,
            is_standby: false,
            is_held: false,
            is_lossy: false,
            is_needless: false,
            quota: u32::MAX,
            flights: Flights::default(),
            window: CongestionWindow::new(config),
            losses: LossRate::new(),
            pacer: Pacer::new(),
            timer: None,
            delivered: 0,
            delivery: DeliveryRate::default(),
            timeouts: 0,
            probe_interval: config.probe_interval,
            max_round_trips: config.max_round_trips,
            permitted_queue: config.permitted_queue,
        }
    }

    /// Begins anew. Kept are: numbers, the known bandwidth, and counts.
    pub(crate) fn restart(&mut self, state: State, config: &Config) {
        let new = Self::new(self.id, state, self.nominal, config);
        *self = Self {
            life: self.life.restarted(state),
            flights: self.flights.restarted(),
            window: CongestionWindow::restarted(config, self.flights.last_number()),
            delivered: self.delivered,
            timeouts: self.timeouts,
            ..new
        };
    }

    pub(crate) fn id(&self) -> u8 {
        self.id
    }

    /// Bytes in flight.
    pub(crate) fn flight(&self) -> u32 {
        self.flights.bytes()
    }

    /// Congestion window in bytes.
    pub(crate) fn cwnd(&self) -> u32 {
        self.window.cwnd()
    }

    /// Slow start threshold in bytes.
    pub(crate) fn ssthresh(&self) -> u32 {
        self.window.ssthresh()
    }

    /// Bytes that arrived over it, those sent twice among them.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Expiries of its retransmission timer.
    pub(crate) fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Time at which the retransmission timer expires.
    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Time at which messages are lost because a later one arrived some time ago.
    pub(crate) fn loss_at(&self) -> Option<Instant> {
        self.flights.loss_at()
    }

    /// Time at which pacing lets the next segment leave.
    pub(crate) fn ready_at(&self) -> Instant {
        self.pacer.ready_at()
    }

    /// Notes whether a segment waits for the time at which pacing lets it leave.
    pub(crate) fn await_turn(&mut self, now: Instant, is_awaited: bool) {
        self.pacer.await_turn(now, is_awaited);
    }

    /// Nothing was sent on it though pacing lets it send.
    pub(crate) fn pause(&mut self, now: Instant) {
        self.pacer.pause(now);
    }

    /// A number that was never used.
    pub(crate) fn take_number(&mut self) -> NonZeroU64 {
        self.flights.take_number()
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.flights.last_number()
    }

    /// Whether it carries data and is not in doubt; with `doubts` a timeout puts it in doubt.
    pub(crate) fn is_sound(&self, doubts: bool) -> bool {
        self.life.is_up() && !(doubts && self.is_suspect())
    }

    /// Whether its timer has expired and nothing arrived since.
    pub(crate) fn is_suspect(&self) -> bool {
        self.rtt.backoff() > 0
    }

    pub(crate) fn view(&self, now: Instant) -> PathView {
        let (losses, srtt) = (self.losses.counts(now), self.expected_rtt(now));
        PathView {
            id: self.id,
            cwnd: self.usable(),
            quota: u32::MAX,
            flight: self.flight(),
            is_ready: self.pacer.is_ready(now),
            in_slow_start: self.window.in_slow_start(),
            srtt,
            min_rtt: self.rtt.least().min(srtt),
            rttvar: self.rtt.var(),
            nominal: self.nominal,
            sent: losses.sent,
            lost: losses.lost,
            loss_events: losses.events,
        }
    }

    /// The part of the window that may be in flight: the data that the path delivers in
    /// `max_round_trips` of its minimum RTT, or in that and `permitted_queue`.
    fn usable(&self) -> u32 {
        self.usable_of(self.cwnd())
    }

    /// The part of a window that may be in flight, if with all of it the round-trip time is that of
    /// now.
    fn usable_of(&self, window: u32) -> u32 {
        let Some(srtt) = self.rtt.srtt().filter(|_| self.max_round_trips > 0) else {
            return window;
        };
        let least = self.rtt.least();
        let maximum = (least * u64::from(self.max_round_trips)).max(least + self.permitted_queue);
        if srtt <= maximum {
            return window;
        }
        let part =
            u128::from(window) * u128::from(maximum.as_nanos()) / u128::from(srtt.as_nanos());
        u32::try_from(part).unwrap_or(window).max(self.window.mss())
    }

    /// Time after which a segment sent now is expected to be acknowledged: a queue that grows is in
    /// the latest sample before it is in the mean.
    pub(crate) fn expected_delay(&self, now: Instant) -> Duration {
        let expected = self.expected_rtt(now);
        if self.rtt.srtt().is_some_and(|srtt| srtt > expected) {
            return expected;
        }
        expected.max(self.rtt.latest())
    }

    /// Time at which a message of data left last.
    pub(crate) fn launched_at(&self) -> Instant {
        self.losses.launched_at()
    }

    /// View of its window for algorithms of growth.
    pub(crate) fn window(&self) -> Window {
        self.window.view(self.rtt.srtt().unwrap_or(self.rtt.base_rto()))
    }

    /// Whether nothing was in flight for a round-trip time: then no queue holds anything of this
    /// path, and measurements with one there are out of date.
    fn has_rested(&self, now: Instant) -> bool {
        if self.flight() > 0 {
            return false;
        }
        let rest = self.flights.quiet_since().zip(self.rtt.srtt());
        rest.is_some_and(|(since, srtt)| now >= since + srtt)
    }

    /// The round-trip time that the next message is expected to take.
    fn expected_rtt(&self, now: Instant) -> Duration {
        let srtt = self.rtt.srtt().unwrap_or(self.rtt.base_rto());
        if self.has_rested(now) { srtt.min(self.rtt.least()) } else { srtt }
    }

    /// A message of data leaves, with the number taken last.
    pub(crate) fn launch(&mut self, now: Instant, seq: u64, len: u32) {
        if self.has_rested(now) {
            self.window.fit(self.usable());
            self.rtt.rest();
        }
        self.flights.launch(now, seq, len);
        self.losses.launch(now);
        if self.timer.is_none() {
            self.arm(now);
        }
    }

    /// A segment of `len` bytes has left: the next one waits for its share of the round-trip time.
    pub(crate) fn pace(&mut self, now: Instant, len: u32) {
        let (cwnd, in_slow_start) = (self.cwnd(), self.window.in_slow_start());
        self.pacer.pace(now, len, cwnd, in_slow_start, self.rtt.srtt());
    }

    fn arm(&mut self, now: Instant) {
        let rto = self.rtt.rto();
        let timeout = if self.life.is_dead() { rto.min(self.probe_interval) } else { rto };
        self.timer = (self.flight() > 0).then(|| self.rtt.expiry(now, timeout));
        self.check();
    }

    /// The message of this number has arrived; `None` if that was known. `is_sure`: it, and not
    /// another copy, so that its time counts.
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        number: u64,
        is_sure: bool,
    ) -> Option<Flight> {
        let flight = self.flights.acknowledge(now, number)?;
        self.delivered += u64::from(flight.len);
        self.window.note_acked(flight.len);
        if is_sure {
            let turn = now.since(flight.at);
            self.pacer.note_turn(now, turn);
            let message = Arrived { number, len: flight.len, at: flight.at };
            self.delivery.sample(now, message, self.flights.last_number());
        }
        self.arm(now);
        Some(flight)
    }

    /// Its own acknowledgement says that the message of this number has arrived, and with it that
    /// the path works.
    pub(crate) fn echo(&mut self, now: Instant, number: u64) -> Option<Flight> {
        self.flights.note_echo(number);
        self.rtt.alive();
        self.acknowledge(now, number, true)
    }

    /// An acknowledgement of message `number` was received on the path, and counts for the oldest
    /// message in flight; `None` if there is none.
    pub(crate) fn count_ack(&mut self, now: Instant, number: u64) -> Option<Flight> {
        self.flights.note_echo(number);
        self.rtt.alive();
        let oldest = self.flights.oldest()?;
        self.acknowledge(now, oldest, false)
    }

    /// Delivery rate in bytes per second.
    pub(crate) fn rate(&self) -> u64 {
        self.delivery.get()
    }

    /// Bytes in flight that keep it busy without a queue. As long as it has none, its rate is not
    /// known, and it may grow.
    pub(crate) fn busy_with(&self, now: Instant) -> u64 {
        let least = self.rtt.least().min(self.expected_delay(now));
        let is_queued = self.expected_delay(now) > least * 9 / 8;
        let turn = self.delivery.min_turn().filter(|_| is_queued).unwrap_or(least * 5 / 4);
        passing(self.rate(), turn)
    }

    /// A message that is in flight no more was echoed after this time.
    pub(crate) fn note_late_echo(&mut self, now: Instant, age: Duration) {
        self.sample(now, age);
        self.arm(now);
    }

    /// Takes a round-trip time.
    pub(crate) fn sample(&mut self, now: Instant, rtt: Duration) {
        if self.rtt.sample(now, rtt) {
            self.pacer.restart(now);
        }
    }

    /// The first message in flight, if it left before the latest one echoed.
    pub(crate) fn overtaken(&self) -> Option<Flight> {
        self.flights.overtaken()
    }

    /// Appends to `lost` the messages that later arrivals on this path show to be lost.
    pub(crate) fn find_lost(&mut self, now: Instant, threshold: usize, lost: &mut Vec<Flight>) {
        let before = lost.len();
        self.flights.find_lost(now, threshold, self.rtt.loss_delay(), lost);
        self.count_lost(&lost[before..]);
        self.rearm(now);
    }

    /// Gives up the message of this number, if it is in flight.
    pub(crate) fn lose(&mut self, now: Instant, number: u64, lost: &mut Vec<Flight>) {
        let before = lost.len();
        if self.flights.lose(now, number, lost) {
            self.count_lost(&lost[before..]);
            self.rearm(now);
        }
    }

    /// Gives up everything in flight.
    pub(crate) fn lose_all(&mut self, lost: &mut Vec<Flight>) {
        let before = lost.len();
        self.flights.lose_all(lost);
        self.count_lost(&lost[before..]);
        self.timer = None;
        self.check();
    }

    fn count_lost(&mut self, lost: &[Flight]) {
        for flight in lost {
            self.losses.count_lost(flight.number, self.last_number());
        }
    }

    /// A message was acknowledged or declared lost: the timer runs on if others are in flight.
    fn rearm(&mut self, now: Instant) {
        if self.flight() == 0 {
            self.timer = None;
        } else if self.timer.is_none() {
            self.arm(now);
        }
        self.check();
    }

    /// Lowers the window to `target` bytes for losses up to this number, once a window.
    pub(crate) fn cut(&mut self, number: u64, target: u32) {
        self.window.cut(number, self.last_number(), target);
    }

    /// The timer has expired with `used` bytes of the window in use, all given up.
    pub(crate) fn time_out(&mut self, used: u32) {
        debug_assert_eq!(self.flight(), 0, "what is in flight is given up first");
        self.window.time_out(used, self.last_number(), !self.is_suspect());
        self.timeouts += 1;
        self.rtt.back_off();
    }

    /// It works again, from its initial window.
    pub(crate) fn revive(&mut self) {
        self.life.enter(State::Up);
        self.rtt.alive();
        self.window.revive();
    }

    /// Whether anything was acknowledged that the window has not grown for.
    pub(crate) fn take_changed(&self) -> bool {
        self.window.acked() > 0
    }

    /// The window does not grow for acknowledged data.
    pub(crate) fn discard_acked(&mut self) {
        self.window.take_acked();
    }

    /// Grows the window for the data acknowledged since the last call. `windows` are those of all
    /// that work, this path's at `index`.
    pub(crate) fn grow(
        &mut self,
        algorithm: &dyn Growth,
        index: usize,
        windows: &[Window],
        validate: bool,
    ) {
        let acked = self.window.take_acked();
        let used = u64::from(self.flight()) + u64::from(acked);
        let limits = !validate || self.window.limits(used);
        if acked == 0 || !limits || self.window.is_recovering(self.flights.highest_echo()) {
            return;
        }
        let slow_start = self.window.in_slow_start();
        if self.usable() < self.cwnd() {
            if slow_start {
                // What was measured now left when the window was half of what it is.
                self.window.fit(self.usable_of(self.cwnd() / 2));
            }
        } else if slow_start {
            self.window.double(acked);
        } else {
            self.window.grow(algorithm.increase(index, acked, windows));
        }
    }

    /// Time at which it wants to be woken.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let life = [self.life.check_at(), self.life.retry_at()];
        [self.timer, self.loss_at()].into_iter().chain(life).flatten().min()
    }

    fn check(&self) {
        let runs = self.timer.is_some();
        debug_assert_eq!(runs, self.flight() > 0, "the timer with {} in flight", self.flight());
    }
}

/// Number of later messages that show a loss; `None` where paths are not looked at alone.
pub(crate) fn echoes(detection: LossDetection) -> Option<usize> {
    match detection {
        LossDetection::Echoes(threshold) => Some(threshold.max(1) as usize),
        LossDetection::Duplicates(_) => None,
    }
}
