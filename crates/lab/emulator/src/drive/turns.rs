//! The turns of the loop.

use super::end::{End, EndCounts, Offload, Port, Way, Written};
use super::stations::Stations;
use super::{Control, Drive, Error, Inbox, Options, Report, Stopped, Turn};
use crate::entrance::Entrance;
use crate::frame::{self, Front};
use crate::meter::{Fidelity, Lateness, Meter, Reference};
use crate::offload::{HEADER_LEN, Header, Joiner, Segments};
use crate::packet::{self, Description, Endpoints};
use crate::slab::Slab;
use crate::{address, icmp, log};
use core::ops::ControlFlow;
use fairwave_linux::clock::{Clock, timespec};
use fairwave_sim::{OutsideEvent, OutsideFate, Simulation};
use fairwave_trace::{NodeId, Sink};
use fairwave_units::{Duration, Instant};
use fairwave_wire::datagram::Datagram;
use rustix::event::epoll;
use rustix::io::Errno;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

/// Maximum length of a frame from an end: header, Ethernet header with a tag, header of IPv6, and
/// the maximum that a length of 16 bits counts.
const MAX_FRAME: usize = HEADER_LEN + 18 + 40 + 65_535;
/// Maximum number of ends that one wait reports.
const MAX_READY: usize = 64;
/// Maximum number of samples that one turn handles.
const SAMPLES_PER_TURN: usize = 1024;
/// Maximum time between the first and the last of packets that are written as one. It is as long as
/// network cards wait for further packets before they interrupt.
const JOINS_WITHIN: Duration = Duration::from_micros(20);
/// Maximum number of packets that are written as one: the same as in a kernel (`UDP_GRO_CNT_MAX`).
const MAX_JOINED: usize = 64;
/// Number of instants of the world between two checks of the stop flag while the world is behind
/// the clock.
const LOOK_EVERY: u32 = 4096;

/// A run under way.
pub(super) struct Turns<'w> {
    simulation: Simulation<'w>,
    clock: Clock,
    end: Instant,
    ports: Vec<Port>,
    counts: Vec<EndCounts>,
    /// The port of each node; `None` for nodes without one.
    port_of: Vec<Option<usize>>,
    names: Vec<String>,
    slab: Slab,
    entrance: Entrance,
    joined: Joined,
    /// Ports to which packets were written since their answers were read.
    answering: Vec<usize>,
    /// Time of the last read of a frame.
    last_read: Option<Instant>,
    stations: Stations,
    record: Option<log::Writer>,
    inbox: Inbox,
    /// Changes of the world.
    changes: u64,
    meter: Meter,
    options: Options,
    /// Buffers of the last frame read, and of the answer to it.
    frame: Vec<u8>,
    answer: Vec<u8>,
}

/// Packets that arrived at one port and wait to be written.
#[derive(Debug)]
struct Joined {
    joiner: Joiner,
    port: usize,
    /// Time of arrival of each.
    at: Vec<Instant>,
    bytes: u64,
}

impl Joined {
    fn new() -> Self {
        // Allocated here, as the loop must not wait for memory.
        let at = Vec::with_capacity(MAX_JOINED);
        Self { joiner: Joiner::default(), port: 0, at, bytes: 0 }
    }

    /// Whether a packet that arrives at `port` at `at` may be joined with the waiting ones.
    fn may_take(&self, port: usize, at: Instant) -> bool {
        let is_soon = self.at.first().is_none_or(|first| at.since(*first) <= JOINS_WITHIN);
        self.port == port && is_soon && self.at.len() < MAX_JOINED
    }
}

/// Reason to end the turns, unless the operation succeeds.
type Halt = ControlFlow<Stopped>;
/// The same, or the time up to which all events were handled.
type Reached = ControlFlow<Stopped, Instant>;

