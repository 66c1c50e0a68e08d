//! Quality of a viewer's picture, in numbers.

use fairwave_units::{Duration, Instant};

/// A gap that lasts three times the usual, and this much longer than the usual, is a freeze (W3C,
/// *Identifiers for WebRTC's Statistics API*, `freezeCount`).
const FREEZE: Duration = Duration::from_millis(150);

/// Quality for a viewer. Each frame whose time has come is shown, undecodable or missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    /// Frames shown.
    pub shown: u64,
    /// Frames that were received, but not the frames that they depend on.
    pub undecodable: u64,
    /// Frames passed over because they were not there when their time came.
    pub missed: u64,
    /// Missed frames that came later.
    pub came_late: u64,
    /// Shown frames that had to be waited for.
    pub waited: u64,
    /// Times that the same picture stood for at least three frames and for 150 ms longer than one,
    /// pauses of the source left out.
    pub freezes: u64,
    /// Total time for which it stood then.
    pub frozen: Duration,
    /// Maximum time for which it stood.
    pub longest_freeze: Duration,
    /// Times that the clock of the playout stood still.
    pub stalls: u64,
    /// Total time.
    pub stalled: Duration,
    /// Time at which a picture was shown last.
    last_shown: Option<Instant>,
    /// Whether a frame has been passed over since.
    pub(super) passed_since_shown: bool,
    /// Time at which the last frame was judged, and when it had been made.
    pub(super) last_judged: Option<Instant>,
    last_made: Option<Instant>,
    /// For how much longer than usual no frame was made, of all since the picture was shown.
    paused: Duration,
    /// Earlier events are not counted.
    pub(super) since: Instant,
}

impl Quality {
    pub(super) const fn new() -> Self {
        Self {
            shown: 0,
            undecodable: 0,
            missed: 0,
            came_late: 0,
            waited: 0,
            freezes: 0,
            frozen: Duration::ZERO,
            longest_freeze: Duration::ZERO,
            stalls: 0,
            stalled: Duration::ZERO,
            last_shown: None,
            passed_since_shown: false,
            last_judged: None,
            last_made: None,
            paused: Duration::ZERO,
            since: Instant::ZERO,
        }
    }

    /// Frames that came after their time: passed over by a call, waited for by a stream.
    pub const fn late(&self) -> u64 {
        self.came_late + self.waited
    }

    /// Frames that have not come at all.
    pub const fn lost(&self) -> u64 {
        self.missed - self.came_late
    }

    /// Frames whose time has come.
    pub const fn due(&self) -> u64 {
        self.shown + self.undecodable + self.missed
    }

    pub(super) fn restart(&mut self, now: Instant) {
        let Self { last_shown, passed_since_shown, last_judged, last_made, .. } = *self;
        let since = now;
        *self =
            Self { last_shown, passed_since_shown, last_judged, last_made, since, ..Self::new() };
    }

    /// The time of a frame has come that was made then.
    pub(super) fn judge(&mut self, at: Instant, made: Instant, interval: Duration) {
        // A pause of the source is none of the picture.
        let usual = self.last_made.map_or(made, |last| last + interval);
        self.paused += made.since(usual);
        debug_assert!(self.last_judged.is_none_or(|last| last <= at), "judged at {at:?}");
        (self.last_judged, self.last_made) = (Some(at), Some(made));
    }

    pub(super) fn show(&mut self, at: Instant, interval: Duration) {
        self.stand_still(at, interval);
        self.shown += 1;
        self.last_shown = Some(at);
        self.passed_since_shown = false;
        self.paused = Duration::ZERO;
    }

    pub(super) const fn pass_over(&mut self, complete: bool) {
        self.passed_since_shown = true;
        if complete {
            self.undecodable += 1;
        } else {
            self.missed += 1;
        }
    }

    pub(super) fn stall(&mut self, length: Duration) {
        self.stalls += 1;
        self.stalled += length;
    }

    /// The picture shown last stands until `at`. While nothing was made it does not count.
    pub(super) fn stand_still(&mut self, at: Instant, interval: Duration) {
        let Some(last) = self.last_shown else { return };
        let stood = at.since(last.max(self.since)).saturating_sub(self.paused);
        if stood >= (interval * 3).max(interval + FREEZE) {
            self.freezes += 1;
            self.frozen += stood;
            self.longest_freeze = self.longest_freeze.max(stood);
        }
    }
}
