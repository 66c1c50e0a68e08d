//! Frames of a source as they come due, whole or cut into datagrams.

use super::screen::Screen;
use fairwave_traffic::playout::Made;
use fairwave_traffic::{Frame, Frames, Source};
use fairwave_units::{BitRate, Instant, Stream};

/// A source whose time began at `start`.
#[derive(Debug)]
pub(crate) struct Feed {
    start: Instant,
    frames: Frames,
    next: Option<Frame>,
    /// Largest datagram in bytes.
    payload_bytes: u32,
    /// Bytes of the frame under way that are not in a datagram.
    left: u64,
    /// Datagrams, or bytes of a stream, given so far.
    given: u64,
}

impl Feed {
    pub(super) fn new(source: &Source, start: Instant, random: Stream) -> Self {
        let mut frames = source.frames(random);
        let next = frames.next();
        let payload_bytes = source.largest_payload_bytes().max(1);
        Self { start, frames, next, payload_bytes, left: 0, given: 0 }
    }

    /// Time at which the next data is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next.map(|frame| self.start + frame.at)
    }

    /// The next frame, if it is due, and when it was captured.
    fn next_frame(&mut self, now: Instant) -> Option<(Frame, Instant)> {
        let frame = self.next.filter(|frame| self.start + frame.at <= now)?;
        self.next = self.frames.next();
        Some((frame, self.start + frame.at))
    }

    /// Lets the encoder aim at `rate`, from the frame after the next on.
    pub(super) const fn set_rate(&mut self, rate: BitRate) {
        self.frames.set_rate(rate);
    }

    /// The next frame, if it is due, for a transport that cuts it into datagrams. The screen is
    /// notified; its units are those datagrams, numbered from zero.
    pub(super) fn next_cut(&mut self, now: Instant, screen: Option<&mut Screen>) -> Option<Frame> {
        let (frame, at) = self.next_frame(now)?;
        let units = self.given..self.given + frame.datagrams(self.payload_bytes);
        self.given = units.end;
        if let Some(screen) = screen {
            screen.made(Made { at, kind: frame.kind, units });
        }
        Some(frame)
    }

    /// Returns the payload of the next datagram, if one is due. The screen gets the frame that it
    /// begins, whose units are datagrams of this source, numbered from zero.
    pub(super) fn next_payload(
        &mut self,
        now: Instant,
        screen: Option<&mut Screen>,
    ) -> Option<u32> {
        if self.left == 0 {
            let (frame, at) = self.next_frame(now)?;
            self.left = frame.bytes;
            let units = self.given..self.given + frame.datagrams(self.payload_bytes);
            if let Some(screen) = screen {
                screen.made(Made { at, kind: frame.kind, units });
            }
        }
        let bytes = self.left.min(u64::from(self.payload_bytes));
        self.left -= bytes;
        self.given += 1;
        Some(bytes as u32)
    }

    /// Bytes of the next frame, if it is due. The screen is notified; its units are bytes of the
    /// stream.
    pub(super) fn next_bytes(&mut self, now: Instant, screen: Option<&mut Screen>) -> Option<u64> {
        let (frame, at) = self.next_frame(now)?;
        let units = self.given..self.given + frame.bytes;
        self.given = units.end;
        if let Some(screen) = screen {
            screen.made(Made { at, kind: frame.kind, units });
        }
        Some(frame.bytes)
    }
}
