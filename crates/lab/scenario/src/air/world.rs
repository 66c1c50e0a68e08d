//! Conversion of the keys of a varying channel to the simulator's inputs.

use super::{BySignal, Discard, Fading, Handover, Roaming, Shadowing, SnrTrace, WayPoint};
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
            begins_with_strongest: self.begin,
            handovers: self.handovers.iter().map(handover).collect(),
            by_signal: self.by_signal.as_ref().map(by_signal),
            prepare: self.prepare,
            hold: self.hold,
            attempts: self.while_away,
            discard: self.discard.map(|discard| match discard {
                Discard::Older(age) => world::Discard::Older(age),
                Discard::Oldest(packets) => world::Discard::Oldest(packets),
            }),
        }
    }
}
