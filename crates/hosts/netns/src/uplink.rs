//! A way out for a node: a pair of veth to the machine, and address translation there.
//!
//! Packets of other nodes that reach the node by the emulated network are forwarded too. They are
//! translated twice: in the node to the node's address on the veth, so that the machine needs no
//! route to emulated addresses, which may be those of its real network; and on the machine to the
//! address of its interface.
//!
//! On the machine these change, and the keeper restores them: a veth, a table of nftables, and
//! `forwarding` of the one interface, if it was off. If so, it forwards to nodes and to no other
//! host. Several nodes and several runs may have the same uplink; the last of them switches
//! forwarding off ([`Forwarding`]). The same goes for IPv6, where the setting is
//! `force_forwarding`: `forwarding` would end the machine's own autoconfiguration (RFC 4862). A
//! firewall that drops forwarded packets (as Docker's does) remains in force.

use crate::node::{Node, set};
use crate::{Error, Prefix, UplinkPlan, hosts};
use fairwave_linux::Forwarding;
use fairwave_linux::error::{Lack, Missing};
use fairwave_linux::keeper::Keeper;
use fairwave_linux::netlink::Netlink;
use fairwave_linux::tools::{load, nft};
use fairwave_linux::undo::{Place, Undo};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::path::Path;

/// Name of the veth in the node.
const INSIDE: &str = "uplink0";

/// Links take pairs of addresses from here (RFC 6598), if no interface has them.
const POOL: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);
/// Links in the pool: /30 of /10.
const LINKS: u32 = 1 << 20;

/// The prefix of the links' IPv6 addresses, whose last bits are those of IPv4: one of the nodes'
/// own
/// global ID (RFC 4193), beside theirs.
const POOL_V6: u128 = 0xfd46_6169_7277_ffff << 64;

/// The machine forwards IPv6 of all interfaces.
const FORWARDS_ALL: &str = "/proc/sys/net/ipv6/conf/all/forwarding";

/// Both ends of a link in one family of addresses.
#[derive(Debug, Clone, Copy)]
struct Link {
    here: IpAddr,
    there: IpAddr,
}

/// Returns the reason for which IPv6 cannot leave by an interface of this machine, with a remedy;
/// nothing if it can.
pub fn lack_of_ipv6(interface: &str) -> Option<String> {
    let addresses = fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    if !has_global(&addresses, interface) {
        return Some(format!(
            "{interface} has no IPv6 address but link-local ones, so only IPv4 leaves there; \
             `ip address add` gives it one"
        ));
    }
    let knows = Path::new(&force(interface)).exists();
    (!knows && !is_on(FORWARDS_ALL)).then(|| {
        "this kernel cannot forward IPv6 of one interface alone, as kernels since 6.17 can, so \
         only IPv4 leaves there; `sysctl net.ipv6.conf.all.forwarding=1` lets it forward all"
            .to_owned()
    })
}

/// Whether the kernel's list has an address of the interface that is valid beyond its link.
fn has_global(addresses: &str, interface: &str) -> bool {
    const GLOBAL: &str = "00";
    addresses
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .any(|words| matches!(words[..], [_, _, _, GLOBAL, _, name] if name == interface))
}

fn is_on(path: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.trim() != "0")
}

/// The setting that lets one interface forward IPv6 and remain a host otherwise.
fn force(interface: &str) -> String {
    format!("/proc/sys/net/ipv6/conf/{interface}/force_forwarding")
}

impl Link {
    /// As nftables calls the family.
    fn family(&self) -> &'static str {
        if self.here.is_ipv4() { "ip" } else { "ip6" }
    }

    /// The setting of an interface that has it forward.
    fn setting(&self, interface: &str) -> String {
        match self.here {
            IpAddr::V4(_) => format!("/proc/sys/net/ipv4/conf/{interface}/forwarding"),
            IpAddr::V6(_) => force(interface),
        }
    }

    /// Whether the interface forwards before anything is changed.
    fn forwards(&self, interface: &str) -> bool {
        is_on(&self.setting(interface)) || (self.here.is_ipv6() && is_on(FORWARDS_ALL))
    }

    fn prefix(&self, address: IpAddr) -> Prefix {
        Prefix { address, length: if address.is_ipv4() { 30 } else { 126 } }
    }

    fn everywhere(&self) -> Prefix {
        match self.here {
            IpAddr::V4(_) => Prefix::new(Ipv4Addr::UNSPECIFIED, 0),
            IpAddr::V6(_) => Prefix::new(Ipv6Addr::UNSPECIFIED, 0),
        }
    }

    /// Setting that lets all interfaces of a node forward.
    fn of_node(&self) -> &'static str {
        match self.here {
            IpAddr::V4(_) => "net.ipv4.ip_forward",
            IpAddr::V6(_) => "net.ipv6.conf.all.forwarding",
        }
    }
}

