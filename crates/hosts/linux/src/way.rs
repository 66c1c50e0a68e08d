//! Ways of packets to other hosts: route, source address and carrier (rtnetlink).

use crate::netlink::Netlink;
use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::io;
use std::net::IpAddr;

/// Way of packets to a host, as the kernel would send them now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Number of the interface.
    pub interface: u32,
    /// Address of this host in those packets.
    pub source: IpAddr,
    /// Whether the interface can send: it has a carrier (`IFF_LOWER_UP`, which changes at once),
    /// and is authorized where a network demands that (`IFF_RUNNING`).
    pub is_running: bool,
}

impl Way {
    /// Asks the kernel; `None` without a route to the host. A link-local address is that of a host
    /// on the interface with the number `scope`; for others this is 0 (RFC 4007).
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn to(netlink: &mut Netlink, host: IpAddr, scope: u32) -> io::Result<Option<Self>> {
        let mut message = RouteMessage::default();
        message.header.address_family =
            if host.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.destination_prefix_length = if host.is_ipv4() { 32 } else { 128 };
        message.attributes = vec![RouteAttribute::Destination(host.into())];
        if scope != 0 {
            message.attributes.push(RouteAttribute::Oif(scope));
        }
        netlink.post(RouteNetlinkMessage::GetRoute(message), 0)?;
        let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) = answer(netlink)?
        else {
            return Ok(None);
        };
        if !matches!(route.header.kind, RouteType::Unicast | RouteType::Local) {
            return Ok(None);
        }
        let interface = route.attributes.iter().find_map(|one| match one {
            RouteAttribute::Oif(index) => Some(*index),
            _ => None,
        });
        let source = route.attributes.iter().find_map(|one| match one {
            RouteAttribute::PrefSource(RouteAddress::Inet(address)) => Some((*address).into()),
            RouteAttribute::PrefSource(RouteAddress::Inet6(address)) => Some((*address).into()),
            _ => None,
        });
        let Some((interface, source)) = interface.zip(source) else { return Ok(None) };
        let is_running = runs(netlink, interface)?;
        Ok(Some(Self { interface, source, is_running }))
    }
}

/// Whether an interface can send.
fn runs(netlink: &mut Netlink, interface: u32) -> io::Result<bool> {
    let mut message = LinkMessage::default();
    message.header.index = interface;
    netlink.post(RouteNetlinkMessage::GetLink(message), 0)?;
    let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) = answer(netlink)? else {
        return Ok(false);
    };
    Ok(link.header.flags.contains(LinkFlags::LowerUp | LinkFlags::Running))
}

/// The first answer to the last request.
fn answer(netlink: &Netlink) -> io::Result<NetlinkPayload<RouteNetlinkMessage>> {
    loop {
        if let Some(message) = netlink.answers()?.into_iter().next() {
            return Ok(message.payload);
        }
    }
}
