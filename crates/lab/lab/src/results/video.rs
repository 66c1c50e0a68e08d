//! Frames that a viewer was shown, as they stand in `summary.json`.

use super::times::TimesSummary;
use fairwave_sim::VideoOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frames of a viewer in the measured span. Each frame that was due is shown, late, lost or
/// undecodable; a late one of a stream is shown too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VideoSummary {
    /// Frames that were due.
    pub frames: u64,
    /// Frames shown.
    pub shown: u64,
    /// Frames that arrived too late: a call skips them, a stream waits for them.
    pub late: u64,
    /// Frames that did not arrive.
    pub lost: u64,
    /// Frames that arrived in time, unlike those that they depend on.
    pub undecodable: u64,
    /// Number of times that a picture stood for at least three frames and for 150 ms longer than
    /// one.
    pub freezes: u64,
    /// Their total duration.
    pub frozen_ns: u64,
    /// Duration of the longest.
    pub longest_freeze_ns: u64,
    /// Number of times that the clock of the playout stood still.
    pub stalls: u64,
    /// Their total duration.
    pub stalled_ns: u64,
    /// Time from a frame's capture until it had arrived whole, over all frames that arrived.
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
