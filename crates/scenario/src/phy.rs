//! The keys of a cell and of a radio that depend on the generation of 802.11.

use super::diagnostic::Refusal;
use super::reader::{self, Read, Reader};
use super::value::Value;
use super::words;
use fairwave_dot11::{
    Aggregation, Band, Edca, Format, GuardInterval, Mode, Phy, Preamble, Standard, Width,
};
use fairwave_sim::world;
use fairwave_units::{BitRate, Bytes};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// What a cell uses of its standard.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Generation {
    /// DSSS preamble; only for 802.11b, and for 802.11g with `dsss_stations`. Default: "long".
    #[serde(serialize_with = "preamble", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["long", "short"]))]
    pub preamble: Option<Preamble>,
    /// Band; only for 802.11n and 802.11ax. Default: "5 GHz".
    #[serde(serialize_with = "band", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["2.4 GHz", "5 GHz"]))]
    pub band: Option<Band>,
    /// Channel width; only from 802.11n on, which has up to "40 MHz". Default: "20 MHz" for
    /// 802.11n, later "80 MHz".
    #[serde(serialize_with = "width", skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Option<String>",
        extend("enum" = ["20 MHz", "40 MHz", "80 MHz", "160 MHz"])
    )]
    pub width: Option<Width>,
    /// Whether stations of 802.11b are about: slots of 20 us and the DSSS rates; only for
    /// 802.11g. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsss_stations: Option<bool>,
    /// DSSS rate of the CTS that a radio sends to itself before an OFDM frame, or "off"; only
    /// with `dsss_stations`. Default: "11 Mbps".
    #[serde(serialize_with = "protection", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub protection: Option<Option<BitRate>>,
    /// Whether there are four access categories; always from 802.11n on. Default: false.
    pub edca: bool,
    /// MPDUs in an A-MPDU, 1 to 256, which is also the block ack window; only from 802.11n on.
    /// Default: 64, for 802.11ax 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ampdu_frames: Option<u32>,
    /// Bytes of an A-MPDU; only from 802.11n on. Default: what the standard allows.
    #[serde(serialize_with = "some_bytes", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub ampdu_size: Option<u32>,
    /// Bytes of an A-MSDU, or "off"; only from 802.11n on. Default: "off".
    #[serde(serialize_with = "bytes_or_off", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub amsdu_size: Option<Option<u32>>,
    /// Whether frames to one receiver are acknowledged and repeated, which WaveLAN before 802.11
    /// did not. Default: true.
    pub acknowledgements: bool,
}

const LATER: &[&str] = &["width", "ampdu_frames", "ampdu_size", "amsdu_size"];

impl Generation {
    /// Its keys.
    pub(super) const KEYS: &[&str] = &[
        "preamble",
        "band",
        "width",
        "dsss_stations",
        "protection",
        "edca",
        "ampdu_frames",
        "ampdu_size",
        "amsdu_size",
        "acknowledgements",
    ];

    /// Reads its keys; `standard` is unknown where it could not be read.
    pub(super) fn read(r: &Reader<'_>, standard: Option<Standard>) -> Self {
        let usual = standard.map(Phy::new);
        let is_later = usual.is_none_or(Phy::is_qos);
        let dsss_stations = dsss_stations(r, standard);
        let is_mixed = dsss_stations == Some(true);
        if !is_later {
            r.meaningless(LATER, "it belongs to 802.11n and later standards");
        }
        let has_dsss = standard == Some(Standard::B) || is_mixed;
        if !has_dsss && standard.is_some() {
            r.meaningless(&["preamble"], "only 802.11b has a choice of preambles");
        }
        if !is_mixed && standard.is_some() {
            r.meaningless(&["protection"], "it is for cells with stations of 802.11b");
        }
        let has_band = matches!(standard, Some(Standard::N | Standard::Ax) | None);
        if !has_band {
            r.meaningless(&["band"], "the standard has one band");
        }
        let five = usual.map_or(Band::Ghz5, |phy| phy.band);
        let most = usual.and_then(Aggregation::most);
        let preambles = || r.or("preamble", Preamble::Long, reader::choice(words::PREAMBLES));
        Self {
            preamble: has_dsss.then(preambles),
            band: has_band.then(|| r.or("band", five, reader::choice(words::BANDS))),
            width: is_later.then(|| width_of(r, usual)),
            dsss_stations,
            protection: is_mixed.then(|| {
                r.or("protection", Some(BitRate::mbps(11)), reader::or_word("off", dsss_rate))
            }),
            edca: r.or("edca", usual.is_some_and(Phy::is_qos), edca(is_later)),
            ampdu_frames: most
                .map(|most| r.or("ampdu_frames", most.mpdus, reader::count(1, most.mpdus))),
            ampdu_size: most
                .map(|most| r.or("ampdu_size", most.bytes, reader::size(1, most.bytes))),
            amsdu_size: most.map(|_| {
                r.or("amsdu_size", None, reader::or_word("off", reader::size(1, MOST_AMSDU)))
            }),
            acknowledgements: r.or("acknowledgements", true, reader::boolean),
        }
    }

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

