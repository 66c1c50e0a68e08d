//! PHY timing and rates (802.11-2020 clauses 15, 16, 17 and 18).
//!
//! Durations are whole microseconds in the standard; they are kept as nanoseconds here.

use fairwave_units::{BitRate, Duration, Hertz};

/// Which PHY a cell uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// OFDM at 5 GHz, clause 17.
    A,
    /// DSSS and HR-DSSS at 2.4 GHz, clauses 15 and 16.
    B,
    /// ERP-OFDM at 2.4 GHz without 802.11b stations, clause 18.
    G,
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
}

/// How the bits of a rate are modulated, which decides its error model.
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
        /// 2 for BPSK, 4 for QPSK, 16 and 64 for QAM.
        points: u32,
        /// Numerator and denominator of the convolutional code's rate.
        code: (u32, u32),
    },
}

/// Length of an ACK or CTS frame in bytes (clause 9.3.1.4, 9.3.1.3).
pub const ACK_BYTES: u32 = 14;
/// Length of an RTS frame in bytes (clause 9.3.1.2).
pub const RTS_BYTES: u32 = 20;
/// What a data frame adds to an IP packet: 24 MAC header, 8 LLC/SNAP, 4 FCS.
pub const DATA_OVERHEAD_BYTES: u32 = 36;
/// A beacon with SSID, rates and DS parameters, in bytes.
pub const BEACON_BYTES: u32 = 80;

const fn ofdm(points: u32, numerator: u32, denominator: u32) -> Modulation {
    Modulation::Ofdm { points, code: (numerator, denominator) }
}

const DSSS_RATES: [(BitRate, Modulation); 4] = [
    (BitRate(1_000_000), Modulation::Dbpsk),
    (BitRate(2_000_000), Modulation::Dqpsk),
    (BitRate(5_500_000), Modulation::Cck4),
    (BitRate(11_000_000), Modulation::Cck8),
];

/// Table 17-4.
const OFDM_RATES: [(BitRate, Modulation); 8] = [
    (BitRate(6_000_000), ofdm(2, 1, 2)),
    (BitRate(9_000_000), ofdm(2, 3, 4)),
    (BitRate(12_000_000), ofdm(4, 1, 2)),
    (BitRate(18_000_000), ofdm(4, 3, 4)),
    (BitRate(24_000_000), ofdm(16, 1, 2)),
    (BitRate(36_000_000), ofdm(16, 3, 4)),
    (BitRate(48_000_000), ofdm(64, 2, 3)),
    (BitRate(54_000_000), ofdm(64, 3, 4)),
];

const US: u64 = 1_000;

impl Phy {
    /// The PHY of `standard` with the long preamble where it has one.
    pub const fn new(standard: Standard) -> Self {
        Self { standard, preamble: Preamble::Long }
    }

