//! The proxy's event loop: it accepts clients, opens their flows, and does the periodic work once a
//! second.

use crate::account::{Event, Report};
use crate::carry;
use crate::config::{Config, TargetControl};
use crate::error::Error;
use crate::flow::Flow;
use crate::flows::Flows;
use crate::network;
use crate::opening::{self, Unopened};
use crate::places::Places;
use crate::request::{Denied, Rejected, canonical};
use crate::shared::Shared;
use crate::watched::Watched;
use fairwave_linux::{allow_open_files, reset_on_close};
use fairwave_units::Duration;
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

/// Period of the periodic work on flows.
const TICK: time::Duration = time::Duration::from_secs(1);
/// Period at which the loop checks whether it shall end.
const GLANCE: time::Duration = time::Duration::from_millis(50);
/// Time without accepting clients after the process has run out of descriptors.
const BREATHER: time::Duration = time::Duration::from_millis(50);
/// Number of open files besides those of flows.
const OTHER_FILES: u64 = 64;
/// Maximum number of simultaneous flows where none is configured.
const USUAL_FLOWS: u64 = 16_384;

/// A proxy whose sockets are open.
pub struct Relay {
    explicit: Vec<std::net::TcpListener>,
    transparent: Vec<std::net::TcpListener>,
    config: Config,
    max_flows: usize,
    target_control: Option<Box<dyn TargetControl>>,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Way in which a client reached the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entrance {
    Explicit,
    Transparent,
}

/// Counts a client while it is served.
struct Place(Rc<Shared>, IpAddr);

/// Ends a flow when its task ends, also while the flow is still being opened.
struct Listed(Rc<Shared>, u64);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.places.borrow_mut().give(self.1);
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // The borrow fails while `tick` ends the flow; `tick` removes it from the table itself.
        if let Ok(mut flows) = self.0.flows.try_borrow_mut() {
            flows.remove(self.1);
        }
    }
}

impl Relay {
    /// Opens the sockets. Everything that needs privileges happens here: transparent sockets, and
    /// low ports.
    ///
    /// # Errors
    ///
    /// If listening at an address fails, or the process may have too few open files.
    pub fn open(
        config: Config,
        target_control: Option<Box<dyn TargetControl>>,
    ) -> Result<Self, Error> {
        let max_flows = max_flows(config.limits.flows)?;
        let explicit =
            config.listen.iter().map(|at| network::listen(*at)).collect::<Result<_, _>>()?;
        let transparent = match config.transparent {
            Some(port) => network::listen_transparent(port)?,
            None => Vec::new(),
        };
        Ok(Self { explicit, transparent, config, max_flows, target_control })
    }

    /// Addresses at which clients ask for servers.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.explicit.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Serves until `stop` is set. Calls `hear` with the report and the events at least once a
    /// second.
    ///
    /// # Errors
    ///
    /// If the event loop cannot run.
    pub fn run(
        self,
        stop: &AtomicBool,
        receive: impl FnMut(&Report, Vec<Event>),
    ) -> Result<Report, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(network::RESOLVERS)
            .build()
            .map_err(Error::Loop)?;
        let limits = self.config.limits;
        let flows = Flows::new(self.config.targets.clone(), self.target_control, limits);
        let shared = Rc::new(Shared {
            flows: RefCell::new(flows),
            config: self.config,
            scratch: carry::scratch(),
            places: RefCell::new(Places::new(self.max_flows)),
            resolvers: network::resolvers(),
        });
        let tasks = LocalSet::new();
        let served = tasks.block_on(&runtime, async {
            for (listeners, entrance) in
                [(self.explicit, Entrance::Explicit), (self.transparent, Entrance::Transparent)]
            {
                for listener in listeners {
                    let listener = TcpListener::from_std(listener).map_err(Error::Loop)?;
                    spawn_local(accept(listener, entrance, Rc::clone(&shared)));
                }
            }
            watch(&shared, stop, receive).await;
            Ok(shared.flows.borrow().report())
        });
        // The loop does not wait for names that are still being resolved.
        drop(tasks);
        runtime.shutdown_background();
        served
    }
}

/// Maximum number of open flows. Raises the limit of open files of the process to the number that
/// they need: up to its hard limit, or beyond it where it has the privilege.
fn max_flows(requested: Option<usize>) -> Result<usize, Error> {
    let wanted = requested.map_or(USUAL_FLOWS, |flows| flows as u64);
    let needed = wanted.saturating_mul(2).saturating_add(OTHER_FILES);
    let most = allow_open_files(needed);
    match requested {
        None => Ok((most.saturating_sub(OTHER_FILES) / 2).min(USUAL_FLOWS) as usize),
        Some(flows) if needed > most => Err(Error::Files { flows, needed, most }),
        Some(flows) => Ok(flows),
    }
}

