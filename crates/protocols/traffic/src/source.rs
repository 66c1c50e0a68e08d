//! Sources of datagrams.

use crate::draw::{self, Period};
use crate::video::Video;
use fairwave_units::{Duration, Stream};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// One datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Time from the source's start.
    pub at: Duration,
    /// Payload in bytes.
    pub bytes: u32,
}

/// Datagrams of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// At a constant rate.
    Cbr {
        /// Payload of each, in bytes.
        payload_bytes: u32,
        /// One every so often, the first at once.
        interval: Duration,
    },
    /// A Poisson process: exponential intervals.
    Poisson {
        /// Payload of each, in bytes.
        payload_bytes: u32,
        /// Mean interval.
        interval: Duration,
    },
    /// Periods of constant rate with silence between them; speech is one kind.
    OnOff(OnOff),
    /// Frames of a video.
    Video(Video),
    /// A list.
    Trace(Trace),
}

/// Periods of constant rate with silence between them. A period begins with a datagram. Whether
/// the source begins silent is drawn by the share of silence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Payload of each datagram, in bytes.
    pub payload_bytes: u32,
    /// Between datagrams of a period.
    pub interval: Duration,
    /// Time for which a period lasts.
    pub on: Period,
    /// Duration of silence.
    pub off: Period,
}

impl OnOff {
    /// Mean talk-spurt of conversational speech (ITU-T P.59, 1993).
    pub const TALK: Duration = Duration::from_millis(1_004);
    /// Mean pause of conversational speech (the same).
    pub const PAUSE: Duration = Duration::from_millis(1_587);

    /// One direction of a telephone call with silence suppression, exponential talk-spurts and
    /// pauses with the means of ITU-T P.59.
    pub fn voice(payload_bytes: u32, interval: Duration) -> Self {
        let period = |mean| Period::Exponential { mean };
        Self { payload_bytes, interval, on: period(Self::TALK), off: period(Self::PAUSE) }
    }
}

/// Datagrams at listed times.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The list, in order of time.
    pub emissions: Arc<[Emission]>,
    /// After so long the list begins anew; not shorter than its last time. `None` plays it once.
    pub repeat_every: Option<Duration>,
}

impl Source {
    /// Largest payload of a datagram, in bytes.
    pub fn largest_payload_bytes(&self) -> u32 {
        match self {
            Self::Cbr { payload_bytes, .. } | Self::Poisson { payload_bytes, .. } => *payload_bytes,
            Self::OnOff(on_off) => on_off.payload_bytes,
            Self::Video(video) => video.payload_bytes,
            Self::Trace(trace) => trace.emissions.iter().map(|e| e.bytes).max().unwrap_or(0),
        }
    }

    /// Reason for which the source cannot run, if any: time would not advance, or a number is out
    /// of range.
    pub fn unsound(&self) -> Option<&'static str> {
        let period = |p: Period| match p {
            Period::Pareto { shape, .. } => shape > 1.0 && shape.is_finite(),
            Period::Exponential { .. } => true,
        };
        match self {
            Self::Cbr { interval, .. } | Self::Poisson { interval, .. } if interval.is_zero() => {
                Some("its interval is zero")
            }
            Self::OnOff(s) if s.interval.is_zero() => Some("its interval is zero"),
            Self::OnOff(s) if s.on.mean().is_zero() => Some("its periods have no length"),
            Self::OnOff(s) if !(period(s.on) && period(s.off)) => Some("its shape is not above 1"),
            Self::Video(v) if v.interval.is_zero() => Some("its interval is zero"),
            Self::Video(v) if v.group == 0 => Some("its group of pictures is empty"),
            Self::Video(v) if v.payload_bytes == 0 => Some("its datagrams are empty"),
            Self::Video(v) if !(v.intra_ratio > 0.0 && v.spread >= 0.0) => {
                Some("its frames have no size")
            }
            Self::Trace(trace) => trace.unsound(),
            _ => None,
        }
    }

    /// The datagrams, in order of time; endless but for a trace that is played once.
    pub fn emissions(&self, mut random: Stream) -> Emissions {
        let state = match self {
            Self::OnOff(on_off) => {
                let (on, off) = (on_off.on.mean().as_secs_f64(), on_off.off.mean().as_secs_f64());
                let silent = random.chance(off / (on + off));
                State::Between { silent }
            }
            _ => State::Count(0),
        };
        Emissions { source: self.clone(), random, now: Duration::ZERO, state }
    }
}

