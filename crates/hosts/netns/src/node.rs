//! One node: a thread that lives in the node's namespaces and carries out requests there.

use crate::hosts::IPV4_FIRST;
use crate::tun::DEVICE;
use crate::{Error, KeeperCommand, LinkState, NodePlan, Prefix, Tun, mptcp};
use fairwave_linux::keeper::{ProcessNamespace, showing_processes};
use fairwave_linux::kernel::{be_ordinary, set_tun_carrier, unshare};
use fairwave_linux::mounts;
use fairwave_linux::netlink::Netlink;
use fairwave_linux::realtime::Processors;
use rustix::event::{Timespec, poll};
use rustix::thread::UnshareFlags;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Timeout of a node's thread when all ends, as a closure may never return; and of an address when
/// all begins.
const PATIENCE: Duration = Duration::from_secs(2);

/// Interval of questions whether an address is usable, in milliseconds.
const MOMENT_MS: u8 = 1;

/// Settings of `fw0` that keep the kernel from sending packets of its own accord, and from
/// waiting before an address is usable: no link-local address (nothing then solicits routers),
/// no router advertisements, no detection of duplicates.
const QUIET: [(&str, &str); 4] = [
    ("addr_gen_mode", "1"),
    ("accept_ra", "0"),
    ("router_solicitations", "0"),
    ("accept_dad", "0"),
];

type Job = Box<dyn FnOnce() + Send>;

/// A thread that carries out requests.
#[derive(Debug)]
struct Worker {
    node: String,
    jobs: Option<Sender<Job>>,
    // Within a lock only so that the node can be shared among threads.
    ended: Mutex<Receiver<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A node's threads, from outside.
#[derive(Debug)]
pub(crate) struct Node {
    name: String,
    /// Runs closures, which may start threads.
    worker: Worker,
    /// Starts programs. Its children are in the PID namespace of programs, so it can start no
    /// threads; and it cannot go back, as a user is no administrator of the namespace outside.
    starter: Worker,
    /// The node's network namespace.
    pub(crate) network: File,
    gaps: Mutex<Gaps>,
}

/// Packets that the kernel dropped at a node's device, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Those before them had not been read.
    pub unread: u64,
    /// The device had no carrier.
    pub without_carrier: u64,
}

/// Packets dropped without a carrier, which the kernel counts with those that were not read.
#[derive(Debug, Default)]
struct Gaps {
    /// Those of past gaps.
    past: u64,
    /// The kernel's count when the carrier was lost, if it is.
    since: Option<u64>,
}

impl Gaps {
    /// Notes a change of the state, with the kernel's count at that time.
    fn note(&mut self, to: LinkState, count: u64) {
        if let Some(since) = self.since.take() {
            self.past += count.saturating_sub(since);
        }
        self.since = (to == LinkState::NoCarrier).then_some(count);
    }

    /// Divides the kernel's count by cause.
    fn split(&self, all: u64) -> Dropped {
        let present = self.since.map_or(0, |since| all.saturating_sub(since));
        let without_carrier = self.past + present;
        Dropped { unread: all.saturating_sub(without_carrier), without_carrier }
    }
}

/// Inputs of a node.
pub(crate) struct Site<'a> {
    pub(crate) plan: &'a NodePlan,
    pub(crate) hosts: &'a str,
    pub(crate) resolv: Option<&'a str>,
    pub(crate) keeper: &'a KeeperCommand,
    pub(crate) receivers: Option<&'a Processors>,
}

impl Worker {
    /// Starts a thread that first makes itself ready by `enter`, and returns the result of that.
    fn start<T: Send + 'static>(
        node: &str,
        enter: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<(Self, T)> {
        let (jobs, orders) = channel::<Job>();
        let (end, ended) = channel::<()>();
        let (entered, entry) = channel();
        let thread = thread::Builder::new().name(format!("fw-{node}")).spawn(move || {
            let _end = end;
            let _ = entered.send(enter());
            orders.into_iter().for_each(|job| job());
        })?;
        let ready = entry.recv().map_err(io::Error::other)??;
        let (jobs, ended) = (Some(jobs), Mutex::new(ended));
        Ok((Self { node: node.to_owned(), jobs, ended, thread: Some(thread) }, ready))
    }

    /// Runs a closure on the thread. Its panic continues here.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = channel();
        let job: Job = Box::new(move || {
            let _ = answer.send(catch_unwind(AssertUnwindSafe(work)));
        });
        let jobs = self.jobs.as_ref().ok_or_else(|| gone(&self.node))?;
        jobs.send(job).map_err(|_| gone(&self.node))?;
        match answered.recv() {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(gone(&self.node)),
        }
    }

    /// Waits until the thread has ended, unless a closure keeps it.
    fn await_end(&mut self) {
        // Nothing is ever sent: the channel closes when the thread has done its last job.
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let closed = ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Disconnected);
        if let Some(thread) = self.thread.take().filter(|_| closed) {
            let _ = thread.join();
        }
    }
}

