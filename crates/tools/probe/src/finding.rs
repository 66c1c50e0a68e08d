//! Results of a measurement, from the accounts of its sessions.

use super::beside::Beside;
use super::leg::{self, Leg};
use super::session::under_way;
use super::sizes::{LARGE, Percentiles, ip_bytes, largest};
use fairwave_probe::delay::{self, Delays};
use fairwave_probe::diagnosis::{self, Contention, Diagnosis, Limit, Policy};
use fairwave_probe::estimate::{self, SizeEstimate};
use fairwave_probe::{Account, Ping, Way};
use fairwave_units::stats::Estimate;
use fairwave_units::{BitRate, Duration, Instant};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::SocketAddr;

/// Waits below this do not show a standing queue: CoDel's target (RFC 8289 section 4.3), in
/// milliseconds.
pub(super) const SHORT_MS: f64 = 5.0;
/// Pings that waited less than this share of the train's wait had a separate queue.
const SEPARATE: f64 = 0.2;
/// Minimum number of pings from which a queue is judged.
pub(super) const ENOUGH: usize = 5;

/// A load counts as held back if it was sent at less than this share of its intended rate.
const AS_ASKED: f64 = 0.8;

/// Kind of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its limit is a number of packets of any size.
    Packets,
    /// Its limit is a number of bytes.
    Bytes,
    /// Active queue management drops packets before it is full (CoDel, PIE, RED and similar).
    Aqm,
    /// Packets of other flows do not wait behind a train.
    PerStation,
    /// No buffer filled: the path carries all that was sent, or its buffer holds more.
    NoneFound,
}

/// A mean over trains with Student's t interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "IntervalOutput")]
pub struct Interval {
    /// The mean.
    #[schemars(extend("unit" = "that of the field"))]
    pub value: f64,
    /// Lower end of the interval.
    #[schemars(extend("unit" = "that of the field"))]
    pub low: f64,
    /// Upper end of the interval.
    #[schemars(extend("unit" = "that of the field"))]
    pub high: f64,
}

/// Size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "BufferOutput")]
pub struct Buffer {
    /// Packets of `packet_bytes`. The interval's upper end is one packet higher than that over
    /// trains, and of a path that aggregates one A-MPDU: whether the limit counts what is being
    /// sent is unknown.
    pub packets: Interval,
    /// Size in bytes of IP packets.
    pub bytes: Interval,
    /// Wait behind the full buffer in milliseconds: the 90th percentile of the waits in a train, as
    /// a mean over the trains that filled the buffer.
    pub ms: Interval,
}

/// Round-trip times, and the number of lost pings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Percentiles; `None` if no ping was answered.
    pub ms: Option<Percentiles>,
    /// Pings sent.
    pub sent: usize,
    /// Pings that were not answered.
    pub lost: usize,
}

/// Load of the path while round-trip times are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// This host sends more than the path carries.
    Up,
    /// The server sends more than the path carries.
    Down,
    /// Both send more than the path carries.
    Both,
}

/// Results so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Whether the buffer on the way to the server or on the way back is measured.
    pub way: Way,
    /// The server.
    pub server: SocketAddr,
    /// The rate that both ends allow.
    pub rate: Option<BitRate>,
    /// Length of the large IP packets.
    pub packet_bytes: u64,
    /// Whether these are shorter than usual, as the path does not carry the usual ones.
    pub is_shortened: bool,
    /// Mean number of packets that the path delivers together, as an A-MPDU; 1 where they come one
    /// by one.
    pub burst: f64,
    /// Whether the buffer was drained unevenly, as where others send through it.
    pub is_beside: bool,
    /// Size of the buffer; `None` if none filled, or if it drops packets before it is full.
    pub buffer: Option<Buffer>,
    /// Packets of a train before the first that is missing, over the trains of large packets: the
    /// buffer as Ando, Murase and Oguchi count it (section 3). Packets that left meanwhile count.
    pub before_gap: Option<Interval>,
    /// Its kind; `None` if it cannot be determined.
    pub kind: Option<Kind>,
    /// The numbers behind `kind`.
    pub evidence: Vec<String>,
    /// Round-trip times on an idle path.
    pub idle: Latency,
    /// Round-trip times behind a full buffer on the way to the server.
    pub up: Latency,
    /// Round-trip times behind a full buffer on the way back.
    pub down: Latency,
    /// Round-trip times behind full buffers both ways.
    pub both: Latency,
    /// Half of the fastest round-trip time in milliseconds: the minimum delay of one way, if both
    /// have the same.
    pub fastest_ms: Option<f64>,
    /// The way to the server.
    pub there: Leg,
    /// The way back.
    pub back: Leg,
    /// Rate by which the server's clock is faster, in millionths.
    pub drift_ppm: f64,
    /// Datagrams that waited in this host's own socket: many of them show that its own link is the
    /// narrowest.
    pub blocked: u64,
    /// Loads that were sent more slowly than intended.
    pub held_back: Vec<HeldBack>,
    /// The packet delays of each trial that measured the buffer.
    pub delays: Vec<Delays>,
}

