//! Types of the output of `fairwave dccp --json`.

use fairwave_dccp::ccid::{ReceiverStats, SenderStats};
use fairwave_dccp::tfrc::equation::throughput;
use fairwave_dccp_host::{Account, Change, Cookies, Notice};
use fairwave_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Output of `fairwave dccp send HOST --json` and `dccp serve --json`.
#[derive(Serialize, JsonSchema)]
pub struct DccpOutput {
    /// `sender` or `receiver` of application data.
    pub role: String,
    /// `ip`: protocol 33; `udp`: inside UDP.
    pub over: String,
    /// The established connections, in the order in which they ended: the first 1000.
    pub connections: Vec<ConnectionOutput>,
    /// Numbers of connections and samples that the list lacks.
    pub left_out: LeftOutOutput,
    /// Datagrams that were not answered: no DCCP packet, damaged, for another port, or from a new
    /// peer while there was no room for another connection.
    pub ignored: u64,
    /// Datagrams that arrived while the socket's receive buffer of this host was full.
    pub dropped_here: u64,
    /// Datagrams that the kernel of this host refused to send.
    pub refused: u64,
    /// Handshakes for which a server kept no state, as too many others were not complete.
    pub cookies: CookiesOutput,
    /// Reason why there was no connection; null if there was one.
    pub error: Option<String>,
}

/// Numbers of entries that an output lacks, so that a server may run for any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOutOutput {
    /// Connections after the first 1000.
    pub connections: u64,
    /// Samples after the first 100,000 of all connections, and those of connections left out.
    pub samples: u64,
}

/// Init Cookies (RFC 4340 section 8.1.4) of a server.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CookiesOutput {
    /// Requests answered with a cookie.
    pub sent: u64,
    /// Cookies returned by clients that opened a connection.
    pub returned: u64,
    /// Cookies that were forged, changed or too old.
    pub refused: u64,
    /// Maximum number of connections at one time whose handshake was not complete.
    pub half_open_max: u64,
}

impl From<Cookies> for CookiesOutput {
    fn from(cookies: Cookies) -> Self {
        let Cookies { sent, returned, refused, half_open_max } = cookies;
        Self { sent, returned, refused, half_open_max }
    }
}

/// One connection.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ConnectionOutput {
    /// Address and port of the other end.
    pub peer: String,
    /// Congestion control (CCID) of data sent by this end.
    pub ccid: u8,
    /// Congestion control (CCID) of data sent by the other end.
    pub peer_ccid: u8,
    /// End of the connection: `closed`, or the reason why it did not close in good order.
    pub ended: String,
    /// Whether it ended in good order.
    pub is_good: bool,
    /// Time for which data were sent, or from the first to the last datagram that arrived.
    #[schemars(extend("unit" = "seconds"))]
    pub seconds: f64,
    /// Datagrams with application data that were sent, or that arrived.
    pub datagrams: u64,
    /// Their application data in bytes.
    pub bytes: u64,
    /// Application data per second.
    #[schemars(extend("unit" = "megabits per second"))]
    pub rate_mbps: f64,
    /// Datagrams with application data in the other direction.
    pub back_datagrams: u64,
    /// Their application data in bytes.
    pub back_bytes: u64,
    /// Application data in the other direction per second.
    #[schemars(extend("unit" = "megabits per second"))]
    pub back_mbps: f64,
    /// Datagrams of the application that did not fit into the send queue.
    pub unsent: u64,
    /// Packets of the other end that never arrived, by their sequence numbers.
    pub missing: u64,
    /// State of congestion control at the end.
    pub known: KnownOutput,
    /// Times that the address of this host changed or the peer was lost, and the connection was
    /// established again.
    pub restored: u64,
    /// Largest packet of DCCP in bytes, header included, that is known to get through the path
    /// whole; null over IP, where it is not searched.
    #[schemars(extend("unit" = "bytes"))]
    pub path_bytes: Option<u32>,
    /// Changes of the way to the peer: handovers.
    pub handovers: Vec<HandoverOutput>,
    /// The connection over time.
    pub samples: Vec<SampleOutput>,
}

