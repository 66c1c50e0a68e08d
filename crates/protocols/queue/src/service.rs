//! Agreement of an operator with a host, whatever its channel.

use crate::{ServiceCurve, Weight};

/// Service of one host, in place of the discipline's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// A factor of the weight set by [`Discipline::set_weight`](crate::Discipline::set_weight).
    pub weight: Weight,
    /// Service guaranteed to its datagrams; `None`: the default's.
    pub realtime: Option<ServiceCurve>,
    /// Share of a weight of one in the shared service, relative to the others; `None`: the
    /// default's.
    pub share: Option<ServiceCurve>,
    /// Maximum service, apart from real-time service; `None`: the default's.
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
