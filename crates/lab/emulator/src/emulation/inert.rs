//! Keys of a scenario that cannot act on sockets.

use crate::emulation::links;
use fairwave_cc::{Fraction, TcpAvConfig};
use fairwave_scenario::{Away, Emulate, Proxy, Scenario, Tcp, Transport};
use fairwave_shake_host::Mode;
use fairwave_shake_host::endpoint::max_mss;
use fairwave_sim::world::{self, DccpFlow, Flow, Opening, ShakeFormat, Traffic, World};
use fairwave_trace::FlowId;
use fairwave_units::Duration;
use std::collections::BTreeMap;

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
    warnings.extend(of_tcp(scenario, &world, &on_sockets));
    for (flow, is_named) in flows {
        let (mode, mss) = match &flow.traffic {
            Traffic::Shake(_) if emulate.mptcp => continue,
            Traffic::Shake(shake) => {
                if shake.format == ShakeFormat::Tcp {
                    warnings.push(cannot(
                        &flow.name,
                        "format \"tcp\"",
                        "messages are datagrams of UDP",
                    ));
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
            warnings.push(cannot(&flow.name, &format!("an mss of {mss} B"), &why));
        }
        if is_named {
            warnings.push(own_code(flow));
        }
    }
    warnings
}

fn own_code(flow: &Flow) -> String {
    cannot(&flow.name, "kernel_congestion_control", "Fairwave's own code carries it")
}

/// Warnings about remedies, which act by notices of the kernel, and about datagrams too long for a
/// packet.
fn of_dccp(flow: &Flow, dccp: &DccpFlow, emulate: &Emulate) -> Vec<String> {
    let remedies = dccp.remedies;
    let needs_rate = [("ahead", remedies.set_ahead), ("on-arrival", remedies.on_arrival)];
    let needs_rate = needs_rate.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| {
        let why = "no notice of the kernel has the free rate of the next access point";
        cannot(&flow.name, &format!("the remedy {name:?}"), why)
    });
    let is_blind = emulate.away == Away::Up && remedies.any();
    let blind = is_blind
        .then(|| cannot(&flow.name, "remedies", "with away = \"up\" a node learns of no handover"));
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

fn cannot(flow: &str, key: &str, why: &str) -> String {
    format!("{flow}: {key} cannot act on sockets: {why}")
}

/// Warnings about keys of TCP flows and their proxies that the kernel's TCP and `fairwave proxy` do
/// not take, for each table of flows. `ids` are the flows on sockets.
fn of_tcp(scenario: &Scenario, world: &World, ids: &[FlowId]) -> Vec<String> {
    let flow = |id: &FlowId| &world.flows[id.0 as usize];
    let on_sockets: BTreeMap<&str, &Flow> =
        ids.iter().map(flow).map(|flow| (&*flow.name, flow)).collect();
    let sysctls = scenario.emulation().sysctls;
    let warnings = |(table, flow): (usize, &fairwave_scenario::Flow)| {
        let Transport::Tcp(tcp) = &flow.transport else { return Vec::new() };
        let names = scenario.flows_of(table);
        let Some(first) = names.iter().find_map(|name| on_sockets.get(&**name)) else {
            return Vec::new();
        };
        let proxies = tcp.proxy.as_deref().zip(first.proxy.as_ref());
        let kinds = [
            (without_effect(tcp, &sysctls), OF_KERNEL),
            (parameters(&tcp.config().av).map(|key| format!("av.{key}")).collect(), OF_PROGRAM),
            (proxies.map_or_else(Vec::new, |(proxy, world)| of_proxy(proxy, world)), OF_PROXY),
        ];
        let kinds = kinds.into_iter().filter(|(keys, _)| !keys.is_empty());
        kinds.map(|(keys, why)| cannot(&flow.name, &keys.join(", "), why)).collect()
    };
    scenario.flow.iter().enumerate().flat_map(warnings).collect()
}

/// Parameters of TCP-AV that differ from those that its program in the kernel has.
fn parameters(av: &TcpAvConfig) -> impl Iterator<Item = &'static str> {
    let fixed = TcpAvConfig::DEFAULT;
    // A scenario's fractions have another denominator.
    let differ = |a: Fraction, b: Fraction| {
        u64::from(a.num) * u64::from(b.den) != u64::from(b.num) * u64::from(a.den)
    };
    let parameters = [
        ("margin", differ(av.margin, fixed.margin)),
        ("horizon", av.horizon != fixed.horizon),
        ("catch_up", av.catch_up != fixed.catch_up),
        ("max", differ(av.most, fixed.most)),
        ("severe_loss", differ(av.severe, fixed.severe)),
    ];
    parameters.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key)
}

