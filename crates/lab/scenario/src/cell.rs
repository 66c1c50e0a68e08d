//! Radio cells.

use crate::air::{Fading, Shadowing};
use crate::diagnostic::Refusal;
use crate::edca::Categories;
use crate::errors::{Errors, errors};
use crate::frequency::frequency;
use crate::keys::{Flat, keys, table};
use crate::kinds::{choice, count, level, name, real, size, within};
use crate::limits::{MILLISECOND, SECOND};
use crate::mac::{MACS, Mac};
use crate::phy::Generation;
use crate::reader::{self, Reader};
use crate::soc::{LinkMonitor, Soc, link_monitor};
use fairwave_dot11::{Band, Edca, Phy, Standard};
use fairwave_sim::world;
use fairwave_units::{Db, Dbm, Duration, Hertz};
use serde_json::json;

keys! {
    /// One radio channel.
    pub struct Cell |r| {
        let known = Self::standard(r);
        let layer = r.peek("mac", reader::choice(MACS)).unwrap_or_default();
        /// Its name, unique among cells.
        name: String = name(40).or("cell".to_owned());
        /// The PHY.
        standard: Standard =
            choice(STANDARDS).or(Standard::A).needs("standard = \"802.11a\"");
        /// MAC layer that sets the defaults of `rts_threshold`, `preamble_detection`, `capture`,
        /// `acknowledgements` and `beacon_interval`. "ns-2" is its `Mac/802_11`, "ns-2-ext" its
        /// `Mac/802_11Ext`, "wavelan" the cards before 802.11.
        mac: Mac = choice(MACS).or(Mac::Standard);
        /// Features of the standard in use.
        generation: Generation = Flat(known);
        /// Parameters of access categories other than the standard's, where the cell has EDCA:
        /// { best-effort = { txop_limit = "3.008 ms" } }.
        edca_parameters: Option<Categories> = table("write { video = { aifsn = 3 } }")
            .optional()
            .only_if(generation.edca || known.is_none(), "the cell has no EDCA", None);
        /// Centre frequency. Cells on one frequency share its medium.
        frequency: Hertz = within(Hertz(100_000_000), Hertz(100_000_000_000))
            .or(Hertz(5_180_000_000))
            .phrase("\"5180 MHz\" or \"2412 MHz\", by the band")
            .or_key("channel", channel_schema(), |r| {
                frequency(r, first_channel(generation.phy(standard)))
            });
        /// Exponent of the log-distance path loss beyond one metre.
        path_loss_exponent: f64 = real(1.0, 10.0).or(3.0);
        /// Receiver noise figure over thermal noise of -174 dBm/Hz. At 7 dB a frame of 20 MHz meets
        /// -94 dBm of noise, and 3 dB more for each doubling of its width.
        noise_figure: Db = within(Db(0.0), Db(50.0)).or(Db(7.0));
        /// A transmission at or above this level makes the medium busy; one below it is not
        /// received either. With 16 dBm, an exponent of 3 and nothing in the way, links at 5180 MHz
        /// end at 51 m for this reason, whatever their rate.
        carrier_sense: Dbm = level().or(Dbm(-82.0));
        /// Minimum SINR at which a preamble is detected, or "off".
        preamble_detection: Option<Db> =
            within(Db(0.0), Db(50.0)).or_word("off").or(layer.preamble_detection());
        /// A frame stronger by this takes over the receiver, or "off".
        capture: Option<Db> =
            within(Db(0.0), Db(100.0)).or_word("off").or(layer.capture());
        /// Frame errors besides collisions: "snr", "table" or "psk" (`docs/models/radio.md`), or a
        /// table of keys.
        errors: Errors = errors().or(Errors::Snr);
        /// Variation of levels from frame to frame, or "off".
        fading: Option<Fading> =
            table("write fading = { doppler_hz = 12 }").or_word("off").or(None);
        /// Variation of path losses between pairs, or "off".
        shadowing: Option<Shadowing> =
            table("write shadowing = { sigma = \"6 dB\" }").or_word("off").or(None);
        /// Channel reports of stations, by which stations are weighted, or "off".
        soc: Option<Soc> = table("write soc = { policy = \"pw\" }").or_word("off").or(None);
        /// Rule by which access points distinguish good links from bad ones, for queues that pass
        /// over bad ones, or "off".
        link_monitor: Option<LinkMonitor> = link_monitor().or_word("off").or(None);
        /// Data frames, and A-MPDUs as a whole, of this size and above use RTS/CTS, or "off".
        rts_threshold: Option<u32> = size(0, 65_536).or_word("off").or(layer.rts_threshold());
        /// Attempts for frames without RTS.
        short_retry_limit: u32 = count(1, 255).or(7);
        /// Attempts for frames with RTS.
        long_retry_limit: u32 = count(1, 255).or(4);
        /// Beacon interval of the access points, or "off".
        beacon_interval: Option<Duration> = within(MILLISECOND, SECOND * 60)
            .or_word("off")
            .or(layer.beacon_interval());
    }
    check Self::check;
}

