//! Report of how well an emulation kept real time.

use fairwave_lab::results::{EmulationSummary, LatenessSummary, NodeSummary, ProgramSummary};
use fairwave_text::{Table, mbps};

/// Real nodes, programs, lateness.
pub(super) fn emulation(summary: &EmulationSummary) -> String {
    let verdict = match &summary.invalid_reason {
        None => "The run is valid.\n".to_owned(),
        Some(reason) => format!("The run is NOT valid: {reason}.\n"),
    };
    let load =
        format!("The emulator's loop used {:.0} % of a processor.\n", 100.0 * summary.cpu_load);
    [nodes(&summary.nodes), programs(&summary.programs), lateness(summary), load, verdict].concat()
}

fn nodes(nodes: &[NodeSummary]) -> String {
    let heads = ["node", "packets sent", "received", "MB sent", "received", "lost in emulator"];
    let mut table = Table::new("Real nodes", &heads);
    for node in nodes {
        table.row(vec![
            node.name.clone(),
            node.packets_in.to_string(),
            node.packets_out.to_string(),
            mbps(node.bytes_in),
            mbps(node.bytes_out),
            node.lost_in_emulator.to_string(),
        ]);
    }
    let gaps = nodes.iter().filter(|node| node.without_carrier > 0).map(|node| {
        let (name, packets) = (&node.name, node.without_carrier);
        format!("{name} had no carrier for {packets} packets, which its kernel dropped.\n")
    });
    table.render() + &gaps.collect::<String>()
}

fn programs(programs: &[ProgramSummary]) -> String {
    let mut table = Table::new("Programs", &["node", "command", "ended", "output"]);
    for program in programs {
        let ended = match (program.status, program.signal) {
            _ if !program.failed && program.ended_by_run => "by the run".to_owned(),
            (None, _) if !program.failed => "not started".to_owned(),
            _ if !program.failed => "well".to_owned(),
            (Some(status), _) => format!("failed, status {status}"),
            (None, Some(signal)) => format!("failed, signal {signal}"),
            (None, None) => "failed".to_owned(),
        };
        let log = program.log.clone().unwrap_or_else(|| "-".to_owned());
        table.row(vec![program.node.clone(), program.command.clone(), ended, log]);
    }
    table.render()
}

fn lateness(summary: &EmulationSummary) -> String {
    let heads = ["lateness us", "count", "p50", "p99", "p99.9", "most"];
    let mut table = Table::new("Real time", &heads);
    let mut row = |name: &str, of: &LatenessSummary| {
        let us = |ns: u64| format!("{:.0}", ns as f64 / 1e3);
        table.row(vec![
            name.to_owned(),
            of.count.to_string(),
            us(of.p50_ns),
            us(of.p99_ns),
            us(of.p999_ns),
            us(of.max_ns),
        ]);
    };
    row("events", &summary.lateness);
    row("packets", &summary.packet_lateness);
    if let Some(host) = &summary.host_lateness {
        row("a bare timer", host);
    }
    table.render()
}
