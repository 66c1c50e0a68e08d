//! The limit of a connection's rate, as far as a capture shows it.

use fairwave_trace::analysis::{Kind, Spells, TcpWay, Way};
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

/// Minimum percentages of the time for a limit.
const STARVED: u64 = 10;
const ZERO_WINDOW: u64 = 10;
const WINDOW: u64 = 20;
const APPLICATION: u64 = 20;
/// Minimum ratio of median to minimum round-trip time, in tenths, that shows a standing queue.
const QUEUE: u64 = 15;
/// Differences of round-trip times below this are caused by hosts, not by queues.
const HOSTS: Duration = Duration::from_millis(1);

/// Limit of the direction that carried more data. The criteria are listed in the order in which
/// they are tried; the first that holds decides. `docs/models/trace.md` discusses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// It carried no data.
    NoData,
    /// Starvation for at least a tenth of the time.
    Starvation,
    /// The receiver's window: zero for at least a tenth of the time, or full for at least a fifth.
    ReceiveWindow,
    /// The application, which had no data to send for at least a fifth of the time.
    Application,
    /// Losses without a standing queue on the path: timeouts, or needed retransmissions of at least
    /// a hundredth of the segments.
    Loss,
    /// None of these: the rate of the path, or the sender's window.
    Path,
}

impl Limit {
    /// Determines the limit of one direction over the time of the connection; `other` is the
    /// opposite direction.
    pub(super) fn of(way: &Way, other: &Way, over: Duration) -> Self {
        let tcp = &way.tcp;
        let reaches = |time: Duration, part: u64| {
            !time.is_zero() && u128::from(time.as_nanos()) * 100 >= share(over, part)
        };
        let takes = |spells: &Spells, part: u64| spells.count > 0 && reaches(spells.total, part);
        if tcp.unique_bytes == 0 || tcp.segments == 0 {
            Self::NoData
        } else if takes(&tcp.starvation, STARVED) {
            Self::Starvation
        } else if takes(&tcp.zero_window_spells, ZERO_WINDOW) || reaches(tcp.window_limited, WINDOW)
        {
            Self::ReceiveWindow
        } else if reaches(tcp.application_limited, APPLICATION) {
            Self::Application
        } else if queue_stands(tcp, &other.tcp) {
            Self::Path
        } else if tcp.count(Kind::Timeout) > 0
            || needed(tcp, other.tcp.dsack_blocks) * 100 >= tcp.segments
        {
            Self::Loss
        } else {
            Self::Path
        }
    }

    /// A keyword for tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoData => "-",
            Self::Starvation => "starvation",
            Self::ReceiveWindow => "window",
            Self::Application => "application",
            Self::Loss => "loss",
            Self::Path => "path",
        }
    }
}

/// Retransmitted segments, without those that the receiver reported as duplicates (RFC 2883).
const fn needed(tcp: &TcpWay, needless: u64) -> u64 {
    tcp.retransmitted_segments.saturating_sub(needless)
}

/// Whether packets mostly wait in a queue: then the path carries its full rate, with or without
/// losses. The round-trip time is the sum of those on both sides of the capture, so that the result
/// does not depend on the point of capture.
///
/// The minimum on each side is that of both directions, of which the one without data has little
/// more than the handshake. With data alone there may be no packet that met an empty queue: at the
/// sender the SYN is one, at the receiver it is the ACK of the handshake.
fn queue_stands(tcp: &TcpWay, other: &TcpWay) -> bool {
    let sum = |times: [Option<Duration>; 2]| {
        times.iter().flatten().map(|time| time.as_nanos()).fold(0, u64::saturating_add)
    };
    let sides = [(&tcp.rtt, &other.far_rtt), (&tcp.far_rtt, &other.rtt)];
    let minimum = sum(sides.map(|(one, same)| one.min().into_iter().chain(same.min()).min()));
    let median = sum(sides.map(|(rtt, _)| rtt.quantile(0.5)));
    median.saturating_mul(10) >= minimum.saturating_mul(QUEUE)
        && median - minimum.min(median) >= HOSTS.as_nanos()
}

