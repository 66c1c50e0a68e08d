//! The loop between sockets, the machine and the tasks of applications, on tokio.

use crate::endpoint::{Input, Route, Transmit};
use crate::shared::{Shared, State};
use fairwave_machine::Machine;
use fairwave_machine::datagram::Outgoing;
use fairwave_sockets::{Alarm, Left, Taken, Transport, Udp, registered};
use fairwave_units::Instant;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
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
    alarm: Alarm,
    taken: Vec<Taken>,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        server: Option<Udp>,
        changes: UnboundedReceiver<Change>,
    ) -> io::Result<Self> {
        Ok(Self {
            shared,
            ports: server.map(Port::new).transpose()?.map(Some).into_iter().collect(),
            changes,
            alarm: Alarm::new()?,
            taken: Vec::new(),
        })
    }

    /// Learns of changes of the paths. A socket that cannot be used leaves its path down.
    fn change(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(change) = self.changes.poll_recv(cx) {
            let Some(change) = change else {
                // The host was dropped: its streams and sessions end as if it had been closed.
                self.shared.with(State::close);
                return;
            };
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
                // A session that begins after the close would keep its socket.
                let is_closing = state.is_closing;
                for Taken { datagram, .. } in taken.drain(..).filter(|_| !is_closing) {
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
}

impl Future for Driver {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.change(cx);
        self.alarm.expire(cx)?;
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
        self.alarm.arm(now, deadline)?;
        Poll::Pending
    }
}
