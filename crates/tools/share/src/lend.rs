//! The loop of `fairwave share lend`.

use crate::hours::Hours;
use crate::report::{LeaseOutput, LendOutput, lend_words};
use fairwave_cluster::{Limits, Reach};
use fairwave_console::{Console, Failure};
use fairwave_shake_host::Udp;
use fairwave_shake_host::noise::Psk;
use fairwave_share_host::machine::{RelayEvent, RelayInput};
use fairwave_share_host::{Lender, LenderConfig};
use fairwave_units::Duration;
use ipnet::IpNet;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::if_nametoindex;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;
use tokio::time::{Instant, sleep};

/// Period at which the time of the day and the interfaces are looked at.
const LOOK: time::Duration = time::Duration::from_secs(1);
/// Period at which the loop checks whether it shall end.
const GLANCE: time::Duration = time::Duration::from_millis(50);
/// Leases that are kept for the output.
const LATEST: usize = 100;

/// Options of a lender.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) psk: Psk,
    pub(crate) socket: Udp,
    pub(crate) via: String,
    pub(crate) limits: Limits,
    pub(crate) allow: Vec<IpNet>,
    pub(crate) hours: Option<Hours>,
    pub(crate) interval: Option<Duration>,
    pub(crate) lasts: Option<Duration>,
}

/// State of a lender's loop.
struct Loop<'a> {
    console: &'a dyn Console,
    lender: RefCell<Lender>,
    via: String,
    /// Index of the lent interface; `None` if there is none.
    index: Cell<Option<u32>>,
    allow: Vec<IpNet>,
    hours: Option<Hours>,
    started: Instant,
    leases: Cell<u64>,
    denied: Cell<u64>,
    ended: RefCell<VecDeque<LeaseOutput>>,
}

/// Lends until `stop` is set.
///
/// # Errors
/// If the kernel refuses a step.
pub(crate) async fn run(
    console: &dyn Console,
    plan: Plan,
    stop: &AtomicBool,
) -> Result<LendOutput, Failure> {
    let Plan { psk, socket, via, limits, allow, .. } = plan;
    let reach = Reach { allow: allow.clone(), own: own_networks().map_err(Failure::run)? };
    let config = LenderConfig { psk, limits, reach, via: via.clone(), socket };
    let this = Loop {
        console,
        lender: RefCell::new(Lender::new(config).map_err(Failure::run)?),
        index: Cell::new(if_nametoindex(via.as_str()).ok()),
        via,
        allow,
        hours: plan.hours,
        started: Instant::now(),
        leases: Cell::new(0),
        denied: Cell::new(0),
        ended: RefCell::default(),
    };
    tokio::select! {
        () = this.carry() => {}
        () = this.look() => {}
        () = this.print(plan.interval) => {}
        () = until_stopped(stop, plan.lasts) => {}
    }
    this.close();
    Ok(this.output())
}

impl Loop<'_> {
    /// Ends the leases, whose bytes are part of the report.
    fn close(&self) {
        let mut lender = self.lender.borrow_mut();
        lender.report(RelayInput::Close);
        lender.take_events().iter().for_each(|event| self.note(event));
    }

    async fn carry(&self) {
        loop {
            let events = poll_fn(|cx| self.lender.borrow_mut().poll_events(cx)).await;
            events.iter().for_each(|event| self.note(event));
        }
    }

    fn note(&self, event: &RelayEvent) {
        let line = match event {
            RelayEvent::Lent(lent) => {
                self.leases.set(self.leases.get() + 1);
                format!("{} borrows {} for {}", lent.borrower, self.via, lent.target)
            }
            RelayEvent::Ended(lent) => {
                let mut ended = self.ended.borrow_mut();
                if ended.len() == LATEST {
                    ended.pop_front();
                }
                ended.push_back(LeaseOutput::of(lent));
                format!("{} no longer borrows {}", lent.borrower, self.via)
            }
            RelayEvent::Denied(borrower, server, denial) => {
                self.denied.set(self.denied.get() + 1);
                format!("{borrower} may not borrow {} for {server}: {denial}", self.via)
            }
        };
        if !self.console.is_quiet() {
            self.console.note(&line);
        }
    }

    /// Looks after the time of the day, the lent interface and the networks of this host.
    async fn look(&self) {
        loop {
            self.report();
            sleep(LOOK).await;
        }
    }

    fn report(&self) {
        let now = jiff::ZonedDateTime::now();
        let day = i64::from(now.year()) * 1_000 + i64::from(now.day_of_year());
        let minute =
            u16::from(now.hour().unsigned_abs()) * 60 + u16::from(now.minute().unsigned_abs());
        let is_open = self.hours.is_none_or(|hours| hours.contains(minute));
        let mut lender = self.lender.borrow_mut();
        let index = if_nametoindex(self.via.as_str()).ok();
        if self.index.replace(index) != index {
            lender.report(RelayInput::Replugged);
        }
        // Where the kernel does not list the networks, those known before stay forbidden.
        if let Ok(own) = own_networks() {
            let reach = Reach { allow: self.allow.clone(), own };
            lender.report(RelayInput::Reach(reach));
        }
        lender.report(RelayInput::Day(day, is_open));
    }

    async fn print(&self, interval: Option<Duration>) {
        let Some(interval) = interval else { return std::future::pending().await };
        loop {
            sleep(time::Duration::from_nanos(interval.as_nanos())).await;
            self.console.note(lend_words(&self.output()).trim_end());
        }
    }

    fn output(&self) -> LendOutput {
        let lender = self.lender.borrow();
        let relay = lender.relay();
        let refused = relay.refused();
        let mut latest: Vec<LeaseOutput> = self.ended.borrow().iter().cloned().collect();
        latest.extend(relay.ledger().lent().map(|lent| LeaseOutput::of(&lent)));
        latest.drain(..latest.len().saturating_sub(LATEST));
        LendOutput {
            via: self.via.clone(),
            seconds: self.started.elapsed().as_secs_f64(),
            today_bytes: relay.ledger().today(),
            leases: self.leases.get(),
            latest,
            denied: self.denied.get(),
            strangers: refused.strangers,
            refused: refused.malformed
                + refused.unknown
                + refused.forged
                + refused.crowded
                + refused.unlent,
        }
    }
}

async fn until_stopped(stop: &AtomicBool, lasts: Option<Duration>) {
    let end = lasts.map(|lasts| Instant::now() + time::Duration::from_nanos(lasts.as_nanos()));
    while !stop.load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
        sleep(GLANCE).await;
    }
}

/// Networks of this host's interfaces.
///
/// # Errors
/// If the kernel does not list them.
fn own_networks() -> nix::Result<Vec<IpNet>> {
    Ok(getifaddrs()?.filter_map(|one| network(&one)).collect())
}

fn network(interface: &InterfaceAddress) -> Option<IpNet> {
    let ip = |storage: Option<&nix::sys::socket::SockaddrStorage>| -> Option<IpAddr> {
        let storage = storage?;
        let four = storage.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        four.or_else(|| storage.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
    };
    let address = ip(interface.address.as_ref())?;
    let mask = ip(interface.netmask.as_ref());
    // An interface without a mask, as of a tunnel between two hosts, has its own address.
    let net = mask.and_then(|mask| IpNet::with_netmask(address, mask).ok());
    Some(net.unwrap_or_else(|| IpNet::from(address)).trunc())
}

/// Whether an interface has an address.
pub(crate) fn has_address(via: &str) -> bool {
    let mut all = getifaddrs().into_iter().flatten();
    all.any(|one| one.interface_name == via && network(&one).is_some())
}
