//! Ends of a relay, such as `udp:127.0.0.1:5004` and `dccp:laptop.lan:5004`.

use crate::PORT;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// An end of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Datagrams of an application over UDP.
    Udp(SocketAddr),
    /// A connection of DCCP: a host, an address, a port, or both.
    Dccp {
        /// Host or address, if there is one.
        host: Option<String>,
        /// Port of DCCP, if there is one.
        port: Option<u16>,
    },
}

impl Place {
    /// The address at which a relay listens for connections.
    ///
    /// # Errors
    /// If the host is no address of IP.
    pub(crate) fn listening(host: Option<&str>, port: Option<u16>) -> Result<SocketAddr, String> {
        let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let address = host.map_or(Ok(any), |host| {
            host.parse().map_err(|_| {
                format!("--from dccp:{host}: an address of this host is needed, or none for all")
            })
        });
        Ok(SocketAddr::new(address?, port.unwrap_or(PORT)))
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let forms = "expected udp:ADDRESS:PORT or dccp:HOST[:PORT], such as udp:127.0.0.1:5004";
        match text.split_once(':') {
            Some(("udp", rest)) => match rest.parse::<SocketAddr>() {
                Ok(address) if address.port() > 0 => Ok(Self::Udp(address)),
                Ok(_) => Err("the port of UDP has to be above 0".to_owned()),
                Err(_) => Err(forms.to_owned()),
            },
            Some(("dccp", rest)) => dccp(rest).ok_or_else(|| forms.to_owned()),
            _ => Err(forms.to_owned()),
        }
    }
}

/// A host, a port, or both. Addresses of IPv6 are in brackets where a port follows.
fn dccp(text: &str) -> Option<Place> {
    let place = |host: &str, port| {
        let host = host.trim_matches(['[', ']']);
        Place::Dccp { host: (!host.is_empty()).then(|| host.to_owned()), port }
    };
    if let Ok(port) = text.parse::<u16>() {
        return (port > 0).then(|| place("", Some(port)));
    }
    if text.parse::<Ipv6Addr>().is_ok() || text.ends_with(']') {
        return Some(place(text, None));
    }
    match text.rsplit_once(':') {
        Some((host, port)) => {
            let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
            let is_six = host.contains(':');
            (!is_six || (host.starts_with('[') && host.ends_with(']')))
                .then(|| place(host, Some(port)))
        }
        None => (!text.is_empty()).then(|| place(text, None)),
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp:{address}"),
            Self::Dccp { host, port } => {
                let host = host.as_deref().unwrap_or("");
                let port = port.map_or(String::new(), |port| port.to_string());
                let is_six = host.contains(':') && !port.is_empty();
                let (left, right) = if is_six { ("[", "]") } else { ("", "") };
                let colon = if host.is_empty() || port.is_empty() { "" } else { ":" };
                write!(f, "dccp:{left}{host}{right}{colon}{port}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_shown_alike() {
        let of = |host: Option<&str>, port| Place::Dccp { host: host.map(str::to_owned), port };
        for (text, place) in [
            ("udp:127.0.0.1:5004", Place::Udp(([127, 0, 0, 1], 5004).into())),
            ("udp:[::1]:5004", Place::Udp(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 5004))),
            ("dccp:5004", of(None, Some(5004))),
            ("dccp:laptop.lan", of(Some("laptop.lan"), None)),
            ("dccp:laptop.lan:7", of(Some("laptop.lan"), Some(7))),
            ("dccp:192.0.2.7:7", of(Some("192.0.2.7"), Some(7))),
            ("dccp:2001:db8::7", of(Some("2001:db8::7"), None)),
            ("dccp:[2001:db8::7]:9", of(Some("2001:db8::7"), Some(9))),
        ] {
            assert_eq!(text.parse(), Ok(place.clone()), "{text}");
            assert_eq!(place.to_string(), text);
        }
        for wrong in ["", "5004", "tcp:1.2.3.4:5", "udp:5004", "udp:lo:1", "udp:127.0.0.1:0"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
        for wrong in ["dccp:", "dccp:0", "dccp:a:b", "dccp:a:0", "dccp:1::2::3:4"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_listener_needs_an_address() {
        assert_eq!(Place::listening(None, None).map(|at| at.port()), Ok(PORT));
        assert!(Place::listening(Some("::1"), Some(5)).is_ok());
        assert!(Place::listening(Some("laptop.lan"), None).is_err());
    }
}
