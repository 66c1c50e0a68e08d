//! The ports of flows.

use fairwave_trace::FlowId;

/// First port of servers. Ports of both ends are dynamic ones (RFC 6335 section 6) to which
/// dissectors of captures attach no protocol, so that none reads a meaning into the payload
/// pattern.
const FIRST_PORT: u16 = 60_100;
/// First port of clients, likewise.
pub(super) const FIRST_CLIENT_PORT: u16 = 50_000;
/// Ports for each end.
pub(super) const PORTS: u32 = 4_000;

/// Ports of a flow's source, which is the client, and of its sink: no two flows have the same pair,
/// up to 16 million.
pub fn ports(id: FlowId) -> (u16, u16) {
    let (client, server) = (id.0 % PORTS, (id.0 % PORTS + id.0 / PORTS) % PORTS);
    (FIRST_CLIENT_PORT + client as u16, FIRST_PORT + server as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_flows_share_their_ports() {
        let pairs: BTreeSet<_> = (0..20_000).map(|i| ports(FlowId(i))).collect();
        assert_eq!(pairs.len(), 20_000);
        assert_eq!(ports(FlowId(7)), (50_007, 60_107));
        assert_eq!(ports(FlowId(4_000)), (50_000, 60_101));
    }
}
