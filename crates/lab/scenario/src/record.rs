//! Recorded outputs: the table `[record]`.

use crate::keys::keys;
use crate::kinds::{boolean, nodes, size, within};
use crate::limits::{DAY, MILLISECOND, NANOSECOND};
use fairwave_units::Duration;

keys! {
    /// Outputs recorded in the run directory.
    pub struct Record [Eq] |r| {
        /// Interval of the time series; at most 1,000,000 in a run.
        sample_every: Duration = within(NANOSECOND, DAY).or(Duration::from_millis(100));
        /// Write every frame on the air to a capture file.
        pcap: bool = boolean().or(false);
        /// Write every dropped packet.
        drops: bool = boolean().or(true);
        /// Nodes whose packets are written as tcpdump there would write them, each into a file
        /// `capture-NODE.pcapng`; patterns such as `"pc*"` may be among them, and
        /// `"*"` stands for all nodes.
        taps: Vec<String> = nodes().or(Vec::new());
        /// Of each packet at a tap this much is kept, or "all".
        snap_length: Option<u32> = size(64, 65_535).or_word("all").or(None);
        /// Length of the bins, from the start on, whose goodput the summary keeps for each flow,
        /// or "off".
        bins: Option<Duration> = within(MILLISECOND, DAY).or_word("off").or(None);
    }
    check |this, r| {
        if this.taps.is_empty() && this.snap_length.is_some() {
            r.meaningless(&["snap_length"], "no node is tapped");
        }
    };
}
