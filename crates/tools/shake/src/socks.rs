//! Requests of SOCKS5 (RFC 1928) inside streams, and the targets that a server allows.

use fairwave_shake_host::Stream;
use fast_socks5::server::{Socks5ServerProtocol, states::CommandRead};
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, consts};
use ipnet::IpNet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Method of SOCKS without authentication: the session has authenticated the peer.
const GREETING: [u8; 3] = [consts::SOCKS5_VERSION, 1, consts::SOCKS5_AUTH_METHOD_NONE];

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
        // Codes beyond these are not assigned (RFC 1928 section 6).
        Ok(code @ 1..=8) => Err(ReplyError::from_u8(code)),
        Ok(_) => Err(ReplyError::GeneralFailure),
        Err(_) => Err(ReplyError::NetworkUnreachable),
    }
}

/// Whether a target may be reached. An address of IPv4 in IPv6's form is that of IPv4.
pub(crate) fn is_allowed(address: IpAddr, allow: &[IpNet]) -> bool {
    let address = address.to_canonical();
    allow.is_empty() || allow.iter().any(|prefix| prefix.contains(&address))
}

/// Replies to the peer that its request is fulfilled; `own` is this end's address. From now on a
/// drop resets the stream, so that a part is not taken for the whole.
///
/// # Errors
/// If the reply cannot be written.
pub(crate) async fn accept(
    socks: Socks5ServerProtocol<Stream, CommandRead>,
    own: SocketAddr,
) -> io::Result<Stream> {
    let mut stream = socks.reply_success(own).await.map_err(io::Error::other)?;
    stream.set_finish_on_drop(false);
    Ok(stream)
}

/// Replies with the reason for which a request is not fulfilled. The connection has failed with
/// that.
///
/// # Errors
/// Always: `why`, or the error of the application's connection.
pub(crate) async fn refuse<T: AsyncRead + AsyncWrite + Unpin>(
    socks: Socks5ServerProtocol<T, CommandRead>,
    why: ReplyError,
) -> io::Result<()> {
    socks.reply_error(&why).await.map_err(io::Error::other)?;
    Err(io::Error::other(why))
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
