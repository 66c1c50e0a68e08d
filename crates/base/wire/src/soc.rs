//! Reports of the Strength of Connection (SoC): a station's report on the channel to its access
//! point, in a frame of its own or in front of the data of a frame that leaves anyway.
//!
//! The idea is of Aida, Tobe and Tokuda (2003), section 4.4. Their frame holds an IPv4 address
//! and the SoC, and anybody may send it; [`Plain`] reads and writes it. [`Report`] is Fairwave's:
//! it names its station, says when the next one is due, and is sealed with a key that the station
//! and its access point share, so that it can neither be forged nor sent a second time. Its
//! layout is in `docs/models/soc.md`, byte by byte.
//!
//! Either follows an Ethernet II or SNAP header of type [`ETHER_TYPE`]. A report whose
//! [`Report::next`] is not `None` is in front of the payload that the frame would have carried
//! without it, and `next` is the type of that payload: it is inserted and removed like a VLAN tag
//! (IEEE 802.1Q-2018 clause 9), without looking at the bytes behind it.
//!
//! An access point that listens says so by an [`Answer`] each second, in a crowd every other one,
//! and reports are sealed for one start of one access point ([`Session`]). Stations behind a router
//! send reports as datagrams ([`routed`]). How a station gets its key is in [`pair`].

mod answer;
pub mod pair;
mod plain;
pub mod routed;
mod session;
mod written;

pub use answer::{ANSWER_LEN, ANSWER_SUBTYPE, Answer, AnswerError, frame};
pub use plain::Plain;
pub use session::{GREETING_SUBTYPE, Greeting, GreetingError, KeyRefused, SESSION_LEN, Session};
pub use written::Written;

use crate::ethernet::{EtherType, Mac};
use crate::reader::{Reader, Truncated};
use crate::seal::{Forged, Key, TAG_LEN, Tag};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;
use thiserror::Error;

/// Local Experimental EtherType 1 (IEEE 802-2014 clause 9.2.4), since none is assigned.
pub const ETHER_TYPE: EtherType = EtherType::LOCAL_EXPERIMENT_1;
/// Mark that distinguishes a report from other experiments under the same type, as that clause
/// asks: "SC".
pub const SUBTYPE: u16 = 0x5343;
/// Version of the format.
pub const VERSION: u8 = 1;
/// Length of a report in bytes, its tag included.
pub const LEN: usize = 64;
/// Number of them the tag covers: all before it.
const COVERED: usize = LEN - TAG_LEN;
/// Purpose of the tag, so that it does not pass in another of Fairwave's formats.
const LABEL: &str = "soc report";

/// A level in hundredths of a decibel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CentiDb(pub i16);

impl CentiDb {
    /// No level: that of a station's last report, with which it ends reporting. No level of a radio
    /// is so low.
    pub const NONE: Self = Self(i16::MIN);

    /// The nearest one to `db`; beyond the range its end, and zero for NaN. Never [`Self::NONE`].
    pub fn from_db(db: f64) -> Self {
        Self(((db * 100.0).round() as i16).max(i16::MIN + 1))
    }

    /// In decibels.
    pub fn db(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

/// A station's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Type of the payload that follows in the same frame; `None` for a frame of its own.
    pub next: Option<EtherType>,
    /// The station's link address. It is never that of a group.
    pub station: Mac,
    /// Its IPv4 address; unspecified if it has none.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 address; unspecified if it has none.
    pub ipv6: Ipv6Addr,
    /// Grows with every report sealed with the same key, over restarts too.
    pub sequence: u64,
    /// Time at which it was made, by the station's clock in milliseconds, modulo 2^32. The clock's
    /// zero means nothing; differences do.
    pub made_ms: u32,
    /// Time at which the next report is to be expected, in milliseconds after this one.
    pub interval_ms: NonZeroU16,
    /// The SoC; [`CentiDb::NONE`] in the last report.
    pub soc: CentiDb,
}

/// Reason for which bytes are no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Another experiment under the same EtherType.
    #[error("subtype at offset 0 is {found:#06x}, not {SUBTYPE:#06x}")]
    Subtype {
        /// The subtype found.
        found: u16,
    },
    /// A version that this code does not know.
    #[error("version at offset 2 is {found}, not {VERSION}")]
    Version {
        /// The version found.
        found: u8,
    },
    /// Bits that version 1 leaves unused are set.
    #[error("reserved byte at offset 3 is {found:#04x}, not 0")]
    Reserved {
        /// The byte found.
        found: u8,
    },
    /// A payload type that is none.
    #[error("next type at offset 4 is {found:#06x}: below 0x0600 it is a length")]
    Next {
        /// The number found.
        found: u16,
    },
    /// A station cannot have the address of a group.
    #[error("station address at offset 6 is {found}, that of a group")]
    Group {
        /// The address found.
        found: Mac,
    },
    /// The next report would follow at once.
    #[error("interval at offset 44 is 0 ms")]
    Interval,
}

