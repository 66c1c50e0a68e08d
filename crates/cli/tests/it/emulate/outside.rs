//! Emulations that use the machine's interfaces: as a link between two, and as an uplink. The
//! machine is the test's own network namespace.

use super::bystanders::audited;
use super::{Site, machine_can, node};
use crate::common::{WRONG_TCP_CHECKSUM, frames, tshark};
use std::fs;

/// Two computers, `west` and `east`, on wires to the interfaces `e0` and `f0` of this machine, and
/// the removal of both. `inside west COMMAND` runs a command there. `interfaces` prints the state
/// of the machine's ends.
const COMPUTERS: &str = r#"
inside() { place=$1; shift; nsenter --net=/proc/$place/ns/net "$@"; }
apart() { [ "$(readlink /proc/$1/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
carried() { ip -o link show "$1" | grep -q 'state UP'; }
computer() { # its end of the wire, ours, number, process
    ip link add "$2" type veth peer name "$1" && ip link set "$2" up
    await apart "$4" && ip link set "$1" netns "$4"
    inside "$4" ip address add "192.0.2.$3/24" dev "$1"
    inside "$4" ip address add "2001:db8::$3/64" dev "$1" nodad
    inside "$4" ip link set "$1" up; inside "$4" ip link set lo up
}
interfaces() {
    ip -d -o link | sed 's/@.*mtu/ mtu/'; ip -o -4 address; nft list ruleset
    cat /proc/sys/net/ipv*/conf/*/*forwarding 2> /dev/null
}
begin() {
    unshare --net sleep 100 & west=$!
    unshare --net sleep 100 & east=$!
    computer e1 e0 1 $west; computer f1 f0 2 $east
    echo from the east > page
    # Not by a function, which would be a process between.
    nsenter --net=/proc/$east/ns/net python3 -m http.server 80 > /dev/null 2>&1 & server=$!
    await inside $east curl -s -o /dev/null http://127.0.0.1/page
    # The kernel notices carriers later than `ip` returns; a list written before would differ.
    await carried e0; await carried f0
    interfaces > interfaces.before
}
restored() { interfaces > interfaces.after; cmp -s interfaces.before interfaces.after; }
finish() {
    await restored || { diff interfaces.before interfaces.after; code=99; }
    kill $west $east $server; wait $west $east $server 2> /dev/null
    ip link del e0 2> /dev/null; ip link del f0 2> /dev/null; true
}
"#;

/// Runs a script around the emulator with those computers, and checks that the machine is unchanged
/// afterwards.
fn with_computers(site: Site, script: &str) -> (super::Ended, String) {
    let script = format!("{COMPUTERS}begin\n{script}\nfinish");
    let mut shell = audited(&site, &script);
    let ended = site.start_as(&mut shell).end();
    let printed = format!("{}\n{}", ended.out, ended.err);
    assert_eq!(ended.code, Some(0), "something is left: {printed}");
    let code = fs::read_to_string(ended.place.path().join("code")).expect("it was run");
    assert_ne!(code, "code 99\n", "the interfaces are not as before: {printed}");
    (ended, code)
}

/// Minimum round-trip time in the output of busybox's ping, in milliseconds.
fn min_rtt_ms(text: &str) -> f64 {
    let times = text.split_once("min/avg/max = ").expect("ping heard answers").1;
    times.split('/').next().and_then(|time| time.parse().ok()).expect("a time")
}

#[test]
fn the_cell_stands_between_two_interfaces() {
    if !machine_can() {
        return;
    }
    // ARP and neighbour discovery find the other computer by broadcast and multicast.
    let script = "$EMULATE --bridge sta1=e0,server=f0 --for '60 s' --tap sta1 --record &\n\
        emulator=$!\n\
        await test -S out/control.sock\n\
        ip -d -o link show e0 > during\n\
        inside $west busybox ping -c 2 -i 0.2 192.0.2.2\n\
        inside $west busybox ping -c 1 2001:db8::2\n\
        inside $west curl -s http://192.0.2.2/page\n\
        head -c 300000 /dev/zero > page; inside $west curl -s http://192.0.2.2/page | wc -c\n\
        kill -INT $emulator; wait $emulator; code=$?\n\
        $BINARY run --replay out --tap sta1 --quiet --out again && \
            cmp out/capture-sta1.pcapng again/capture-sta1.pcapng || code=98";
    let (ended, code) = with_computers(Site::new(""), script);
    assert!(matches!(&*code, "code 0\n" | "code 4\n"), "{code}{}", ended.err);
    let during = fs::read_to_string(ended.place.path().join("during")).expect("it was written");
    assert!(during.contains("promiscuity 1"), "{during}");
    let printed = &ended.out;
    assert_eq!(printed.matches("64 bytes from").count(), 3, "{printed}");
    assert!(min_rtt_ms(printed) > 4.0, "the wire behind the access point takes 2 ms: {printed}");
    assert!(printed.contains("from the east\n300000\n"), "{printed}");
    let capture = ended.path("capture-sta1.pcapng");
    let requested = ["-n", "-Y", "etherip && arp.opcode == 1 && arp.dst.proto_ipv4 == 192.0.2.2"];
    assert!(
        !tshark(&requested, &capture).is_empty(),
        "what is no IP packet is in the capture whole"
    );
    assert_eq!(frames(&capture, WRONG_TCP_CHECKSUM), Vec::<String>::new());
    let summary = ended.summary();
    let lost = ["sta1", "server"].map(|name| node(&summary, name)["lost_in_emulator"].clone());
    assert_eq!(lost, [0, 0], "{printed}");
    // The page alone takes 207 segments.
    assert!(node(&summary, "server")["packets_in"].as_u64() > Some(207), "{summary}");
}

#[test]
fn interfaces_are_as_before_though_the_emulator_was_killed() {
    if !machine_can() {
        return;
    }
    let script = "$EMULATE --bridge sta1=e0,server=f0 --for '60 s' & emulator=$!\n\
        await test -S out/control.sock\n\
        await inside $west busybox ping -c 1 -W 1 192.0.2.2\n\
        kill -KILL $emulator; wait $emulator; code=$?";
    let (ended, code) = with_computers(Site::new(""), script);
    assert_eq!(code, "code 137\n", "{}", ended.err);
    assert!(ended.out.contains("64 bytes from"), "{}", ended.out);
}

#[test]
fn an_interface_that_is_deleted_ends_the_run_and_one_that_flaps_does_not() {
    if !machine_can() {
        return;
    }
    let script = "$EMULATE --bridge sta1=e0,server=f0 --for '60 s' & emulator=$!\n\
        await test -S out/control.sock\n\
        ip link set e0 down; ip link set e0 up\n\
        await inside $west busybox ping -c 1 -W 1 192.0.2.2\n\
        ip link del e0; wait $emulator; code=$?\n\
        ip link add e0 type veth peer name e2; ip link set e0 up\n\
        interfaces > interfaces.before";
    let (ended, code) = with_computers(Site::new(""), script);
    assert_eq!(code, "code 1\n", "{}\n{}", ended.out, ended.err);
    assert!(ended.out.contains("64 bytes from"), "{}", ended.out);
    let printed = "the interface of sta1 has vanished";
    assert!(ended.err.contains(printed), "{}", ended.err);
    assert_eq!(ended.summary()["valid"], false);
}

#[test]
fn a_node_at_an_interface_is_named_and_runs_nothing() {
    if !machine_can() {
        return;
    }
    let refused = |args: &[&str]| {
        let ended = Site::new("").with(args).run();
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(!ended.path("").exists(), "nothing was begun");
        ended.err
    };
    let three = refused(&["--bridge", "e0,f0"]);
    assert!(three.contains("NODE=IF,NODE=IF: there are sta1, sta2, server"), "{three}");
    let nobody = refused(&["--bridge", "sta9=e0,server=f0"]);
    assert!(nobody.contains("there is no node \"sta9\""), "{nobody}");
    let busy = refused(&["--bridge", "sta1=e0,server=f0", "--exec", "sta*=true"]);
    assert!(busy.contains("\"sta1\" stands at an interface and cannot run `true`"), "{busy}");
    let half = refused(&["--bridge", "sta1=e0,f0"]);
    assert!(half.contains("name both nodes or none"), "{half}");
}

#[test]
fn a_node_with_an_uplink_leads_the_others_out_and_the_machine_is_as_before() {
    if !machine_can() {
        return;
    }
    // The east is the outside world: the machine has an address on the wire to it.
    let script = "ip address add 192.0.2.9/24 dev f0\n\
        ip address add 2001:db8::9/64 dev f0 nodad; interfaces > interfaces.before\n\
        $EMULATE --uplink server=f0 --exec 'sta1=curl -s http://192.0.2.2/page' \
            --exec 'server=busybox ping -c 1 192.0.2.2' \
            --exec 'sta2=busybox ping -6 -c 1 2001:db8::2'; code=$?\n\
        $EMULATE --force --uplink server=f0 --for '60 s' \
            --exec 'sta1=curl -s http://192.0.2.2/page; echo done; sleep 100' & emulator=$!\n\
        cp out/programs/*.log .; await grep -qs done out/programs/sta1.log\n\
        interfaces > during; kill -KILL $emulator; wait $emulator";
    let (ended, code) = with_computers(Site::new(""), script);
    assert!(matches!(&*code, "code 0\n" | "code 4\n"), "{code}{}", ended.err);
    let text = |name: &str| fs::read_to_string(ended.place.path().join(name)).expect("written");
    assert_eq!(text("sta1.log"), "from the east\n");
    assert!(text("server.log").contains("64 bytes from 192.0.2.2"), "{}", text("server.log"));
    assert!(text("during").contains("masquerade"), "{}", text("during"));
    let six = text("sta2.log");
    let lack = "this kernel cannot forward IPv6 of one interface alone";
    assert!(six.contains("64 bytes from 2001:db8::2") || ended.err.contains(lack), "{six}");
}

#[test]
fn two_nodes_have_uplinks_of_their_own_and_the_first_leads_the_others_out() {
    if !machine_can() {
        return;
    }
    let script = "ip address add 192.0.2.9/24 dev f0; interfaces > interfaces.before\n\
        $EMULATE --uplink server=f0 --uplink sta1=f0 \
            --exec 'server=busybox ping -c 1 192.0.2.2' \
            --exec 'sta1=ip -4 route get 192.0.2.2 && busybox ping -c 1 192.0.2.2' \
            --exec 'sta2=ip -4 route get 192.0.2.2 && busybox ping -c 1 192.0.2.2'; code=$?";
    let (ended, code) = with_computers(Site::new(""), script);
    assert!(matches!(&*code, "code 0\n" | "code 4\n"), "{code}{}", ended.err);
    for (node, is_led_out) in [("sta1", false), ("sta2", true)] {
        let log = ended.log(node);
        assert_eq!(log.contains("dev fw0"), is_led_out, "{log}");
    }
}
