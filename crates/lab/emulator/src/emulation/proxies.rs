//! Proxies of flows on the kernel's sockets: Fairwave's own program at their nodes.

use crate::emulation::flows::{Choices, spec_of};
use crate::traffic::{Load, Spec, Through};
use fairwave_scenario::{Program, Started};
use fairwave_sim::world::World;
use fairwave_trace::{FlowId, NodeId};
use fairwave_units::Duration;
use std::path::Path;

/// The proxies that `flows` of `world` pass. Each is `fairwave proxy`, run by the command
/// `program`, with the target and the algorithm of the scenario's proxy. Flows that cannot use
/// sockets have none.
pub(crate) fn of_flows(
    world: &World,
    flows: &[FlowId],
    choices: &Choices,
    program: &Path,
) -> Vec<Started> {
    let specs = flows.iter().filter_map(|flow| spec_of(world, *flow, choices).ok());
    specs.filter_map(|spec| proxy(&spec, program)).collect()
}

/// The nodes of the proxies that `flows` pass.
pub(crate) fn nodes(world: &World, flows: &[FlowId]) -> Vec<NodeId> {
    let at = flows.iter().filter_map(|flow| world.flows[flow.0 as usize].proxy.as_ref());
    at.map(|proxy| proxy.at).collect()
}

fn proxy(spec: &Spec, program: &Path) -> Option<Started> {
    let Load::Connection(connection) = &spec.load else { return None };
    let through = connection.through.as_ref()?;
    let (node, command) = (through.place.node, command(through, program));
    let program = Program { node: String::new(), command, start: Duration::ZERO, stop: None };
    Some(Started { node, program })
}

/// The shell command at the proxy's node.
fn command(through: &Through, program: &Path) -> String {
    let program = program.display().to_string().replace('\'', r"'\''");
    let listen = through.place.address;
    let how = match through.target {
        Some(target) => format!("--target {}", target.0),
        None => format!("--congestion {}", through.congestion_control),
    };
    // Only nodes of the emulation can reach the proxy.
    let allow = if listen.is_ipv4() { "0.0.0.0/0" } else { "::/0" };
    format!("exec '{program}' proxy --json --listen {listen} --allow {allow} {how}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Place;
    use fairwave_units::BitRate;

    #[test]
    fn a_proxy_is_told_its_place_and_its_target_or_its_algorithm() {
        let place = Place { node: NodeId(3), address: "10.0.0.4:1080".parse().expect("one") };
        let algorithm = "fw_tcp_av".to_owned();
        let aiming =
            Through { place, target: Some(BitRate(6_250_000)), congestion_control: algorithm };
        let printed = command(&aiming, Path::new("/opt/it's/fairwave"));
        let listening = "proxy --json --listen 10.0.0.4:1080 --allow 0.0.0.0/0";
        assert_eq!(printed, format!(r"exec '/opt/it'\''s/fairwave' {listening} --target 6250000"));
        let plain = Through { target: None, congestion_control: "cubic".to_owned(), ..aiming };
        assert!(command(&plain, Path::new("fairwave")).ends_with("--congestion cubic"));
    }
}
