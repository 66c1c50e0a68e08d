//! A frame on the air.

use super::super::FrameKind;
use super::super::contention::Sensed;
use crate::Mode;
use fairwave_units::Instant;

/// A frame on the air, or one that overlapped a frame on the air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) id: u64,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: FrameKind,
    pub(crate) mode: Mode,
    pub(crate) bytes: u32,
    /// MPDUs that it consists of.
    pub(crate) mpdus: u32,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    /// Until when the Duration field reserves the medium.
    pub(crate) reserved_until: Instant,
    pub(crate) overlapped: bool,
    /// Whether its end was handled.
    pub(crate) over: bool,
    /// Level from which an undisturbed receiver is certain to decode it, in milliwatts.
    pub(crate) sure_mw: f64,
}

impl Transmission {
    /// Length of the MPDU in bits. For an A-MPDU, the mean of its MPDUs; other stations use it to
    /// decide whether they decode the frame.
    pub(super) fn mpdu_bits(&self) -> f64 {
        8.0 * f64::from(self.bytes) / f64::from(self.mpdus)
    }

    /// Its meaning for a radio that decodes it and is not its receiver.
    pub(crate) fn decoded(&self) -> Sensed {
        let rts = if self.kind == FrameKind::Rts { self.id } else { 0 };
        Sensed::Decoded { until: self.reserved_until.as_nanos(), rts }
    }
}
