//! Hierarchical fair service curves (Stoica, Zhang, Ng: A Hierarchical Fair Service Curve Algorithm
//! for Link-Sharing, Real-Time and Priority Services, SIGCOMM 1997), for the tree
//! link - host - class, a host's classes being its datagrams and its TCP segments.
//!
//! A class with a real-time curve is served ahead of the others where its curve needs that: of the
//! eligible ones, the class with the earliest deadline. Otherwise hosts, and in a host its classes,
//! share by virtual time.

mod curve;

use self::curve::{Curve, SERVICE_SHIFT, Shifted};
use crate::Item;
use crate::Service;
use crate::heap::Heap;
use crate::hosts::{Classes, HostConfig, Hosts, Shed};
use crate::scheduled::Order;
use crate::weight::{Weight, stretch};
use fairwave_units::Instant;

pub use self::curve::ServiceCurve;

/// Parameters of fair service curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HfscConfig {
    /// Limits, each for every class of a host, and the treatment of hosts without weight.
    pub hosts: HostConfig,
    /// Service guaranteed to each host's datagrams, whatever the others do. Guarantees hold if all
    /// hosts together do not exceed the link.
    pub realtime: Option<ServiceCurve>,
    /// Share of the rest for a host of weight one, relative to others.
    pub share: ServiceCurve,
    /// Maximum service of a host, apart from real-time service.
    pub upper: Option<ServiceCurve>,
}

/// Progress in link sharing.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// Service so far; a host's divided by its weight.
    total: u64,
    virtual_time: u64,
    curve: Shifted,
    is_active: bool,
}

impl Share {
    const fn new(curve: &Curve) -> Self {
        Self { total: 0, virtual_time: 0, curve: Shifted::new(curve, 0, 0), is_active: false }
    }

    /// Begins a backlog not before this virtual time.
    fn join(&mut self, curve: &Curve, from: u64) {
        self.is_active = true;
        self.virtual_time = self.virtual_time.max(from);
        self.curve.lower(curve, self.virtual_time, self.total);
    }

    fn serve(&mut self, curve: &Curve, service: u64) {
        self.total = self.total.saturating_add(service);
        // Slopes are rounded, so a lowered curve may put the same service a little earlier.
        self.virtual_time = self.virtual_time.max(self.curve.time_of(curve, self.total));
    }
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    share: Share,
    /// Real-time service so far, which determines the due service and its earliest time.
    realtime: u64,
    deadline_curve: Shifted,
    eligible: u64,
    deadline: u64,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    share: Share,
    leaves: [Leaf; 2],
    /// The virtual time that a leaf without active siblings starts from.
    latest: u64,
    /// All service so far, for the upper limit.
    total: u64,
    upper_curve: Shifted,
    /// Its place among the curves.
    curves: u32,
}

/// The curves of a host.
#[derive(Clone, Copy, Debug)]
struct Curves {
    realtime: Option<Curve>,
    share: Curve,
    upper: Option<Curve>,
}

impl Curves {
    /// Curves of a service, where it has its own.
    fn of(self, service: &Service) -> Self {
        Self {
            realtime: service.realtime.map(Curve::new).or(self.realtime),
            share: service.share.map_or(self.share, Curve::new),
            upper: service.upper.map(Curve::new).or(self.upper),
        }
    }
}

/// The scheduler. Queue `2 h` holds host h's datagrams, `2 h + 1` its TCP segments.
#[derive(Clone, Debug)]
pub(crate) struct Hfsc {
    /// Everybody's first, then those of hosts that have their own.
    curves: Vec<Curves>,
    hosts: Vec<Host>,
    /// Backlogged leaves with a real-time curve: by eligible time, and by deadline when eligible.
    early: Heap,
    due: Heap,
    /// Backlogged hosts within their upper limit, by virtual time, smallest and largest first.
    fit: Heap,
    fit_latest: Heap,
    /// Hosts above it, by the time at which they are within again.
    held: Heap,
    /// The greatest virtual time of a host so far.
    latest: u64,
    /// The leaf that was chosen last for its deadline.
    chosen: Option<u32>,
}

impl Hfsc {
    pub(crate) fn new(config: &HfscConfig) -> Self {
        Self {
            curves: vec![Curves {
                realtime: config.realtime.map(Curve::new),
                share: Curve::new(config.share),
                upper: config.upper.map(Curve::new),
            }],
            hosts: Vec::new(),
            early: Heap::new(),
            due: Heap::new(),
            fit: Heap::new(),
            fit_latest: Heap::new(),
            held: Heap::new(),
            latest: 0,
            chosen: None,
        }
    }

    fn new_host(&self) -> Host {
        let Curves { realtime, share: curve, upper } = &self.curves[0];
        let share = Share::new(curve);
        let origin = |own: &Option<Curve>| Shifted::new(own.as_ref().unwrap_or(curve), 0, 0);
        let (deadline_curve, upper_curve) = (origin(realtime), origin(upper));
        let leaf = Leaf { share, realtime: 0, deadline_curve, eligible: 0, deadline: 0 };
        Host { share, leaves: [leaf; 2], latest: 0, total: 0, upper_curve, curves: 0 }
    }

