//! Radios of nodes, and the cells they share.

use crate::metered::Metered;
use crate::packet::Packet;
use crate::world::{self, Role, World};
use fairwave_dot11::channel::{Channel, Mpdu, RadioConfig, RadioId};
use fairwave_dot11::{DATA_OVERHEAD_BYTES, Mode, Phy};
use fairwave_trace::{NodeId, QueueId};
use fairwave_units::Duration;

/// A cell: a channel, and which node each of its radios belongs to.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) channel: Channel<Packet>,
    pub(crate) nodes: Vec<NodeId>,
}

/// A node's radio interface: its place on the channel and its transmit queue.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) cell: usize,
    pub(crate) radio: RadioId,
    pub(crate) queue: Metered,
    /// The queue's number: radios come first, in node order.
    pub(crate) queue_id: QueueId,
    mode: Mode,
    /// The radio's time on the air when a frame was last charged to its receiver; `None` where
    /// the queue does not care.
    charged: Option<Duration>,
}

impl Port {
    /// The MAC frame that carries `packet` to `to`.
    pub(crate) fn mpdu(&self, to: Option<RadioId>, packet: Packet) -> Mpdu<Packet> {
        let bytes = packet.datagram.wire_len() + DATA_OVERHEAD_BYTES;
        Mpdu { to, bytes, mode: self.mode, payload: packet }
    }

    /// Whether the queue shares out airtime.
    pub(crate) const fn counts_airtime(&self) -> bool {
        self.charged.is_some()
    }

    /// A frame to `receiver` is done, its retries included, and the radio has been on the air for
    /// `airtime` in all. A beacon sent meanwhile is charged with it.
    pub(crate) fn charge_sent(&mut self, receiver: NodeId, airtime: Duration) {
        if let Some(charged) = &mut self.charged {
            let span = airtime.saturating_sub(*charged);
            *charged = airtime;
            self.queue.charge(receiver.0, span);
        }
    }

    /// The time that a frame with `packet` takes when this radio sends it once.
    pub(crate) fn tx_time(&self, phy: Phy, packet: &Packet) -> Duration {
        phy.tx_time(self.mode, packet.datagram.wire_len() + DATA_OVERHEAD_BYTES)
    }
}

/// Builds the cells, and each node's port where it has a radio.
pub(crate) fn build(world: &World, report: bool) -> (Vec<Cell>, Vec<Option<Port>>) {
    let mut members: Vec<(Vec<NodeId>, Vec<RadioConfig>)> =
        vec![Default::default(); world.cells.len()];
    let mut ports = Vec::new();
    let mut queues = (0..).map(QueueId);
    for (i, node) in world.nodes.iter().enumerate() {
        let port = node.radio.as_ref().map(|radio| {
            let (nodes, radios) = &mut members[radio.cell];
            let id = RadioId(nodes.len() as u32);
            nodes.push(NodeId(i as u32));
            radios.push(radio_config(&node.name, radio));
            let queue = Metered::new(&radio.queue);
            let queue_id = queues.next().expect("numbers do not end");
            let charged = radio.queue.counts_airtime().then_some(Duration::ZERO);
            Port { cell: radio.cell, radio: id, queue, queue_id, mode: radio.mode, charged }
        });
        ports.push(port);
    }
    let cells = world.cells.iter().zip(members).enumerate().map(|(i, (cell, (nodes, radios)))| {
        let mut channel = Channel::new(cell.clone(), &radios, world.seed, &i.to_string());
        channel.report_frames(report);
        Cell { channel, nodes }
    });
    (cells.collect(), ports)
}

fn radio_config(name: &str, radio: &world::Radio) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: radio.position,
        power: radio.power,
        is_access_point: radio.role == Role::AccessPoint,
        path: radio.path.clone(),
        snr_trace: radio.snr_trace.clone(),
        roams: false,
    }
}
