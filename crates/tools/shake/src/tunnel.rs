//! TCP connections of applications inside streams.
//!
//! A stream begins as a connection to a SOCKS5 server (RFC 1928), which is the other end: it
//! answers, opens the connection to the target, and carries its bytes. The client's end sends the
//! method and the request together, so that they cost one round-trip time.

use crate::association::{self, Associations};
use crate::limits::Limits;
use crate::meter::{self, Test};
use crate::names::addresses;
use crate::socks::{accept, is_allowed, refuse, request};
use fairwave_linux::{keep_on_close, prepare_relayed, reset_on_close};
use fairwave_shake_host::{Session, Stream};
use fast_socks5::server::Socks5ServerProtocol;
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command, consts};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::TcpStream;
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
    reset_on_close(&client);
    match request(stream, consts::SOCKS5_CMD_TCP_CONNECT, target).await {
        Ok(stream) => carry(client, stream).await,
        Err(why) => Err(io::Error::other(why)),
    }
}

/// The other end: fulfils a request within its limits.
///
/// # Errors
/// If the request is none, the target cannot be reached, or one of the two connections fails.
pub(crate) async fn serve(session: Session, mut stream: Stream, limits: &Limits) -> io::Result<()> {
    // A reset would overtake the reason of a refusal.
    stream.set_finish_on_drop(true);
    let asked = async {
        let socks = Socks5ServerProtocol::accept_no_auth(stream).await.map_err(io::Error::other)?;
        socks.read_command().await.map_err(io::Error::other)
    };
    let (socks, command, target) = timeout(PATIENCE, asked).await??;
    if let (Socks5Command::TCPConnect, Some((test, time))) = (&command, Test::of(&target)) {
        let Some(_place) = limits.tests.try_take(session.number()) else {
            return refuse(socks, ReplyError::GeneralFailure).await;
        };
        let none = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let stream = accept(socks, none).await?;
        return meter::serve(stream, test, time).await;
    }
    let opened = match command {
        Socks5Command::TCPConnect => open(&target, session.number(), limits).await,
        Socks5Command::UDPAssociate => {
            return association::relay(socks, &target, &session, limits).await;
        }
        Socks5Command::TCPBind => Err(ReplyError::CommandNotSupported),
    };
    match opened {
        Ok(target) => {
            let own = target.local_addr()?;
            let stream = accept(socks, own).await?;
            carry(target, stream).await
        }
        Err(why) => refuse(socks, why).await,
    }
}

