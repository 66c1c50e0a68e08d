//! PHY timing and rates (802.11-2020 clauses 15 to 21, 802.11ax-2021 clause 27).
//!
//! Durations are whole microseconds in the standard; they are kept as nanoseconds here.

mod mode;

use fairwave_units::{BitRate, Duration, Hertz};
pub use mode::{Format, GuardInterval, InvalidMode, Mode, Modulation, Width};

/// Generation of the standard of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// OFDM at 5 GHz, clause 17.
    A,
    /// DSSS and HR-DSSS at 2.4 GHz, clauses 15 and 16.
    B,
    /// ERP-OFDM at 2.4 GHz, clause 18.
    G,
    /// High throughput, clause 19.
    N,
    /// Very high throughput at 5 GHz, clause 21.
    Ac,
    /// High efficiency, single user, 802.11ax-2021 clause 27.
    Ax,
}

/// Frequency band, which decides SIFS and the signal extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2_4,
    /// 5 and 6 GHz.
    Ghz5,
}

/// DSSS preamble (clause 16.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// 144 us preamble and 48 us header at 1 Mbps.
    Long,
    /// 72 us preamble at 1 Mbps and 24 us header at 2 Mbps.
    Short,
}

/// A PHY: a standard with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phy {
    /// The standard.
    pub standard: Standard,
    /// Preamble of DSSS rates above 1 Mbps; without meaning for OFDM.
    pub preamble: Preamble,
    /// The band. Only HT and HE are defined for both.
    pub band: Band,
    /// Widest channel in use.
    pub width: Width,
    /// Whether stations of 802.11b are in an ERP cell: slots of 20 us, DSSS rates, and the
    /// window and slowest rate of 802.11b (clauses 18.4.4, 10.3.3).
    pub with_dsss: bool,
}

/// Length of an ACK or CTS frame in bytes (clause 9.3.1.4, 9.3.1.3).
pub const ACK_BYTES: u32 = 14;
/// Length of an RTS frame in bytes (clause 9.3.1.2).
pub const RTS_BYTES: u32 = 20;
/// Length of a compressed BlockAck with a bitmap of 64 in bytes (clause 9.3.1.8).
pub const BLOCK_ACK_BYTES: u32 = 32;
/// Length of a compressed BlockAckReq in bytes (clause 9.3.1.7).
pub const BLOCK_ACK_REQ_BYTES: u32 = 24;
/// Length of a BlockAck with a bitmap of 256 (802.11ax-2021 clause 9.3.1.8.2).
pub const BLOCK_ACK_256_BYTES: u32 = 56;
/// Additions of a data frame to an IP packet: 24 MAC header, 8 LLC/SNAP, 4 FCS.
pub const DATA_OVERHEAD_BYTES: u32 = 36;
/// Addition of QoS Control to that.
pub const QOS_BYTES: u32 = 2;
/// A beacon with SSID, rates and DS parameters, in bytes.
pub const BEACON_BYTES: u32 = 80;

/// Delimiter before each MPDU of an A-MPDU (clause 9.7.1).
pub(crate) const DELIMITER_BYTES: u32 = 4;

/// MAC header with QoS Control and FCS, the bytes of a QoS MPDU around its MSDU or A-MSDU.
pub(crate) const QOS_MAC_BYTES: u32 = 30;
/// Destination, source and length of an A-MSDU subframe (clause 9.3.2.2.2).
const SUBFRAME_BYTES: u32 = 14;
/// Difference in length between an MPDU with its own header and its MSDU.
const _: () = assert!(DATA_OVERHEAD_BYTES + QOS_BYTES - 8 == QOS_MAC_BYTES);

/// The A-MSDU subframe of a frame that would be an MPDU of `bytes` by itself, without padding.
pub(crate) const fn subframe(bytes: u32) -> u32 {
    bytes.saturating_sub(QOS_MAC_BYTES) + SUBFRAME_BYTES
}

/// Length of an MPDU in an A-MPDU, padding for the next one included.
pub(crate) const fn in_ampdu(bytes: u32) -> u32 {
    (DELIMITER_BYTES + bytes).next_multiple_of(4)
}

const US: u64 = 1_000;

