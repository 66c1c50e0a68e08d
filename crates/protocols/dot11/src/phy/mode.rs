//! Modulation of a frame: the formats of the standard, their MCS tables and symbol times.

use fairwave_trace::{Ppdu, PpduFormat};
use fairwave_units::{BitRate, Duration};

/// Channel width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 20 MHz, and the 22 MHz of DSSS.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
}

impl Width {
    /// In megahertz.
    pub const fn mhz(self) -> u32 {
        match self {
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
            Self::Mhz80 => 80,
            Self::Mhz160 => 160,
        }
    }
}

/// Guard interval between OFDM symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 0.4 us: short, of HT and VHT.
    Ns400,
    /// 0.8 us: the usual one before HE, the shortest of HE.
    Ns800,
    /// 1.6 us, HE.
    Ns1600,
    /// 3.2 us, HE.
    Ns3200,
}

impl GuardInterval {
    /// In nanoseconds.
    pub const fn nanos(self) -> u64 {
        match self {
            Self::Ns400 => 400,
            Self::Ns800 => 800,
            Self::Ns1600 => 1_600,
            Self::Ns3200 => 3_200,
        }
    }
}

/// PPDU format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// DSSS and HR-DSSS, clauses 15 and 16.
    Dsss,
    /// OFDM and ERP-OFDM, clauses 17 and 18; "non-HT" in later clauses.
    Ofdm,
    /// HT-mixed, clause 19 (802.11n).
    Ht,
    /// VHT, clause 21 (802.11ac).
    Vht,
    /// HE SU, clause 27 of 802.11ax-2021.
    He,
}

/// Modulation of the bits of a mode, which decides its error model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// Barker-spread DBPSK (1 Mbps).
    Dbpsk,
    /// Barker-spread DQPSK (2 Mbps).
    Dqpsk,
    /// CCK with 4 bits a symbol (5.5 Mbps).
    Cck4,
    /// CCK with 8 bits a symbol (11 Mbps).
    Cck8,
    /// OFDM: points of the constellation and the code rate as a fraction.
    Ofdm {
        /// 2 for BPSK, 4 for QPSK, 16 to 1024 for QAM.
        points: u32,
        /// Numerator and denominator of the code's rate.
        code: (u32, u32),
    },
}

/// One way to send a frame: the part of the standard's TXVECTOR on its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode {
    format: Format,
    /// Index into the format's table of modulations; of an HT mode, that of one stream.
    mcs: u8,
    streams: u8,
    width: Width,
    guard: GuardInterval,
    /// N_DBPS: data bits of a symbol; zero for DSSS, which is not counted in symbols. Kept, like
    /// the tail, because every frame's time is computed from them.
    bits_per_symbol: u32,
    tail_bits: u32,
}

/// Reason for which there is no such mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMode {
    /// The format's table ends before this index.
    #[error("MCS {mcs} does not exist there; the highest is {highest}")]
    Mcs {
        /// The index asked for.
        mcs: u8,
        /// The highest of the format.
        highest: u8,
    },
    /// HT, VHT and HE are modelled with one to four streams.
    #[error("{0} spatial streams; from 1 to 4 are possible")]
    Streams(u8),
    /// The format is not defined at this width.
    #[error("{} MHz; the widest channel there has {} MHz", .width.mhz(), .widest.mhz())]
    Width {
        /// The width asked for.
        width: Width,
        /// The widest of the format.
        widest: Width,
    },
    /// The format has other guard intervals.
    #[error("a guard interval of {} ns does not exist there", .0.nanos())]
    Guard(GuardInterval),
    /// The standard leaves the combination out, as its bits do not fill whole symbols.
    #[error("the standard leaves out this MCS for this width and number of streams")]
    Combination,
}

const DSSS: [(u64, Modulation); 4] = [
    (1_000_000, Modulation::Dbpsk),
    (2_000_000, Modulation::Dqpsk),
    (5_500_000, Modulation::Cck4),
    (11_000_000, Modulation::Cck8),
];

/// Points of the constellation and code rate by MCS, for HT (to 7), VHT (to 9) and HE (to 11):
/// tables 19-27, 21-30 and, of 802.11ax-2021, 27-111.
const MCS: [(u32, u32, u32); 12] = [
    (2, 1, 2),
    (4, 1, 2),
    (4, 3, 4),
    (16, 1, 2),
    (16, 3, 4),
    (64, 2, 3),
    (64, 3, 4),
    (64, 5, 6),
    (256, 3, 4),
    (256, 5, 6),
    (1024, 3, 4),
    (1024, 5, 6),
];

