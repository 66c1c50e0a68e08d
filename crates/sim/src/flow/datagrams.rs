//! A flow of UDP datagrams.

use super::feed::Feed;
use super::reception::Reception;
use super::screen::Screen;
use fairwave_traffic::{Emission, Emissions, Source};
use fairwave_units::{Instant, Stream};

/// Sender and receiver of datagrams.
#[derive(Debug)]
pub(crate) struct Datagrams {
    pub(super) ports: (u16, u16),
    pub(crate) sent: u64,
    pub(super) reception: Reception,
    schedule: Schedule,
}

/// Who says when the next one is sent.
#[derive(Debug)]
enum Schedule {
    /// The interface, whenever there is room.
    Saturate { payload_bytes: u32 },
    /// The source, whose time began at `start`.
    Timed { start: Instant, next: Option<Emission>, emissions: Box<Emissions> },
    /// The source, of whose frames somebody wants to know.
    Framed(Box<Feed>),
    /// Nobody any more.
    Stopped,
}

impl Datagrams {
    pub(super) fn saturating(ports: (u16, u16), payload_bytes: u32) -> Self {
        Self::new(ports, Schedule::Saturate { payload_bytes })
    }

    pub(super) fn timed(
        ports: (u16, u16),
        source: &Source,
        start: Instant,
        random: Stream,
    ) -> Self {
        let mut emissions = Box::new(source.emissions(random));
        let next = emissions.next();
        Self::new(ports, Schedule::Timed { start, next, emissions })
    }

    pub(super) fn framed(ports: (u16, u16), feed: Feed) -> Self {
        Self::new(ports, Schedule::Framed(Box::new(feed)))
    }

    fn new(ports: (u16, u16), schedule: Schedule) -> Self {
        Self { ports, sent: 0, reception: Reception::default(), schedule }
    }

    pub(super) fn stop(&mut self) {
        self.schedule = Schedule::Stopped;
    }

    /// When the source wants to send next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.schedule {
            Schedule::Timed { start, next, .. } => next.map(|emission| *start + emission.at),
            Schedule::Framed(feed) => feed.deadline(),
            Schedule::Saturate { .. } | Schedule::Stopped => None,
        }
    }

    /// Payload of the next datagram, if one is due or the interface is asking.
    pub(super) fn next_payload(
        &mut self,
        now: Instant,
        screen: Option<&mut Screen>,
    ) -> Option<u32> {
        match &mut self.schedule {
            Schedule::Saturate { payload_bytes } => Some(*payload_bytes),
            Schedule::Timed { start, next, emissions } => {
                let due = next.filter(|emission| *start + emission.at <= now)?;
                *next = emissions.next();
                Some(due.bytes)
            }
            Schedule::Framed(feed) => feed.next_payload(now, screen),
            Schedule::Stopped => None,
        }
    }
}
