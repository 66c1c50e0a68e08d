//! Whether the links of an access point are good: what schedulers that pass over hosts in a fade
//! are told.
//!
//! The papers of IWFQ and CIF-Q let the scheduler know each link's state; a [`Monitor::Level`] is
//! that knowledge, of set age. CSDPS looks at what became of its frames (Bhagwat et al. 1996), as
//! [`Monitor::Failures`] does; where nothing is acknowledged, it learns nothing.

use crate::Error;
use crate::simulator::{Actor, Simulator};
use crate::soc::stations;
use crate::world::{LinkMonitor, Monitor, Role, World};
use fairwave_trace::{NodeId, Sink};
use fairwave_units::Instant;

/// The links of one access point.
#[derive(Debug)]
pub(crate) struct Watch {
    ap: NodeId,
    monitor: Monitor,
    links: Vec<Watched>,
    /// When levels are looked at next.
    look_at: Instant,
}

/// A link, and until when it is taken for bad.
#[derive(Debug)]
struct Watched {
    station: NodeId,
    bad_until: Option<Instant>,
}

impl Watch {
    /// Those of a world that [`check`] has passed.
    pub(crate) fn all(world: &World) -> Vec<Self> {
        let watch = |spec: &LinkMonitor| {
            let link = |station| Watched { station, bad_until: None };
            let links = stations(world, spec.ap).map(link).collect();
            Self { ap: spec.ap, monitor: spec.monitor, links, look_at: Instant::ZERO }
        };
        world.monitors.iter().map(watch).collect()
    }

    fn deadline(&self) -> Option<Instant> {
        match self.monitor {
            Monitor::Level { .. } => Some(self.look_at),
            Monitor::Failures { .. } => self.links.iter().filter_map(|link| link.bad_until).min(),
        }
    }
}

/// Refuses what cannot be watched.
pub(crate) fn check(world: &World) -> Result<(), Error> {
    for (i, spec) in world.monitors.iter().enumerate() {
        let node = world.nodes.get(spec.ap.0 as usize);
        let invalid = |why: &str| {
            let name = node.map_or("?", |node| &node.name);
            Err(Error::Invalid(format!("link monitor of {name}: {why}")))
        };
        let is_ap = |role| role == Role::AccessPoint;
        if !node.and_then(|node| node.radio.as_ref()).is_some_and(|radio| is_ap(radio.role)) {
            return invalid("it is no access point");
        }
        if world.monitors[..i].iter().any(|other| other.ap == spec.ap) {
            return invalid("it is there twice");
        }
        if matches!(spec.monitor, Monitor::Level { every, .. } if every.is_zero()) {
            return invalid("levels cannot be looked at all the time");
        }
    }
    Ok(())
}

impl Simulator<'_> {
    /// Looks at levels, or takes links for good again.
    pub(crate) fn run_monitor(&mut self, i: usize, sink: &mut dyn Sink) {
        let watch = &mut self.monitors[i];
        let ap = watch.ap;
        if let Monitor::Level { every, .. } = watch.monitor {
            watch.look_at = self.now + every;
        }
        let mut recovers = false;
        for link in 0..self.monitors[i].links.len() {
            recovers |= self.judge(i, link);
        }
        self.after_monitor(i);
        if recovers {
            self.send_next(ap, sink);
            let cell = self.ports[ap.0 as usize].as_ref().map(|port| port.cell);
            cell.into_iter().for_each(|cell| self.after_cell(cell));
        }
    }

    /// Judges a link anew; whether it has become good.
    fn judge(&mut self, i: usize, link: usize) -> bool {
        let Watch { ap, monitor, links, .. } = &mut self.monitors[i];
        let Watched { station, bad_until } = &mut links[link];
        let was_bad = bad_until.is_some();
        let is_bad = match *monitor {
            Monitor::Failures { .. } => bad_until.is_some_and(|until| until > self.now),
            Monitor::Level { threshold, .. } => {
                let port = |node: NodeId| self.ports[node.0 as usize].as_ref();
                let (Some(own), Some(to)) = (port(*ap), port(*station)) else { return false };
                let channel = &mut self.cells[own.cell].channel;
                let level = channel.reading(own.radio, to.radio, self.now);
                level.is_none_or(|level| level.0 <= threshold.0)
            }
        };
        if is_bad == was_bad {
            return false;
        }
        *bad_until = is_bad.then_some(Instant::MAX);
        let (ap, station) = (*ap, station.0);
        if let Some(port) = self.ports[ap.0 as usize].as_mut() {
            port.queue.set_link(station, !is_bad, self.now);
        }
        !is_bad
    }

    /// A frame of `node` to `station` was given up.
    pub(crate) fn note_failure(&mut self, node: NodeId, station: NodeId) {
        let now = self.now;
        let Some(i) = self.monitors.iter().position(|watch| watch.ap == node) else { return };
        let watch = &mut self.monitors[i];
        let Monitor::Failures { back_off } = watch.monitor else { return };
        let link = watch.links.iter_mut().find(|link| link.station == station);
        let Some(link) = link else { return };
        if link.bad_until.replace(now + back_off).is_none()
            && let Some(port) = self.ports[node.0 as usize].as_mut()
        {
            port.queue.set_link(station.0, false, now);
        }
        self.after_monitor(i);
    }

    pub(crate) fn after_monitor(&mut self, i: usize) {
        let deadline = self.monitors[i].deadline();
        self.set_deadline(Actor::Monitor(i), deadline);
    }
}