/// A change of the way to the peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoverOutput {
    /// Time since the handshake, or since the relay started.
    #[schemars(extend("unit" = "seconds"))]
    pub at_s: f64,
    /// `lost`: no carrier, association or route; `back`: there is a way again; `roamed`: another
    /// access point; `moved`: this host has another address, and a new connection.
    pub change: String,
}

impl HandoverOutput {
    /// A notice as output; times count from `start`.
    pub(crate) fn of(notice: &Notice, start: Instant) -> Self {
        let change = match notice.change {
            Change::Lost => "lost",
            Change::Back => "back",
            Change::Roamed => "roamed",
            Change::Moved => "moved",
        };
        Self { at_s: notice.at.since(start).as_secs_f64(), change: change.to_owned() }
    }
}

/// State of congestion control: the sender's for a sender, otherwise the receiver's.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct KnownOutput {
    /// Loss event rate p of TFRC (CCID 3 and 4); null for others.
    #[schemars(extend("unit" = "loss events per packet"))]
    pub loss_event_rate: Option<f64>,
    /// Smoothed round-trip time; null if unknown.
    #[schemars(extend("unit" = "milliseconds"))]
    pub rtt_ms: Option<f64>,
    /// Rate X that TFRC allows; null for others and for receivers.
    #[schemars(extend("unit" = "megabits per second"))]
    pub allowed_mbps: Option<f64>,
    /// Rate X_recv in the receiver's most recent report; null for others than TFRC.
    #[schemars(extend("unit" = "megabits per second"))]
    pub receive_mbps: Option<f64>,
    /// Rate from the throughput equation of RFC 5348 for p and the round-trip time above and the
    /// size of the datagrams; null without loss and for others than senders of TFRC.
    #[schemars(extend("unit" = "megabits per second"))]
    pub equation_mbps: Option<f64>,
    /// Congestion window of CCID 2; null for others.
    #[schemars(extend("unit" = "packets"))]
    pub cwnd: Option<u32>,
    /// Number of times the sender slowed down because of losses or marks; null for receivers.
    pub congestion_events: Option<u64>,
}

/// State of a connection at one time.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub struct SampleOutput {
    /// Time since the handshake.
    #[schemars(extend("unit" = "seconds"))]
    pub at_s: f64,
    /// Application data per second since the previous sample.
    #[schemars(extend("unit" = "megabits per second"))]
    pub rate_mbps: f64,
    /// The same in the other direction.
    #[schemars(extend("unit" = "megabits per second"))]
    pub back_mbps: f64,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "the schema of a sample would have it as its description")]
    pub known: KnownOutput,
}

/// Figures of `dccp send` and `dccp serve` while they run, for other programs.
#[derive(Serialize)]
pub(crate) struct LiveOutput {
    /// As in [`DccpOutput`].
    pub(crate) role: &'static str,
    /// As in [`DccpOutput`].
    pub(crate) over: &'static str,
    /// The open connections.
    pub(crate) connections: Vec<LiveConnection>,
    /// Number of connections that ended.
    pub(crate) ended: usize,
}

/// An open connection.
#[derive(Serialize)]
pub(crate) struct LiveConnection {
    pub(crate) peer: String,
    /// Its latest sample.
    #[serde(flatten)]
    pub(crate) sample: SampleOutput,
}

/// A connection while it is open.
pub(crate) struct Watched {
    pub(crate) peer: String,
    is_sender: bool,
    /// Application data of a datagram in bytes, for the equation.
    size: u32,
    last: (Instant, [u64; 2]),
    pub(crate) samples: Vec<SampleOutput>,
}