    /// Sets what of `cell` these keys decide.
    pub(super) fn apply(&self, cell: &mut world::Cell) {
        let phy = cell.phy;
        cell.edca = self.edca.then(|| Edca::defaults(phy));
        cell.acknowledges = self.acknowledgements;
        cell.protection = self.protection.flatten().and_then(|rate| phy.mode(rate));
        if let Some(limits) = &mut cell.aggregation {
            limits.mpdus = self.ampdu_frames.unwrap_or(limits.mpdus);
            limits.bytes = self.ampdu_size.unwrap_or(limits.bytes);
            limits.msdu_bytes = self.amsdu_size.flatten().unwrap_or(0);
        }
    }
}

/// Bytes of the longest A-MSDU of VHT and HE (802.11-2020 table 9-25).
const MOST_AMSDU: u32 = 11_426;

fn dsss_stations(r: &Reader<'_>, standard: Option<Standard>) -> Option<bool> {
    match standard {
        Some(Standard::G) | None => Some(r.or("dsss_stations", false, reader::boolean)),
        Some(_) => {
            r.meaningless(&["dsss_stations"], "only 802.11g shares its band with 802.11b so");
            None
        }
    }
}

fn width_of(r: &Reader<'_>, usual: Option<Phy>) -> Width {
    let widest = match usual.map(Phy::format) {
        Some(Format::Ht) => Width::Mhz40,
        _ => Width::Mhz160,
    };
    let read = |value: &Value| {
        let width = reader::choice(words::WIDTHS)(value)?;
        if width <= widest {
            return Ok(width);
        }
        Err(Refusal::new(format!("802.11n has no channels of {} MHz", width.mhz())))
    };
    r.or("width", usual.map_or(Width::Mhz20, |phy| phy.width), read)
}

fn edca(is_later: bool) -> impl Fn(&Value) -> Read<bool> {
    move |value| {
        let on = reader::boolean(value)?;
        if on || !is_later {
            return Ok(on);
        }
        Err(Refusal::new("802.11n and later standards always have EDCA").help("leave it out"))
    }
}

fn dsss_rate(value: &Value) -> Read<BitRate> {
    let rate = reader::quantity::<BitRate>(value)?;
    let rates: Vec<BitRate> = Mode::dsss().map(Mode::rate).collect();
    if rates.contains(&rate) {
        return Ok(rate);
    }
    let listed: Vec<_> = rates.iter().map(ToString::to_string).collect();
    Err(Refusal::new(format!("{rate} is not a rate of 802.11b")).among("", &listed))
}

/// How a radio sends its data frames.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// Rate of its data frames, of those without MCS. Default: the PHY's highest; none from
    /// 802.11n on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub data_rate: Option<BitRate>,
    /// MCS of its data frames, for 802.11n that of one stream (0 to 7). Default: the highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u8>,
    /// Spatial streams, 1 to 4. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u8>,
    /// Guard interval; "0.4 us" before 802.11ax only, more than "0.8 us" in 802.11ax only.
    /// Default: "0.8 us".
    #[serde(serialize_with = "guard", skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Option<String>",
        extend("enum" = ["0.4 us", "0.8 us", "1.6 us", "3.2 us"])
    )]
    pub guard_interval: Option<GuardInterval>,
}

/// The keys of [`Rate`].
pub(super) const RATE: &[&str] = &["data_rate", "mcs", "streams", "guard_interval"];