impl Trace {
    /// Mean time between datagrams of the list.
    pub(crate) fn mean_interval(&self) -> Duration {
        let gaps = self.emissions.len().saturating_sub(1).max(1) as u64;
        let last = self.emissions.last().map_or(Duration::ZERO, |e| e.at);
        let first = self.emissions.first().map_or(Duration::ZERO, |e| e.at);
        Duration::from_nanos(last.saturating_sub(first).as_nanos() / gaps)
    }

    fn unsound(&self) -> Option<&'static str> {
        let last = self.emissions.last()?.at;
        match self.repeat_every {
            _ if !self.emissions.is_sorted_by_key(|e| e.at) => Some("its times are out of order"),
            Some(every) if every.is_zero() || every < last => {
                Some("it repeats before it has ended")
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The n-th datagram, frame or line is next.
    Count(u64),
    /// Rest of the current video frame, and the next frame's number.
    Frame { left: u64, next: u64 },
    /// A period or silence begins now.
    Between { silent: bool },
    /// Within a period, until then.
    On { until: Duration },
}

/// The datagrams of a source: an iterator in order of time.
#[derive(Clone, Debug)]
pub struct Emissions {
    source: Source,
    random: Stream,
    /// Time at which the next step of the source happens.
    now: Duration,
    state: State,
}

impl Iterator for Emissions {
    type Item = Emission;

    fn next(&mut self) -> Option<Emission> {
        // Time has come to its end: what would follow all has the same instant.
        if self.now == Duration::MAX {
            return None;
        }
        match &self.source {
            &Source::Cbr { payload_bytes, interval } => {
                let at = self.now;
                self.now += interval;
                Some(Emission { at, bytes: payload_bytes })
            }
            &Source::Poisson { payload_bytes, interval } => {
                self.now += draw::exponential(interval, &mut self.random);
                Some(Emission { at: self.now, bytes: payload_bytes })
            }
            &Source::OnOff(on_off) => self.next_of_period(on_off),
            &Source::Video(video) => Some(self.next_of_frame(video)),
            Source::Trace(_) => self.next_of_trace(),
        }
    }
}

impl Emissions {
    fn next_of_period(&mut self, source: OnOff) -> Option<Emission> {
        while self.now < Duration::MAX {
            match self.state {
                State::On { until } if self.now < until => {
                    let at = self.now;
                    self.now += source.interval;
                    return Some(Emission { at, bytes: source.payload_bytes });
                }
                State::On { until } => {
                    self.now = until;
                    self.state = State::Between { silent: true };
                }
                State::Between { silent: true } => {
                    self.now += source.off.draw(&mut self.random);
                    self.state = State::Between { silent: false };
                }
                _ => self.state = State::On { until: self.now + source.on.draw(&mut self.random) },
            }
        }
        None
    }

    fn next_of_frame(&mut self, video: Video) -> Emission {
        let (left, next) = match self.state {
            State::Frame { left, next } if left > 0 => (left, next),
            State::Frame { next, .. } => {
                self.now += video.interval;
                (video.draw_frame_bytes(next, &mut self.random), next + 1)
            }
            _ => (video.draw_frame_bytes(0, &mut self.random), 1),
        };
        let bytes = left.min(u64::from(video.payload_bytes));
        self.state = State::Frame { left: left - bytes, next };
        Emission { at: self.now, bytes: bytes as u32 }
    }

    fn next_of_trace(&mut self) -> Option<Emission> {
        let Source::Trace(trace) = &self.source else { return None };
        let State::Count(n) = self.state else { return None };
        if n == trace.emissions.len() as u64 {
            self.now += trace.repeat_every?;
            self.state = State::Count(0);
            return if n == 0 { None } else { self.next() };
        }
        self.state = State::Count(n + 1);
        let Emission { at, bytes } = trace.emissions[n as usize];
        Some(Emission { at: self.now + at, bytes })
    }
}
