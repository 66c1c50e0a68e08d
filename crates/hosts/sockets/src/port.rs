//! A socket of the kernel, with the memory to take and hand over many datagrams in a call.

use crate::transport::Left;
use fairwave_linux::clock::{self, timespec};
use fairwave_linux::kernel::datagrams::{self, Ancillary, BATCH, Message, Slots};
use fairwave_units::Duration;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::event::{PollFd, PollFlags, poll};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Size asked for of both of the socket's buffers in bytes; the kernel gives at most
/// `net.core.rmem_max` and `net.core.wmem_max`.
const BUFFER_BYTES: usize = 4 << 20;
/// More than the largest datagram has, so that one that is cut shows.
const MAX_BYTES: usize = 1 << 16;

/// Messages that a call takes where each may have [`MAX_BYTES`] of joined datagrams.
const JOINED_BATCH: usize = 4;

/// A socket that never blocks, whose datagrams are stamped when they arrive.
pub(crate) struct Port {
    socket: OwnedFd,
    slots: Slots,
    /// [`BATCH`] parts of [`MAX_BYTES`]; parts that no datagram has reached take no memory.
    buffer: Vec<u8>,
    /// Messages that a call takes.
    batch: usize,
    reported: Vec<Ancillary>,
    receives: u64,
    sends: u64,
    dropped: u64,
    cut: u64,
}

impl Port {
    /// Takes over a socket of IP.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1)?;
        // A kernel that gives less than was asked for says nothing.
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER_BYTES)?;
        setsockopt(&socket, sockopt::SndBuf, &BUFFER_BYTES)?;
        Ok(Self {
            socket,
            slots: Slots::default(),
            buffer: vec![0; BATCH * MAX_BYTES],
            batch: BATCH,
            reported: Vec::with_capacity(BATCH),
            receives: 0,
            sends: 0,
            dropped: 0,
            cut: 0,
        })
    }

    /// Takes datagrams of the same size and sender joined (UDP GRO, Linux 5.0). An older kernel
    /// passes them one by one.
    pub(crate) fn join_arrivals(&mut self) {
        if datagrams::accept_joined(self.socket.as_fd()).is_ok() {
            self.batch = JOINED_BATCH;
        }
    }

    pub(crate) const fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Takes the arrived datagrams in one call. `take` gets each datagram with the kernel's
    /// information on it and its time in the socket.
    pub(crate) fn receive(
        &mut self,
        mut take: impl FnMut(&Ancillary, Duration, &[u8]),
    ) -> io::Result<Left> {
        self.receives += 1;
        let Self { socket, slots, buffer, batch, reported, .. } = self;
        let buffer = &mut buffer[..*batch * MAX_BYTES];
        match datagrams::receive(socket.as_fd(), slots, buffer, MAX_BYTES, reported) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Left::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Left::Perhaps),
            Err(error) => return Err(error),
        }
        // The wall clock of one moment for all: their order is that of their stamps.
        let wall_ns = clock::wall_ns();
        for (one, bytes) in self.reported.iter().zip(self.buffer.chunks_exact(MAX_BYTES)) {
            self.dropped = one.dropped.map_or(self.dropped, u64::from);
            if one.len == MAX_BYTES {
                self.cut += 1;
                continue;
            }
            // A wall clock that was set back puts the stamp into the future.
            let waited = one.stamp_ns.map_or(0, |stamp| wall_ns.saturating_sub(stamp));
            let waited = Duration::from_nanos(waited);
            match one.segment.map(usize::from).filter(|segment| (1..one.len).contains(segment)) {
                Some(segment) => {
                    bytes[..one.len].chunks(segment).for_each(|bytes| take(one, waited, bytes));
                }
                None => take(one, waited, &bytes[..one.len]),
            }
        }
        Ok(if self.reported.len() < self.batch { Left::Nothing } else { Left::Perhaps })
    }

    /// Hands messages over in one call; how many the kernel took.
    pub(crate) fn send(&mut self, messages: &[Message<'_>]) -> io::Result<usize> {
        self.sends += 1;
        datagrams::send(self.socket.as_fd(), &mut self.slots, messages)
    }

    pub(crate) const fn calls(&self) -> (u64, u64) {
        (self.receives, self.sends)
    }

    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) const fn cut(&self) -> u64 {
        self.cut
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Waits until one of some sockets has something to take, or has room, for at most so long.
pub(crate) fn wait<'a>(
    ports: impl Iterator<Item = &'a Port>,
    for_room: bool,
    max: Duration,
) -> io::Result<()> {
    let flags = if for_room { PollFlags::OUT } else { PollFlags::IN };
    let mut waiting: Vec<_> = ports.map(|port| PollFd::new(&port.socket, flags)).collect();
    match poll(&mut waiting, Some(&timespec(max.as_nanos()))) {
        // The caller looks at the clock in any case.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
