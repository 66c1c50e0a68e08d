//! One radio channel with everything on it, as one machine.
//!
//! The distributed coordination function (802.11-2020 clause 10.3) of all radios of a channel runs
//! here together: a host hands in MPDUs, gets deliveries and the fate of each, and sees a single
//! deadline. Carrier sense, NAV, EIFS and receptions are kept per radio, so hidden stations,
//! capture and the near-far effect come out by themselves.
//!
//! Not modelled: propagation delay (13 ns at 4 m), the time a receiver needs to notice a busy
//! medium within a slot, fragmentation, power save.

mod aggregate;
mod air;
mod airtime;
#[cfg(test)]
mod any_aggregates;
#[cfg(test)]
mod any_world;
mod bitmap;
mod contention;
mod exchange;
mod interface;
mod ledger;
mod levels;
mod mac;
mod medium;
mod outputs;
mod pairs;
mod presence;
mod rates;
mod report;
mod request;
mod room;
mod sounding;
#[cfg(test)]
mod tests;

use crate::phy::{BEACON_BYTES, Format};
use crate::{AccessCategory, Edca, Mode};
use air::{Air, BROADCAST, Reception, Transmission};
use contention::{Access, Contention, Counting};
use fairwave_machine::Machine;
use fairwave_trace::{Scoreboard, StationSample};
use fairwave_units::{Db, Duration, Instant, Seed, math};
pub use interface::{
    AirtimeLimits, Config, ErrorModel, Fate, FrameKind, FrameReport, Input, Mpdu, Output,
    RadioConfig, RadioId, RateChoice,
};
use mac::{Contender, Mac, Peers, Serving};
use outputs::Outputs;
pub use outputs::Run;
use room::Room;
use std::collections::VecDeque;

/// Something due. Ordered by time, then by rank (ends free the medium before anything else
/// looks at it), then by radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at: Instant,
    what: Due,
    order: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A transmission ends.
    End(u64),
    /// A response did not come: radio and number of the attempt.
    Timeout(u32, u64),
    /// A beacon is to be sent.
    Beacon(u32),
    /// The data after an RTS would have begun by now: number of the RTS.
    NavReset(u64),
    /// A frame that follows another by SIFS.
    Respond(Response),
}

/// An ACK, BlockAck or CTS, or data that follows by SIFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Response {
    from: u32,
    to: u32,
    kind: ResponseKind,
    /// The mode of the frame that is answered.
    mode: Mode,
    reserved_until: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ResponseKind {
    Ack,
    BlockAck,
    Cts,
    Data,
}

/// All radios on one channel.
#[derive(Debug)]
pub struct Channel<P> {
    config: Config,
    air: Air,
    contention: Contention,
    /// [`crate::Phy::response_timeout`].
    response_timeout: Duration,
    /// Per category: parameters of access.
    edca: Box<[Edca]>,
    macs: Vec<Mac>,
    contenders: Vec<Contender<P>>,
    /// The latest first. Few are pending at a time, and a new one is mostly among the next: that
    /// moves less than a heap does.
    timers: Vec<Timer>,
    order: u64,
    frames: u64,
    /// Radios that wait for a frame to end before they give a response up.
    overdue: Vec<u32>,
    next_access: Option<Instant>,
    /// Contenders whose backoff has just ended.
    starting: Vec<u32>,
    responding: Vec<Response>,
    receptions: Vec<(u32, Reception)>,
    /// Probability of decoding each MPDU of the A-MPDU that is being received.
    shares: Vec<f64>,
    outputs: Outputs<P>,
    /// Payloads of frames that are gone from their radios.
    released: Vec<P>,
    reports_frames: bool,
    reports: VecDeque<FrameReport<P>>,
    /// For reports: the content of each radio's last BlockAck.
    scoreboards: Vec<Scoreboard>,
    /// For reports: which MPDUs of the A-MPDU that has just ended arrived; none if all did.
    arrivals: Vec<bool>,
}

