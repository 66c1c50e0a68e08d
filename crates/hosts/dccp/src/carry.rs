//! Conversion between packets of a connection and the bytes of a socket.

use bytes::Bytes;
use fairwave_dccp::Packet;
use fairwave_sockets::Incoming;
use fairwave_wire::dccp::{self, Kind, Options};
use fairwave_wire::pseudo::Pseudo;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Protocol below DCCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// IP, with protocol number 33.
    Ip,
    /// UDP (RFC 6773), which passes NATs and needs no privileges.
    Udp,
}

/// The remote end: its address, with the port of UDP if that is the protocol below, and its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// Port of DCCP.
    pub port: u16,
}

impl Peer {
    /// The end of no connection.
    pub(crate) const NOBODY: Self =
        Self { address: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0), port: 0 };
}

/// An address with the port of DCCP. One of IPv4 at a socket of both versions is one of IPv4.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut address = self.address;
        if address.ip().to_canonical().is_ipv4() {
            address = SocketAddr::new(address.ip().to_canonical(), 0);
        }
        address.set_port(self.port);
        address.fmt(f)
    }
}

/// The protocol number of DCCP.
pub(crate) const PROTOCOL: u8 = 33;

impl Over {
    /// Parses the packet in a datagram. `local` is the local address, which checks its checksum if
    /// the datagram does not state one. `None` if the packet is damaged: it gets no answer (RFC
    /// 4340 section 8.5, step 1).
    pub(crate) fn read(self, datagram: &Incoming, local: Option<IpAddr>) -> Option<Packet<Bytes>> {
        let bytes = &datagram.bytes;
        let read = match self {
            Self::Udp => dccp::parse_in_udp(bytes).ok()?,
            Self::Ip => {
                let to = datagram.to.or(local)?;
                dccp::parse(bytes, Pseudo::between(datagram.from.ip(), to)?).ok()?
            }
        };
        let kind = read.header.kind;
        let has_data = match kind {
            Kind::Data | Kind::DataAck { .. } => true,
            _ => kind.is_data_packet() && !read.payload.is_empty(),
        };
        Some(Packet {
            header: read.header,
            options: Options::from_bytes(read.options),
            ecn: datagram.ecn,
            payload: has_data.then(|| Bytes::copy_from_slice(read.payload)),
        })
    }

    /// Writes the bytes of a packet between two addresses; `None` if they cannot be written.
    pub(crate) fn write(
        self,
        packet: &Packet<Bytes>,
        from: Option<IpAddr>,
        to: SocketAddr,
    ) -> Option<Vec<u8>> {
        let Packet { header, options, payload, .. } = packet;
        let payload = payload.as_deref().unwrap_or_default();
        let mut bytes = Vec::with_capacity(header.wire_len() + payload.len());
        match self {
            Self::Udp => dccp::write_in_udp(&mut bytes, header, options, payload).ok()?,
            Self::Ip => {
                let pseudo = Pseudo::between(from?, to.ip())?;
                header.write(&mut bytes, pseudo, options, payload).ok()?;
            }
        }
        Some(bytes)
    }
}
