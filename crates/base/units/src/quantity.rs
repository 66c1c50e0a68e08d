//! Sizes, rates, levels, frequencies and lengths.

use crate::parse::{self, ParseQuantityError, Unit};
use crate::{Duration, math};
use core::fmt;
use core::ops::{Add, Sub};
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct BitRate(pub u64);

/// A power ratio in decibels.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Db(pub f64);

/// A power level in decibels over one milliwatt.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Dbm(pub f64);

/// A frequency or a bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hertz(pub u64);

/// A length.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metres(pub f64);

/// Bits of a byte times nanoseconds of a second.
const BITS_BY_NANOS: u64 = 8_000_000_000;

impl BitRate {
    /// A rate of `mbps` megabits (10^6 bits) per second.
    pub const fn mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// Returns the time that `bytes` take at this rate, rounded up to a whole nanosecond.
    ///
    /// A rate of zero never sends: the answer is [`Duration::MAX`].
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Packets stay below 2^64; a division of 128 bits takes five times as long.
        if let Some(scaled) = bytes.checked_mul(BITS_BY_NANOS) {
            return Duration::from_nanos(scaled.div_ceil(self.0));
        }
        let nanos = (u128::from(bytes) * u128::from(BITS_BY_NANOS)).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The mean rate of `bytes` in `span`; zero for an empty span.
    pub fn over(bytes: u64, span: Duration) -> Self {
        if span.is_zero() {
            return Self(0);
        }
        if let Some(scaled) = bytes.checked_mul(BITS_BY_NANOS) {
            return Self(scaled / span.as_nanos());
        }
        let bits = u128::from(bytes) * u128::from(BITS_BY_NANOS) / u128::from(span.as_nanos());
        Self(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// Parses the rate of an option that must not be zero.
    ///
    /// # Errors
    /// The reason, with examples.
    pub fn above_zero(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(Self(0)) => Err("it has to be more than 0".to_owned()),
            parsed => parsed.map_err(|error: ParseQuantityError| error.to_string()),
        }
    }

    /// In megabits per second, for plots.
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Db {
    /// As a linear factor.
    pub fn linear(self) -> f64 {
        math::db_to_linear(self.0)
    }
}

impl Dbm {
    /// In milliwatts.
    pub fn milliwatts(self) -> f64 {
        math::db_to_linear(self.0)
    }

    /// The level of `mw` milliwatts.
    pub fn from_milliwatts(mw: f64) -> Self {
        Self(math::linear_to_db(mw))
    }
}

impl Add<Db> for Dbm {
    type Output = Self;
    fn add(self, gain: Db) -> Self {
        Self(self.0 + gain.0)
    }
}

impl Sub<Db> for Dbm {
    type Output = Self;
    fn sub(self, loss: Db) -> Self {
        Self(self.0 - loss.0)
    }
}

impl Sub for Dbm {
    type Output = Db;
    fn sub(self, other: Self) -> Db {
        Db(self.0 - other.0)
    }
}

const BYTES: &[Unit] = &[
    Unit { name: "B", factor: 1 },
    Unit { name: "bytes", factor: 1 },
    Unit { name: "KB", factor: 1_000 },
    Unit { name: "MB", factor: 1_000_000 },
    Unit { name: "GB", factor: 1_000_000_000 },
    Unit { name: "TB", factor: 1_000_000_000_000 },
    Unit { name: "KiB", factor: 1 << 10 },
    Unit { name: "MiB", factor: 1 << 20 },
    Unit { name: "GiB", factor: 1 << 30 },
    Unit { name: "TiB", factor: 1 << 40 },
];
/// Units, and the letters of iperf3 and tc.
const RATES: &[Unit] = &[
    Unit { name: "bps", factor: 1 },
    Unit { name: "kbps", factor: 1_000 },
    Unit { name: "Mbps", factor: 1_000_000 },
    Unit { name: "Gbps", factor: 1_000_000_000 },
    Unit { name: "k", factor: 1_000 },
    Unit { name: "K", factor: 1_000 },
    Unit { name: "M", factor: 1_000_000 },
    Unit { name: "G", factor: 1_000_000_000 },
];
const HERTZ: &[Unit] = &[
    Unit { name: "Hz", factor: 1 },
    Unit { name: "kHz", factor: 1_000 },
    Unit { name: "MHz", factor: 1_000_000 },
    Unit { name: "GHz", factor: 1_000_000_000 },
];

/// Parsing, printing and serde's two directions for a type over an integer or a real.
macro_rules! textual {
    ($type:ident, $read:ident($($how:expr),*), $write:ident($($units:expr),*)) => {
        impl FromStr for $type {
            type Err = ParseQuantityError;
            fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
                parse::$read(text, $($how),*).map(Self)
            }
        }
        impl TryFrom<String> for $type {
            type Error = ParseQuantityError;
            fn try_from(text: String) -> Result<Self, ParseQuantityError> {
                text.parse()
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                parse::$write(f, self.0, $($units),*)
            }
        }
    };
}

const RATE_PREFIXES: &[(&str, u64)] =
    &[("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000), ("bps", 1)];
const HERTZ_PREFIXES: &[(&str, u64)] = &[("MHz", 1_000_000), ("kHz", 1_000), ("Hz", 1)];

textual!(Bytes, integer("a size", BYTES, "64 KiB"), display_integer(&[("B", 1)]));
textual!(BitRate, integer("a bit rate", RATES, "5 Mbps or 5M"), display_integer(RATE_PREFIXES));
textual!(Hertz, integer("a frequency", HERTZ, "5180 MHz"), display_integer(HERTZ_PREFIXES));
textual!(Db, real("a ratio in dB", &[("dB", 1.0)], "10 dB"), display_real("dB"));
textual!(Dbm, real("a power level", &[("dBm", 1.0)], "16 dBm"), display_real("dBm"));
textual!(Metres, real("a length", METRES, "4 m"), display_real("m"));
const METRES: &[(&str, f64)] = &[("m", 1.0), ("cm", 0.01), ("km", 1000.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_time_is_rounded_up() {
        assert_eq!(BitRate::mbps(100).time_for(1500), Duration::from_micros(120));
        assert_eq!(BitRate(3).time_for(1), Duration::from_nanos(2_666_666_667));
        assert_eq!(BitRate(0).time_for(1), Duration::MAX);
        assert_eq!(BitRate(8).time_for(4_000_000_000), Duration::from_secs(4_000_000_000));
        assert_eq!(BitRate(3).time_for(u64::MAX / 8 + 1), Duration::MAX);
    }

    #[test]
    fn prefixes_are_decimal_unless_spelt_binary() {
        assert_eq!("64 KB".parse::<Bytes>().unwrap(), Bytes(64_000));
        assert_eq!("64 KiB".parse::<Bytes>().unwrap(), Bytes(65_536));
        assert_eq!("1 TB".parse::<Bytes>().unwrap(), Bytes(1_000_000_000_000));
        assert_eq!("5.5 Mbps".parse::<BitRate>().unwrap(), BitRate(5_500_000));
    }

    #[test]
    fn rates_have_a_unit_or_a_letter() {
        for (text, bps) in [("5M", 5_000_000), ("2.5 Mbps", 2_500_000), ("64k", 64_000)] {
            assert_eq!(BitRate::above_zero(text), Ok(BitRate(bps)));
        }
        for text in ["5", "", "M", "-1M", "5 MB", "x", "0M"] {
            assert!(BitRate::above_zero(text).is_err(), "{text}");
        }
        let refused = BitRate::above_zero("5").unwrap_err();
        assert!(refused.ends_with(r#"as in "5 Mbps" or "5M""#), "{refused}");
    }

    #[test]
    fn what_is_printed_can_be_read_back() {
        for rate in [0, 1, 1_000, 5_500_000, 54_000_000, 100_000_000_000] {
            assert_eq!(BitRate(rate).to_string().parse::<BitRate>().unwrap(), BitRate(rate));
        }
        assert_eq!("-82 dBm".parse::<Dbm>().unwrap().to_string(), "-82 dBm");
        assert_eq!("4 m".parse::<Metres>().unwrap(), Metres(4.0));
    }

    #[test]
    fn levels_add_in_decibels() {
        let received = Dbm(16.0) - Db(60.0);
        assert!((received.milliwatts() - 3.981_071_705_534_969e-5).abs() < 1e-18);
        assert_eq!(Dbm(16.0) - Dbm(10.0), Db(6.0));
    }
}
