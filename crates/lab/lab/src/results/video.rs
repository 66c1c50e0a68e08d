//! Frames that a viewer was shown, as they stand in `summary.json`.

use super::times::TimesSummary;
use fairwave_sim::VideoOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frames of a viewer in the measured span. Each frame whose time came is shown, late, lost or
/// undecodable; a late one of a stream is shown too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VideoSummary {
    /// Frames whose time came.
    pub frames: u64,
    /// Frames shown.
    pub shown: u64,
    /// Frames that came after their time: passed over by a call, waited for by a stream.
    pub late: u64,
    /// Frames that did not come.
    pub lost: u64,
    /// Frames that arrived in time, unlike those that they depend on.
    pub undecodable: u64,
    /// Times that a picture stood for at least three frames and for 150 ms longer than one.
    pub freezes: u64,
    /// Their total duration.
    pub frozen_ns: u64,
    /// The longest.
    pub longest_freeze_ns: u64,
    /// Times that the clock of the playout stood still.
    pub stalls: u64,
    /// Their total duration.
    pub stalled_ns: u64,
    /// From a frame's capture until it was there whole, of all that came.
    pub latency: Option<TimesSummary>,
}

impl VideoSummary {
    pub(super) fn of(seen: &VideoOutcome) -> Self {
        let quality = &seen.quality;
        Self {
            frames: quality.due(),
            shown: quality.shown,
            late: quality.late(),
            lost: quality.lost(),
            undecodable: quality.undecodable,
            freezes: quality.freezes,
            frozen_ns: quality.frozen.as_nanos(),
            longest_freeze_ns: quality.longest_freeze.as_nanos(),
            stalls: quality.stalls,
            stalled_ns: quality.stalled.as_nanos(),
            latency: seen.latency.map(TimesSummary::of),
        }
    }

    /// Frames shown per second of `measured_ns`.
    pub fn frame_rate(&self, measured_ns: u64) -> f64 {
        self.shown as f64 * 1e9 / measured_ns.max(1) as f64
    }
}
