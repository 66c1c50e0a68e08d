//! The radios of a world: their channels, and the seats of stations that roam.

use super::packets::{PacketId, Packets};
use super::radio::{Cell, Port};
use super::roaming::{Roamer, Seat};
use crate::world::{self, Role, World};
use fairwave_dot11::channel::{AirtimeLimits, Channel, RadioConfig, RadioId};
use fairwave_queue::{QueueLimits, Spec};
use fairwave_trace::{NodeId, QueueId};

/// Builds the cells, and each node's port where it has a radio.
pub(super) fn build(world: &World, report: bool) -> (Vec<Cell>, Vec<Option<Port>>) {
    let mut members: Vec<Members> = vec![Default::default(); world.cells.len()];
    let mut ports = Vec::new();
    let mut queues = (0..).map(QueueId);
    for (i, node) in world.nodes.iter().enumerate() {
        let port = node.radio.as_ref().map(|radio| {
            let (nodes, radios) = &mut members[radio.cell];
            let id = RadioId(nodes.len() as u32);
            nodes.push(NodeId(i as u32));
            radios.push(radio_config(&node.name, radio));
            let queue_id = queues.next().expect("numbers do not end");
            let random = world.seed.stream(&format!("queue/{}", node.name));
            Port::new(radio, &world.cells[radio.cell], id, queue_id, random)
        });
        ports.push(port);
    }
    add_seats(world, &mut members);
    let cells = world.cells.iter().zip(members).enumerate().map(|(i, (cell, (nodes, radios)))| {
        let mut channel = Channel::new(cell.clone(), &radios, world.seed, &i.to_string());
        channel.report_frames(report);
        limit_airtime(world, &nodes, &mut channel);
        Cell { channel, packets: Packets::default(), nodes }
    });
    (cells.collect(), ports)
}

/// Informs the radios whose queues limit the airtime below them.
fn limit_airtime(world: &World, nodes: &[NodeId], channel: &mut Channel<PacketId>) {
    for (node, radio) in nodes.iter().zip((0..).map(RadioId)) {
        if let Some(spec) = &world.nodes[node.0 as usize].radio {
            channel.limit_airtime(radio, airtime_limits(&spec.queue));
            channel.count_airtime(radio, spec.queue.counts_airtime());
        }
    }
}

/// The limits of a radio below this queue.
pub(super) fn airtime_limits(queue: &Spec) -> Option<AirtimeLimits> {
    let QueueLimits { low, high, threshold } = queue.airtime_limits()?;
    Some(AirtimeLimits { low, high, threshold })
}

/// The nodes on a channel, and their radios.
type Members = (Vec<NodeId>, Vec<RadioConfig>);

/// Gives stations that roam a radio on every other channel that they may use.
fn add_seats(world: &World, members: &mut [Members]) {
    for (i, node) in world.nodes.iter().enumerate() {
        let Some(radio) = &node.radio else { continue };
        for ap in candidates(radio) {
            let (nodes, radios) = &mut members[cell_of(world, ap)];
            if !nodes.contains(&NodeId(i as u32)) {
                nodes.push(NodeId(i as u32));
                radios.push(radio_config(&node.name, radio));
            }
        }
    }
}

fn candidates(radio: &world::Radio) -> impl Iterator<Item = NodeId> + '_ {
    radio.roaming.iter().flat_map(|roaming| roaming.candidates.iter().copied())
}

fn cell_of(world: &World, ap: NodeId) -> usize {
    world.nodes[ap.0 as usize].radio.as_ref().map_or(0, |radio| radio.cell)
}

/// The stations that roam, each on the channel of its first access point and absent elsewhere.
pub(super) fn seat<'w>(
    world: &'w World,
    cells: &mut [Cell],
    ports: &mut [Option<Port>],
) -> Vec<Roamer<'w>> {
    let mut roamers = Vec::new();
    for (i, node) in world.nodes.iter().enumerate() {
        let Some((radio, roaming)) =
            node.radio.as_ref().and_then(|r| Some((r, r.roaming.as_ref()?)))
        else {
            continue;
        };
        let (id, Role::Station { ap }) = (NodeId(i as u32), radio.role) else { continue };
        let seats: Vec<Seat> = candidates(radio).map(|ap| seat_at(world, cells, id, ap)).collect();
        let first = seats.iter().position(|seat| seat.ap == ap).unwrap_or(0);
        let mut roamer = Roamer::new(id, seats, first, roaming);
        if roaming.begins_with_strongest {
            roamer.begin_with_strongest(cells);
        }
        let taken = roamer.here();
        for seat in roamer.seats().iter().filter(|seat| seat.cell != taken.cell) {
            cells[seat.cell].channel.leave(seat.radio);
        }
        if let Some(port) = &mut ports[i] {
            (port.cell, port.radio) = (taken.cell, taken.radio);
        }
        roamers.push(roamer);
    }
    roamers
}

fn seat_at(world: &World, cells: &[Cell], station: NodeId, ap: NodeId) -> Seat {
    let cell = cell_of(world, ap);
    let place = cells[cell].nodes.iter().position(|node| *node == station);
    let radio = RadioId(place.expect("it has a radio there: `add_seats`") as u32);
    Seat { ap, cell, radio }
}

fn radio_config(name: &str, radio: &world::Radio) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: radio.position,
        power: radio.power,
        is_access_point: radio.role == Role::AccessPoint,
        path: radio.path.clone(),
        snr_trace: radio.snr_trace.clone(),
        roams: radio.roaming.is_some(),
        rates: radio.rates.clone(),
        capabilities: radio.capabilities,
    }
}
