//! Targets where the pins of algorithms are not visible.

use super::{Shell, may_load};

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
