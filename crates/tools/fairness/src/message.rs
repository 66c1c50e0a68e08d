//! Messages between host and server, as JSON in sealed frames. A peer with the key may still send
//! false values: they are checked where they are used.

use super::path::Path;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Maximum number of bytes of a name.
pub(super) const LONGEST_NAME: usize = 32;
/// Maximum number of hosts of a run.
pub(super) const MAX_HOSTS: u16 = 32;
/// Maximum number of flows of a host in one direction.
const MAX_PARALLEL: u16 = 64;
/// Maximum number of intervals of a host in all repetitions and flows.
const MAX_BINS: u64 = 200_000;
/// Shortest interval: below it, a count depends more on the scheduler than on the network.
const SHORTEST_INTERVAL_NS: u64 = 10_000_000;

/// Traffic of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// From the host to the server.
    pub up: bool,
    /// From the server to the host.
    pub down: bool,
    /// Flows in each direction.
    pub parallel: u16,
    /// Transport of the flows.
    pub protocol: Protocol,
}

impl Traffic {
    /// The part of it in one repetition.
    pub(super) fn of(&self, part: Part) -> Self {
        let (up, down, parallel) = match part {
            Part::All => (self.up, self.down, self.parallel),
            Part::Alone => (self.up, self.down && !self.up, 1),
            Part::Rest => (false, false, self.parallel),
        };
        Self { up, down, parallel, protocol: self.protocol.clone() }
    }
}

/// Part of a host in a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Part {
    /// All of its flows, beside those of the other hosts.
    #[default]
    All,
    /// One flow, beside no other.
    Alone,
    /// No flow, while another host has its one.
    Rest,
}

/// Transport of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// The kernel's TCP.
    Tcp {
        /// Congestion control algorithm of the sender; `None` for the system's default.
        algorithm: Option<String>,
        /// Pacing rate of each flow in bits per second; `None` for no pacing.
        rate_bps: Option<u64>,
        /// Buffer size requested at both ends in bytes, of which the kernel allocates twice as
        /// much; `None` for automatic sizes.
        buffer_bytes: Option<u32>,
    },
    /// Datagrams at a constant rate.
    Udp {
        /// Payload rate of each flow in bits per second.
        rate_bps: u64,
    },
}

/// Terms that all hosts of a run share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Number of hosts that start together.
    pub hosts: u16,
    /// Duration of a repetition in nanoseconds.
    pub duration_ns: u64,
    /// Length of the counting intervals in nanoseconds.
    pub interval_ns: u64,
    /// Number of repetitions.
    pub repetitions: u16,
}

impl Terms {
    /// Number of intervals of a repetition.
    pub const fn bins(&self) -> u64 {
        self.duration_ns / self.interval_ns
    }

    /// The fault of the terms for a host with this traffic; `None` if they are valid.
    pub fn fault(&self, traffic: &Traffic) -> Option<&'static str> {
        let directions = u64::from(traffic.up) + u64::from(traffic.down);
        let flows = directions * u64::from(traffic.parallel);
        let fault = if self.interval_ns < SHORTEST_INTERVAL_NS {
            "the interval is shorter than 10 ms"
        } else if self.duration_ns == 0 || !self.duration_ns.is_multiple_of(self.interval_ns) {
            "the time is no whole number of intervals"
        } else if self.hosts == 0 || self.hosts > MAX_HOSTS {
            "a run has between 1 and 32 hosts"
        } else if self.repetitions == 0 {
            "a run has at least one repetition"
        } else if flows == 0 || traffic.parallel > MAX_PARALLEL {
            "a host has between 1 and 64 flows in each direction"
        } else if self.bins().saturating_mul(flows * u64::from(self.repetitions)) > MAX_BINS {
            "more than 200,000 intervals in all flows and repetitions: make them longer"
        } else if matches!(traffic.protocol, Protocol::Udp { rate_bps: 0 }) {
            "a rate of 0"
        } else {
            return None;
        };
        Some(fault)
    }
}

/// Whether a name is valid in tables and files.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits)
}

/// Limits of a server for each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Rate of all flows of one direction together in bits per second; `None` for no limit.
    pub rate_bps: Option<u64>,
    /// Payload in bytes, both directions and all repetitions together.
    pub bytes: u64,
    /// Length of all repetitions together in nanoseconds.
    pub time_ns: u64,
}

impl Limits {
    /// The requested traffic, reduced to the limits.
    pub(super) fn applied(&self, mut traffic: Traffic) -> Traffic {
        let Some(maximum) = self.rate_bps else { return traffic };
        let each = (maximum / u64::from(traffic.parallel.max(1))).max(1);
        match &mut traffic.protocol {
            Protocol::Udp { rate_bps } => *rate_bps = each.min(*rate_bps),
            Protocol::Tcp { rate_bps, .. } => {
                *rate_bps = Some(rate_bps.map_or(each, |r| r.min(each)));
            }
        }
        traffic
    }
}

