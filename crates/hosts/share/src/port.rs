//! A socket and a timer registered with tokio.

use fairwave_linux::Clock;
use fairwave_machine::datagram::{Incoming, Outgoing};
use fairwave_sockets::{Left, Taken, Transport, Udp, registered};
use fairwave_units::Instant;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::unix::AsyncFd;
use tokio::time::{self, Sleep};

/// Datagrams that are handed to the kernel at once.
const TOGETHER: usize = 64;
/// Reads of a socket before the others have their turn.
const READS_A_TURN: usize = 16;

/// A socket, and the datagrams that wait for it.
#[derive(Debug)]
pub(crate) struct Port {
    socket: AsyncFd<Udp>,
    outgoing: Vec<Outgoing>,
    taken: Vec<Taken>,
}

impl Port {
    pub(crate) fn new(socket: Udp) -> io::Result<Self> {
        let socket = registered(socket)?;
        Ok(Self { socket, outgoing: Vec::with_capacity(TOGETHER), taken: Vec::new() })
    }

    /// Takes the arrived datagrams; returns whether all were taken.
    pub(crate) fn receive(&mut self, cx: &mut Context<'_>, mut take: impl FnMut(Incoming)) -> bool {
        for _ in 0..READS_A_TURN {
            let Poll::Ready(Ok(mut guard)) = self.socket.poll_read_ready_mut(cx) else {
                return true;
            };
            let left = guard.get_inner_mut().receive(&mut self.taken);
            if matches!(left, Ok(Left::Nothing)) {
                guard.clear_ready();
            }
            // An error is that of an earlier datagram, such as a closed port.
            self.taken.drain(..).for_each(|taken| take(taken.datagram));
        }
        false
    }

    pub(crate) fn push(&mut self, datagram: Outgoing) {
        self.outgoing.push(datagram);
        if self.outgoing.len() == TOGETHER {
            self.flush();
        }
    }

    /// Hands the datagrams to the kernel. One without room there, or longer than the MTU, is lost,
    /// as on any link.
    pub(crate) fn flush(&mut self) {
        let mut left = &self.outgoing[..];
        while !left.is_empty() {
            left = match self.socket.get_mut().send(left) {
                Ok(sent) => &left[sent.max(1)..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => &left[1..],
            };
        }
        self.outgoing.clear();
    }
}

/// The timer of a machine's deadline.
#[derive(Debug)]
pub(crate) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    armed: Option<Instant>,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { sleep: Box::pin(time::sleep(time::Duration::ZERO)), armed: None }
    }
}

impl Alarm {
    /// Sets the timer; returns whether its time is still to come.
    pub(crate) fn set(
        &mut self,
        cx: &mut Context<'_>,
        clock: &Clock,
        deadline: Option<Instant>,
    ) -> bool {
        if deadline != self.armed
            && let Some(at) = deadline
        {
            let wait = time::Duration::from_nanos(at.since(clock.now()).as_nanos());
            self.sleep.as_mut().reset(time::Instant::now() + wait);
        }
        self.armed = deadline;
        deadline.is_none() || self.sleep.as_mut().poll(cx).is_pending()
    }
}
