//! Headers of capturing radios other than radiotap: Prism, AVS and PPI.

use super::frame::{Captured, Closed};
use crate::reader::Reader;

/// First word of an AVS header without its version.
const AVS: u32 = 0x8021_1000;
/// Message types of Prism headers, with measurements of a received frame.
const PRISM: [u32; 2] = [0x41, 0x44];
/// Lengths that Prism headers state, in bytes: message type, length and device at least.
const PRISM_LEN: core::ops::RangeInclusive<u32> = 24..=1_024;

/// Returns the 802.11 frame behind a header of Prism, whose numbers are in the byte order of the
/// machine, or of AVS.
pub(super) fn prism(whole: Captured<'_>) -> Result<Captured<'_>, Closed> {
    let [kind, len]: [[u8; 4]; 2] = {
        let mut reader = Reader::new(whole.bytes);
        [reader.array("message type")?, reader.array("message length")?]
    };
    if is_avs(u32::from_be_bytes(kind)) {
        return avs(whole);
    }
    let orders: [fn([u8; 4]) -> u32; 2] = [u32::from_le_bytes, u32::from_be_bytes];
    let order = orders.into_iter().find(|order| PRISM.contains(&order(kind)));
    let len = order.map(|order| order(len)).filter(|len| PRISM_LEN.contains(len));
    Ok(whole.skip(len.ok_or(Closed::Broken)? as usize)?)
}

/// Returns the 802.11 frame behind an AVS header.
pub(super) fn avs(whole: Captured<'_>) -> Result<Captured<'_>, Closed> {
    let mut reader = Reader::new(whole.bytes);
    let is_avs = is_avs(reader.u32_be("version")?);
    let len = reader.u32_be("header length")?;
    if !is_avs || len < 8 {
        return Err(Closed::Broken);
    }
    Ok(whole.skip(len as usize)?)
}

fn is_avs(word: u32) -> bool {
    word & 0xffff_f000 == AVS
}

/// A PPI header: the link type of the frame behind it, and properties of an 802.11 frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ppi {
    pub(super) link: u32,
    pub(super) has_fcs: bool,
    pub(super) bad_fcs: bool,
}

/// Field of PPI with properties of 802.11 frames.
const COMMON: u16 = 2;
const FCS_PRESENT: u16 = 0x0001;
const FCS_INVALID: u16 = 0x0004;

/// Reads a PPI header (CACE Technologies, 2007) and returns the frame behind it.
pub(super) fn ppi(whole: Captured<'_>) -> Result<(Ppi, Captured<'_>), Closed> {
    let mut reader = Reader::new(whole.bytes);
    reader.take(2, "version and flags")?;
    let len = usize::from(reader.u16_le("header length")?);
    let mut found = Ppi { link: reader.u32_le("link type")?, ..Ppi::default() };
    let frame = whole.skip(len)?;
    let mut fields = match len.checked_sub(reader.offset()) {
        Some(len) => Reader::new(reader.take(len, "fields")?),
        None => return Err(Closed::Broken),
    };
    while !fields.is_empty() {
        let kind = fields.u16_le("field type")?;
        let len = usize::from(fields.u16_le("field length")?);
        let mut field = Reader::new(fields.take(len, "field")?);
        if kind == COMMON {
            field.take(8, "time")?;
            let flags = field.u16_le("flags")?;
            found.has_fcs = flags & FCS_PRESENT != 0;
            found.bad_fcs = flags & FCS_INVALID != 0;
        }
    }
    Ok((found, frame))
}
