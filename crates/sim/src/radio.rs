//! Radios of nodes, and the cells they share.

use crate::metered::Metered;
use crate::packet::Packet;
use crate::world::{self, Role, World};
use fairwave_dot11::DATA_OVERHEAD_BYTES;
use fairwave_dot11::channel::{Channel, Config, Mpdu, RadioConfig, RadioId};
use fairwave_trace::{NodeId, QueueId};
use fairwave_units::BitRate;

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
    data_rate: BitRate,
}

impl Port {
    /// The MAC frame that carries `packet` to `to`.
    pub(crate) fn mpdu(&self, to: Option<RadioId>, packet: Packet) -> Mpdu<Packet> {
        let bytes = packet.datagram.wire_len() + DATA_OVERHEAD_BYTES;
        Mpdu { to, bytes, rate: self.data_rate, payload: packet }
    }
}

/// Builds the cells, and each node's port where it has a radio.
pub(crate) fn build(world: &World, observe: bool) -> (Vec<Cell>, Vec<Option<Port>>) {
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
            let queue = Metered::new(radio.queue);
            let queue_id = queues.next().expect("numbers do not end");
            Port { cell: radio.cell, radio: id, queue, queue_id, data_rate: radio.data_rate }
        });
        ports.push(port);
    }
    let cells = world.cells.iter().zip(members).enumerate().map(|(i, (cell, (nodes, radios)))| {
        let config = channel_config(cell, observe);
        Cell { channel: Channel::new(config, &radios, world.seed, &i.to_string()), nodes }
    });
    (cells.collect(), ports)
}

fn radio_config(name: &str, radio: &world::Radio) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: radio.position,
        power: radio.power,
        is_access_point: radio.role == Role::AccessPoint,
    }
}

fn channel_config(cell: &world::Cell, observe: bool) -> Config {
    Config {
        phy: cell.phy,
        frequency: cell.frequency,
        path_loss_exponent: cell.path_loss_exponent,
        noise_figure: cell.noise_figure,
        carrier_sense: cell.carrier_sense,
        preamble_detection: cell.preamble_detection,
        capture: cell.capture,
        errors: cell.errors,
        rts_threshold: cell.rts_threshold,
        short_retry_limit: cell.short_retry_limit,
        long_retry_limit: cell.long_retry_limit,
        beacon_interval: cell.beacon_interval,
        observe,
    }
}
