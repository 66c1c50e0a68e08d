//! Playout: which frames a viewer sees, and when the picture stands still.
//!
//! A [`Playout`] gets each frame when it is made, with the units it travels in (datagrams, or bytes
//! of a stream), and the units that arrive. A frame is there with its last unit, and can be decoded
//! if the frames that it depends on are decoded. When its time comes it is shown or not:
//!
//! - [`Policy::Skip`], of a call: each frame's time is a set delay after it was made. A frame that
//!   is incomplete by then is passed over. If it is completed later it is still decoded, for the
//!   frames that depend on it.
//! - [`Policy::Stall`], of a stream: the first frame is shown a set delay after it could be, each
//!   other as long after the one before as it was made after it. A frame that is not there is
//!   waited for, unless a later one is there whole: then it is lost, and passed over.

use crate::frame::FrameKind;
use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;
use std::ops::Range;

mod quality;
#[cfg(test)]
mod tests;

pub use quality::Quality;

/// Frames that are kept after their time, for others that depend on them.
const KEPT: u64 = 1_024;
/// Frames that may wait for their time; beyond that the oldest is lost. As many may be late.
const MAX: usize = 1 << 16;

/// Treatment of a frame that is not there when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Go on without it.
    Skip,
    /// Wait for it.
    Stall,
}

/// Display of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// From a frame's capture to its showing, for [`Policy::Skip`]; for [`Policy::Stall`] from when
    /// the first frame can be decoded to its showing.
    pub delay: Duration,
    /// Treatment of late frames.
    pub policy: Policy,
    /// Usual time between frames, for the definition of a freeze.
    pub interval: Duration,
}

/// A frame that has been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Time at which it was captured; not before the frame made before.
    pub at: Instant,
    /// Its dependence on others.
    pub kind: FrameKind,
    /// The units it travels in: they follow those of the frame before.
    pub units: Range<u64>,
}

impl Made {
    /// Whether its capture and its units come before those of the next frame.
    fn comes_before(&self, next: &Self) -> bool {
        self.at <= next.at && self.units.end <= next.units.start
    }
}

#[derive(Clone, Debug)]
struct Record {
    made: Made,
    missing: u64,
    complete: Option<Instant>,
    decodable: Option<Instant>,
    /// Time at which a later frame was there whole.
    overtaken: Option<Instant>,
}

/// A frame that is no longer kept, and has not come.
#[derive(Clone, Debug)]
struct Late {
    number: u64,
    at: Instant,
    units: Range<u64>,
    missing: u64,
}

/// The frame last on the screen, and the slot that sets the next times (of a stall).
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: Instant,
    made: Instant,
}

