//! A stream of a session for tasks: bytes in order, both ways.

use crate::endpoint::{CarrierReport, Sent};
use crate::shared::{Shared, State};
use bytes::Bytes;
use fairwave_linux::Clock;
use fairwave_units::Instant;
use fairwave_wire::shake::Reason;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream. Its half that writes ends by [`AsyncWrite::poll_shutdown`]; one that is dropped
/// before is reset, unless [`Stream::set_finish_on_drop`] says otherwise.
#[derive(Debug)]
pub struct Stream {
    shared: Arc<Shared>,
    session: usize,
    stream: usize,
    is_finished: bool,
    finishes_on_drop: bool,
}

impl Stream {
    pub(crate) fn new(shared: Arc<Shared>, session: usize, stream: usize) -> Self {
        Self { shared, session, stream, is_finished: false, finishes_on_drop: false }
    }

    /// Sets whether a drop ends the half that writes, so that the bytes already written still
    /// arrive. A reset would discard them.
    pub fn set_finish_on_drop(&mut self, finishes: bool) {
        self.finishes_on_drop = finishes;
    }

    /// The number of its session, which no other has had.
    pub fn session(&self) -> usize {
        self.session
    }

    /// A view of its state and counts.
    pub fn monitor(&self) -> Monitor {
        let Self { shared, session, stream, .. } = self;
        let id = shared.with(|state| state.endpoint.id(*session, *stream));
        Monitor { shared: Arc::clone(shared), session: *session, stream: *stream, id }
    }
}

/// A view of a stream's state and counts, for any thread.
#[derive(Clone, Debug)]
pub struct Monitor {
    shared: Arc<Shared>,
    session: usize,
    stream: usize,
    /// Its id, as a later stream may have its number.
    id: Option<u64>,
}

impl Monitor {
    /// State and counts at this end; `None` once the stream is gone.
    pub fn report(&self) -> Option<(CarrierReport, Sent)> {
        self.shared.with(|state| {
            if !self.is_there(state) {
                return None;
            }
            let (report, sent) = state.endpoint.report(self.session, self.stream)?;
            Some((report, sent.clone()))
        })
    }

    /// Takes the ends of data that left for the first time since the last call, in bytes from the
    /// start of the stream, with their times by `clock`. Empty unless
    /// [`crate::Config::notes_departures`].
    pub fn take_departures(&self, clock: Clock) -> Vec<(u64, Instant)> {
        self.shared.with(|state| {
            if !self.is_there(state) {
                return Vec::new();
            }
            let (own, theirs) = (state.now(), clock.now());
            let departures = state.endpoint.take_departures(self.session, self.stream);
            let ago = |at: Instant| own.since(at).min(theirs.since(Instant::ZERO));
            departures.into_iter().map(|(end, at)| (end, theirs - ago(at))).collect()
        })
    }

    fn is_there(&self, state: &State) -> bool {
        self.id.is_some() && state.endpoint.id(self.session, self.stream) == self.id
    }
}

/// The error of a stream that is over before its end.
fn over(reason: Option<Reason>) -> io::Error {
    let (kind, why) = match reason {
        Some(Reason::Abort) => (io::ErrorKind::ConnectionReset, "the peer gave the stream up"),
        Some(Reason::NotReading) => (io::ErrorKind::BrokenPipe, "the peer has stopped reading"),
        Some(Reason::Violation) => (io::ErrorKind::InvalidData, "a rule of SHAKE was broken"),
        Some(Reason::NoPath) => (io::ErrorKind::TimedOut, "no path worked for too long"),
        None => (io::ErrorKind::ConnectionReset, "the session is over"),
    };
    io::Error::new(kind, why)
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { shared, session, stream, .. } = &*self;
        let max = u32::try_from(into.remaining()).unwrap_or(u32::MAX);
        shared.with(|state| {
            if let Some(data) = state.endpoint.read(*session, *stream, max) {
                into.put_slice(&data);
                // The window may have opened.
                state.poke();
                return Poll::Ready(Ok(()));
            }
            match state.endpoint.stream(*session, *stream) {
                Some(found) if found.is_read_to_the_end => Poll::Ready(Ok(())),
                Some(found) if found.reset.is_none() && !found.is_over => {
                    let waiting = state.waiting.entry((*session, *stream)).or_default();
                    waiting.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
                found => Poll::Ready(Err(over(found.and_then(|found| found.reset)))),
            }
        })
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_finished {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let Self { shared, session, stream, .. } = &*self;
        shared.with(|state| {
            let found = state.endpoint.stream(*session, *stream);
            let space = found.map_or(0, |found| found.send_space as usize);
            if space > 0 {
                let taken = space.min(from.len());
                let now = state.now();
                let data = Bytes::copy_from_slice(&from[..taken]);
                state.endpoint.write(now, *session, *stream, data);
                state.poke();
                return Poll::Ready(Ok(taken));
            }
            match found {
                Some(found) if found.reset.is_none() && !found.is_over => {
                    let waiting = state.waiting.entry((*session, *stream)).or_default();
                    waiting.writer = Some(cx.waker().clone());
                    Poll::Pending
                }
                found => Poll::Ready(Err(over(found.and_then(|found| found.reset)))),
            }
        })
    }

    /// Written bytes are the machine's: there is nothing to wait for.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_finished = true;
        let Self { shared, session, stream, .. } = &*self;
        shared.with(|state| {
            let now = state.now();
            state.endpoint.finish(now, *session, *stream);
            state.poke();
        });
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.with(|state| {
            let now = state.now();
            if !self.is_finished && self.finishes_on_drop {
                state.endpoint.finish(now, self.session, self.stream);
            } else if !self.is_finished {
                state.endpoint.abort(now, self.session, self.stream);
            }
            state.endpoint.release(now, self.session, self.stream);
            state.waiting.remove(&(self.session, self.stream));
            state.poke();
        });
    }
}
