//! `fairwave shake connect --tproxy`: connections of other hosts that pass through this one.

use fairwave_console::Failure;
use fairwave_linux::{Interception, InterceptionPlan, Prefix, any_addresses, listen_transparent};
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};

/// Place of the transparent sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address; all where there is none.
    pub address: Option<IpAddr>,
    /// The port.
    pub port: u16,
}

/// Reads `[ADDRESS:]PORT`.
///
/// # Errors
/// If it is neither.
pub(crate) fn place(text: &str) -> Result<Place, String> {
    let both = |at: SocketAddr| Place { address: Some(at.ip()), port: at.port() };
    let port = text.parse().map(|port| Place { address: None, port });
    let place = port.or_else(|_| text.parse().map(both));
    let place = place.map_err(|_| "expected a port, or ADDRESS:PORT".to_owned())?;
    if place.port == 0 { Err("the port has to be stated".to_owned()) } else { Ok(place) }
}

/// The sockets, and the rules that lead connections to them as long as it lives.
#[derive(Debug)]
pub(crate) struct Transparent {
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) rules: Interception,
}

/// Leads the connections of clients with addresses in these prefixes to sockets of this process.
///
/// # Errors
/// Without privileges, without nft, or if the port is in use.
pub(crate) fn lead(place: Place, clients: &[IpNet]) -> Result<Transparent, Failure> {
    let addresses = place.address.map_or_else(any_addresses, |address| vec![address]);
    let mut listeners = Vec::new();
    for address in addresses {
        let at = SocketAddr::new(address, place.port);
        let opened = listen_transparent(at);
        listeners.push(opened.map_err(|why| Failure::Run(format!("--tproxy {at}: {why}")))?);
    }
    let prefix = |net: &IpNet| Prefix::new(net.network(), net.prefix_len());
    let plan = InterceptionPlan {
        clients: clients.iter().map(prefix).collect(),
        address: place.address,
        port: place.port,
        ..InterceptionPlan::default()
    };
    let rules = Interception::start(&plan).map_err(Failure::run)?;
    Ok(Transparent { listeners, rules })
}

/// Whether this host has an address: only then may a socket have it. With `ip_nonlocal_bind`, each
/// address counts as one of this host.
pub(crate) fn is_of_this_host(mut address: SocketAddr) -> bool {
    address.set_port(0);
    UdpSocket::bind(address).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_this_host_or_of_another_one() {
        let is_own = |address: &str| is_of_this_host(address.parse().unwrap());
        assert!(is_own("127.0.0.1:80") && is_own("127.9.9.9:80"));
        let setting = std::fs::read_to_string("/proc/sys/net/ipv4/ip_nonlocal_bind").unwrap();
        assert_eq!(is_own("192.0.2.7:80"), setting.trim() == "1");
    }

    #[test]
    fn a_place_is_a_port_with_or_without_an_address() {
        assert_eq!(place("1081"), Ok(Place { address: None, port: 1081 }));
        let local = Place { address: Some([127, 0, 0, 1].into()), port: 1081 };
        assert_eq!(place("127.0.0.1:1081"), Ok(local));
        assert_eq!(place("[::1]:7").map(|place| place.port), Ok(7));
        for wrong in ["", "0", "lo:1081", "127.0.0.1"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
