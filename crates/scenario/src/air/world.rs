//! From the keys of a varying channel to what the simulator runs.

use super::{BySignal, Discard, Fading, Handover, Roaming, Shadowing, SnrTrace, WayPoint};
use fairwave_dot11::{Mode, Phy, rate_control};
use fairwave_sim::world;
use fairwave_trace::NodeId;
use fairwave_units::Instant;

impl Fading {
    pub(crate) fn to_world(&self) -> world::Fading {
        let rice_k = self.rice_k.map_or(0.0, fairwave_units::Db::linear);
        world::Fading { rice_k, doppler_hz: self.doppler_hz }
    }
}

impl Shadowing {
    pub(crate) fn to_world(&self) -> world::Shadowing {
        world::Shadowing { sigma: self.sigma, decorrelation: self.decorrelation }
    }
}

impl WayPoint {
    /// The way through `points`, of which the reader has found at least one, in order.
    pub(crate) fn path(points: &[Self]) -> Option<world::Path> {
        let point = |point: &Self| world::WayPoint {
            at: Instant::ZERO + point.at,
            position: point.position.into(),
        };
        world::Path::new(points.iter().map(point).collect())
    }
}

impl SnrTrace {
    pub(crate) fn to_world(&self) -> Option<world::SnrTrace> {
        let points = self.points.iter().map(|(at, snr)| (Instant::ZERO + *at, *snr));
        world::SnrTrace::new(points.collect(), self.interpolation).ok()
    }
}

impl Roaming {
    /// `id` finds the node of a name.
    pub(crate) fn to_world(&self, id: impl Fn(&str) -> NodeId) -> world::Roaming {
        let handover = |h: &Handover| world::Handover {
            at: Instant::ZERO + h.at,
            to: id(&h.to),
            disconnection: h.disconnection,
        };
        let by_signal = |b: &BySignal| {
            let BySignal { hysteresis, dwell, disconnection } = *b;
            world::BySignal { hysteresis, dwell, disconnection }
        };
        world::Roaming {
            candidates: self.aps.iter().map(|ap| id(ap)).collect(),
            begins_with_strongest: self.begin_with_strongest,
            handovers: self.handovers.iter().map(handover).collect(),
            by_signal: self.by_signal.as_ref().map(by_signal),
            hold: self.hold,
            discard: self.discard.map(|discard| match discard {
                Discard::Older(age) => world::Discard::Older(age),
                Discard::Oldest(packets) => world::Discard::Oldest(packets),
            }),
        }
    }
}

/// What a radio chooses from that begins with `mode`; `None` if it is to send all in that.
pub(crate) fn rates(name: &str, phy: Phy, mode: Mode) -> Option<world::RateChoice> {
    let algorithm = rate_control::find(name).filter(|found| found.name != "constant")?;
    let modes = phy.modes(mode.streams());
    let initial = modes.iter().position(|known| *known == mode).unwrap_or(modes.len() - 1);
    Some(world::RateChoice { algorithm: *algorithm, modes, initial })
}
