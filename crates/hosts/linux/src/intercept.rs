//! Leading connections that pass through this machine to a transparent proxy on it.
//!
//! nftables gives a SYN that arrives at one of the interfaces to the proxy's transparent socket
//! (TPROXY) and marks it. Other packets may be those of connections to servers behind the
//! interface, or of connections from before the proxy. A rule has marked packets routed to this
//! machine itself. Packets of connections that the proxy has under its clients' addresses are known
//! by their sockets; a socket that listens at all addresses is none of those. A packet is marked
//! only where such a socket exists: without the proxy, packets go their ordinary way although the
//! rules are there. The keeper removes the rules when this process ends, however it does.

use crate::keeper::Keeper;
use crate::tools::{ip, load, run_tool};
use crate::undo::Undo;
use crate::{Error, KeeperCommand, Prefix};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

/// The upper half of marks, "FW"; the lower is that of the process id, so that proxies on one
/// machine do not meet.
const MARK: u32 = 0x4657_0000;
/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// Connections that are led to the proxy.
#[derive(Debug, Clone, Default)]
pub struct InterceptionPlan {
    /// Interfaces at which clients' packets arrive; all where there are none.
    pub interfaces: Vec<String>,
    /// Prefixes of clients' addresses; all where there are none.
    pub clients: Vec<Prefix>,
    /// Ports of servers; all where there are none.
    pub server_ports: Vec<u16>,
    /// The address of the proxy's transparent socket; any where there is none.
    pub address: Option<IpAddr>,
    /// The port of the proxy's transparent sockets.
    pub port: u16,
    /// Command of the keeper.
    pub keeper: KeeperCommand,
}

/// Connections are led to the proxy as long as this lives.
#[derive(Debug)]
pub struct Interception {
    _keeper: Keeper,
}

impl Interception {
    /// Leads connections to the proxy, whose sockets have to be there.
    ///
    /// # Errors
    ///
    /// Without privileges (CAP_NET_ADMIN), without the programs nft and ip, and where an interface
    /// does not exist. Nothing is left then.
    pub fn start(plan: &InterceptionPlan) -> Result<Self, Error> {
        if let Some(name) = plan.interfaces.iter().find(|name| !is_name(name)) {
            return Err(Error::Plan(format!("`{name}` is no name of an interface")));
        }
        for name in &plan.interfaces {
            let found = crate::netlink::Netlink::open().and_then(|link| link.index(name));
            found.map_err(Error::at(format!("interface `{name}`")))?;
        }
        let mut keeper = Keeper::start_without_programs(&plan.keeper)?;
        let mark = MARK | (std::process::id() & 0xffff);
        let families = if has_ipv6() { &["-4", "-6"][..] } else { &["-4"] };
        for family in families.iter().copied() {
            keeper.note(Undo::Lookup { family: family.to_owned(), mark })?;
            look_up(family, mark).map_err(Error::at("routing of marked packets"))?;
        }
        let name = format!("fairwave_proxy_{}", std::process::id());
        keeper.note(Undo::Table { family: "inet".to_owned(), name: name.clone() })?;
        let rules = rules(plan, &name, mark, families.len() > 1);
        load(&rules).map_err(Error::at("rules of nftables"))?;
        Ok(Self { _keeper: keeper })
    }
}

/// Returns whether the kernel takes it as a name, and nftables does not read it otherwise.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    (1..16).contains(&name.len()) && name.bytes().all(is_plain)
}

/// The table of nftables, with rules for IPv6 or without.
fn rules(plan: &InterceptionPlan, name: &str, mark: u32, with_six: bool) -> String {
    let arriving = match plan.interfaces[..] {
        [] => String::new(),
        ref names => {
            let names = names.iter().map(|name| format!("\"{name}\""));
            format!("    iifname != {} return\n", list(names))
        }
    };
    format!(
        "table inet {name} {{\n  chain arriving {{\n    \
         type filter hook prerouting priority mangle; policy accept;\n    \
         meta l4proto tcp socket wildcard 1 goto leading\n    \
         meta l4proto tcp socket transparent 1 meta mark set {mark} accept\n    \
         goto leading\n  }}\n  chain leading {{\n\
         {arriving}    fib daddr type != unicast return\n{}{}  }}\n}}\n",
        lead(plan, mark, false),
        if with_six { lead(plan, mark, true) } else { String::new() }
    )
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("{{ {} }}", items.collect::<Vec<_>>().join(", "))
}

