//! Channel-state dependent packet scheduling by the strength of connection (SoCPS; Aida, Tobe,
//! Tokuda 2003): a weighted scheduler whose weights follow the channels of the hosts.
//!
//! Weights are set by [`Discipline::set_weight`](crate::Discipline::set_weight); this module does
//! not compute them. A weight applies from the next packet that is dequeued, as `r(i)` is read at
//! dequeue in figure 7 of the paper. A host that got less service because of its channel has no
//! claim to it later (section 5.4).

use crate::{HfscConfig, HostConfig, WfqConfig};

/// The scheduler that shares by the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocpsConfig {
    /// Weighted fair queueing, as in the pseudo-code of the paper.
    Wfq(WfqConfig),
    /// Fair service curves, which the paper mentions.
    Hfsc(HfscConfig),
}

impl SocpsConfig {
    /// Returns the configuration with other settings for hosts.
    pub const fn with_hosts(self, hosts: HostConfig) -> Self {
        match self {
            Self::Wfq(config) => Self::Wfq(WfqConfig { hosts, ..config }),
            Self::Hfsc(config) => Self::Hfsc(HfscConfig { hosts, ..config }),
        }
    }
}
