//! State of the links of an access point, good or bad, for schedulers that pass over hosts in a
//! fade.
//!
//! The papers of IWFQ and CIF-Q let the scheduler know each link's state; a [`Monitor::Level`] is
//! that knowledge, of set age. CSDPS observes the fate of its frames (Bhagwat et al. 1996), as
//! [`Monitor::Failures`] does; without acknowledgements, it learns nothing.

use crate::actors::{Actor, Actors, Ids};
use crate::context::Context;
use crate::error::Error;
use crate::network::radios::Radios;
use crate::soc::stations;
use crate::world::{LinkMonitor, Monitor, Role, World};
use fairwave_trace::NodeId;
use fairwave_units::Instant;

/// Access points that watch their links.
#[derive(Debug)]
pub(crate) struct Watches {
    all: Vec<Watch>,
    ids: Ids,
}

/// The links of one access point.
#[derive(Debug)]
struct Watch {
    ap: NodeId,
    monitor: Monitor,
    links: Vec<Watched>,
    /// Time at which levels are next examined.
    look_at: Instant,
}

/// A link, and until when it is taken for bad.
#[derive(Debug)]
struct Watched {
    station: NodeId,
    bad_until: Option<Instant>,
}

impl Watch {
    fn new(world: &World, spec: &LinkMonitor) -> Self {
        let link = |station| Watched { station, bad_until: None };
        let links = stations(world, spec.ap).map(link).collect();
        Self { ap: spec.ap, monitor: spec.monitor, links, look_at: Instant::ZERO }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.monitor {
            Monitor::Level { .. } => Some(self.look_at),
            Monitor::Failures { .. } => self.links.iter().filter_map(|link| link.bad_until).min(),
        }
    }
}

impl Watches {
    /// Monitors of a world that [`check`] has passed.
    pub(crate) fn new(world: &World, actors: &mut Actors) -> Self {
        let all: Vec<Watch> = world.monitors.iter().map(|spec| Watch::new(world, spec)).collect();
        Self { ids: actors.enlist(all.len(), Actor::Monitor), all }
    }

    /// Sets the first deadlines.
    pub(crate) fn begin(&self, cx: &mut Context<'_>) {
        (0..self.all.len()).for_each(|i| self.arm(i, cx));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Looks at levels, or takes links for good again. The access point, if one of its links has
    /// become good.
    pub(crate) fn look(
        &mut self,
        i: usize,
        radios: &mut Radios,
        cx: &mut Context<'_>,
    ) -> Option<NodeId> {
        let Watch { ap, monitor, links, look_at } = &mut self.all[i];
        if let Monitor::Level { every, .. } = monitor {
            *look_at = cx.now + *every;
        }
        let mut recovers = false;
        for link in links {
            recovers |= link.judge(*ap, *monitor, radios, cx.now);
        }
        let ap = *ap;
        self.arm(i, cx);
        recovers.then_some(ap)
    }

    /// A frame of `node` to `station` was given up.
    pub(crate) fn note_failure(
        &mut self,
        node: NodeId,
        station: NodeId,
        radios: &mut Radios,
        cx: &mut Context<'_>,
    ) {
        let Some(i) = self.all.iter().position(|watch| watch.ap == node) else { return };
        let watch = &mut self.all[i];
        let Monitor::Failures { back_off } = watch.monitor else { return };
        let link = watch.links.iter_mut().find(|link| link.station == station);
        let Some(link) = link else { return };
        if link.bad_until.replace(cx.now + back_off).is_none() {
            radios.set_link(node, station, false, cx.now);
        }
        self.arm(i, cx);
    }

    fn arm(&self, i: usize, cx: &mut Context<'_>) {
        cx.set(self.ids, i, self.all[i].deadline());
    }
}

impl Watched {
    /// Judges the link anew; whether it has become good.
    fn judge(&mut self, ap: NodeId, monitor: Monitor, radios: &mut Radios, now: Instant) -> bool {
        let is_bad = match monitor {
            Monitor::Failures { .. } => self.bad_until.is_some_and(|until| until > now),
            Monitor::Level { threshold, .. } => {
                // A station that has roamed is not on this channel: nothing is known of it.
                let reading = radios.reading(ap, self.station, now);
                let Some(level) = reading else { return false };
                level.is_none_or(|level| level.0 <= threshold.0)
            }
        };
        if is_bad == self.bad_until.is_some() {
            return false;
        }
        self.bad_until = is_bad.then_some(Instant::MAX);
        radios.set_link(ap, self.station, !is_bad, now);
        !is_bad
    }
}

/// Refuses monitors of impossible links.
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
