//! Inputs and outputs of an access point, and their reasons.

use crate::policy::Weight;
use crate::table::{ReceivedFrame, Refusal};
use core::fmt;
use fairwave_units::{BitRate, Db, Dbm, Duration};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::soc::{self, routed};
use std::net::{IpAddr, SocketAddr};

/// An access point's own radio's report on an associated station, such as Linux's by nl80211.
#[derive(Clone, Debug, PartialEq)]
pub struct StationView {
    /// The station's link address.
    pub link: Mac,
    /// Level at which its frames arrive, averaged by the driver if that does so.
    pub signal: Option<Dbm>,
    /// Noise of the channel, by a survey.
    pub noise: Option<Dbm>,
    /// PHY rate of the last frame to it.
    pub tx_rate: Option<BitRate>,
    /// PHY rate of the last frame from it.
    pub rx_rate: Option<BitRate>,
    /// Retransmissions of frames to it since it associated.
    pub retries: Option<u64>,
    /// Frames to it that were given up since it associated.
    pub failed: Option<u64>,
    /// Airtime of frames to it and from it since it associated.
    pub airtime: Option<Duration>,
    /// That of frames to it alone.
    pub sent_airtime: Option<Duration>,
    /// Time since its last frame.
    pub inactive: Option<Duration>,
}

impl StationView {
    /// A station of which nothing is known but that it is there.
    pub const fn new(link: Mac) -> Self {
        Self {
            link,
            signal: None,
            noise: None,
            tx_rate: None,
            rx_rate: None,
            retries: None,
            failed: None,
            airtime: None,
            sent_airtime: None,
            inactive: None,
        }
    }
}

/// A datagram of a station behind a router as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routed {
    pub(super) from: SocketAddr,
    len: u8,
    bytes: [u8; routed::DATAGRAM_LEN],
}

impl Routed {
    /// A datagram from this address. No more of it is kept than one with a report is long.
    pub fn new(from: SocketAddr, payload: &[u8]) -> Self {
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        let len = payload.len().min(routed::DATAGRAM_LEN);
        let mut bytes = [0; routed::DATAGRAM_LEN];
        bytes[..len].copy_from_slice(&payload[..len]);
        Self { from, len: len as u8, bytes }
    }

    pub(super) fn payload(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Addresses of frames to a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// The station's link address.
    #[default]
    Link,
    /// Its IP address: it is behind a router.
    Address(IpAddr),
}

/// A fact for an [`AccessPoint`](super::AccessPoint).
#[derive(Clone, Debug, PartialEq)]
pub enum ApInput {
    /// A report arrived.
    Report(ReceivedFrame),
    /// A report arrived as a datagram.
    Datagram(Routed),
    /// The radio reports that a station associated.
    Joined(Mac),
    /// The radio reports that a station is gone.
    Left(Mac),
    /// The radio's view of a station.
    Seen(StationView),
}

/// Tasks of the access point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Serves a station with these weights, one for each class of traffic. The station may be new.
    Serve {
        /// The station.
        station: Mac,
        /// Addresses of frames to it.
        reach: Reach,
        /// Its weights, by [`Class`](crate::Class).
        weights: Vec<Weight>,
    },
    /// Removes a station: it gets the weight of unknown ones.
    Stop {
        /// The station.
        station: Mac,
    },
    /// Sends a station the payload of a frame: its reports are believed, it greeted, or its key is
    /// refused.
    Answer {
        /// The station.
        station: Mac,
        /// The sealed answer, or the notice.
        payload: [u8; soc::ANSWER_LEN],
    },
    /// Sends a station a datagram: its report is believed or was without a token that counts, it
    /// greeted, or its key is refused.
    Reply {
        /// The station.
        station: Mac,
        /// To where.
        to: SocketAddr,
        /// The sealed reply, or the notice.
        payload: [u8; routed::REPLY_LEN],
    },
}

impl Action {
    /// The station that it is about.
    pub const fn station(&self) -> Mac {
        match self {
            Self::Serve { station, .. }
            | Self::Stop { station }
            | Self::Answer { station, .. }
            | Self::Reply { station, .. } => *station,
        }
    }
}

/// Source of a station's SoC. An earlier one goes before a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The station's own reports.
    Report,
    /// The access point's view of it.
    View,
    /// None: the weight is that of stations without a SoC.
    Nothing,
}

impl Source {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::View => "view",
            Self::Nothing => "nothing",
        }
    }
}

/// Reason for a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeightReason {
    /// The station associated.
    Joined,
    /// The station left.
    Left,
    /// Its report.
    Report {
        /// Its SoC.
        soc: Db,
    },
    /// Its report did not come, and the SoC is damped.
    Missed {
        /// Its SoC.
        soc: Db,
        /// Reports that did not come since the last that did.
        misses: u32,
    },
    /// The access point's own view says so.
    View {
        /// Its SoC.
        soc: Db,
    },
    /// It has been silent for too long.
    Silent,
    /// It has ended reporting.
    Ended,
    /// Nothing is known of it.
    Unknown,
}

impl fmt::Display for WeightReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined => f.write_str("it associated"),
            Self::Left => f.write_str("it left"),
            Self::Report { soc } => write!(f, "it reports {:.1} dB", soc.0),
            Self::Missed { soc, misses } => {
                let reports = if *misses == 1 { "report is" } else { "reports are" };
                write!(f, "{misses} {reports} missing, {:.1} dB are left", soc.0)
            }
            Self::View { soc } => write!(f, "the access point sees it at {:.1} dB", soc.0),
            Self::Silent => f.write_str("it has been silent for too long"),
            Self::Ended => f.write_str("it has ended reporting"),
            Self::Unknown => f.write_str("nothing is known of its channel"),
        }
    }
}

/// Events in the loop, for a log.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The scheduler was asked for something.
    Changed {
        /// For what.
        action: Action,
        /// Source of the SoC.
        source: Source,
        /// Reason.
        reason: WeightReason,
    },
    /// A report, or a station, was refused; no weight has changed by it.
    Refused {
        /// The link address that it came from.
        from: Mac,
        /// Reason.
        why: Refusal,
    },
}

/// A station that is served.
#[derive(Clone, Debug, PartialEq)]
pub struct StationStatus {
    /// Its link address.
    pub link: Mac,
    /// Source of its SoC.
    pub source: Source,
    /// Addresses of frames to it.
    pub reach: Reach,
    /// Its SoC; `None` if unknown.
    pub soc: Option<Db>,
    /// Age of its last report or view, whichever counts.
    pub age: Option<Duration>,
    /// The weights that were asked for last, by class.
    pub weights: Vec<Weight>,
    /// The radio's last report.
    pub view: Option<StationView>,
}

/// Counts of events in the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApCounters {
    /// Actions that were asked for.
    pub changes: u64,
    /// Views of stations by the radio.
    pub views: u64,
    /// Greetings, and datagrams without a token that counts, which were answered.
    pub challenges: u64,
    /// Refused attempts of stations that were not registered, by [`Refusal::ALL`]'s order.
    pub strangers_refused: [u64; Refusal::ALL.len()],
}