const STANDARDS: &[(&str, Standard)] = &[
    ("802.11a", Standard::A),
    ("802.11b", Standard::B),
    ("802.11g", Standard::G),
    ("802.11n", Standard::N),
    ("802.11ac", Standard::Ac),
    ("802.11ax", Standard::Ax),
];

fn channel_schema() -> serde_json::Value {
    let about = "Number of a 20 MHz channel, in place of `frequency`.";
    json!({ "description": about, "type": "integer" })
}

/// The frequency of the first channel in the band of `phy`.
pub(crate) fn first_channel(phy: Phy) -> Hertz {
    Hertz(match phy.band {
        Band::Ghz5 => 5_180_000_000,
        Band::Ghz2_4 => 2_412_000_000,
    })
}

impl Cell {
    /// The standard of the cell that `r` reads, if it is known.
    pub(crate) fn standard(r: &Reader<'_>) -> Option<Standard> {
        r.peek("standard", reader::choice(STANDARDS))
    }

    fn check(&self, r: &Reader<'_>) {
        let by_category = self.soc.as_ref().is_some_and(|soc| soc.by_category.is_some());
        if by_category && !self.generation.edca {
            let message = "access categories have no queues of their own in this cell";
            let help = "write edca = true, or remove soc.by_category";
            r.refuse("soc", Refusal::new(message).help(help));
        }
        if self.errors == Errors::Table && self.standard == Standard::B {
            let message = "the tables of frame errors are of OFDM";
            let help = "write another standard, or errors = \"snr\"";
            r.refuse("errors", Refusal::new(message).help(help));
        }
        if self.errors == Errors::Psk && self.standard != Standard::B {
            let message = "the bit errors of PSK are those of DSSS";
            let help = "write standard = \"802.11b\", or errors = \"snr\"";
            r.refuse("errors", Refusal::new(message).help(help));
        }
        let own = self.edca_parameters.as_ref();
        let all = own.map(|own| own.over(Edca::defaults(self.phy())));
        if let Some(wrong) = all.iter().flatten().find(|edca| edca.cw_min > edca.cw_max) {
            let message = format!("cw_min {} is above cw_max {}", wrong.cw_min, wrong.cw_max);
            r.refuse("edca_parameters", Refusal::new(message).help("set both"));
        }
    }

    /// Its PHY.
    pub fn phy(&self) -> Phy {
        self.generation.phy(self.standard)
    }

    /// Whether receivers acknowledge frames.
    pub(super) fn acknowledges(&self) -> bool {
        self.generation.acknowledgements
    }

    /// The simulator's inputs.
    pub(crate) fn to_world(&self) -> world::Cell {
        let mut cell = world::Cell {
            phy: self.phy(),
            frequency: self.frequency,
            path_loss_exponent: self.path_loss_exponent,
            noise_figure: self.noise_figure,
            carrier_sense: self.carrier_sense,
            preamble_detection: self.preamble_detection,
            capture: self.capture,
            errors: self.errors.to_world(),
            fading: self.fading.as_ref().map(Fading::to_world),
            shadowing: self.shadowing.as_ref().map(Shadowing::to_world),
            rts_threshold: self.rts_threshold,
            short_retry_limit: self.short_retry_limit,
            long_retry_limit: self.long_retry_limit,
            beacon_interval: self.beacon_interval,
            ..world::Cell::new(self.phy())
        };
        self.generation.apply(&mut cell);
        if let Some(own) = &self.edca_parameters {
            cell.edca = cell.edca.map(|usual| own.over(usual));
        }
        cell
    }
}