/// Number of units that are in both.
fn shared(a: &Range<u64>, b: &Range<u64>) -> u64 {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

/// A viewer.
#[derive(Clone, Debug)]
pub struct Playout {
    config: Config,
    /// From the oldest that is kept, in order.
    frames: VecDeque<Record>,
    /// Number of the first of them.
    first: u64,
    /// Frames from before that may still come, in order.
    late: VecDeque<Late>,
    /// Whether the frame before the first could be decoded.
    decoded_before: bool,
    /// The next frame whose time comes.
    next: u64,
    /// Frames before this one are not counted.
    counted_from: u64,
    slot: Option<Slot>,
    quality: Quality,
    latencies: VecDeque<Duration>,
}

impl Playout {
    /// A viewer before the first frame.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            frames: VecDeque::new(),
            first: 0,
            late: VecDeque::new(),
            decoded_before: false,
            next: 0,
            counted_from: 0,
            slot: None,
            quality: Quality::new(),
            latencies: VecDeque::new(),
        }
    }

    /// A frame was made.
    pub fn made(&mut self, made: Made) {
        self.advance(made.at);
        let missing = made.units.end.saturating_sub(made.units.start);
        let at = made.at;
        debug_assert!(self.frames.back().is_none_or(|last| last.made.comes_before(&made)));
        let record = Record { made, missing, complete: None, decodable: None, overtaken: None };
        self.frames.push_back(record);
        if missing == 0 {
            self.completed(self.frames.len() - 1, at);
        }
        self.forget(at);
    }

    /// Units arrived, each for the first time.
    pub fn arrived(&mut self, now: Instant, units: Range<u64>) {
        self.advance(now);
        self.arrived_late(now, &units);
        let mut i = self.frames.partition_point(|frame| frame.made.units.end <= units.start);
        while let Some(frame) = self.frames.get_mut(i)
            && frame.made.units.start < units.end
        {
            let came = shared(&frame.made.units, &units);
            let was_missing = frame.missing > 0;
            frame.missing = frame.missing.saturating_sub(came);
            if was_missing && frame.missing == 0 {
                self.completed(i, now);
            }
            i += 1;
        }
        self.advance(now);
    }

    /// Units arrived, of frames that are no longer kept.
    fn arrived_late(&mut self, now: Instant, units: &Range<u64>) {
        let mut i = self.late.partition_point(|frame| frame.units.end <= units.start);
        while let Some(frame) = self.late.get_mut(i)
            && frame.units.start < units.end
        {
            frame.missing = frame.missing.saturating_sub(shared(&frame.units, units));
            if frame.missing > 0 {
                i += 1;
                continue;
            }
            self.latencies.push_back(now.since(frame.at));
            self.quality.came_late += u64::from(frame.number >= self.counted_from);
            self.late.remove(i);
        }
    }

    /// Time at which [`Self::wake`] is due: the inputs so far settle nothing before.
    pub fn deadline(&self) -> Option<Instant> {
        let frame = self.frames.get((self.next - self.first) as usize)?;
        match self.config.policy {
            // What arrives at the very deadline is in time, so it is judged just after.
            Policy::Skip => Some(frame.made.at + self.config.delay + Duration::from_nanos(1)),
            Policy::Stall => self.settled(frame),
        }
    }

    /// Shows or passes over the frames that are due.
    pub fn wake(&mut self, now: Instant) {
        self.advance(now);
    }

    /// Time for which a frame took from its capture until it was there whole; one for each that
    /// came.
    pub fn latency(&mut self) -> Option<Duration> {
        self.latencies.pop_front()
    }

    /// Counts from `now` on.
    pub fn restart(&mut self, now: Instant) {
        self.advance(now);
        self.quality.restart(now);
        self.counted_from = self.next;
    }

    /// Returns the viewer's quality up to `now`, a picture that stands still being counted so far.
    pub fn quality(&self, now: Instant) -> Quality {
        let stalls = self.stalls_since(now).is_some();
        let mut quality = self.quality;
        if stalls {
            quality.stand_still(now, self.config.interval);
        } else if quality.passed_since_shown {
            // The picture stands for as long as it would if the next frame came as usual.
            let next = quality.last_judged.unwrap_or(now) + self.config.interval;
            quality.stand_still(now.min(next), self.config.interval);
        }
        if let Some(since) = self.stalls_since(now) {
            quality.stall(now.since(since));
        }
        quality
    }

    /// Since when a frame is waited for, if one is (of a stall).
    fn stalls_since(&self, now: Instant) -> Option<Instant> {
        if self.config.policy == Policy::Skip {
            return None;
        }
        let frame = self.frames.get((self.next - self.first) as usize)?;
        let since = self.due(frame)?.max(self.quality.since);
        (since < now).then_some(since)
    }

    /// Time at which the frame, the next one, is to be shown; `None` before a stream has begun.
    fn due(&self, frame: &Record) -> Option<Instant> {
        match self.config.policy {
            Policy::Skip => Some(frame.made.at + self.config.delay),
            Policy::Stall => self.slot.map(|slot| slot.at + frame.made.at.since(slot.made)),
        }
    }

    /// Of a stall: when the frame, the next one, is shown or passed over, as far as is known.
    fn settled(&self, frame: &Record) -> Option<Instant> {
        match (self.due(frame), frame.decodable) {
            (Some(due), Some(decodable)) => Some(due.max(decodable)),
            (None, Some(decodable)) => Some(decodable),
            (due, None) => {
                let given_up = frame.complete.or(frame.overtaken)?;
                Some(due.map_or(given_up, |due| due.max(given_up)))
            }
        }
    }

    /// Judges every frame whose time has come.
    fn advance(&mut self, now: Instant) {
        while let Some(frame) = self.frames.get((self.next - self.first) as usize) {
            match self.config.policy {
                Policy::Skip => {
                    let due = frame.made.at + self.config.delay;
                    if due >= now {
                        return;
                    }
                    self.judge_by(due);
                }
                Policy::Stall => match self.settled(frame) {
                    Some(at) if at <= now => self.show_after_stall(at),
                    _ => return,
                },
            }
        }
    }

    /// Skip: shows the next frame if it can be decoded by `due`.
    fn judge_by(&mut self, due: Instant) {
        let frame = &self.frames[(self.next - self.first) as usize];
        let by = |at: Option<Instant>| at.is_some_and(|at| at <= due);
        let (decodable, complete) = (by(frame.decodable), by(frame.complete));
        self.judge(due, decodable, complete);
    }

    /// Stall: shows or passes over the next frame at `at`.
    fn show_after_stall(&mut self, at: Instant) {
        let frame = &self.frames[(self.next - self.first) as usize];
        let (decodable, complete) = (frame.decodable.is_some(), frame.complete.is_some());
        let made = frame.made.at;
        match self.due(frame) {
            // The first picture: it waits in the buffer, and the clock starts.
            None if decodable => {
                self.slot = Some(Slot { at: at + self.config.delay, made });
            }
            None => self.judge(at, false, complete),
            Some(due) => {
                let due = due.max(self.quality.since);
                if at > due {
                    self.quality.stall(at.since(due));
                    self.quality.waited += u64::from(decodable);
                }
                self.slot = Some(Slot { at, made });
                self.judge(at, decodable, complete);
            }
        }
    }

    fn judge(&mut self, at: Instant, decodable: bool, complete: bool) {
        let made = self.frames[(self.next - self.first) as usize].made.at;
        self.quality.judge(at, made, self.config.interval);
        self.next += 1;
        debug_assert!(self.first < self.next, "frame {} is no longer kept", self.next - 1);
        if decodable {
            self.quality.show(at, self.config.interval);
        } else {
            self.quality.pass_over(complete);
        }
    }

    /// The frame at place `i` is there whole.
    fn completed(&mut self, i: usize, now: Instant) {
        let frame = &mut self.frames[i];
        frame.complete = Some(now);
        self.latencies.push_back(now.since(frame.made.at));
        let number = self.first + i as u64;
        if (self.counted_from..self.next).contains(&number) {
            self.quality.came_late += 1;
        }
        for before in self.frames.range_mut(..i).rev() {
            // Whatever overtook this frame has overtaken those before it.
            if before.overtaken.is_some() {
                break;
            }
            before.overtaken = Some(now);
        }
        self.decode_from(i, now);
    }

    /// Decodes the frame at place `i` if that can be done, and the received frames that depend on
    /// it.
    fn decode_from(&mut self, i: usize, now: Instant) {
        let mut reference = match i.checked_sub(1) {
            Some(before) => self.frames[before].decodable.is_some(),
            None => self.decoded_before,
        };
        for frame in self.frames.range_mut(i..) {
            let can = frame.complete.is_some()
                && frame.decodable.is_none()
                && (reference || frame.made.kind == FrameKind::Intra);
            if !can {
                return;
            }
            frame.decodable = Some(now);
            reference = true;
        }
    }

    /// Keeps memory bounded.
    fn forget(&mut self, now: Instant) {
        let is_full = self.frames.len() >= MAX;
        if is_full && self.first == self.next {
            self.judge(now, false, false);
        }
        if (is_full || self.first + KEPT < self.next)
            && let Some(oldest) = self.frames.pop_front()
        {
            self.decoded_before = oldest.decodable.is_some();
            if oldest.complete.is_none() {
                if self.late.len() == MAX {
                    self.late.pop_front();
                }
                let Record { made, missing, .. } = oldest;
                let (number, at, units) = (self.first, made.at, made.units);
                self.late.push_back(Late { number, at, units, missing });
            }
            self.first += 1;
        }
    }
}
