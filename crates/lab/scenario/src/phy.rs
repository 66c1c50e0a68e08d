//! The keys of a cell and of a radio that depend on the generation of 802.11.

use super::diagnostic::Refusal;
use super::keys::{Entry, Kind, keys};
use super::kinds::{boolean, choice, count, quantity, size};
use super::mac::MACS;
use super::reader::{self, Read};
use super::words;
use fairwave_dot11::{
    Aggregation, Band, BlockAckRequest, Capabilities, Edca, Format, GuardInterval, Mode, Phy,
    Preamble, Standard, Width,
};
use fairwave_sim::world;
use fairwave_units::BitRate;
use serde_json::json;

keys! {
    /// Features of its standard that a cell uses.
    pub struct Generation |r| (standard: Option<Standard> = None) {
        let standard = *standard;
        let layer = r.peek("mac", reader::choice(MACS)).unwrap_or_default();
        let usual = standard.map(Phy::new);
        let is_later = usual.is_none_or(Phy::is_qos);
        let is_unknown = standard.is_none();
        let most = Aggregation::most(usual.unwrap_or_else(|| Phy::new(Standard::Ax)));
        let (max_mpdus, max_bytes) = most.map_or((1, 1), |most| (most.mpdus, most.bytes));
        let is_mixed = matches!(standard, Some(Standard::G) | None)
            && r.peek("dsss_stations", reader::boolean) == Some(true);
        let has_dsss = standard == Some(Standard::B) || is_mixed;
        /// DSSS preamble; only for 802.11b, and for 802.11g with `dsss_stations`.
        preamble: Option<Preamble> = choice(words::PREAMBLES)
            .or(Preamble::Long)
            .when(has_dsss || is_unknown, "only 802.11b has a choice of preambles");
        /// Band; only for 802.11n and 802.11ax.
        band: Option<Band> = choice(words::BANDS)
            .or(usual.map_or(Band::Ghz5, |phy| phy.band))
            .when(
                matches!(standard, Some(Standard::N | Standard::Ax) | None),
                "the standard has one band",
            );
        /// Channel width; only from 802.11n on, which has up to "40 MHz".
        width: Option<Width> = widths(usual)
            .or(usual.map_or(Width::Mhz20, |phy| phy.width))
            .phrase("\"20 MHz\" for 802.11n, later \"80 MHz\"")
            .when(is_later, LATER);
        /// Whether stations of 802.11b are about: slots of 20 us and the DSSS rates; only for
        /// 802.11g.
        dsss_stations: Option<bool> = boolean().or(false).when(
            matches!(standard, Some(Standard::G) | None),
            "only 802.11g shares its band with 802.11b so",
        );
        /// DSSS rate of the CTS that a radio sends to itself before an OFDM frame, or "off"; only
        /// with `dsss_stations`.
        protection: Option<Option<BitRate>> = dsss_rates()
            .or_word("off")
            .or(Some(BitRate::mbps(11)))
            .when(is_mixed || is_unknown, "it is for cells with stations of 802.11b");
        /// Whether there are four access categories; always from 802.11n on.
        edca: bool = boolean()
            .checked(move |is_on| edca(is_on, is_later && !is_unknown))
            .or(usual.is_some_and(Phy::is_qos));
        /// MPDUs in an A-MPDU, which is also the block ack window; only from 802.11n on.
        ampdu_frames: Option<u32> = count(1, max_mpdus)
            .or(max_mpdus)
            .phrase("64, for 802.11ax 256")
            .when(is_later, LATER);
        /// Bytes of an A-MPDU; only from 802.11n on.
        ampdu_size: Option<u32> = size(1, max_bytes)
            .or(max_bytes)
            .phrase("the maximum of the standard")
            .when(is_later, LATER);
        /// Bytes of an A-MSDU, or "off"; only from 802.11n on.
        amsdu_size: Option<Option<u32>> =
            size(1, MAX_AMSDU).or_word("off").or(None).when(is_later, LATER);
        /// Time at which the sender of an A-MPDU transmits a BlockAckReq: "after-missing" before it
        /// retransmits MPDUs without a BlockAck, as ns-3 does; "on-drop" when it has dropped MPDUs,
        /// as Linux does; "never", and the receiver knows of drops at no cost. Only from 802.11n
        /// on.
        block_ack_request: Option<BlockAckRequest> = choice(words::BLOCK_ACK_REQUESTS)
            .or(BlockAckRequest::OnDrop)
            .when(is_later, LATER);
        /// Attempts at an MPDU under block ack, with and without RTS, and at a BlockAckReq; or
        /// "as-frames", by `short_retry_limit` and `long_retry_limit`. ns-3 sets no limit, ath9k
        /// 30. Only from 802.11n on.
        ampdu_retry_limit: Option<Option<u32>> =
            count(1, 1_000_000).or_word("as-frames").or(None).when(is_later, LATER);
        /// Whether frames to one receiver are acknowledged and repeated, which WaveLAN before
        /// 802.11 did not.
        acknowledgements: bool = boolean().or(layer.acknowledges());
    }
}

const LATER: &str = "it belongs to 802.11n and later standards";

