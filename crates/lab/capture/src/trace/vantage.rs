//! Place of a capture on the path of a connection.

use fairwave_trace::analysis::TcpWay;
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

/// The end that a capture is near, by round-trip times. The visible part of the traffic depends on
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vantage {
    /// Four fifths of the round trip or more lie between the capture and the receiver.
    Sender,
    /// One fifth or less of the round trip lies there.
    Receiver,
    /// A part between those lies there.
    Between,
}

/// Round-trip times below this are those of hosts, and say nothing about a place.
const HOSTS_NS: u64 = 1_000_000;

impl Vantage {
    /// Judges by the packets of the end that sent more: the share of the handshake's round trip
    /// that its data takes from here on. None without a round-trip time, or if it is below a
    /// millisecond.
    pub(super) fn of(tcp: &TcpWay) -> Option<Self> {
        let beyond = tcp.rtt.min()?.as_nanos();
        // A handshake that lost a packet took longer.
        let both = tcp.far_rtt.min().map(|far| beyond.saturating_add(far.as_nanos()));
        let handshake = tcp.handshake.map(Duration::as_nanos);
        let whole = handshake.into_iter().chain(both).min().filter(|whole| *whole >= HOSTS_NS)?;
        Some(match (beyond.saturating_mul(5), whole.saturating_mul(4)) {
            (beyond, most) if beyond >= most => Self::Sender,
            (beyond, _) if beyond <= whole => Self::Receiver,
            _ => Self::Between,
        })
    }

    /// Facts that a capture there shows, and those that it cannot show.
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
