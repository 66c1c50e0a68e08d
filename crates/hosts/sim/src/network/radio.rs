//! Radios of nodes, and the cells they share.

use super::metered::Metered;
use super::packets::{PacketId, Packets};
use crate::packet::Packet;
use crate::world::{self, Role};
use fairwave_dot11::channel::{Channel, Mpdu, RadioId};
use fairwave_dot11::{AccessCategory, Aggregation, DATA_OVERHEAD_BYTES, Mode, Phy, QOS_BYTES};
use fairwave_queue::{Limit, Spec};
use fairwave_trace::{DropCause, NodeId, QueueId};
use fairwave_units::{Duration, Instant, Stream};

/// A cell: a channel, and which node each of its radios belongs to.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) channel: Channel<PacketId>,
    /// The packets in frames of the channel.
    pub(super) packets: Packets,
    pub(crate) nodes: Vec<NodeId>,
}

impl Cell {
    /// Takes a radio off the channel and returns the packets of its frames, as
    /// [`Channel::leave`] has it.
    pub(super) fn leave(&mut self, radio: RadioId) -> Option<Vec<Packet>> {
        let payloads = self.channel.leave(radio)?;
        Some(payloads.into_iter().map(|payload| *self.packets.get(payload)).collect())
    }
}

/// A node's radio interface: its place on the channel and its transmit queue.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) cell: usize,
    pub(crate) radio: RadioId,
    /// Whether it is on its channel: a roaming station may be between two.
    pub(crate) is_present: bool,
    pub(crate) queue: Metered,
    /// The queue's number: radios come first, in node order.
    pub(crate) queue_id: QueueId,
    pub(crate) mode: Mode,
    /// Whether the queue shares out airtime.
    counts_airtime: bool,
    /// Bytes that a frame adds to an IP packet.
    overhead: u32,
    pub(crate) is_station: bool,
    /// Limits of aggregation.
    aggregation: Option<Aggregation>,
    /// Packets that its queue holds, if it counts them.
    limit: Option<u32>,
    /// Node of the last packet's receiver, for each of the queues.
    pub(crate) serving: [u32; 4],
}

/// Packets that saturating flows keep in their radio's queue where nothing is aggregated.
const SATURATION_DEPTH: u32 = 2;
/// The same where all is aggregated and the queue has no limit in packets.
const MAX_SATURATION: u32 = 1024;

impl Port {
    /// The MAC frame that carries a packet of `wire_len` bytes to `to`.
    pub(super) fn mpdu(
        &self,
        to: Option<RadioId>,
        category: AccessCategory,
        wire_len: u32,
        payload: PacketId,
    ) -> Mpdu<PacketId> {
        Mpdu { to, bytes: wire_len + self.overhead, mode: self.mode, category, payload }
    }

    /// Returns the number of packets that this number of saturating flows keep in the queue: enough
    /// for a whole PPDU of each, if there is room. The shortest of their packets has `ip_bytes`.
    pub(crate) fn saturation(&self, flows: u32, ip_bytes: u32) -> u32 {
        let in_ppdu = |limits: Aggregation| {
            limits.mpdus.saturating_mul(limits.msdus_in_mpdu(ip_bytes + self.overhead))
        };
        let aggregated = self.aggregation.map_or(1, in_ppdu);
        if aggregated <= 1 {
            return SATURATION_DEPTH;
        }
        aggregated.saturating_mul(flows).min(self.limit.unwrap_or(MAX_SATURATION))
    }

    /// The port of a radio in `cell`.
    pub(crate) fn new(
        spec: &world::Radio,
        cell: &world::Cell,
        radio: RadioId,
        queue_id: QueueId,
        random: Stream,
    ) -> Self {
        let categories = if cell.edca.is_some() { AccessCategory::ALL.len() } else { 1 };
        let qos = if cell.edca.is_some() { QOS_BYTES } else { 0 };
        Self {
            cell: spec.cell,
            radio,
            queue: Metered::with_categories(&spec.queue, categories, random),
            queue_id,
            mode: spec.mode,
            overhead: DATA_OVERHEAD_BYTES + qos,
            is_station: spec.role != Role::AccessPoint,
            aggregation: cell.aggregation,
            limit: limit(&spec.queue),
            serving: [0; 4],
            is_present: true,
            counts_airtime: spec.queue.counts_airtime(),
        }
    }

    /// Another queue takes the place of this one, as [`Metered::replace`] has it.
    pub(crate) fn replace_queue(
        &mut self,
        spec: &Spec,
        receivers: u32,
        now: Instant,
    ) -> Vec<(Packet, DropCause)> {
        self.limit = limit(spec);
        self.counts_airtime = spec.counts_airtime();
        self.queue.replace(spec, receivers, now)
    }

    /// Whether the queue shares out airtime.
    pub(crate) const fn counts_airtime(&self) -> bool {
        self.counts_airtime
    }

    /// Returns the time of a frame with a packet of this number of bytes when this radio sends it
    /// once.
    pub(crate) fn tx_time(&self, phy: Phy, ip_bytes: u32) -> Duration {
        phy.tx_time(self.mode, ip_bytes + self.overhead)
    }
}

/// Packets that a queue holds, if it counts them.
fn limit(queue: &Spec) -> Option<u32> {
    match queue {
        Spec::DropTail { limit: Limit::Packets(packets) } => Some(*packets),
        _ => None,
    }
}
