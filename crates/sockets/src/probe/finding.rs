//! What a measurement found, from the accounts of its sessions.

use super::session::sending;
use fairwave_probe::delay::{self, Delays};
use fairwave_probe::diagnosis::{self, Diagnosis, Limit, Policy};
use fairwave_probe::estimate::{self, SizeEstimate};
use fairwave_probe::{Account, HEADER_BYTES, HEADER_BYTES_V6, Ping};
use fairwave_units::BitRate;
use fairwave_units::stats::Estimate;
use std::net::SocketAddr;

/// Waits below this are no standing queue: CoDel's target (RFC 8289 section 4.3), in milliseconds.
pub(super) const SHORT_MS: f64 = 5.0;
/// Greetings that waited less than this share of the train's wait had a queue of their own.
const SEPARATE: f64 = 0.2;
/// Fewest greetings that say something about a queue.
const ENOUGH: usize = 5;

/// What sort of buffer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It holds so many packets of any size.
    Packets,
    /// It holds so many bytes.
    Bytes,
    /// It drops before it is full (CoDel, PIE, RED and their kind).
    Aqm,
    /// What belongs to others does not wait behind a train.
    PerStation,
    /// No buffer filled: the path carries all that was sent, or holds more than that.
    NoneFound,
}

/// A number with its 95 % confidence interval over repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How large the buffer is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buffer {
    /// Packets of the largest size sent.
    pub packets: Interval,
    /// The same in bytes of IP packets.
    pub bytes: Interval,
    /// How long the last packet of a full buffer waits, in milliseconds.
    pub ms: Interval,
}

/// Milliseconds that half of the samples, and 95 in 100, do not exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
}

/// Round trips, and how many were lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// `None` where nothing was answered.
    pub ms: Option<Percentiles>,
    /// Greetings sent.
    pub sent: usize,
    /// Greetings that were not answered.
    pub lost: usize,
}

/// What is known so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The rate that both ends allowed.
    pub rate: Option<BitRate>,
    /// How large the buffer is; `None` if none filled.
    pub buffer: Option<Buffer>,
    /// What sort it is; `None` if that cannot be told.
    pub kind: Option<Kind>,
    /// The numbers behind `kind`.
    pub evidence: Vec<String>,
    /// What the path carries, in Mbps of IP packets; `None` if that is not less than what is sent.
    pub drain_mbps: Option<f64>,
    /// Round trips while nothing else is sent.
    pub idle: Latency,
    /// Round trips behind a full buffer on the way to the server.
    pub up: Latency,
    /// Share of packets apart that were lost on the way to the server.
    pub loss_up: Option<f64>,
    /// How much faster the server's clock goes, in millionths.
    pub drift_ppm: f64,
    /// Datagrams that waited in this host's own socket: with many, its own link is the narrowest.
    pub blocked: u64,
    /// The packets of each trial.
    pub delays: Vec<Delays>,
}

/// Bytes of an IP packet with this payload.
pub(super) const fn ip_bytes(payload_bytes: u32, server: SocketAddr) -> u64 {
    let header = if server.is_ipv4() { HEADER_BYTES } else { HEADER_BYTES_V6 };
    payload_bytes as u64 + header
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
    /// Of greetings, all or some.
    pub(super) fn of(pings: impl Iterator<Item = Ping>) -> Self {
        let round_trips: Vec<_> = pings.map(Ping::round_trip).collect();
        let mut ms: Vec<f64> =
            round_trips.iter().flatten().map(|time| time.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        // The value that this share of the samples does not exceed.
        let at = |share: f64| ms.get(((ms.len() as f64 * share).ceil() as usize).max(1) - 1);
        let percentiles =
            at(0.5).zip(at(0.95)).map(|(p50, p95)| Percentiles { p50: *p50, p95: *p95 });
        Self { ms: percentiles, sent: round_trips.len(), lost: round_trips.len() - ms.len() }
    }
}

impl Measured {
    /// Takes what trains of all sizes came to.
    pub(super) fn take_trains(&mut self, accounts: &[Account], server: SocketAddr) {
        self.delays = delay::delays(accounts);
        self.drift_ppm = delay::drift_ppm(accounts);
        let apart = self.delays.iter().map(Delays::lost_apart);
        let (sent, lost) = apart.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        self.loss_up = (sent > 0).then(|| lost as f64 / sent as f64);
        let sizes = estimate::by_size(accounts);
        if let Some(largest) = sizes.iter().max_by_key(|size| size.payload_bytes) {
            self.take_largest(largest, accounts, ip_bytes(largest.payload_bytes, server));
        }
        let diagnosis = diagnosis::diagnose(accounts);
        self.evidence = vec![diagnosis.limit.evidence.clone(), diagnosis.policy.evidence.clone()];
        self.kind = self.kind_by(&diagnosis);
    }

    fn take_largest(&mut self, size: &SizeEstimate, accounts: &[Account], bytes: u64) {
        let narrow = size.sent_rate.zip(size.drain_rate);
        let narrow = narrow.filter(|(sent, drained)| drained.mean < 0.97 * sent);
        self.drain_mbps = narrow.map(|(_, drained)| drained.mean * bytes as f64 * 8.0 / 1e6);
        let drift = self.drift_ppm / 1e6;
        let filled = accounts.iter().filter(|account| {
            account.trial.payload_bytes == size.payload_bytes
                && estimate::fill(account, drift).is_some()
        });
        let waits: Vec<f64> = filled
            .filter_map(|a| Some(delay::delays(std::slice::from_ref(a)).first()?.longest_ms))
            .collect();
        self.buffer = size.waiting.zip(Estimate::of(&waits)).map(|(packets, ms)| {
            let packets = Interval::of(packets);
            Buffer { packets, bytes: packets.times(bytes as f64), ms: Interval::of(ms) }
        });
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

    /// Takes greetings beside a long train. What was sent in its second half met a full buffer.
    pub(super) fn take_load(&mut self, train: Option<&Account>, pings: &[Ping]) {
        let Some((account, (first, last))) = train.and_then(|a| Some((a, sending(a)?))) else {
            return;
        };
        let middle = first + fairwave_units::Duration::from_nanos(last.since(first).as_nanos() / 2);
        let during = pings.iter().filter(|ping| ping.sent >= middle && ping.sent <= last);
        self.up = Latency::of(during.copied());
        let wait = delay::delays(std::slice::from_ref(account)).first().map(|d| d.longest_ms);
        let (Some(wait), Some(up), Some(idle)) = (wait, self.up.ms, self.idle.ms) else { return };
        let waited = up.p50 - idle.p50;
        self.evidence.push(format!(
            "packets of another flow waited {waited:.1} ms beside a train whose packets waited \
             {wait:.1} ms"
        ));
        let answered = self.up.sent - self.up.lost;
        let is_apart = wait > SHORT_MS && waited < SEPARATE * wait && answered >= ENOUGH;
        if is_apart && self.kind != Some(Kind::Aqm) {
            self.kind = Some(Kind::PerStation);
        }
    }
}
