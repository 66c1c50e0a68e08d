//! Entry of packets into the world, both real ones and those of a record.

use crate::address;
use crate::packet::{Description, Endpoints};
use fairwave_sim::world::{Flow, World};
use fairwave_sim::{Error, Simulation};
use fairwave_trace::NodeId;
use fairwave_units::Instant;
use fairwave_wire::datagram::Contents;
use std::collections::BTreeSet;

/// Numbers packets, finds their paths, and passes their bytes to captures.
#[derive(Clone, Debug)]
pub(crate) struct Entrance {
    count: u16,
    /// Each node with paths, and the nodes that they pass.
    paths: BTreeSet<(NodeId, NodeId)>,
}

impl Entrance {
    /// The entrance of a world, whose flows have the paths.
    pub(crate) fn new(world: &World) -> Self {
        let of_flow = |flow: &Flow| {
            let source = flow.source;
            flow.traffic.vias().into_iter().map(move |via| (source, via))
        };
        Self { count: 0, paths: world.flows.iter().flat_map(of_flow).collect() }
    }

    /// The node that a packet passes first: by the path of its source, or else that of its
    /// destination. A packet of a bridged network may have an address of the same form.
    fn via(&self, description: &Description, ends: Endpoints) -> Option<NodeId> {
        let addresses =
            [(description.source, ends.source), (description.destination, ends.destination)];
        let via = |(address, node)| {
            let path = address::path(address)?;
            (path.0 == node && self.paths.contains(&path)).then_some(path.1)
        };
        addresses.into_iter().find_map(via)
    }

    /// Lets a packet enter at `now`; `bytes` is its recorded part.
    ///
    /// # Errors
    /// As [`Simulation::inject`].
    pub(crate) fn inject(
        &mut self,
        simulation: &mut Simulation<'_>,
        now: Instant,
        description: &Description,
        bytes: &[u8],
        handle: u64,
        ends: Endpoints,
    ) -> Result<(), Error> {
        // The IP identification does not suffice: many kernels set it in few packets, and IPv6 has
        // none. Captures need a number that distinguishes packets.
        self.count = self.count.wrapping_add(1);
        let packet = description.enter(handle, ends, self.via(description, ends), self.count);
        if simulation.shows_packets() {
            simulation.note_contents(&packet, Contents::Packet(bytes.to_vec()));
        }
        simulation.inject(&packet, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet;
    use core::net::Ipv4Addr;
    use fairwave_scenario::Scenario;
    use fairwave_wire::datagram::{Datagram, Transport};

    const PATHS: &str = r#"duration = "1 s"
node = [
    { name = "host", kind = "host" },
    { name = "phone", kind = "host", count = 2 },
    { name = "server", kind = "host" },
]
link = [{ ends = ["host", "phone*"] }, { ends = ["phone*", "server"] }]
flow = [{ name = "both", from = "host", to = "server", transport = "shake",
          paths = [{ via = "phone2" }] }]
"#;

    #[test]
    fn only_addresses_of_the_flows_paths_lead_through_a_node() {
        let world = Scenario::parse("paths.toml", PATHS).expect("a scenario").to_world(1);
        let entrance = Entrance::new(&world);
        let [host, phone1, phone2, server] = [0, 1, 2, 3].map(NodeId);
        let via = |source: Ipv4Addr, destination: Ipv4Addr, ends: [NodeId; 2]| {
            let transport = Transport::Udp { source_port: 7, destination_port: 8 };
            let (id, ttl, tos, payload_len) = (0, 64, 0, 9);
            let datagram = Datagram { source, destination, id, ttl, tos, transport, payload_len };
            let mut bytes = Vec::new();
            datagram.write(&mut bytes).expect("it fits");
            let description = packet::describe(&bytes, bytes.len() as u32).expect("a packet");
            entrance.via(&description, Endpoints { source: ends[0], destination: ends[1] })
        };
        let of_path = address::on_path(host, phone2).expect("it has one");
        let of_server = address::v4(server);
        assert_eq!(via(of_path, of_server, [host, server]), Some(phone2));
        assert_eq!(via(of_server, of_path, [server, host]), Some(phone2));
        // Addresses of a network behind a bridge.
        let other = address::on_path(host, phone1).expect("it has one");
        assert_eq!(via(other, of_server, [host, server]), None);
        assert_eq!(via(of_path, of_server, [phone1, server]), None);
    }
}
