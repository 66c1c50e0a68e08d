//! The interfaces and borrowed links of a client, one for each path: whether they can be used now.

use fairwave_linux::netlink::Netlink;
use fairwave_shake_host::endpoint::PathStats;
use fairwave_shake_host::{Host, Udp};
use fairwave_share_host::{Link, State};
use fairwave_units::BitRate;
use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::SockaddrIn6;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// An interface, and the state that its path was given.
#[derive(Debug)]
struct Via {
    name: String,
    /// The index of the interface for which the path has a socket.
    index: Option<u32>,
    /// The interface's addresses at that time, one of which the path uses.
    addresses: BTreeSet<IpAddr>,
}

/// A borrowed link, and its latest state.
#[derive(Debug)]
pub(crate) struct Borrowed {
    name: String,
    link: Link,
    state: State,
}

impl Borrowed {
    pub(crate) fn new(name: String, link: Link) -> Self {
        Self { name, link, state: State::Searching }
    }

    /// The bandwidth that the lender announced.
    pub(crate) fn rate(&self) -> Option<BitRate> {
        match self.link.state() {
            State::Granted(terms) => terms.rate,
            _ => None,
        }
    }

    /// Waits until the lender has answered, or is found silent.
    pub(crate) async fn settled(&self) {
        self.link.settled().await;
    }

    const fn is_up(&self) -> bool {
        matches!(self.state, State::Granted(_))
    }

    /// Looks at the link; returns a change that the user shall know.
    fn look(&mut self, host: &Host, path: u8) -> Option<Turned> {
        let (was_up, before) =
            (self.is_up(), std::mem::replace(&mut self.state, self.link.state()));
        if self.is_up() && !was_up {
            match self.link.attach() {
                Ok((socket, at)) => host.path_up(path, socket, at),
                // Tried again at the next look.
                Err(_) => self.state = before,
            }
        } else if was_up && !self.is_up() {
            host.path_down(path);
        }
        let why = match self.state {
            State::Searching => return None,
            State::Granted(_) => String::new(),
            State::Silent => "no answer from there with this key".to_owned(),
            State::Lost => "it no longer answers".to_owned(),
            State::Denied(denial) => denial.to_string(),
        };
        let has_changed = self.state != before && !(was_up && self.is_up());
        has_changed.then(|| Turned { name: self.name.clone(), is_up: self.is_up(), why })
    }
}

/// The interfaces of a client, and its borrowed links.
#[derive(Debug)]
pub(crate) struct Vias {
    peer: SocketAddr,
    vias: Vec<Via>,
    borrowed: Vec<Borrowed>,
}

/// A change of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turned {
    /// The interface.
    pub(crate) name: String,
    /// Whether it can be used.
    pub(crate) is_up: bool,
    /// Reason for that, if it is known.
    pub(crate) why: String,
}

impl Vias {
    /// Borrowed links are the paths behind those of the interfaces.
    pub(crate) fn new(peer: SocketAddr, names: &[String], borrowed: Vec<Borrowed>) -> Self {
        let via =
            |name: &String| Via { name: name.clone(), index: None, addresses: BTreeSet::new() };
        Self { peer, vias: names.iter().map(via).collect(), borrowed }
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let borrowed = self.borrowed.iter().map(|borrowed| &borrowed.name);
        self.vias.iter().map(|via| &via.name).chain(borrowed)
    }

    /// Name of a path's interface, or of its lender.
    pub(crate) fn name(&self, path: u8) -> &str {
        self.names().nth(path.into()).map_or("", |name| name)
    }

    /// Interfaces and lenders that cannot be used now.
    pub(crate) fn down(&self) -> Vec<String> {
        let own = self.vias.iter().map(|via| via.index.is_some());
        let are_up = own.chain(self.borrowed.iter().map(Borrowed::is_up));
        let down = self.names().zip(are_up).filter(|(_, is_up)| !is_up);
        down.map(|(name, _)| name.clone()).collect()
    }

    /// Ends the leases.
    pub(crate) async fn close(self) {
        for borrowed in self.borrowed {
            borrowed.link.close().await;
        }
    }