    /// Every rate, slowest first, with its modulation.
    pub fn rates(self) -> &'static [(BitRate, Modulation)] {
        match self.standard {
            Standard::A | Standard::G => &OFDM_RATES,
            Standard::B => &DSSS_RATES,
        }
    }

    /// The modulation of `rate`; `None` if this PHY has no such rate.
    pub fn modulation(self, rate: BitRate) -> Option<Modulation> {
        self.rates().iter().find(|r| r.0 == rate).map(|r| r.1)
    }

    /// The slowest rate, at which beacons go and EIFS is reckoned.
    pub fn lowest_rate(self) -> BitRate {
        self.rates()[0].0
    }

    /// aSlotTime (tables 16-4, 17-21, 18-5).
    pub const fn slot(self) -> Duration {
        match self.standard {
            Standard::A | Standard::G => Duration::from_micros(9),
            Standard::B => Duration::from_micros(20),
        }
    }

    /// aSIFSTime.
    pub const fn sifs(self) -> Duration {
        match self.standard {
            Standard::A => Duration::from_micros(16),
            Standard::B | Standard::G => Duration::from_micros(10),
        }
    }

    /// DIFS = SIFS + 2 slots (clause 10.3.7).
    pub fn difs(self) -> Duration {
        self.sifs() + self.slot() * 2
    }

    /// EIFS = SIFS + DIFS + the time of an ACK at the lowest rate (clause 10.3.7).
    pub fn eifs(self) -> Duration {
        self.sifs() + self.difs() + self.tx_time(self.lowest_rate(), ACK_BYTES)
    }

    /// How long to wait for an ACK or CTS to begin (clause 10.3.2.11): SIFS + slot + the time
    /// from the frame's start to its recognition, taken as preamble and header.
    pub fn response_timeout(self) -> Duration {
        self.sifs() + self.slot() + self.preamble_time(self.lowest_rate())
    }

    /// How long after an RTS at `rate` the data must have begun, or those who only heard the RTS
    /// may free the medium again (clause 10.3.2.4): two SIFS, the CTS, the time to recognise a
    /// frame, and two slots.
    pub fn nav_timeout(self, rate: BitRate) -> Duration {
        let cts = self.tx_time(self.response_rate(rate), ACK_BYTES);
        self.sifs() * 2 + cts + self.preamble_time(self.lowest_rate()) + self.slot() * 2
    }

    /// aCWmin: slots of the first backoff are drawn from `0..=cw_min`.
    pub const fn cw_min(self) -> u32 {
        match self.standard {
            Standard::A | Standard::G => 15,
            Standard::B => 31,
        }
    }

    /// aCWmax.
    pub const fn cw_max(self) -> u32 {
        1023
    }

    /// The rate of the ACK or CTS that answers a frame at `rate`: the highest mandatory rate
    /// not above it (clause 10.6.6.5.2): 1 and 2 Mbps for DSSS; 6, 12, 24 Mbps for OFDM.
    pub fn response_rate(self, rate: BitRate) -> BitRate {
        let basic: &[u64] = match self.standard {
            Standard::A | Standard::G => &[24_000_000, 12_000_000, 6_000_000],
            Standard::B => &[2_000_000, 1_000_000],
        };
        let fitting = basic.iter().find(|b| **b <= rate.0);
        BitRate(*fitting.unwrap_or(&self.lowest_rate().0))
    }

    /// PLCP preamble and header.
    pub fn preamble_time(self, rate: BitRate) -> Duration {
        match (self.standard, self.preamble) {
            (Standard::A | Standard::G, _) => Duration::from_micros(20),
            (Standard::B, Preamble::Short) if rate.0 > 1_000_000 => Duration::from_micros(96),
            (Standard::B, _) => Duration::from_micros(192),
        }
    }

    /// Time on the air of a frame of `bytes` at `rate`, FCS included.
    ///
    /// OFDM (clause 17.4.3): 20 us, then symbols of 4 us for 16 service bits, the frame and 6
    /// tail bits; ERP-OFDM adds 6 us of signal extension. DSSS (clause 16.3.4): preamble, then
    /// the bits, rounded up to a microsecond.
    pub fn tx_time(self, rate: BitRate, bytes: u32) -> Duration {
        let bits = 8 * u64::from(bytes);
        let body = match self.standard {
            Standard::A | Standard::G => {
                let bits_per_symbol = rate.0 / 250_000;
                4 * US * (22 + bits).div_ceil(bits_per_symbol)
            }
            Standard::B => US * (bits * 1_000_000).div_ceil(rate.0),
        };
        let extension = if self.standard == Standard::G { 6 * US } else { 0 };
        self.preamble_time(rate) + Duration::from_nanos(body + extension)
    }

    /// Channel width, which sets the thermal noise.
    pub const fn bandwidth(self) -> Hertz {
        match self.standard {
            Standard::A | Standard::G => Hertz(20_000_000),
            Standard::B => Hertz(22_000_000),
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
        let mbps = BitRate::mbps;
        assert_eq!(A.tx_time(mbps(54), 1536), us(248));
        assert_eq!(A.tx_time(mbps(24), ACK_BYTES), us(28));
        assert_eq!(A.tx_time(mbps(6), ACK_BYTES), us(44));
        assert_eq!(G.tx_time(mbps(54), 1536), us(254));
        assert_eq!(B.tx_time(mbps(11), 1536), us(192 + 1118));
        assert_eq!(B.tx_time(mbps(2), ACK_BYTES), us(248));
        let short = Phy { preamble: Preamble::Short, ..B };
        assert_eq!(short.tx_time(mbps(2), ACK_BYTES), us(96 + 56));
        assert_eq!(short.tx_time(mbps(1), ACK_BYTES), us(192 + 112));
    }

    #[test]
    fn responses_go_at_the_highest_mandatory_rate_not_above() {
        for (rate, response) in [(54, 24), (18, 12), (9, 6), (6, 6)] {
            assert_eq!(A.response_rate(BitRate::mbps(rate)), BitRate::mbps(response));
        }
        assert_eq!(B.response_rate(BitRate::mbps(11)), BitRate::mbps(2));
        assert_eq!(B.response_rate(BitRate::mbps(1)), BitRate::mbps(1));
    }

    #[test]
    fn a_rate_of_another_phy_is_unknown() {
        assert_eq!(A.modulation(BitRate::mbps(11)), None);
        assert_eq!(B.modulation(BitRate::mbps(11)), Some(Modulation::Cck8));
    }
}
