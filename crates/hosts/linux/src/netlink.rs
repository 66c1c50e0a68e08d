//! Links, addresses and routes of one network namespace, by netlink.

use crate::Prefix;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, LinkMode, State,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily as Family, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Type of a message that acknowledges or refuses: `NLMSG_ERROR`.
pub const ERROR: u16 = 2;
/// Type of the message that ends a dump: `NLMSG_DONE`.
pub const DONE: u16 = 3;
/// Bytes of the header of a message.
const HEADER: usize = 16;
/// Bytes of one read; the kernel's dumps come in pieces of at most 32 KiB.
const READ: usize = 32 * 1024;

/// A netlink socket. It belongs to the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket of the route family.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn open() -> io::Result<Self> {
        // NETLINK_ROUTE is protocol 0, the default.
        let socket = socket_with(Family::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Index of the interface of that name.
    pub fn index(&self, name: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(&self.socket, name)?)
    }

    /// Whether there is an interface of this number.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn has(&self, index: u32) -> io::Result<bool> {
        Ok(self.name(index)?.is_some())
    }

    /// The present name of the interface of this number; `None` if there is none.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn name(&self, index: u32) -> io::Result<Option<String>> {
        match rustix::net::netdevice::index_to_name(&self.socket, index) {
            Ok(name) => Ok(Some(name)),
            Err(Errno::NODEV) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sets an interface up.
    pub fn up(&mut self, index: u32) -> io::Result<()> {
        let mut link = link(index);
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Sets the MTU in bytes and the length of the transmit queue in packets.
    pub fn size(&mut self, index: u32, mtu: u32, txqueuelen: u32) -> io::Result<()> {
        let mut link = link(index);
        link.attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(txqueuelen)];
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Sets the length of the transmit queue in packets.
    pub fn length_of_queue(&mut self, index: u32, packets: u32) -> io::Result<()> {
        let mut link = link(index);
        link.attributes = vec![LinkAttribute::TxQueueLen(packets)];
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Gives an interface an address, at once usable (no duplicate address detection).
    pub fn address(&mut self, index: u32, prefix: Prefix) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(prefix.address);
        message.header.prefix_len = prefix.length;
        message.header.scope = AddressScope::Universe;
        message.header.index = index;
        if prefix.address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        message.attributes = vec![
            AddressAttribute::Address(prefix.address),
            AddressAttribute::Local(prefix.address),
        ];
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Adds a route by an interface. With `quick_acks`, TCP delays no ACK on it.
    pub fn route(
        &mut self,
        index: u32,
        to: Prefix,
        gateway: Option<IpAddr>,
        quick_acks: bool,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(to.address),
            destination_prefix_length: to.length,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: if gateway.is_some() { RouteScope::Universe } else { RouteScope::Link },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes.push(RouteAttribute::Oif(index));
        if to.length > 0 {
            message.attributes.push(RouteAttribute::Destination(to.address.into()));
        }
        message.attributes.extend(gateway.map(|via| RouteAttribute::Gateway(via.into())));
        if quick_acks {
            message.attributes.push(RouteAttribute::Metrics(vec![RouteMetric::QuickAck(1)]));
        }
        self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Makes a pair of veth: `here` in this namespace, `there` in the one that is open.
    pub fn veth(&mut self, here: &str, there: &str, namespace: BorrowedFd<'_>) -> io::Result<()> {
        let mut peer = LinkMessage::default();
        peer.attributes = vec![
            LinkAttribute::IfName(there.to_owned()),
            LinkAttribute::NetNsFd(namespace.as_raw_fd()),
        ];
        let mut link = LinkMessage::default();
        link.attributes = vec![
            LinkAttribute::IfName(here.to_owned()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
            ]),
        ];
        self.ask(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Deletes an interface.
    pub fn delete(&mut self, index: u32) -> io::Result<()> {
        self.ask(RouteNetlinkMessage::DelLink(link(index)), 0)
    }

    /// The link address of an interface, six bytes.
    pub fn link_address(&mut self, index: u32) -> io::Result<[u8; 6]> {
        let found = self.attribute(index, |attribute| match attribute {
            LinkAttribute::Address(bytes) => <[u8; 6]>::try_from(bytes).ok(),
            _ => None,
        })?;
        found.ok_or_else(|| io::Error::other("it has no link address of six bytes"))
    }

    /// Gives an interface a link address.
    pub fn set_link_address(&mut self, index: u32, address: [u8; 6]) -> io::Result<()> {
        let mut link = link(index);
        link.attributes = vec![LinkAttribute::Address(address.to_vec())];
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// The MTU of an interface in bytes.
    pub fn mtu(&mut self, index: u32) -> io::Result<u32> {
        let found = self.attribute(index, |attribute| match attribute {
            LinkAttribute::Mtu(mtu) => Some(mtu),
            _ => None,
        })?;
        found.ok_or_else(|| io::Error::other("the kernel reports no MTU"))
    }

    /// Has the kernel act at once on a change of an interface's carrier: it answers a question
    /// about the link only then (since Linux 6.8), and would otherwise notify processes up to a
    /// second later.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn settle(&mut self, index: u32) -> io::Result<()> {
        self.attribute(index, |_| None::<()>).map(drop)
    }

    /// Sets whether an interface is dormant (RFC 2863): its carrier is there, packets pass its
    /// queue, and `IFF_RUNNING` is not set, as where a supplicant has still to authenticate.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set_dormant(&mut self, index: u32, is_dormant: bool) -> io::Result<()> {
        let state = if is_dormant { State::Dormant } else { State::Up };
        let mut link = link(index);
        // Without this mode the kernel sets the state by the carrier alone.
        link.attributes =
            vec![LinkAttribute::Mode(LinkMode::Dormant), LinkAttribute::OperState(state)];
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Value of one attribute of an interface.
    fn attribute<T>(
        &mut self,
        index: u32,
        read: impl Fn(LinkAttribute) -> Option<T>,
    ) -> io::Result<Option<T>> {
        self.post(RouteNetlinkMessage::GetLink(link(index)), 0)?;
        for message in self.answers()? {
            match message.payload {
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                    return Ok(link.attributes.into_iter().find_map(read));
                }
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Packets that an interface was to send and dropped.
    pub fn dropped_in_sending(&mut self, index: u32) -> io::Result<u64> {
        let found = self.attribute(index, |attribute| match attribute {
            LinkAttribute::Stats64(counts) => Some(counts.tx_dropped),
            _ => None,
        })?;
        found.ok_or_else(|| io::Error::other("the kernel does not count"))
    }

    /// Bytes that an interface has sent.
    pub fn sent(&mut self, index: u32) -> io::Result<u64> {
        let found = self.attribute(index, |attribute| match attribute {
            LinkAttribute::Stats64(counts) => Some(counts.tx_bytes),
            _ => None,
        })?;
        found.ok_or_else(|| io::Error::other("the kernel does not count"))
    }

    /// Whether packets to an address are taken here: the kernel takes them only some time after it
    /// has given an interface an IPv6 address.
    pub fn takes(&mut self, address: IpAddr) -> io::Result<bool> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(address);
        message.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
        message.attributes = vec![RouteAttribute::Destination(address.into())];
        self.post(RouteNetlinkMessage::GetRoute(message), 0)?;
        loop {
            if let Some(message) = self.answers()?.into_iter().next() {
                let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) =
                    message.payload
                else {
                    // There is no route yet.
                    return Ok(false);
                };
                return Ok(route.header.kind == RouteType::Local);
            }
        }
    }

    /// Whether there is a route to an address by this interface.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn has_route(&mut self, index: u32, to: IpAddr) -> io::Result<bool> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(to);
        message.header.destination_prefix_length = if to.is_ipv4() { 32 } else { 128 };
        // Without this flag the kernel takes an address without a route for a neighbour.
        message.header.flags = RouteFlags::FibMatch;
        message.attributes =
            vec![RouteAttribute::Destination(to.into()), RouteAttribute::Oif(index)];
        self.post(RouteNetlinkMessage::GetRoute(message), 0)?;
        loop {
            if let Some(message) = self.answers()?.into_iter().next() {
                let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) =
                    message.payload
                else {
                    return Ok(false);
                };
                // An address of this host itself is behind the interface `lo`.
                return Ok(matches!(route.header.kind, RouteType::Unicast | RouteType::Local));
            }
        }
    }

    /// All addresses of this namespace.
    pub fn addresses(&mut self) -> io::Result<Vec<Prefix>> {
        Ok(self.address_messages()?.iter().filter_map(prefix).collect())
    }

    /// The first IPv4 address of an interface.
    pub fn ipv4_address(&mut self, index: u32) -> io::Result<Option<Ipv4Addr>> {
        let all = self.address_messages()?;
        let own = all.iter().filter(|message| message.header.index == index).filter_map(prefix);
        let ipv4 = |prefix: Prefix| match prefix.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        };
        Ok(own.filter_map(ipv4).next())
    }

    fn address_messages(&mut self) -> io::Result<Vec<AddressMessage>> {
        let question = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        self.post(question, NLM_F_DUMP)?;
        let mut found = Vec::new();
        loop {
            for message in self.answers()? {
                match message.payload {
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewAddress(message)) => {
                        found.push(message);
                    }
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::Done(_) => return Ok(found),
                    _ => {}
                }
            }
        }
    }

    /// Sends a request and waits until the kernel has done it.
    pub fn ask(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.post(message, flags | NLM_F_ACK)?;
        loop {
            for message in self.answers()? {
                if let NetlinkPayload::Error(error) = message.payload {
                    return error.code.map_or(Ok(()), |_| Err(error.to_io()));
                }
            }
        }
    }

    /// Sends a request without waiting for its answer.
    ///
    /// # Errors
    /// If the kernel does not take the message.
    pub fn post(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut message = NetlinkMessage::from(message);
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        send(&self.socket, &bytes, SendFlags::empty())?;
        Ok(())
    }

    /// One read: the messages in it that answer the last request.
    pub fn answers(&self) -> io::Result<Vec<NetlinkMessage<RouteNetlinkMessage>>> {
        let read = |message: Vec<u8>| NetlinkMessage::deserialize(&message);
        let all = self.read()?.into_iter().map(read);
        all.collect::<Result<_, _>>().map_err(io::Error::other)
    }

    /// The same, unread: the type of each message, and the bytes after its header.
    pub fn raw_answers(&self) -> io::Result<Vec<(u16, Vec<u8>)>> {
        let split = |message: Vec<u8>| {
            let of_type = u16::from_ne_bytes([message[4], message[5]]);
            (of_type, message[HEADER..].to_vec())
        };
        Ok(self.read()?.into_iter().map(split).collect())
    }

    /// The messages of one read that answer the last request, each with its header.
    fn read(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut buffer = vec![0; READ];
        let (_, length) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..length];
        let mut messages = Vec::new();
        while let Some(header) = rest.first_chunk::<HEADER>() {
            let word = |at: usize| {
                u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
            };
            let length = word(0) as usize;
            let Some(message) = rest.get(..length).filter(|_| length >= HEADER) else {
                return Err(io::Error::other("the kernel sent a message that is cut"));
            };
            if word(8) == self.sequence {
                messages.push(message.to_vec());
            }
            // Messages begin at multiples of four bytes; the last may be without padding.
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(messages)
    }
}

fn link(index: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn prefix(message: &AddressMessage) -> Option<Prefix> {
    let address = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) | AddressAttribute::Address(address) => Some(*address),
        _ => None,
    })?;
    Some(Prefix { address, length: message.header.prefix_len })
}