/// A report whose tag has not been checked.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    report: Report,
    covered: &'a [u8],
    tag: Tag,
}

impl Claim<'_> {
    /// The station that it claims to be from, which finds the key.
    pub const fn station(&self) -> Mac {
        self.report.station
    }

    /// Its claims, for a reader without the key, such as one of a capture.
    pub const fn unchecked(&self) -> Report {
        self.report
    }

    /// The report, if its tag was made with this key.
    ///
    /// # Errors
    /// [`Forged`] if it was not.
    pub fn open(&self, key: &Key) -> Result<Report, Forged> {
        key.verify(LABEL, &[self.covered], &self.tag).map(|()| self.report)
    }
}

/// Reads a report; returns the rest, which is the frame's payload if the report names one, and
/// padding otherwise.
pub fn parse(bytes: &[u8]) -> Result<(Claim<'_>, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    read_version(&mut reader)?;
    let next = read_next(reader.u16_be("next type")?)?;
    let station = Mac(reader.array("station address")?);
    let ipv4 = Ipv4Addr::from(reader.array::<4>("ipv4 address")?);
    let ipv6 = Ipv6Addr::from(reader.array::<16>("ipv6 address")?);
    let sequence = u64::from_be_bytes(reader.array("sequence")?);
    let made_ms = reader.u32_be("time of making")?;
    let interval = reader.u16_be("interval")?;
    let soc = CentiDb(i16::from_be_bytes(reader.array("soc")?));
    let tag = Tag(reader.array("tag")?);
    if station.is_group() {
        return Err(Error::Group { found: station });
    }
    let interval_ms = NonZeroU16::new(interval).ok_or(Error::Interval)?;
    let report = Report { next, station, ipv4, ipv6, sequence, made_ms, interval_ms, soc };
    Ok((Claim { report, covered: &bytes[..COVERED], tag }, reader.rest()))
}

fn read_version(reader: &mut Reader<'_>) -> Result<(), Error> {
    match reader.u16_be("subtype")? {
        SUBTYPE => {}
        found => return Err(Error::Subtype { found }),
    }
    match reader.u8("version")? {
        VERSION => {}
        found => return Err(Error::Version { found }),
    }
    match reader.u8("reserved byte")? {
        0 => Ok(()),
        found => Err(Error::Reserved { found }),
    }
}

fn read_next(number: u16) -> Result<Option<EtherType>, Error> {
    match number {
        0 => Ok(None),
        found => EtherType::new(found).map(Some).ok_or(Error::Next { found }),
    }
}

impl Report {
    /// Its bytes, with the tag that this key makes.
    pub fn seal(&self, key: &Key) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let (covered, tag) = bytes.split_at_mut(COVERED);
        self.put(covered);
        tag.copy_from_slice(&key.tag(LABEL, &[covered]).0);
        bytes
    }

    fn put(&self, out: &mut [u8]) {
        let mut rest = out;
        let mut field = |bytes: &[u8]| {
            let (place, after) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            place.copy_from_slice(bytes);
            rest = after;
        };
        field(&SUBTYPE.to_be_bytes());
        field(&[VERSION, 0]);
        field(&self.next.map_or(0, EtherType::number).to_be_bytes());
        field(&self.station.0);
        field(&self.ipv4.octets());
        field(&self.ipv6.octets());
        field(&self.sequence.to_be_bytes());
        field(&self.made_ms.to_be_bytes());
        field(&self.interval_ms.get().to_be_bytes());
        field(&self.soc.0.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