impl Phy {
    /// The PHY of `standard` as it is mostly used: long DSSS preamble, 20 MHz up to 802.11n, 80
    /// MHz later, at 5 GHz where the standard allows it.
    pub const fn new(standard: Standard) -> Self {
        let band = match standard {
            Standard::B | Standard::G => Band::Ghz2_4,
            Standard::A | Standard::N | Standard::Ac | Standard::Ax => Band::Ghz5,
        };
        let width = match standard {
            Standard::Ac | Standard::Ax => Width::Mhz80,
            _ => Width::Mhz20,
        };
        Self { standard, preamble: Preamble::Long, band, width, with_dsss: false }
    }

    /// Whether its data frames carry QoS Control, as HT and later ones do.
    pub const fn is_qos(self) -> bool {
        matches!(self.standard, Standard::N | Standard::Ac | Standard::Ax)
    }

    /// The newest format it sends data in.
    pub const fn format(self) -> Format {
        match self.standard {
            Standard::B => Format::Dsss,
            Standard::A | Standard::G => Format::Ofdm,
            Standard::N => Format::Ht,
            Standard::Ac => Format::Vht,
            Standard::Ax => Format::He,
        }
    }

    const fn has_dsss(self) -> bool {
        matches!(self.standard, Standard::B) || self.with_dsss
    }

    /// Modes without MCS, slowest first: those of clauses 15 to 18 that the PHY has.
    pub fn legacy_modes(self) -> impl Iterator<Item = Mode> {
        let dsss = Mode::dsss().filter(move |_| self.has_dsss());
        let ofdm = Mode::ofdm().filter(move |_| self.standard != Standard::B);
        dsss.chain(ofdm)
    }

    /// The mode without MCS that has this rate; `None` if this PHY has no such rate.
    pub fn mode(self, rate: BitRate) -> Option<Mode> {
        self.legacy_modes().find(|mode| mode.rate() == rate)
    }

    /// Returns every mode of the PHY's newest format with this number of streams over its whole
    /// width, by MCS; the long guard interval, which for HE is its shortest.
    pub fn modes(self, streams: u8) -> Vec<Mode> {
        if !self.is_qos() {
            return self.legacy_modes().collect();
        }
        let mode =
            |mcs| Mode::new(self.format(), mcs, streams, self.width, GuardInterval::Ns800).ok();
        (0..12).filter_map(mode).collect()
    }

    /// Whether radios of this PHY can send `mode`.
    pub fn supports(self, mode: Mode) -> bool {
        let format = match mode.format() {
            Format::Dsss => self.has_dsss(),
            Format::Ofdm => self.standard != Standard::B,
            format => format <= self.format(),
        };
        format && mode.width() <= self.width
    }

    /// The slowest mode, in which beacons are sent and from which EIFS is computed.
    pub fn lowest_mode(self) -> Mode {
        self.legacy_modes().next().expect("every PHY has rates")
    }

    /// aSlotTime (tables 16-4, 17-21, 18-5).
    pub const fn slot(self) -> Duration {
        Duration::from_micros(if self.has_dsss() { 20 } else { 9 })
    }

    /// aSIFSTime.
    pub const fn sifs(self) -> Duration {
        match self.band {
            Band::Ghz5 => Duration::from_micros(16),
            Band::Ghz2_4 => Duration::from_micros(10),
        }
    }

    /// DIFS = SIFS + 2 slots (clause 10.3.7).
    pub fn difs(self) -> Duration {
        self.sifs() + self.slot() * 2
    }

    /// EIFS = SIFS + DIFS + the time of an ACK at the lowest rate (clause 10.3.7).
    pub fn eifs(self) -> Duration {
        self.sifs() + self.difs() + self.tx_time(self.lowest_mode(), ACK_BYTES)
    }

    /// Returns the timeout of an ACK or CTS (clause 10.3.2.11): SIFS + slot + the time from the
    /// frame's start to its recognition, taken as preamble and header.
    pub fn response_timeout(self) -> Duration {
        self.sifs() + self.slot() + self.preamble_time(self.lowest_mode())
    }

    /// Returns the time after an RTS in `mode` within which the data must have begun, or radios
    /// that only received the RTS may free the medium again (clause 10.3.2.4): two SIFS, the CTS,
    /// the time to recognise a frame, and two slots.
    pub fn nav_timeout(self, mode: Mode) -> Duration {
        let cts = self.tx_time(self.response_mode(mode), ACK_BYTES);
        self.sifs() * 2 + cts + self.preamble_time(self.lowest_mode()) + self.slot() * 2
    }

