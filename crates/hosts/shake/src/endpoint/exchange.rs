//! The exchange of a session's datagrams: each goes over the path that is expected to deliver it
//! first, in redundant mode over every path.

use super::datagrams::{DatagramError, Leaving, MAX_LIFETIME};
use super::event::Event;
use super::path::{MESSAGE_HEAD, Path};
use super::queue::Waiting;
use super::route::Transmit;
use super::session::{self, Session};
use super::settings::Mode;
use bytes::Bytes;
use fairwave_units::{Duration, Instant};
use fairwave_wire::shake::Side;
use fairwave_wire::shake::record::{Frame, Priority, UNRELIABLE_HEAD_LEN, Unreliable};
use std::num::NonZeroU64;

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
            self.datagrams.too_long += 1;
            return Err(DatagramError::TooLong { max });
        }
        let until = now + lifetime.min(MAX_LIFETIME);
        self.datagrams.outgoing.push(now, Waiting { flow, payload, until });
        if self.datagrams.asks(now) {
            self.ask_for_datagrams(now, until.since(now));
        }
        Ok(())
    }

    /// Asks the paths of the best priority that delivers in time, and of better ones: questions
    /// on a metered link cost as data does. If none delivers in time, all paths are asked.
    fn ask_for_datagrams(&mut self, now: Instant, left: Duration) {
        let in_time = self.usable().filter(|(_, path)| path.expected_delay(now) < left);
        let last = in_time.map(|(_, path)| rank(path.priority)).min();
        let is_asked =
            |path: &Path| path.is_up && last.is_none_or(|last| rank(path.priority) <= last);
        let asked = self.paths.iter().enumerate().filter(|(_, path)| is_asked(path));
        self.waiting.extend(asked.map(|(id, _)| session::Waiting::Ping(id as u8, None)));
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
        let usable = self.usable();
        if self.mode() == Mode::Redundant {
            let all = usable.map(|(id, _)| 1 << id).fold(0, |all: u16, path| all | path);
            return Some(all).filter(|paths| *paths != 0);
        }
        let expected = usable.map(|(id, path)| (rank(path.priority), path.expected_delay(now), id));
        let mut expected = expected.peekable();
        expected.peek()?;
        let in_time = expected.filter(|(_, delay, _)| *delay < left).min();
        Some(in_time.map_or(0, |(_, _, id)| 1 << id))
    }

    /// The paths that can carry datagrams, with their ids.
    fn usable(&self) -> impl Iterator<Item = (usize, &Path)> {
        let is_opener = self.side == Side::Opener;
        self.paths.iter().enumerate().filter(move |(_, path)| {
            path.is_up && path.route.is_some() && (!is_opener || path.mss().is_some())
        })
    }
}

/// Place of a priority: the first carries datagrams where it delivers them in time.
const fn rank(priority: Priority) -> u8 {
    priority as u8
}
