//! Targets where the pins of algorithms are not visible, and where windows do not bound a rate.

use super::{Shell, WIRE, may_load};

/// `ip netns exec` shows another `/sys`, without the BPF file system that holds the pins.
#[test]
fn targets_are_set_and_used_in_a_namespace_with_a_sys_of_its_own() {
    let Some(_lock) = may_load() else { return };
    let mut shell = Shell::start(
        r#"
place=fwcc-t-$$
trap 'ip netns del "$place"' EXIT
ip netns add "$place"
$F cc load fw_tcp_av
ip netns exec "$place" $F cc target 192.0.2.0/24 --rate '5 Mbps' > targets
ip netns exec "$place" $F proxy --listen 127.0.0.1:0 --target 5M --for 1s > greeting
$F cc unload --all
"#,
    );
    shell.leaves_nothing();
    assert!(shell.file("targets").contains("192.0.2.0/24  5.000"), "{}", shell.file("targets"));
    let greeting = shell.file("greeting");
    assert!(greeting.contains("Targets are kept by fw_tcp_av."), "{greeting}");
}

/// The wire has 20 Mbps and a low round-trip time, at which ten segments are more than a target of
/// 3 Mbps needs.
#[test]
fn a_target_with_a_cap_bounds_the_rate_at_a_low_round_trip_time() {
    let Some(_lock) = may_load() else { return };
    let mut shell = Shell::start(&format!(
        r#"
$F cc load fw_tcp_av
$F cc target 10.9.0.2 --rate '3 Mbps' --cap > targets
{WIRE}
nobody iperf3 -c 10.9.0.2 -C fw_tcp_av -t 4 -J > capped
$F cc target 10.9.0.2 --remove > targets
nobody iperf3 -c 10.9.0.2 -C fw_tcp_av -t 2 -J > free
$F cc unload --all
"#
    ));
    shell.leaves_nothing();
    let rate = |name: &str| {
        let report = shell.json(name);
        report["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate")
    };
    let (capped, free) = (rate("capped"), rate("free"));
    assert!(capped < 4.5e6 && free > capped, "with a cap {capped}, without {free}");
}

/// The connection of the flow is in a namespace of the emulation.
#[test]
fn a_flow_of_an_emulation_has_its_target_while_it_runs() {
    let Some(_lock) = may_load() else { return };
    let mut shell = Shell::start(
        r#"
cat > av.toml <<'END'
duration = "2 s"
node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
link = [{ ends = ["a", "b"], rate = "10 Mbps", delay = "10 ms" }]
[[flow]]
name = "up"
from = "a"
to = "b"
congestion_control = "tcp-av"
av = { target = "3 Mbps" }
[emulate]
kernel_flows = ["up"]
lateness_limit = "1 s"
END
has_target() { $F cc target > during; has '^ *socket:.* 3\.000' during; }
$F emulate av.toml --quiet > refused 2>&1 && exit 1
$F cc load fw_tcp_av
$F emulate av.toml --quiet > report & run=$!
await has_target
wait $run || [ $? = 4 ]
$F cc target > after
$F cc unload --all
"#,
    );
    shell.leaves_nothing();
    assert!(shell.file("refused").contains("fw_tcp_av"), "{}", shell.file("refused"));
    assert!(!shell.file("after").contains("3.000"), "{}", shell.file("after"));
}