impl Node {
    /// Starts a node's threads in new namespaces, and builds the plan there.
    pub(crate) fn start(site: &Site<'_>, programs: ProcessNamespace) -> Result<(Self, Tun), Error> {
        let name = site.plan.name.clone();
        let own = name.clone();
        let (worker, (network, starter)) = Worker::start(&name, move || {
            let network = enter()?;
            // A thread inherits the namespaces of the thread that starts it.
            let (starter, ()) = Worker::start(&own, move || programs.enter())?;
            Ok((network, starter))
        })
        .map_err(Error::at(format!("{name}: new namespaces")))?;
        let node = Self { name, worker, starter, network, gaps: Mutex::default() };
        let tun = node.build(site)?;
        Ok((node, tun))
    }

    fn build(&self, site: &Site<'_>) -> Result<Tun, Error> {
        let plan = site.plan.clone();
        let hosts = site.hosts.to_owned();
        let resolv = site.resolv.map(str::to_owned);
        let mut shower = showing_processes(site.keeper);
        let name = plan.name.clone();
        self.run(move || furnish(&name, &hosts, resolv.as_deref()))??;
        // Where it is refused (nested containers), programs see the machine's processes.
        let _ = self.starter.run(move || shower.status())?;
        let receivers = site.receivers.map(Processors::mask);
        self.run(move || connect(&plan, receivers.as_deref()))?
    }

    /// Runs a closure on the node's thread. Its panic continues here.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.worker.run(work)
    }

    /// Runs a closure that starts a process.
    pub(crate) fn run_starter<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.starter.run(work)
    }

    /// Whether `fw0` is still there.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let found = self.run(|| Netlink::open().and_then(|netlink| netlink.index(DEVICE)))?;
        found.map(drop).map_err(|_| crate::tun::vanished(&self.name))
    }

    /// Gives `fw0` another state, from one that it has; returns when notifications are sent.
    pub(crate) fn set_link(&self, tun: &Tun, from: LinkState, to: LinkState) -> Result<(), Error> {
        let at = |what: &str| format!("{}: {what} of {DEVICE}", self.name);
        let copy = tun.copy().map_err(Error::at(at("descriptor")))?;
        let changed = self.run(move || set_link(&copy, from, to))?;
        let count = changed.map_err(Error::at(at("carrier")))?;
        self.gaps().note(to, count);
        Ok(())
    }

    /// Packets that the kernel dropped at `fw0`.
    pub(crate) fn dropped(&self) -> Result<Dropped, Error> {
        let all = self.run(|| {
            let mut netlink = Netlink::open()?;
            netlink.index(DEVICE).map_or(Ok(0), |index| netlink.dropped_in_sending(index))
        })?;
        let all = all.map_err(Error::at(format!("{}: counts of {DEVICE}", self.name)))?;
        Ok(self.gaps().split(all))
    }

    fn gaps(&self) -> MutexGuard<'_, Gaps> {
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the threads end once they have done their jobs.
    pub(crate) fn dismiss(&mut self) {
        self.worker.jobs = None;
        self.starter.jobs = None;
    }

    /// Waits until the threads have ended.
    pub(crate) fn await_end(&mut self) {
        self.worker.await_end();
        self.starter.await_end();
    }
}

fn gone(name: &str) -> Error {
    Error::Vanished(format!("{name}: the thread of the node has ended"))
}

/// Moves the calling thread into namespaces of its own; returns that of the network.
fn enter() -> io::Result<File> {
    be_ordinary()?;
    let apart = UnshareFlags::FS | UnshareFlags::NEWNS;
    unshare(apart | UnshareFlags::NEWUTS | UnshareFlags::NEWNET)?;
    mounts::keep_to_itself()?;
    File::open("/proc/thread-self/ns/net")
}

/// Names and files.
fn furnish(name: &str, hosts: &str, resolv: Option<&str>) -> Result<(), Error> {
    let at = |what: &str| format!("{name}: {what}");
    rustix::system::sethostname(name.as_bytes()).map_err(Error::at(at("host name")))?;
    mounts::replace("/etc/hosts", hosts).map_err(Error::at(at("/etc/hosts")))?;
    let order = "/etc/gai.conf";
    // Where the machine has no such file, nothing can be put in its place: IPv6 stays first.
    if Path::new(order).exists() {
        mounts::replace(order, IPV4_FIRST).map_err(Error::at(at(order)))?;
    }
    if let Some(resolv) = resolv {
        let path = "/etc/resolv.conf";
        mounts::replace(path, resolv).map_err(Error::at(at(path)))?;
    }
    mounts::show_interfaces();
    Ok(())
}

