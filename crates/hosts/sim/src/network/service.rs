//! Agreements of access points with their stations, and the queues that hold packets back for them.

use super::radio::Port;
use crate::error::Error;
use crate::world::{Radio, Role, Service, World};
use fairwave_trace::NodeId;

/// Stations with a service of their own, and the access points that they may have.
fn agreements(world: &World) -> impl Iterator<Item = (NodeId, &Radio, Vec<NodeId>)> {
    let nodes = world.nodes.iter().zip((0..).map(NodeId));
    nodes.filter_map(|(node, id)| {
        let radio = node.radio.as_ref().filter(|radio| radio.service != Service::default())?;
        let mut aps = match radio.role {
            Role::Station { ap } => vec![ap],
            Role::AccessPoint => Vec::new(),
        };
        let others = radio.roaming.iter().flat_map(|roaming| roaming.candidates.iter());
        aps.extend(others.filter(|other| !aps.contains(other)).copied().collect::<Vec<_>>());
        Some((id, radio, aps))
    })
}

/// Refuses agreements that no queue keeps to.
pub(crate) fn check(world: &World) -> Result<(), Error> {
    for (id, radio, aps) in agreements(world) {
        let name = &world.nodes[id.0 as usize].name;
        let invalid = |why: &str| Err(Error::Invalid(format!("service of {name}: {why}")));
        if radio.role == Role::AccessPoint {
            return invalid("access points serve, and are not served");
        }
        let service = radio.service;
        for ap in aps {
            let Some(ap) = &world.nodes[ap.0 as usize].radio else { continue };
            if !ap.queue.follows_weights() {
                return invalid("its access point's queue knows no weights");
            }
            if service.has_curves() && !ap.queue.has_service_curves() {
                return invalid("its access point's queue knows no service curves");
            }
        }
        let rates = [service.realtime, service.share, service.upper];
        if rates.into_iter().flatten().any(|curve| curve.then.0 == 0) {
            return invalid("a curve ends with a rate of zero");
        }
    }
    Ok(())
}

/// Sets the agreements of the queue of one access point anew.
pub(super) fn renew_agreements(world: &World, ap: NodeId, port: &mut Port) {
    for (station, radio, aps) in agreements(world) {
        if aps.contains(&ap) {
            port.queue.set_service(station.0, &radio.service);
        }
    }
}

/// Sets the agreements of queues.
pub(super) fn agree(world: &World, ports: &mut [Option<Port>]) {
    for (station, radio, aps) in agreements(world) {
        for ap in aps {
            let Some(port) = ports[ap.0 as usize].as_mut() else { continue };
            port.queue.set_service(station.0, &radio.service);
        }
    }
}