impl Generation {
    /// The PHY of a cell of `standard`.
    pub(super) fn phy(&self, standard: Standard) -> Phy {
        let usual = Phy::new(standard);
        Phy {
            preamble: self.preamble.unwrap_or(usual.preamble),
            band: self.band.unwrap_or(usual.band),
            width: self.width.unwrap_or(usual.width),
            with_dsss: self.dsss_stations == Some(true),
            ..usual
        }
    }

    /// Sets the properties of `cell` that these keys decide.
    pub(super) fn apply(&self, cell: &mut world::Cell) {
        let phy = cell.phy;
        cell.edca = self.edca.then(|| Edca::defaults(phy));
        cell.acknowledges = self.acknowledgements;
        cell.protection = self.protection.flatten().and_then(|rate| phy.mode(rate));
        if let Some(limits) = &mut cell.aggregation {
            limits.mpdus = self.ampdu_frames.unwrap_or(limits.mpdus);
            limits.bytes = self.ampdu_size.unwrap_or(limits.bytes);
            limits.msdu_bytes = self.amsdu_size.flatten().unwrap_or(0);
            limits.request = self.block_ack_request.unwrap_or(limits.request);
            limits.retry_limit = self.ampdu_retry_limit.flatten();
        }
    }
}

/// Bytes of the longest A-MSDU of VHT and HE (802.11-2020 table 9-25).
const MAX_AMSDU: u32 = 11_426;

fn widths(usual: Option<Phy>) -> Kind<Width> {
    let widest = match usual.map(Phy::format) {
        Some(Format::Ht) => Width::Mhz40,
        _ => Width::Mhz160,
    };
    choice(words::WIDTHS).checked(move |width| {
        if width <= widest {
            return Ok(width);
        }
        Err(Refusal::new(format!("802.11n has no channels of {} MHz", width.mhz())))
    })
}

fn edca(is_on: bool, is_later: bool) -> Read<bool> {
    if is_on || !is_later {
        return Ok(is_on);
    }
    Err(Refusal::new("802.11n and later standards always have EDCA").help("leave it out"))
}

fn dsss_rates() -> Kind<BitRate> {
    quantity().checked(|rate| {
        let rates: Vec<BitRate> = Mode::dsss().map(Mode::rate).collect();
        if rates.contains(&rate) {
            return Ok(rate);
        }
        let listed: Vec<_> = rates.iter().map(ToString::to_string).collect();
        Err(Refusal::new(format!("{rate} is not a rate of 802.11b")).among("", &listed))
    })
}

keys! {
    /// Transmission of data frames by a radio, and its capabilities.
    pub struct Rate |r| (phy: Option<Phy> = None) {
        let phy = *phy;
        let streams_read = r.peek("streams", reader::count(1, 4)).unwrap_or(1) as u8;
        let guard = r.peek("guard_interval", reader::choice(words::GUARDS));
        let guard = guard.unwrap_or(GuardInterval::Ns800);
        let width_read = r.peek("width", reader::choice(words::WIDTHS));
        let highest = r.peek("max_mcs", reader::count(0, 11)).map_or(11, |mcs| mcs as u8);
        /// Rate of its data frames, of those without MCS. A `rate_control` that adapts begins with
        /// it; from 802.11n on it is for "constant" alone.
        data_rate: Option<BitRate> =
            data_rates(phy).optional().phrase("none: rate control chooses");
        /// MCS of the data frames that it sends, not of those that it receives; for 802.11n that
        /// of one stream (0 to 7), with all its `streams`,
        /// over its `width` and with its `guard_interval`: their receivers must have these.
        mcs: Option<u8> = indices(move |mcs| {
            at_most(mcs, highest)?;
            mode(phy, mcs, streams_read, guard, width_read)
        })
        .optional()
        .only_if(has_mcs(phy, data_rate), why_no_mcs(phy), None)
        .phrase("none: rate control chooses");
        /// Spatial streams that it sends and receives, at most. Two radios use the lesser number.
        streams: Option<u8> = of_mcs(
            count(1, 4).map(|n| n as u8, |n| u32::from(*n)).or(1),
            phy,
            data_rate,
        );
        /// Widest channel that it sends and receives. Two radios use the narrower one.
        width: Option<Width> = of_mcs(
            choice(words::WIDTHS)
                .checked(move |width| within_cell(width, phy))
                .or(phy.map_or(Width::Mhz20, |phy| phy.width)),
            phy,
            data_rate,
        )
        .phrase("the cell's");
        /// Shortest guard interval that it sends and receives. Two radios use the longer one.
        /// "0.4 us" before 802.11ax only, more than "0.8 us" in 802.11ax only.
        guard_interval: Option<GuardInterval> = of_mcs(
            choice(words::GUARDS)
                .checked(move |guard| {
                    mode(phy, mcs.unwrap_or_default(), streams_read, guard, width_read)
                        .map(|()| guard)
                })
                .or(GuardInterval::Ns800),
            phy,
            data_rate,
        );
        /// Highest MCS that it sends and receives. Two radios use the lower one.
        max_mcs: Option<u8> = of_mcs(
            indices(move |mcs| at_most(mcs, highest_mcs(phy))).or(highest_mcs(phy)),
            phy,
            data_rate,
        )
        .phrase("7 for 802.11n, 9 for 802.11ac, 11 for 802.11ax");
    }
}

