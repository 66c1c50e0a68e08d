//! A flow: its two legs and its counters.

use crate::options;
use crate::targets::{Direction, Per};
use fairwave_units::{BitRate, Duration};
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use tokio::net::TcpStream;

/// A connection of a client, and the connection to its server.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) near: TcpStream,
    pub(crate) far: TcpStream,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) up_bytes: Cell<u64>,
    pub(crate) down_bytes: Cell<u64>,
    /// Whether data of each direction wait for a leg now.
    up_waits: Cell<bool>,
    down_waits: Cell<bool>,
    /// Whether a wait in the direction of the target has ended since the bin began.
    was_held_up: Cell<bool>,
    pub(crate) goal: Cell<Option<Goal>>,
    /// Rate that was last set, on the socket that sends in this direction.
    pub(crate) reported: Cell<Option<(Direction, BitRate)>>,
    acked_at_bin: Cell<u64>,
    pub(crate) carried_at_tick: Cell<u64>,
    pub(crate) idle_for: Cell<Duration>,
    near_silence: Silence,
    far_silence: Silence,
    far_has_congestion_control: Cell<bool>,
    near_has_congestion_control: Cell<bool>,
}

/// Silence of a leg's peer that owes an ACK.
#[derive(Debug, Default)]
struct Silence {
    /// Segments that had come when it began.
    segments: Cell<u32>,
    lasts: Cell<Duration>,
}

impl Silence {
    /// Notes that this time has passed at a leg. Returns for how long its peer has owed an ACK.
    fn pass(&self, leg: &TcpStream, passed: Duration) -> Duration {
        // A socket that is gone ends its flow itself.
        let (segments, owes) = options::heard(leg).unwrap_or_default();
        self.note(segments, owes, passed)
    }

    /// Notes that this time has passed, the segments that have come until now, and whether the peer
    /// owes an ACK. Returns for how long it has owed one.
    fn note(&self, segments: u32, owes: bool, passed: Duration) -> Duration {
        let is_silent = self.segments.replace(segments) == segments && owes;
        let before = if is_silent { self.lasts.get().as_nanos() + passed.as_nanos() } else { 0 };
        self.lasts.set(Duration::from_nanos(before));
        self.lasts.get()
    }
}

/// A wait for a leg, also one that ends since its task is cancelled.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    flow: &'a Flow,
    direction: Direction,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.flow.waits(self.direction).set(false);
        if self.flow.goal.get().is_some_and(|goal| goal.direction == self.direction) {
            self.flow.was_held_up.set(true);
        }
    }
}

/// Target that a flow has, alone or shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    pub(crate) rule: usize,
    pub(crate) per: Per,
    pub(crate) rate: BitRate,
    pub(crate) direction: Direction,
}

/// Owner of a target: a flow by its number, or a host, each with the index of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    Flow(u64, usize),
    Host(IpAddr, usize),
}

impl Goal {
    /// Owner of the target if this flow of this client has it.
    pub(crate) fn owner(self, id: u64, client: SocketAddr) -> Owner {
        match self.per {
            Per::Flow => Owner::Flow(id, self.rule),
            Per::Host => Owner::Host(client.ip(), self.rule),
        }
    }
}

impl Flow {
    pub(crate) fn new(
        near: TcpStream,
        far: TcpStream,
        client: SocketAddr,
        server: SocketAddr,
    ) -> Self {
        Self {
            near,
            far,
            client,
            server,
            up_bytes: Cell::new(0),
            down_bytes: Cell::new(0),
            up_waits: Cell::new(false),
            down_waits: Cell::new(false),
            was_held_up: Cell::new(false),
            goal: Cell::new(None),
            reported: Cell::new(None),
            acked_at_bin: Cell::new(0),
            carried_at_tick: Cell::new(0),
            idle_for: Cell::new(Duration::default()),
            near_silence: Silence::default(),
            far_silence: Silence::default(),
            far_has_congestion_control: Cell::new(false),
            near_has_congestion_control: Cell::new(false),
        }
    }

