//! Access categories and their parameters (802.11-2020 clause 10.23.2), and limits of aggregation.

use crate::Phy;
use crate::phy::{BLOCK_ACK_256_BYTES, BLOCK_ACK_BYTES, Format, subframe};
use fairwave_units::Duration;

/// Access category of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessCategory {
    /// AC_BK.
    Background,
    /// AC_BE.
    #[default]
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl AccessCategory {
    /// Every category, from the lowest priority.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];
}

/// EDCA parameters of one access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edca {
    /// AIFSN: slots after SIFS that the medium must be idle.
    pub aifsn: u32,
    /// CWmin: slots of the first backoff are drawn from `0..=cw_min`.
    pub cw_min: u32,
    /// CWmax.
    pub cw_max: u32,
    /// TXOP limit; zero allows one exchange.
    pub txop: Duration,
}

impl Edca {
    /// DCF as EDCA would describe it.
    pub const fn dcf(phy: Phy) -> Self {
        Self { aifsn: 2, cw_min: phy.cw_min(), cw_max: phy.cw_max(), txop: Duration::ZERO }
    }

    /// The default parameters of the four categories, from the lowest priority (table 9-155).
    pub fn defaults(phy: Phy) -> [Self; 4] {
        let (min, max) = (phy.cw_min(), phy.cw_max());
        let (half, quarter) = (min.div_ceil(2) - 1, min.div_ceil(4) - 1);
        let (video, voice) = match phy.format() {
            Format::Dsss => (6_016, 3_264),
            _ => (4_096, 2_080),
        };
        let edca = |aifsn, cw_min, cw_max, txop_us| {
            let txop = Duration::from_micros(txop_us);
            Self { aifsn, cw_min, cw_max, txop }
        };
        [
            edca(7, min, max, 0),
            edca(3, min, max, 0),
            edca(2, half, min, video),
            edca(2, quarter, half, voice),
        ]
    }

    /// AIFS = SIFS + AIFSN slots.
    pub fn aifs(self, phy: Phy) -> Duration {
        phy.sifs() + phy.slot() * u64::from(self.aifsn)
    }
}

/// Limits of aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// MPDUs in an A-MPDU, which is also the window of the block ack agreement.
    pub mpdus: u32,
    /// Bytes of an A-MPDU.
    pub bytes: u32,
    /// Longest time of a PPDU.
    pub time: Duration,
    /// Bytes of an A-MSDU; zero sends every MSDU in an MPDU of its own.
    pub msdu_bytes: u32,
    /// Occasions on which senders ask for a BlockAck.
    pub request: BlockAckRequest,
    /// Attempts at an MPDU under the block ack agreement, and at a BlockAckReq; `None`: as many
    /// as at frames without aggregation.
    pub retry_limit: Option<u32>,
}

/// Time at which the sender of A-MPDUs transmits a BlockAckReq (802.11-2020 clause 10.25.6, which
/// leaves the choice after a missing BlockAck to the sender).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockAckRequest {
    /// After a missing BlockAck, before the MPDUs are retransmitted, and after MPDUs were given
    /// up. ns-3 does so by default.
    AfterMissing,
    /// After MPDUs were given up, so that the receiver no longer waits for them. After a missing
    /// BlockAck the MPDUs are retransmitted at once. Linux does so: ath9k, and mac80211 for
    /// drivers that report a failed MPDU.
    #[default]
    OnDrop,
    /// Never. The receiver learns at once and at no cost which frames its sender dropped.
    Never,
}

impl Aggregation {
    /// Returns the maximum of the PHY's generation without A-MSDU (tables 9-184, 9-271 and, of
    /// 802.11ax-2021, 9-322e; aPPDUMaxTime); `None` before HT.
    pub fn most(phy: Phy) -> Option<Self> {
        let (mpdus, bytes) = match phy.format() {
            Format::Dsss | Format::Ofdm => return None,
            Format::Ht => (64, 65_535),
            Format::Vht => (64, 1_048_575),
            Format::He => (256, 6_500_631),
        };
        let time = Duration::from_micros(5_484);
        let request = BlockAckRequest::OnDrop;
        Some(Self { mpdus, bytes, time, msdu_bytes: 0, request, retry_limit: None })
    }

    /// Frames that an MPDU has room for, each an MPDU of `bytes` where it stands alone.
    pub fn msdus_in_mpdu(self, bytes: u32) -> u32 {
        (self.msdu_bytes / subframe(bytes)).max(1)
    }

    /// Whether a BlockAck needs a bitmap of 256 for the window (802.11ax-2021 clause 26.4.3).
    pub const fn has_long_bitmap(self) -> bool {
        self.mpdus > 64
    }

    /// Length of a BlockAck in bytes.
    pub const fn block_ack_bytes(self) -> u32 {
        if self.has_long_bitmap() { BLOCK_ACK_256_BYTES } else { BLOCK_ACK_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standard;

    #[test]
    fn windows_of_the_four_categories() {
        let windows = |phy| Edca::defaults(phy).map(|e| (e.cw_min, e.cw_max, e.aifsn));
        let ofdm = [(15, 1023, 7), (15, 1023, 3), (7, 15, 2), (3, 7, 2)];
        assert_eq!(windows(Phy::new(Standard::N)), ofdm);
        let dsss = [(31, 1023, 7), (31, 1023, 3), (15, 31, 2), (7, 15, 2)];
        assert_eq!(windows(Phy::new(Standard::B)), dsss);
    }

    #[test]
    fn best_effort_waits_43_us_at_5_ghz() {
        let phy = Phy::new(Standard::Ac);
        assert_eq!(Edca::defaults(phy)[1].aifs(phy), Duration::from_micros(43));
        assert_eq!(Edca::dcf(phy).aifs(phy), phy.difs());
    }
}
