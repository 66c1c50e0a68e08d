//! Listening sockets, and connections to servers.

use crate::error::Error;
use crate::options;
use crate::places::host;
use crate::request::{Denied, Server};
use fairwave_console::shares::Shares;
use fairwave_linux::{any_addresses, congestion, prepare_relayed};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use tokio::net::{TcpSocket, TcpStream};

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 4096;
/// Threads that resolve names.
pub(crate) const RESOLVERS: usize = 16;
/// Maximum number of them that resolve names for one host.
const RESOLVERS_OF_ONE: usize = 8;

/// Opens a socket that clients of the proxy connect to.
pub(crate) fn listen(at: SocketAddr) -> Result<std::net::TcpListener, Error> {
    open(at).map_err(|why| Error::Listen { at, why })
}

/// Opens sockets that accept connections to any address, one for each version of IP that this host
/// has.
pub(crate) fn listen_transparent(port: u16) -> Result<Vec<std::net::TcpListener>, Error> {
    let at = any_addresses().into_iter().map(|address| SocketAddr::new(address, port));
    let open = |at| fairwave_linux::listen_transparent(at).map_err(|why| Error::Listen { at, why });
    at.map(open).collect()
}

fn open(at: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if at.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn make_transparent(socket: &Socket, family: SocketAddr) -> io::Result<()> {
    match family {
        SocketAddr::V4(_) => socket.set_ip_transparent_v4(true),
        SocketAddr::V6(_) => socket.set_ip_transparent_v6(true),
    }
}

/// Options of a far leg.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leg {
    /// Source address and port that the server sees; the kernel chooses where `None`.
    pub(crate) from: Option<SocketAddr>,
    /// Congestion control algorithm; the kernel's default where `None`.
    pub(crate) congestion: Option<String>,
}

/// Whether an address is one of this host.
pub(crate) fn is_own(mut at: SocketAddr) -> bool {
    at.set_port(0);
    // Only a transparent socket may be bound to another.
    UdpSocket::bind(at).is_ok()
}

/// Threads that resolve names. A resolver cannot be interrupted, and one whose servers do not
/// answer takes some ten seconds. So lookups wait here and not in the runtime's queue: one whose
/// client does not wait any more is dropped, and no host takes all threads.
pub(crate) fn resolvers() -> Shares<IpAddr> {
    Shares::new(RESOLVERS, RESOLVERS_OF_ONE)
}

/// Resolves the addresses of a server for a client.
pub(crate) async fn resolve(
    server: &Server,
    client: IpAddr,
    resolvers: &Shares<IpAddr>,
) -> Result<Vec<SocketAddr>, Denied> {
    match server {
        Server::At(address) => Ok(vec![*address]),
        Server::Named(name, port) => {
            let (name, port) = (name.clone(), *port);
            let look_up = move || (name.as_str(), port).to_socket_addrs();
            let found = resolvers.run(host(client), look_up).await;
            let found = found.and_then(Result::ok).ok_or(Denied::NoAddress)?;
            let found: Vec<_> = found.collect();
            if found.is_empty() { Err(Denied::NoAddress) } else { Ok(found) }
        }
    }
}

/// Connects to a server. Returns the connection and whether it uses the requested congestion
/// control algorithm.
pub(crate) async fn connect(to: SocketAddr, leg: &Leg) -> io::Result<(TcpStream, bool)> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    let has_congestion_control = match &leg.congestion {
        Some(name) => congestion::set(&socket, name).is_ok(),
        None => true,
    };
    if let Some(from) = leg.from {
        // One client port may have connections to several servers at once, which the proxy binds in
        // turn.
        socket.set_reuse_address(true)?;
        make_transparent(&socket, from)?;
        socket.bind(&from.into())?;
    }
    let far = TcpSocket::from_std_stream(socket.into()).connect(to).await?;
    prepare_relayed(&far)?;
    options::bound_unsent(&far)?;
    Ok((far, has_congestion_control))
}