/// Keys of a proxy with values that `fairwave proxy` does not have.
fn of_proxy(given: &Proxy, proxy: &world::Proxy) -> Vec<String> {
    let av = &proxy.far.av;
    let is_aimed = av.target.is_some();
    let keys = [
        ("stack", is_foreign(&given.stack)),
        ("buffer", given.buffer != USUAL_BUFFER),
        ("opening", proxy.opening != Opening::AfterFar),
        ("av.cap_to_target", av.cap_to_target),
        ("av.floor_at_reno = false", is_aimed && !av.floor_at_reno),
    ];
    let keys = keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key.to_owned());
    keys.chain(parameters(av).map(|key| format!("av.{key}")))
        .map(|key| format!("proxy.{key}"))
        .collect()
}

/// Buffer of a scenario's proxy unless it sets another.
const USUAL_BUFFER: u32 = 64 << 10;
const OF_PROXY: &str =
    "`fairwave proxy` has the kernel's buffers, opens `to` first, and floors its targets at Reno";
const OF_KERNEL: &str = "the kernel's TCP has its own settings (emulate.sysctls)";
const OF_PROGRAM: &str = "fw_tcp_av has a target, a cap and a floor";

/// The keys that were set, and neither act nor describe the kernel.
fn without_effect(tcp: &Tcp, sysctls: &[String]) -> Vec<String> {
    let stacks = [
        ("stack", is_foreign(&tcp.stack)),
        ("receiver_stack", tcp.receiver_stack.as_ref().is_some_and(|stack| is_foreign(stack))),
    ];
    let acks = tcp.config().delayed_ack;
    let is_usual = acks.every == 1 || (acks.every, acks.timeout) == USUAL_ACKS;
    let is_set = |key: &str| {
        let name = format!("net.ipv4.tcp_{key}");
        sysctls.iter().any(|text| text.split('=').next().is_some_and(|key| key.trim() == name))
    };
    let own = tcp.own_options().into_iter();
    let own = own.filter(|key| !OPTIONS_OF_SOCKETS.contains(key) && !is_set(key));
    let own = own.filter(|key| *key != "delayed_ack" || !is_usual);
    let stacks = stacks.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key);
    stacks.chain(own).map(str::to_owned).collect()
}

fn is_foreign(stack: &str) -> bool {
    stack != "default" && stack != KERNELS_STACK
}

/// The stack that describes the kernel.
const KERNELS_STACK: &str = "linux-6";
/// Options that a socket has too.
const OPTIONS_OF_SOCKETS: [&str; 6] =
    ["mss", "send_buffer", "send_buffer_max", "receive_buffer", "receive_buffer_max", "nagle"];
