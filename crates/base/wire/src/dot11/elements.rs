//! Information elements of management frames (IEEE 802.11-2020 clause 9.4.2).

use super::Error;
use crate::reader::Reader;
use core::fmt;

const SSID: u8 = 0;
const SUPPORTED_RATES: u8 = 1;
const DS_PARAMETER: u8 = 3;
const EXTENDED_RATES: u8 = 50;

/// Number of rates that the Supported Rates element holds; others go into Extended Supported Rates.
const RATES_FIRST: usize = 8;

/// A network's name: up to 32 bytes, by custom UTF-8 (clause 9.4.2.2).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Ssid {
    bytes: [u8; Self::LEN_MAX],
    len: u8,
}

impl Ssid {
    /// Longest name in bytes.
    pub const LEN_MAX: usize = 32;

    /// The name of these bytes; `None` beyond 32.
    pub fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::LEN_MAX];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self { bytes, len: name.len() as u8 })
    }

    /// Its bytes; none for a hidden network.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Ssid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ssid({})", self.as_bytes().escape_ascii())
    }
}

/// A rate in units of 500 kbps, 1..=127, and whether it is basic (clause 9.4.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate(u8);

impl Rate {
    /// A rate that stations may use; `None` unless it is 1..=127.
    pub const fn optional(units_500kbps: u8) -> Option<Self> {
        if units_500kbps == 0 || units_500kbps > 127 { None } else { Some(Self(units_500kbps)) }
    }

    /// A rate that stations must support; `None` unless it is 1..=127.
    pub const fn basic(units_500kbps: u8) -> Option<Self> {
        match Self::optional(units_500kbps) {
            Some(Self(units)) => Some(Self(units | 0x80)),
            None => None,
        }
    }

    /// The rate in units of 500 kbps.
    pub const fn units_500kbps(self) -> u8 {
        self.0 & 0x7f
    }

    /// Whether every station must support it.
    pub const fn is_basic(self) -> bool {
        self.0 & 0x80 != 0
    }
}

/// The rates of a network, up to 16 in either element.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Rates {
    rates: [Rate; Self::MAX],
    len: u8,
}

impl Rates {
    /// Maximum number.
    pub const MAX: usize = 16;

    /// Adds a rate; false if there is no room.
    pub fn push(&mut self, rate: Rate) -> bool {
        let Some(slot) = self.rates.get_mut(usize::from(self.len)) else { return false };
        *slot = rate;
        self.len += 1;
        true
    }

    /// The rates in the order of the elements.
    pub fn as_slice(&self) -> &[Rate] {
        &self.rates[..usize::from(self.len)]
    }
}

impl fmt::Debug for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// The elements that Fairwave speaks; others are skipped on reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    /// Name of the network; absent from association responses.
    pub ssid: Option<Ssid>,
    /// Its rates; no element is written if there is none.
    pub rates: Rates,
    /// Channel number on which it operates (clause 9.4.2.4).
    pub channel: Option<u8>,
}

impl Elements {
    /// Reads elements to the end. Of a repeated one the last counts, but rates add up.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut elements = Self::default();
        while !reader.is_empty() {
            let offset = reader.offset();
            let id = reader.u8("element id")?;
            let len = usize::from(reader.u8("element length")?);
            let data = reader.take(len, "element")?;
            elements.set(id, data).ok_or(Error::Element { id, offset, len })?;
        }
        Ok(elements)
    }

    /// Takes an element; `None` if its content is impossible for its kind.
    fn set(&mut self, id: u8, data: &[u8]) -> Option<()> {
        match id {
            SSID => self.ssid = Some(Ssid::new(data)?),
            SUPPORTED_RATES | EXTENDED_RATES => {
                for &byte in data {
                    Rate::optional(byte & 0x7f)?;
                    self.rates.push(Rate(byte)).then_some(())?;
                }
            }
            DS_PARAMETER => {
                let [channel] = data.try_into().ok()?;
                self.channel = Some(channel);
            }
            _ => {}
        }
        Some(())
    }

    /// Appends the elements in the order of their numbers.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if let Some(ssid) = self.ssid {
            element(out, SSID, ssid.as_bytes());
        }
        let rates = self.rates.rates.map(|rate| rate.0);
        let (first, extended) = rates.split_at(RATES_FIRST);
        let len = usize::from(self.rates.len);
        if len > 0 {
            element(out, SUPPORTED_RATES, &first[..len.min(RATES_FIRST)]);
        }
        if let Some(channel) = self.channel {
            element(out, DS_PARAMETER, &[channel]);
        }
        if len > RATES_FIRST {
            element(out, EXTENDED_RATES, &extended[..len - RATES_FIRST]);
        }
    }
}

/// Appends one element of at most 255 bytes.
fn element(out: &mut Vec<u8>, id: u8, data: &[u8]) {
    out.extend([id, data.len() as u8]);
    out.extend(data);
}