impl<'w> Turns<'w> {
    pub(super) fn new(
        drive: Drive<'w>,
        sink: &'w mut dyn Sink,
    ) -> Result<Self, fairwave_sim::Error> {
        let Drive { clock, world, ends, options, record, inbox, associations, stop: _ } = drive;
        let simulation = Simulation::new(world, sink)?;
        let mut port_of = vec![None; world.nodes.len()];
        for (port, end) in ends.iter().enumerate() {
            let place = port_of.get_mut(end.node.0 as usize);
            let taken = place.is_some_and(|place| place.replace(port).is_none());
            if !taken {
                let what = format!("node {} has no place for an end", end.node.0);
                return Err(fairwave_sim::Error::Invalid(what));
            }
        }
        let maximum = Instant::ZERO + world.duration;
        let name = |end: &End| world.nodes[end.node.0 as usize].name.clone();
        let names = ends.iter().map(name).collect();
        let ports: Vec<_> = ends.into_iter().map(|end| Port::new(end, world)).collect();
        let answering = Vec::with_capacity(ports.len());
        let stations = Stations::new(world, &ports, associations);
        Ok(Self {
            simulation,
            clock,
            end: options.end.map_or(maximum, |end| end.min(maximum)),
            counts: vec![EndCounts::default(); ports.len()],
            ports,
            port_of,
            names,
            slab: Slab::new(options.bound()),
            entrance: Entrance::new(world),
            joined: Joined::new(),
            answering,
            last_read: None,
            stations,
            record,
            inbox,
            changes: 0,
            meter: Meter::new(clock.now()),
            options,
            frame: vec![0; MAX_FRAME],
            answer: Vec::new(),
        })
    }