/// `delayed_ack = "on"`: the kernel's own rule.
const USUAL_ACKS: (u32, Duration) = (2, Duration::from_millis(200));

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_scenario::plan::Plan;
    use std::fs;
    use std::path::Path;

    /// Warnings about a flow with these keys, and these of the table `[emulate]`. It passes "m".
    fn warnings(flow: &str, emulate: &str) -> Vec<String> {
        let text = format!(
            "duration = \"1 s\"\nemulate = {{ kernel_flows = [\"*\"], {emulate} }}\n\
             node = [{{ name = \"a\", kind = \"host\" }}, {{ name = \"m\", kind = \"host\" }}, \
             {{ name = \"b\", kind = \"host\" }}]\n\
             link = [{{ ends = [\"a\", \"m\"] }}, {{ ends = [\"m\", \"b\"] }}]\n\
             [[flow]]\nname = \"up\"\nfrom = \"a\"\nto = \"b\"\n{flow}"
        );
        settings(&Scenario::parse("tcp.toml", &text).expect("a scenario"))
    }

    #[test]
    fn keys_that_the_kernels_tcp_does_not_take_are_named() {
        for acting in [
            "stack = \"linux-6\"\nmss = \"1000 B\"\nnagle = true\ndelayed_ack = \"off\"",
            "send_buffer = \"64 KB\"\nreceive_buffer = \"64 KB\"\ndelayed_ack = \"on\"",
        ] {
            assert_eq!(warnings(acting, ""), [""; 0], "{acting}");
        }
        let inert = "stack = \"linux-2.4\"\nreceiver_stack = \"windows-xp\"\necn = true\n\
            min_rto = \"1 s\"\ndelayed_ack = { every = 4 }";
        let expected = |keys: &str| {
            let why = "the kernel's TCP has its own settings (emulate.sysctls)";
            [format!("up: {keys} cannot act on sockets: {why}")]
        };
        let keys = "stack, receiver_stack, ecn, delayed_ack, min_rto";
        assert_eq!(warnings(inert, ""), expected(keys));
        let sysctls = "sysctls = [\"net.ipv4.tcp_ecn = 1\"]";
        assert_eq!(warnings("ecn = true\nsack = false", sysctls), expected("sack"));
    }

    #[test]
    fn parameters_of_a_target_that_the_kernels_program_does_not_take_are_named() {
        let av = |keys: &str| {
            format!("congestion_control = \"tcp-av\"\nav = {{ target = \"5 Mbps\"{keys} }}")
        };
        assert_eq!(warnings(&av(", cap_to_target = true, floor_at_reno = true"), ""), [""; 0]);
        let expected = "up: av.margin, av.max cannot act on sockets: fw_tcp_av has a target, a \
                        cap and a floor";
        assert_eq!(warnings(&av(", margin = 1.1, max = 3.0"), ""), [expected]);
    }

    #[test]
    fn keys_of_a_proxy_that_the_program_does_not_take_are_named() {
        let proxy = |keys: &str| format!("proxy = {{ at = \"m\", {keys} }}");
        let aims = "congestion_control = \"tcp-av\", av = { target = \"5 Mbps\", ";
        for acting in [
            "stack = \"linux-6\", buffer = \"64 KiB\", opening = \"after-far\"",
            &format!("{aims}floor_at_reno = true }}"),
        ] {
            assert_eq!(warnings(&proxy(acting), ""), [""; 0], "{acting}");
        }
        let expected = |keys: &str| [format!("up: {keys} cannot act on sockets: {OF_PROXY}")];
        let inert = "stack = \"bsd-reno\", buffer = \"8 KB\", opening = \"at-once\"";
        let keys = "proxy.stack, proxy.buffer, proxy.opening";
        assert_eq!(warnings(&proxy(inert), ""), expected(keys));
        let inert = format!("{aims}cap_to_target = true, margin = 1.1 }}");
        let keys = "proxy.av.cap_to_target, proxy.av.floor_at_reno = false, proxy.av.margin";
        assert_eq!(warnings(&proxy(&inert), ""), expected(keys));
    }

    #[test]
    fn every_key_of_the_catalogues_emulations_acts() {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
        let mut seen = 0;
        for entry in fs::read_dir(place).expect("the catalogue").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("emulated-") || name == "kernel-link.toml" {
                let text = fs::read_to_string(entry.path()).expect("it is readable");
                let plan = Plan::parse(&name, &text, &[]).expect("a scenario");
                for point in plan.points {
                    assert_eq!(settings(&point.scenario), [""; 0], "{name}");
                }
                seen += 1;
            }
        }
        assert!(seen > 5, "{seen}");
    }
}