/// Rates without MCS of `phy`, which is unknown where its cell could not be read.
fn data_rates(phy: Option<Phy>) -> Kind<BitRate> {
    quantity().checked(move |rate: BitRate| {
        let rates = phy.map(words::rates).unwrap_or_default();
        if phy.is_none() || rates.contains(&rate) {
            return Ok(rate);
        }
        let listed: Vec<_> = rates.iter().map(ToString::to_string).collect();
        let message = format!("{rate} is not a rate of the cell's PHY");
        Err(Refusal::new(message).among("", &listed))
    })
}

/// The highest MCS of the standard.
fn highest_mcs(phy: Option<Phy>) -> u8 {
    match phy.map(Phy::format) {
        Some(Format::Ht) => 7,
        Some(Format::Vht) => 9,
        _ => 11,
    }
}

fn at_most(mcs: u8, highest: u8) -> Read<()> {
    if mcs <= highest {
        return Ok(());
    }
    Err(Refusal::new(format!("MCS {mcs} does not exist there; the highest is {highest}")))
}

fn within_cell(width: Width, phy: Option<Phy>) -> Read<Width> {
    match phy.filter(|phy| width > phy.width) {
        None => Ok(width),
        Some(phy) => {
            let message = format!("the cell has channels of {} MHz", phy.width.mhz());
            Err(Refusal::new(message).help("set the cell's width"))
        }
    }
}

/// Indices of modes, which `check` checks.
fn indices(check: impl Fn(u8) -> Read<()> + 'static) -> Kind<u8> {
    let kind = count(0, 255).map(|n| n as u8, |n| u32::from(*n));
    kind.checked(move |mcs| check(mcs).map(|()| mcs))
        .described(|_| json!({ "type": "integer", "minimum": 0, "maximum": 255 }))
}

/// Whether `phy` has such a mode; without `width` over all of it.
fn mode(
    phy: Option<Phy>,
    mcs: u8,
    streams: u8,
    guard: GuardInterval,
    width: Option<Width>,
) -> Read<()> {
    let Some(phy) = phy else { return Ok(()) };
    let mode = Mode::new(phy.format(), mcs, streams, width.unwrap_or(phy.width), guard);
    mode.map(|_| ()).map_err(|invalid| Refusal::new(invalid.to_string()))
}

/// Whether data frames have an MCS.
fn has_mcs(phy: Option<Phy>, data_rate: Option<BitRate>) -> bool {
    phy.is_none_or(|phy| phy.is_qos() && data_rate.is_none())
}

fn why_no_mcs(phy: Option<Phy>) -> &'static str {
    if phy.is_none_or(Phy::is_qos) { "a data_rate is set" } else { "it is for 802.11n and later" }
}

/// A key of radios whose data frames have an MCS.
fn of_mcs<T: Clone + 'static>(
    entry: Entry<T>,
    phy: Option<Phy>,
    data_rate: Option<BitRate>,
) -> Entry<Option<T>> {
    entry.when(has_mcs(phy, data_rate), why_no_mcs(phy))
}

impl Rate {
    /// Capabilities that its keys name, the usual ones elsewhere.
    pub(super) fn usual_capabilities(&self) -> Capabilities {
        Capabilities {
            streams: self.streams.unwrap_or(1),
            guard: self.guard_interval.unwrap_or(GuardInterval::Ns800),
            ..Capabilities::default()
        }
    }

    /// Capabilities of the radio to send and receive.
    pub(super) fn capabilities(&self, phy: Phy) -> Capabilities {
        Capabilities {
            streams: self.streams.unwrap_or(1),
            width: self.width.unwrap_or(phy.width),
            guard: self.guard_interval.unwrap_or(GuardInterval::Ns800),
            mcs: self.max_mcs.unwrap_or(highest_mcs(Some(phy))),
        }
    }

    /// The mode that the keys name, which were found to be one of `phy`, if they name one.
    pub(super) fn named(&self, phy: Phy) -> Option<Mode> {
        if let Some(rate) = self.data_rate {
            return phy.mode(rate);
        }
        let Capabilities { streams, width, guard, .. } = self.capabilities(phy);
        Mode::new(phy.format(), self.mcs?, streams, width, guard).ok()
    }

    /// That mode, or the fastest that the radio can send.
    pub(super) fn mode(&self, phy: Phy) -> Mode {
        let fastest = || self.capabilities(phy).modes(phy).last().copied();
        self.named(phy).or_else(fastest).unwrap_or_else(|| phy.lowest_mode())
    }

    /// The rate control where none is set, in a cell with or without acknowledgements.
    pub(super) fn usual_control(&self, acknowledges: bool) -> &'static str {
        let chooses = acknowledges && self.data_rate.is_none() && self.mcs.is_none();
        if chooses { "minstrel" } else { CONSTANT }
    }
}

/// The rate control that does not adapt.
pub(super) const CONSTANT: &str = "constant";
