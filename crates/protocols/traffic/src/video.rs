//! Video: frames at a constant rate, intra-coded ones larger than predicted ones.

use crate::draw;
use crate::frame::FrameKind;
use fairwave_units::{BitRate, Duration, Stream};

/// Frames that are all sent at once, cut into datagrams.
///
/// A group of pictures is one I frame and `group - 1` P frames. An I frame is `intra_ratio` times
/// as large as a P frame in the mean, so that with a mean frame of `m` bytes a P frame has
/// `m * group / (group - 1 + intra_ratio)`. Each frame's size is log-normal around its mean
/// (Krunz and Tripathi, On the characterization of VBR MPEG streams, SIGMETRICS 1997).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// Mean rate of payload.
    pub rate: BitRate,
    /// Time between frames.
    pub interval: Duration,
    /// Frames of a group; the first is an I frame.
    pub group: u32,
    /// Mean size of an I frame over that of a P frame.
    pub intra_ratio: f64,
    /// Standard deviation of a frame's size over its mean; zero for constant sizes.
    pub spread: f64,
    /// Largest datagram in bytes of payload.
    pub payload_bytes: u32,
}

impl Video {
    /// Returns the dependence of the `n`-th frame.
    pub(crate) fn kind(&self, n: u64) -> FrameKind {
        match n.is_multiple_of(u64::from(self.group.max(1))) {
            true => FrameKind::Intra,
            false => FrameKind::Predicted,
        }
    }

    /// Mean size of the `n`-th frame, in bytes.
    pub(crate) fn mean_frame_bytes(&self, n: u64) -> f64 {
        let mean = self.rate.0 as f64 / 8.0 * self.interval.as_secs_f64();
        let group = f64::from(self.group.max(1));
        let predicted = mean * group / (group - 1.0 + self.intra_ratio);
        match self.kind(n) {
            FrameKind::Intra => predicted * self.intra_ratio,
            FrameKind::Predicted => predicted,
        }
    }

    /// Size of the `n`-th frame in bytes; at least one.
    pub(crate) fn draw_frame_bytes(&self, n: u64, random: &mut Stream) -> u64 {
        let mean = self.mean_frame_bytes(n);
        let bytes = match self.spread {
            0.0 => mean,
            spread => draw::log_normal(mean, spread * mean, random),
        };
        ((bytes + 0.5) as u64).max(1)
    }
}