impl<P: Copy> Channel<P> {
    /// A silent channel. `name` distinguishes the random streams of several channels.
    pub fn new(config: Config, radios: &[RadioConfig], seed: Seed, name: &str) -> Self {
        let phy = config.phy;
        let dcf = [Edca::dcf(phy)];
        let edca: Box<[Edca]> = config.edca.as_ref().map_or(&dcf[..], |edca| edca).into();
        let access = |edca: &Edca| {
            let aifs = edca.aifs(phy);
            Access { aifs, eifs: phy.eifs() - phy.difs() + aifs }
        };
        let access: Vec<Access> = edca.iter().map(access).collect();
        let air = Air::new(config.clone(), radios, seed, name);
        let varies = air.levels().reach_varies();
        let counting = match config.edca {
            Some(_) => Counting::Boundaries,
            None => Counting::WholeSlots,
        };
        let hearers = air.hearers();
        let mut contention = Contention::new(phy.slot(), counting, &access, hearers, varies);
        contention.arrange(air.order());
        let mut channel = Self {
            contention,
            air,
            macs: radios.iter().map(|r| Mac::new(seed, name, r, &config)).collect(),
            contenders: contenders(&config, &edca, radios, seed, name),
            edca,
            response_timeout: phy.response_timeout(),
            config,
            timers: Vec::new(),
            order: 0,
            frames: 0,
            overdue: Vec::new(),
            next_access: None,
            starting: Vec::new(),
            responding: Vec::new(),
            receptions: Vec::new(),
            shares: Vec::new(),
            outputs: Outputs::new(),
            released: Vec::new(),
            reports_frames: false,
            reports: VecDeque::new(),
            scoreboards: Vec::new(),
            arrivals: Vec::new(),
        };
        if let Some(interval) = channel.config.beacon_interval {
            let beaconing = radios.iter().enumerate().filter(|(_, r)| r.is_access_point);
            for (number, (radio, RadioConfig { name: ap, .. })) in beaconing.enumerate() {
                // Access points are not switched on together: on an idle medium all their beacons
                // would collide.
                let mut phases = seed.stream(&format!("beacons/{name}/{ap}"));
                let phase = if number > 0 { phases.below(interval.as_nanos()) } else { 0 };
                let first = Instant::ZERO + interval + Duration::from_nanos(phase);
                channel.schedule(first, Due::Beacon(radio as u32));
            }
        }
        channel
    }

    /// Whether the radio can take a first frame of `category`.
    pub fn is_ready(&self, radio: RadioId, category: AccessCategory) -> bool {
        let contender = self.contender(radio.0, category);
        self.contenders[contender as usize].batch.frames.is_empty()
    }

    /// Whether the radio can take one more frame of `category` to `to`, to be aggregated with
    /// those it has. `retrying` asks this also of frames of which some were sent before.
    pub fn has_room(
        &self,
        radio: RadioId,
        category: AccessCategory,
        to: RadioId,
        retrying: bool,
    ) -> bool {
        if self.config.aggregation.is_none() {
            return false;
        }
        let contender = self.contender(radio.0, category);
        let batch = &self.contenders[contender as usize].batch;
        // Frames that wait for a BlockAckReq to be answered do not change when others join.
        let is_under_way = batch.sending > 0 && !batch.asks;
        batch.to == Some(to)
            && !is_under_way
            && (retrying || batch.is_fresh())
            && match self.airtime_admits(contender) {
                Some(admits) => admits && batch.fits_one_more(false),
                None => batch.fits_one_more(true),
            }
            && batch.mode.format() >= Format::Ht
    }

    /// Whether a receiver holds back a frame whose payload satisfies `is`, because an earlier one
    /// is missing.
    pub fn holds(&self, is: impl Fn(&P) -> bool) -> bool {
        self.contenders.iter().any(|Contender { batch, .. }| {
            let waiting = batch.handed_up..batch.frames.len();
            let mut held = bitmap::runs(waiting, |index| batch.received.word(index)).flatten();
            held.any(|place| is(&batch.payloads[place]))
        })
    }

    /// The next outputs of [`Machine::poll`] together, as far as they differ in their payloads
    /// alone. These replace the contents of `payloads`.
    pub fn poll_run(&mut self, payloads: &mut Vec<P>) -> Option<Run> {
        self.outputs.pop_run(payloads)
    }

    /// Takes the payloads of frames that are gone: settled and handed up, given up, or taken off
    /// the channel. Only outputs that wait to be polled still have them.
    pub fn released(&mut self) -> impl Iterator<Item = P> {
        self.released.drain(..)
    }

    /// The radio's counters and contention window.
    pub fn stats(&self, radio: RadioId) -> StationSample {
        let contender = self.contender(radio.0, AccessCategory::BestEffort);
        let cw = self.contenders[contender as usize].cw;
        let mac = &self.macs[radio.0 as usize];
        let is_known = mac.peer != Peers::Several;
        let snr = |ratio: f64| (is_known && ratio > 0.0).then(|| Db(math::linear_to_db(ratio)));
        StationSample { cw, snr: snr(mac.snr), peer_snr: snr(mac.peer_snr), ..mac.stats }
    }

