//! Behaviour of a sender.

use crate::tfrc::{Profile, Remedies};
use fairwave_units::Duration;

/// Maximum amount in the first round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialWindow {
    /// min(4 MSS, max(2 MSS, 4380 bytes)), of RFC 3390: RFC 5348, section 4.2, and CCID 3 in any
    /// case (RFC 4342, section 5).
    #[default]
    Rfc3390,
    /// One packet, as RFC 3448, section 4.3.
    OnePacket,
}

/// Behaviour of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The edition to follow.
    pub profile: Profile,
    /// The segment size s in bytes, without headers (RFC 5348, section 4.1).
    pub segment_bytes: f64,
    /// Maximum at first.
    pub initial: InitialWindow,
    /// The filter constant q of the round-trip time.
    pub q: f64,
    /// The filter constant q2 of its square root, if oscillations are to be reduced (RFC 5348,
    /// section 4.5). The RFC warns of it where delays vary for other reasons than queues, as on
    /// wireless links.
    pub oscillation_q2: Option<f64>,
    /// The granularity of the host's timers, t_gran.
    pub granularity: Duration,
    /// The smallest time between two packets; zero but for TFRC-SP.
    pub min_spacing: Duration,
    /// Bytes of headers that the rate has to pay for besides the segment, for TFRC-SP (RFC 4828,
    /// section 4.2): of an allowed rate X the part s/(s + H) remains. `None` scales nothing.
    pub headers: Option<Headers>,
    /// Remedies for handovers.
    pub remedies: Remedies,
}

/// Sizes that TFRC-SP scales the rate by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headers {
    /// The true mean payload of a packet in bytes.
    pub payload_bytes: f64,
    /// Headers of a packet in bytes.
    pub header_bytes: f64,
}

impl SenderConfig {
    /// RFC 5348 for segments of `segment_bytes`.
    pub const fn new(segment_bytes: f64) -> Self {
        Self {
            profile: Profile::Rfc5348,
            segment_bytes,
            initial: InitialWindow::Rfc3390,
            q: 0.9,
            oscillation_q2: None,
            granularity: Duration::ZERO,
            min_spacing: Duration::ZERO,
            headers: None,
            remedies: Remedies {
                set_ahead: false,
                on_arrival: false,
                notify: false,
                leave_out: false,
                sensitive: None,
                restart: false,
            },
        }
    }
}
