//! Lengths of datagrams of UDP: the largest that the kernel knows a path to take, and which longer
//! ones it may cut.

use fairwave_linux::kernel::datagrams::option;
use fairwave_sockets::Udp;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

/// `IPPROTO_IP` and `IP_MTU`, `IPPROTO_IPV6` and `IPV6_MTU`.
const IP: (i32, i32) = (0, 14);
const IPV6: (i32, i32) = (41, 24);
/// Headers of UDP with IPv4 and with IPv6 in bytes.
const HEADERS: [u32; 2] = [28, 48];
/// Bits of a DCCP header: the offset of the data in words is its fifth byte, the type in the ninth.
const SYNC: u8 = 8;

/// Whether a datagram longer than the path takes may be cut into fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// As the kernel does: fragments of this host by the MTU that it knows, and none by routers.
    Kernel,
    /// It is a probe: nobody cuts it, and the MTU that the kernel knows does not count.
    Never,
    /// It is longer than the path is known to take: with IPv4 routers may cut it.
    Long,
}

impl Cut {
    /// The way for a datagram, of which so many bytes are known to get through whole.
    pub(crate) fn of(bytes: &[u8], whole: Option<u32>) -> Self {
        match whole {
            Some(_) if padding_of_probe(bytes).is_some() => Self::Never,
            Some(whole) if bytes.len() > whole as usize => Self::Long,
            _ => Self::Kernel,
        }
    }
}

/// Offset of the padding, if a packet inside UDP is a probe: a Sync with data.
fn padding_of_probe(bytes: &[u8]) -> Option<usize> {
    let data = usize::from(*bytes.get(4)?) * 4;
    let is_sync = bytes.get(8)? >> 1 & 0xf == SYNC;
    (is_sync && data < bytes.len()).then_some(data)
}

/// Makes a Sync of a probe, as its sequence number is taken.
pub(crate) fn strip(probe: &mut Vec<u8>) {
    if let Some(data) = padding_of_probe(probe) {
        probe.truncate(data);
    }
}

/// Payload of UDP in bytes that the kernel takes the path to a host to pass whole: the MTU of the
/// interface, or what ICMP has reported.
pub(crate) fn known(mut peer: SocketAddr) -> io::Result<u32> {
    peer.set_ip(peer.ip().to_canonical());
    let ((level, name), headers) = match peer {
        SocketAddr::V4(_) => (IP, HEADERS[0]),
        SocketAddr::V6(_) => (IPV6, HEADERS[1]),
    };
    let mut value = [0; 4];
    option(Udp::connect(peer)?.descriptor()?.as_fd(), level, name, &mut value)?;
    Ok(u32::from_ne_bytes(value).saturating_sub(headers))
}

/// The options of a socket of UDP that decide on fragments.
#[derive(Debug)]
pub(crate) struct Cutter {
    socket: OwnedFd,
    is_six: bool,
    set: Cut,
}

impl Cutter {
    pub(crate) fn new(udp: &Udp) -> io::Result<Self> {
        let is_six = udp.address()?.is_ipv6();
        Ok(Self { socket: udp.descriptor()?, is_six, set: Cut::Kernel })
    }

    /// Has the next datagrams cut so.
    pub(crate) fn set(&mut self, cut: Cut) -> io::Result<()> {
        if self.set == cut {
            return Ok(());
        }
        let (four, six) = match cut {
            Cut::Kernel => (Ipv4PathMtuDiscovery::WANT, Ipv6PathMtuDiscovery::WANT),
            Cut::Never => (Ipv4PathMtuDiscovery::PROBE, Ipv6PathMtuDiscovery::PROBE),
            // With IPv6 only the route's MTU, which ICMP lowers, has the kernel make fragments.
            Cut::Long => (Ipv4PathMtuDiscovery::DONT, Ipv6PathMtuDiscovery::WANT),
        };
        // A socket of IPv6 that speaks IPv4 as well has the options of both.
        let of_four = set_ip_mtu_discover(&self.socket, four);
        if self.is_six {
            set_ipv6_mtu_discover(&self.socket, six)?;
        } else {
            of_four?;
        }
        self.set = cut;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type 8 with a header of 24 bytes.
    fn sync(len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        (bytes[4], bytes[8]) = (6, SYNC << 1 | 1);
        bytes
    }

    #[test]
    fn a_sync_with_data_is_a_probe() {
        assert_eq!(Cut::of(&sync(1_400), Some(1_200)), Cut::Never);
        assert_eq!(Cut::of(&sync(24), Some(1_200)), Cut::Kernel);
        assert_eq!(Cut::of(&[0; 1_300], Some(1_200)), Cut::Long);
        assert_eq!(Cut::of(&[0; 1_300], Some(1_472)), Cut::Kernel);
        assert_eq!(Cut::of(&[0; 1_300], None), Cut::Kernel);
        let mut probe = sync(1_400);
        strip(&mut probe);
        assert_eq!(probe, sync(24));
    }

    #[test]
    fn a_socket_of_either_family_takes_every_option() {
        for any in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let udp = Udp::bind(any.parse().expect("an address")).expect("a socket");
            let mut cutter = Cutter::new(&udp).expect("it is bound");
            for cut in [Cut::Never, Cut::Long, Cut::Kernel, Cut::Never, Cut::Kernel] {
                cutter.set(cut).expect(any);
            }
        }
        // The loopback has an MTU of 65536 bytes, unless somebody has changed it.
        assert!(known("127.0.0.1:9".parse().expect("an address")).expect("a route") >= 1_252);
    }
}