/// Loopback, the TUN device, settings, addresses and routes.
fn connect(plan: &NodePlan, receivers: Option<&str>) -> Result<Tun, Error> {
    let name = &plan.name;
    let at = |what: String| format!("{name}: {what}");
    let mut netlink = Netlink::open().map_err(Error::at(at("netlink".to_owned())))?;
    let loopback = netlink.index("lo").map_err(Error::at(at("lo".to_owned())))?;
    netlink.up(loopback).map_err(Error::at(at("lo up".to_owned())))?;
    if let Some(receivers) = receivers {
        // A kernel without the setting is slower, and otherwise the same.
        let _ = set("net.core.rps_default_mask", receivers);
    }
    let tun = Tun::create(name, plan.offload)?;
    let index = netlink.index(DEVICE).map_err(Error::at(at(DEVICE.to_owned())))?;
    netlink
        .size(index, plan.mtu, plan.txqueuelen)
        .map_err(Error::at(at(format!("MTU {} and txqueuelen {}", plan.mtu, plan.txqueuelen))))?;
    be_quiet();
    for (key, value) in &plan.sysctls {
        set(key, value).map_err(Error::at(at(format!("sysctl {key} = {value}"))))?;
    }
    netlink.up(index).map_err(Error::at(at(format!("{DEVICE} up"))))?;
    for prefix in &plan.addresses {
        let what = at(format!("address {}/{}", prefix.address, prefix.length));
        netlink.address(index, *prefix).map_err(Error::at(what))?;
    }
    await_addresses(&mut netlink, plan)?;
    for alias in &plan.aliases {
        let address = Prefix::new(*alias, 32);
        netlink.address(index, address).map_err(Error::at(at(format!("address {alias}/32"))))?;
    }
    if let Some(endpoints) = &plan.endpoints {
        mptcp::announce(endpoints).map_err(Error::at(at("addresses of MPTCP".to_owned())))?;
    }
    for route in &plan.routes {
        let what = at(format!("route to {}/{}", route.to.address, route.to.length));
        netlink.route(index, route.to, None, route.quick_acks).map_err(Error::at(what))?;
    }
    Ok(tun)
}

/// Waits until packets to the node's addresses are taken: earlier ones are lost.
fn await_addresses(netlink: &mut Netlink, plan: &NodePlan) -> Result<(), Error> {
    let moments = PATIENCE.as_millis() / u128::from(MOMENT_MS);
    for Prefix { address, .. } in &plan.addresses {
        let step = || format!("{}: address {address}", plan.name);
        let mut taken = false;
        for _ in 0..moments {
            taken = netlink.takes(*address).map_err(Error::at(step()))?;
            if taken {
                break;
            }
            let moment = Timespec { tv_sec: 0, tv_nsec: (i32::from(MOMENT_MS) * 1_000_000).into() };
            let _ = poll(&mut [], Some(&moment));
        }
        if !taken {
            return Err(Error::at(step())(io::Error::from(io::ErrorKind::TimedOut)));
        }
    }
    Ok(())
}

/// Changes the state of the device. Returns the kernel's count of dropped packets: before a carrier
/// is lost, and after it is back.
fn set_link(tun: &OwnedFd, from: LinkState, to: LinkState) -> io::Result<u64> {
    let mut netlink = Netlink::open()?;
    let index = netlink.index(DEVICE)?;
    let before = netlink.dropped_in_sending(index)?;
    let carrier = |state| state != LinkState::NoCarrier;
    if carrier(from) != carrier(to) {
        set_tun_carrier(tun, carrier(to))?;
        netlink.settle(index)?;
    }
    let dormant = |state| state == LinkState::Dormant;
    if dormant(from) != dormant(to) {
        netlink.set_dormant(index, dormant(to))?;
    }
    if carrier(to) { netlink.dropped_in_sending(index) } else { Ok(before) }
}

fn be_quiet() {
    for (key, value) in QUIET {
        // A kernel without IPv6 has none of them.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{DEVICE}/{key}"), value);
    }
}

/// Writes a setting of the calling thread's namespaces, `net.ipv4.tcp_rmem` or
/// `net/ipv4/tcp_rmem`.
pub(crate) fn set(key: &str, value: &str) -> io::Result<()> {
    let path = if key.contains('/') { key.to_owned() } else { key.replace('.', "/") };
    // Other settings are those of the machine, not of the namespace.
    if !path.starts_with("net/") || path.contains("..") {
        return Err(io::Error::other("only settings below `net` belong to a namespace"));
    }
    fs::write(format!("/proc/sys/{path}"), value)
}
