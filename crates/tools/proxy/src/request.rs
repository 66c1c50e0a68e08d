//! Requests of clients by SOCKS5 or HTTP CONNECT on the same port, and their replies.
//!
//! The first byte distinguishes the protocols: a SOCKS5 client begins with 5, which no HTTP method
//! does. Where the proxy has users, a client authenticates by name and password: as in RFC 1929, or
//! by the Basic scheme (RFC 7617).

use crate::users::Users;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fast_socks5::server::{Socks5ServerProtocol, SocksServerError, states::CommandRead};
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command};
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Maximum length of the head of a CONNECT request, in bytes.
const HEAD_BYTES: usize = 8192;
/// Status of a request without valid credentials, and the header field that it needs (RFC 9110
/// section 15.5.8).
const AUTHENTICATION_REQUIRED: &str =
    "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"fairwave proxy\"";
/// Maximum number of header fields of a request.
const FIELDS: usize = 64;

/// The server that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// By its address and port.
    At(SocketAddr),
    /// By its name and port.
    Named(String, u16),
}

/// A request that waits for its reply. `S` is the connection with the client.
pub struct Request<S = TcpStream> {
    /// The requested server.
    pub server: Server,
    asked: Handshake<S>,
}

enum Handshake<S> {
    Socks(Socks5ServerProtocol<S, CommandRead>),
    Connect(S, Vec<u8>),
}

/// Reason for which no request was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The request is not valid, or the connection failed.
    Malformed,
    /// The client did not authenticate as one of the proxy's users.
    Unauthenticated,
}

impl From<io::Error> for Rejected {
    fn from(_: io::Error) -> Self {
        Self::Malformed
    }
}

impl From<SocksServerError> for Rejected {
    fn from(error: SocksServerError) -> Self {
        match error {
            SocksServerError::AuthenticationRejected => Self::Unauthenticated,
            _ => Self::Malformed,
        }
    }
}

/// Reason for which a request is denied. If several addresses have different reasons, the client is
/// sent the greatest: a refusal by the server, for example, rather than a missing route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denied {
    /// The name cannot be resolved.
    NoAddress,
    /// The proxy itself lacks something for the connection, such as a free port.
    Failed,
    /// There is no route to the server's network.
    NoRoute,
    /// A router reports that the server cannot be reached.
    Unreachable,
    /// The server does not answer.
    Silent,
    /// The server refuses the connection.
    Refused,
    /// No capacity is left for the target.
    Busy,
    /// The client may not reach this server.
    NotAllowed,
}

impl Denied {
    /// Maps the error of a connection attempt to the reason.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Self::Refused,
            io::ErrorKind::TimedOut => Self::Silent,
            io::ErrorKind::HostUnreachable => Self::Unreachable,
            io::ErrorKind::NetworkUnreachable => Self::NoRoute,
            _ => Self::Failed,
        }
    }

    /// Reply of RFC 1928 section 6. It has no code for a timeout. Clients take "TTL expired" for a
    /// routing loop, so that a server without an answer is an unreachable host.
    fn in_socks(self) -> ReplyError {
        match self {
            Self::NotAllowed | Self::Busy => ReplyError::ConnectionNotAllowed,
            Self::NoAddress | Self::Unreachable | Self::Silent => ReplyError::HostUnreachable,
            Self::Refused => ReplyError::ConnectionRefused,
            Self::NoRoute => ReplyError::NetworkUnreachable,
            Self::Failed => ReplyError::GeneralFailure,
        }
    }

    fn in_http(self) -> &'static str {
        match self {
            Self::NotAllowed => "403 Forbidden",
            Self::Busy | Self::Failed => "503 Service Unavailable",
            Self::Silent => "504 Gateway Timeout",
            Self::NoAddress | Self::Refused | Self::NoRoute | Self::Unreachable => {
                "502 Bad Gateway"
            }
        }
    }
}

