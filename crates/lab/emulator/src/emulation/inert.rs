//! Keys of a scenario that cannot act on sockets.

use crate::emulation::links;
use fairwave_scenario::{Away, Scenario};
use fairwave_shake_host::Mode;
use fairwave_shake_host::endpoint::max_mss;
use fairwave_sim::world::{Flow, ShakeFormat, Traffic};

/// Warnings about keys of the flows of `scenario` on sockets that have no effect there.
pub(crate) fn settings(scenario: &Scenario) -> Vec<String> {
    let world = scenario.to_world(scenario.seed);
    let emulate = scenario.emulation();
    let on_sockets = scenario.kernel_flows();
    let flows: Vec<(&Flow, bool)> = on_sockets
        .iter()
        .map(|id| {
            let is_named = scenario.kernel_congestion_control().iter().any(|(of, _)| of == id);
            (&world.flows[id.0 as usize], is_named)
        })
        .collect();
    let mut warnings = Vec::new();
    let is_shake = |(flow, _): &(&Flow, bool)| matches!(flow.traffic, Traffic::Shake(_));
    if emulate.mptcp && !flows.iter().any(is_shake) {
        warnings.push("emulate: mptcp cannot act: no flow of SHAKE is on sockets".to_owned());
    }
    if emulate.ends_when_idle && flows.is_empty() {
        warnings.push("emulate: ends_when_idle cannot act: no flow is on sockets".to_owned());
    }
    if emulate.away != Away::NoCarrier && !links::roam(&world, &scenario.real_nodes()) {
        warnings.push("emulate: away cannot act: no real station has roaming".to_owned());
    }
    for (flow, is_named) in flows {
        let (mode, mss) = match &flow.traffic {
            Traffic::Shake(_) if emulate.mptcp => continue,
            Traffic::Shake(shake) => {
                if shake.format == ShakeFormat::Tcp {
                    warnings.push(cannot(flow, "format \"tcp\"", "messages are datagrams of UDP"));
                }
                (Mode::Shake, shake.config.mss)
            }
            Traffic::MultiTcp(set) => (Mode::Multi, set.tcp.sender.mss.into()),
            _ => continue,
        };
        let maximum = max_mss(mode).min(emulate.mtu.saturating_sub(1500 - max_mss(mode)));
        if mss > maximum {
            let why = format!("a packet has room for {maximum} bytes");
            warnings.push(cannot(flow, &format!("an mss of {mss} B"), &why));
        }
        if is_named {
            warnings.push(cannot(
                flow,
                "kernel_congestion_control",
                "Fairwave's own code carries it",
            ));
        }
    }
    warnings
}

fn cannot(flow: &Flow, key: &str, why: &str) -> String {
    format!("{}: {key} cannot act on sockets: {why}", flow.name)
}