    /// aCWmin: slots of the first backoff are drawn from `0..=cw_min`.
    pub const fn cw_min(self) -> u32 {
        if self.has_dsss() { 31 } else { 15 }
    }

    /// aCWmax.
    pub const fn cw_max(self) -> u32 {
        1023
    }

    /// The mode of the ACK, BlockAck or CTS that answers a frame in `mode`: the fastest
    /// mandatory one not above its (reference) rate (clause 10.6.6.5): 1 and 2 Mbps for DSSS; 6,
    /// 12, 24 Mbps for all others.
    pub fn response_mode(self, mode: Mode) -> Mode {
        mode.response()
    }

    /// PLCP preamble and header.
    pub fn preamble_time(self, mode: Mode) -> Duration {
        if mode.format() != Format::Dsss {
            return mode.ofdm_preamble();
        }
        let short = self.preamble == Preamble::Short && mode.mcs() > 0;
        Duration::from_micros(if short { 96 } else { 192 })
    }

    /// Time on the air of a PSDU of `bytes` in `mode`, FCS included.
    ///
    /// OFDM (clause 17.4.3 and its successors): preamble, then whole symbols for 16 service
    /// bits, the PSDU and the tail; 6 us of signal extension at 2.4 GHz. DSSS (clause 16.3.4):
    /// preamble, then the bits, rounded up to a microsecond.
    pub fn tx_time(self, mode: Mode, bytes: u32) -> Duration {
        let extends = self.band == Band::Ghz2_4 && mode.format() != Format::Dsss;
        let extension = Duration::from_nanos(if extends { 6 * US } else { 0 });
        self.preamble_time(mode) + mode.data_time(bytes) + extension
    }

    /// The longest PSDU in bytes whose frame takes no more than `time`, at least one byte.
    pub fn psdu_within(self, mode: Mode, time: Duration) -> u32 {
        let fixed = self.tx_time(mode, 0) - mode.data_time(0);
        mode.data_within(time.saturating_sub(fixed)).max(1)
    }

    /// Bandwidth of a channel of the lowest width, which sets the thermal noise.
    pub const fn bandwidth(self) -> Hertz {
        match self.standard {
            Standard::B => Hertz(22_000_000),
            _ => Hertz(20_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Phy = Phy::new(Standard::A);
    const B: Phy = Phy::new(Standard::B);
    const G: Phy = Phy::new(Standard::G);

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn interframe_spaces_are_those_of_the_standard() {
        assert_eq!((A.difs(), B.difs(), G.difs()), (us(34), us(50), us(28)));
        assert_eq!((A.eifs(), B.eifs(), G.eifs()), (us(94), us(364), us(88)));
    }

    #[test]
    fn times_on_the_air() {
        let mbps = |phy: Phy, mbps| phy.mode(BitRate::mbps(mbps)).unwrap();
        assert_eq!(A.tx_time(mbps(A, 54), 1536), us(248));
        assert_eq!(A.tx_time(mbps(A, 24), ACK_BYTES), us(28));
        assert_eq!(A.tx_time(mbps(A, 6), ACK_BYTES), us(44));
        assert_eq!(G.tx_time(mbps(G, 54), 1536), us(254));
        assert_eq!(B.tx_time(mbps(B, 11), 1536), us(192 + 1118));
        assert_eq!(B.tx_time(mbps(B, 2), ACK_BYTES), us(248));
        let short = Phy { preamble: Preamble::Short, ..B };
        assert_eq!(short.tx_time(mbps(short, 2), ACK_BYTES), us(96 + 56));
        assert_eq!(short.tx_time(mbps(short, 1), ACK_BYTES), us(192 + 112));
    }

    #[test]
    fn responses_go_at_the_highest_mandatory_rate_not_above() {
        let answer =
            |phy: Phy, mbps| phy.response_mode(phy.mode(BitRate::mbps(mbps)).unwrap()).rate();
        for (rate, response) in [(54, 24), (18, 12), (9, 6), (6, 6)] {
            assert_eq!(answer(A, rate), BitRate::mbps(response));
        }
        assert_eq!(answer(B, 11), BitRate::mbps(2));
        assert_eq!(answer(B, 1), BitRate::mbps(1));
    }

    #[test]
    fn a_rate_of_another_phy_is_unknown() {
        assert_eq!(A.mode(BitRate::mbps(11)), None);
        assert_eq!(B.mode(BitRate::mbps(11)).unwrap().modulation(), Modulation::Cck8);
    }
}
