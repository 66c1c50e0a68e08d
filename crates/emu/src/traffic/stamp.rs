//! What a datagram carries: its number and when it was sent, so that its receiver knows both.

use crate::clock;
use fairwave_units::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use nix::sys::time::TimeSpec;
use rustix::fd::{AsRawFd, OwnedFd};
use std::io::IoSliceMut;

/// Bytes of number and time: as many as those of an RTP header, which calls have anyway. A shorter
/// datagram, such as the last of a video frame, is sent with this length.
pub(super) const LEN: usize = 12;

/// Number and time of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Counting from zero and around.
    pub(super) sequence: u32,
    /// When it was handed to the kernel.
    pub(super) sent: Instant,
}

impl Stamp {
    /// Writes it to the front of a payload of at least [`LEN`] bytes.
    pub(super) fn write(self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&self.sequence.to_be_bytes());
        payload[4..LEN].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
    }

    /// That of a payload, if it has one.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let (sequence, rest) = payload.split_first_chunk()?;
        let (sent, _) = rest.split_first_chunk()?;
        let sent = Instant::from_nanos(u64::from_be_bytes(*sent));
        Some(Self { sequence: u32::from_be_bytes(*sequence), sent })
    }
}

/// A datagram in the buffer of its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    /// Its length in bytes.
    pub(super) len: usize,
    /// How long it waited in the socket, as the kernel's stamp of its arrival tells.
    pub(super) waited: Duration,
}

/// Where the kernel puts what it tells beside a datagram.
#[derive(Debug)]
pub(super) struct Beside(Vec<u8>);

impl Default for Beside {
    fn default() -> Self {
        Self(nix::cmsg_space!(TimeSpec))
    }
}

/// Takes a datagram from a socket that has `SO_TIMESTAMPNS`; `None` if there is none.
///
/// # Errors
/// What became of an earlier datagram of this socket, such as that its port is closed. There may be
/// more to take.
pub(super) fn receive(
    socket: &OwnedFd,
    buffer: &mut [u8],
    beside: &mut Beside,
) -> Result<Option<Received>, Errno> {
    let mut parts = [IoSliceMut::new(buffer)];
    let (socket, flags) = (socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
    let taken = recvmsg::<SockaddrStorage>(socket, &mut parts, Some(&mut beside.0), flags);
    let message = match taken {
        Err(Errno::EAGAIN) => return Ok(None),
        taken => taken?,
    };
    let stamp = message.cmsgs()?.find_map(|told| match told {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    let waited = stamp.map_or(Duration::ZERO, |stamp| {
        // The kernel stamps by the wall clock. Were that set back meanwhile, the datagram would
        // come from the future: it then counts as just arrived.
        let arrived_ns = stamp.tv_sec() as u64 * 1_000_000_000 + stamp.tv_nsec() as u64;
        Duration::from_nanos(clock::wall_ns().saturating_sub(arrived_ns))
    });
    Ok(Some(Received { len: message.bytes, waited }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_time_come_back() {
        let stamp = Stamp { sequence: u32::MAX - 1, sent: Instant::from_nanos(1 << 40 | 7) };
        let mut payload = [0xff; LEN + 3];
        stamp.write(&mut payload);
        assert_eq!(Stamp::read(&payload), Some(stamp));
        assert_eq!(Stamp::read(&payload[..LEN - 1]), None);
    }
}