/// Does the periodic work on all flows once a second until the loop shall end.
async fn watch(shared: &Shared, stop: &AtomicBool, mut receive: impl FnMut(&Report, Vec<Event>)) {
    let mut file = shared.config.file.clone().map(Watched::new);
    let mut glances = interval(GLANCE);
    glances.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ticked = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        glances.tick().await;
        let passed = ticked.elapsed();
        if passed < TICK {
            continue;
        }
        ticked = Instant::now();
        let mut flows = shared.flows.borrow_mut();
        if let Some(changed) = file.as_mut().and_then(Watched::changed) {
            reload(&mut flows, changed);
        }
        flows.tick(Duration::from_nanos(passed.as_nanos() as u64));
        let events = flows.take_events();
        receive(&flows.report(), events);
    }
}

fn reload(flows: &mut Flows, changed: Result<crate::targets::Targets, Error>) {
    match changed {
        Ok(targets) => {
            let excess = targets.excess();
            flows.retarget(targets);
            flows.push_event(Event::Reloaded);
            excess.into_iter().for_each(|text| flows.push_event(Event::BeyondCapacity(text)));
        }
        Err(error) => flows.push_event(Event::NotReloaded(error.to_string())),
    }
}

async fn accept(listener: TcpListener, entrance: Entrance, shared: Rc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((near, client)) => admit(near, canonical(client), entrance, &shared),
            // A client that is gone affects no other client. If descriptors have run out, other
            // clients release some in time.
            Err(_) => sleep(BREATHER).await,
        }
    }
}

/// Serves a client if it is allowed and a place is free.
fn admit(near: TcpStream, client: SocketAddr, entrance: Entrance, shared: &Rc<Shared>) {
    let mut flows = shared.flows.borrow_mut();
    if entrance == Entrance::Explicit && !shared.serves(client) {
        flows.report.refused.not_allowed += 1;
    } else if !shared.places.borrow_mut().take(client.ip()) {
        flows.report.refused.busy += 1;
    } else {
        let place = Place(Rc::clone(shared), client.ip());
        spawn_local(serve(near, client, entrance, place));
        return;
    }
    reset_on_close(&near);
}

/// Serves a client from its request to the end of its flow.
async fn serve(near: TcpStream, client: SocketAddr, entrance: Entrance, place: Place) {
    let shared = Rc::clone(&place.0);
    let id = shared.flows.borrow_mut().begin(client);
    let _listed = Listed(Rc::clone(&shared), id);
    let opened = match entrance {
        Entrance::Explicit => opening::requested(near, client, id, &shared).await,
        Entrance::Transparent => opening::transparent(near, client, id, &shared).await,
    };
    match opened {
        Ok((flow, early)) => relay(id, Rc::new(flow), early, &shared).await,
        Err(why) => count(&shared, why),
    }
}

/// Counts a client whose flow was not opened.
fn count(shared: &Shared, why: Unopened) {
    let report = &mut shared.flows.borrow_mut().report;
    match why {
        Unopened::Rejected(Rejected::Malformed) => report.refused.malformed += 1,
        Unopened::Rejected(Rejected::Unauthenticated) | Unopened::Denied(Denied::NotAllowed) => {
            report.refused.not_allowed += 1;
        }
        Unopened::Denied(Denied::Busy) => report.refused.busy += 1,
        Unopened::Denied(_) => report.refused.unreachable += 1,
        Unopened::Left => report.broken += 1,
    }
}

/// Relays a flow until both directions have ended.
async fn relay(id: u64, flow: Rc<Flow>, early: Vec<u8>, shared: &Rc<Shared>) {
    // However the flow is cut, also by the end of this process: a FIN would make a part of the data
    // look like all of them.
    [&flow.near, &flow.far].into_iter().for_each(reset_on_close);
    let carrying = {
        let (flow, shared) = (Rc::clone(&flow), Rc::clone(shared));
        spawn_local(async move { carry::carry(&flow, &shared.scratch, early).await })
    };
    shared.flows.borrow_mut().add(id, flow, carrying.abort_handle());
    if let Ok(Err(_)) = carrying.await {
        shared.flows.borrow_mut().report.broken += 1;
    }
}
