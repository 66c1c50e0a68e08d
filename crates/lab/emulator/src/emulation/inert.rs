//! Keys of a scenario that cannot act on sockets.

use crate::emulation::links;
use fairwave_scenario::{Away, Emulate, Scenario};
use fairwave_shake_host::Mode;
use fairwave_shake_host::endpoint::max_mss;
use fairwave_sim::world::{DccpFlow, Flow, ShakeFormat, Traffic};

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
            Traffic::Dccp(dccp) => {
                warnings.extend(of_dccp(flow, dccp, &emulate));
                warnings.extend(is_named.then(|| own_code(flow)));
                continue;
            }
            _ => continue,
        };
        let maximum = max_mss(mode).min(emulate.mtu.saturating_sub(1500 - max_mss(mode)));
        if mss > maximum {
            let why = format!("a packet has room for {maximum} bytes");
            warnings.push(cannot(flow, &format!("an mss of {mss} B"), &why));
        }
        if is_named {
            warnings.push(own_code(flow));
        }
    }
    warnings
}

fn own_code(flow: &Flow) -> String {
    cannot(flow, "kernel_congestion_control", "Fairwave's own code carries it")
}

/// Warnings about remedies, which act by notices of the kernel, and about datagrams too long for a
/// packet.
fn of_dccp(flow: &Flow, dccp: &DccpFlow, emulate: &Emulate) -> Vec<String> {
    let remedies = dccp.remedies;
    let needs_rate = [("ahead", remedies.set_ahead), ("on-arrival", remedies.on_arrival)];
    let needs_rate = needs_rate.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| {
        let why = "no notice of the kernel has the free rate of the next access point";
        cannot(flow, &format!("the remedy {name:?}"), why)
    });
    let is_blind = emulate.away == Away::Up && remedies.any();
    let blind = is_blind
        .then(|| cannot(flow, "remedies", "with away = \"up\" a node learns of no handover"));
    let (bytes, room) = (dccp.largest_payload_bytes(), emulate.mtu.saturating_sub(MAX_HEADERS));
    let long = (bytes > room).then(|| {
        format!(
            "{}: datagrams of {bytes} B are fragmented; a packet has room for {room} B",
            flow.name
        )
    });
    needs_rate.chain(blind).chain(long).collect()
}

/// Headers of IPv4, UDP and DCCP in bytes, and the usual options of DCCP.
const MAX_HEADERS: u32 = 20 + 8 + 24 + 24;

fn cannot(flow: &Flow, key: &str, why: &str) -> String {
    format!("{}: {key} cannot act on sockets: {why}", flow.name)
}
