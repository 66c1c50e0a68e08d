//! Whether an interface that a program works on is still there.
//!
//! Packet sockets report the end of their interface once, with the error that they also have while
//! it is down for a moment, and the kernel's lists of a radio are merely refused. The number of an
//! interface, which the kernel gives to no other one, is certain.

use crate::Error;
use crate::netlink::Netlink;
use std::io;
use std::net::Ipv4Addr;

/// An interface of the network namespace of the thread that opened this, by its number.
#[derive(Debug)]
pub struct Presence {
    netlink: Netlink,
    index: u32,
}

impl Presence {
    /// Finds the interface that has this name now.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(interface: &str) -> Result<Self, Error> {
        let opened = || -> io::Result<Self> {
            let netlink = Netlink::open()?;
            let index = netlink.index(interface)?;
            Ok(Self { netlink, index })
        };
        opened().map_err(Error::at(format!("interface `{interface}`")))
    }

    /// Checks that the interface is still there, whatever its name is now.
    ///
    /// # Errors
    /// If it has been deleted, or moved to another network namespace.
    pub fn check(&self) -> io::Result<()> {
        let is_there = self.netlink.has(self.index)?;
        if is_there { Ok(()) } else { Err(io::Error::other("the interface is gone")) }
    }

    /// Its first IPv4 address, whatever its name is now; `None` if it has none.
    ///
    /// # Errors
    /// If the kernel does not list the addresses.
    pub fn ipv4_address(&mut self) -> io::Result<Option<Ipv4Addr>> {
        self.netlink.ipv4_address(self.index)
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
    use crate::Prefix;
    use crate::kernel::unshare;
    use netlink_packet_route::RouteNetlinkMessage;
    use netlink_packet_route::link::{LinkAttribute, LinkMessage};
    use rustix::thread::UnshareFlags;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn an_interface_is_there_under_another_name_until_it_is_deleted() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: it needs a network namespace: run as root");
            return;
        }
        let inside = || {
            unshare(UnshareFlags::NEWNET).unwrap();
            let mut netlink = Netlink::open().unwrap();
            let here = File::open("/proc/thread-self/ns/net").unwrap();
            netlink.veth("w0", "w1", here.as_fd()).unwrap();
            let mut presence = Presence::of("w0").unwrap();
            let address = |last| Ipv4Addr::new(192, 0, 2, last);
            let add = |name: &str, last| {
                let mut netlink = Netlink::open().unwrap();
                let index = netlink.index(name).unwrap();
                netlink.address(index, Prefix::new(address(last), 24)).unwrap();
            };
            add("w0", 1);
            let mut renamed = LinkMessage::default();
            renamed.header.index = netlink.index("w0").unwrap();
            renamed.attributes = vec![LinkAttribute::IfName("lan7".to_owned())];
            netlink.ask(RouteNetlinkMessage::SetLink(renamed), 0).unwrap();
            presence.check().unwrap();
            netlink.veth("w0", "w2", here.as_fd()).unwrap();
            add("w0", 2);
            assert_eq!(presence.ipv4_address().unwrap(), Some(address(1)));
            netlink.delete(netlink.index("w0").unwrap()).unwrap();
            netlink.delete(netlink.index("lan7").unwrap()).unwrap();
            netlink.veth("w0", "w1", here.as_fd()).unwrap();
            assert_eq!(presence.check().unwrap_err().to_string(), "the interface is gone");
            assert!(Presence::of("lan7").is_err());
        };
        std::thread::scope(|scope| scope.spawn(inside).join().unwrap());
    }
}