/// The rule that leads connections of one version of IP; none if its clients or the socket are of
/// the other one.
fn lead(plan: &InterceptionPlan, mark: u32, is_six: bool) -> String {
    let (version, family) = if is_six { ("ipv6", "ip6") } else { ("ipv4", "ip") };
    let of_family = |prefix: &&Prefix| prefix.address.is_ipv6() == is_six;
    let prefixes: Vec<_> = plan.clients.iter().filter(of_family).collect();
    let is_excluded = prefixes.is_empty() && !plan.clients.is_empty();
    if is_excluded || plan.address.is_some_and(|address| address.is_ipv6() != is_six) {
        return String::new();
    }
    let clients = match prefixes[..] {
        [] => String::new(),
        _ => {
            let all = prefixes.iter().map(|one| format!("{}/{}", one.address, one.length));
            format!("{family} saddr {} ", list(all))
        }
    };
    let ports = match plan.server_ports[..] {
        [] => String::new(),
        ref ports => format!("tcp dport {} ", list(ports.iter().map(u16::to_string))),
    };
    let to = match plan.address {
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => format!("[{address}]"),
        None => String::new(),
    };
    format!(
        "    meta nfproto {version} {clients}{ports}tcp flags & (syn | ack) == syn \
         tproxy {family} to {to}:{} meta mark set {mark} accept\n",
        plan.port
    )
}

/// Whether this host has IPv6. It has none if the kernel was started without, or if
/// `net.ipv6.conf.lo.disable_ipv6` is set, so that nothing can be led to a socket of it.
pub fn has_ipv6() -> bool {
    TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// The unspecified address of each version of IP that this host has: a socket for each accepts
/// connections to any address.
pub fn any_addresses() -> Vec<IpAddr> {
    let six = has_ipv6().then_some(Ipv6Addr::UNSPECIFIED.into());
    [Some(Ipv4Addr::UNSPECIFIED.into()), six].into_iter().flatten().collect()
}

/// Opens a socket that accepts the connections led to it, whatever their destination: that is the
/// local address of the accepted connection.
///
/// # Errors
/// Without CAP_NET_ADMIN or CAP_NET_RAW, or if the address is in use.
pub fn listen_transparent(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    match at {
        SocketAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
        SocketAddr::V6(_) => {
            socket.set_only_v6(true)?;
            socket.set_ip_transparent_v6(true)?;
        }
    }
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Has packets with the mark routed to this machine, whatever their destination.
fn look_up(family: &str, mark: u32) -> io::Result<()> {
    let mark = mark.to_string();
    let rule = ["rule", "add", "fwmark", &mark, "lookup", &mark];
    let route = ["route", "add", "local", "default", "dev", "lo", "table", &mark];
    [&rule[..], &route[..]].iter().try_for_each(|words| run_tool(ip().arg(family).args(*words), ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_interfaces_and_ports() {
        let mut plan = InterceptionPlan {
            interfaces: vec!["lan0".to_owned(), "wlan0.7".to_owned()],
            server_ports: vec![80, 443],
            port: 17990,
            ..InterceptionPlan::default()
        };
        let text = rules(&plan, "t", 7, true);
        assert!(text.contains("iifname != { \"lan0\", \"wlan0.7\" } return\n"), "{text}");
        let lead = "tcp dport { 80, 443 } tcp flags & (syn | ack) == syn tproxy ip6 to :17990 \
                    meta mark set 7 accept\n";
        assert!(text.contains(lead), "{text}");
        plan.server_ports.clear();
        assert!(!rules(&plan, "t", 7, true).contains("dport"));
        let text = rules(&plan, "t", 7, false);
        assert!(text.contains("tproxy ip to") && !text.contains("ip6"), "{text}");
    }

    #[test]
    fn rules_name_clients_and_the_socket() {
        let mut plan = InterceptionPlan {
            clients: vec![Prefix::new([192, 0, 2, 0], 24), Prefix::new([198, 51, 100, 7], 32)],
            port: 17990,
            ..InterceptionPlan::default()
        };
        let text = rules(&plan, "t", 7, true);
        let lead = "meta nfproto ipv4 ip saddr { 192.0.2.0/24, 198.51.100.7/32 } \
                    tcp flags & (syn | ack) == syn tproxy ip to :17990 meta mark set 7 accept\n";
        assert!(text.contains(lead), "{text}");
        assert!(!text.contains("ipv6") && !text.contains("iifname"), "{text}");
        plan.address = Some(IpAddr::from([127, 0, 0, 1]));
        assert!(rules(&plan, "t", 7, true).contains("tproxy ip to 127.0.0.1:17990 "));
        (plan.clients, plan.address) = (Vec::new(), "::1".parse().ok());
        let text = rules(&plan, "t", 7, true);
        assert!(text.contains("tproxy ip6 to [::1]:17990 ") && !text.contains("ipv4"), "{text}");
    }

    #[test]
    fn names_that_nftables_would_read_otherwise_are_refused() {
        for name in ["", "a b", "x\" accept", "a;b", "abcdefghijklmnop"] {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_name("br-lan") && is_name("eth0.7"));
    }
}
