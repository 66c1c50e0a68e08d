//! Frames of a source: data that is needed as a whole, and its time limit.

use crate::frame::{Frame, FrameKind};
use crate::source::{Emissions, Source};
use crate::video::Video;
use fairwave_units::{BitRate, Duration, Stream};

#[cfg(test)]
mod tests;

/// The frames of a source, in order of time.
///
/// Frames of a source. Frames of [`Source::Video`] are its pictures; of every other source each
/// datagram is a frame that depends on no other. The random stream is drawn from as
/// [`Source::emissions`] does, so that both give the same bytes at the same times.
#[derive(Clone, Debug)]
pub struct Frames {
    number: u64,
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    Pictures { video: Video, random: Stream, now: Duration },
    Datagrams(Box<Emissions>),
}

impl Source {
    /// Data that has to arrive as a whole, in order of time.
    pub fn frames(&self, random: Stream) -> Frames {
        let inner = match self {
            Self::Video(video) => Inner::Pictures { video: *video, random, now: Duration::ZERO },
            _ => Inner::Datagrams(Box::new(self.emissions(random))),
        };
        Frames { number: 0, inner }
    }

    /// Usual time between frames, for the definition of a freeze.
    pub fn frame_interval(&self) -> Duration {
        match self {
            Self::Cbr { interval, .. } | Self::Poisson { interval, .. } => *interval,
            Self::OnOff(on_off) => on_off.interval,
            Self::Video(video) => video.interval,
            Self::Trace(trace) => trace.mean_interval(),
        }
    }
}

impl Frames {
    /// Lets the encoder aim at `rate` from the next frame on. Only video follows.
    pub const fn set_rate(&mut self, rate: BitRate) {
        if let Inner::Pictures { video, .. } = &mut self.inner {
            video.rate = rate;
        }
    }
}

impl Iterator for Frames {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        let number = self.number;
        let frame = match &mut self.inner {
            Inner::Pictures { now: Duration::MAX, .. } => return None,
            Inner::Pictures { video, random, now } => {
                let (at, bytes) = (*now, video.draw_frame_bytes(number, random));
                *now += video.interval;
                Frame { number, kind: video.kind(number), at, bytes }
            }
            Inner::Datagrams(emissions) => {
                let emission = emissions.next()?;
                let bytes = u64::from(emission.bytes).max(1);
                Frame { number, kind: FrameKind::Intra, at: emission.at, bytes }
            }
        };
        self.number += 1;
        Some(frame)
    }
}
