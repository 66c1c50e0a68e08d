//! Attribution of the kernel's connections to flows.

use super::wanted::{NoWindows, Wanted};
use crate::address;
use crate::emulation::flows::spec_of;
use crate::traffic::Load;
use fairwave_bpf::Event;
use fairwave_trace::{FlowId, NodeId};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Connections of flows, identified at their sources.
#[derive(Debug)]
pub(super) struct Connections(Vec<Connection>);

/// The connection of a flow, or its connections over several paths.
#[derive(Debug)]
struct Connection {
    flow: Arc<str>,
    /// Inode of the network namespace of its source.
    namespace: u32,
    /// Address to which its source connects: the sink, or a proxy.
    to: SocketAddr,
    /// Addresses of the source on several paths, with the nodes that they pass.
    paths: Vec<(IpAddr, Arc<str>)>,
}

impl Connections {
    /// The connections of those flows that have one.
    pub(super) fn of(wanted: &Wanted<'_>) -> Result<Self, NoWindows> {
        let all = wanted.ids.iter().filter_map(|id| connection(wanted, *id).transpose());
        Ok(Self(all.collect::<Result<_, _>>()?))
    }

    /// The filter for the kernel's program: the namespace if all flows share one, and the ports if
    /// there are not too many.
    pub(super) fn filter(&self) -> fairwave_bpf::Wanted {
        let Self(all) = self;
        let first = all.first().map(|connection| connection.namespace);
        let is_only = all.iter().all(|connection| Some(connection.namespace) == first);
        let mut ports: Vec<u16> = all.iter().map(|connection| connection.to.port()).collect();
        ports.sort_unstable();
        ports.dedup();
        if ports.len() > fairwave_bpf::Wanted::MAX_PORTS {
            ports.clear();
        }
        fairwave_bpf::Wanted { namespace: first.filter(|_| is_only), ports }
    }

    /// The flow of an event at its source, and its path if the flow has several.
    pub(super) fn find(&self, event: &Event) -> Option<(Arc<str>, Option<Arc<str>>)> {
        let is_it =
            |known: &&Connection| known.namespace == event.namespace && known.to == event.remote;
        let known = self.0.iter().find(is_it)?;
        let path = known.paths.iter().find(|(address, _)| *address == event.local.ip());
        Some((Arc::clone(&known.flow), path.map(|(_, name)| Arc::clone(name))))
    }
}

fn connection(wanted: &Wanted<'_>, id: FlowId) -> Result<Option<Connection>, NoWindows> {
    let Wanted { world, namespaces, real, choices, .. } = wanted;
    // Flows that cannot run on sockets were refused earlier.
    let Ok(spec) = spec_of(world, id, choices) else { return Ok(None) };
    let Load::Connection(connection) = &spec.load else { return Ok(None) };
    let Some(place) = real.iter().position(|node| *node == spec.source.node) else {
        return Ok(None);
    };
    let to = connection.through.as_ref().map_or(spec.sink, |through| through.place);
    let vias = world.flows[id.0 as usize].traffic.vias();
    let vias = vias.iter().filter(|_| connection.is_multipath);
    let path = |via: &NodeId| {
        let name = world.nodes[via.0 as usize].name.as_str();
        Some((address::on_path(spec.source.node, *via)?.into(), name.into()))
    };
    let paths = vias.filter_map(path).collect();
    let namespace = namespaces.network(place)?;
    Ok(Some(Connection { flow: spec.name.into(), namespace, to: to.address, paths }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_bpf::Phase;
    use fairwave_units::Instant;

    fn connection(flow: &str, namespace: u32, to: &str) -> Connection {
        let paths = vec![("10.128.0.7".parse().unwrap(), "phone".into())];
        Connection { flow: flow.into(), namespace, to: to.parse().unwrap(), paths }
    }

    fn event(namespace: u32, local: &str, remote: &str) -> Event {
        Event {
            at: Instant::ZERO,
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
            namespace,
            mss: 1448,
            cwnd: 10,
            ssthresh: None,
            send_window: 0,
            srtt: None,
            unacknowledged: 0,
            in_flight: 0,
            acked: 0,
            retransmitted: 0,
            lost: 0,
            pacing_bps: None,
            phase: Phase::Open,
        }
    }

    #[test]
    fn an_event_belongs_to_the_flow_whose_source_saw_it() {
        let two = vec![connection("a", 1, "10.0.0.9:5001"), connection("b", 2, "10.0.0.9:5002")];
        let all = Connections(two);
        let flow = |event: &Event| all.find(event).map(|(flow, path)| (flow.to_string(), path));
        let one = event(1, "10.0.0.1:40000", "10.0.0.9:5001");
        assert_eq!(flow(&one), Some(("a".to_owned(), None)));
        let over_path = event(2, "10.128.0.7:40001", "10.0.0.9:5002");
        assert_eq!(flow(&over_path), Some(("b".to_owned(), Some("phone".into()))));
        let of_sink = event(2, "10.0.0.9:5001", "10.0.0.1:40000");
        let elsewhere = event(3, "10.0.0.1:40000", "10.0.0.9:5001");
        assert_eq!([of_sink, elsewhere].map(|event| flow(&event)), [None, None]);
    }

    #[test]
    fn the_kernel_looks_at_one_namespace_and_a_few_ports_where_that_suffices() {
        let several = |namespaces: u32, ports: u16| {
            let to = |port: u16| format!("10.0.0.9:{}", 5001 + port);
            let all =
                (0..ports).map(|port| connection("f", u32::from(port) % namespaces, &to(port)));
            Connections(all.collect()).filter()
        };
        assert_eq!((several(1, 2).namespace, several(1, 2).ports), (Some(0), vec![5001, 5002]));
        assert_eq!((several(2, 17).namespace, several(2, 17).ports), (None, vec![]));
    }
}
