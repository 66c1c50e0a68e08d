//! Headers of capturing radios other than radiotap: Prism, AVS and PPI. Their fields are returned
//! as those of radiotap.

use super::frame::{Captured, Closed};
use crate::radiotap::{self, AmpduStatus, Channel, Flags, Header, Mcs};
use crate::reader::{Reader, Truncated};
use fairwave_units::BitRate;

/// First word of an AVS header without its version.
const AVS: u32 = 0x8021_1000;
/// Message types of Prism headers, with measurements of a received frame.
const PRISM: [u32; 2] = [0x41, 0x44];
/// Lengths that Prism headers state, in bytes: message type, length and device at least.
const PRISM_LEN: core::ops::RangeInclusive<u32> = 24..=1_024;
/// Identifiers of the rate among the items of a Prism header, in both numberings that drivers use.
const PRISM_RATE: [u32; 2] = [0x0008_0044, 0x0000_8041];

/// Returns the header of Prism, whose numbers are in the byte order of the machine, or of AVS, and
/// the 802.11 frame behind it.
pub(super) fn prism(whole: Captured<'_>) -> Result<(Header, Captured<'_>), Closed> {
    let [kind, len]: [[u8; 4]; 2] = {
        let mut reader = Reader::new(whole.bytes);
        [reader.array("message type")?, reader.array("message length")?]
    };
    if is_avs(u32::from_be_bytes(kind)) {
        return avs(whole);
    }
    let orders: [fn([u8; 4]) -> u32; 2] = [u32::from_le_bytes, u32::from_be_bytes];
    let order = orders.into_iter().find(|order| PRISM.contains(&order(kind)));
    let order = order.ok_or(Closed::Broken)?;
    let len = Some(order(len)).filter(|len| PRISM_LEN.contains(len)).ok_or(Closed::Broken)?;
    let frame = whole.skip(len as usize)?;
    let (_, items) = whole.bytes.split_at(*PRISM_LEN.start() as usize);
    let items = &items[..(len - PRISM_LEN.start()) as usize];
    // An item has an identifier, a state that is zero for a valid value, a length and the value.
    let rate = items.chunks_exact(12).find_map(|item| {
        let word = |at: usize| item[at..].first_chunk().map(|word| order(*word));
        let is_rate = item[4..6] == [0, 0] && PRISM_RATE.contains(&word(0)?);
        u8::try_from(word(8)?).ok().filter(|_| is_rate)
    });
    Ok((Header { rate_500kbps: rate, ..Header::default() }, frame))
}

/// Returns the AVS header and the 802.11 frame behind it.
pub(super) fn avs(whole: Captured<'_>) -> Result<(Header, Captured<'_>), Closed> {
    let mut reader = Reader::new(whole.bytes);
    let is_avs = is_avs(reader.u32_be("version")?);
    let len = reader.u32_be("header length")?;
    if !is_avs || len < 8 {
        return Err(Closed::Broken);
    }
    let frame = whole.skip(len as usize)?;
    // A short header has no rate.
    let header = avs_fields(&whole.bytes[8..len as usize]).unwrap_or_default();
    Ok((header, frame))
}

/// Reads the fields behind the length of an AVS header.
fn avs_fields(bytes: &[u8]) -> Result<Header, Truncated> {
    const UNIT: u64 = 100_000;
    const SHORT: u32 = 1;
    const CCK: u32 = 1;
    const OFDM: u32 = 3;
    let mut reader = Reader::new(bytes);
    reader.take(16, "times")?;
    let [_phy, _frequency, rate] = words(&mut reader)?;
    reader.take(20, "antenna, priority and levels")?;
    let [preamble, encoding] = words(&mut reader)?;
    // Some drivers write bits per second.
    let rate = u64::from(rate) * if u64::from(rate) < UNIT { UNIT } else { 1 };
    let flags = match encoding {
        CCK => Channel::CCK,
        OFDM => Channel::OFDM,
        _ => 0,
    };
    Ok(Header {
        flags: (preamble == SHORT).then_some(Flags::SHORT_PREAMBLE),
        rate_500kbps: radiotap::rate_500kbps(BitRate(rate)),
        channel: Some(Channel { frequency_mhz: 0, flags }),
        ..Header::default()
    })
}

fn words<const COUNT: usize>(reader: &mut Reader<'_>) -> Result<[u32; COUNT], Truncated> {
    let mut words = [0; COUNT];
    for word in &mut words {
        *word = reader.u32_be("AVS field")?;
    }
    Ok(words)
}

fn is_avs(word: u32) -> bool {
    word & 0xffff_f000 == AVS
}

/// A PPI header: the link type of the frame behind it, and properties of an 802.11 frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ppi {
    pub(super) link: u32,
    pub(super) radio: Header,
}

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
        let field = Reader::new(fields.take(len, "field")?);
        found.radio.add(kind, field)?;
    }
    Ok((found, frame))
}

impl Header {
    /// Adds a field of PPI.
    fn add(&mut self, kind: u16, mut field: Reader<'_>) -> Result<(), Truncated> {
        const COMMON: u16 = 2;
        const MAC_OF_N: u16 = 3;
        const PHY_OF_N: u16 = 4;
        match kind {
            COMMON => self.add_common(&mut field),
            MAC_OF_N => self.add_ampdu(&mut field).map(|_| ()),
            PHY_OF_N => {
                const MHZ_40: u32 = 0x02;
                const SHORT_GUARD: u32 = 0x04;
                let flags = self.add_ampdu(&mut field)?;
                field.u8("delimiters")?;
                let index = field.u8("MCS index")?;
                let mcs = Mcs::mixed(index, flags & MHZ_40 != 0, flags & SHORT_GUARD != 0);
                self.mcs = Some(mcs);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Adds properties of 802.11 frames of any kind.
    fn add_common(&mut self, field: &mut Reader<'_>) -> Result<(), Truncated> {
        const FCS_PRESENT: u16 = 0x0001;
        const FCS_INVALID: u16 = 0x0004;
        field.take(8, "time")?;
        let bits = field.u16_le("flags")?;
        let flag = |bit: u16, flag: Flags| if bits & bit == 0 { Flags::default() } else { flag };
        let present = flag(FCS_PRESENT, Flags::FCS_PRESENT);
        self.flags = Some(present.with(flag(FCS_INVALID, Flags::BAD_FCS)));
        // A field may end here.
        let Ok(rate) = field.u16_le("rate") else { return Ok(()) };
        self.rate_500kbps = u8::try_from(rate).ok();
        let channel = [field.u16_le("channel frequency"), field.u16_le("channel flags")];
        if let [Ok(frequency_mhz), Ok(flags)] = channel {
            self.channel = Some(Channel { frequency_mhz, flags });
        }
        Ok(())
    }

    /// Adds the A-MPDU of an 802.11n frame; returns the flags of the field.
    fn add_ampdu(&mut self, field: &mut Reader<'_>) -> Result<u32, Truncated> {
        const AGGREGATE: u32 = 0x10;
        let flags = field.u32_le("flags of 802.11n")?;
        let reference = field.u32_le("A-MPDU")?;
        let ampdu = AmpduStatus { reference, flags: 0 };
        self.ampdu = self.ampdu.or((flags & AGGREGATE != 0).then_some(ampdu));
        Ok(flags)
    }
}
