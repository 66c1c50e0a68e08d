//! Results of an emulated run that a simulated one does not have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lateness of an emulation against real time, and the ends of its programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulationSummary {
    /// Whether the figures are valid: the emulator kept real time and lost no packet itself, and no
    /// flow on sockets failed.
    pub valid: bool,
    /// Reason for which it is not valid, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_reason: Option<String>,
    /// Lateness of events of the world: from when they were due until they were handled.
    pub lateness: LatenessSummary,
    /// Lateness of packets: from their arrival in the world until their writing to the node's
    /// device.
    pub packet_lateness: LatenessSummary,
    /// Lateness of a bare timer loop on the same machine meanwhile, which is that of the host
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_lateness: Option<LatenessSummary>,
    /// The part of the time that the emulator's loop was on a processor, 0 to 1.
    #[schemars(extend("unit" = "of one processor, 0 to 1"))]
    pub cpu_load: f64,
    /// Results by real node.
    pub nodes: Vec<NodeSummary>,
    /// Programs, in the order of their start.
    pub programs: Vec<ProgramSummary>,
}

/// Distribution of lateness. Quantiles are off by at most a sixty-fourth of their value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatenessSummary {
    /// Number of durations.
    pub count: u64,
    /// Median lateness.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Maximum lateness.
    pub max_ns: u64,
}

/// Packets that passed the device of a real node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSummary {
    /// Its name.
    pub name: String,
    /// Packets that its kernel sent, after large segments were cut.
    pub packets_in: u64,
    /// Large segments that its kernel handed over to be cut into several packets.
    #[serde(default)]
    pub large_segments_in: u64,
    /// Bytes of the packets that it sent, from the IP header on.
    pub bytes_in: u64,
    /// Packets that were written to it.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Packets that the emulator itself lost on the way in or out.
    pub lost_in_emulator: u64,
    /// Packets for unreachable nodes, which were answered by ICMP.
    pub unreachable: u64,
    /// Multicast and broadcast packets, which do not enter.
    #[serde(alias = "for_many")]
    pub multicast: u64,
    /// Packets that its kernel dropped while the device had no carrier, as the station was between
    /// two access points.
    #[serde(default)]
    pub without_carrier: u64,
}

/// A program and its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramSummary {
    /// The node's name.
    pub node: String,
    /// Command line that the shell was given.
    pub command: String,
    /// File in the run directory with its output, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Its exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// Number of the signal that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it was still running when it was ended: at its `stop`, or with the run.
    pub ended_by_run: bool,
    /// Whether it failed: it could not be started, or ended by itself with another status than 0.
    pub failed: bool,
}
