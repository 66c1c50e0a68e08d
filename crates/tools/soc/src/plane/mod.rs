//! Shares of an interface by our own scheduler, where the kernel has none.
//!
//! Every frame that leaves by the interface is led through this program ([`Egress`]), waits in a
//! queue of its station, and goes to the driver in the order of WF2Q+ (`fairwave_queue`) at a rate
//! which is somewhat less than the link's, so that the queue is here. A thread of its own does this
//! and nothing else.

mod bucket;
mod classes;
mod forward;
mod pieces;

use crate::Error;
use crate::status::Frames;
use fairwave_linux::Clock;
use fairwave_linux::KeeperCommand;
use fairwave_linux::{Egress, Pieces, Traffic};
use fairwave_soc::Weight;
use fairwave_units::Instant;
use fairwave_wire::ethernet::Mac;
use forward::{Forwarder, Settings, Wire};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::process::setpriority_process;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The rate in bits a second from which on large pieces of TCP are not cut: each of 64 KiB takes a
/// millisecond, which is what the stations wait for one another in addition.
const WHOLE_FROM: u64 = 500_000_000;

/// The nice value of the thread.
const HASTE: i32 = -20;

/// What is to be shared.
#[derive(Clone, Debug)]
pub struct PlanePlan {
    /// The interface by which frames go to stations.
    pub interface: String,
    /// What all together get, in bits a second: somewhat less than the radio carries.
    pub rate_bps: u64,
    /// Frames that wait for each station, or each kind of its traffic.
    pub queue_packets: u32,
    /// The kinds of traffic that have queues of their own for each station, beside one for the
    /// rest. None twice.
    pub traffic: Vec<Traffic>,
    /// The EtherType of frames to stations that do not wait in the stations' queues.
    pub urgent: u16,
    /// Whether frames may pass by a root qdisc that somebody set.
    pub replace: bool,
    /// How the keeper is started.
    pub keeper: KeeperCommand,
}

/// A data plane at work. The interface is restored when this is dropped; what waits is lost.
pub struct Plane {
    egress: Arc<Egress>,
    shared: Arc<Shared>,
    /// The thread, until it is asked to end.
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// What the thread is told, and tells.
struct Shared {
    told: Mutex<Told>,
    /// Readable when something was told.
    bell: OwnedFd,
}

#[derive(Default)]
struct Told {
    orders: Vec<Order>,
    ends: bool,
    counts: Frames,
}

enum Order {
    Serve(Mac, Option<IpAddr>, Vec<f64>),
    Stop(Mac),
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, what: impl FnOnce(&mut Told)) {
        what(&mut self.told());
        // A bell that cannot count further rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

impl Wire for Egress {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Self::receive(self, buffer)
    }

    fn send(&self, frame: &[u8]) -> io::Result<bool> {
        Self::send(self, frame)
    }
}

impl Plane {
    /// Leads the interface's frames through a thread, in which they wait as those of otits.
    ///
    /// # Errors
    /// As [`Egress::open`], or if there can be no thread.
    pub fn start(plan: &PlanePlan) -> Result<Self, Error> {
        let step = |what: &str| Error::at(format!("interface `{}`: {what}", plan.interface));
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = eventfd(0, flags).map_err(|errno| step("a bell")(errno.into()))?;
        let shared = Arc::new(Shared { told: Mutex::default(), bell });
        let pieces = if plan.rate_bps >= WHOLE_FROM { Pieces::Whole } else { Pieces::Cut };
        let egress = Egress::open(&plan.interface, pieces, plan.replace, &plan.keeper);
        let egress = Arc::new(egress?);
        let mut forwarder = Forwarder::new(&Settings {
            rate_bps: plan.rate_bps,
            queue: plan.queue_packets,
            longest: egress.longest(),
            traffic: plan.traffic.clone(),
            urgent: plan.urgent,
        });
        let (frames, orders) = (Arc::clone(&egress), Arc::clone(&shared));
        let work = move || run(&mut forwarder, &frames, &orders);
        let thread = thread::Builder::new().name("plane".to_owned()).spawn(work);
        Ok(Self { egress, shared, thread: Some(thread.map_err(step("a thread"))?) })
    }

    /// Gives a station weights: of the rest, and then of each kind of traffic of the plan. Frames
    /// to it are known by its IP address if that is given, and else by its link address. A weight
    /// of 0 sends nothing.
    pub fn serve(&self, station: Mac, address: Option<IpAddr>, weights: &[Weight]) {
        let weights = weights.iter().map(|weight| weight.fraction()).collect();
        self.shared.tell(|told| told.orders.push(Order::Serve(station, address, weights)));
    }

    /// A station's frames go with those of unknown ones.
    pub fn stop(&self, station: Mac) {
        self.shared.tell(|told| told.orders.push(Order::Stop(station)));
    }

    /// What became of frames so far.
    pub fn counts(&self) -> Frames {
        self.shared.told().counts
    }

    /// Whether frames are still forwarded, and the interface is there.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&mut self) -> io::Result<()> {
        match self.thread.take() {
            Some(thread) if thread.is_finished() => ended(thread),
            Some(thread) => {
                self.thread = Some(thread);
                self.egress.check()
            }
            None => Err(io::Error::other("the data plane has ended")),
        }
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.shared.tell(|told| told.ends = true);
        // Whoever cares has asked by `check`.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What a thread said that was not asked to end.
fn ended(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    match thread.join() {
        Ok(Ok(())) => Err(io::Error::other("the data plane has ended")),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other("the data plane's thread panicked")),
    }
}

fn run(forwarder: &mut Forwarder, egress: &Egress, shared: &Shared) -> io::Result<()> {
    let clock = Clock::start();
    // The kernel's queues are served before programs, too. Who may not is served like others.
    let _ = setpriority_process(None, HASTE);
    loop {
        if obey(forwarder, clock.now(), shared) {
            return Ok(());
        }
        let is_empty = forwarder.take(clock.now(), egress)?;
        let next = forwarder.send(clock.now(), egress)?;
        if is_empty {
            wait(egress, shared, next, clock.now())?;
        }
    }
}

/// Does what was told; whether to end.
fn obey(forwarder: &mut Forwarder, now: Instant, shared: &Shared) -> bool {
    let mut told = shared.told();
    told.counts = forwarder.counts;
    for order in told.orders.drain(..) {
        match order {
            Order::Serve(station, address, weights) => {
                forwarder.serve(now, station, address, &weights);
            }
            Order::Stop(station) => forwarder.stop(now, station),
        }
    }
    told.ends
}

/// Waits for frames, the bell, or the time at which more may be sent.
fn wait(egress: &Egress, shared: &Shared, next: Option<Instant>, now: Instant) -> io::Result<()> {
    let most = next.map(|next| next.since(now).as_nanos());
    if most == Some(0) {
        return Ok(());
    }
    let most = most.map(|nanos| Timespec {
        tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (nanos % 1_000_000_000) as _,
    });
    let mut polled =
        [egress.as_fd(), shared.bell.as_fd()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut polled, most.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    if !polled[1].revents().is_empty() {
        // It rings until it is read.
        let _ = rustix::io::read(&shared.bell, &mut [0; 8]);
    }
    Ok(())
}
