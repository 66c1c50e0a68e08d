//! Protocols that are named and not read, each by the registry in which its number stands.

/// A protocol by its number. Its order is that of registries, from the link upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// Link type of a capture (tcpdump.org/linktypes.html).
    LinkType(u16),
    /// Address family of a BSD loopback or of Linux's netfilter log.
    Family(u32),
    /// Destination and source access points of 802.2 LLC, the former in the upper byte.
    Llc(u16),
    /// Ether type (IEEE registry).
    EtherType(u16),
    /// Protocol of PPP (RFC 1661 section 2).
    Ppp(u16),
    /// Protocol of IP (IANA registry).
    Ip(u8),
}

impl Content {
    /// Keyword for its registry in results.
    pub const fn registry(self) -> &'static str {
        match self {
            Self::LinkType(_) => "link_type",
            Self::Family(_) => "address_family",
            Self::Llc(_) => "llc",
            Self::EtherType(_) => "ether_type",
            Self::Ppp(_) => "ppp",
            Self::Ip(_) => "ip",
        }
    }

    /// Its number in the registry.
    pub const fn number(self) -> u32 {
        match self {
            Self::LinkType(number)
            | Self::Llc(number)
            | Self::EtherType(number)
            | Self::Ppp(number) => number as u32,
            Self::Family(number) => number,
            Self::Ip(number) => number as u32,
        }
    }

    /// Its usual name; `None` for those that are seldom seen.
    pub fn name(self) -> Option<&'static str> {
        let names: &[(u32, &str)] = match self {
            Self::LinkType(_) => LINK_TYPES,
            Self::Family(_) => FAMILIES,
            Self::Llc(_) => return llc(self.number()),
            Self::EtherType(_) => ETHER_TYPES,
            Self::Ppp(_) => PPP,
            Self::Ip(_) => IP,
        };
        let found = names.iter().find(|(number, _)| *number == self.number());
        found.map(|(_, name)| *name)
    }
}

impl core::fmt::Display for Content {
    /// Registry, number as it is usually written, and name.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::LinkType(number) => write!(f, "link type {number}"),
            Self::Family(number) => write!(f, "address family {number}"),
            Self::Llc(number) => write!(f, "LLC {number:#06x}"),
            Self::EtherType(number) => write!(f, "ether type {number:#06x}"),
            Self::Ppp(number) => write!(f, "PPP protocol {number:#06x}"),
            Self::Ip(number) => write!(f, "IP protocol {number}"),
        }?;
        match self.name() {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

/// Name of an LLC frame: by both access points for SNAP, else by the destination.
fn llc(number: u32) -> Option<&'static str> {
    let names = [
        (0x06, "IP over 802.2"),
        (0x42, "STP"),
        (0x98, "ARP over 802.2"),
        (0xaa, "SNAP of an organisation"),
        (0xe0, "IPX"),
        (0xf0, "NetBIOS"),
        (0xfe, "OSI"),
        (0xff, "IPX without LLC"),
    ];
    let found = names.iter().find(|(destination, _)| *destination == number >> 8);
    found.map(|(_, name)| *name)
}

const LINK_TYPES: &[(u32, &str)] = &[
    (6, "Token Ring"),
    (7, "ARCNET"),
    (8, "SLIP"),
    (10, "FDDI"),
    (11, "ATM RFC 1483"),
    (107, "Frame Relay"),
    (117, "OpenBSD PFLOG"),
    (122, "IP over Fibre Channel"),
    (123, "SunATM"),
    (138, "IP over IEEE 1394"),
    (143, "DOCSIS"),
    (144, "Linux IrDA"),
    (147, "USER0"),
    (148, "USER1"),
    (149, "USER2"),
    (150, "USER3"),
    (151, "USER4"),
    (152, "USER5"),
    (153, "USER6"),
    (154, "USER7"),
    (155, "USER8"),
    (156, "USER9"),
    (157, "USER10"),
    (158, "USER11"),
    (159, "USER12"),
    (160, "USER13"),
    (161, "USER14"),
    (162, "USER15"),
    (177, "Linux LAPD"),
    (187, "Bluetooth HCI H4"),
    (189, "Linux USB"),
    (195, "IEEE 802.15.4"),
    (197, "ERF"),
    (201, "Bluetooth HCI H4 with direction"),
    (215, "IEEE 802.15.4 with PHY"),
    (220, "Linux USB, padded"),
    (227, "CAN"),
    (230, "IEEE 802.15.4 without FCS"),
    (240, "NetANALYZER"),
    (242, "IP over InfiniBand"),
    (247, "InfiniBand"),
    (249, "USBPcap"),
    (251, "Bluetooth LE"),
    (253, "Linux netlink"),
    (254, "Bluetooth monitor"),
    (256, "Bluetooth LE with PHY"),
    (272, "Nordic BLE"),
    (283, "IEEE 802.15.4 TAP"),
];

const FAMILIES: &[(u32, &str)] = &[(3, "ARP"), (7, "OSI or bridge"), (23, "IPX")];

const ETHER_TYPES: &[(u32, &str)] = &[
    (0x0806, "ARP"),
    (0x2000, "CDP"),
    (0x22f3, "TRILL"),
    (0x6003, "DECnet"),
    (0x8035, "RARP"),
    (0x809b, "AppleTalk"),
    (0x80f3, "AARP"),
    (0x8137, "IPX"),
    (0x8808, "flow control"),
    (0x8809, "LACP"),
    (0x8847, "MPLS"),
    (0x8848, "MPLS"),
    (0x8863, "PPPoE discovery"),
    (0x8864, "PPPoE"),
    (0x886d, "Intel teaming"),
    (0x888e, "EAPOL"),
    (0x8892, "PROFINET"),
    (0x88a4, "EtherCAT"),
    (0x88b5, "local experiment"),
    (0x88b8, "GOOSE"),
    (0x88bb, "LWAPP"),
    (0x88cc, "LLDP"),
    (0x88e1, "HomePlug"),
    (0x88e5, "MACsec"),
    (0x88f7, "PTP"),
    (0x8902, "CFM"),
    (0x8906, "FCoE"),
    (0x890d, "802.11 TDLS and fast roaming"),
    (0x893a, "IEEE 1905"),
    (0x9000, "loopback"),
];

const PPP: &[(u32, &str)] = &[
    (0x002d, "compressed TCP"),
    (0x002f, "uncompressed TCP"),
    (0x003d, "multilink"),
    (0x00fd, "compressed"),
    (0x8021, "IPCP"),
    (0x8057, "IPV6CP"),
    (0x80fd, "CCP"),
    (0xc021, "LCP"),
    (0xc023, "PAP"),
    (0xc025, "link quality"),
    (0xc223, "CHAP"),
];

const IP: &[(u32, &str)] = &[
    (0, "hop-by-hop options"),
    (1, "ICMP"),
    (2, "IGMP"),
    (4, "IP in IP"),
    (6, "TCP"),
    (17, "UDP"),
    (33, "DCCP"),
    (41, "IPv6 in IP"),
    (46, "RSVP"),
    (47, "GRE"),
    (50, "ESP"),
    (51, "AH"),
    (58, "ICMPv6"),
    (59, "none"),
    (88, "EIGRP"),
    (89, "OSPF"),
    (97, "Ethernet in IP"),
    (103, "PIM"),
    (112, "VRRP"),
    (115, "L2TP"),
    (132, "SCTP"),
    (136, "UDP-Lite"),
    (137, "MPLS in IP"),
];
