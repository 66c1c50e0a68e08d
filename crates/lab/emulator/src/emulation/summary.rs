//! Section of `summary.json` about the emulation.

use crate::drive::{EndCounts, Report};
use crate::meter::{Lateness, Verdict};
use fairwave_lab::results::{EmulationSummary, LatenessSummary, NodeSummary, ProgramSummary};

/// Summary of a finished run; `failure` is that of flows on sockets, and `names` are those of the
/// ends, in their order.
pub(crate) fn summary(
    report: &Report,
    failure: Option<String>,
    names: &[String],
    programs: Vec<ProgramSummary>,
) -> EmulationSummary {
    let invalid_reason = match report.verdict() {
        Verdict::Valid => failure,
        Verdict::Invalid(reason) => Some(reason),
    };
    let fidelity = &report.fidelity;
    EmulationSummary {
        valid: invalid_reason.is_none(),
        invalid_reason,
        lateness: lateness(fidelity.events),
        packet_lateness: lateness(fidelity.packets),
        host_lateness: fidelity.reference.map(lateness),
        cpu_load: fidelity.cpu_load,
        nodes: names.iter().zip(&report.ends).map(|(name, counts)| node(name, counts)).collect(),
        programs,
    }
}

fn lateness(of: Lateness) -> LatenessSummary {
    LatenessSummary {
        count: of.count,
        p50_ns: of.p50.as_nanos(),
        p99_ns: of.p99.as_nanos(),
        p999_ns: of.p999.as_nanos(),
        max_ns: of.most.as_nanos(),
    }
}

fn node(name: &str, counts: &EndCounts) -> NodeSummary {
    NodeSummary {
        name: name.to_owned(),
        packets_in: counts.packets_in,
        large_segments_in: counts.large_in,
        bytes_in: counts.bytes_in,
        packets_out: counts.packets_out,
        bytes_out: counts.bytes_out,
        lost_in_emulator: counts.lost(),
        unreachable: counts.unreachable,
        multicast: counts.multicast,
        without_carrier: counts.without_carrier,
    }
}