/// A load whose sender was slower than intended, so that a buffer may have run empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldBack {
    /// The load.
    pub loaded: Loaded,
    /// Direction of the load: to the server this host sends, back from it the server.
    pub way: Way,
    /// Rate of the IP packets that were sent, in Mbps.
    pub sent_mbps: f64,
    /// Intended rate of the IP packets, in Mbps.
    pub requested_mbps: f64,
}

impl Interval {
    fn of(estimate: Estimate) -> Self {
        Self { value: estimate.mean, low: estimate.low().max(0.0), high: estimate.high() }
    }

    fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }
}

impl Latency {
    /// Computes the percentiles and losses of pings.
    pub(super) fn of(pings: impl Iterator<Item = Ping>) -> Self {
        let round_trips: Vec<_> = pings.map(Ping::round_trip).collect();
        let mut ms: Vec<f64> =
            round_trips.iter().flatten().map(|time| time.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        Self {
            ms: Percentiles::of_sorted(&ms),
            sent: round_trips.len(),
            lost: round_trips.len() - ms.len(),
        }
    }

    /// Number of pings that were answered.
    pub(super) const fn answered(&self) -> usize {
        self.sent - self.lost
    }
}

impl Loaded {
    /// All loads, in the order in which they are measured.
    pub const ALL: [Self; 3] = [Self::Up, Self::Down, Self::Both];

    /// The loaded directions.
    pub(super) const fn ways(self) -> &'static [Way] {
        match self {
            Self::Up => &[Way::There],
            Self::Down => &[Way::Back],
            Self::Both => &[Way::There, Way::Back],
        }
    }
}

impl Measured {
    /// Starts without results.
    pub fn new(way: Way, server: SocketAddr) -> Self {
        Self {
            way,
            server,
            rate: None,
            packet_bytes: ip_bytes(LARGE, server),
            is_shortened: false,
            burst: 1.0,
            is_beside: false,
            buffer: None,
            before_gap: None,
            kind: None,
            evidence: Vec::new(),
            idle: Latency::default(),
            up: Latency::default(),
            down: Latency::default(),
            both: Latency::default(),
            fastest_ms: None,
            there: Leg::default(),
            back: Leg::default(),
            drift_ppm: 0.0,
            blocked: 0,
            held_back: Vec::new(),
            delays: Vec::new(),
        }
    }

    /// The results of one direction.
    pub const fn leg(&self, way: Way) -> &Leg {
        match way {
            Way::There => &self.there,
            Way::Back => &self.back,
        }
    }

    /// Rate of the narrowest link on the way whose buffer is measured, in Mbps of IP packets;
    /// `None` if it is not below the sending rate.
    pub const fn drain_mbps(&self) -> Option<f64> {
        self.leg(self.way).carried_mbps
    }

    /// Evaluates pings on an idle path.
    pub(super) fn take_idle(&mut self, pings: &[Ping]) {
        self.idle = Latency::of(pings.iter().copied());
        let fastest = pings.iter().filter_map(|ping| ping.round_trip()).min();
        self.fastest_ms = fastest.map(|time| time.as_secs_f64() * 1e3 / 2.0);
    }

    /// Evaluates the accounts of trains of all sizes.
    pub(super) fn take_trains(&mut self, way: Way, accounts: &[Account]) {
        if accounts.is_empty() {
            return;
        }
        let server = self.server;
        match way {
            Way::There => self.there.take(accounts, server),
            Way::Back => self.back.take(accounts, server),
        }
        if way == self.way {
            self.take_buffer(accounts);
        }
    }

    /// Evaluates the trains for the measured buffer.
    fn take_buffer(&mut self, accounts: &[Account]) {
        self.delays = delay::delays(accounts);
        let drift_ppm = delay::drift_ppm(accounts);
        // The drift is that of the receiver's clock relative to the sender's; on the way back the
        // server is the sender.
        self.drift_ppm = if self.way == Way::There { drift_ppm } else { -drift_ppm };
        if let Some(largest) = largest(accounts) {
            let bytes = ip_bytes(largest.payload_bytes, self.server);
            self.buffer = buffer(&largest, accounts, bytes, drift_ppm / 1e6);
            self.before_gap = largest.naive.map(Interval::of);
            self.burst = largest.burst.map_or(1.0, |burst| burst.mean);
        }
        let diagnosis = diagnosis::diagnose(accounts);
        self.evidence = vec![diagnosis.limit.evidence.clone(), diagnosis.policy.evidence.clone()];
        self.is_beside = diagnosis.contention.verdict == Some(Contention::Beside);
        self.evidence.push(diagnosis.contention.evidence.clone());
        self.kind = self.kind_by(&diagnosis);
        if self.kind == Some(Kind::Aqm) {
            // The wait at a drop is the threshold of the queue management, and not the size of the
            // buffer.
            self.buffer = None;
        }
    }

