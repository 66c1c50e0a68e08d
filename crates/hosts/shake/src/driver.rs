//! The loop between sockets, the machine and the tasks of applications, on tokio.

use crate::endpoint::{Input, Route, Transmit};
use crate::shared::{Shared, State};
use fairwave_machine::Machine;
use fairwave_machine::datagram::Outgoing;
use fairwave_sockets::{Left, Taken, Transport, Udp};
use fairwave_units::Instant;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::UnboundedReceiver;

/// Datagrams that are handed to the kernel at once.
const TOGETHER: usize = 64;
/// Datagrams sent before tasks of applications have their turn.
const SENDS_A_TURN: usize = 512;
/// Datagrams of a socket taken before the machine answers them, but for those of the last read.
const TAKEN_A_TURN: usize = 128;

/// A change of the paths.
#[derive(Debug)]
pub(crate) enum Change {
    /// A path has this socket and this peer now.
    Up(u8, Udp, SocketAddr),
    /// A path is gone.
    Down(u8),
}

/// A socket, and the datagrams that wait for it.
#[derive(Debug)]
struct Port {
    socket: AsyncFd<Udp>,
    outgoing: Vec<Outgoing>,
}

/// Registers a descriptor with the runtime.
#[expect(
    deprecated,
    reason = "the other way wants a proof that the file stays open, as it does in both"
)]
fn registered<T: AsRawFd>(file: T) -> io::Result<AsyncFd<T>> {
    AsyncFd::new(file)
}

impl Port {
    fn new(mut socket: Udp) -> io::Result<Self> {
        socket.allow_gso();
        socket.allow_gro();
        Ok(Self { socket: registered(socket)?, outgoing: Vec::with_capacity(TOGETHER) })
    }

    /// Hands the datagrams to the kernel. One without room there is lost, as in a full queue of
    /// the network: their connections slow down.
    fn flush(&mut self) {
        let mut left = &self.outgoing[..];
        while let [_, behind @ ..] = left {
            left = match self.socket.get_mut().send(left) {
                Ok(count) => &left[count.max(1)..],
                Err(_) => behind,
            };
        }
        self.outgoing.clear();
    }
}

/// The task that runs the machine. It ends when the host is closed and has said so to its peers.
#[derive(Debug)]
pub(crate) struct Driver {
    shared: Arc<Shared>,
    ports: Vec<Option<Port>>,
    changes: UnboundedReceiver<Change>,
    timer: AsyncFd<OwnedFd>,
    /// Time for which the timer is set.
    armed: Option<Instant>,
    taken: Vec<Taken>,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        server: Option<Udp>,
        changes: UnboundedReceiver<Change>,
    ) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self {
            shared,
            ports: server.map(Port::new).transpose()?.map(Some).into_iter().collect(),
            changes,
            timer: registered(timer)?,
            armed: None,
            taken: Vec::new(),
        })
    }

    /// Learns of changes of the paths. A socket that cannot be used leaves its path down.
    fn change(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(change)) = self.changes.poll_recv(cx) {
            let (path, port, input) = match change {
                Change::Up(path, socket, remote) => {
                    let route = Route { socket: path, remote, local: None };
                    (path, Port::new(socket).ok(), Input::PathUp(route))
                }
                Change::Down(path) => (path, None, Input::PathDown(path)),
            };
            let place = usize::from(path);
            while self.ports.len() <= place {
                self.ports.push(None);
            }
            let input = if port.is_none() { Input::PathDown(path) } else { input };
            self.ports[place] = port;
            self.shared.with(|state| state.report(input));
        }
    }

    /// Takes the arrived datagrams of a socket; returns whether all were taken.
    fn receive(&mut self, place: usize, cx: &mut Context<'_>) -> bool {
        let mut count = 0;
        while count < TAKEN_A_TURN {
            let Some(port) = &mut self.ports[place] else { return true };
            let Poll::Ready(Ok(mut guard)) = port.socket.poll_read_ready_mut(cx) else {
                return true;
            };
            let left = guard.get_inner_mut().receive(&mut self.taken);
            if matches!(left, Ok(Left::Nothing)) {
                guard.clear_ready();
            }
            // An error is that of an earlier datagram, such as a closed port: the session notices.
            let taken = &mut self.taken;
            count += taken.len().max(1);
            self.shared.with(|state| {
                for Taken { datagram, .. } in taken.drain(..) {
                    let (remote, local) = (datagram.from, datagram.to);
                    let route = Route { socket: place as u8, remote, local };
                    state.report(Input::Arrived(route, datagram.bytes));
                }
            });
        }
        false
    }

    /// Sends the machine's datagrams; returns whether those were all, and its next deadline.
    fn send(&mut self, cx: &Context<'_>) -> (bool, Option<Instant>) {
        let shared = Arc::clone(&self.shared);
        let (is_all, deadline) = shared.with(|state| {
            let now = state.now();
            if state.endpoint.deadline().is_some_and(|at| at <= now) {
                state.endpoint.wake(now);
            }
            let mut count = 0;
            while count < SENDS_A_TURN
                && let Some(Transmit { socket, datagram }) = state.endpoint.poll(now)
            {
                count += 1;
                if let Some(Some(port)) = self.ports.get_mut(usize::from(socket)) {
                    port.outgoing.push(datagram);
                    if port.outgoing.len() == TOGETHER {
                        port.flush();
                    }
                }
            }
            state.take_events();
            state.driver = Some(cx.waker().clone());
            (count < SENDS_A_TURN, state.endpoint.deadline())
        });
        self.ports.iter_mut().flatten().for_each(Port::flush);
        (is_all, deadline)
    }

    /// Sets the timer, unless it expires before in any case.
    fn arm(&mut self, now: Instant, deadline: Option<Instant>) -> io::Result<()> {
        let Some(deadline) = deadline else { return Ok(()) };
        if self.armed.is_some_and(|armed| armed > now && armed <= deadline) {
            return Ok(());
        }
        let ns = deadline.since(now).as_nanos().max(1);
        let it_value =
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval, it_value };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &setting)?;
        self.armed = Some(deadline);
        Ok(())
    }

    /// Takes the timer's expiry, so that the task wakes at the next.
    fn expire(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while let Poll::Ready(guard) = self.timer.poll_read_ready(cx) {
            let mut guard = guard?;
            let mut count = [0; 8];
            let read = guard.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut count)?));
            if read.is_ok() {
                self.armed = None;
            }
        }
        Ok(())
    }
}

impl Future for Driver {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.change(cx);
        self.expire(cx)?;
        let mut is_all = true;
        for place in 0..self.ports.len() {
            is_all &= self.receive(place, cx);
        }
        let (has_sent_all, deadline) = self.send(cx);
        let now = self.shared.with(State::now);
        let is_due = deadline.is_some_and(|at| at <= now);
        if self.shared.with(|state| state.is_closing && state.endpoint.sessions() == 0) {
            return Poll::Ready(Ok(()));
        }
        if !is_all || !has_sent_all || is_due {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.arm(now, deadline)?;
        Poll::Pending
    }
}