    fn know(&mut self, host: u32) {
        if host as usize >= self.hosts.len() {
            self.hosts.resize(host as usize + 1, self.new_host());
        }
    }

    fn leaf(&mut self, number: u32) -> &mut Leaf {
        &mut self.hosts[number as usize / 2].leaves[number as usize % 2]
    }

    /// A leaf's backlog begins.
    fn activate<T: Item>(&mut self, now: Instant, hosts: &Hosts<T>, number: u32) {
        let host = number / 2;
        self.know(host);
        if let Some(curve) = self.curve_of(number) {
            let leaf = self.leaf(number);
            let realtime = leaf.realtime;
            leaf.deadline_curve.lower(&curve, now.as_nanos(), realtime);
            leaf.eligible = leaf.deadline_curve.eligible_at(&curve, realtime);
            self.set_deadline(&curve, hosts, number);
        }
        let Host { leaves, latest, .. } = &mut self.hosts[host as usize];
        let sibling = &leaves[1 - number as usize % 2].share;
        let from = if sibling.is_active { sibling.virtual_time } else { *latest };
        leaves[number as usize % 2].share.join(&self.curves[0].share, from);
        if !self.hosts[host as usize].share.is_active {
            self.activate_host(now, host);
        }
    }

    fn activate_host(&mut self, now: Instant, host: u32) {
        // Between the least and the greatest, so that the lead of neither grows with the number
        // of hosts (section 4.2 of the paper).
        let from = match (self.fit.first(), self.fit_latest.first()) {
            (Some((minimum, _)), Some((greatest, _))) => minimum.midpoint(!greatest),
            _ => self.latest,
        };
        let node = &mut self.hosts[host as usize];
        let Curves { share, upper, .. } = &self.curves[node.curves as usize];
        node.share.join(share, from);
        if let Some(curve) = upper {
            node.upper_curve.lower(curve, now.as_nanos(), node.total);
        }
        self.list(now, host);
    }

    /// Lists a backlogged host by its virtual time, or by when its upper limit admits it.
    fn list(&mut self, now: Instant, host: u32) {
        let Host { share, upper_curve, total, curves, .. } = &self.hosts[host as usize];
        let upper = self.curves[*curves as usize].upper.as_ref();
        let at = upper.map_or(0, |curve| upper_curve.time_of(curve, *total));
        let virtual_time = share.virtual_time;
        self.latest = self.latest.max(virtual_time);
        if at > now.as_nanos() {
            self.unlist(host);
            self.held.set(host, at);
        } else {
            self.fit.set(host, virtual_time);
            // A heap yields its smallest key: the complement makes that the greatest time.
            self.fit_latest.set(host, !virtual_time);
        }
        debug_assert_eq!(self.fit.len(), self.fit_latest.len(), "both hold the same hosts");
    }

    fn unlist(&mut self, host: u32) {
        self.fit.remove(host);
        self.fit_latest.remove(host);
        self.held.remove(host);
    }

    /// The real-time curve of a leaf: datagrams have one.
    fn curve_of(&self, number: u32) -> Option<Curve> {
        if !number.is_multiple_of(2) {
            return None;
        }
        self.curves[self.hosts[number as usize / 2].curves as usize].realtime
    }

    /// The deadline of a leaf's oldest packet; lists the leaf by when it is eligible.
    fn set_deadline<T: Item>(&mut self, curve: &Curve, hosts: &Hosts<T>, number: u32) {
        let Some((bytes, _)) = hosts.head(number) else { return };
        let leaf = self.leaf(number);
        let service = leaf.realtime.saturating_add(u64::from(bytes) << SERVICE_SHIFT);
        leaf.deadline = leaf.deadline_curve.time_of(curve, service);
        let Leaf { eligible, deadline, .. } = *leaf;
        debug_assert!(eligible <= deadline, "due at {deadline}, eligible at {eligible}");
        if self.due.contains(number) && self.chosen != Some(number) {
            // Served for its share: as eligible as before, and its next packet may be of
            // another length.
            self.due.set(number, deadline);
        } else {
            self.due.remove(number);
            self.early.set(number, eligible);
        }
    }

    /// A leaf has nothing more to send, or its host may not be sent anything.
    fn deactivate(&mut self, number: u32) {
        self.early.remove(number);
        self.due.remove(number);
        let host = &mut self.hosts[number as usize / 2];
        let share = &mut host.leaves[number as usize % 2].share;
        share.is_active = false;
        host.latest = host.latest.max(share.virtual_time);
        if !host.leaves.iter().any(|leaf| leaf.share.is_active) {
            host.share.is_active = false;
            self.unlist(number / 2);
        }
    }

