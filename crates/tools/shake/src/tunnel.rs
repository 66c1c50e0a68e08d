//! TCP connections of applications inside streams.
//!
//! A stream begins as a connection to a SOCKS5 server (RFC 1928), which is the other end: it
//! answers, opens the connection to the target, and carries its bytes. The client's end sends the
//! method and the request together, so that they cost one round-trip time.

use crate::association::{self, Associations};
use crate::meter::{self, Test};
use fairwave_shake_host::{Session, Stream};
use fast_socks5::server::Socks5ServerProtocol;
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command, consts};
use ipnet::IpNet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional_with_sizes};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Bytes that are copied at once.
const PIECE: usize = 1 << 16;
/// Time for a target's answer to a connection attempt, and for a client's request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Method of SOCKS without authentication: the session has authenticated the peer.
const GREETING: [u8; 3] = [consts::SOCKS5_VERSION, 1, consts::SOCKS5_AUTH_METHOD_NONE];

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
        Err(why) => socks.reply_error(&why).await.map_err(io::Error::other),
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

/// Asks the other end to carry out a command for a target.
pub(crate) async fn request(
    mut stream: Stream,
    command: u8,
    target: &TargetAddr,
) -> Result<Stream, ReplyError> {
    let address = target.to_be_bytes().map_err(|_| ReplyError::AddressTypeNotSupported)?;
    let head = [consts::SOCKS5_VERSION, command, 0];
    let asked = [&GREETING[..], &head, &address].concat();
    let answered = async {
        stream.write_all(&asked).await?;
        let mut method = [0; 2];
        stream.read_exact(&mut method).await?;
        let mut reply = [0; 4];
        stream.read_exact(&mut reply).await?;
        let address_len = match reply[3] {
            consts::SOCKS5_ADDR_TYPE_IPV4 => 4,
            consts::SOCKS5_ADDR_TYPE_IPV6 => 16,
            _ => return Err(io::Error::from(io::ErrorKind::InvalidData)),
        };
        let mut bound = [0; 18];
        stream.read_exact(&mut bound[..address_len + 2]).await?;
        Ok(reply[1])
    };
    match answered.await {
        Ok(consts::SOCKS5_REPLY_SUCCEEDED) => Ok(stream),
        Ok(code) => Err(ReplyError::from_u8(code)),
        Err(_) => Err(ReplyError::NetworkUnreachable),
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
        Err(why) => {
            socks.reply_error(&why).await.map_err(io::Error::other)?;
            Err(io::Error::other(why))
        }
    }
}

/// Connects to the first address of a target that answers.
async fn open(target: &TargetAddr, allow: &[IpNet]) -> Result<TcpStream, ReplyError> {
    let addresses: Vec<SocketAddr> = match target {
        TargetAddr::Ip(address) => vec![*address],
        TargetAddr::Domain(name, port) => {
            let found = lookup_host((name.as_str(), *port)).await;
            found.map_err(|_| ReplyError::HostUnreachable)?.collect()
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
                // Bytes come in pieces of segments: none of them has to wait for the next.
                let _ = connection.set_nodelay(true);
                return Ok(connection);
            }
            Ok(Err(error)) => reply_of(&error),
            Err(_) => ReplyError::HostUnreachable,
        };
    }
    Err(failed)
}

/// Whether a target may be reached. An address of IPv4 in IPv6's form is that of IPv4.
pub(crate) fn is_allowed(address: IpAddr, allow: &[IpNet]) -> bool {
    let address = address.to_canonical();
    allow.is_empty() || allow.iter().any(|prefix| prefix.contains(&address))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_to_be_in_one_of_the_prefixes() {
        let allow: Vec<IpNet> = vec!["192.0.2.0/24".parse().unwrap(), "::1/128".parse().unwrap()];
        let allowed = |text: &str| is_allowed(text.parse().unwrap(), &allow);
        assert!(allowed("192.0.2.7") && allowed("::1") && allowed("::ffff:192.0.2.7"));
        assert!(!allowed("192.0.3.7") && !allowed("::2"));
        assert!(is_allowed("192.0.3.7".parse().unwrap(), &[]));
    }
}
