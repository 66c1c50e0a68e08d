//! TCP connections of applications inside streams.
//!
//! A stream begins as a connection to a SOCKS5 server (RFC 1928), which is the other end: it
//! answers, opens the connection to the target, and carries its bytes. The client's end sends the
//! method and the request together, so that they cost one round-trip time.

use crate::association::{self, Associations};
use crate::meter::{self, Test};
use crate::names::addresses;
use crate::socks::{is_allowed, refuse, request};
use fairwave_linux::prepare_relayed;
use fairwave_shake_host::{Session, Stream};
use fast_socks5::server::Socks5ServerProtocol;
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command, consts};
use ipnet::IpNet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Bytes that are copied at once.
const PIECE: usize = 1 << 16;
/// Time for the addresses of a target, for its answer to a connection attempt, and for a client's
/// request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads an application's request on its connection, has it fulfilled over `stream`, and carries
/// the bytes.
///
/// # Errors
/// If the request is none, the target cannot be reached, or one of the two connections fails.
pub(crate) async fn from_socks(
    client: TcpStream,
    session: Session,
    stream: Stream,
    associations: &Associations,
) -> io::Result<()> {
    let addresses = [client.local_addr()?, client.peer_addr()?];
    let asked = async {
        let socks = Socks5ServerProtocol::accept_no_auth(client).await.map_err(io::Error::other)?;
        socks.read_command().await.map_err(io::Error::other)
    };
    let (socks, command, target) = timeout(PATIENCE, asked).await??;
    match command {
        Socks5Command::TCPConnect => {}
        Socks5Command::UDPAssociate => {
            return association::offer(socks, addresses, session, stream, associations).await;
        }
        Socks5Command::TCPBind => {
            let refused = socks.reply_error(&ReplyError::CommandNotSupported).await;
            return refused.map_err(io::Error::other);
        }
    }
    match request(stream, consts::SOCKS5_CMD_TCP_CONNECT, &target).await {
        Ok(stream) => {
            // The address that the target sees is the other end's, which SOCKS lets us leave out.
            let none = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            let client = socks.reply_success(none).await.map_err(io::Error::other)?;
            carry(client, stream).await
        }
        Err(why) => refuse(socks, why).await,
    }
}

/// Carries a connection to a fixed target.
///
/// # Errors
/// If the target cannot be reached, or one of the two connections fails.
pub(crate) async fn to_target(
    client: TcpStream,
    stream: Stream,
    target: &TargetAddr,
) -> io::Result<()> {
    match request(stream, consts::SOCKS5_CMD_TCP_CONNECT, target).await {
        Ok(stream) => carry(client, stream).await,
        Err(why) => {
            client.set_zero_linger()?;
            Err(io::Error::other(why))
        }
    }
}

/// The other end: fulfils a request, if the target is one of `allow`, or `allow` is empty.
///
/// # Errors
/// If the request is none, the target cannot be reached, or one of the two connections fails.
pub(crate) async fn serve(
    session: Session,
    stream: Stream,
    allow: &[IpNet],
    associations: &Associations,
    tests: &Semaphore,
) -> io::Result<()> {
    let asked = async {
        let socks = Socks5ServerProtocol::accept_no_auth(stream).await.map_err(io::Error::other)?;
        socks.read_command().await.map_err(io::Error::other)
    };
    let (socks, command, target) = timeout(PATIENCE, asked).await??;
    if let (Socks5Command::TCPConnect, Some((test, time))) = (&command, Test::of(&target)) {
        let Ok(_place) = tests.try_acquire() else {
            return socks.reply_error(&ReplyError::GeneralFailure).await.map_err(io::Error::other);
        };
        let none = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let stream = socks.reply_success(none).await.map_err(io::Error::other)?;
        return meter::serve(stream, test, time).await;
    }
    let opened = match command {
        Socks5Command::TCPConnect => open(&target, allow).await,
        Socks5Command::UDPAssociate => {
            return association::relay(socks, &target, &session, allow, associations).await;
        }
        Socks5Command::TCPBind => Err(ReplyError::CommandNotSupported),
    };
    match opened {
        Ok(target) => {
            let own = target.local_addr()?;
            let stream = socks.reply_success(own).await.map_err(io::Error::other)?;
            carry(target, stream).await
        }
        Err(why) => refuse(socks, why).await,
    }
}

/// Connects to the first address of a target that answers.
async fn open(target: &TargetAddr, allow: &[IpNet]) -> Result<TcpStream, ReplyError> {
    let addresses: Vec<SocketAddr> = match target {
        TargetAddr::Ip(address) => vec![*address],
        TargetAddr::Domain(name, port) => {
            let found = addresses(name, *port, PATIENCE).await;
            found.map_err(|_| ReplyError::HostUnreachable)?
        }
    };
    let mut failed = ReplyError::HostUnreachable;
    for address in addresses {
        if !is_allowed(address.ip(), allow) {
            failed = ReplyError::ConnectionNotAllowed;
            continue;
        }
        failed = match timeout(PATIENCE, TcpStream::connect(address)).await {
            Ok(Ok(connection)) => {
                let _ = prepare_relayed(&connection);
                return Ok(connection);
            }
            Ok(Err(error)) => reply_of(&error),
            Err(_) => ReplyError::HostUnreachable,
        };
    }
    Err(failed)
}

fn reply_of(error: &io::Error) -> ReplyError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => {
            ReplyError::ConnectionRefused
        }
        io::ErrorKind::NetworkUnreachable => ReplyError::NetworkUnreachable,
        io::ErrorKind::HostUnreachable | io::ErrorKind::TimedOut => ReplyError::HostUnreachable,
        _ => ReplyError::GeneralFailure,
    }
}

/// Copies both ways until both have ended. If one connection fails, the other is reset, so that
/// a part is not taken for the whole.
async fn carry(mut tcp: TcpStream, mut stream: Stream) -> io::Result<()> {
    let copied = copy_bidirectional_with_sizes(&mut tcp, &mut stream, PIECE, PIECE).await;
    if copied.is_err() {
        tcp.set_zero_linger()?;
    }
    copied.map(|_| ())
}