    /// The leaf that link sharing chooses.
    fn by_share(&mut self, now: Instant) -> Option<u32> {
        while let Some((at, host)) = self.held.first()
            && at <= now.as_nanos()
        {
            self.held.remove(host);
            // What it might have got while it was held back is no claim.
            let from = self.fit.first().map_or(0, |(minimum, _)| minimum);
            let node = &mut self.hosts[host as usize];
            node.share.join(&self.curves[node.curves as usize].share, from);
            self.list(now, host);
        }
        let (_, host) = self.fit.first()?;
        let leaves = self.hosts[host as usize].leaves.iter().zip(2 * host..);
        let active = leaves.filter(|(leaf, _)| leaf.share.is_active);
        active.min_by_key(|(leaf, _)| leaf.share.virtual_time).map(|(_, number)| number)
    }
}

impl Order for Hfsc {
    const CLASSES: Classes = Classes::DatagramsAndTcp;

    fn joined<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, number: u32, _: u32) {
        if hosts.packets_of(number) == 1 {
            self.activate(now, hosts, number);
        }
    }

    fn next<T: Item>(&mut self, now: Instant, _: &mut Hosts<T>) -> Option<u32> {
        while let Some((at, number)) = self.early.first()
            && at <= now.as_nanos()
        {
            self.early.remove(number);
            let deadline = self.leaf(number).deadline;
            self.due.set(number, deadline);
        }
        self.chosen = self.due.first().map(|(_, number)| number);
        self.chosen.or_else(|| self.by_share(now))
    }

    fn taken<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, number: u32, bytes: u32) {
        let service = u64::from(bytes) << SERVICE_SHIFT;
        let weighed = stretch(bytes, hosts.weight(number)) >> (16 - SERVICE_SHIFT);
        let host = &mut self.hosts[number as usize / 2];
        host.leaves[number as usize % 2].share.serve(&self.curves[0].share, service);
        host.share.serve(&self.curves[host.curves as usize].share, weighed);
        host.total = host.total.saturating_add(service);
        if let Some(curve) = self.curve_of(number) {
            if self.chosen == Some(number) {
                let leaf = self.leaf(number);
                leaf.realtime = leaf.realtime.saturating_add(service);
                leaf.eligible = leaf.deadline_curve.eligible_at(&curve, leaf.realtime);
            }
            self.set_deadline(&curve, hosts, number);
        }
        self.chosen = None;
        if hosts.packets_of(number) == 0 {
            self.deactivate(number);
        }
        if self.hosts[number as usize / 2].share.is_active {
            self.list(now, number / 2);
        }
    }

    fn shed<T: Item>(&mut self, hosts: &mut Hosts<T>, shed: Shed) {
        if hosts.packets_of(shed.host) == 0 {
            self.deactivate(shed.host);
        }
    }

    fn withdrawn<T: Item>(&mut self, _: Instant, hosts: &mut Hosts<T>, gone: Shed) {
        if hosts.packets_of(gone.host) == 0 {
            self.deactivate(gone.host);
        } else if let Some(curve) = self.curve_of(gone.host) {
            // The oldest packet may be another now.
            self.set_deadline(&curve, hosts, gone.host);
        }
    }

    fn weighed<T: Item>(&mut self, now: Instant, hosts: &mut Hosts<T>, host: u32, old: Weight) {
        let is_zero = hosts.receiver_weight(host).is_zero();
        // Between weights above zero nothing is to do: service from now on is divided by the new.
        for number in [2 * host, 2 * host + 1] {
            if hosts.packets_of(number) == 0 {
                continue;
            }
            if old.is_zero() {
                self.activate(now, hosts, number);
            } else if is_zero {
                self.deactivate(number);
            }
        }
    }

    /// Curves begin at the service so far.
    fn agreed<T: Item>(&mut self, now: Instant, hosts: &Hosts<T>, host: u32, service: &Service) {
        self.know(host);
        let own = self.hosts[host as usize].curves as usize;
        if own == 0 && !service.has_curves() {
            return;
        }
        let curves = self.curves[0].of(service);
        match own {
            0 => {
                self.hosts[host as usize].curves = self.curves.len() as u32;
                self.curves.push(curves);
            }
            own => self.curves[own] = curves,
        }
        let active = [2 * host, 2 * host + 1]
            .map(|number| self.leaf(number).share.is_active.then_some(number));
        active.into_iter().flatten().for_each(|number| self.deactivate(number));
        let Host { share, leaves, total, upper_curve, .. } = &mut self.hosts[host as usize];
        share.curve = Shifted::new(&curves.share, share.virtual_time, share.total);
        if let Some(curve) = &curves.upper {
            *upper_curve = Shifted::new(curve, now.as_nanos(), *total);
        }
        if let Some(curve) = &curves.realtime {
            leaves[0].deadline_curve = Shifted::new(curve, now.as_nanos(), leaves[0].realtime);
        }
        active.into_iter().flatten().for_each(|number| self.activate(now, hosts, number));
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.fit.is_empty() || !self.due.is_empty() {
            return None;
        }
        let first = |heap: &Heap| heap.first().map(|(at, _)| at);
        let at = first(&self.early).into_iter().chain(first(&self.held)).min()?;
        Some(Instant::from_nanos(at))
    }
}
