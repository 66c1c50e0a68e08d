//! A borrowed link on tokio: a local socket whose datagrams reach a server over a lender.

use crate::discovery;
use crate::loan::{Event, Input, Loan, Output};
use crate::port::{Alarm, Port};
use fairwave_linux::Clock;
use fairwave_linux::random::random;
use fairwave_machine::Machine;
use fairwave_machine::datagram::Outgoing;
use fairwave_shake_host::noise::Psk;
use fairwave_sockets::Udp;
use fairwave_units::Seed;
use fairwave_wire::cluster::{Denial, Terms};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::{Context, Poll};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time;

/// Time until a socket that the kernel refused is tried again.
const AGAIN: time::Duration = time::Duration::from_secs(1);

/// Place of a lender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// An address and a port.
    Address(SocketAddr),
    /// The name under which it announces itself.
    Name(String),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// State of a borrowed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The lender is looked for, or has not answered yet.
    Searching,
    /// No answer: there is no lender, or it has another key.
    Silent,
    /// The lender was there, and does not answer any more.
    Lost,
    /// The lender refuses.
    Denied(Denial),
    /// There is a lease.
    Granted(Terms),
}

/// Parts that the task and its owner share.
#[derive(Debug, Default)]
struct Shared {
    /// Port of the socket that uses the link.
    user: AtomicU16,
    closing: Notify,
}

impl Shared {
    /// Address of the socket that uses the link.
    fn user(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.user.load(Ordering::Relaxed)))
    }
}

/// A borrowed link. It has to be made within a tokio runtime.
#[derive(Debug)]
pub struct Link {
    local: SocketAddr,
    state: watch::Receiver<State>,
    shared: Arc<Shared>,
    task: Option<JoinHandle<()>>,
}

impl Link {
    /// Borrows the uplink of a lender for datagrams to a server.
    ///
    /// # Errors
    /// If the kernel refuses a step.
    pub fn new(psk: Psk, lender: At, server: SocketAddr) -> io::Result<Self> {
        let mut socket = Udp::bind((Ipv4Addr::LOCALHOST, 0).into())?;
        socket.allow_gso();
        let local = socket.address()?;
        let (sender, state) = watch::channel(State::Searching);
        let shared = Arc::<Shared>::default();
        let task = Task {
            loan: Loan::new(psk, server, Seed(random()?)),
            lender,
            clock: Clock::start(),
            local: Port::new(socket)?,
            state: sender,
            shared: Arc::clone(&shared),
            alarm: Alarm::default(),
        };
        Ok(Self { local, state, shared, task: Some(tokio::spawn(task.run())) })
    }

    /// Its state now.
    pub fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Waits until the lender has answered, or is found silent.
    pub async fn settled(&self) {
        let mut state = self.state.clone();
        // The sender lives as long as the task.
        let _ = state.wait_for(|state| *state != State::Searching).await;
    }

    /// Opens the one socket that uses the link; one before has no use any more. Its peer is the
    /// address.
    ///
    /// # Errors
    /// If the kernel refuses the socket.
    pub fn attach(&self) -> io::Result<(Udp, SocketAddr)> {
        let mut socket = Udp::connect(self.local)?.without_fragments()?;
        socket.allow_gso();
        self.shared.user.store(socket.address()?.port(), Ordering::Relaxed);
        Ok((socket, self.local))
    }

    /// Ends the lease.
    pub async fn close(mut self) {
        /// The task has nothing to wait for; this is for a kernel that fails.
        const LONGEST: time::Duration = time::Duration::from_secs(1);
        self.shared.closing.notify_one();
        if let Some(mut task) = self.task.take()
            && time::timeout(LONGEST, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

struct Task {
    loan: Loan,
    lender: At,
    clock: Clock,
    local: Port,
    state: watch::Sender<State>,
    shared: Arc<Shared>,
    alarm: Alarm,
}

impl Task {
    async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        loop {
            let address = tokio::select! {
                () = shared.closing.notified() => return,
                address = find(&self.lender) => address,
            };
            let Ok(lender) = opened(address) else {
                self.state.send_replace(State::Silent);
                time::sleep(AGAIN).await;
                continue;
            };
            self.loan.handle(self.clock.now(), Input::Found);
            if self.borrow(lender, address).await {
                return;
            }
        }
    }

    /// Carries datagrams as long as the lender answers; returns whether the link is closed.
    async fn borrow(&mut self, mut lender: Port, address: SocketAddr) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut closing = std::pin::pin!(shared.closing.notified());
        poll_fn(|cx| {
            if closing.as_mut().poll(cx).is_ready() {
                self.loan.handle(self.clock.now(), Input::Close);
                self.drain(&mut lender, address);
                return Poll::Ready(true);
            }
            self.carry(cx, &mut lender, address).map(|()| false)
        })
        .await
    }

    /// Carries datagrams; ready when the lender is to be looked for again.
    fn carry(&mut self, cx: &mut Context<'_>, lender: &mut Port, address: SocketAddr) -> Poll<()> {
        let (loan, clock) = (&mut self.loan, &self.clock);
        let user = self.shared.user();
        let mut is_all = self.local.receive(cx, |incoming| {
            if incoming.from == user {
                loan.handle(clock.now(), Input::Local(incoming.bytes));
            }
        });
        is_all &= lender.receive(cx, |incoming| {
            if incoming.from == address {
                loan.handle(clock.now(), Input::Lender(incoming.bytes));
            }
        });
        let now = self.clock.now();
        if self.loan.deadline().is_some_and(|at| at <= now) {
            self.loan.wake(now);
        }
        if self.drain(lender, address) {
            return Poll::Ready(());
        }
        let is_to_come = self.alarm.set(cx, &self.clock, self.loan.deadline());
        if !is_to_come || !is_all {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Sends the outputs, and reports the events; returns whether the lender is silent.
    fn drain(&mut self, lender: &mut Port, address: SocketAddr) -> bool {
        let user = self.shared.user();
        while let Some(output) = self.loan.poll(self.clock.now()) {
            match output {
                Output::Lender(bytes) => lender.push(Outgoing::new(address, bytes)),
                Output::Local(bytes) => self.local.push(Outgoing::new(user, bytes)),
            }
        }
        lender.flush();
        self.local.flush();
        let mut is_unanswered = false;
        while let Some(event) = self.loan.event() {
            let state = match event {
                Event::Granted(terms) => State::Granted(terms),
                Event::Denied(denial) => State::Denied(denial),
                Event::Lost => State::Lost,
                Event::Unanswered => State::Silent,
            };
            is_unanswered |= event == Event::Unanswered;
            self.state.send_replace(state);
        }
        is_unanswered
    }
}

async fn find(lender: &At) -> SocketAddr {
    match lender {
        At::Address(address) => *address,
        At::Name(name) => discovery::find(name).await,
    }
}

/// A socket for a lender, with the source that the kernel chooses now for each datagram.
fn opened(lender: SocketAddr) -> io::Result<Port> {
    let any = match lender.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let mut socket = Udp::bind(SocketAddr::new(any, 0))?.without_fragments()?;
    socket.allow_gso();
    Port::new(socket)
}
