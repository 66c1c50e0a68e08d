//! Datagrams of applications in a session. They are not retransmitted, and dropped when their time
//! is over. Each goes over the path that is expected to deliver it first; in redundant mode over
//! every path.

use super::event::Event;
use super::path::MESSAGE_HEAD;
use super::queue::{Queue, Waiting};
use super::route::Transmit;
use super::session::{self, Session};
use super::settings::Mode;
use bytes::Bytes;
use fairwave_machine::Replay;
use fairwave_units::{Duration, Instant};
use fairwave_wire::shake::Side;
use fairwave_wire::shake::record::{Frame, Priority, UNRELIABLE_HEAD_LEN, Unreliable};
use std::num::NonZeroU64;

/// Longest time for which a datagram may wait.
const MAX_LIFETIME: Duration = Duration::from_secs(10);
/// The paths are asked for their round-trip times after so many datagrams or this time, but not
/// sooner than the third: queues change as fast as they are filled.
const ASK_AFTER: u32 = 8;
const ASK_WITHIN: Duration = Duration::from_millis(100);
const MIN_ASK: Duration = Duration::from_millis(20);

/// Reason for which a datagram is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramError {
    /// It is longer than the paths take.
    #[error("a datagram may have {max} bytes at most")]
    TooLong {
        /// The longest.
        max: usize,
    },
    /// The session is over, or its peer has not shown that it has the keys.
    #[error("the session is over")]
    NoSession,
}

/// Counters of a session's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramStats {
    /// Datagrams sent, each once for all its copies.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Datagrams dropped at this end: too late, or too many.
    pub dropped: u64,
}

impl DatagramStats {
    /// These counts with those of a session before.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        Self {
            sent: self.sent + before.sent,
            received: self.received + before.received,
            dropped: self.dropped + before.dropped,
        }
    }
}

/// A datagram of which copies are still to be sent.
#[derive(Debug)]
struct Leaving {
    datagram: Waiting,
    number: NonZeroU64,
    /// A bit for each path.
    paths: u16,
}

/// The datagrams of a session.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    outgoing: Queue,
    incoming: Queue,
    leaving: Option<Leaving>,
    sent: u64,
    received: u64,
    /// Numbers of the peer's datagrams that have arrived.
    seen: Replay,
    /// Datagrams offered since the paths were asked, and the time of that.
    offered: u32,
    asked_at: Instant,
}

impl Datagrams {
    pub(super) fn stats(&self) -> DatagramStats {
        DatagramStats {
            sent: self.sent,
            received: self.received,
            dropped: self.outgoing.dropped() + self.incoming.dropped(),
        }
    }

    /// Whether the paths are to be asked now.
    fn asks(&mut self, now: Instant) -> bool {
        self.offered += 1;
        let since = now.since(self.asked_at);
        let is_due = self.offered >= ASK_AFTER || since >= ASK_WITHIN;
        if is_due && since >= MIN_ASK {
            (self.offered, self.asked_at) = (0, now);
            return true;
        }
        false
    }
}

impl Session {
    /// Largest payload of a datagram.
    pub(super) fn max_datagram(&self) -> usize {
        // The kind of the frame is part of either.
        usize::from(self.stream_mss()) + MESSAGE_HEAD - (UNRELIABLE_HEAD_LEN - 1)
    }

    /// Queues a datagram.
    pub(super) fn send_datagram(
        &mut self,
        now: Instant,
        flow: u32,
        payload: Bytes,
        lifetime: Duration,
    ) -> Result<(), DatagramError> {
        if self.is_closed || !self.is_confirmed {
            return Err(DatagramError::NoSession);
        }
        let max = self.max_datagram();
        if payload.len() > max {
            return Err(DatagramError::TooLong { max });
        }
        let until = now + lifetime.min(MAX_LIFETIME);
        self.datagrams.outgoing.push(now, Waiting { flow, payload, until });
        if self.datagrams.asks(now) {
            let up = |id: &u8| self.paths[usize::from(*id)].is_up;
            let ids: Vec<u8> = (0..self.paths.len() as u8).filter(up).collect();
            self.waiting.extend(ids.into_iter().map(|id| session::Waiting::Ping(id, None)));
        }
        Ok(())
    }

    /// Takes a datagram of the peer; another path may have brought it before.
    pub(super) fn take_datagram(&mut self, now: Instant, of: &Unreliable<'_>, payload: Bytes) {
        if self.datagrams.seen.admit(of.number) {
            self.datagrams.received += 1;
            let until = now + Duration::from_millis(of.lifetime_ms.into()).min(MAX_LIFETIME);
            let flow = of.flow;
            self.datagrams.incoming.push(now, Waiting { flow, payload, until });
            self.notify(Event::Datagram { session: self.number, flow });
        }
    }

    /// Takes the oldest datagram of a flow.
    pub(super) fn receive_datagram(&mut self, now: Instant, flow: u32) -> Option<Bytes> {
        self.datagrams.incoming.pop_of(now, flow).map(|datagram| datagram.payload)
    }

    /// The next record with a datagram. Without a path, datagrams wait until their time is over.
    pub(super) fn poll_datagram(&mut self, now: Instant) -> Option<Transmit> {
        loop {
            let mut leaving = match self.datagrams.leaving.take() {
                Some(leaving) => leaving,
                None => self.next_datagram(now)?,
            };
            let path = leaving.paths.trailing_zeros() as u8;
            leaving.paths &= leaving.paths - 1;
            let Waiting { flow, ref payload, until } = leaving.datagram;
            let lifetime_ms = until.since(now).as_millis().try_into().unwrap_or(u16::MAX);
            let frame = Unreliable { flow, number: leaving.number, lifetime_ms, payload };
            let record = self.record(path, &Frame::Unreliable(frame));
            self.datagrams.leaving = Some(leaving).filter(|leaving| leaving.paths != 0);
            if record.is_some() {
                return record;
            }
        }
    }

    /// The first datagram that arrives in time, and the paths for it. Those that would come too
    /// late are dropped: they would delay the next ones.
    fn next_datagram(&mut self, now: Instant) -> Option<Leaving> {
        loop {
            let until = self.datagrams.outgoing.first(now)?;
            match self.choose(now, until.since(now))? {
                0 => self.datagrams.outgoing.drop_first(),
                paths => {
                    let datagram = self.datagrams.outgoing.pop(now)?;
                    self.datagrams.sent += 1;
                    let number = NonZeroU64::new(self.datagrams.sent)?;
                    return Some(Leaving { datagram, number, paths });
                }
            }
        }
    }

    /// A bit for each path that is to carry a datagram with so much time left; none if each is
    /// expected to take longer. `None` if no path works. A path of a lower priority carries it
    /// where those of higher ones are too slow.
    fn choose(&self, now: Instant, left: Duration) -> Option<u16> {
        let is_opener = self.side == Side::Opener;
        let usable = self.paths.iter().enumerate().filter(|(_, path)| {
            path.is_up && path.route.is_some() && (!is_opener || path.mss().is_some())
        });
        if self.mode() == Mode::Redundant {
            let all = usable.map(|(id, _)| 1 << id).fold(0, |all: u16, path| all | path);
            return Some(all).filter(|paths| *paths != 0);
        }
        let rank = |priority: Priority| priority as u8;
        let expected = usable.map(|(id, path)| (rank(path.priority), path.expected_delay(now), id));
        let mut expected = expected.peekable();
        expected.peek()?;
        let in_time = expected.filter(|(_, delay, _)| *delay < left).min();
        Some(in_time.map_or(0, |(_, _, id)| 1 << id))
    }
}