pub(crate) fn mbps(bytes_per_second: f64) -> f64 {
    bytes_per_second * 8.0 / 1e6
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Datagrams and bytes of application data.
#[derive(Clone, Copy)]
struct Carried {
    datagrams: u64,
    bytes: u64,
}

/// Data sent, and data delivered.
fn carried(account: &Account) -> [Carried; 2] {
    let stats = &account.stats;
    [
        Carried { datagrams: stats.data_packets_sent, bytes: stats.data_bytes_sent },
        Carried { datagrams: stats.data_packets_delivered, bytes: stats.data_bytes_delivered },
    ]
}

impl KnownOutput {
    /// State of a sender of datagrams of `size` bytes.
    pub(crate) fn of_sender(known: &SenderStats, size: u32) -> Self {
        let loss = known.loss_event_rate.filter(|p| *p > 0.0);
        let equation = loss
            .zip(known.rtt)
            .filter(|_| size > 0)
            .map(|(p, rtt)| mbps(throughput(f64::from(size), rtt.as_secs_f64().max(1e-6), p)));
        Self {
            loss_event_rate: known.loss_event_rate,
            rtt_ms: known.rtt.map(ms),
            allowed_mbps: known.rate.map(mbps),
            receive_mbps: known.receive_rate.map(mbps),
            equation_mbps: equation,
            cwnd: known.cwnd,
            congestion_events: Some(known.congestion_events),
        }
    }

    /// State of a receiver.
    pub(crate) fn of_receiver(known: &ReceiverStats) -> Self {
        Self {
            loss_event_rate: known.loss_event_rate,
            rtt_ms: known.rtt.map(ms),
            receive_mbps: known.receive_rate.map(mbps),
            ..Self::default()
        }
    }
}

impl Watched {
    /// A connection that was just established.
    pub(crate) fn new(peer: String, now: Instant, is_sender: bool, size: u32) -> Self {
        Self { peer, is_sender, size, last: (now, [0; 2]), samples: Vec::new() }
    }

    /// Takes a sample at `now`.
    pub(crate) fn sample(&mut self, now: Instant, account: &Account) -> SampleOutput {
        let bytes = self.directions(account).map(|one| one.bytes);
        let (before, last) = self.last;
        let seconds = now.since(before).as_secs_f64().max(1e-9);
        let began = account.established.unwrap_or(now);
        let rate = |of: usize| mbps((bytes[of] - last[of]) as f64 / seconds);
        let sample = SampleOutput {
            at_s: now.since(began).as_secs_f64(),
            rate_mbps: rate(0),
            back_mbps: rate(1),
            known: self.known(account),
        };
        self.last = (now, bytes);
        sample
    }

    /// Data of the main direction, and of the other one.
    fn directions(&self, account: &Account) -> [Carried; 2] {
        let [sent, delivered] = carried(account);
        if self.is_sender { [sent, delivered] } else { [delivered, sent] }
    }

    fn known(&self, account: &Account) -> KnownOutput {
        match self.is_sender {
            true => KnownOutput::of_sender(&account.stats.sender.unwrap_or_default(), self.size),
            false => KnownOutput::of_receiver(&account.stats.receiver.unwrap_or_default()),
        }
    }

    /// The output for the connection after its end.
    pub(crate) fn ended(self, now: Instant, account: &Account, ended: &str) -> ConnectionOutput {
        let [main, back] = self.directions(account);
        let sending = account.established.map_or(Duration::ZERO, |at| now.since(at));
        let arriving = account.arrived.map_or(Duration::ZERO, |(first, last)| last.since(first));
        let [seconds, back_seconds] =
            if self.is_sender { [sending, arriving] } else { [arriving, sending] };
        let rate = |carried: Carried, time: Duration| match time.is_zero() {
            true => 0.0,
            false => mbps(carried.bytes as f64 / time.as_secs_f64()),
        };
        ConnectionOutput {
            ccid: account.profiles.0,
            peer_ccid: account.profiles.1,
            ended: ended.to_owned(),
            is_good: ended == "closed",
            seconds: seconds.as_secs_f64(),
            datagrams: main.datagrams,
            bytes: main.bytes,
            rate_mbps: rate(main, seconds),
            back_datagrams: back.datagrams,
            back_bytes: back.bytes,
            back_mbps: rate(back, back_seconds),
            unsent: account.stats.unsent,
            missing: account.missing,
            known: self.known(account),
            restored: account.restored,
            path_bytes: account.path_size,
            handovers: Vec::new(),
            samples: self.samples,
            peer: self.peer,
        }
    }
}