    /// Counts of each path, also of those that were never used.
    pub(crate) fn all(&self, known: &[PathStats]) -> Vec<PathStats> {
        let of = |path: u8| known.iter().find(|stats| stats.path == path).copied();
        let paths = 0..self.names().count() as u8;
        paths.map(|path| of(path).unwrap_or(PathStats { path, ..PathStats::default() })).collect()
    }

    /// Looks at the interfaces. Each that came, went, was replaced by another one of its name, or
    /// has lost an address or its route changes its path. Nothing changes while the kernel does not
    /// answer, as to a process without a free descriptor.
    pub(crate) fn look(&mut self, host: &Host) -> Vec<Turned> {
        let Ok(all) = getifaddrs().map(Iterator::collect::<Vec<_>>) else { return Vec::new() };
        let mut netlink = Netlink::open().ok();
        let mut turned = Vec::new();
        for (path, via) in self.vias.iter_mut().enumerate() {
            let own = all.iter().filter(|one| one.interface_name == via.name);
            let addresses: BTreeSet<IpAddr> =
                own.clone().filter_map(|one| serving(one, self.peer)).collect();
            let Ok(found) = known(if_nametoindex(via.name.as_str())) else { continue };
            let found = found.filter(|_| !addresses.is_empty());
            let index = found.filter(|index| leads(netlink.as_mut(), own, *index, self.peer));
            // A new address beside that in use, such as a temporary one of IPv6, changes nothing.
            if index == via.index && via.addresses.is_subset(&addresses) {
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
                let (name, is_up) = (via.name.clone(), index.is_some());
                turned.push(Turned { name, is_up, why: String::new() });
            }
            via.addresses = if index.is_some() { addresses } else { BTreeSet::new() };
            via.index = index;
        }
        turned
    }

    /// Looks at the borrowed links; returns changes that the user shall know.
    pub(crate) fn look_at_lenders(&mut self, host: &Host) -> Vec<Turned> {
        let first = self.vias.len();
        let lenders = self.borrowed.iter_mut().enumerate();
        lenders.filter_map(|(place, lender)| lender.look(host, (first + place) as u8)).collect()
    }
}

/// The index of an interface, if there is one of this name.
///
/// # Errors
/// If the kernel was not asked.
fn known(index: nix::Result<u32>) -> nix::Result<Option<u32>> {
    match index {
        Ok(index) => Ok(Some(index)),
        Err(Errno::ENODEV | Errno::ENXIO) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether there is a way to the peer by an interface, as far as the kernel says. One without
/// addresses of neighbours, such as a modem's, needs no route.
fn leads<'a>(
    netlink: Option<&mut Netlink>,
    mut own: impl Iterator<Item = &'a InterfaceAddress>,
    index: u32,
    peer: SocketAddr,
) -> bool {
    let direct = InterfaceFlags::IFF_POINTOPOINT | InterfaceFlags::IFF_NOARP;
    let is_direct = own.any(|one| one.flags.intersects(direct));
    let route = netlink.map(|netlink| netlink.has_route(index, peer.ip()));
    is_direct || route.is_none_or(|found| found.unwrap_or(true))
}

fn opened(name: &str, peer: SocketAddr) -> Option<Udp> {
    let mut socket = Udp::over(name, peer).ok()?.without_fragments().ok()?;
    socket.allow_gso();
    Some(socket)
}

/// The address of an interface that works, if the peer can be reached from it.
fn serving(interface: &InterfaceAddress, peer: SocketAddr) -> Option<IpAddr> {
    let works = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    let address = interface.address.as_ref().filter(|_| interface.flags.contains(works))?;
    match peer {
        SocketAddr::V4(_) => address.as_sockaddr_in().map(|own| own.ip().into()),
        SocketAddr::V6(peer) => {
            let is_local = |six: std::net::Ipv6Addr| six.is_unicast_link_local();
            let own = address.as_sockaddr_in6().map(SockaddrIn6::ip);
            own.filter(|own| !is_local(*own) || is_local(*peer.ip())).map(IpAddr::from)
        }
    }
}
