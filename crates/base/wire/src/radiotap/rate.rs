//! Rates of frames by the modulation that radiotap states.

use super::{Channel, Flags, Header};
use fairwave_units::{BitRate, Duration};

/// How fast a frame was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Rate of its bits.
    pub bits: BitRate,
    /// Duration of the preamble and header of its PPDU.
    pub preamble: Duration,
}

impl Rate {
    /// Time of so many bytes without the preamble. The service field, tail and padding are left
    /// out: less than two symbols.
    pub fn time(self, bytes: u32) -> Duration {
        let BitRate(bits_per_second) = self.bits;
        let bits = u128::from(bytes) * 8;
        let nanos = bits * 1_000_000_000 / u128::from(bits_per_second.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Coded bits of a subcarrier times the rate of the code, in twelfths, by the MCS of a stream.
const BITS: [u64; 12] = [6, 12, 18, 24, 36, 48, 54, 60, 72, 80, 90, 100];
/// Data subcarriers of HT and VHT by width, 20 to 160 MHz (802.11-2020 tables 19-6 and 21-5).
const SUBCARRIERS: [u64; 4] = [52, 108, 234, 468];
/// Those of HE (802.11ax-2021 table 27-15).
const SUBCARRIERS_HE: [u64; 4] = [234, 468, 980, 1_960];

impl Header {
    /// Returns the rate of the frame behind the header; `None` if the header does not state it.
    pub fn rate(&self) -> Option<Rate> {
        self.he().or_else(|| self.vht()).or_else(|| self.ht()).or_else(|| self.legacy())
    }

    fn he(&self) -> Option<Rate> {
        let [_, _, modulation, _, width, streams] = self.he?.0;
        let (mcs, streams) = (usize::from(modulation >> 8 & 0xf), u64::from(streams & 0xf));
        let guard = [800, 1_600, 3_200].get(usize::from(width >> 4 & 3))?;
        let subcarriers = SUBCARRIERS_HE.get(usize::from(width & 0xf))?;
        rate(*subcarriers, mcs, streams, 12_800 + guard, 36 + 8 * streams)
    }

    fn vht(&self) -> Option<Rate> {
        let vht = self.vht?;
        let width = match vht.bandwidth {
            0 => 0,
            1..=3 => 1,
            4..=10 => 2,
            11..=25 => 3,
            _ => return None,
        };
        let (mcs, streams) = (usize::from(vht.mcs_nss[0] >> 4), u64::from(vht.mcs_nss[0] & 0xf));
        let symbol = if vht.flags & 0x04 == 0 { 4_000 } else { 3_600 };
        rate(SUBCARRIERS[width], mcs, streams, symbol, 36 + 4 * streams)
    }

    fn ht(&self) -> Option<Rate> {
        const INDEX_KNOWN: u8 = 0x02;
        let ht = self.mcs.filter(|ht| ht.known & INDEX_KNOWN != 0 && ht.index < 32)?;
        // Widths 2 and 3 are 20 MHz within 40.
        let width = usize::from(ht.flags & 0x03 == 1);
        let (mcs, streams) = (usize::from(ht.index % 8), u64::from(ht.index / 8) + 1);
        let symbol = if ht.flags & 0x04 == 0 { 4_000 } else { 3_600 };
        rate(SUBCARRIERS[width], mcs, streams, symbol, 32 + 4 * streams)
    }

    /// DSSS and OFDM, which the channel distinguishes, and else the rate.
    fn legacy(&self) -> Option<Rate> {
        let halves = self.rate_500kbps.filter(|halves| *halves > 0)?;
        let bits = BitRate(u64::from(halves) * 500_000);
        let flags = self.channel.map_or(0, |channel| channel.flags);
        let is_dsss = flags & Channel::OFDM == 0 && matches!(halves, 2 | 4 | 11 | 22);
        let is_short = self.flags.is_some_and(|flags| flags.contains(Flags::SHORT_PREAMBLE));
        let preamble = match (is_dsss, is_short && halves > 2) {
            (true, true) => 96,
            (true, false) => 192,
            (false, _) => 20,
        };
        Some(Rate { bits, preamble: Duration::from_micros(preamble) })
    }
}

/// Rate of an MCS; `None` if there is no such one.
fn rate(
    subcarriers: u64,
    mcs: usize,
    streams: u64,
    symbol_ns: u64,
    preamble_us: u64,
) -> Option<Rate> {
    let bits = subcarriers * BITS.get(mcs)? * streams / 12;
    let bits = BitRate(bits * 1_000_000_000 / symbol_ns);
    (streams > 0).then(|| Rate { bits, preamble: Duration::from_micros(preamble_us) })
}

#[cfg(test)]
mod tests {
    use super::super::{He, Mcs, Vht};
    use super::*;

    #[test]
    fn rates_are_those_of_the_standard() {
        let none = Header::default();
        let mcs = Some(Mcs::mixed(15, true, true));
        let vht = Vht::single(80, false, 9, 2);
        let he = He::single(20, 800, 11, 1, true);
        let cases = [
            (Header { rate_500kbps: Some(22), ..none }, 11_000_000, 192),
            (Header { rate_500kbps: Some(108), ..none }, 54_000_000, 20),
            (Header { mcs, ..none }, 300_000_000, 40),
            (Header { vht, ..none }, 780_000_000, 44),
            (Header { he, ..none }, 143_382_352, 44),
        ];
        for (header, bits, preamble) in cases {
            let preamble = Duration::from_micros(preamble);
            assert_eq!(header.rate(), Some(Rate { bits: BitRate(bits), preamble }), "{header:?}");
        }
        assert_eq!(none.rate(), None);
        let rate = cases[1].0.rate().unwrap();
        assert_eq!(rate.time(1_350), Duration::from_micros(200));
    }
}