impl Rate {
    /// Reads its keys; `phy` is unknown where its cell could not be read.
    pub(super) fn read(r: &Reader<'_>, phy: Option<Phy>) -> Self {
        let is_later = phy.is_some_and(Phy::is_qos);
        let rates = phy.map(words::rates).unwrap_or_default();
        let highest = rates.last().copied().filter(|_| !is_later);
        let data_rate = r.optional("data_rate", rate_among(phy, &rates)).or(highest);
        if !is_later || data_rate.is_some() {
            let why = if is_later { "a data_rate is set" } else { "it is for 802.11n and later" };
            if phy.is_some() {
                r.meaningless(&["mcs", "streams", "guard_interval"], why);
            }
            return Self { data_rate, mcs: None, streams: None, guard_interval: None };
        }
        let streams = r.or("streams", 1, reader::count(1, 4)) as u8;
        let guard = r.or("guard_interval", GuardInterval::Ns800, reader::choice(words::GUARDS));
        let modes = phy.map(|phy| phy.modes(streams)).unwrap_or_default();
        let highest = modes.last().map_or(0, |mode| mode.mcs());
        let mcs = r.or("mcs", highest, |value| {
            let mcs = reader::count(0, 255)(value)? as u8;
            let mode = phy.map(|phy| Mode::new(phy.format(), mcs, streams, phy.width, guard));
            match mode {
                Some(Err(invalid)) => Err(Refusal::new(invalid.to_string())),
                _ => Ok(mcs),
            }
        });
        let mode = phy.map(|phy| Mode::new(phy.format(), mcs, streams, phy.width, guard));
        if let Some(Err(invalid)) = mode {
            r.refuse("guard_interval", Refusal::new(invalid.to_string()));
        }
        Self {
            data_rate: None,
            mcs: Some(mcs),
            streams: Some(streams),
            guard_interval: Some(guard),
        }
    }

    /// The mode that the keys name, which were found to be one of `phy`.
    pub(super) fn mode(&self, phy: Phy) -> Mode {
        let later = || {
            let (mcs, streams) = (self.mcs?, self.streams?);
            Mode::new(phy.format(), mcs, streams, phy.width, self.guard_interval?).ok()
        };
        let legacy = self.data_rate.and_then(|rate| phy.mode(rate));
        legacy.or_else(later).unwrap_or_else(|| phy.lowest_mode())
    }
}

fn rate_among(phy: Option<Phy>, rates: &[BitRate]) -> impl Fn(&Value) -> Read<BitRate> {
    move |value| {
        let rate = reader::quantity::<BitRate>(value)?;
        if phy.is_none() || rates.contains(&rate) {
            return Ok(rate);
        }
        let listed: Vec<_> = rates.iter().map(ToString::to_string).collect();
        let message = format!("{rate} is not a rate of the cell's PHY");
        Err(Refusal::new(message).among("", &listed))
    }
}

fn preamble<S: Serializer>(value: &Option<Preamble>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(value.map_or("", |p| reader::word(words::PREAMBLES, &p)))
}

fn band<S: Serializer>(value: &Option<Band>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(value.map_or("", |band| reader::word(words::BANDS, &band)))
}

fn width<S: Serializer>(value: &Option<Width>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(value.map_or("", |width| reader::word(words::WIDTHS, &width)))
}

fn guard<S: Serializer>(value: &Option<GuardInterval>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(value.map_or("", |guard| reader::word(words::GUARDS, &guard)))
}

#[expect(clippy::option_option, reason = "the outer one is whether the key applies")]
fn protection<S: Serializer>(value: &Option<Option<BitRate>>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&value.flatten().map_or("off".to_owned(), |rate| rate.to_string()))
}

fn some_bytes<S: Serializer>(value: &Option<u32>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&Bytes(u64::from(value.unwrap_or(0))).to_string())
}

#[expect(clippy::option_option, reason = "the outer one is whether the key applies")]
fn bytes_or_off<S: Serializer>(value: &Option<Option<u32>>, s: S) -> Result<S::Ok, S::Error> {
    let shown = |bytes| Bytes(u64::from(bytes)).to_string();
    s.serialize_str(&value.flatten().map_or("off".to_owned(), shown))
}
