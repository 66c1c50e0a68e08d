//! Position of a capture on the path of a connection.

use fairwave_trace::analysis::TcpWay;
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

/// The end that a capture is near, as shown by round-trip times. The losses that it can show depend
/// on this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vantage {
    /// At least four fifths of the round-trip time lie between the capture and the receiver.
    Sender,
    /// At most one fifth of it lies there.
    Receiver,
    /// A share between these.
    Between,
}

/// Round-trip times below this are caused by hosts, and do not show a position.
const HOSTS_NS: u64 = 1_000_000;

impl Vantage {
    /// Determines the position from the direction with more data: the share of the handshake's
    /// round-trip time that its data takes beyond the capture. `None` without a round-trip time, or
    /// if it is below a millisecond.
    pub(super) fn of(tcp: &TcpWay) -> Option<Self> {
        let beyond = tcp.rtt.min()?.as_nanos();
        // A handshake with a lost packet took longer, so that the smaller of both sums is used.
        let both = tcp.far_rtt.min().map(|far| beyond.saturating_add(far.as_nanos()));
        let handshake = tcp.handshake.map(Duration::as_nanos);
        let whole = handshake.into_iter().chain(both).min().filter(|whole| *whole >= HOSTS_NS)?;
        Some(match (beyond.saturating_mul(5), whole.saturating_mul(4)) {
            (beyond, max) if beyond >= max => Self::Sender,
            (beyond, _) if beyond <= whole => Self::Receiver,
            _ => Self::Between,
        })
    }

    /// Description of a capture at this position: the events that it shows and those that it cannot
    /// show.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Sender => {
                "Captured near the sender: its retransmissions all show; which of them were \
                 needed only the receiver knows"
            }
            Self::Receiver => {
                "Captured near the receiver: a loss shows as a hole that is filled late, and the \
                 lost end of a burst as a pause; ACKs lost on the way back do not show"
            }
            Self::Between => {
                "Captured between the ends: losses before here show as holes, those behind as \
                 retransmissions"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_round_trip_tells_where() {
        let at = |ms: u64| {
            let mut tcp =
                TcpWay { handshake: Some(Duration::from_millis(20)), ..TcpWay::default() };
            tcp.rtt.add(Duration::from_millis(ms));
            Vantage::of(&tcp)
        };
        assert_eq!(Vantage::of(&TcpWay::default()), None);
        let places = [0, 4, 5, 15, 16, 30].map(at);
        let [receiver, between, sender] = [Vantage::Receiver, Vantage::Between, Vantage::Sender];
        let expected = [receiver, receiver, between, between, sender, sender];
        assert_eq!(places, expected.map(Some));
    }
}
