//! Packets at tapped nodes as capture files, as tcpdump would have written them there.
//!
//! Ethernet frames without padding and FCS, with the addresses that they have at that place. A
//! packet is seen when the node hands it to an interface, before that interface's queue, and when
//! it has arrived in full.

use super::Error;
use super::capture::{CaptureError, mac};
use super::contents::PacketContents;
use super::disk::File;
use super::file::Pending;
use super::sides::Sides;
use fairwave_sim::world::World;
use fairwave_trace::{NodeId, PacketSample};
use fairwave_units::Instant;
use fairwave_wire::datagram::Contents;
use fairwave_wire::ethernet::{EtherType, HEADER_LEN, Header};
use fairwave_wire::pcapng::{Interface, InterfaceId, LinkType, Section, Writer};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The file in a run directory that has the packets at a tapped node.
pub fn tap_file(node: &str) -> String {
    format!("capture-{node}.pcapng")
}

/// Whether `name` is that of such a file.
pub(super) fn is_tap_file(name: &str) -> bool {
    name.strip_prefix("capture-").is_some_and(|rest| rest.ends_with(".pcapng"))
}

/// The captures of all tapped nodes.
pub(super) struct Taps {
    sides: Sides,
    taps: BTreeMap<NodeId, Tap>,
    bytes: Vec<u8>,
}

/// One node's capture.
struct Tap {
    pending: Pending,
    writer: Writer<BufWriter<File>>,
    interface: InterfaceId,
}

impl Taps {
    /// Opens a file in `directory` for each of `nodes`; of each packet `snap_len` bytes are kept.
    pub(super) fn create(
        world: &World,
        directory: &Path,
        nodes: &[NodeId],
        snap_len: Option<u32>,
    ) -> Result<Self, Error> {
        let open = |node: &NodeId| {
            let name = &world.nodes[node.0 as usize].name;
            Ok((*node, Tap::create(name, directory, snap_len)?))
        };
        let taps = nodes.iter().map(open).collect::<Result<_, Error>>()?;
        Ok(Self { sides: Sides::of(world), taps, bytes: Vec::new() })
    }

    pub(super) fn holds(&self, node: NodeId) -> bool {
        self.taps.contains_key(&node)
    }

    pub(super) fn push(
        &mut self,
        at: Instant,
        packet: &PacketSample,
        contents: &PacketContents,
    ) -> Result<(), Error> {
        let Self { sides, taps, bytes } = self;
        let Some(tap) = taps.get_mut(&packet.node) else { return Ok(()) };
        bytes.clear();
        let (source, destination) = packet.ends;
        let [source, destination] =
            [source, destination].map(|end| mac(sides.seen_from(packet.node, end)));
        let contents = contents.of(&packet.datagram);
        let ether_type = contents.map_or(EtherType::IPV4, Contents::ether_type);
        Header { destination, source, ether_type }.write(bytes);
        debug_assert_eq!(bytes.len(), HEADER_LEN);
        let written = packet.datagram.write_with(contents, bytes).map_err(CaptureError::from);
        written
            .and_then(|()| Ok(tap.writer.write_packet(tap.interface, at, bytes, None)?))
            .map_err(Error::capture(tap.pending.path()))
    }

    /// Completes the files.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.taps.into_values().try_for_each(Tap::finish)
    }
}

impl Tap {
    fn create(node: &str, directory: &Path, snap_len: Option<u32>) -> Result<Self, Error> {
        let (pending, file) = Pending::create(directory.join(tap_file(node)))?;
        let application = Some(format!("fairwave {}", env!("CARGO_PKG_VERSION")));
        let section = Section { application, ..Section::default() };
        let name = Some(node.to_owned());
        let interface = Interface { link_type: LinkType::Ethernet, name, snap_len };
        let begin = || {
            let mut writer = Writer::new(file, &section)?;
            let interface = writer.add_interface(&interface)?;
            Ok::<_, CaptureError>((writer, interface))
        };
        let (writer, interface) = begin().map_err(Error::capture(pending.path()))?;
        Ok(Self { pending, writer, interface })
    }

    fn finish(self) -> Result<(), Error> {
        let mut file = self.writer.into_inner();
        file.flush().map_err(Error::io(self.pending.path()))?;
        drop(file);
        self.pending.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_scenario::plan::Plan;
    use fairwave_wire::datagram::{Datagram, Transport};
    use fairwave_wire::pcapng::Reader;
    use std::net::Ipv4Addr;

    /// A host's packet of any protocol is in the capture as it is, with its own EtherType.
    #[test]
    fn a_real_packet_is_what_a_tap_saw() {
        let text = r#"
            duration = "10 s"
            node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
            link = [{ ends = ["a", "b"] }]
            flow = [{ name = "f", from = "a", to = "b" }]
        "#;
        let plan = Plan::parse("test", text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let world = plan.points[0].scenario.to_world(1);
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path();
        let ends = (NodeId(0), NodeId(1));
        let mut taps = Taps::create(&world, directory, &[ends.0], None).expect("a file");
        let datagram = Datagram {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            id: 9,
            ttl: 64,
            tos: 0,
            transport: Transport::Udp { source_port: 58, destination_port: 0 },
            payload_len: 20,
        };
        let mut packet = vec![0x60, 0, 0, 0, 0, 8, 58, 64];
        packet.resize(48, 0x77);
        let mut contents = PacketContents::default();
        contents.note(&datagram, Contents::Packet(packet.clone()));
        let sample = PacketSample { node: ends.0, ends, datagram };
        taps.push(Instant::ZERO, &sample, &contents).expect("it is written");
        taps.finish().expect("it is complete");
        let bytes = std::fs::read(directory.join(tap_file("a"))).expect("it is there");
        let seen = Reader::new(&bytes).expect("pcapng").next().expect("a packet").expect("whole");
        assert_eq!(seen.data[12..14], [0x86, 0xdd]);
        assert_eq!(seen.data[14..], packet);
    }
}