/// A percentage of a time, in hundredths of a nanosecond.
fn share(time: Duration, hundredths: u64) -> u128 {
    u128::from(time.as_nanos()) * u128::from(hundredths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_trace::analysis::Quantiles;
    use fairwave_units::Instant;

    fn spell(ms: u64) -> Spells {
        let mut spells = Spells::default();
        spells.add(Instant::ZERO, Duration::from_millis(ms));
        spells
    }

    /// A thousand segments in ten seconds.
    fn way() -> Way {
        let mut way = Way::default();
        (way.tcp.unique_bytes, way.tcp.data_packets, way.tcp.segments) = (1_448_000, 1000, 1000);
        way
    }

    fn judged(change: impl FnOnce(&mut Way)) -> Limit {
        let mut way = way();
        change(&mut way);
        Limit::of(&way, &Way::default(), Duration::from_secs(10))
    }

    #[test]
    fn each_criterion_holds_from_its_threshold_on() {
        let ms = Duration::from_millis;
        assert_eq!(judged(|_| ()), Limit::Path);
        assert_eq!(judged(|way| way.tcp.unique_bytes = 0), Limit::NoData);
        assert_eq!(judged(|way| way.tcp.starvation = spell(1000)), Limit::Starvation);
        assert_eq!(judged(|way| way.tcp.starvation = spell(999)), Limit::Path);
        assert_eq!(judged(|way| way.tcp.zero_window_spells = spell(1000)), Limit::ReceiveWindow);
        assert_eq!(judged(|way| way.tcp.window_limited = ms(2000)), Limit::ReceiveWindow);
        assert_eq!(judged(|way| way.tcp.window_limited = ms(1999)), Limit::Path);
        assert_eq!(judged(|way| way.tcp.application_limited = ms(2000)), Limit::Application);
        assert_eq!(judged(|way| way.tcp.application_limited = ms(1999)), Limit::Path);
        assert_eq!(judged(|way| way.tcp.retransmitted_segments = 10), Limit::Loss);
        assert_eq!(judged(|way| way.tcp.retransmitted_segments = 9), Limit::Path);
        assert_eq!(judged(|way| way.tcp.kinds[Kind::Timeout.index()] = 1), Limit::Loss);
    }

    /// A regression: an application of 2 Mbps over a lossy path was reported as "loss".
    #[test]
    fn an_application_that_gets_through_is_not_limited_by_losses() {
        let both = |way: &mut Way| {
            way.tcp.retransmitted_segments = 30;
            way.tcp.application_limited = Duration::from_secs(8);
        };
        assert_eq!(judged(both), Limit::Application);
    }

    #[test]
    fn retransmissions_for_nothing_are_no_losses() {
        let (mut way, mut other) = (way(), Way::default());
        (way.tcp.retransmitted_segments, other.tcp.dsack_blocks) = (30, 25);
        assert_eq!(Limit::of(&way, &other, Duration::from_secs(10)), Limit::Path);
        other.tcp.dsack_blocks = 20;
        assert_eq!(Limit::of(&way, &other, Duration::from_secs(10)), Limit::Loss);
    }

    /// The same queue in a capture at the sender, whose round trips lie entirely beyond the
    /// capture, and at the receiver, where they lie entirely before it.
    #[test]
    fn losses_of_a_full_queue_are_the_path_at_either_end() {
        let times = |ms: &[u64]| {
            let mut rtt = Quantiles::default();
            ms.iter().for_each(|ms| rtt.add(Duration::from_millis(*ms)));
            rtt
        };
        for at_sender in [true, false] {
            let judged = |ms: &[u64]| {
                judged(|way| {
                    way.tcp.retransmitted_segments = 30;
                    let rtt = if at_sender { &mut way.tcp.rtt } else { &mut way.tcp.far_rtt };
                    *rtt = times(ms);
                })
            };
            assert_eq!(judged(&[20, 45, 60, 60, 80]), Limit::Path);
            assert_eq!(judged(&[20, 20, 21, 23, 80]), Limit::Loss);
        }
    }

    /// Four streams keep the queue full from their first data packets on: at the receiver only the
    /// handshake, which belongs to the other direction, met an empty one.
    #[test]
    fn a_queue_that_is_never_empty_shows_by_the_handshake() {
        let (mut way, mut other) = (way(), Way::default());
        way.tcp.retransmitted_segments = 30;
        for ms in [34, 35, 35, 36] {
            way.tcp.far_rtt.add(Duration::from_millis(ms));
        }
        let over = Duration::from_secs(10);
        assert_eq!(Limit::of(&way, &other, over), Limit::Loss, "no packet met an empty queue");
        other.tcp.rtt.add(Duration::from_millis(2));
        assert_eq!(Limit::of(&way, &other, over), Limit::Path);
    }

    #[test]
    fn the_worst_is_named() {
        let both = judged(|way| {
            way.tcp.starvation = spell(2000);
            way.tcp.window_limited = Duration::from_secs(5);
            way.tcp.kinds[Kind::Timeout.index()] = 5;
        });
        assert_eq!(both, Limit::Starvation);
    }
}