/// State of the machine before anything is changed.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Name servers for nodes, where there are ways out.
    pub(crate) nameservers: Vec<IpAddr>,
    addresses: Vec<Prefix>,
}

impl Machine {
    /// Checks that the machine has the parts that uplinks need.
    pub(crate) fn look(uplinks: &[UplinkPlan]) -> Result<Self, Error> {
        if uplinks.is_empty() {
            return Ok(Self { nameservers: Vec::new(), addresses: Vec::new() });
        }
        if nft().arg("--version").status().is_err() {
            let what = "the program nft, which translates addresses of an uplink".to_owned();
            let remedy = "install the package nftables".to_owned();
            return Err(Missing(vec![Lack { what, remedy }]).into());
        }
        let mut netlink = Netlink::open().map_err(Error::at("netlink"))?;
        for UplinkPlan { interface, .. } in uplinks {
            netlink.index(interface).map_err(Error::at(format!("uplink `{interface}`")))?;
        }
        let addresses = netlink.addresses().map_err(Error::at("addresses of this machine"))?;
        Ok(Self { nameservers: hosts::machine_nameservers(), addresses })
    }

    /// Both ends of a link that no interface of the machine overlaps.
    fn link(&self, number: usize) -> Result<[Ipv4Addr; 2], Error> {
        let first = std::process::id().wrapping_mul(64).wrapping_add(number as u32);
        let candidates = (0..LINKS).map(|n| u32::from(POOL) + 4 * (first.wrapping_add(n) % LINKS));
        let free = |base: &u32| !self.addresses.iter().any(|taken| overlaps(taken, *base));
        let base = candidates.into_iter().find(free);
        let base = base.ok_or_else(|| Error::Plan("no address is free for an uplink".into()))?;
        Ok([Ipv4Addr::from(base + 1), Ipv4Addr::from(base + 2)])
    }
}

/// Whether a prefix and a /30 have addresses in common.
fn overlaps(prefix: &Prefix, base: u32) -> bool {
    let IpAddr::V4(address) = prefix.address else { return false };
    let bits = u32::from(prefix.length.min(30));
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    u32::from(address) & mask == base & mask
}

/// Gives a node its way out.
pub(crate) fn connect(
    node: &Node,
    plan: &UplinkPlan,
    number: usize,
    machine: &Machine,
    keeper: &mut Keeper,
) -> Result<(), Error> {
    let links = links(machine.link(number)?, plan.has_ipv6);
    let veth = format!("fw{}u{number}", std::process::id());
    keeper.note(Undo::Link(veth.clone()))?;
    pair(node, plan, &veth, &links)?;
    links.iter().try_for_each(|link| translate(plan, &veth, link, keeper))?;
    let interface = plan.interface.clone();
    node.run(move || lead_out(&links))?
        .map_err(Error::at(format!("{}: uplink {interface}", plan.node)))
}

/// The link's ends in each family.
fn links([here, there]: [Ipv4Addr; 2], has_ipv6: bool) -> Vec<Link> {
    let six = |address: Ipv4Addr| Ipv6Addr::from(POOL_V6 | u128::from(u32::from(address)));
    let of_six = Link { here: six(here).into(), there: six(there).into() };
    let of_four = Link { here: here.into(), there: there.into() };
    [of_four].into_iter().chain(has_ipv6.then_some(of_six)).collect()
}

