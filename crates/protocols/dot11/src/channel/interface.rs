//! Inputs and outputs of a channel.

use crate::error_model::Decoder;
use crate::{
    AccessCategory, Aggregation, Capabilities, DeliverySlope, Edca, Fading, GilbertElliott, Mode,
    Path, Phy, Shadowing, SnrTrace, rate_control,
};
use fairwave_trace::{Place, Scoreboard};
use fairwave_units::{Db, Dbm, Duration, Hertz, Instant, Metres};

/// Index of a radio on its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RadioId(pub u32);

/// Losses of frames besides collisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorModel {
    /// By signal to interference and noise, through [`crate::success`].
    Snr,
    /// The same through [`crate::table_success`].
    Table,
    /// Each frame independently at its addressed receiver. A frame that overlaps other energy at
    /// the receiver survives only by capture.
    Rate {
        /// For data frames, each attempt.
        data: f64,
        /// For all other frames but beacons.
        control: f64,
    },
    /// Data frames in bursts, by a chain of their own for each transmitter and receiver; other
    /// frames are intact. Overlaps as for `Rate`.
    Bursts(GilbertElliott),
    /// Data frames by signal to noise, along a slope that was measured or set; other frames are
    /// intact. Overlaps as for `Rate`.
    Slope(DeliverySlope),
    /// Frames of DSSS by signal to noise and their length, through [`crate::psk_success`].
    /// Overlaps as for `Rate`.
    Psk,
}

impl ErrorModel {
    /// The curves of errors by SINR; `None` where something else decides.
    pub(crate) fn decoder(&self) -> Option<Decoder> {
        match self {
            Self::Snr => Some(Decoder::Hard),
            Self::Table => Some(Decoder::Table),
            Self::Rate { .. } | Self::Bursts(_) | Self::Slope(_) | Self::Psk => None,
        }
    }
}

/// Parameters of the whole channel.
#[derive(Clone, Debug)]
pub struct Config {
    /// The PHY.
    pub phy: Phy,
    /// Centre frequency.
    pub frequency: Hertz,
    /// Exponent of the log-distance path loss.
    pub path_loss_exponent: f64,
    /// Receiver noise figure.
    pub noise_figure: Db,
    /// Level from which a transmission makes the medium busy and can be received.
    pub carrier_sense: Dbm,
    /// Minimum SINR for detecting a preamble; `None` detects all above `carrier_sense`.
    pub preamble_detection: Option<Db>,
    /// Excess in level by which a later frame takes over a receiver; `None`: it never does.
    pub capture: Option<Db>,
    /// Frame errors besides collisions.
    pub errors: ErrorModel,
    /// Variation of levels from frame to frame; `None`: none.
    pub fading: Option<Fading>,
    /// Variation of path losses between pairs; `None`: by distance only.
    pub shadowing: Option<Shadowing>,
    /// PSDUs of at least this many bytes are preceded by RTS/CTS.
    pub rts_threshold: Option<u32>,
    /// Attempts at a frame without RTS, and at the RTS of a frame with it.
    pub short_retry_limit: u32,
    /// Attempts at a frame with RTS that got their CTS.
    pub long_retry_limit: u32,
    /// Interval between the beacons of a radio that sends them.
    pub beacon_interval: Option<Duration>,
    /// Parameters of the four access categories, from the lowest priority; `None` is DCF.
    pub edca: Option<[Edca; 4]>,
    /// Limits of an A-MPDU; `None` sends one MPDU at a time.
    pub aggregation: Option<Aggregation>,
    /// The mode of a CTS to itself with which a radio announces each OFDM frame to stations of
    /// 802.11b (clause 10.3.2.14); `None` sends none.
    pub protection: Option<Mode>,
    /// Whether frames to one receiver are acknowledged and repeated. WaveLAN before 802.11 did
    /// neither.
    pub acknowledges: bool,
}

impl Config {
    /// A channel at 5.18 GHz with indoor path loss, errors by SNR, preamble detection at 4 dB, no
    /// capture, no RTS, no beacons and the standard's retry limits. HT and later have EDCA and
    /// aggregate as much as their generation may.
    pub fn new(phy: Phy) -> Self {
        Self {
            phy,
            frequency: Hertz(5_180_000_000),
            path_loss_exponent: 3.0,
            noise_figure: Db(7.0),
            carrier_sense: Dbm(-82.0),
            preamble_detection: Some(Db(4.0)),
            capture: None,
            errors: ErrorModel::Snr,
            fading: None,
            shadowing: None,
            rts_threshold: None,
            short_retry_limit: 7,
            long_retry_limit: 4,
            beacon_interval: None,
            edca: phy.is_qos().then(|| Edca::defaults(phy)),
            aggregation: Aggregation::most(phy),
            protection: None,
            acknowledges: true,
        }
    }
}

/// One radio.
#[derive(Clone, Debug)]
pub struct RadioConfig {
    /// Its name: part of the names of its random streams.
    pub name: String,
    /// Its position.
    pub position: (Metres, Metres),
    /// Its path, instead of standing at `position`.
    pub path: Option<Path>,
    /// SNR of frames between it, a station, and the access points of the channel, instead of the
    /// SNR from places, power and shadowing. Fading comes on top.
    pub snr_trace: Option<SnrTrace>,
    /// Choice of the modes of its data frames; `None` takes the modes that the host sets.
    pub rates: Option<RateChoice>,
    /// Its capabilities to send and receive.
    pub capabilities: Capabilities,
    /// Whether it may leave the channel and come back.
    pub roams: bool,
    /// Transmit power.
    pub power: Dbm,
    /// Whether it is an access point, which sends beacons.
    pub is_access_point: bool,
}