    /// Frames put on the air so far, of every kind.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn schedule(&mut self, at: Instant, what: Due) {
        self.order += 1;
        let timer = Timer { at, what, order: self.order };
        // Ranks and turns of equal times are compared apart, as they are seldom needed.
        let is_later = |other: &Timer| other.at > at || (other.at == at && *other > timer);
        let later = self.timers.iter().rposition(is_later);
        self.timers.insert(later.map_or(0, |last| last + 1), timer);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.timers.last().map(|timer| timer.at)
    }

    /// Handles everything due at `now`. Starts come last and together, so that radios whose backoff
    /// ends in the same slot collide instead of sensing each other.
    fn step(&mut self, now: Instant) {
        while let Some(timer) = self.timers.pop_if(|timer| timer.at <= now) {
            match timer.what {
                Due::End(id) => self.finish(id, now),
                Due::Timeout(radio, attempt) => self.time_out(radio, attempt, now),
                Due::Beacon(radio) => self.beacon_due(radio, now),
                Due::NavReset(rts) => self.contention.reset_nav(rts, now),
                Due::Respond(response) => self.responding.push(response),
            }
        }
        // Winners first: a response that begins at this instant is not sensed within the slot.
        if self.next_access.is_some_and(|access| access <= now) {
            self.contention.winners(now, &mut self.starting);
        }
        for i in 0..self.responding.len() {
            self.respond(self.responding[i], now);
        }
        self.responding.clear();
        let mut starting = core::mem::take(&mut self.starting);
        self.start(&starting, now);
        starting.clear();
        self.starting = starting;
    }

    fn beacon_due(&mut self, radio: u32, now: Instant) {
        if let Some(interval) = self.config.beacon_interval {
            self.schedule(now + interval, Due::Beacon(radio));
        }
        self.macs[radio as usize].beacon_due = true;
        let categories = self.contention.categories();
        self.load_next((radio + 1) * categories - 1, now);
    }

    fn beacon(&self, from: u32, now: Instant) -> Transmission {
        let mode = self.config.phy.lowest_mode();
        self.frame(FrameKind::Beacon, from, BROADCAST, mode, BEACON_BYTES, now)
    }

    /// A frame that reserves nothing beyond its end; `transmit` fills in its times.
    fn frame(
        &self,
        kind: FrameKind,
        from: u32,
        to: u32,
        mode: Mode,
        bytes: u32,
        now: Instant,
    ) -> Transmission {
        Transmission {
            id: 0,
            from,
            to,
            kind,
            mode,
            bytes,
            mpdus: 1,
            start: now,
            end: now,
            reserved_until: now,
            overlapped: false,
            over: false,
            sure_mw: f64::INFINITY,
        }
    }
}

impl<P: Copy> Machine for Channel<P> {
    type Input = Input<P>;
    type Output = Output<P>;
    type Event = FrameReport<P>;

    fn handle(&mut self, now: Instant, input: Input<P>) {
        let Input::Send(radio, mut mpdu) = input;
        // What a batch has room for follows from the mode that it will be sent in.
        let rates = self.macs[radio.0 as usize].rates.as_ref();
        if let Some(mode) = rates.zip(mpdu.to).and_then(|(rates, to)| rates.current(to.0)) {
            mpdu.mode = mode;
        }
        let contender = self.contender(radio.0, mpdu.category);
        debug_assert!(self.config.phy.supports(mpdu.mode), "{:?}", mpdu.mode);
        let (phy, limits, edca) = (self.config.phy, self.config.aggregation, &self.edca);
        let room = |mode| {
            let txop = edca[contender as usize % edca.len()].txop;
            Room::new(phy, mode, (!txop.is_zero()).then_some(txop), limits)
        };
        let own = &mut self.contenders[contender as usize];
        own.push(mpdu, room);
        // More frames for a batch that contends already change no access.
        if own.serving == Serving::Nothing {
            self.load_next(contender, now);
            let access = self.contention.access_of(contender);
            self.next_access = self.next_access.into_iter().chain(access).min();
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some(due) = self.deadline().filter(|due| *due <= now) {
            self.step(due);
            self.next_access = self.contention.next_access();
            debug_assert!(self.deadline().is_none_or(|next| next >= due), "time goes back");
        }
    }

    fn poll(&mut self, _: Instant) -> Option<Output<P>> {
        self.outputs.pop()
    }

    fn deadline(&self) -> Option<Instant> {
        match (self.next_timer(), self.next_access) {
            (Some(timer), Some(access)) => Some(timer.min(access)),
            (timer, access) => timer.or(access),
        }
    }

    fn event(&mut self) -> Option<FrameReport<P>> {
        self.reports.pop_front()
    }
}

/// The contenders of all radios, in order.
fn contenders<P>(
    config: &Config,
    edca: &[Edca],
    radios: &[RadioConfig],
    seed: Seed,
    channel: &str,
) -> Vec<Contender<P>> {
    let phy = config.phy;
    let of = |radio: &RadioConfig| {
        let stream = format!("backoff/{channel}/{}", radio.name);
        edca.iter().enumerate().map(move |(category, edca)| {
            let name = match config.edca {
                Some(_) => format!("{stream}/{category}"),
                None => stream.clone(),
            };
            Contender::new(seed, &name, phy, *edca)
        })
    };
    radios.iter().flat_map(of).collect()
}
