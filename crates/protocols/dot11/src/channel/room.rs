//! Limits of a PPDU, and the MPDUs that waiting frames make up within them.

use crate::phy::{DELIMITER_BYTES, Format, QOS_MAC_BYTES, subframe};
use crate::{Aggregation, Mode, Phy};
use fairwave_units::Duration;

/// Longest MPDU in an A-MPDU of HT: the limit of its delimiter, in 12 bits, and the delimiter.
const MAX_HT_MPDU_BYTES: u32 = 4_095 + DELIMITER_BYTES;

/// Limits of a PPDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) mpdus: u32,
    pub(super) bytes: u32,
    pub(super) msdu_bytes: u32,
    pub(super) format: Format,
}

impl Room {
    /// Limits of a PPDU in `mode`, of `longest` at most if that is set.
    pub(super) fn new(
        phy: Phy,
        mode: Mode,
        longest: Option<Duration>,
        limits: Option<Aggregation>,
    ) -> Self {
        let format = mode.format();
        let Some(limits) = limits.filter(|_| format >= Format::Ht) else {
            return Self { mpdus: 1, bytes: u32::MAX, msdu_bytes: 0, format };
        };
        let longest = longest.map_or(limits.time, |longest| longest.min(limits.time));
        let bytes = limits.bytes.min(phy.psdu_within(mode, longest));
        let mpdu = match format {
            Format::Ht if limits.mpdus > 1 => MAX_HT_MPDU_BYTES.min(bytes),
            _ => bytes,
        };
        let context = QOS_MAC_BYTES + DELIMITER_BYTES;
        let msdu_bytes = limits.msdu_bytes.min(mpdu.saturating_sub(context));
        Self { mpdus: limits.mpdus, bytes, msdu_bytes, format }
    }
}

/// The MPDUs that frames make up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filling {
    /// Number of MPDUs.
    pub(super) mpdus: u32,
    /// Bytes of the A-MSDU subframes of the last MPDU.
    pub(super) tail: u32,
    /// Whether the last MPDU was sent before, so that no frame joins it.
    pub(super) is_closed: bool,
}

impl Filling {
    /// Whether a frame of `bytes` goes into the last MPDU.
    pub(super) fn joins(self, bytes: u32, room: Room) -> bool {
        let with = self.tail.next_multiple_of(4) + subframe(bytes);
        self.mpdus > 0 && !self.is_closed && with <= room.msdu_bytes
    }

    /// With one more frame, which was not sent before.
    pub(super) fn with(self, bytes: u32, room: Room) -> Self {
        let part = subframe(bytes);
        if self.joins(bytes, room) {
            return Self { tail: self.tail.next_multiple_of(4) + part, ..self };
        }
        Self { mpdus: self.mpdus + 1, tail: part, is_closed: false }
    }
}