    /// Takes turns until the end.
    pub(super) fn run(
        &mut self,
        stop: Option<&AtomicBool>,
        reference: Option<&Reference>,
        on_turn: &mut dyn FnMut(&Turn<'_>) -> ControlFlow<()>,
    ) -> Stopped {
        let epoll = match self.watch() {
            Ok(epoll) => epoll,
            Err(errno) => return Stopped::Failed(Error::Wait(errno)),
        };
        let nothing =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut ready = [nothing; MAX_READY];
        let is_requested = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        loop {
            let now = self.clock.now();
            if now >= self.end {
                // Events that were due before the end are handled, although they are late.
                return match self.catch_up(self.end, &is_requested) {
                    ControlFlow::Break(stopped) => stopped,
                    ControlFlow::Continue(_) => Stopped::End,
                };
            }
            match self.catch_up(now, &is_requested) {
                ControlFlow::Break(stopped) => return stopped,
                ControlFlow::Continue(reached) => self.take_messages(reached),
            }
            let Self { meter, counts, slab, .. } = self;
            let under_way = slab.len();
            let turn = Turn { now, meter, ends: counts, under_way, reference };
            if on_turn(&turn).is_break() || is_requested() {
                return Stopped::Asked;
            }
            let count = match epoll::wait(&epoll, &mut ready[..], Some(&self.patience())) {
                Ok(count) => count,
                Err(Errno::INTR) => 0,
                Err(errno) => return Stopped::Failed(Error::Wait(errno)),
            };
            for event in &ready[..count] {
                let port = event.data.u64() as usize;
                if let ControlFlow::Break(stopped) = self.serve(port, &is_requested) {
                    return stopped;
                }
            }
        }
    }

    /// Ends the run and returns its report.
    pub(super) fn finish(self, stopped: Stopped, reference: Option<&Reference>) -> Report {
        let Self { simulation, clock, record, changes, meter, counts, options, .. } = self;
        let now = clock.now();
        // A world that was behind the clock does not catch up after an interruption.
        let end = match stopped {
            Stopped::End => self.end,
            Stopped::Asked | Stopped::Failed(_) => simulation.now().min(self.end),
        };
        let fidelity = Fidelity {
            events: Lateness::of(&meter.events),
            packets: Lateness::of(&meter.packets),
            reads: Lateness::of(&meter.reads),
            sends: Lateness::default(),
            reference: reference.map(Reference::lateness),
            cpu_load: meter.cpu_load(now),
            suspended: meter.suspended(),
            packets_in: counts.iter().map(|end| end.packets_in).sum(),
            packets_lost: counts.iter().map(EndCounts::lost).sum(),
        };
        let recorded = record.map(|record| record.finish(end));
        let (outcome, limits) = (simulation.finish(end), options.limits);
        Report { outcome, fidelity, limits, ends: counts, end, stopped, changes, recorded }
    }

    // Time.

    /// Creates an epoll instance for all ports.
    fn watch(&self) -> Result<rustix::fd::OwnedFd, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, port) in self.ports.iter().enumerate() {
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, &port.end.fd, data, epoll::EventFlags::IN)?;
        }
        Ok(epoll)
    }

    /// Maximum time to sleep while waiting for packets.
    fn patience(&self) -> rustix::time::Timespec {
        let now = self.clock.now();
        let awake = self.options.busy_wait;
        // Packets often arrive in groups, and a wake-up for the next one would take longer than the
        // packet.
        if self.last_read.is_some_and(|read| now.since(read) < awake) {
            return timespec(0);
        }
        let latest = (now + self.options.min_turn).min(self.end);
        let next = self.simulation.next_deadline().unwrap_or(latest);
        // Before a deadline the loop is awake and polls the ports with zero timeouts.
        let wait = next.since(now).saturating_sub(awake);
        timespec(wait.min(latest.since(now)).as_nanos())
    }

    /// Handles all events until `until`, and writes the packets that arrived. Returns the time up
    /// to which all events were handled. This is later than `until` if packets arrive in close
    /// succession, such as those of an A-MPDU behind a wire: a separate write for the first would
    /// delay all others.
    fn catch_up(&mut self, until: Instant, is_requested: &dyn Fn() -> bool) -> Reached {
        let mut until = until;
        let mut halt = self.advance(until, is_requested);
        while halt.is_continue() && self.may_join_more() {
            until = self.clock.now().min(self.end).max(until);
            if self.simulation.next_deadline().is_none_or(|due| due > until) {
                break;
            }
            halt = self.advance(until, is_requested);
        }
        // All of these packets are due: none waits for packets that arrive in the future.
        self.write_joined()?;
        self.take_answers()?;
        halt.map_continue(|()| until)
    }

    /// Whether packets wait to be written, and packets of the world's next instant may be joined
    /// with them.
    fn may_join_more(&self) -> bool {
        let (first, next) = (self.joined.at.first(), self.simulation.next_deadline());
        first.zip(next).is_some_and(|(first, next)| next.since(*first) <= JOINS_WITHIN)
    }

    /// Handles all events until `until`, one instant after the other.
    fn advance(&mut self, until: Instant, is_requested: &dyn Fn() -> bool) -> Halt {
        let mut instants = 0u32;
        while let Some(due) = self.simulation.next_deadline().filter(|due| *due <= until) {
            self.simulation.advance_to(due);
            self.stations.look(&self.simulation);
            let late = self.clock.now().since(due);
            self.meter.events.add(late);
            self.deliver()?;
            self.take_answers()?;
            if late > self.options.give_up {
                return ControlFlow::Break(Stopped::Failed(Error::Overloaded(late)));
            }
            instants += 1;
            if instants.is_multiple_of(LOOK_EVERY) && is_requested() {
                return ControlFlow::Break(Stopped::Asked);
            }
        }
        // Without an event the world's clock still has to reach `until`, at which packets may
        // enter.
        self.simulation.advance_to(until);
        self.deliver()
    }

    /// Handles the waiting messages.
    fn take_messages(&mut self, now: Instant) {
        let Self { inbox, simulation, record, changes, .. } = self;
        let samples = inbox.samples.iter().flat_map(Receiver::try_iter);
        for (at, sample) in samples.take(SAMPLES_PER_TURN) {
            simulation.record(at, &sample);
        }
        for control in inbox.controls.iter().flat_map(Receiver::try_iter) {
            let Control { command, text, done } = control;
            let result = simulation.command(&command, now);
            *changes += u64::from(result.is_ok());
            if let (Ok(()), Some(record)) = (&result, record.as_mut()) {
                record.control(now, &text);
            }
            // The client may be gone.
            let _ = done.try_send(result.map(|()| now).map_err(|error| error.to_string()));
        }
    }

    // Packets out.

    /// Writes or joins the packets that arrived, and releases those that were lost.
    fn deliver(&mut self) -> Halt {
        while let Some(OutsideEvent { handle, at, fate }) = self.simulation.take() {
            if let OutsideFate::Arrived(datagram) = fate {
                self.arrive(handle, at, &datagram)?;
            }
            self.slab.free(handle);
        }
        ControlFlow::Continue(())
    }

    fn arrive(&mut self, handle: u64, at: Instant, datagram: &Datagram) -> Halt {
        let held = self.slab.get_mut(handle);
        packet::apply(datagram, &mut held.bytes);
        let (port, is_sum_right) = (held.to, held.is_sum_right);
        // On a bridged interface each frame is written separately, as a wire would carry it.
        let takes_joined =
            self.ports[port].end.offload == Offload::On && held.front == Front::Nothing;
        let joins = takes_joined && is_sum_right && self.options.joins_segments;
        if !joins || !self.joined.may_take(port, at) {
            self.write_joined()?;
        }
        if !joins {
            let header = Header { is_verified: is_sum_right, ..Header::default() };
            let held = self.slab.get_mut(handle);
            let (front, packet) = held.parts();
            let written = self.ports[port].write(&header, front, packet);
            let len = held.bytes.len() as u64;
            return self.note_written(port, written, 1, len, &[at]);
        }
        let joins_udp = self.ports[port].joins_udp;
        if !self.joined.joiner.offer(&self.slab.get_mut(handle).bytes, joins_udp) {
            self.write_joined()?;
            self.joined.joiner.offer(&self.slab.get_mut(handle).bytes, joins_udp);
        }
        let len = self.slab.get_mut(handle).bytes.len() as u64;
        self.joined.port = port;
        self.joined.at.push(at);
        self.joined.bytes += len;
        ControlFlow::Continue(())
    }

    /// Writes the joined packets.
    fn write_joined(&mut self) -> Halt {
        let Joined { joiner, port, bytes, .. } = &mut self.joined;
        if joiner.is_empty() {
            return ControlFlow::Continue(());
        }
        let (port, packets, bytes) = (*port, joiner.count() as u64, core::mem::take(bytes));
        let (header, packet) = joiner.take();
        let written = self.ports[port].write_all(&header, packet);
        let at = core::mem::take(&mut self.joined.at);
        let halt = self.note_written(port, written, packets, bytes, &at);
        self.joined.at = at;
        self.joined.at.clear();
        halt
    }

    /// Counts packets that were written or not; `at` has their times of arrival.
    fn note_written(
        &mut self,
        port: usize,
        written: Result<Written, Errno>,
        packets: u64,
        bytes: u64,
        at: &[Instant],
    ) -> Halt {
        let counts = &mut self.counts[port];
        match written {
            Ok(Written::Yes) => {
                counts.packets_out += packets;
                counts.bytes_out += bytes;
                let now = self.clock.now();
                at.iter().for_each(|at| self.meter.packets.add(now.since(*at)));
                if !self.answering.contains(&port) {
                    self.answering.push(port);
                }
            }
            Ok(Written::No | Written::Refused) => counts.lost_at_write += packets,
            Err(cause) => return self.vanished(port, cause),
        }
        ControlFlow::Continue(())
    }

    fn vanished(&self, port: usize, cause: Errno) -> Halt {
        let node = self.names[port].clone();
        ControlFlow::Break(Stopped::Failed(Error::Vanished { node, cause }))
    }

    // Packets in.

    /// Reads frames from a port, at most [`Options::reads_per_turn`].
    fn serve(&mut self, port: usize, is_requested: &dyn Fn() -> bool) -> Halt {
        let mut began = None;
        // A bound, so that a port under load does not starve the others and the control socket.
        for _ in 0..self.options.reads_per_turn {
            // The world is advanced to the time of the read first, as a packet must not enter it
            // before earlier events were handled.
            let now = self.catch_up(self.clock.now().min(self.end), is_requested)?;
            if now >= self.end {
                return ControlFlow::Continue(());
            }
            if !self.take_next(port, now, &mut began)? {
                return ControlFlow::Continue(());
            }
            self.last_read = Some(now);
        }
        // If no frame is left, none has waited.
        self.ports[port].backlog_since = began.filter(|_| self.ports[port].has_more());
        ControlFlow::Continue(())
    }

    /// Reads the answers to the packets that were written, and lets them enter at the world's time.
    ///
    /// A kernel answers a segment or an ACK within the write itself: segments that an ACK permits
    /// wait in the device when the write returns. A write for each ACK of an A-MPDU takes the loop
    /// some 6 us. If the answers entered at the clock's time, the medium would be idle for hundreds
    /// of microseconds, and the station's next A-MPDU would be the first few segments alone.
    fn take_answers(&mut self) -> Halt {
        let now = self.simulation.now();
        while let Some(port) = self.answering.pop() {
            let mut began = None;
            for _ in 0..self.options.reads_per_turn {
                if now >= self.end || !self.take_next(port, now, &mut began)? {
                    break;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Reads a frame from a port, which enters the world at `now`; `false` if none waits. `began`
    /// is the time since which frames may have waited in this series of reads.
    fn take_next(
        &mut self,
        port: usize,
        now: Instant,
        began: &mut Option<Instant>,
    ) -> ControlFlow<Stopped, bool> {
        let len = match self.ports[port].read(&mut self.frame) {
            Ok(Some(len)) => len,
            Ok(None) => {
                self.ports[port].backlog_since = None;
                return ControlFlow::Continue(false);
            }
            Err(cause) => return self.vanished(port, cause).map_continue(|()| false),
        };
        let since = *began.get_or_insert(self.ports[port].backlog_since.unwrap_or(now));
        self.meter.reads.add(now.since(since));
        let frame = core::mem::take(&mut self.frame);
        self.take_frame(port, &frame[..len], now);
        self.frame = frame;
        ControlFlow::Continue(true)
    }

    /// Divides a frame into packets, which enter the world at `now`.
    fn take_frame(&mut self, port: usize, frame: &[u8], now: Instant) {
        let (header, bytes) = match self.ports[port].end.offload {
            Offload::Off => (Header::default(), frame),
            Offload::On => match Header::parse(frame) {
                Some(parts) => parts,
                None => {
                    self.counts[port].malformed += 1;
                    return;
                }
            },
        };
        let end = &self.ports[port].end;
        let (front, header, bytes, ends) = match end.way {
            Way::Addressed { .. } => (Front::Nothing, header, bytes, None),
            Way::Bridged { to } => {
                let (front, header, bytes) = frame::part(header, bytes);
                let ends = Endpoints { source: end.node, destination: to };
                (front, header, bytes, Some(ends))
            }
        };
        let segments = Segments::new(&header, bytes).ok();
        let Some(mut segments) = segments.filter(|_| !frame::cannot_be_cut(front, &header)) else {
            self.counts[port].lost_at_read += 1;
            return;
        };
        self.counts[port].large_in += u64::from(segments.left() > 1);
        // A checksum that this program completes is correct, without another pass over the payload.
        let is_sum_right = header.needs_checksum || header.is_verified;
        while segments.left() > 0 {
            let put = self.slab.put(|held| {
                segments.next_into(&mut held.bytes);
                (held.is_sum_right, held.front) = (is_sum_right, front);
                if let (Front::EtherIp, Some(ends)) = (front, ends) {
                    frame::wrap(&mut held.bytes, ends);
                }
            });
            let Some(handle) = put else {
                self.counts[port].packets_in += segments.left() as u64;
                self.counts[port].lost_at_read += segments.left() as u64;
                break;
            };
            if !self.enter(port, handle, now) {
                self.slab.free(handle);
            }
        }
    }

    /// Lets a packet enter the world; `false` if it is not accepted.
    fn enter(&mut self, port: usize, handle: u64, now: Instant) -> bool {
        let bytes = &self.slab.get_mut(handle).bytes;
        let counts = &mut self.counts[port];
        counts.packets_in += 1;
        counts.bytes_in += bytes.len() as u64;
        let Ok(description) = packet::describe(bytes, bytes.len() as u32) else {
            counts.malformed += 1;
            return false;
        };
        let is_bridged = matches!(self.ports[port].end.way, Way::Bridged { .. });
        if !is_bridged && address::is_multicast(description.destination) {
            counts.multicast += 1;
            return false;
        }
        let Some(to) = self.destination(port, &description) else {
            self.refuse(port, handle);
            return false;
        };
        let (source, destination) = (self.ports[port].end.node, self.ports[to].end.node);
        let ends = Endpoints { source, destination };
        let held = self.slab.get_mut(handle);
        held.to = to;
        if let Some(record) = &mut self.record {
            record.packet(now, ends, &held.bytes);
        }
        let (simulation, bytes) = (&mut self.simulation, &held.bytes);
        let entered = self.entrance.inject(simulation, now, &description, bytes, handle, ends);
        if entered.is_err() {
            self.refuse(port, handle);
        }
        entered.is_ok()
    }

    /// The port at which a packet leaves: that of its destination's node, or of the gateway, or the
    /// other end of the bridge. Frames only go to bridged ends, and packets only to others.
    fn destination(&self, port: usize, description: &Description) -> Option<usize> {
        let port_of = |node: NodeId| self.port_of.get(node.0 as usize).copied().flatten();
        let is_bridged = |port: usize| matches!(self.ports[port].end.way, Way::Bridged { .. });
        let found = match self.ports[port].end.way {
            Way::Bridged { to } => port_of(to).filter(|to| is_bridged(*to)),
            Way::Addressed { gateway } => {
                let addressed = address::node(description.destination).and_then(port_of);
                addressed.or_else(|| gateway.and_then(port_of)).filter(|to| !is_bridged(*to))
            }
        };
        found.filter(|to| *to != port)
    }

    /// Returns an ICMP error for an unreachable destination.
    fn refuse(&mut self, port: usize, handle: u64) {
        self.counts[port].unreachable += 1;
        if matches!(self.ports[port].end.way, Way::Bridged { .. }) {
            return;
        }
        let bytes = &self.slab.get_mut(handle).bytes;
        if icmp::unreachable(self.ports[port].router, bytes, &mut self.answer) {
            // The error may be lost if the interface is full: the sender's timer then serves.
            let _ = self.ports[port].write(&Header::default(), &[], &self.answer);
        }
    }
}
