//! Shares of an interface by a scheduler in user space, for kernels that have none.
//!
//! Every frame that leaves by the interface passes through this program ([`Egress`]). It waits in a
//! queue of its station, and goes to the driver in the order of WF2Q+ (`fairwave_queue`). The rate
//! is somewhat lower than the link's, so that frames queue here and not in the driver. A separate
//! thread does only this.

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

/// Rate in bits per second from which TCP segments of up to 64 KiB are not cut. At this rate a
/// segment takes one millisecond, which is the additional wait of other stations.
const WHOLE_FROM: u64 = 500_000_000;

/// Nice value of the thread.
const HASTE: i32 = -20;

/// Options of the data plane.
#[derive(Clone, Debug)]
pub struct PlanePlan {
    /// Interface towards the stations.
    pub interface: String,
    /// Total rate in bits per second: somewhat less than the radio carries.
    pub rate_bps: u64,
    /// Maximum number of frames that wait for each station, or each kind of its traffic.
    pub queue_packets: u32,
    /// The kinds of traffic that have their own queues for each station, beside one for the rest.
    /// Each at most once.
    pub traffic: Vec<Traffic>,
    /// EtherType of frames to stations that bypass the stations' queues.
    pub urgent: u16,
    /// Whether frames may bypass a root qdisc that another program has set.
    pub replace: bool,
    /// Command that starts the keeper.
    pub keeper: KeeperCommand,
}

/// A running data plane. The interface is restored when this is dropped; frames that wait are lost.
pub struct Plane {
    shared: Arc<Shared>,
    /// The thread, until it is asked to end.
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// State that the thread shares with its owner.
struct Shared {
    reported: Mutex<SharedState>,
    /// Event descriptor; readable when the thread has new commands.
    bell: OwnedFd,
}

#[derive(Default)]
struct SharedState {
    orders: Vec<Order>,
    ends: bool,
    counts: Frames,
}

enum Order {
    Serve(Mac, Option<IpAddr>, Vec<f64>),
    Stop(Mac),
}

impl Shared {
    fn reported(&self) -> MutexGuard<'_, SharedState> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self, what: impl FnOnce(&mut SharedState)) {
        what(&mut self.reported());
        // The write only fails if the counter is full, and then the descriptor is readable.
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
    /// Starts a thread through which the interface's frames pass.
    ///
    /// # Errors
    /// As [`Egress::open`], or if no thread can be started.
    pub fn start(plan: &PlanePlan) -> Result<Self, Error> {
        let step = |what: &str| Error::at(format!("interface `{}`: {what}", plan.interface));
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = eventfd(0, flags).map_err(|errno| step("a bell")(errno.into()))?;
        let shared = Arc::new(Shared { reported: Mutex::default(), bell });
        let pieces = if plan.rate_bps >= WHOLE_FROM { Pieces::Whole } else { Pieces::Cut };
        let egress = Egress::open(&plan.interface, pieces, plan.replace, &plan.keeper);
        let egress = egress?;
        let mut forwarder = Forwarder::new(&Settings {
            rate_bps: plan.rate_bps,
            queue: plan.queue_packets,
            longest: egress.longest(),
            traffic: plan.traffic.clone(),
            urgent: plan.urgent,
        });
        let orders = Arc::clone(&shared);
        let work = move || run(&mut forwarder, &egress, &orders);
        let thread = thread::Builder::new().name("plane".to_owned()).spawn(work);
        Ok(Self { shared, thread: Some(thread.map_err(step("a thread"))?) })
    }

    /// Sets a station's weights: of the rest, and then of each kind of traffic of the plan. Frames
    /// to it are identified by its IP address if that is given, and else by its link address. With
    /// weight 0 nothing is sent.
    pub fn serve(&self, station: Mac, address: Option<IpAddr>, weights: &[Weight]) {
        let weights = weights.iter().map(|weight| weight.fraction()).collect();
        self.shared
            .notify(|reported| reported.orders.push(Order::Serve(station, address, weights)));
    }

    /// Removes a station: its frames are treated as those of unknown stations.
    pub fn stop(&self, station: Mac) {
        self.shared.notify(|reported| reported.orders.push(Order::Stop(station)));
    }

    /// Counters of frames so far.
    pub fn counts(&self) -> Frames {
        self.shared.reported().counts
    }

    /// Checks that frames are still forwarded.
    ///
    /// # Errors
    /// Reason for which they are not.
    pub fn check(&mut self) -> io::Result<()> {
        match self.thread.take() {
            Some(thread) if thread.is_finished() => ended(thread),
            Some(thread) => {
                self.thread = Some(thread);
                Ok(())
            }
            None => Err(io::Error::other("the data plane has ended")),
        }
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.shared.notify(|reported| reported.ends = true);
        // `check` has already reported the error.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The error of a thread that ended without request.
fn ended(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    match thread.join() {
        Ok(Ok(())) => Err(io::Error::other("the data plane has ended")),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other("the data plane's thread panicked")),
    }
}

fn run(forwarder: &mut Forwarder, egress: &Egress, shared: &Shared) -> io::Result<()> {
    let clock = Clock::start();
    // The kernel's own queues run before programs, too. Without the privilege the thread runs at
    // the usual priority.
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

/// Carries out the commands. Returns whether to end.
fn obey(forwarder: &mut Forwarder, now: Instant, shared: &Shared) -> bool {
    let mut reported = shared.reported();
    reported.counts = forwarder.counts;
    for order in reported.orders.drain(..) {
        match order {
            Order::Serve(station, address, weights) => {
                forwarder.serve(now, station, address, &weights);
            }
            Order::Stop(station) => forwarder.stop(now, station),
        }
    }
    reported.ends
}

/// Waits for frames, commands, or the time at which the next frame may be sent.
fn wait(egress: &Egress, shared: &Shared, next: Option<Instant>, now: Instant) -> io::Result<()> {
    let max = next.map(|next| next.since(now).as_nanos());
    if max == Some(0) {
        return Ok(());
    }
    let max = max.map(|nanos| Timespec {
        tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (nanos % 1_000_000_000) as _,
    });
    let mut polled =
        [egress.as_fd(), shared.bell.as_fd()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut polled, max.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    if !polled[1].revents().is_empty() {
        // The descriptor stays readable until it is read.
        let _ = rustix::io::read(&shared.bell, &mut [0; 8]);
    }
    Ok(())
}
