//! Channels by number.

use crate::diagnostic::Refusal;
use crate::reader::{Read, Reader, integer, within};
use crate::value::Value;
use fairwave_units::Hertz;

/// Centre frequencies of 20 MHz channels (IEEE 802.11-2020 annex E): the 2.4 GHz band begins at
/// 2407 MHz, with channel 14 apart, and the 5 GHz band at 5000 MHz; a number is 5 MHz.
const NARROW: &[u64] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
const WIDE: &[u64] = &[
    36, 40, 44, 48, 52, 56, 60, 64, 100, 104, 108, 112, 116, 120, 124, 128, 132, 136, 140, 144,
    149, 153, 157, 161, 165,
];

/// The centre frequency of a cell: by `channel`, by `frequency`, or `default`, which also
/// determines the band.
pub(crate) fn frequency(r: &Reader<'_>, default: Hertz) -> Hertz {
    let five_ghz = default.0 > 5_000_000_000;
    let channel = r.optional("channel", |value| channel(value, five_ghz));
    let range = within(Hertz(100_000_000), Hertz(100_000_000_000));
    let written = r.or("frequency", default, range);
    if r.has("channel") {
        r.meaningless(&["frequency"], "the cell has a channel");
    }
    channel.unwrap_or(written)
}

fn channel(value: &Value, five_ghz: bool) -> Read<Hertz> {
    let (numbers, band, base) = match five_ghz {
        true => (WIDE, "5 GHz", 5_000),
        false => (NARROW, "2.4 GHz", 2_407),
    };
    let number = integer(1, 200)(value)?;
    if !numbers.contains(&number) {
        let listed: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let refusal = Refusal::new(format!("there is no channel {number} at {band}"));
        return Err(refusal.among("", &listed));
    }
    let mhz = if number == 14 { 2_484 } else { base + 5 * number };
    Ok(Hertz(mhz * 1_000_000))
}
