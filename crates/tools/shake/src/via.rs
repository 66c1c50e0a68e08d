//! The interfaces of a client, one for each path: whether they can be used now.

use fairwave_shake_host::endpoint::PathStats;
use fairwave_shake_host::{Host, Udp};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use std::net::SocketAddr;

/// An interface, and the state that its path was given.
#[derive(Debug)]
struct Via {
    name: String,
    /// The index of the interface for which the path has a socket.
    index: Option<u32>,
}

/// The interfaces of a client.
#[derive(Debug)]
pub(crate) struct Vias {
    peer: SocketAddr,
    vias: Vec<Via>,
}

/// A change of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turned {
    /// The interface.
    pub(crate) name: String,
    /// Whether it can be used.
    pub(crate) is_up: bool,
}

impl Vias {
    pub(crate) fn new(peer: SocketAddr, names: &[String]) -> Self {
        let via = |name: &String| Via { name: name.clone(), index: None };
        Self { peer, vias: names.iter().map(via).collect() }
    }

    /// Name of a path's interface.
    pub(crate) fn name(&self, path: u8) -> &str {
        self.vias.get(usize::from(path)).map_or("", |via| &via.name)
    }

    /// Interfaces that cannot be used now.
    pub(crate) fn down(&self) -> Vec<String> {
        let down = self.vias.iter().filter(|via| via.index.is_none());
        down.map(|via| via.name.clone()).collect()
    }

    /// Counts of each path, also of those that were never used.
    pub(crate) fn all(&self, known: &[PathStats]) -> Vec<PathStats> {
        let of = |path: u8| known.iter().find(|stats| stats.path == path).copied();
        let paths = 0..self.vias.len() as u8;
        paths.map(|path| of(path).unwrap_or(PathStats { path, ..PathStats::default() })).collect()
    }

    /// Looks at the interfaces. Each that came, went or was replaced by another one of its name
    /// changes its path.
    pub(crate) fn look(&mut self, host: &Host) -> Vec<Turned> {
        let all: Vec<_> = getifaddrs().map(Iterator::collect).unwrap_or_default();
        let mut turned = Vec::new();
        for (path, via) in self.vias.iter_mut().enumerate() {
            let found =
                all.iter().any(|one| one.interface_name == via.name && serves(one, self.peer));
            let index = found.then(|| if_nametoindex(via.name.as_str()).ok()).flatten();
            if index == via.index {
                continue;
            }
            // A socket that cannot be opened is tried again at the next look.
            let socket = index.and_then(|_| opened(&via.name, self.peer));
            let index = index.filter(|_| socket.is_some());
            match socket {
                Some(socket) => host.path_up(path as u8, socket, self.peer),
                None => host.path_down(path as u8),
            }
            if index.is_some() != via.index.is_some() {
                turned.push(Turned { name: via.name.clone(), is_up: index.is_some() });
            }
            via.index = index;
        }
        turned
    }
}

fn opened(name: &str, peer: SocketAddr) -> Option<Udp> {
    let mut socket = Udp::over(name, peer).ok()?.without_fragments().ok()?;
    socket.allow_gso();
    Some(socket)
}

/// Whether an interface works and has an address from which the peer can be reached.
fn serves(interface: &InterfaceAddress, peer: SocketAddr) -> bool {
    let works = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    let Some(address) = interface.address.as_ref() else { return false };
    let fits = match peer {
        SocketAddr::V4(_) => address.as_sockaddr_in().is_some(),
        SocketAddr::V6(peer) => address.as_sockaddr_in6().is_some_and(|own| {
            let is_local = |six: std::net::Ipv6Addr| six.is_unicast_link_local();
            !is_local(own.ip()) || is_local(*peer.ip())
        }),
    };
    fits && interface.flags.contains(works)
}
