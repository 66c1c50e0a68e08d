//! Content of `/etc/hosts`, `/etc/gai.conf` and `/etc/resolv.conf` inside.

use crate::NodePlan;
use std::fmt::Write;
use std::fs;
use std::net::IpAddr;

/// Files that name the machine's own name servers. The second is systemd's, for where the first
/// names only a server on this very machine, which a namespace does not reach.
const RESOLVERS: [&str; 2] = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/// `/etc/hosts`: all nodes.
pub(crate) fn hosts(nodes: &[NodePlan]) -> String {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
    for node in nodes {
        for prefix in &node.addresses {
            let _ = writeln!(text, "{} {}", prefix.address, node.name);
        }
    }
    text
}

/// `/etc/gai.conf`, by which glibc orders the addresses of a name: those of RFC 6724 (section 2.1)
/// with IPv4 before IPv6. A datagram that fills an Ethernet frame over IPv4, 1472 bytes as people
/// write it in iperf3, would be sent as two fragments over IPv6.
pub(crate) const IPV4_FIRST: &str = "precedence ::1/128 50\nprecedence ::/0 40\n\
     precedence 2002::/16 30\nprecedence ::/96 20\nprecedence ::ffff:0:0/96 100\n";

/// `/etc/resolv.conf` of a node: its own name servers or, without any, those of the machine; `None`
/// where neither is given.
pub(crate) fn resolv(own: &[IpAddr], machine: &[IpAddr]) -> Option<String> {
    let servers = if own.is_empty() { machine } else { own };
    (!servers.is_empty()).then(|| servers.iter().map(|at| format!("nameserver {at}\n")).collect())
}

/// Name servers of this machine that are reached over IPv4, as ways out are.
pub(crate) fn machine_nameservers() -> Vec<IpAddr> {
    let texts = RESOLVERS.iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.map(|text| nameservers(&text)).find(|found| !found.is_empty()).unwrap_or_default()
}

fn nameservers(text: &str) -> Vec<IpAddr> {
    let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    let addresses = servers.filter_map(|server| server.trim().parse::<IpAddr>().ok());
    addresses.filter(|address| address.is_ipv4() && !address.is_loopback()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prefix;
    use std::net::Ipv4Addr;

    #[test]
    fn a_name_stands_beside_each_address() {
        let mut node = NodePlan::new("sta1");
        node.addresses = vec![Prefix::new(Ipv4Addr::new(10, 0, 0, 1), 8)];
        assert!(hosts(&[node]).ends_with("\n10.0.0.1 sta1\n"));
    }

    #[test]
    fn a_name_server_on_the_machine_itself_is_none() {
        let text = "# x\nnameserver 127.0.0.53\nnameserver  192.0.2.1\nnameserver ::1\nsearch a\n";
        assert_eq!(nameservers(text), [IpAddr::from([192, 0, 2, 1])]);
        assert_eq!(resolv(&[], &[]), None);
        let reported = resolv(&[], &[IpAddr::from([192, 0, 2, 1])]);
        assert_eq!(reported.as_deref(), Some("nameserver 192.0.2.1\n"));
    }
}
