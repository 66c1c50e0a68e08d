//! Progress of a flow over several paths.

use crate::traffic::progress;
use fairwave_linux::clock::Clock;
use fairwave_shake_host::Monitor;
use fairwave_units::Instant;

/// Progress of a flow: bytes that the sink's application has read, with their times; and views of
/// the stream, with the clock of the run.
pub(super) type Progress = progress::Progress<(Instant, u32), (Monitor, Clock)>;
