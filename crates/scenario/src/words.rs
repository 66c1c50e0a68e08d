//! The words a scenario may use for a choice, and the limits that bound its memory.

use fairwave_dot11::{AccessCategory, Band, GuardInterval, Mode, Phy, Preamble, Standard, Width};
use fairwave_sim::world::Policy;
use fairwave_units::BitRate;

pub(super) const STANDARDS: &[(&str, Standard)] = &[
    ("802.11a", Standard::A),
    ("802.11b", Standard::B),
    ("802.11g", Standard::G),
    ("802.11n", Standard::N),
    ("802.11ac", Standard::Ac),
    ("802.11ax", Standard::Ax),
];

pub(super) const BANDS: &[(&str, Band)] = &[("2.4 GHz", Band::Ghz2_4), ("5 GHz", Band::Ghz5)];

pub(super) const WIDTHS: &[(&str, Width)] = &[
    ("20 MHz", Width::Mhz20),
    ("40 MHz", Width::Mhz40),
    ("80 MHz", Width::Mhz80),
    ("160 MHz", Width::Mhz160),
];

pub(super) const GUARDS: &[(&str, GuardInterval)] = &[
    ("0.4 us", GuardInterval::Ns400),
    ("0.8 us", GuardInterval::Ns800),
    ("1.6 us", GuardInterval::Ns1600),
    ("3.2 us", GuardInterval::Ns3200),
];

pub(super) const CATEGORIES: &[(&str, AccessCategory)] = &[
    ("background", AccessCategory::Background),
    ("best-effort", AccessCategory::BestEffort),
    ("video", AccessCategory::Video),
    ("voice", AccessCategory::Voice),
];

pub(super) const PREAMBLES: &[(&str, Preamble)] =
    &[("long", Preamble::Long), ("short", Preamble::Short)];

pub(super) const POLICIES: &[(&str, Policy)] = &[("skip", Policy::Skip), ("stall", Policy::Stall)];

#[derive(Clone, Copy)]
pub(super) enum KindWord {
    AccessPoint,
    Station,
    Converter,
    Host,
}

pub(super) const KINDS: &[(&str, KindWord)] = &[
    ("access-point", KindWord::AccessPoint),
    ("station", KindWord::Station),
    ("converter", KindWord::Converter),
    ("host", KindWord::Host),
];

/// What carries a flow.
#[derive(Clone, Copy)]
pub(super) enum TransportWord {
    Tcp,
    Udp,
    Probe,
    Dccp,
    Rtc,
    Shake,
    MultiTcp,
}

pub(super) const TRANSPORTS: &[(&str, TransportWord)] = &[
    ("tcp", TransportWord::Tcp),
    ("udp", TransportWord::Udp),
    ("probe", TransportWord::Probe),
    ("dccp", TransportWord::Dccp),
    ("rtc", TransportWord::Rtc),
    ("shake", TransportWord::Shake),
    ("multi-tcp", TransportWord::MultiTcp),
];

/// A kind of datagram source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TrafficWord {
    Cbr,
    Poisson,
    OnOff,
    Voip,
    Video,
    Trace,
    Saturate,
}

/// The names of [`fairwave_traffic::ALL`] that are datagrams, in its order.
pub(super) const TRAFFIC: &[(&str, TrafficWord)] = &[
    ("cbr", TrafficWord::Cbr),
    ("poisson", TrafficWord::Poisson),
    ("on-off", TrafficWord::OnOff),
    ("voip", TrafficWord::Voip),
    ("video", TrafficWord::Video),
    ("trace", TrafficWord::Trace),
    ("saturate", TrafficWord::Saturate),
];

/// Stations or hosts of a group.
pub(super) const MOST_STATIONS: u32 = 1000;
/// Nodes of a scenario: a full group, and what it talks to.
pub(super) const MOST_NODES: usize = 1100;
/// Flows of a scenario, each pattern's counted.
pub(super) const MOST_FLOWS: usize = 5000;
/// Links of a scenario, each pattern's counted.
pub(super) const MOST_LINKS: usize = 5000;
/// Cells, links, and tables of any other kind.
pub(super) const MOST_TABLES: usize = 1000;
/// Samples in the time series of one flow.
pub(super) const MOST_SAMPLES: u64 = 1_000_000;

/// Rates of data frames that `phy` has.
pub(super) fn rates(phy: Phy) -> Vec<BitRate> {
    phy.legacy_modes().map(Mode::rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_datagrams_has_its_word() {
        let words: Vec<_> = TRAFFIC.iter().map(|(word, _)| *word).collect();
        let sources = fairwave_traffic::ALL.iter().map(|entry| entry.name);
        assert_eq!(words, sources.filter(|name| *name != "web").collect::<Vec<_>>());
    }
}