    fn kind_by(&self, diagnosis: &Diagnosis) -> Option<Kind> {
        match (self.buffer, diagnosis.policy.verdict, diagnosis.limit.verdict) {
            (_, Some(Policy::Aqm), _) => Some(Kind::Aqm),
            (None, ..) => Some(Kind::NoneFound),
            (_, _, Some(Limit::Packets)) => Some(Kind::Packets),
            (_, _, Some(Limit::Bytes)) => Some(Kind::Bytes),
            _ => None,
        }
    }

    /// Evaluates pings beside long trains. Those of the second half of the time in which all trains
    /// were under way met full buffers.
    pub(super) fn take_load(&mut self, loaded: Loaded, trains: &[(Way, &Account)], pings: &[Ping]) {
        let times = trains.iter().filter_map(|(way, train)| under_way(*way, train));
        let together = |a: (Instant, Instant), b: (Instant, Instant)| (a.0.max(b.0), a.1.min(b.1));
        let Some((begin, until)) = times.reduce(together) else { return };
        let since = begin + Duration::from_nanos(until.since(begin).as_nanos() / 2);
        let during = pings.iter().filter(|ping| ping.sent >= since && ping.sent <= until);
        let during: Vec<Ping> = during.copied().collect();
        let latency = Latency::of(during.iter().copied());
        let alone = trains.first().filter(|(way, _)| *way == self.way && trains.len() == 1);
        if let Some((way, train)) = alone {
            self.compare(*way, train, &during);
        }
        match loaded {
            Loaded::Up => self.up = latency,
            Loaded::Down => self.down = latency,
            Loaded::Both => self.both = latency,
        }
    }

    /// Records the sending rate of a train that loaded a way; it replaces an earlier record of the
    /// same load.
    pub(super) fn take_speed(
        &mut self,
        loaded: Loaded,
        way: Way,
        train: &Account,
        requested: BitRate,
    ) {
        self.held_back.retain(|held| (held.loaded, held.way) != (loaded, way));
        let Some(sent_mbps) = leg::sent_mbps(train, self.server) else { return };
        let requested_mbps = requested.as_mbps_f64();
        if sent_mbps < AS_ASKED * requested_mbps {
            self.held_back.push(HeldBack { loaded, way, sent_mbps, requested_mbps });
        }
    }

    /// Compares the waits of another flow's packets with those of the train.
    fn compare(&mut self, way: Way, train: &Account, pings: &[Ping]) {
        let Some(idle) = self.idle.ms else { return };
        let Some(found) = Beside::of(way, train, pings, idle.p50) else { return };
        let Beside { pairs, greetings_ms, train_ms } = found;
        self.evidence.push(format!(
            "packets of another flow waited {greetings_ms:.1} ms beside packets of the train that \
             waited {train_ms:.1} ms"
        ));
        let is_apart = train_ms > SHORT_MS && greetings_ms < SEPARATE * train_ms && pairs >= ENOUGH;
        if is_apart && self.kind != Some(Kind::Aqm) {
            self.kind = Some(Kind::PerStation);
        }
    }
}

fn buffer(size: &SizeEstimate, accounts: &[Account], bytes: u64, drift: f64) -> Option<Buffer> {
    let filled = accounts.iter().filter(|account| {
        account.trial.payload_bytes == size.payload_bytes
            && estimate::fill(account, drift).is_some()
    });
    let waits: Vec<f64> = filled
        .filter_map(|a| Some(delay::delays(std::slice::from_ref(a)).first()?.longest_ms))
        .collect();
    let counted = Interval::of(size.waiting?);
    // A radio has removed the packets in service from the buffer, a shaper sends its one from
    // there. The two cannot be distinguished from outside, and the estimate assumes a radio.
    let in_service = size.burst.map_or(1.0, |burst| burst.mean);
    let packets = Interval { high: counted.high + in_service, ..counted };
    let ms = Interval::of(Estimate::of(&waits)?);
    Some(Buffer { packets, bytes: packets.times(bytes as f64), ms })
}
