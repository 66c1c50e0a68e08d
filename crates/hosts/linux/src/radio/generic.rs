//! Generic netlink: a request and its answers, and messages to a multicast group
//! (`linux/genetlink.h`). `attributes` knows their contents.

use super::attributes::{Attributes, Field};
use netlink_packet_core::{
    DecodeError, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use nix::sys::socket::{setsockopt, sockopt::SetStruct};
use rustix::net::netlink::GENERIC;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[derive(Clone, Copy, Debug)]
struct AddMembership;
nix::setsockopt_impl!(
    AddMembership,
    libc::SOL_NETLINK,
    libc::NETLINK_ADD_MEMBERSHIP,
    u32,
    SetStruct<'_, u32>
);

/// Bytes of one read: the kernel's dumps come in pieces of at most 32 KiB.
const READ: usize = 32 * 1024;
/// Number of the family that knows the others, its command and its attributes.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const FAMILY_GROUPS: u16 = 7;
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;

/// A message of a family: a command and its attributes as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    family: u16,
    pub(super) command: u8,
    pub(super) body: Vec<u8>,
}

/// Maximum answer of the kernel at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    Done,
}

/// A socket of generic netlink and the family that it speaks with. It belongs to the network
/// namespace of the thread that opened it.
pub(super) struct Generic {
    socket: OwnedFd,
    sequence: u32,
    family: u16,
    groups: Vec<(String, u32)>,
}

impl Message {
    pub(super) fn attributes(&self) -> Attributes<'_> {
        Attributes::new(&self.body)
    }
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        4 + self.body.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        // After the command come the version, which nl80211 does not look at, and padding.
        buffer[..4].copy_from_slice(&[self.command, 1, 0, 0]);
        buffer[4..].copy_from_slice(&self.body);
    }
}

impl NetlinkDeserializable for Message {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let [command, _, _, _, body @ ..] = payload else {
            return Err(format!("a generic message of {} bytes", payload.len()).into());
        };
        Ok(Self { family: header.message_type, command: *command, body: body.to_vec() })
    }
}

impl Generic {
    /// A socket that asks the family of this name.
    ///
    /// # Errors
    ///
    /// If there is no such socket, or the kernel has no such family.
    pub(super) fn open(name: &str) -> io::Result<Self> {
        let kind = SocketType::RAW;
        let socket =
            socket_with(AddressFamily::NETLINK, kind, SocketFlags::CLOEXEC, Some(GENERIC))?;
        let mut generic = Self { socket, sequence: 0, family: CONTROL, groups: Vec::new() };
        let text = [name.as_bytes(), &[0]].concat();
        let answers = generic.ask(GET_FAMILY, &[Field::new(FAMILY_NAME, &text)], 0)?;
        let answer = answers.first().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let attributes = answer.attributes();
        let number = attributes.u16(FAMILY_ID);
        generic.family = number.ok_or_else(|| io::Error::other("a family without a number"))?;
        let groups = attributes.nested(FAMILY_GROUPS);
        let group =
            |(_, one): (u16, Attributes<'_>)| Some((one.text(GROUP_NAME)?, one.u32(GROUP_ID)?));
        generic.groups = groups.into_iter().flat_map(Attributes::each).filter_map(group).collect();
        Ok(generic)
    }

    /// Joins a group of the family, and never waits in [`Generic::received`] from now on.
    ///
    /// # Errors
    ///
    /// If the family has no such group, or the kernel refuses.
    pub(super) fn join(&mut self, name: &str) -> io::Result<()> {
        let found = self.groups.iter().find(|(known, _)| known == name);
        let none = || io::Error::other(format!("there is no group {name}"));
        let (_, number) = found.ok_or_else(none)?;
        // By its number: a bind has bits for the first 32 of all families alone.
        Ok(setsockopt(&self.socket, AddMembership, number)?)
    }

    /// Asks for one thing, or to do it.
    pub(super) fn one(&mut self, command: u8, fields: &[Field<'_>]) -> io::Result<Vec<Message>> {
        self.ask(command, fields, 0)
    }

    /// Asks for all that there is.
    pub(super) fn dump(&mut self, command: u8, fields: &[Field<'_>]) -> io::Result<Vec<Message>> {
        self.ask(command, fields, NLM_F_DUMP)
    }

    /// Messages that came to the groups; none if none waits.
    ///
    /// # Errors
    ///
    /// `ENOBUFS` if the kernel had to leave some out.
    pub(super) fn received(&self) -> io::Result<Vec<Message>> {
        let mut received = Vec::new();
        let mut buffer = vec![0; READ];
        loop {
            let (_, length) = match recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Err(rustix::io::Errno::AGAIN) => return Ok(received),
                other => other?,
            };
            for message in messages(&buffer[..length])? {
                if let NetlinkPayload::InnerMessage(message) = message.payload {
                    received.push(message);
                }
            }
        }
    }

    fn ask(&mut self, command: u8, fields: &[Field<'_>], flags: u16) -> io::Result<Vec<Message>> {
        self.sequence = self.sequence.wrapping_add(1);
        let body = fields.iter().flat_map(Field::bytes).collect();
        let message = Message { family: self.family, command, body };
        let payload = NetlinkPayload::InnerMessage(message);
        let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload);
        message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        send(&self.socket, &bytes, SendFlags::empty())?;
        let wanted = if flags & NLM_F_DUMP == 0 { Wanted::All } else { Wanted::Done };
        self.answers(wanted)
    }

    /// The answers to the last request.
    fn answers(&self, wanted: Wanted) -> io::Result<Vec<Message>> {
        let mut found = Vec::new();
        let mut buffer = vec![0; READ];
        loop {
            let (_, length) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            for message in messages(&buffer[..length])? {
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::InnerMessage(message) => found.push(message),
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        let number = error.raw_code().saturating_abs();
                        return Err(io::Error::from_raw_os_error(number));
                    }
                    NetlinkPayload::Done(done) if done.code < 0 => {
                        return Err(io::Error::from_raw_os_error(done.code.saturating_neg()));
                    }
                    NetlinkPayload::Done(_) => return Ok(found),
                    // The acknowledgement is the last answer, unless a dump is asked for.
                    NetlinkPayload::Error(_) if wanted == Wanted::All => return Ok(found),
                    _ => {}
                }
            }
        }
    }
}

impl AsFd for Generic {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The messages of one read.
pub(super) fn messages(bytes: &[u8]) -> io::Result<Vec<NetlinkMessage<Message>>> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let message = NetlinkMessage::deserialize(rest).map_err(io::Error::other)?;
        // Messages begin at multiples of four bytes; the last may be without padding.
        let taken = (message.header.length as usize).next_multiple_of(4);
        rest = rest.get(taken.max(4)..).unwrap_or_default();
        found.push(message);
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use crate::radio::generic::Generic;

    /// Groups are numbered over all families. Whether there is such a one depends on the machine.
    #[test]
    fn a_group_above_32_is_the_kernels_to_refuse() {
        let mut generic = Generic::open("nlctrl").unwrap();
        generic.join("notify").unwrap();
        generic.groups.push(("far".to_owned(), 33));
        if let Err(error) = generic.join("far") {
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{error}");
        }
        let error = generic.join("none").unwrap_err();
        assert_eq!(error.to_string(), "there is no group none");
    }
}
