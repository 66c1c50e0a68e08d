//! Forwarding: frames arrive, and leave in the order of the scheduler at a rate.
//!
//! All memory for frames is allocated at the start. A frame is read into it, waits there and is
//! sent from there.

use super::bucket::Bucket;
use super::classes::Classes;
use super::pieces::on_the_wire;
use crate::status::Frames;
use fairwave_linux::Traffic;
use fairwave_queue::{Discipline, FlowKey, HostConfig, Item, Limit, Segment, Weight, wf2q_plus};
use fairwave_units::Instant;
use fairwave_wire::ethernet::Mac;
use std::io;
use std::net::IpAddr;

/// Maximum memory for frames in bytes, and maximum number of frames.
const MEMORY: usize = 64 << 20;
const FRAMES: usize = 4096;
/// Maximum number of frames that are received before frames are sent, and the reverse. With more,
/// one batch could take longer than the rate can catch up with.
const TAKEN: usize = 16;
const SENT: usize = 64;

/// Source and destination of frames, each with a virtio header.
pub(super) trait Wire {
    /// Receives the next frame, truncated to the buffer. Returns its length, or `None` if none
    /// waits.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sends a frame; `false` if it is lost.
    fn send(&self, frame: &[u8]) -> io::Result<bool>;
}

/// Options of a forwarder.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Total rate of all queues in bits per second, Ethernet headers included.
    pub(super) rate_bps: u64,
    /// Maximum number of frames that wait in each queue.
    pub(super) queue: u32,
    /// Maximum length of a frame with its virtio header, in bytes.
    pub(super) longest: usize,
    /// The kinds of traffic with their own queues.
    pub(super) traffic: Vec<Traffic>,
    /// EtherType of frames that bypass the stations' queues.
    pub(super) urgent: u16,
}

/// A frame that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: u32,
    /// Length with the virtio header in bytes.
    length: u32,
    /// Length on the wire in bytes.
    bytes: u32,
    queue: u32,
}

impl Item for Waiting {
    /// The whole frame: this is the load of the interface.
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn receiver(&self) -> u32 {
        self.queue
    }

    fn flow(&self) -> FlowKey {
        FlowKey::default()
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        None
    }

    fn clamp_window(&mut self, _: u16) {}

    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// The frames of an interface that pass through this program.
pub(super) struct Forwarder {
    memory: Vec<u8>,
    /// Length of a buffer in bytes: one more than the longest frame, so that a truncated frame is
    /// detected.
    place: usize,
    free: Vec<u32>,
    queue: Box<dyn Discipline<Waiting>>,
    classes: Classes,
    bucket: Bucket,
    pub(super) counts: Frames,
}

impl Forwarder {
    pub(super) fn new(settings: &Settings) -> Self {
        let place = settings.longest + 1;
        let frames = (MEMORY / place).clamp(1, FRAMES);
        // One buffer is reserved for the frame that is being read.
        let limit = Limit::Packets(frames as u32 - 1);
        let host_limit = Limit::Packets(settings.queue);
        let hosts = HostConfig { limit, host_limit, idle_serve: false };
        Self {
            // The system provides zeroed memory only when it is first written.
            memory: vec![0; frames * place],
            place,
            free: (0..frames as u32).rev().collect(),
            queue: Box::new(wf2q_plus(hosts)),
            classes: Classes::new(&settings.traffic, settings.urgent),
            bucket: Bucket::new(settings.rate_bps),
            counts: Frames::default(),
        }
    }

    /// Sets a station's weights, from 0 to 1: of the rest, and of each kind of traffic. Kinds
    /// without a weight have that of the rest. With weight 0 nothing is sent.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        station: Mac,
        address: Option<IpAddr>,
        weights: &[f64],
    ) {
        let first = weights.first().copied().unwrap_or(1.0);
        for (at, queue) in self.classes.serve(station, address).into_iter().enumerate() {
            let weight = weights.get(at).copied().unwrap_or(first);
            self.queue.set_weight(now, queue, scheduled(weight));
        }
    }

    /// Removes a station: its next frames go to the common queue. Frames that wait for it are still
    /// sent.
    pub(super) fn stop(&mut self, now: Instant, station: Mac) {
        for queue in self.classes.stop(station) {
            self.queue.set_weight(now, queue, Weight::ONE);
        }
    }

    /// Receives frames that wait. Returns whether none is left.
    pub(super) fn take(&mut self, now: Instant, wire: &impl Wire) -> io::Result<bool> {
        for _ in 0..TAKEN {
            let Some(place) = self.free.last().copied() else {
                unreachable!("the queue's limit leaves a place")
            };
            let begin = place as usize * self.place;
            let room = &mut self.memory[begin..begin + self.place];
            let Some(length) = wire.receive(room)? else { return Ok(true) };
            if length >= self.place {
                self.counts.too_long += 1;
                continue;
            }
            let Some((head, frame)) = self.memory[begin..begin + length].split_first_chunk() else {
                self.counts.lost += 1;
                continue;
            };
            let (queue, bytes) = (self.classes.of(frame), on_the_wire(*head, frame));
            self.free.pop();
            self.queue.push(now, Waiting { place, length: length as u32, bytes, queue });
            while let Some((dropped, _)) = self.queue.dropped() {
                self.free.push(dropped.place);
                self.counts.dropped += 1;
            }
        }
        Ok(false)
    }

    /// Sends the frames that are due. Returns the time of the next one, if frames wait only for the
    /// rate.
    pub(super) fn send(&mut self, now: Instant, wire: &impl Wire) -> io::Result<Option<Instant>> {
        for _ in 0..SENT {
            if !self.bucket.is_due(now) {
                break;
            }
            let Some(waiting) = self.queue.pop(now) else { return Ok(None) };
            let begin = waiting.place as usize * self.place;
            self.free.push(waiting.place);
            self.bucket.take(now, waiting.bytes);
            let frame = &self.memory[begin..begin + waiting.length as usize];
            match wire.send(frame)? {
                true => self.counts.sent += 1,
                false => self.counts.lost += 1,
            }
        }
        Ok((!self.queue.is_empty()).then(|| self.bucket.due()))
    }
}

/// Converts a weight to the scheduler's type.
fn scheduled(weight: f64) -> Weight {
    let weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 0.0 };
    Weight((weight * f64::from(Weight::ONE.0)).round() as u32)
}

#[cfg(test)]
mod tests;