/// The request of a host to take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Join {
    pub(super) name: String,
    pub(super) traffic: Traffic,
    pub(super) terms: Terms,
    /// Whether one flow of the host is measured alone before the repetitions.
    #[serde(default)]
    pub(super) alone: bool,
}

/// Reason for which a server refuses a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// A run is under way.
    Busy,
    /// The first host has chosen other terms.
    Terms(Terms),
    /// Another host has the name.
    Name,
    /// The server's kernel does not offer this congestion control algorithm; it offers these.
    Law(String),
    /// The server allows less time, in nanoseconds.
    Time(u64),
    /// The request is not valid.
    Fault(String),
}

/// Ending of a station's repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It ended as agreed.
    Complete,
    /// Its user interrupted it.
    Left,
    /// It fell silent.
    Gone,
    /// The bytes that the server grants were used up.
    UsedUp,
    /// It is not over, or the server is gone; the counts are those so far.
    Open,
}

/// Measurements of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// From the host to the server.
    pub is_up: bool,
    /// Payload in bytes by interval.
    pub bytes: Vec<u64>,
    /// Whether the receiver counted the bytes. Otherwise the sender counted them when it passed
    /// them to its kernel.
    pub by_receiver: bool,
    /// Congestion control algorithm of the sender, if known; `None` for UDP.
    pub algorithm: Option<String>,
    /// Datagrams sent, up to the last received one; `None` for TCP.
    pub datagrams: Option<u64>,
    /// Datagrams that were lost; `None` for TCP.
    pub lost: Option<u64>,
    /// Whether the connection broke before the end.
    pub is_broken: bool,
    /// Samples of its path.
    #[serde(default)]
    pub path: Path,
}

/// Sample of a station's radio at the end of an interval; `None` for values that its driver does
/// not report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioSample {
    /// Signal strength of the last frame of the access point in dBm.
    pub signal_dbm: Option<i8>,
    /// Rate of the last frame sent in kilobits per second.
    pub tx_kbps: Option<u32>,
    /// Rate of the last frame received in kilobits per second.
    pub rx_kbps: Option<u32>,
    /// Retries of frames in the interval.
    pub retries: Option<u32>,
    /// Frames that were abandoned in the interval.
    pub failed: Option<u32>,
    /// Airtime of frames from and to the access point in the interval, in microseconds.
    pub airtime_us: Option<u64>,
}

/// Measurements of a host in a repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// The address that the server sees.
    pub address: IpAddr,
    /// Its traffic within the server's limits.
    pub traffic: Traffic,
    /// Maximum error of its clock's offset to the server's, in nanoseconds.
    pub clock_error_ns: u64,
    /// Delay of its start after the agreed time, in nanoseconds of its own clock.
    pub late_ns: u64,
    /// Its flows: those up first.
    pub flows: Vec<Flow>,
    /// Samples of its radio by interval; empty without one.
    pub radio: Vec<RadioSample>,
    /// Its ending.
    pub ending: Ending,
}

/// Measurements of all stations in a repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetition {
    /// Its number, from 0; repetitions of one flow alone are counted apart.
    pub number: u16,
    /// Whether it had one flow of one station alone.
    #[serde(default)]
    pub is_alone: bool,
    /// The stations in the order in which they joined.
    pub stations: Vec<Station>,
}

/// Counts of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) late_ns: u64,
    /// Congestion control algorithm of each flow to the server.
    pub(super) laws_up: Vec<Option<String>>,
    /// Samples of the path of each flow to the server.
    #[serde(default)]
    pub(super) paths_up: Vec<Path>,
    pub(super) down: Vec<Flow>,
    pub(super) radio: Vec<RadioSample>,
}

/// Messages from a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ToServer {
    Join(Join),
    Ping { sent_ns: u64 },
    Ready { clock_error_ns: u64, rtt_ns: u64 },
    Report(Report),
    Leave(Report),
}

/// Messages from the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ToHost {
    Joined {
        session: u64,
        limits: Limits,
    },
    Refused(Refusal),
    Waiting {
        here: u16,
    },
    Pong {
        sent_ns: u64,
        server_ns: u64,
    },
    /// The number distinguishes the flows of one repetition from those of the next.
    Prepare {
        repetition: u16,
        #[serde(default)]
        part: Part,
    },
    Start {
        at_ns: u64,
    },
    Done(Repetition),
    Over,
}