    /// Notes that the far leg uses the congestion control algorithm with targets.
    pub(crate) fn with_congestion_control(self) -> Self {
        self.far_has_congestion_control.set(true);
        self
    }

    /// Counts payload that a leg accepted.
    pub(crate) fn count(&self, direction: Direction, bytes: usize) {
        let counter = match direction {
            Direction::Up => &self.up_bytes,
            Direction::Down => &self.down_bytes,
        };
        counter.set(counter.get() + bytes as u64);
    }

    /// Notes that data wait for a leg, until the value is dropped.
    pub(crate) fn wait(&self, direction: Direction) -> Waiting<'_> {
        self.waits(direction).set(true);
        Waiting { flow: self, direction }
    }

    /// Whether data in the direction of the target had to wait since the bin began, or wait now.
    pub(crate) fn is_held_up(&self) -> bool {
        let waits = self.goal.get().is_some_and(|goal| self.waits(goal.direction).get());
        self.was_held_up.get() || waits
    }

    fn waits(&self, direction: Direction) -> &Cell<bool> {
        match direction {
            Direction::Up => &self.up_waits,
            Direction::Down => &self.down_waits,
        }
    }

    /// Notes that this time has passed. Returns for how long a peer has owed an ACK, and has sent
    /// nothing at all.
    pub(crate) fn silence(&self, passed: Duration) -> Duration {
        let near = self.near_silence.pass(&self.near, passed);
        near.max(self.far_silence.pass(&self.far, passed))
    }

    /// Owner of the flow's target, and the target.
    pub(crate) fn owner(&self, id: u64) -> Option<(Owner, Goal)> {
        let goal = self.goal.get()?;
        Some((goal.owner(id, self.client), goal))
    }

    /// The leg whose socket sends in this direction.
    pub(crate) fn sender(&self, direction: Direction) -> &TcpStream {
        match direction {
            Direction::Up => &self.far,
            Direction::Down => &self.near,
        }
    }

    /// Whether that leg uses the congestion control algorithm with targets.
    pub(crate) fn has_congestion_control(&self, direction: Direction) -> &Cell<bool> {
        match direction {
            Direction::Up => &self.far_has_congestion_control,
            Direction::Down => &self.near_has_congestion_control,
        }
    }

    /// Ends a bin. Returns the bytes that were acknowledged in it, and whether data had to wait.
    pub(crate) fn end_bin(&self) -> (u64, bool) {
        let (acked, held_up) = (self.acked_in_bin(), self.is_held_up());
        self.acked_at_bin.set(self.acked_at_bin.get() + acked);
        self.was_held_up.set(false);
        (acked, held_up)
    }

    /// Bytes that the receiver acknowledged since the bin began; 0 if the socket is gone.
    pub(crate) fn acked_in_bin(&self) -> u64 {
        self.acked().saturating_sub(self.acked_at_bin.get())
    }

    /// Begins to count acknowledged bytes, in the direction of the present target.
    pub(crate) fn begin_bin(&self) {
        self.acked_at_bin.set(self.acked());
    }

    fn acked(&self) -> u64 {
        let direction = self.goal.get().map(|goal| goal.direction).unwrap_or_default();
        options::acked_bytes(self.sender(direction)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::{SILENCE, SILENCE_LOOK};

    /// Times of segments and looks in seconds. The kernel repeats a segment at the latest 120 s
    /// after the last one, by a timer that may be 4 s late.
    #[test]
    fn a_receiver_that_answers_each_repeated_segment_lives() {
        let look = SILENCE_LOOK.as_nanos() / 1_000_000_000;
        for first in 0..look {
            let silence = Silence::default();
            for second in (first..3600).step_by(look as usize) {
                let segments = 1 + (second / 124) as u32;
                let lasts = silence.note(segments, true, SILENCE_LOOK);
                assert!(lasts < SILENCE, "{lasts} at {second} s, with looks from {first} s on");
            }
        }
    }
}