impl Request {
    /// Reads a request. Where the protocol has a reply for the fault, the client was sent it.
    pub(crate) async fn read(client: TcpStream, users: Option<&Users>) -> Result<Self, Rejected> {
        let mut first = [0];
        match client.peek(&mut first).await? {
            0 => Err(Rejected::Malformed),
            _ => Self::read_from(client, first[0], users).await,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Request<S> {
    /// Reads a request whose first byte is `first`; that byte is still to be read. The client has
    /// to be one of `users`, if there are any.
    ///
    /// # Errors
    ///
    /// If the request is not valid, or the connection fails. Where the protocol has a reply for the
    /// fault, the client was sent it.
    pub async fn read_from(client: S, first: u8, users: Option<&Users>) -> Result<Self, Rejected> {
        match first {
            fast_socks5::consts::SOCKS5_VERSION => read_socks(client, users).await,
            _ => read_connect(client, users).await,
        }
    }

    /// Grants the request. Returns the client's connection, and the data that the client sent after
    /// its request. `far` is the proxy's address towards the server, which the SOCKS5 reply
    /// contains.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    pub async fn grant(self, far: SocketAddr) -> io::Result<(S, Vec<u8>)> {
        match self.asked {
            Handshake::Socks(socks) => {
                let near = socks.reply_success(far).await.map_err(io::Error::other)?;
                Ok((near, Vec::new()))
            }
            Handshake::Connect(mut near, early) => {
                near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                Ok((near, early))
            }
        }
    }

    /// Denies the request, with a reply.
    pub(crate) async fn deny(self, why: Denied) -> io::Result<()> {
        match self.asked {
            Handshake::Socks(socks) => {
                socks.reply_error(&why.in_socks()).await.map_err(io::Error::other)
            }
            Handshake::Connect(near, _) => refuse(near, why.in_http()).await,
        }
    }
}

/// Reads a SOCKS5 request. The negotiation accepts one method: no authentication, or name and
/// password if there are users.
async fn read_socks<S: AsyncRead + AsyncWrite + Unpin>(
    client: S,
    users: Option<&Users>,
) -> Result<Request<S>, Rejected> {
    let socks = match users {
        None => Socks5ServerProtocol::accept_no_auth(client).await?,
        Some(users) => {
            let have = |name: String, password: String| users.have(&name, &password);
            let accepted = Socks5ServerProtocol::accept_password_auth(client, have).await;
            accepted.map_err(without_password)?.0
        }
    };
    let (socks, command, address) = socks.read_command().await?;
    if !matches!(command, Socks5Command::TCPConnect) {
        // The client may already be gone; the request is refused in either case.
        let _ = socks.reply_error(&ReplyError::CommandNotSupported).await;
        return Err(Rejected::Malformed);
    }
    let server = match address {
        TargetAddr::Ip(address) => Server::At(canonical(address)),
        TargetAddr::Domain(name, port) => named(&name, port),
    };
    Ok(Request { server, asked: Handshake::Socks(socks) })
}

/// A client that offers no password to a proxy with users does not authenticate.
fn without_password(error: SocksServerError) -> Rejected {
    match error {
        SocksServerError::AuthMethodUnacceptable(_) => Rejected::Unauthenticated,
        other => other.into(),
    }
}

async fn read_connect<S: AsyncRead + AsyncWrite + Unpin>(
    mut client: S,
    users: Option<&Users>,
) -> Result<Request<S>, Rejected> {
    let mut head = Vec::new();
    loop {
        let room = (HEAD_BYTES - head.len()) as u64;
        if (&mut client).take(room).read_buf(&mut head).await? == 0 {
            refuse(client, "431 Request Header Fields Too Large").await?;
            return Err(Rejected::Malformed);
        }
        match parse_connect(&head, users) {
            Parsed::More => {}
            Parsed::Wrong(status) => {
                refuse(client, status).await?;
                return Err(Rejected::Malformed);
            }
            Parsed::Unauthenticated => {
                refuse(client, AUTHENTICATION_REQUIRED).await?;
                return Err(Rejected::Unauthenticated);
            }
            Parsed::Wanted(server, length) => {
                let early = head.split_off(length);
                return Ok(Request { server, asked: Handshake::Connect(client, early) });
            }
        }
    }
}

async fn refuse(mut client: impl AsyncWrite + Unpin, status: &str) -> io::Result<()> {
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

/// State of the first bytes of a request.
#[derive(Debug, PartialEq, Eq)]
enum Parsed {
    /// The head is incomplete; more bytes are needed.
    More,
    /// The request is refused with this status.
    Wrong(&'static str),
    /// The request lacks the name and the password of a user.
    Unauthenticated,
    /// The requested server, and the length of the head.
    Wanted(Server, usize),
}

fn parse_connect(head: &[u8], users: Option<&Users>) -> Parsed {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(head) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Parsed::More,
        Err(_) => return Parsed::Wrong("400 Bad Request"),
    };
    if users.is_some_and(|users| !is_of_a_user(users, request.headers)) {
        return Parsed::Unauthenticated;
    }
    match (request.method, request.path.and_then(authority)) {
        (Some("CONNECT"), Some(server)) => Parsed::Wanted(server, length),
        (Some("CONNECT"), None) => Parsed::Wrong("400 Bad Request"),
        _ => Parsed::Wrong("405 Method Not Allowed"),
    }
}

/// Whether a header field has the name and the password of a user, in the Basic scheme.
fn is_of_a_user(users: &Users, fields: &[httparse::Header<'_>]) -> bool {
    let field = fields.iter().find(|field| field.name.eq_ignore_ascii_case("Proxy-Authorization"));
    let credentials = field.and_then(|field| {
        let (scheme, encoded) = std::str::from_utf8(field.value).ok()?.split_once(' ')?;
        let decoded = STANDARD.decode(encoded.trim()).ok()?;
        scheme.eq_ignore_ascii_case("Basic").then_some(String::from_utf8(decoded).ok()?)
    });
    let credentials = credentials.unwrap_or_default();
    credentials.split_once(':').is_some_and(|(name, password)| users.have(name, password))
}

/// Parses `host:port`, as defined in RFC 9110 section 9.3.6.
fn authority(text: &str) -> Option<Server> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(Server::At(canonical(address)));
    }
    let (name, port) = text.rsplit_once(':')?;
    let is_name = !name.is_empty() && !name.contains(['/', '@', ':', '[', ']']);
    is_name.then_some(named(name, port.parse().ok()?))
}

/// A server by name, or by address if the client gave an address as a name.
fn named(name: &str, port: u16) -> Server {
    match name.parse::<IpAddr>() {
        Ok(address) => Server::At(SocketAddr::new(address.to_canonical(), port)),
        Err(_) => Server::Named(name.to_owned(), port),
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(four) => SocketAddr::new(four.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Server {
        Server::At(text.parse().expect("an address"))
    }

    #[test]
    fn connect_names_a_server_and_what_follows_is_the_clients_data() {
        let head = b"CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03";
        assert_eq!(parse_connect(head, None), Parsed::Wanted(at("192.0.2.1:443"), head.len() - 2));
        assert_eq!(parse_connect(&head[..20], None), Parsed::More);
        let of = |target: &str| {
            let head = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
            match parse_connect(head.as_bytes(), None) {
                Parsed::Wanted(server, _) => Some(server),
                _ => None,
            }
        };
        assert_eq!(of("[2001:db8::1]:80"), Some(at("[2001:db8::1]:80")));
        assert_eq!(of("[::ffff:192.0.2.1]:80"), Some(at("192.0.2.1:80")));
        assert_eq!(of("example.org:80"), Some(Server::Named("example.org".to_owned(), 80)));
        for wrong in ["example.org", ":80", "example.org:99999", "a/b:80", "u@h:80", "[::1:80"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn other_requests_are_refused() {
        let get = b"GET http://example.org/ HTTP/1.1\r\n\r\n";
        assert_eq!(parse_connect(get, None), Parsed::Wrong("405 Method Not Allowed"));
        assert_eq!(parse_connect(b"\x04\x01\0\0\r\n\r\n", None), Parsed::Wrong("400 Bad Request"));
    }

    #[test]
    fn a_request_has_the_name_and_the_password_of_a_user() {
        let users = Users::parse("ann:s3cret\n").expect("valid");
        let wanted = |field: &str| {
            let head = format!("CONNECT example.org:80 HTTP/1.1\r\n{field}\r\n");
            parse_connect(head.as_bytes(), Some(&users))
        };
        // "ann:s3cret" and "ann:other" in Base64.
        for field in [
            "Proxy-Authorization: Basic YW5uOnMzY3JldA==\r\n",
            "PROXY-authorization: basic YW5uOnMzY3JldA==\r\n",
        ] {
            assert!(matches!(wanted(field), Parsed::Wanted(..)), "{field}");
        }
        for field in [
            "",
            "Authorization: Basic YW5uOnMzY3JldA==\r\n",
            "Proxy-Authorization: Basic YW5uOm90aGVy\r\n",
            "Proxy-Authorization: Basic YW5u\r\n",
            "Proxy-Authorization: Bearer YW5uOnMzY3JldA==\r\n",
            "Proxy-Authorization: Basic ====\r\n",
        ] {
            assert_eq!(wanted(field), Parsed::Unauthenticated, "{field}");
        }
    }
}