/// A radio's choice of its rates.
#[derive(Clone, Debug)]
pub struct RateChoice {
    /// The algorithm; each receiver gets a state of its own.
    pub algorithm: rate_control::Chosen,
    /// The first frame's mode, where both ends can use it; `None` leaves it to the algorithm. It
    /// chooses among the modes that both ends can use.
    pub initial: Option<Mode>,
}

/// Airtime that a radio takes over from its host. A frame is taken while the waiting frames for the
/// same receiver in the same category are below `low`; or below `high`, if all frames of the radio
/// are below `threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirtimeLimits {
    /// Airtime for one receiver and category that a busy radio takes.
    pub low: Duration,
    /// The same for a radio that has little to send.
    pub high: Duration,
    /// Total airtime of the radio's frames from which on it counts as busy.
    pub threshold: Duration,
}

impl AirtimeLimits {
    /// Whether one more frame is taken, `pending` waiting for its receiver and category and
    /// `total` in the radio.
    pub(super) const fn admits(self, pending: Duration, total: Duration) -> bool {
        let limit = if total.as_nanos() < self.threshold.as_nanos() { self.high } else { self.low };
        pending.as_nanos() < self.low.as_nanos() || pending.as_nanos() < limit.as_nanos()
    }
}

/// A MAC frame handed to a radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mpdu<P> {
    /// Receiver; `None` is broadcast, without acknowledgement.
    pub to: Option<RadioId>,
    /// Length in bytes with MAC header and FCS: [`crate::DATA_OVERHEAD_BYTES`] over the packet,
    /// and [`crate::QOS_BYTES`] where there is EDCA.
    pub bytes: u32,
    /// Its mode; must be one of the PHY's modes. A radio with [`RadioConfig::rates`] chooses anew
    /// for each attempt.
    pub mode: Mode,
    /// Its access category; all are the same under DCF.
    pub category: AccessCategory,
    /// The host's payload.
    pub payload: P,
}

/// Inputs of a channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input<P> {
    /// A radio's next frame. Only when [`Channel::is_ready`](super::Channel::is_ready) or
    /// [`Channel::has_room`](super::Channel::has_room).
    Send(RadioId, Mpdu<P>),
}

/// Fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Acknowledged, or broadcast.
    Sent,
    /// Given up at the retry limit. The receiver may still have got it, if only ACKs were lost.
    RetryLimit,
}

/// Events of a channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output<P> {
    /// A frame was decoded for the first time by `to`.
    Deliver {
        /// The receiver.
        to: RadioId,
        /// The transmitter.
        from: RadioId,
        /// The frame's payload.
        payload: P,
    },
    /// The radio is done with a frame; it may be ready for the next.
    Done {
        /// The transmitter.
        radio: RadioId,
        /// The frame's payload.
        payload: P,
        /// Its fate.
        fate: Fate,
    },
}

/// Kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Data.
    Data,
    /// Acknowledgement.
    Ack,
    /// Acknowledgement of the MPDUs of an A-MPDU.
    BlockAck,
    /// Request for a BlockAck.
    BlockAckReq,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Beacon.
    Beacon,
}

/// A frame that went over the air: an MPDU, or one payload of an MPDU that is an A-MSDU. Those
/// of a PPDU follow each other and have its start and airtime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameReport<P> {
    /// Start of its PPDU.
    pub start: Instant,
    /// Its PPDU's time on the air.
    pub airtime: Duration,
    /// Its kind.
    pub kind: FrameKind,
    /// Transmitter.
    pub from: RadioId,
    /// Receiver; `None` for broadcast. A CTS may be to its own transmitter.
    pub to: Option<RadioId>,
    /// Its transmission mode.
    pub mode: Mode,
    /// Level at the receiver (at the strongest hearer for broadcast).
    pub signal: Dbm,
    /// Reservation of its Duration field.
    pub reserved: Duration,
    /// Sequence number of a data or beacon frame.
    pub sequence: u16,
    /// Retry bit: whether it was on the air before.
    pub retry: bool,
    /// Whether the receiver decoded it (for broadcast, and a CTS to itself: whether anybody did).
    pub received: bool,
    /// Payload of a data frame.
    pub payload: Option<P>,
    /// Category of a QoS data frame, of its BlockAck and of a BlockAckReq.
    pub category: Option<AccessCategory>,
    /// Place of a data frame.
    pub place: Option<Place>,
    /// Content of a BlockAck; of a BlockAckReq, the first MPDU that it asks for.
    pub scoreboard: Option<Scoreboard>,
}

impl<P> FrameReport<P> {
    /// The same report of a frame with another kind of payload.
    pub fn with_payload<Q>(self, payload: Option<Q>) -> FrameReport<Q> {
        let Self { start, airtime, kind, from, to, mode, signal, reserved, .. } = self;
        let Self { sequence, retry, received, category, place, scoreboard, .. } = self;
        FrameReport {
            start,
            airtime,
            kind,
            from,
            to,
            mode,
            signal,
            reserved,
            sequence,
            retry,
            received,
            payload,
            category,
            place,
            scoreboard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_radio_takes_less() {
        let ms = Duration::from_millis;
        let limits = AirtimeLimits { low: ms(5), high: ms(12), threshold: ms(24) };
        for (pending, total, admitted) in
            [(4, 100, true), (5, 24, false), (5, 23, true), (11, 23, true), (12, 12, false)]
        {
            assert_eq!(limits.admits(ms(pending), ms(total)), admitted, "{pending} of {total} ms");
        }
    }
}
