//! A way out for a node: a pair of veth to the machine, and address translation there.
//!
//! Packets of other nodes that reach the node by the emulated network are forwarded too. They are
//! translated twice: in the node to the node's address on the veth, so that the machine needs no
//! route to emulated addresses, which may be those of its real network; and on the machine to the
//! address of its interface. IPv4 only: to forward IPv6 the machine would have to give up its own
//! autoconfiguration.
//!
//! On the machine these change, and the keeper restores them: a veth, a table of nftables, and
//! `forwarding` of the one interface, if it was off. If so, the table lets the interface forward
//! to the node and to nobody else. A firewall that drops forwarded packets (as Docker's does)
//! remains in force.

use crate::error::{Lack, Missing};
use crate::keeper::Keeper;
use crate::netlink::Netlink;
use crate::node::{Node, set};
use crate::undo::{Undo, nft};
use crate::{Error, Prefix, UplinkPlan, hosts};
use rustix::io::Errno;
use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::Stdio;

/// Name of the veth in the node.
const INSIDE: &str = "uplink0";

/// Links take pairs of addresses from here (RFC 6598), those that no interface has.
const POOL: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);
/// Links in the pool: /30 of /10.
const LINKS: u32 = 1 << 20;

/// What is known of the machine before anything is changed.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Name servers for nodes, where there are ways out.
    pub(crate) nameservers: Vec<IpAddr>,
    addresses: Vec<Prefix>,
}

impl Machine {
    /// Looks whether the machine has what uplinks need.
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
    let [here, there] = machine.link(number)?;
    let veth = format!("fw{}u{number}", std::process::id());
    keeper.note(Undo::Link(veth.clone()))?;
    pair(node, plan, &veth, here)?;
    translate(plan, &veth, there, keeper)?;
    let interface = plan.interface.clone();
    node.run(move || lead_out(here, there))?
        .map_err(Error::at(format!("{}: uplink {interface}", plan.node)))
}

/// The pair of veth, and its end on the machine.
fn pair(node: &Node, plan: &UplinkPlan, veth: &str, here: Ipv4Addr) -> Result<(), Error> {
    let step = || format!("{}: uplink {}", plan.node, plan.interface);
    let mut netlink = Netlink::open().map_err(Error::at(step()))?;
    netlink.veth(veth, INSIDE, node.network.as_fd()).map_err(|error| refused(error, step()))?;
    let index = netlink.index(veth).map_err(Error::at(step()))?;
    netlink.address(index, Prefix::new(here, 30)).map_err(Error::at(step()))?;
    netlink.up(index).map_err(Error::at(step()))
}

fn refused(error: io::Error, step: String) -> Error {
    if Errno::from_io_error(&error) != Some(Errno::PERM) {
        return Error::at(step)(error);
    }
    let what = format!("{step}: only root may connect a node to the machine's interfaces");
    let remedy = "run as root (sudo), or without an uplink".to_owned();
    Missing(vec![Lack { what, remedy }]).into()
}

/// Forwarding and translation on the machine.
fn translate(
    plan: &UplinkPlan,
    veth: &str,
    there: Ipv4Addr,
    keeper: &mut Keeper,
) -> Result<(), Error> {
    let interface = &plan.interface;
    let path = format!("/proc/sys/net/ipv4/conf/{interface}/forwarding");
    let before = fs::read_to_string(&path).map_err(Error::at(path.clone()))?;
    let was_off = before.trim() == "0";
    let guard = format!("iifname \"{interface}\" oifname != \"{veth}\" drop");
    let guard = if was_off { guard.as_str() } else { "" };
    let table = format!("fairwave_{veth}");
    let rules = format!(
        "table ip {table} {{
            chain out {{
                type nat hook postrouting priority 100;
                ip saddr {there} oifname \"{interface}\" masquerade
            }}
            chain through {{
                type filter hook forward priority 0;
                {guard}
            }}
        }}\n"
    );
    keeper.note(Undo::Table(table))?;
    let step = format!("nft for uplink {interface}");
    load(&rules).map_err(Error::at(step))?;
    if was_off {
        keeper.note(Undo::Setting { path: path.clone(), value: before.trim().to_owned() })?;
        fs::write(&path, "1").map_err(Error::at(path))?;
    }
    let path = format!("/proc/sys/net/ipv4/conf/{veth}/forwarding");
    fs::write(&path, "1").map_err(Error::at(path))
}

/// The node's end, on its thread: addresses, default route, forwarding of other nodes' packets.
fn lead_out(here: Ipv4Addr, there: Ipv4Addr) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.index(INSIDE)?;
    netlink.address(index, Prefix::new(there, 30))?;
    netlink.up(index)?;
    let everywhere = Prefix::new(Ipv4Addr::UNSPECIFIED, 0);
    netlink.route(index, everywhere, Some(here.into()), None).map_err(|error| {
        let why = "the default route to the uplink, which the plan may already lead elsewhere";
        io::Error::other(format!("{why}: {error}"))
    })?;
    set("net.ipv4.ip_forward", "1")?;
    load(&format!(
        "table ip fairwave {{
            chain out {{
                type nat hook postrouting priority 100;
                oifname \"{INSIDE}\" masquerade
            }}
        }}\n"
    ))
}

/// Has nft load rules in the network namespace of the calling thread.
fn load(rules: &str) -> io::Result<()> {
    let mut child = nft().args(["-f", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(rules.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
