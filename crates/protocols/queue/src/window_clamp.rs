//! Advertised windows lowered to a fair share of the buffer (Pilosof, Ramjee, Raz, Shavitt,
//! Sinha, INFOCOM 2003).

use crate::flows::Flows;
use crate::{Discipline, DropTail, FlowKey, Goes, Item, Limit, Segment};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Duration, Instant};

/// Connections that are remembered.
const MAX_CONNECTIONS: usize = 4096;
/// Largest segment of a connection that does not say (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// A drop-tail queue of B packets that lowers the window in every TCP segment through its node,
/// in both directions, to min(w, floor(B/n)) segments for n connections, so that all of them
/// together cannot fill it.
///
/// A connection counts from its first packet until it was silent for `idle`, and again when it
/// continues. Where n exceeds B, everybody gets one segment. The window's scale is known from the
/// SYNs (RFC 7323 section 2.2); where they were not seen, or were those of the connection silent
/// for longest of 4096, the window is left alone.
#[derive(Clone, Debug)]
pub struct WindowClamp<T> {
    queue: DropTail<T>,
    limit: Limit,
    idle: Duration,
    connections: Flows<Connection>,
}

/// Window scales in the SYNs of both directions; the first is that of the lesser key.
#[derive(Clone, Copy, Debug, Default)]
struct Connection([Option<Syn>; 2]);

#[derive(Clone, Copy, Debug)]
struct Syn {
    mss: u16,
    scale: Option<u8>,
}

impl<T: Item> WindowClamp<T> {
    /// An empty queue.
    pub const fn new(limit: Limit, idle: Duration) -> Self {
        let connections = Flows::new(MAX_CONNECTIONS);
        Self { queue: DropTail::new(limit), limit, idle, connections }
    }

    /// Notes the packet, and lowers its window.
    fn look(&mut self, now: Instant, item: &mut T) {
        let Some(segment) = item.tcp() else { return };
        let (key, side) = connection(item.flow());
        let since = now.since(Instant::ZERO).saturating_sub(self.idle);
        self.connections.mark_silent(Instant::ZERO + since);
        let connection = self.connections.seen(key, now);
        if segment.header.flags.syn {
            connection.0[side] = Some(Syn::of(segment));
            return;
        }
        let both = *connection;
        if !segment.header.flags.ack {
            return;
        }
        let count = self.connections.active() as u64;
        if let Some(max_window) = both.max_window(side, self.limit, count) {
            item.clamp_window(max_window);
        }
    }
}

/// A connection's key, the same for both directions, and which of them this is.
fn connection(flow: FlowKey) -> (FlowKey, usize) {
    let other = flow.reversed();
    if flow <= other { (flow, 0) } else { (other, 1) }
}

impl Syn {
    fn of(segment: Segment<'_>) -> Self {
        let options = &segment.header.options;
        Self { mss: options.mss.unwrap_or(DEFAULT_MSS), scale: options.window_scale }
    }
}

impl Connection {
    /// Returns the maximum window field from `side`, if its scale is known.
    fn max_window(self, side: usize, limit: Limit, connections: u64) -> Option<u16> {
        let (own, other) = (self.0[side]?, self.0[1 - side]?);
        // The sender of data keeps to what the receiver announced, and to its own interface.
        let mss = u64::from(own.mss.min(other.mss));
        let share = match limit {
            Limit::Packets(packets) => u64::from(packets) / connections * mss,
            Limit::Bytes(bytes) => bytes.0 / connections,
        };
        let scale = own.scale.filter(|_| other.scale.is_some()).unwrap_or(0);
        let field = share.max(mss) >> scale;
        Some(u16::try_from(field.max(1)).unwrap_or(u16::MAX))
    }
}

impl<T: Item + Debug + Send> Discipline<T> for WindowClamp<T> {
    fn push(&mut self, now: Instant, mut item: T) {
        self.look(now, &mut item);
        self.queue.push(now, item);
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        self.queue.pop(now)
    }

    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        self.queue.pop_to(now, receiver)
    }

    fn withdraw(&mut self, now: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        self.queue.withdraw(now, receiver, goes)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.queue.peek_to(receiver)
    }

    fn pass(&mut self, now: Instant, mut item: T) -> Option<T> {
        self.look(now, &mut item);
        Some(item)
    }

    fn beside(&mut self, now: Instant, item: &mut T) {
        self.look(now, item);
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.queue.dropped()
    }

    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn bytes(&self) -> Bytes {
        self.queue.bytes()
    }
}
