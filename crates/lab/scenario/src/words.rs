//! The words a scenario may use for a choice.

use fairwave_dot11::{Band, BlockAckRequest, GuardInterval, Mode, Phy, Preamble, Width};
use fairwave_units::BitRate;

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

pub(super) const PREAMBLES: &[(&str, Preamble)] =
    &[("long", Preamble::Long), ("short", Preamble::Short)];

pub(super) const BLOCK_ACK_REQUESTS: &[(&str, BlockAckRequest)] = &[
    ("after-missing", BlockAckRequest::AfterMissing),
    ("on-drop", BlockAckRequest::OnDrop),
    ("never", BlockAckRequest::Never),
];

/// Rates of data frames that `phy` has.
pub(super) fn rates(phy: Phy) -> Vec<BitRate> {
    phy.legacy_modes().map(Mode::rate).collect()
}
