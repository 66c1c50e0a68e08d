//! The loop between a socket, the machine and the tasks of applications, on tokio.

use crate::machine::Fact;
use crate::mtu::{self, Cut};
use crate::shared::{Shared, State};
use crate::socket::Socket;
use fairwave_linux::arrival::arrival;
use fairwave_machine::Machine;
use fairwave_sockets::{Alarm, Left, Outgoing, Taken, registered};
use fairwave_units::Instant;
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinSet;

/// Datagrams that are handed to the kernel at once.
const TOGETHER: usize = 64;
/// Datagrams sent before tasks of applications have their turn.
const SENDS_A_TURN: usize = 256;
/// Datagrams taken before the machine answers them, but for those of the last read.
const TAKEN_A_TURN: usize = 128;

fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error().map(Errno::from_raw_os_error) == Some(Errno::MSGSIZE)
}

/// The task that runs the machine. It ends when the endpoint is closed and its connections are
/// over.
#[derive(Debug)]
pub(crate) struct Driver {
    shared: Arc<Shared>,
    socket: Socket,
    /// The server, for a client.
    server: Option<SocketAddr>,
    /// DCCP port for which the socket takes packets.
    port: Option<u16>,
    /// Copies of the socket's descriptors.
    ready: Vec<AsyncFd<OwnedFd>>,
    /// Tasks that wait for errors of the socket.
    errors: JoinSet<()>,
    alarm: Alarm,
    taken: Vec<Taken>,
    /// Datagrams that the kernel has not taken yet, and whether they may be cut.
    outgoing: Vec<Outgoing>,
    cuts: Vec<Cut>,
    /// Time at which the socket was last seen empty.
    emptied: Instant,
}

fn all_registered(files: Vec<OwnedFd>) -> io::Result<Vec<AsyncFd<OwnedFd>>> {
    files.into_iter().map(registered).collect()
}

