//! Arrival times of datagrams: the kernel stamps them by the wall clock, which may be set
//! meanwhile.

use crate::clock;
use fairwave_units::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

/// A datagram in the buffer of its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its sender; `None` if the kernel names no address of IP.
    pub from: Option<SocketAddr>,
    /// Its length in bytes.
    pub len: usize,
    /// Time for which it waited in the socket, by the wall clock: [`arrival`] bounds that.
    pub waited: Duration,
    /// Datagrams that found no room in the socket's buffer since the socket was opened; `None`
    /// without `SO_RXQ_OVFL`.
    pub dropped: Option<u32>,
}

/// Memory for the kernel's control messages beside a datagram.
#[derive(Debug)]
pub struct Beside(Vec<u8>);

impl Default for Beside {
    fn default() -> Self {
        Self(nix::cmsg_space!(TimeSpec, u32))
    }
}

/// Takes a datagram from a socket that has `SO_TIMESTAMPNS`; `None` if there is none.
///
/// # Errors
/// Error of an earlier datagram of this socket, such as that its port is closed. There may be more
/// to take.
pub fn receive(
    socket: &impl AsFd,
    buffer: &mut [u8],
    beside: &mut Beside,
) -> io::Result<Option<Taken>> {
    let mut parts = [IoSliceMut::new(buffer)];
    let (socket, flags) = (socket.as_fd().as_raw_fd(), MsgFlags::MSG_DONTWAIT);
    let message = match recvmsg::<SockaddrStorage>(socket, &mut parts, Some(&mut beside.0), flags) {
        Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
        taken => taken?,
    };
    let (mut waited, mut dropped) = (Duration::ZERO, None);
    for reported in message.cmsgs()? {
        match reported {
            ControlMessageOwned::ScmTimestampns(stamp) => {
                waited = since(&stamp, clock::wall_ns());
            }
            ControlMessageOwned::RxqOvfl(count) => dropped = Some(count),
            _ => {}
        }
    }
    let from = message.address.as_ref().and_then(address);
    Ok(Some(Taken { from, len: message.bytes, waited, dropped }))
}

/// Time at which a datagram arrived that is taken at `now` and has `waited`. It cannot have been
/// there before `not_before`, such as when its socket was empty or when it was sent: a wall clock
/// that was set forward makes a wait too long.
pub fn arrival(now: Instant, waited: Duration, not_before: Instant) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_sub(waited.as_nanos())).max(not_before)
}

/// Returns the age of the kernel's stamp at `wall_ns`. A wall clock that was set back puts the
/// stamp into the future: the datagram then counts as just arrived.
fn since(stamp: &TimeSpec, wall_ns: u64) -> Duration {
    let stamp_ns = stamp.tv_sec() as u64 * 1_000_000_000 + stamp.tv_nsec() as u64;
    Duration::from_nanos(wall_ns.saturating_sub(stamp_ns))
}

fn address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let four = address.as_sockaddr_in().map(|four| SocketAddr::V4((*four).into()));
    four.or_else(|| address.as_sockaddr_in6().map(|six| SocketAddr::V6((*six).into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// The socket was seen empty at 90 ms; the datagram came at 95 ms and is taken at 100 ms.
    #[test]
    fn a_step_of_the_wall_clock_moves_an_arrival_by_no_more_than_the_wait() {
        assert_eq!(arrival(ms(100), Duration::from_millis(5), ms(90)), ms(95));
        // Set forward by an hour meanwhile, or back: then the kernel's stamp lies in the future.
        assert_eq!(arrival(ms(100), Duration::from_secs(3600), ms(90)), ms(90));
        assert_eq!(arrival(ms(100), Duration::ZERO, ms(90)), ms(100));
    }

    #[test]
    fn a_stamp_in_the_future_is_one_of_now() {
        let stamp = TimeSpec::new(2, 500);
        assert_eq!(since(&stamp, 2_000_001_500), Duration::from_nanos(1000));
        assert_eq!(since(&stamp, 1_000_000_000), Duration::ZERO);
    }
}
