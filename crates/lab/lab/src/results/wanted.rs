//! Requested contents of a run directory.

use fairwave_trace::NodeId;

/// Parts of a run that are recorded besides its summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Series of flows, queues and stations.
    pub series: bool,
    /// Files of the tables that are written; `None`: all.
    pub tables: Option<Vec<String>>,
    /// Each dropped packet.
    pub drops: bool,
    /// Each frame on the air, as pcapng.
    pub capture: bool,
    /// Nodes whose packets are written, each into a capture of its own.
    pub taps: Vec<NodeId>,
    /// Bytes that are kept of each of their packets; `None`: all.
    pub snap_len: Option<u32>,
}

impl Wanted {
    /// Whether the table of this file is written, if there is something to write.
    pub(super) fn holds(&self, file: &str) -> bool {
        self.tables.as_ref().is_none_or(|tables| tables.iter().any(|table| table == file))
    }
}
