//! What held a connection back, as far as a capture shows.

use fairwave_trace::analysis::{Kind, Spells, Way};
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

/// What limited the way of a connection that carried most. The criteria stand in the order in
/// which they are tried; the first that holds decides. `docs/models/trace.md` discusses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// It carried nothing.
    NoData,
    /// Starvation for a tenth of the time or more.
    Starvation,
    /// The receiver's window: zero for a tenth of the time, or full with a tenth of the segments.
    ReceiveWindow,
    /// The application: for half of the time nothing was outstanding, and nothing was sent.
    Application,
    /// Losses: timeouts, or a hundredth of the segments retransmitted.
    Loss,
    /// None of these: the rate of the path, or the sender's window.
    Path,
}

impl Limit {
    /// Judges what one end sent over the time of the connection.
    pub(super) fn of(way: &Way, idle: &Spells, over: Duration) -> Self {
        let tcp = &way.tcp;
        let takes = |spells: &Spells, part: u64| {
            spells.count > 0 && u128::from(spells.total.as_nanos()) * 100 >= share(over, part)
        };
        let segments = tcp.data_packets;
        if tcp.unique_bytes == 0 || segments == 0 {
            Self::NoData
        } else if takes(&tcp.starvation, 10) {
            Self::Starvation
        } else if takes(&tcp.zero_window_spells, 10) || tcp.window_full * 10 >= segments {
            Self::ReceiveWindow
        } else if takes(idle, 50) {
            Self::Application
        } else if tcp.count(Kind::Timeout) > 0 || tcp.retransmissions() * 100 >= segments {
            Self::Loss
        } else {
            Self::Path
        }
    }

    /// In a word, for tables.
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

/// So many hundredths of a time, in hundredths of a nanosecond.
fn share(time: Duration, hundredths: u64) -> u128 {
    u128::from(time.as_nanos()) * u128::from(hundredths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Instant;

    fn spell(ms: u64) -> Spells {
        let mut spells = Spells::default();
        spells.add(Instant::ZERO, Duration::from_millis(ms));
        spells
    }

    /// A thousand segments in ten seconds.
    fn way() -> Way {
        let mut way = Way::default();
        (way.tcp.unique_bytes, way.tcp.data_packets) = (1_448_000, 1000);
        way
    }

    fn judged(change: impl FnOnce(&mut Way)) -> Limit {
        let mut way = way();
        change(&mut way);
        Limit::of(&way, &Spells::default(), Duration::from_secs(10))
    }

    #[test]
    fn each_criterion_holds_from_its_threshold_on() {
        assert_eq!(judged(|_| ()), Limit::Path);
        assert_eq!(judged(|way| way.tcp.unique_bytes = 0), Limit::NoData);
        assert_eq!(judged(|way| way.tcp.starvation = spell(1000)), Limit::Starvation);
        assert_eq!(judged(|way| way.tcp.starvation = spell(999)), Limit::Path);
        assert_eq!(judged(|way| way.tcp.zero_window_spells = spell(1000)), Limit::ReceiveWindow);
        assert_eq!(judged(|way| way.tcp.window_full = 100), Limit::ReceiveWindow);
        assert_eq!(judged(|way| way.tcp.window_full = 99), Limit::Path);
        let kind = Kind::FastRetransmission.index();
        assert_eq!(judged(|way| way.tcp.kinds[kind] = 10), Limit::Loss);
        assert_eq!(judged(|way| way.tcp.kinds[kind] = 9), Limit::Path);
        assert_eq!(judged(|way| way.tcp.kinds[Kind::Timeout.index()] = 1), Limit::Loss);
        let idle = Limit::of(&way(), &spell(5000), Duration::from_secs(10));
        assert_eq!(idle, Limit::Application);
    }

    #[test]
    fn the_worst_is_named() {
        let both = judged(|way| {
            way.tcp.starvation = spell(2000);
            way.tcp.window_full = 1000;
            way.tcp.kinds[Kind::Timeout.index()] = 5;
        });
        assert_eq!(both, Limit::Starvation);
    }
}
