//! Transport-wide feedback: which packets arrived when (draft-holmer-rmcat-transport-wide-cc-
//! extensions-01 section 3.1).

use super::Error;
use crate::reader::Reader;
use fairwave_units::Duration;

/// Resolution of arrival times.
pub const TICK: Duration = Duration::from_micros(250);
/// Maximum number of packets in one feedback, ours; the field would hold 65 535.
pub const MAX_STATUSES: usize = 8_192;

/// RTCP packet type of transport layer feedback (RFC 4585 section 6.1).
const RTPFB: u8 = 205;
/// Its format for this feedback.
const FORMAT: u8 = 15;
/// Symbols of a run, and of the two kinds of vectors.
const MAX_RUN: usize = 0x1fff;
const ONE_BIT: usize = 14;
const TWO_BIT: usize = 7;

/// A receiver's report on the packets from `base` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The source of the report.
    pub sender_ssrc: u32,
    /// A stream that it is about; the feedback is about all of the transport.
    pub media_ssrc: u32,
    /// Transport-wide number of the first packet.
    pub base: u16,
    /// Reference time of the first arrival, in units of 64 ms of the receiver's clock; 24 bits, the
    /// highest a sign.
    pub reference: i32,
    /// Counts feedback.
    pub count: u8,
    /// For each packet from `base` on the ticks since the arrival before (for the first, since the
    /// reference), or none if it has not arrived.
    pub arrivals: Vec<Option<i16>>,
}

/// Coding of the arrival of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Missing = 0,
    Small = 1,
    Large = 2,
}

impl Symbol {
    fn of(arrival: Option<i16>) -> Self {
        match arrival {
            None => Self::Missing,
            Some(0..=255) => Self::Small,
            Some(_) => Self::Large,
        }
    }
}

impl Feedback {
    /// Reads an RTCP packet; the rest is left over.
    ///
    /// # Errors
    /// [`enum@Error`], but for [`Error::Padding`].
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut whole = Reader::new(bytes);
        let (first, kind) = (whole.u8("first byte")?, whole.u8("packet type")?);
        if first >> 6 != 2 {
            return Err(Error::Version { version: first >> 6 });
        }
        if (kind, first & 0x1f) != (RTPFB, FORMAT) {
            return Err(Error::Kind { kind, format: first & 0x1f });
        }
        let words = whole.u16_be("length")?;
        let mut reader = Reader::new(whole.take(4 * usize::from(words), "RTCP packet")?);
        let (sender_ssrc, media_ssrc) = (reader.u32_be("SSRC")?, reader.u32_be("media SSRC")?);
        let base = reader.u16_be("base sequence number")?;
        let statuses = usize::from(reader.u16_be("packet status count")?);
        if statuses > MAX_STATUSES {
            return Err(Error::TooMany { count: statuses });
        }
        let word = reader.u32_be("reference time")?;
        // An arithmetic shift keeps the sign of the 24 bits.
        let (reference, count) = (word.cast_signed() >> 8, word as u8);
        let symbols = symbols(&mut reader, statuses)?;
        let mut arrivals = Vec::with_capacity(symbols.len());
        for (index, symbol) in symbols.into_iter().enumerate() {
            arrivals.push(match symbol {
                0 => None,
                1 => Some(i16::from(reader.u8("receive delta")?)),
                2 => Some(reader.u16_be("receive delta")?.cast_signed()),
                _ => return Err(Error::Symbol { index }),
            });
        }
        let feedback = Self { sender_ssrc, media_ssrc, base, reference, count, arrivals };
        Ok((feedback, whole.rest()))
    }

    /// Appends the RTCP packet.
    ///
    /// # Errors
    /// [`Error::TooMany`]; then nothing is appended.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.arrivals.len() > MAX_STATUSES {
            return Err(Error::TooMany { count: self.arrivals.len() });
        }
        let start = out.len();
        out.extend([0x80 | FORMAT, RTPFB, 0, 0]);
        out.extend(self.sender_ssrc.to_be_bytes());
        out.extend(self.media_ssrc.to_be_bytes());
        out.extend(self.base.to_be_bytes());
        out.extend((self.arrivals.len() as u16).to_be_bytes());
        let word = self.reference.cast_unsigned() << 8 | u32::from(self.count);
        out.extend(word.to_be_bytes());
        self.write_chunks(out);
        for delta in self.arrivals.iter().flatten() {
            match u8::try_from(*delta) {
                Ok(small) => out.push(small),
                Err(_) => out.extend(delta.to_be_bytes()),
            }
        }
        let padding = (4 - (out.len() - start) % 4) % 4;
        if padding > 0 {
            out[start] |= 0x20;
            out.resize(out.len() + padding - 1, 0);
            out.push(padding as u8);
        }
        let words = ((out.len() - start) / 4 - 1) as u16;
        out[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
        Ok(())
    }

    fn write_chunks(&self, out: &mut Vec<u8>) {
        let mut rest = &self.arrivals[..];
        while let Some(first) = rest.first() {
            let symbol = Symbol::of(*first);
            let run = rest.iter().take(MAX_RUN).take_while(|a| Symbol::of(**a) == symbol).count();
            let is_plain = |a: &&Option<i16>| Symbol::of(**a) != Symbol::Large;
            let plain = rest.iter().take(ONE_BIT).take_while(is_plain).count();
            let (chunk, used) = if run > ONE_BIT || run == rest.len() {
                ((symbol as u16) << 13 | run as u16, run)
            } else if plain == ONE_BIT || plain == rest.len() {
                (0x8000 | vector(rest, ONE_BIT, 1), plain)
            } else {
                (0xc000 | vector(rest, TWO_BIT, 2), rest.len().min(TWO_BIT))
            };
            out.extend(chunk.to_be_bytes());
            rest = &rest[used..];
        }
    }
}

/// The symbols of the first `most` packets, each of `bits` bits, the first in the highest.
fn vector(arrivals: &[Option<i16>], maximum: usize, bits: usize) -> u16 {
    let places = arrivals.iter().take(maximum).enumerate();
    places.fold(0, |chunk, (i, arrival)| {
        chunk | (Symbol::of(*arrival) as u16) << (bits * (maximum - 1 - i))
    })
}

/// The symbols of `statuses` packets.
fn symbols(reader: &mut Reader<'_>, statuses: usize) -> Result<Vec<u8>, Error> {
    let mut symbols = Vec::with_capacity(statuses);
    while symbols.len() < statuses {
        let chunk = reader.u16_be("packet chunk")?;
        let left = statuses - symbols.len();
        let part = |bits: usize, maximum: usize, i: usize| {
            (chunk >> (bits * (maximum - 1 - i))) as u8 & ((1 << bits) - 1)
        };
        match chunk >> 14 {
            0 | 1 => {
                let run = usize::from(chunk) & MAX_RUN;
                // A chunk of nothing would let the loop go on for as long as bytes are there.
                let run = run.max(1).min(left);
                symbols.resize(symbols.len() + run, (chunk >> 13) as u8 & 3);
            }
            2 => symbols.extend((0..left.min(ONE_BIT)).map(|i| part(1, ONE_BIT, i))),
            _ => symbols.extend((0..left.min(TWO_BIT)).map(|i| part(2, TWO_BIT, i))),
        }
    }
    Ok(symbols)
}
