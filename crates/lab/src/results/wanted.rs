//! What a run directory is to hold.

use fairwave_trace::NodeId;

/// What of a run is recorded besides its summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Series of flows, queues and stations.
    pub series: bool,
    /// Each dropped packet.
    pub drops: bool,
    /// Each frame on the air, as pcapng.
    pub capture: bool,
    /// Nodes whose packets are written, each into a capture of its own.
    pub taps: Vec<NodeId>,
    /// Bytes that are kept of each of their packets; `None`: all.
    pub snap_len: Option<u32>,
}
