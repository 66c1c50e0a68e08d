//! Sets of TCP connections in scenarios: what is left out, and what the keys of TCP do to each.

use fairwave_scenario::Scenario;
use fairwave_sim::world::{MultiTcpFlow, MultiTcpPath, Split, Traffic};
use fairwave_trace::NodeId;
use fairwave_units::{Bytes, Duration};

const WORLD: &str = r#"
[[node]]
name = "host"
kind = "host"
[[node]]
name = "phone"
kind = "host"
count = 2
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["host", "phone*"]
[[link]]
ends = ["phone*", "server"]
[tcp]
receive_buffer = "17520 B"
[[flow]]
name = "transfer"
from = "host"
to = "server"
transport = "multi-tcp"
"#;

/// The flow, whose resolved form reads as the same scenario.
fn read(keys: &str) -> MultiTcpFlow {
    let text = format!("{WORLD}{keys}");
    let scenario = Scenario::parse("multi.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let again = Scenario::parse("resolved.toml", &scenario.to_toml());
    assert_eq!(again.unwrap_or_else(|e| panic!("{e}")), scenario);
    let Traffic::MultiTcp(flow) = scenario.to_world(1).flows[0].traffic.clone() else {
        panic!("it is a set of connections")
    };
    flow
}

#[test]
fn what_is_left_out_is_one_block_to_each_in_turn() {
    let flow = read(r#"paths = [{ via = "phone2" }, { via = "phone1" }]"#);
    let path = |node| MultiTcpPath { via: NodeId(node), weight: 1 };
    assert_eq!(flow.paths, [path(2), path(1)]);
    // A segment of 1460 bytes less a header of 12.
    assert_eq!((flow.split, flow.block, flow.buffer), (Split::Weighted, 1448, 1448));
    assert_eq!(flow.tcp.sender.receive_buffer, 17_520, "[tcp] holds for its connections");
    assert_eq!((flow.tcp.congestion_control.name(), flow.tcp.size), ("reno", None));
}

#[test]
fn every_key_acts() {
    let flow = read(
        r#"
        size = "100 KB"
        paths = [{ via = "phone1", weight = 7 }, { via = "phone2" }]
        block = "500 B"
        buffer = "9 KB"
        duplicate_ack_threshold = 10
        timer_tick = "500 ms"
        congestion_control = "cubic"
        "#,
    );
    assert_eq!((flow.paths[0].weight, flow.paths[1].weight), (7, 1));
    assert_eq!((flow.block, flow.buffer), (500, 9_000));
    assert_eq!(flow.tcp.sender.duplicate_ack_threshold, 10);
    assert_eq!(flow.tcp.sender.timer_tick, Duration::from_millis(500));
    assert_eq!(flow.tcp.congestion_control.name(), "cubic");
    assert_eq!(flow.tcp.size, Some(Bytes(100_000)));
}

#[test]
fn an_adaptive_split_has_a_buffer_for_what_all_connections_take() {
    let paths = r#"paths = [{ via = "phone1" }, { via = "phone2" }]"#;
    let flow = read(&format!("split = \"adaptive\"\ntimestamps = true\n{paths}"));
    assert_eq!((flow.split, flow.buffer), (Split::Adaptive, 2 * 17_520));
    // The timestamps option takes twelve more.
    assert_eq!(flow.block, 1436);
    assert_eq!(read(&format!("split = \"equal\"\n{paths}")).split, Split::Equal);
}