/// The pair of veth, and its end on the machine.
fn pair(node: &Node, plan: &UplinkPlan, veth: &str, links: &[Link]) -> Result<(), Error> {
    let step = || format!("{}: uplink {}", plan.node, plan.interface);
    let mut netlink = Netlink::open().map_err(Error::at(step()))?;
    netlink.veth(veth, INSIDE, node.network.as_fd()).map_err(|error| refused(error, step()))?;
    let index = netlink.index(veth).map_err(Error::at(step()))?;
    netlink.up(index).map_err(Error::at(step()))?;
    let mut address = |link: &Link| netlink.address(index, link.prefix(link.here));
    links.iter().try_for_each(&mut address).map_err(Error::at(step()))
}

fn refused(error: io::Error, step: String) -> Error {
    if Errno::from_io_error(&error) != Some(Errno::PERM) {
        return Error::at(step)(error);
    }
    let what = format!("{step}: only root may connect a node to the machine's interfaces");
    let remedy = "run as root (sudo), or without an uplink".to_owned();
    Missing(vec![Lack { what, remedy }]).into()
}

/// Translation and forwarding on the machine.
fn translate(plan: &UplinkPlan, veth: &str, link: &Link, keeper: &mut Keeper) -> Result<(), Error> {
    let (interface, family, there) = (&plan.interface, link.family(), link.there);
    let at = Place::of(interface)?;
    let table = format!("fairwave_{veth}");
    let rules = format!(
        "table {family} {table} {{
            chain out {{
                type nat hook postrouting priority 100;
                {family} saddr {there} oif {} masquerade
            }}
        }}\n",
        at.index
    );
    keeper.note(Undo::Table { family: family.to_owned(), name: table })?;
    let step = format!("nft for uplink {interface}");
    load(&rules).map_err(Error::at(step))?;
    let forwarding = Forwarding {
        family: family.to_owned(),
        at,
        setting: link.setting(interface),
        user: veth.to_owned(),
    };
    let record = |forwarding: &Forwarding| keeper.note(Undo::Forwarding(forwarding.clone()));
    forwarding.begin(|| link.forwards(interface), record)?;
    let path = link.setting(veth);
    // Without that setting the machine forwards all IPv6 already.
    if link.here.is_ipv6() && !Path::new(&path).exists() {
        return Ok(());
    }
    fs::write(&path, "1").map_err(Error::at(path))
}

/// The node's end, on its thread: addresses, default routes, forwarding of other nodes' packets.
fn lead_out(links: &[Link]) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.index(INSIDE)?;
    netlink.up(index)?;
    for link in links {
        netlink.address(index, link.prefix(link.there))?;
        netlink.route(index, link.everywhere(), Some(link.here), false).map_err(|error| {
            let why = "the default route to the uplink, which the plan may already lead elsewhere";
            io::Error::other(format!("{why}: {error}"))
        })?;
        set(link.of_node(), "1")?;
        load(&format!(
            "table {} fairwave {{
                chain out {{
                    type nat hook postrouting priority 100;
                    oifname \"{INSIDE}\" masquerade
                }}
            }}\n",
            link.family()
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_link_alone_lead_nowhere() {
        let local = "fe80000000000000fc00000000000001 02 40 20 80     eth0\n";
        let global = "20010db8000000000000000000000009 02 40 00 80     eth0\n";
        assert!(!has_global(local, "eth0"));
        assert!(has_global(&[local, global].concat(), "eth0"));
        assert!(!has_global(&[local, global].concat(), "eth"));
    }

    #[test]
    fn a_link_overlaps_no_address_of_the_machine() {
        let taken = Prefix::new(Ipv4Addr::new(100, 64, 0, 9), 24);
        let base = |address: [u8; 4]| u32::from(Ipv4Addr::from(address));
        assert!(overlaps(&taken, base([100, 64, 0, 252])));
        assert!(!overlaps(&taken, base([100, 64, 1, 0])));
        assert!(overlaps(&Prefix::new(Ipv4Addr::UNSPECIFIED, 0), base([100, 64, 1, 0])));
        assert!(overlaps(&Prefix::new(Ipv4Addr::new(100, 64, 1, 2), 32), base([100, 64, 1, 0])));
        let all_but_last = Prefix::new(Ipv4Addr::new(100, 64, 0, 0), 11);
        let machine = Machine { nameservers: Vec::new(), addresses: vec![all_but_last] };
        let [here, there] = machine.link(0).expect("the upper half is free");
        assert!(here >= Ipv4Addr::new(100, 96, 0, 1));
        assert_eq!(u32::from(there), u32::from(here) + 1);
    }
}