/// The same for the rates of OFDM, slowest first (table 17-4).
const OFDM: [(u32, u32, u32); 8] =
    [(2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (16, 1, 2), (16, 3, 4), (64, 2, 3), (64, 3, 4)];

impl Mode {
    fn legacy(format: Format, mcs: u8) -> Self {
        Self::reckoned(format, mcs, 1, Width::Mhz20, GuardInterval::Ns800)
    }

    /// The mode with its bits counted.
    fn reckoned(format: Format, mcs: u8, streams: u8, width: Width, guard: GuardInterval) -> Self {
        let bare = Self { format, mcs, streams, width, guard, bits_per_symbol: 0, tail_bits: 0 };
        let counted = Self { bits_per_symbol: bare.count_bits(), ..bare };
        Self { tail_bits: counted.count_tail(), ..counted }
    }

    /// The four DSSS and HR-DSSS modes, slowest first.
    pub fn dsss() -> impl Iterator<Item = Self> {
        (0..DSSS.len() as u8).map(|mcs| Self::legacy(Format::Dsss, mcs))
    }

    /// The eight OFDM modes of clause 17, slowest first.
    pub fn ofdm() -> impl Iterator<Item = Self> {
        (0..OFDM.len() as u8).map(|mcs| Self::legacy(Format::Ofdm, mcs))
    }

    /// The HT, VHT or HE mode with this MCS (for HT that of one stream, 0 to 7).
    ///
    /// # Errors
    /// [`InvalidMode`] if the standard has no such mode.
    pub fn new(
        format: Format,
        mcs: u8,
        streams: u8,
        width: Width,
        guard: GuardInterval,
    ) -> Result<Self, InvalidMode> {
        let (highest, widest) = match format {
            Format::Dsss => (DSSS.len() as u8 - 1, Width::Mhz20),
            Format::Ofdm => (OFDM.len() as u8 - 1, Width::Mhz20),
            Format::Ht => (7, Width::Mhz40),
            Format::Vht => (9, Width::Mhz160),
            Format::He => (11, Width::Mhz160),
        };
        let single = matches!(format, Format::Dsss | Format::Ofdm);
        let guards: &[GuardInterval] = match format {
            Format::Dsss | Format::Ofdm => &[GuardInterval::Ns800],
            Format::Ht | Format::Vht => &[GuardInterval::Ns400, GuardInterval::Ns800],
            Format::He => &[GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200],
        };
        if mcs > highest {
            return Err(InvalidMode::Mcs { mcs, highest });
        }
        if streams == 0 || streams > 4 || (single && streams > 1) {
            return Err(InvalidMode::Streams(streams));
        }
        if width > widest {
            return Err(InvalidMode::Width { width, widest });
        }
        if !guards.contains(&guard) {
            return Err(InvalidMode::Guard(guard));
        }
        let mode = Self::reckoned(format, mcs, streams, width, guard);
        if mode.fills_symbols() { Ok(mode) } else { Err(InvalidMode::Combination) }
    }

    /// Whether coded and data bits divide evenly among the encoders (clause 21.5). HE has no
    /// such gaps, as its higher rates use LDPC.
    fn fills_symbols(self) -> bool {
        if self.format != Format::Vht {
            return true;
        }
        let (points, numerator, denominator) = MCS[usize::from(self.mcs)];
        let coded = self.data_tones() * u32::from(self.streams) * points.ilog2();
        let encoders = self.encoders();
        coded.is_multiple_of(denominator * encoders)
            && (coded / denominator * numerator).is_multiple_of(encoders)
    }

    /// The PPDU format.
    pub const fn format(self) -> Format {
        self.format
    }

    /// The MCS; of DSSS and OFDM, the position in their lists of rates.
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// Spatial streams.
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// Channel width; 20 MHz stands for the 22 MHz of DSSS.
    pub const fn width(self) -> Width {
        self.width
    }

    /// Guard interval; without meaning for DSSS.
    pub const fn guard(self) -> GuardInterval {
        self.guard
    }

    /// Modulation of its bits.
    pub fn modulation(self) -> Modulation {
        let table: &[(u32, u32, u32)] = match self.format {
            Format::Dsss => return DSSS[usize::from(self.mcs)].1,
            Format::Ofdm => &OFDM,
            Format::Ht | Format::Vht | Format::He => &MCS,
        };
        let (points, numerator, denominator) = table[usize::from(self.mcs)];
        Modulation::Ofdm { points, code: (numerator, denominator) }
    }

    /// N_SD: tones that carry data.
    fn data_tones(self) -> u32 {
        match (self.format, self.width) {
            (Format::He, Width::Mhz20) => 234,
            (Format::He, Width::Mhz40) => 468,
            (Format::He, Width::Mhz80) => 980,
            (Format::He, Width::Mhz160) => 1960,
            (Format::Ht | Format::Vht, Width::Mhz20) => 52,
            (Format::Ht | Format::Vht, Width::Mhz40) => 108,
            (Format::Ht | Format::Vht, Width::Mhz80) => 234,
            (Format::Ht | Format::Vht, Width::Mhz160) => 468,
            (Format::Dsss | Format::Ofdm, _) => 48,
        }
    }

    /// N_DBPS.
    fn count_bits(self) -> u32 {
        let Modulation::Ofdm { points, code } = self.modulation() else { return 0 };
        self.data_tones() * u32::from(self.streams) * points.ilog2() * code.0 / code.1
    }

    /// Time of a data symbol in nanoseconds.
    fn symbol_nanos(self) -> u64 {
        let body = if self.format == Format::He { 12_800 } else { 3_200 };
        body + self.guard.nanos()
    }

    /// N_ES: convolutional encoders of HT and VHT. One serves up to 300 Mbps of HT and 600 Mbps
    /// of VHT at the short guard interval (clauses 19.5 and 21.5).
    fn encoders(self) -> u32 {
        let max = match self.format {
            Format::Ht => 1_080,
            Format::Vht => 2_160,
            Format::Dsss | Format::Ofdm | Format::He => return 1,
        };
        self.bits_per_symbol.div_ceil(max)
    }

    /// Whether its code is LDPC: of HE, except for the modes that every station can decode with a
    /// convolutional code, 20 MHz up to MCS 9 (802.11ax-2021 clause 27.3.12.5).
    pub fn is_ldpc(self) -> bool {
        self.format == Format::He && (self.width > Width::Mhz20 || self.mcs > 9)
    }

    /// Tail bits; LDPC has none.
    fn count_tail(self) -> u32 {
        if self.is_ldpc() { 0 } else { 6 * self.encoders() }
    }

    /// Times 20 MHz that it occupies, and by which it lets in more noise.
    pub fn width_ratio(self) -> f64 {
        f64::from(self.width.mhz() / 20)
    }

    /// By how much the SNR of each stream is below that of a 20 MHz frame of one stream at the
    /// same power, as a ratio: the noise grows with the width, and streams share the power.
    pub fn snr_divisor(self) -> f64 {
        self.width_ratio() * f64::from(self.streams)
    }

    /// The bit rate of its data, rounded down to a bit per second.
    pub fn rate(self) -> BitRate {
        match self.format {
            Format::Dsss => BitRate(DSSS[usize::from(self.mcs)].0),
            _ => BitRate(u64::from(self.bits_per_symbol) * 1_000_000_000 / self.symbol_nanos()),
        }
    }

    /// Time of everything before the data of an OFDM format: 20 us for non-HT, and for the
    /// others the legacy and the format's own fields with one long training field for each
    /// stream, three streams having four (clauses 17.3.2, 19.3.2, 21.3.2, 27.3.4).
    ///
    /// A training field of HE takes 8 us, 6.4 us and a guard interval of 1.6 us (2x HE-LTF), also
    /// at 0.8 us, where that interval would do; and 12.8 + 3.2 us at 3.2 us, which has the
    /// 4x HE-LTF alone (802.11ax-2021 clause 27.3.11.10).
    pub(super) fn ofdm_preamble(self) -> Duration {
        let training = if self.streams == 3 { 4 } else { u64::from(self.streams) };
        Duration::from_micros(match self.format {
            Format::Dsss | Format::Ofdm => 20,
            Format::Ht => 32 + 4 * training,
            Format::Vht => 36 + 4 * training,
            Format::He if self.guard == GuardInterval::Ns3200 => 36 + 16 * training,
            Format::He => 36 + 8 * training,
        })
    }

    /// Time of the data of a PSDU of `bytes`, preamble and signal extension excluded. Of HT and
    /// VHT at the short guard interval the standard rounds up to 4 us (clause 19.4.3).
    pub(crate) fn data_time(self, bytes: u32) -> Duration {
        let bits = 8 * u64::from(bytes);
        if self.format == Format::Dsss {
            return Duration::from_micros((bits * 1_000_000).div_ceil(self.rate().0));
        }
        let bits = 16 + u64::from(self.tail_bits) + bits;
        let nanos = bits.div_ceil(u64::from(self.bits_per_symbol)) * self.symbol_nanos();
        let rounded = match self.guard {
            GuardInterval::Ns400 => nanos.next_multiple_of(4_000),
            _ => nanos,
        };
        Duration::from_nanos(rounded)
    }

    /// Maximum number of bytes whose data takes no more than `time`.
    pub(super) fn data_within(self, time: Duration) -> u32 {
        let bits = if self.format == Format::Dsss {
            time.as_nanos() / 1_000 * self.rate().0 / 1_000_000
        } else {
            let whole = match self.guard {
                GuardInterval::Ns400 => time.as_nanos() / 4_000 * 4_000,
                _ => time.as_nanos(),
            };
            let symbols = whole / self.symbol_nanos();
            (symbols * u64::from(self.bits_per_symbol))
                .saturating_sub(16 + u64::from(self.tail_bits))
        };
        u32::try_from(bits / 8).unwrap_or(u32::MAX)
    }

    /// The fastest mandatory rate of clause 17 (6, 12 or 24 Mbps) that is not above the one that
    /// stands for this mode where a response's rate is chosen ("non-HT reference rate", table
    /// 10-10), which depends on modulation and code rate alone.
    pub(super) fn response(self) -> Self {
        let (qpsk, qam) = match self.format {
            Format::Dsss => return Self::legacy(Format::Dsss, self.mcs.min(1)),
            Format::Ofdm => (2, 4),
            Format::Ht | Format::Vht | Format::He => (1, 3),
        };
        let index = 2 * (u8::from(self.mcs >= qpsk) + u8::from(self.mcs >= qam));
        let bits_per_symbol = [24, 48, 96][usize::from(index / 2)];
        let (width, guard) = (Width::Mhz20, GuardInterval::Ns800);
        let (format, streams, tail_bits) = (Format::Ofdm, 1, 6);
        Self { format, mcs: index, streams, width, guard, bits_per_symbol, tail_bits }
    }
}

impl From<Mode> for Ppdu {
    fn from(mode: Mode) -> Self {
        Self {
            format: match mode.format {
                Format::Dsss => PpduFormat::Dsss,
                Format::Ofdm => PpduFormat::Ofdm,
                Format::Ht => PpduFormat::Ht,
                Format::Vht => PpduFormat::Vht,
                Format::He => PpduFormat::He,
            },
            mcs: mode.mcs,
            streams: mode.streams,
            width_mhz: mode.width.mhz() as u16,
            guard_ns: mode.guard.nanos() as u16,
            is_ldpc: mode.is_ldpc(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: GuardInterval = GuardInterval::Ns800;
    const SHORT: GuardInterval = GuardInterval::Ns400;

    fn mbps(format: Format, mcs: u8, streams: u8, width: Width, guard: GuardInterval) -> f64 {
        Mode::new(format, mcs, streams, width, guard).unwrap().rate().0 as f64 / 1e6
    }

    /// Rates as the standard's tables print them, in Mbps.
    #[test]
    fn rates_of_the_tables() {
        let cases = [
            (Format::Ht, 0, 1, Width::Mhz20, LONG, 6.5),
            (Format::Ht, 7, 1, Width::Mhz20, LONG, 65.0),
            (Format::Ht, 7, 1, Width::Mhz20, SHORT, 72.2),
            (Format::Ht, 7, 2, Width::Mhz40, SHORT, 300.0),
            (Format::Ht, 7, 4, Width::Mhz40, SHORT, 600.0),
            (Format::Vht, 8, 1, Width::Mhz20, LONG, 78.0),
            (Format::Vht, 9, 1, Width::Mhz80, SHORT, 433.3),
            (Format::Vht, 9, 2, Width::Mhz80, LONG, 780.0),
            (Format::Vht, 9, 4, Width::Mhz160, SHORT, 3466.7),
            (Format::He, 0, 1, Width::Mhz20, GuardInterval::Ns3200, 7.3),
            (Format::He, 9, 1, Width::Mhz80, LONG, 480.4),
            (Format::He, 11, 1, Width::Mhz20, LONG, 143.4),
            (Format::He, 11, 2, Width::Mhz80, LONG, 1201.0),
            (Format::He, 11, 2, Width::Mhz160, LONG, 2401.9),
        ];
        for (format, mcs, streams, width, guard, expected) in cases {
            let got = mbps(format, mcs, streams, width, guard);
            assert!((got - expected).abs() < 0.06, "{format:?} {mcs} {streams}: {got}");
        }
        let ofdm: Vec<u64> = Mode::ofdm().map(|mode| mode.rate().0 / 1_000_000).collect();
        assert_eq!(ofdm, [6, 9, 12, 18, 24, 36, 48, 54]);
        assert_eq!(Mode::dsss().last().unwrap().rate(), BitRate::mbps(11));
    }

    /// 36 us of fields and a long training field for each stream: of 8 us, and of 16 us (4x HE-LTF)
    /// at the longest guard interval.
    #[test]
    fn preambles_of_he_have_training_fields_that_fit_the_guard_interval() {
        use GuardInterval::{Ns800, Ns1600, Ns3200};
        for (guard, streams, micros) in
            [(Ns800, 1, 44), (Ns1600, 2, 52), (Ns3200, 1, 52), (Ns3200, 2, 68)]
        {
            let mode = Mode::new(Format::He, 0, streams, Width::Mhz20, guard).unwrap();
            assert_eq!(mode.ofdm_preamble(), Duration::from_micros(micros), "{guard:?}");
        }
    }

    /// Table 21-30 and those after it mark these as not valid.
    #[test]
    fn vht_has_gaps_and_he_has_none() {
        let valid = |mcs, streams, width| Mode::new(Format::Vht, mcs, streams, width, LONG).is_ok();
        assert!(!valid(9, 1, Width::Mhz20) && !valid(9, 2, Width::Mhz20));
        assert!(valid(9, 3, Width::Mhz20) && !valid(9, 4, Width::Mhz20));
        assert!(!valid(6, 3, Width::Mhz80) && valid(6, 2, Width::Mhz80));
        assert!(!valid(9, 3, Width::Mhz160) && valid(9, 4, Width::Mhz160));
        for (mcs, streams) in (0..12).flat_map(|mcs| (1..=4).map(move |n| (mcs, n))) {
            assert!(Mode::new(Format::He, mcs, streams, Width::Mhz160, LONG).is_ok());
        }
    }

    #[test]
    fn what_does_not_exist_is_refused_with_the_reason() {
        let refused = |format, mcs, streams, width, guard| {
            Mode::new(format, mcs, streams, width, guard).unwrap_err().to_string()
        };
        let text = refused(Format::Ht, 8, 1, Width::Mhz20, LONG);
        assert!(text.contains("MCS 8") && text.contains('7'), "{text}");
        assert!(refused(Format::He, 1, 5, Width::Mhz20, LONG).contains("5 spatial"));
        assert!(refused(Format::Ht, 1, 1, Width::Mhz80, LONG).contains("40 MHz"));
        assert!(refused(Format::He, 1, 1, Width::Mhz80, SHORT).contains("400 ns"));
    }

    #[test]
    fn a_response_is_a_mode_as_any_other() {
        let answers = |mode: Mode| mode.response();
        let ofdm: Vec<Mode> = Mode::ofdm().collect();
        assert_eq!(
            ofdm.iter().map(|m| answers(*m).mcs()).collect::<Vec<_>>(),
            [0, 0, 2, 2, 4, 4, 4, 4]
        );
        assert!(ofdm.iter().all(|mode| ofdm.contains(&answers(*mode))));
        let he = |mcs| answers(Mode::new(Format::He, mcs, 2, Width::Mhz80, LONG).unwrap()).rate().0;
        assert_eq!([0, 1, 2, 3, 11].map(he), [6, 12, 12, 24, 24].map(|mbps| mbps * 1_000_000));
    }

    #[test]
    fn what_fits_a_time_is_the_most_that_does() {
        for guard in [SHORT, LONG] {
            let mode = Mode::new(Format::Vht, 5, 1, Width::Mhz80, guard).unwrap();
            let time = Duration::from_micros(5_484);
            let max = mode.data_within(time);
            assert!(mode.data_time(max) <= time && mode.data_time(max + 1) > time, "{max}");
        }
    }

    #[test]
    fn times_of_the_data() {
        let ht = Mode::new(Format::Ht, 7, 1, Width::Mhz20, LONG).unwrap();
        // 16 + 6 + 8 * 1538 bits over 260 a symbol: 48 symbols of 4 us.
        assert_eq!(ht.data_time(1538), Duration::from_micros(192));
        let short = Mode::new(Format::Ht, 7, 1, Width::Mhz20, SHORT).unwrap();
        // 48 symbols of 3.6 us are 172.8 us, and 176 us in whole symbols of 4 us.
        assert_eq!(short.data_time(1538), Duration::from_micros(176));
        let he = Mode::new(Format::He, 9, 1, Width::Mhz80, LONG).unwrap();
        // 16 + 8 * 65535 bits over 6533 a symbol: 81 symbols of 13.6 us.
        assert_eq!(he.data_time(65_535), Duration::from_nanos(81 * 13_600));
        assert_eq!(ht.ofdm_preamble(), Duration::from_micros(36));
        assert_eq!(he.ofdm_preamble(), Duration::from_micros(44));
    }
}
