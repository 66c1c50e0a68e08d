//! Frames that leave by an interface, led through this program.
//!
//! The kernel hands every frame that is about to leave to a TAP device instead, whose other end
//! this program has; it gives frames back behind that point, straight to the driver. So nothing of
//! addresses, routes and bridges changes, and it is the same for what the machine sends itself,
//! routes or bridges. Before the TAP device the kernel computes checksums and cuts large segments,
//! unless [`Pieces::Whole`] leaves both to whoever comes behind. The program has the device's other
//! end: the device is gone with it, however it ends, and the keeper takes the filter away that led
//! there.

use crate::Error;
use crate::keeper::Keeper;
use crate::kernel::{TUN_F_CSUM, TUN_F_TSO, create_tap, driver_socket, set_tun_offload, unshare};
use crate::netlink::Netlink;
use crate::plan::KeeperCommand;
use crate::replace;
use crate::undo::{Place, Undo};
use crate::virtio::{CLONE_DEVICE, VNET_HEADER_LENGTH};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustix::thread::UnshareFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Name of the TAP device, with a number of the kernel's choice.
const NAME: &str = "fwsoc%d";
/// Frames that wait for this program in the TAP device; more are lost.
const WAITING: u32 = 1000;
/// Bytes of a frame beside the packet in it: Ethernet's header and two tags of VLANs.
const AROUND: usize = 14 + 2 * 4;
/// Bytes of the longest packet of IP that is left in one piece.
const WHOLE: usize = 65_536;

/// Treatment of data that a connection of TCP hands down in one piece, as it does where a card
/// would cut it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pieces {
    /// The kernel cuts it into packets, which come one by one.
    Cut,
    /// It comes in one piece, and is cut behind, by the interface's card if that can. Checksums are
    /// left, too.
    Whole,
}

/// Frames that leave by an interface, for as long as this lives.
#[derive(Debug)]
pub struct Egress {
    tap: OwnedFd,
    driver: OwnedFd,
    longest: usize,
    _keeper: Keeper,
}

/// Returns whether the kernel has the parts that [`Egress`] needs: TAP devices, clsact, u32 and
/// mirred. That is tried in a separate network namespace; where those are refused, it counts as
/// had.
///
/// # Errors
/// The missing part, in the kernel's words.
pub fn may_lead_egress() -> io::Result<()> {
    let tried = std::thread::spawn(move || {
        if unshare(UnshareFlags::NEWNET).is_err() {
            return Ok(());
        }
        let mut netlink = Netlink::open()?;
        let (_tap, to) = tap(&mut netlink, Pieces::Cut)?;
        let index = netlink.index("lo")?;
        driver_socket(index)?;
        netlink.redirect_egress(index, to)
    });
    tried.join().unwrap_or_else(|_| Err(io::Error::other("the trial did not end")))
}

/// A TAP device that is up, and its number.
pub(crate) fn tap(netlink: &mut Netlink, pieces: Pieces) -> io::Result<(OwnedFd, u32)> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let tap = rustix::fs::open(CLONE_DEVICE, flags, Mode::empty())?;
    let name = create_tap(&tap, NAME)?;
    if pieces == Pieces::Whole {
        set_tun_offload(&tap, TUN_F_CSUM | TUN_F_TSO)?;
    }
    // What the kernel says of its own accord by an interface that has IPv6 would go to stations.
    let setting = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
    match std::fs::write(&setting, "1") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let index = netlink.index(&name)?;
    netlink.length_of_queue(index, WAITING)?;
    netlink.up(index)?;
    Ok((tap, index))
}

