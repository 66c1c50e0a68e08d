//! All wired links.

use super::line::{Line, Streams};
use super::metered::Metered;
use crate::actors::{Actor, Actors, Ids};
use crate::context::Context;
use crate::packet::Packet;
use crate::world::{Change, World};
use fairwave_machine::Machine;
use fairwave_queue::Spec;
use fairwave_trace::{NodeId, QueueId};
use fairwave_units::Instant;

/// Both directions of every link, two by two.
#[derive(Debug)]
pub(crate) struct Lines {
    all: Vec<Line>,
    ids: Ids,
    /// The nodes at which they begin and end.
    ends: Vec<(NodeId, NodeId)>,
    /// Queues of radios, which come before theirs.
    radios: u32,
}

impl Lines {
    pub(super) fn new(world: &World, actors: &mut Actors) -> Self {
        let directions = world.links.iter().enumerate().flat_map(|(i, link)| {
            [(0, "forth"), (1, "back")].map(|(way, name)| {
                let stream = |use_of: &str| world.seed.stream(&format!("link/{i}/{name}{use_of}"));
                let streams = Streams {
                    random: stream(""),
                    delays: stream("/delay"),
                    bursts: stream("/bursts"),
                    queue: stream("/queue"),
                };
                Line::new(link, way, streams)
            })
        });
        let all: Vec<Line> = directions.collect();
        let ends = world.links.iter().map(|link| link.ends);
        Self {
            ids: actors.enlist(all.len(), Actor::Line),
            all,
            ends: ends.flat_map(|(a, b)| [(a, b), (b, a)]).collect(),
            radios: world.nodes.iter().filter(|node| node.radio.is_some()).count() as u32,
        }
    }

    /// Sets the first deadlines.
    pub(super) fn begin(&self, cx: &mut Context<'_>) {
        for (i, line) in self.all.iter().enumerate() {
            cx.set(self.ids, i, line.deadline());
        }
    }

    /// Sends a packet along a line.
    pub(super) fn send(&mut self, line: usize, packet: Packet, cx: &mut Context<'_>) {
        self.all[line].handle(cx.now, packet);
        self.arm(line, cx);
    }

    /// Lets a line do the work that is due.
    pub(crate) fn wake(&mut self, line: usize, now: Instant) {
        self.all[line].wake(now);
    }

    /// A packet that has come to the end of a line, and the node there.
    pub(crate) fn poll(&mut self, line: usize, now: Instant) -> Option<(NodeId, Packet)> {
        let packet = self.all[line].poll(now)?;
        Some((self.ends[line].1, packet))
    }

    /// Reports a line's losses and sets its deadline.
    pub(crate) fn arm(&mut self, line: usize, cx: &mut Context<'_>) {
        while let Some((packet, cause)) = self.all[line].event() {
            cx.dropped(&packet, self.queue_id(line), cause);
        }
        cx.set(self.ids, line, self.all[line].deadline());
    }

    /// Applies `change`, whose time is now, to both directions of a link.
    pub(super) fn change(&mut self, link: usize, change: &Change, cx: &mut Context<'_>) {
        for line in [2 * link, 2 * link + 1] {
            self.all[line].wake(cx.now);
            self.all[line].become_as(change);
            self.arm(line, cx);
        }
    }

    /// Replaces the queue of a line, whose waiting packets move over.
    pub(super) fn replace_queue(&mut self, line: usize, spec: &Spec, cx: &mut Context<'_>) {
        // Packets on a line wait for one receiver, which has the number 0.
        for (packet, cause) in self.all[line].queue.replace(spec, 1, cx.now) {
            cx.dropped(&packet, self.queue_id(line), cause);
        }
        self.all[line].wake(cx.now);
        self.arm(line, cx);
    }

    /// Number of a line's queue: after the radios, in order.
    fn queue_id(&self, line: usize) -> QueueId {
        QueueId(self.radios + line as u32)
    }

    /// The queue of the first line that leads off from `node`.
    pub(super) fn first_queue(&self, node: NodeId) -> Option<QueueId> {
        self.ends.iter().position(|(from, _)| *from == node).map(|line| self.queue_id(line))
    }

    /// Their queues, in order.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &Metered> {
        self.all.iter().map(|line| &line.queue)
    }

    /// The same, to change them.
    pub(crate) fn queues_mut(&mut self) -> impl Iterator<Item = &mut Metered> {
        self.all.iter_mut().map(|line| &mut line.queue)
    }
}
