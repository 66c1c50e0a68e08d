//! Interface of a socket to a driver: datagrams in, datagrams out, and a wait.

use fairwave_machine::datagram::{Incoming, Outgoing};
use fairwave_units::Duration;
use std::fmt;
use std::io;

/// A datagram, and the kernel's information on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The datagram.
    pub datagram: Incoming,
    /// Time for which it waited in the socket, by the wall clock.
    pub waited: Duration,
}

/// Result of an attempt to take arrived datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The socket was seen empty.
    Nothing,
    /// There may be more to take.
    Perhaps,
}

/// A socket that never blocks, as a [`crate::Driver`] needs it.
pub trait Transport: fmt::Debug {
    /// Takes a bounded number of datagrams, in the order of their arrival.
    ///
    /// # Errors
    /// Error of an earlier datagram of this socket, such as a closed port. There may be more to
    /// take.
    fn receive(&mut self, into: &mut Vec<Taken>) -> io::Result<Left>;

    /// Hands datagrams to the kernel, from the first on, in as few calls as can be; how many of
    /// them it took, which is at least one.
    ///
    /// # Errors
    /// Reason for which the kernel did not take the first: `WouldBlock` if it has no room now.
    fn send(&mut self, queue: &[Outgoing]) -> io::Result<usize>;

    /// Waits until there is something to take, or room to send, for at most so long.
    ///
    /// # Errors
    /// If the kernel cannot wait for it.
    fn wait(&self, for_room: bool, max: Duration) -> io::Result<()>;

    /// System calls so far that took datagrams, and that handed datagrams over.
    fn calls(&self) -> (u64, u64);

    /// Datagrams so far that arrived and found no room in a socket's buffer.
    fn dropped(&self) -> u64;

    /// Datagrams so far that were cut or had no address of IP, and were left out.
    fn unreadable(&self) -> u64;
}
