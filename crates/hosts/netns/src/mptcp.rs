//! Paths of the kernel's MPTCP: addresses from which it opens further subflows, by generic netlink
//! (`mptcp_pm`, `linux/mptcp_pm.h`).

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlaBuffer, NlasIterator,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

/// Maximum bytes of an answer: a family reports all of its operations.
const READ: usize = 8 * 1024;
/// Bytes of the header of generic netlink: command, version, and two that are reserved.
const HEADER_LEN: usize = 4;

/// The family that knows the numbers of all others (`GENL_ID_CTRL`).
const CONTROLLER: u16 = 16;
/// `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME` of `linux/genetlink.h`.
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// Commands and attributes of `linux/mptcp_pm.h`.
const ADD_ADDRESS: u8 = 1;
const SET_LIMITS: u8 = 5;
const ADDRESS: u16 = 1;
const LIMIT_OF_ANNOUNCED: u16 = 2;
const LIMIT_OF_SUBFLOWS: u16 = 3;
const ADDRESS_FAMILY: u16 = 1;
const ADDRESS_V4: u16 = 3;
const ADDRESS_FLAGS: u16 = 6;
/// An attribute that holds attributes (`NLA_F_NESTED`).
const NESTED: u16 = 1 << 15;
/// `MPTCP_PM_ADDR_FLAG_SUBFLOW`: connections open a subflow from this address.
const OPENS_SUBFLOWS: u32 = 1 << 1;
/// `AF_INET`.
const INET: u16 = 2;
/// Subflows beside the first that a connection may have (`MPTCP_PM_ADDR_MAX`).
pub(crate) const MAX_SUBFLOWS: usize = 8;

/// A message of generic netlink.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Generic {
    family: u16,
    command: u8,
    attributes: Vec<u8>,
}

impl NetlinkSerializable for Generic {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        HEADER_LEN + self.attributes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        // Families of both kinds that are used here have version 1.
        buffer[..HEADER_LEN].copy_from_slice(&[self.command, 1, 0, 0]);
        buffer[HEADER_LEN..].copy_from_slice(&self.attributes);
    }
}

impl NetlinkDeserializable for Generic {
    type Error = io::Error;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, io::Error> {
        let (head, attributes) = payload.split_first_chunk::<HEADER_LEN>().ok_or_else(mute)?;
        let (family, attributes) = (header.message_type, attributes.to_vec());
        Ok(Self { family, command: head[0], attributes })
    }
}

/// Lets connections of MPTCP in this namespace open a subflow from each of `addresses`, and take as
/// many from others as the kernel allows.
///
/// # Errors
/// The kernel has no MPTCP, or refuses an address.
pub(crate) fn announce(addresses: &[Ipv4Addr]) -> io::Result<()> {
    let kind = (SocketType::RAW, SocketFlags::CLOEXEC);
    let socket = socket_with(AddressFamily::NETLINK, kind.0, kind.1, Some(netlink::GENERIC))?;
    let family = family(&socket)?;
    let max = || (MAX_SUBFLOWS as u32).to_ne_bytes().to_vec();
    let limits =
        [DefaultNla::new(LIMIT_OF_ANNOUNCED, max()), DefaultNla::new(LIMIT_OF_SUBFLOWS, max())];
    ask(&socket, family, SET_LIMITS, &limits)?;
    for address in addresses {
        let about = [
            DefaultNla::new(ADDRESS_FAMILY, INET.to_ne_bytes().to_vec()),
            DefaultNla::new(ADDRESS_V4, address.octets().to_vec()),
            DefaultNla::new(ADDRESS_FLAGS, OPENS_SUBFLOWS.to_ne_bytes().to_vec()),
        ];
        let about = DefaultNla::new(ADDRESS | NESTED, bytes(&about));
        ask(&socket, family, ADD_ADDRESS, &[about])?;
    }
    Ok(())
}

/// The number of the family `mptcp_pm`, which differs from boot to boot.
fn family(socket: &OwnedFd) -> io::Result<u16> {
    let name = DefaultNla::new(FAMILY_NAME, b"mptcp_pm\0".to_vec());
    let answer = ask(socket, CONTROLLER, GET_FAMILY, &[name])?.ok_or_else(mute)?;
    for attribute in NlasIterator::new(&answer.attributes[..]) {
        let attribute: NlaBuffer<&[u8]> = attribute.map_err(io::Error::other)?;
        if attribute.kind() == FAMILY_ID
            && let Ok(number) = attribute.value().try_into()
        {
            return Ok(u16::from_ne_bytes(number));
        }
    }
    Err(mute())
}

/// Sends a request and waits until the kernel has done it; returns its report beside that, if any.
fn ask(
    socket: &OwnedFd,
    family: u16,
    command: u8,
    attributes: &[DefaultNla],
) -> io::Result<Option<Generic>> {
    let payload = Generic { family, command, attributes: bytes(attributes) };
    let payload = NetlinkPayload::InnerMessage(payload);
    let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK;
    message.finalize();
    let mut request = vec![0; message.buffer_len()];
    message.serialize(&mut request);
    send(socket, &request, SendFlags::empty())?;
    let mut reported = None;
    loop {
        let mut buffer = vec![0; READ];
        let (_, length) = recv(socket, &mut buffer[..], RecvFlags::empty())?;
        let answer = NetlinkMessage::<Generic>::deserialize(&buffer[..length]);
        match answer.map_err(io::Error::other)?.payload {
            NetlinkPayload::InnerMessage(answer) => reported = Some(answer),
            NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
            NetlinkPayload::Error(_) => return Ok(reported),
            _ => {}
        }
    }
}

/// Attributes one after the other, as the kernel reads them.
fn bytes(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

fn mute() -> io::Error {
    io::Error::other("the kernel does not answer")
}