/// Tasks that have the driver look at errors of a socket. One of a raw socket, such as the answer
/// of a host without DCCP, makes it neither readable nor writable.
fn waiting_for_errors(shared: &Arc<Shared>, socket: &Socket) -> io::Result<JoinSet<()>> {
    let mut tasks = JoinSet::new();
    for file in all_registered(socket.descriptors()?)? {
        let shared = Arc::clone(shared);
        tasks.spawn(async move {
            while let Ok(mut guard) = file.ready(Interest::ERROR).await {
                guard.clear_ready();
                shared.with(|state| {
                    state.has_error = true;
                    state.poke();
                });
            }
        });
    }
    Ok(tasks)
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        socket: Socket,
        server: Option<SocketAddr>,
    ) -> io::Result<Self> {
        Ok(Self {
            ready: all_registered(socket.descriptors()?)?,
            errors: waiting_for_errors(&shared, &socket)?,
            alarm: Alarm::new()?,
            shared,
            socket,
            server,
            port: None,
            taken: Vec::new(),
            outgoing: Vec::with_capacity(TOGETHER),
            cuts: Vec::with_capacity(TOGETHER),
            emptied: Instant::ZERO,
        })
    }

    /// Follows the machine: to another port of DCCP, or to another address of this host.
    fn follow(&mut self) -> io::Result<()> {
        let (port, has_moved) = self
            .shared
            .with(|state| (state.machine.client_port(), std::mem::take(&mut state.has_moved)));
        let server = self.server.filter(|_| has_moved);
        match server.map(|server| self.socket.move_towards(server)) {
            Some(Ok(local)) => {
                self.ready = all_registered(self.socket.descriptors()?)?;
                self.errors = waiting_for_errors(&self.shared, &self.socket)?;
                // Another socket has no filter yet.
                self.port = None;
                self.shared.with(|state| state.report(Fact::Moved(local)));
                return self.follow();
            }
            // The new route is missing again: the next turn tries once more.
            Some(Err(_)) => self.shared.with(|state| state.has_moved = true),
            None => {}
        }
        if let Some(port) = port.filter(|port| self.port != Some(*port)) {
            self.socket.accept_port(port)?;
            self.port = Some(port);
        }
        Ok(())
    }

    /// Takes the arrived datagrams; returns whether all were taken.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut count = 0;
        while count < TAKEN_A_TURN {
            let mut guards = Vec::with_capacity(self.ready.len());
            for file in &self.ready {
                match file.poll_read_ready(cx) {
                    Poll::Ready(Ok(guard)) => guards.push(guard),
                    Poll::Ready(Err(_)) | Poll::Pending => {}
                }
            }
            let (has_error, clock) =
                self.shared.with(|state| (std::mem::take(&mut state.has_error), state.clock));
            if guards.is_empty() && !has_error {
                return true;
            }
            let looked = clock.now();
            let left = self.socket.receive(&mut self.taken);
            let now = clock.now();
            if matches!(left, Ok(Left::Nothing)) {
                guards.iter_mut().for_each(tokio::io::unix::AsyncFdReadyGuard::clear_ready);
            }
            count += self.taken.len().max(1);
            if let (Err(error), Some(server)) = (&left, self.server)
                && is_too_long(error)
                && let Ok(size) = mtu::known(server)
            {
                // ICMP reported it for a datagram of before.
                self.shared.with(|state| state.report(Fact::PathTakes(server, size)));
            }
            let (taken, emptied) = (&mut self.taken, self.emptied);
            self.shared.with(|state| {
                for Taken { datagram, waited } in taken.drain(..) {
                    let at = state.at(arrival(now, waited, emptied));
                    state.machine.handle(at, Fact::Arrived(datagram));
                }
                if let Err(error) = left {
                    state.has_trouble(error);
                }
            });
            self.emptied = looked;
        }
        false
    }

    /// Hands the waiting datagrams to the kernel; returns whether it has taken all.
    fn flush(&mut self, cx: &mut Context<'_>) -> bool {
        let mut refused = 0;
        let mut trouble = None;
        while let Some(cut) = self.cuts.first().copied() {
            self.check_probe(cut);
            let run = self.cuts.iter().take_while(|other| **other == cut).count();
            let run = if cut == Cut::Never { 1 } else { run };
            match self.socket.send(&self.outgoing[..run], cut) {
                Ok(count) => self.drop_first(count.max(1)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut is_blocked = true;
                    for file in &self.ready {
                        if let Poll::Ready(Ok(mut guard)) = file.poll_write_ready(cx) {
                            guard.clear_ready();
                            // Registers the task for the next time that there is room.
                            is_blocked &= file.poll_write_ready(cx).is_pending();
                        }
                    }
                    if is_blocked {
                        return false;
                    }
                }
                // Longer than the kernel knows the path to take, by an ICMP that came meanwhile.
                Err(error) if is_too_long(&error) && cut == Cut::Kernel => {
                    self.cuts[0] = Cut::Long;
                }
                Err(error) => {
                    refused += 1;
                    trouble = Some(error);
                    self.drop_first(1);
                }
            }
        }
        if let Some(error) = trouble {
            self.shared.with(|state| {
                state.counts.refused += refused;
                state.has_trouble(error);
            });
        }
        true
    }

    fn drop_first(&mut self, count: usize) {
        self.outgoing.drain(..count);
        self.cuts.drain(..count);
    }

    /// Reports to the machine what the kernel knows of the path, if that takes no packet of the
    /// length of a probe, which then has no padding.
    fn check_probe(&mut self, cut: Cut) {
        let Some(probe) = self.outgoing.first_mut().filter(|_| cut == Cut::Never) else { return };
        if let Ok(size) = mtu::known(probe.to)
            && probe.bytes.len() > size as usize
        {
            mtu::strip(&mut probe.bytes);
            let peer = probe.to;
            self.shared.with(|state| state.report(Fact::PathTakes(peer, size)));
        }
    }

    /// Sends the machine's datagrams; returns whether those were all, and its next deadline.
    fn send(&mut self, cx: &mut Context<'_>) -> (bool, Option<Instant>) {
        let (mut count, mut is_all) = (0, false);
        while !is_all && count < SENDS_A_TURN && self.flush(cx) {
            let (outgoing, cuts) = (&mut self.outgoing, &mut self.cuts);
            is_all = self.shared.with(|state| {
                let now = state.now();
                state.machine.wake(now);
                while outgoing.len() < TOGETHER
                    && let Some(datagram) = state.machine.poll(now)
                {
                    cuts.push(Cut::of(&datagram.bytes, state.machine.whole()));
                    outgoing.push(datagram);
                }
                state.take_events();
                outgoing.len() < TOGETHER
            });
            count += self.outgoing.len();
        }
        let is_free = self.flush(cx);
        let (dropped_here, unreadable) = self.socket.losses();
        self.shared.with(|state| {
            state.counts.dropped_here = dropped_here;
            state.counts.unreadable = unreadable;
            // Without room in the socket's buffer time does not help.
            (is_all || !is_free, state.machine.deadline().filter(|_| is_free))
        })
    }

    fn step(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Registered first, so that an input that arrives during this step wakes the task again.
        self.shared.with(|state| state.driver = Some(cx.waker().clone()));
        self.alarm.expire(cx)?;
        self.follow()?;
        let is_all = self.receive(cx);
        let (has_sent_all, deadline) = self.send(cx);
        // A connection that was lost in this turn has another port.
        self.follow()?;
        let now = self.shared.with(State::now);
        let is_due = deadline.is_some_and(|at| at <= now);
        if self.shared.with(|state| state.is_closing && state.machine.is_empty()) {
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

impl Future for Driver {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let step = self.step(cx);
        if step.is_ready() {
            self.shared.with(State::end);
        }
        step
    }
}

#[cfg(test)]
mod tests;
