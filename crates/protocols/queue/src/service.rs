//! What an operator has agreed with a host, whatever its channel.

use crate::{ServiceCurve, Weight};

/// Service of one host, in place of what the discipline gives everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// A factor of whatever [`Discipline::set_weight`](crate::Discipline::set_weight) tells.
    pub weight: Weight,
    /// What its datagrams are promised; `None`: what everybody's are.
    pub realtime: Option<ServiceCurve>,
    /// What a weight of one gets of what is shared, relative to the others; `None`: as everybody.
    pub share: Option<ServiceCurve>,
    /// What it gets at most, apart from real-time service; `None`: as everybody.
    pub upper: Option<ServiceCurve>,
}

impl Default for Service {
    fn default() -> Self {
        Self { weight: Weight::ONE, realtime: None, share: None, upper: None }
    }
}

impl Service {
    /// Whether it has curves, which fair service curves alone know.
    pub const fn has_curves(&self) -> bool {
        self.realtime.is_some() || self.share.is_some() || self.upper.is_some()
    }
}