impl Egress {
    /// Leads the frames of an interface here, which go past its root qdisc from here on: if that is
    /// not the kernel's default, the caller has to permit it (`passes_by`).
    ///
    /// # Errors
    /// If there is no such interface, it is no Ethernet's, another program has set clsact or
    /// ingress there, the kernel lacks something, or the user may not (CAP_NET_ADMIN, CAP_NET_RAW).
    /// Nothing is left then.
    pub fn open(
        interface: &str,
        pieces: Pieces,
        passes_by: bool,
        keeper: &KeeperCommand,
    ) -> Result<Self, Error> {
        let step = |what: &str| Error::at(format!("interface `{interface}`: {what}"));
        let mut netlink = Netlink::open().map_err(step("netlink"))?;
        let index = netlink.index(interface).map_err(step("its index"))?;
        netlink.link_address(index).map_err(step("its link address"))?;
        if let Some(kind) = netlink.hooked(index).map_err(step("its qdisc"))? {
            return Err(refused(interface, &kind));
        }
        let root = replace::saved(&mut netlink, index).map_err(step("its qdisc"))?;
        if let Some(root) = root.filter(|_| !passes_by) {
            return Err(replace::refused(interface, &root, None));
        }
        let mtu = netlink.mtu(index).map_err(step("its MTU"))?;
        let driver = driver_socket(index).map_err(step("a socket to its driver"))?;
        let mut keeper = Keeper::start_without_programs(keeper)?;
        let (tap, to) = tap(&mut netlink, pieces).map_err(step("a TAP device beside it"))?;
        keeper.note(Undo::Egress(Place { interface: interface.to_owned(), index }))?;
        netlink.redirect_egress(index, to).map_err(step("clsact, u32 and mirred"))?;
        let packet = match pieces {
            Pieces::Cut => mtu as usize,
            Pieces::Whole => WHOLE.max(mtu as usize),
        };
        let longest = VNET_HEADER_LENGTH + packet + AROUND;
        Ok(Self { tap, driver, longest, _keeper: keeper })
    }

    /// Bytes of the longest frame: a virtio header, Ethernet's, tags of VLANs, and the interface's
    /// MTU when this was opened or the longest piece.
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// Bytes of the longest packet behind Ethernet's header.
    pub const fn longest_packet(&self) -> usize {
        self.longest - VNET_HEADER_LENGTH - AROUND
    }

    /// Takes the next frame with its virtio header of
    /// [`VNET_HEADER_LENGTH`](crate::VNET_HEADER_LENGTH) bytes; returns the length of both, or
    /// `None` where none waits. A frame that does not fit is cut. This does not block.
    ///
    /// # Errors
    /// If another program has deleted the TAP device.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.tap, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Gives a frame with its virtio header to the interface's driver. Returns `false` where it is
    /// lost, as the interface is down or has no room, or the frame is longer than its MTU.
    ///
    /// # Errors
    /// If the interface has been deleted.
    pub fn send(&self, frame: &[u8]) -> io::Result<bool> {
        match send(&self.driver, frame, SendFlags::empty()) {
            Ok(_) => Ok(true),
            Err(
                Errno::AGAIN
                | Errno::INTR
                | Errno::NOBUFS
                | Errno::NOMEM
                | Errno::NETDOWN
                | Errno::MSGSIZE
                | Errno::INVAL,
            ) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Egress {
    /// Readable when a frame waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tap.as_fd()
    }
}

/// Returns the obstacle to leading an interface's frames through this program.
///
/// # Errors
/// If there is no such interface, or the kernel does not answer.
pub fn egress_obstacle(interface: &str) -> Result<Option<String>, Error> {
    let at = || Error::at(format!("interface `{interface}`"));
    let mut netlink = Netlink::open().map_err(at())?;
    let index = netlink.index(interface).map_err(at())?;
    Ok(netlink
        .hooked(index)
        .map_err(at())?
        .map(|kind| format!("another program has set {kind} there")))
}

fn refused(interface: &str, kind: &str) -> Error {
    Error::Plan(format!(
        "interface `{interface}` has the qdisc {kind} of another program: it is left alone; `tc \
         qdisc delete dev {interface} {kind}` would make room"
    ))
}
