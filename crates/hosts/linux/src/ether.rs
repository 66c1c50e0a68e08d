//! Frames of one EtherType at one interface, for protocols that run below IP.

use crate::Error;
use crate::kernel::{FrameRing, ether_socket};
use crate::netlink::Netlink;
use rustix::io::Errno;
use rustix::net::{SendFlags, send, sockopt};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A socket for frames of one EtherType. Each has its Ethernet header before it. Reads and writes
/// do not block. Reading a frame that waits is no system call.
#[derive(Debug)]
pub struct EtherSocket {
    ring: FrameRing,
    fd: OwnedFd,
    address: [u8; 6],
}

/// The link address of an interface of the calling thread's network namespace.
///
/// # Errors
/// If there is no such interface, or it has no link address.
pub fn link_address(interface: &str) -> Result<[u8; 6], Error> {
    let requested = || -> io::Result<[u8; 6]> {
        let mut netlink = Netlink::open()?;
        let index = netlink.index(interface)?;
        netlink.link_address(index)
    };
    requested().map_err(Error::at(format!("interface `{interface}`")))
}

impl EtherSocket {
    /// Opens a socket at an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// If there is no such interface, it has no link address, or the user may not (CAP_NET_RAW).
    pub fn open(interface: &str, ether_type: u16) -> Result<Self, Error> {
        let opened = || -> io::Result<Self> {
            let mut netlink = Netlink::open()?;
            let index = netlink.index(interface)?;
            let address = netlink.link_address(index)?;
            let (fd, ring) = ether_socket(index, ether_type)?;
            Ok(Self { ring, fd, address })
        };
        opened().map_err(Error::at(format!("interface `{interface}`")))
    }

    /// The link address of the interface.
    pub const fn address(&self) -> [u8; 6] {
        self.address
    }

    /// Reads one frame; returns its length, or `None` where none waits. A frame that does not fit
    /// is cut, and so is one longer than 190 bytes. From an interface that has been deleted none
    /// comes, which [`Presence`](crate::Presence) notices.
    ///
    /// # Errors
    /// The socket's.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(length) = self.ring.take(buffer) {
            return Ok(Some(length));
        }
        // The socket can be read as long as an error waits.
        match sockopt::socket_error(&self.fd)? {
            // The latter is said once when the interface goes down, for ever or for a while.
            Ok(()) | Err(Errno::NETDOWN) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sends one frame. Returns `false` where it is lost, as the interface is down or has no room.
    ///
    /// # Errors
    /// If the interface has been deleted.
    pub fn send(&self, frame: &[u8]) -> io::Result<bool> {
        match send(&self.fd, frame, SendFlags::empty()) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NETDOWN) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for EtherSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
#[allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a skipped test must be seen, and a test may fail"
)]
mod tests {
    use super::*;
    use crate::kernel::unshare;
    use netlink_packet_route::RouteNetlinkMessage;
    use netlink_packet_route::link::{LinkFlags, LinkMessage};
    use rustix::thread::UnshareFlags;

    /// An EtherType for experiments (IEEE 802 clause 9.2.4).
    const ETHER_TYPE: u16 = 0x88b5;

    /// Two sockets of a separate loopback interface: the second receives the first's frames.
    fn at_loopback(test: impl FnOnce(EtherSocket, EtherSocket) + Send) {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: it needs a network namespace: run as root");
            return;
        }
        let inside = || {
            unshare(UnshareFlags::NEWNET).unwrap();
            let mut netlink = Netlink::open().unwrap();
            let index = netlink.index("lo").unwrap();
            netlink.up(index).unwrap();
            let open = |ether_type| EtherSocket::open("lo", ether_type).unwrap();
            test(open(ETHER_TYPE + 1), open(ETHER_TYPE));
        };
        std::thread::scope(|scope| scope.spawn(inside).join().unwrap());
    }

    fn frame(number: u32, length: usize) -> Vec<u8> {
        let header = [&[0; 12][..], &ETHER_TYPE.to_be_bytes(), &number.to_be_bytes()].concat();
        let fill = (header.len()..length).map(|at| at as u8);
        header.iter().copied().chain(fill).collect()
    }

    #[test]
    fn frames_arrive_whole_and_in_order_beyond_the_end_of_the_ring() {
        at_loopback(|sender, mut receiver| {
            let mut buffer = [0; 300];
            for number in 0..2500 {
                let sent = frame(number, 60 + number as usize % 131);
                assert!(sender.send(&sent).unwrap());
                // Two wait at a time, now and then.
                if number % 2 == 0 {
                    continue;
                }
                for number in [number - 1, number] {
                    let expected = frame(number, 60 + number as usize % 131);
                    let length = receiver.receive(&mut buffer).unwrap().unwrap();
                    assert_eq!(buffer[..length], expected, "frame {number}");
                }
                assert_eq!(receiver.receive(&mut buffer).unwrap(), None);
            }
        });
    }

    #[test]
    fn what_is_too_long_is_cut() {
        at_loopback(|sender, mut receiver| {
            let long = frame(7, 1000);
            let mut buffer = [0; 300];
            assert!(sender.send(&long).unwrap());
            assert_eq!(receiver.receive(&mut buffer).unwrap(), Some(190));
            assert_eq!(buffer[..190], long[..190]);
            assert!(sender.send(&long).unwrap());
            assert_eq!(receiver.receive(&mut buffer[..20]).unwrap(), Some(20));
            assert_eq!(buffer[..20], long[..20]);
        });
    }

    #[test]
    fn a_flood_fills_the_ring_and_no_more() {
        at_loopback(|sender, mut receiver| {
            for number in 0..3000 {
                assert!(sender.send(&frame(number, 60)).unwrap());
            }
            let mut buffer = [0; 60];
            let mut kept = 0;
            while let Some(length) = receiver.receive(&mut buffer).unwrap() {
                assert_eq!(buffer[..length], frame(kept, 60));
                kept += 1;
            }
            assert_eq!(kept, 1024);
            assert!(sender.send(&frame(1, 60)).unwrap());
            assert_eq!(receiver.receive(&mut buffer).unwrap(), Some(60), "there is room again");
        });
    }

    #[test]
    fn an_interface_may_be_down_for_a_while() {
        at_loopback(|mut sender, mut receiver| {
            let mut netlink = Netlink::open().unwrap();
            let index = netlink.index("lo").unwrap();
            let mut down = LinkMessage::default();
            down.header.index = index;
            down.header.change_mask = LinkFlags::Up;
            netlink.ask(RouteNetlinkMessage::SetLink(down), 0).unwrap();
            for socket in [&mut sender, &mut receiver] {
                assert_eq!(socket.receive(&mut [0; 60]).unwrap(), None, "it may come back");
            }
            assert!(!sender.send(&frame(1, 60)).unwrap());
            netlink.up(index).unwrap();
            assert!(sender.send(&frame(1, 60)).unwrap());
            assert_eq!(receiver.receive(&mut [0; 60]).unwrap(), Some(60), "it has come back");
        });
    }
}
