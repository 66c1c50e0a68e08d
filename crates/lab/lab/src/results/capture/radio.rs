//! Facts about a frame that its radio knew, in the form of radiotap.

use fairwave_dot11::{Band, Phy, Preamble, Standard};
use fairwave_sim::world::Cell;
use fairwave_trace::{FrameSample, Place, Ppdu, PpduFormat};
use fairwave_units::{BitRate, Instant};
use fairwave_wire::radiotap::{self, AmpduStatus, Channel, He, Mcs, Vht};

/// The header of a frame that began at `start`.
pub(super) fn radiotap_header(
    cell: &Cell,
    start: Instant,
    frame: &FrameSample,
) -> radiotap::Header {
    let mut flags = radiotap::Flags::FCS_PRESENT;
    let Ppdu { format, mcs, streams, width_mhz, guard_ns, is_ldpc } = frame.ppdu;
    let has_short_guard = guard_ns == 400;
    let is_dsss = format == PpduFormat::Dsss;
    if is_dsss && short_preamble(cell.phy) && frame.rate > BitRate(1_000_000) {
        flags = flags.with(radiotap::Flags::SHORT_PREAMBLE);
    }
    let level = frame.signal.0.round();
    let accepted = level >= f64::from(i8::MIN);
    let mut header = radiotap::Header {
        tsft_us: Some(start.as_nanos() / 1000),
        flags: Some(flags),
        channel: Some(channel(cell, is_dsss)),
        signal_dbm: accepted.then_some(level as i8),
        ampdu: frame.place.filter(|place| place.is_ampdu).map(ampdu),
        ..radiotap::Header::default()
    };
    match format {
        PpduFormat::Dsss | PpduFormat::Ofdm => {
            header.rate_500kbps = radiotap::rate_500kbps(frame.rate);
        }
        PpduFormat::Ht => {
            let index = mcs + 8 * (streams - 1);
            header.mcs = Some(Mcs::mixed(index, width_mhz == 40, has_short_guard));
        }
        PpduFormat::Vht => header.vht = Vht::single(width_mhz, has_short_guard, mcs, streams),
        PpduFormat::He => header.he = He::single(width_mhz, guard_ns, mcs, streams, is_ldpc),
    }
    header
}

fn ampdu(place: Place) -> AmpduStatus {
    let mut flags = AmpduStatus::LAST_KNOWN | AmpduStatus::EOF_KNOWN;
    if place.is_last {
        flags |= AmpduStatus::LAST;
    }
    if place.is_alone {
        flags |= AmpduStatus::EOF;
    }
    AmpduStatus { reference: place.ppdu as u32, flags }
}

fn channel(cell: &Cell, is_dsss: bool) -> Channel {
    let band = match cell.phy.band {
        Band::Ghz5 => Channel::BAND_5_GHZ,
        Band::Ghz2_4 => Channel::BAND_2_GHZ,
    };
    let modulation = if is_dsss { Channel::CCK } else { Channel::OFDM };
    let frequency_mhz = u16::try_from(cell.frequency.0 / 1_000_000).unwrap_or(u16::MAX);
    Channel { frequency_mhz, flags: band | modulation }
}

/// Whether frames of this PHY have the short preamble of 802.11b.
pub(super) fn short_preamble(phy: Phy) -> bool {
    phy.standard == Standard::B && phy.preamble == Preamble::Short
}