/// Connects to the first address of a target that answers.
async fn open(
    target: &TargetAddr,
    session: usize,
    limits: &Limits,
) -> Result<TcpStream, ReplyError> {
    let addresses: Vec<SocketAddr> = match target {
        TargetAddr::Ip(address) => vec![*address],
        TargetAddr::Domain(name, port) => {
            let target = (name.clone(), *port);
            let found = addresses(&target, session, &limits.resolvers, PATIENCE).await;
            found.map_err(|_| ReplyError::HostUnreachable)?
        }
    };
    let mut failed = ReplyError::HostUnreachable;
    for address in addresses {
        if !is_allowed(address.ip(), &limits.allow) {
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

/// Copies both ways until both have ended. If one connection fails, or this end is stopped before,
/// the other is reset, so that a part is not taken for the whole.
async fn carry(mut tcp: TcpStream, mut stream: Stream) -> io::Result<()> {
    // A task that is dropped, or a process that is killed, cannot ask for the reset any more.
    reset_on_close(&tcp);
    copy_bidirectional_with_sizes(&mut tcp, &mut stream, PIECE, PIECE).await?;
    keep_on_close(&tcp);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_shake_host::{Config, Host, Psk, Udp};
    use fairwave_units::Duration;
    use fairwave_wire::seal::Key;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpSocket};

    /// A server and a client on loopback, and the client's session.
    async fn ends() -> (Host, Host, Session) {
        let config = Config::new(Psk::of(&Key::new(b"a secret of the two ends").unwrap()));
        let socket = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let server = Host::server(config.clone(), socket).unwrap();
        let at = server.address().unwrap();
        let client = Host::client(config).unwrap();
        client.path_up(0, Udp::over("lo", at).unwrap(), at);
        let session = client.connect(Duration::from_secs(60)).await.unwrap();
        (server, client, session)
    }

    /// Codes of RFC 1928 section 6, over a session on loopback.
    #[test]
    fn the_reason_of_a_refusal_reaches_the_other_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (server, _client, session) = ends().await;
            let limits = Limits::new(&["127.0.0.1/32".parse().unwrap()]);
            let taken: Vec<_> = (1000..).map_while(|other| limits.tests.try_take(other)).collect();
            assert!(!taken.is_empty());
            // A port that another program cannot get, where nobody listens.
            let closed = TcpSocket::new_v4().unwrap();
            closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let closed = TargetAddr::Ip(closed.local_addr().unwrap());
            let forbidden = TargetAddr::Ip("127.0.0.2:80".parse().unwrap());
            let no_flow = TargetAddr::Ip("[::1]:80".parse().unwrap());
            for (command, target, code) in [
                (consts::SOCKS5_CMD_TCP_CONNECT, closed, 5),
                (consts::SOCKS5_CMD_TCP_CONNECT, forbidden.clone(), 2),
                (consts::SOCKS5_CMD_TCP_CONNECT, Test::Source.target(1), 1),
                (consts::SOCKS5_CMD_UDP_ASSOCIATE, no_flow, 1),
                (consts::SOCKS5_CMD_TCP_BIND, forbidden.clone(), 7),
                (9, forbidden, 7),
            ] {
                let stream = session.open().unwrap();
                let served = async {
                    let stream = server.accept().await;
                    let session = server.session_of(&stream);
                    serve(session, stream, &limits).await
                };
                let (asked, served) = tokio::join!(request(stream, command, &target), served);
                assert_eq!(asked.unwrap_err().as_u8(), code, "{command} {target}");
                assert!(served.is_err(), "{command} {target}");
            }
        });
    }

    /// A session whose names no server answers for, and another one.
    #[test]
    fn a_session_resolves_names_while_another_has_all_its_threads() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let target = TargetAddr::Domain("localhost".to_owned(), port);
            let limits = Limits::new(&[]);
            let taken: Vec<_> = std::iter::from_fn(|| limits.resolvers.try_take(1)).collect();
            tokio::select! {
                _ = open(&target, 1, &limits) => panic!("it has no thread"),
                opened = open(&target, 2, &limits) => drop(opened.unwrap()),
            }
            drop(taken);
            open(&target, 1, &limits).await.unwrap();
        });
    }

    /// An upload of which the server has carried a part when it is stopped.
    #[test]
    fn a_connection_whose_task_is_dropped_is_reset() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (server, _client, session) = ends().await;
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let target = TargetAddr::Ip(listener.local_addr().unwrap());
            let limits = Limits::new(&[]);
            let served = async {
                let stream = server.accept().await;
                let session = server.session_of(&stream);
                serve(session, stream, &limits).await
            };
            let carried = async {
                let stream = session.open().unwrap();
                let opened = request(stream, consts::SOCKS5_CMD_TCP_CONNECT, &target);
                let (opened, accepted) = tokio::join!(opened, listener.accept());
                let (mut stream, mut connection) = (opened.unwrap(), accepted.unwrap().0);
                stream.write_all(b"a part").await.unwrap();
                let mut part = [0; 6];
                connection.read_exact(&mut part).await.unwrap();
                (stream, connection)
            };
            let (_stream, mut connection) = tokio::select! {
                carried = carried => carried,
                _ = served => panic!("the upload has not ended"),
            };
            let end = connection.read(&mut [0; 6]).await;
            assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        });
    }
}
