//! Selection of connections.

use fairwave_trace::analysis::{Stream, StreamId};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// Name of a stream: `3` or `tcp:3` for a TCP connection, `udp:3` for UDP, `dccp:3` for DCCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamName(pub StreamId);

impl FromStr for StreamName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (protocol, number) = text.split_once(':').unwrap_or(("tcp", text));
        match (protocol, number.parse()) {
            ("tcp", Ok(number)) => Ok(Self(StreamId::Tcp(number))),
            ("udp", Ok(number)) => Ok(Self(StreamId::Udp(number))),
            ("dccp", Ok(number)) => Ok(Self(StreamId::Dccp(number))),
            _ => Err("expected a number as in the table, such as 3, udp:3 or dccp:3".to_owned()),
        }
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            StreamId::Tcp(number) => write!(f, "{number}"),
            StreamId::Udp(number) => write!(f, "udp:{number}"),
            StreamId::Dccp(number) => write!(f, "dccp:{number}"),
        }
    }
}

/// Selection of streams by names, hosts and ports. A stream has to match one entry of each list
/// that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names.
    pub streams: Vec<StreamName>,
    /// Addresses of either end.
    pub hosts: Vec<IpAddr>,
    /// Ports of either end.
    pub ports: Vec<u16>,
}

impl Selection {
    /// Whether the stream is selected.
    pub fn takes(&self, stream: &Stream) -> bool {
        (self.streams.is_empty() || self.names(stream.id)) && self.takes_ends(&stream.ends)
    }

    /// Whether streams between these ends are selected.
    pub fn takes_ends(&self, ends: &[SocketAddr; 2]) -> bool {
        let host = |end: &SocketAddr| self.hosts.contains(&end.ip());
        let port = |end: &SocketAddr| self.ports.contains(&end.port());
        (self.hosts.is_empty() || ends.iter().any(host))
            && (self.ports.is_empty() || ends.iter().any(port))
    }

    /// The requested hosts and ports in words, such as `host 10.0.0.1 and port 80 or 443`; `None`
    /// without any.
    pub(super) fn ends(&self) -> Option<String> {
        let hosts: Vec<String> = self.hosts.iter().map(IpAddr::to_string).collect();
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        let lists = [("host", hosts), ("port", ports)].into_iter();
        let given = lists.filter(|(_, list)| !list.is_empty());
        let words: Vec<String> =
            given.map(|(what, list)| format!("{what} {}", list.join(" or "))).collect();
        (!words.is_empty()).then(|| words.join(" and "))
    }

    /// Whether the stream was selected by its name, for which its events are kept.
    pub fn names(&self, id: StreamId) -> bool {
        self.streams.contains(&StreamName(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for (text, id) in
            [("3", StreamId::Tcp(3)), ("udp:0", StreamId::Udp(0)), ("dccp:1", StreamId::Dccp(1))]
        {
            let name: StreamName = text.parse().unwrap();
            assert_eq!((name.0, name.to_string()), (id, text.to_owned()));
        }
        assert_eq!("tcp:7".parse(), Ok(StreamName(StreamId::Tcp(7))));
        for wrong in ["", "udp", "udp:", "sctp:1", "-1", "4294967296"] {
            assert!(wrong.parse::<StreamName>().is_err(), "{wrong}");
        }
    }
}
