//! Programs that communicate over the cell, and the run's report on them.

use super::{Ended, Site, list, machine_can, node};
use crate::common::{WRONG_TCP_CHECKSUM, fairwave, frames, skip, tshark};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// Repeats a command until it succeeds, since a server needs time before it listens.
fn when_served(command: &str) -> String {
    format!("until {command}; do sleep 0.1; done")
}

#[test]
fn programs_run_in_their_nodes_and_the_summary_says_how_it_was() {
    if !machine_can() {
        return;
    }
    let ended = Site::new("")
        .exec("sta1=busybox ping -4 -c 1 server")
        .exec("sta1=busybox ping -6 -c 1 sta2")
        .exec("sta*@100 ms=echo $FAIRWAVE_NODE $(hostname)")
        .exec("sta2@100 ms=getent ahosts server")
        .with(&["--for", "10 s", "--json"])
        .run();
    ended.went_well();
    let logs = ["sta1-2.log", "sta1-3.log", "sta1.log", "sta2-2.log", "sta2.log"];
    assert_eq!(list(&ended.path("programs")), logs);
    assert!(ended.log("sta1").contains("64 bytes from 10.0.0.4"), "{}", ended.log("sta1"));
    assert!(ended.log("sta1-2").contains("from fd46:6169:7277::3"), "{}", ended.log("sta1-2"));
    assert_eq!(ended.log("sta1-3"), "sta1 sta1\n");
    assert_eq!(ended.log("sta2"), "sta2 sta2\n");
    // glibc's order, by which 1472-byte datagrams to a name fit into one packet.
    if Path::new("/etc/gai.conf").exists() {
        assert!(ended.log("sta2-2").starts_with("10.0.0.4 "), "{}", ended.log("sta2-2"));
    }

    let summary = ended.summary();
    for name in ["p50_ns", "p99_ns", "p999_ns", "max_ns"] {
        assert!(summary["lateness"][name].is_u64(), "{name}");
        assert!(summary["packet_lateness"][name].is_u64(), "{name}");
    }
    assert_eq!(summary["valid"], ended.code == Some(0));
    for (name, packets) in [("sta1", 2), ("sta2", 1), ("server", 1)] {
        let node = node(&summary, name);
        let counts = ["packets_in", "packets_out", "lost_in_emulator"].map(|key| &node[key]);
        assert_eq!(counts, [packets, packets, 0], "{name}");
    }
    let simulated = summary["simulated_ns"].as_u64().expect("a time");
    assert!(simulated < 10_000_000_000, "it ends with its last program: {simulated}");
    let printed: Value = serde_json::from_str(&ended.out).expect("it prints JSON");
    assert_eq!(printed["summary"]["nodes"], summary["nodes"]);
}

/// A node's kernel replies to an echo request within the write that brings it. The reply enters the
/// network at the time of the request's arrival, however long the write took.
#[test]
fn a_kernels_reply_enters_at_the_time_of_the_request() {
    if !machine_can() {
        return;
    }
    let ping = "sta1=busybox ping -4 -c 20 -i 0.02 server";
    let ended = Site::new("").exec(ping).with(&["--for", "10 s", "--record"]).run();
    ended.went_well();
    let replay = ["run", "--replay", "out", "--tap", "server", "--quiet", "--out", "again"];
    assert!(fairwave(ended.place.path(), &replay).status().expect("it starts").success());
    let capture = ended.place.path().join("again/capture-server.pcapng");
    let fields = ["-T", "fields", "-e", "icmp.type", "-e", "frame.time_epoch"];
    let rows = tshark(&fields, &capture);
    let at_once = |pair: &&[String]| match [&pair[0], &pair[1]].map(|row| row.split_once('\t')) {
        [Some(("8", request)), Some(("0", reply))] => request == reply,
        _ => false,
    };
    // A busy machine may leave a packet to the kernel's own thread, but not each of them.
    assert!(rows.windows(2).any(|pair| at_once(&pair)), "{rows:?}");
}

/// A page by HTTP, a TCP transfer in each direction, and datagrams, all at once.
fn transfers(offload: bool) -> Site {
    let page = "mkdir -p www; echo hello from the server > www/page";
    // The server ends after its first request, and the run with the last program.
    let serve = "cd www; exec python3 -c 'import http.server as h; \
        h.HTTPServer((\"\", 8000), h.SimpleHTTPRequestHandler).handle_request()'";
    let [up, down, datagrams] =
        ["-p 5201 -n 300K", "-p 5202 -n 300K -R", "-p 5203 -u -b 2M -n 100K -l 1000"]
            .map(|options| when_served(&format!("iperf3 -J -c server {options}")));
    Site::new(&format!("offload = {offload}\n[record]\ntaps = [\"*\"]\n"))
        .exec(&format!("server={page}; {serve}"))
        .exec("server=exec iperf3 -s -p 5201")
        .exec("server=exec iperf3 -s -p 5202")
        .exec("server=exec iperf3 -s -p 5203")
        .exec(&format!("sta1={up}; {datagrams}"))
        .exec(&format!("sta2={down}; {}", when_served("curl -s http://server:8000/page")))
        .with(&["--for", "9 s"])
}

#[test]
fn real_transfers_pass_with_offloads_and_without_and_captures_bear_right_checksums() {
    if !machine_can() {
        return;
    }
    let started = [true, false].map(|offload| (offload, transfers(offload).start()));
    for (offload, started) in started {
        let ended = started.end();
        ended.went_well();
        let large = large_segments(&ended);
        assert!(offload || large == 0, "{large} without offload");
        let page = ended.log("sta2");
        assert!(page.contains("hello from the server"), "{page}");
        let sent = |log: &str| log.matches("\"sum_received\"").count();
        assert!(sent(&ended.log("sta1")) >= 1, "{}", ended.log("sta1"));
        assert_captures_are_right(&ended);
    }
}

/// Number of large segments that kernels passed, by the emulator's own counters. Each of them is at
/// least one full packet in the capture.
fn large_segments(ended: &Ended) -> u64 {
    let summary = ended.summary();
    let large = ["sta1", "sta2", "server"].map(|name| {
        let large = node(&summary, name)["large_segments_in"].as_u64().expect("a count");
        let capture = ended.path(&format!("capture-{name}.pcapng"));
        let full = tshark(&["-n", "-Y", "tcp.len > 1000"], &capture).len() as u64;
        assert!(full >= large, "{name}: {full} full packets of {large} large segments");
        large
    });
    large.iter().sum()
}

/// On a machine that is late, the senders' windows may be too small for a large segment.
#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_kernels_pass_large_segments_where_offload_is_permitted() {
    if !machine_can() {
        return;
    }
    let ended = transfers(true).run();
    ended.went_well();
    assert!(large_segments(&ended) > 0, "{}", ended.out);
}

/// Packets at all nodes are no longer than the MTU and have correct checksums, over both versions
/// of IP, and the payload is that of the programs.
fn assert_captures_are_right(ended: &Ended) {
    for name in ["sta1", "sta2", "server"] {
        let capture = ended.path(&format!("capture-{name}.pcapng"));
        let count = |filter: &str| tshark(&["-n", "-Y", filter], &capture).len();
        assert_eq!(count("ip.len > 1500 || ipv6.plen > 1460"), 0, "{name}");
        let wrong = format!(
            "{WRONG_TCP_CHECKSUM} || ip.checksum.status == 0 || udp.checksum.status == 0 \
             || icmp.checksum.status == 0"
        );
        assert_eq!(frames(&capture, &wrong), Vec::<String>::new(), "{name}");
    }
    let capture = ended.path("capture-server.pcapng");
    // On a machine that is late, the kernels retransmit.
    let right = "tcp.checksum.status == 1 && frame contains \"hello from\" \
        && !tcp.analysis.retransmission";
    let right = ["-n", "-Y", right];
    assert_eq!(tshark(&right, &capture).len(), 1, "the page is in the capture, whole");
    let datagrams = ["-n", "-Y", "udp.checksum.status == 1 && udp.length == 1008"];
    assert!(tshark(&datagrams, &capture).len() >= 100);
}

#[test]
fn what_reaches_nobody_is_said_by_icmp() {
    if !machine_can() {
        return;
    }
    // The other kernel reports a closed port; the emulator reports an address without a node.
    let datagram = |to| format!("exec 3>/dev/udp/{to}/9; echo one >&3; sleep 0.2; echo two >&3");
    let connection = |to| format!("echo one >/dev/tcp/{to}/80");
    let ended = Site::new("")
        .exec(&format!("sta1=bash -c '{}' && echo passed; true", datagram("10.0.0.4")))
        .exec(&format!("sta1=bash -c '{}' && echo passed; true", datagram("fd46:6169:7277::4")))
        .exec(&format!("sta2=bash -c '{}' && echo passed; true", connection("10.9.9.9")))
        .exec(&format!("sta2=bash -c '{}' && echo passed; true", connection("fd46:6169:7277::99")))
        .run();
    ended.went_well();
    for refused in ["sta1", "sta1-2"].map(|log| ended.log(log)) {
        assert!(refused.contains("Connection refused") && !refused.contains("passed"), "{refused}");
    }
    for lost in ["sta2", "sta2-2"].map(|log| ended.log(log)) {
        assert!(lost.contains("No route to host") && !lost.contains("passed"), "{lost}");
    }
    assert_eq!(node(&ended.summary(), "sta2")["unreachable"], 2);
}

const FLOWS: &str = r#"
[[flow]]
name = "up"
from = "sta1"
to = "server"
[[flow]]
name = "calls"
from = "sta2"
to = "server"
transport = "udp"
traffic = "cbr"
rate = "1 Mbps"
"#;

/// Goodput of a flow in Mbps.
fn goodput(summary: &Value, flow: &str) -> f64 {
    let flows = summary["flows"].as_array().expect("flows are listed");
    let flow = flows.iter().find(|found| found["name"] == flow).expect("the flow is listed");
    flow["goodput_bps"].as_f64().expect("a rate") / 1e6
}

/// Three pings of `sta1`, alone and beside simulated flows of `sta2`.
fn pings_beside_flows() -> [Ended; 2] {
    let ping = "sta1=busybox ping -4 -c 3 -i 0.2 server";
    let [alone, beside] = ["", FLOWS].map(|more| {
        let more = more.replace("sta1", "sta2");
        Site::new(&more).exec(ping).with(&["--for", "1 s"]).start()
    });
    [alone, beside].map(|started| {
        let ended = started.end();
        ended.went_well();
        ended
    })
}

/// Share of the airtime that the first station used.
fn airtime_share(summary: &Value) -> f64 {
    summary["stations"][1]["airtime_share"].as_f64().expect("a share")
}

#[test]
fn simulated_flows_run_beside_real_packets_in_the_same_cell() {
    if !machine_can() {
        return;
    }
    let [alone, beside] = pings_beside_flows().map(|ended| ended.summary());
    assert_eq!(node(&beside, "sta2")["packets_in"], 0, "the flows are simulated");
    assert_eq!(node(&beside, "sta1")["packets_out"], 3);
    assert!(goodput(&beside, "up") > 0.0 && goodput(&beside, "calls") > 0.0, "{beside}");
    assert!(airtime_share(&beside) > 0.0 && airtime_share(&alone) > 0.0);
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_simulated_flows_have_their_rates_beside_real_packets() {
    if !machine_can() {
        return;
    }
    let [_, beside] = pings_beside_flows().map(|ended| ended.summary());
    assert!(goodput(&beside, "up") > 10.0, "{}", goodput(&beside, "up"));
    assert!((0.9..1.1).contains(&goodput(&beside, "calls")));
    assert!(airtime_share(&beside) < 0.01, "three small packets");
}

/// A run in which the kernel carries the flow `up`, captured at its sender.
fn upload_of_the_kernel() -> Ended {
    let args = ["--kernel-flows", "up", "--tap", "sta1", "--for", "1 s"];
    let ended = Site::new(FLOWS).with(&args).run();
    ended.went_well();
    ended
}

#[test]
fn flows_of_the_scenario_are_carried_by_the_kernel_on_request() {
    if !machine_can() {
        return;
    }
    let ended = upload_of_the_kernel();
    let summary = ended.summary();
    let (sent, taken) = (node(&summary, "sta1"), node(&summary, "server"));
    assert!(sent["packets_in"].as_u64() > Some(1), "{sent}");
    assert!(taken["packets_out"].as_u64() > Some(1), "{taken}");
    assert_eq!(node(&summary, "sta2")["packets_in"], 0, "the other flow is simulated");
    assert!(goodput(&summary, "up") > 0.0 && goodput(&summary, "calls") > 0.0, "{summary}");
    let capture = ended.path("capture-sta1.pcapng");
    assert!(!tshark(&["-Y", "tcp.len > 1000"], &capture).is_empty());
    assert_eq!(tshark(&["-Y", "tcp.checksum.status == 0"], &capture).len(), 0);
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_flows_of_the_kernel_have_their_rates() {
    if !machine_can() {
        return;
    }
    let ended = upload_of_the_kernel();
    let summary = ended.summary();
    let (sent, taken) = (node(&summary, "sta1"), node(&summary, "server"));
    assert!(sent["packets_in"].as_u64() > Some(100), "{sent}");
    assert!(taken["packets_out"].as_u64() > Some(100), "{taken}");
    assert!(goodput(&summary, "up") > 2.0, "{}", goodput(&summary, "up"));
    assert!((0.9..1.1).contains(&goodput(&summary, "calls")));
    let capture = ended.path("capture-sta1.pcapng");
    assert!(tshark(&["-Y", "tcp.len > 1000"], &capture).len() > 100);
}

/// The command, run by the user without privileges, for whom `/dev/net/tun` has this mode.
fn lowered(site: &Site, mode: &str) -> Command {
    let command = site.command();
    if !is_root() {
        return command;
    }
    let place = site.place.path();
    std::os::unix::fs::chown(place, Some(NOBODY), Some(NOBODY)).expect("it is root");
    let mut lowered = Command::new("unshare");
    lowered.args(["--mount", "sh", "-c", AS_NOBODY, "sh"]).env("MODE", mode);
    lowered.arg(command.get_program()).args(command.get_args()).current_dir(place);
    lowered
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[test]
fn it_works_without_root() {
    if !machine_can() {
        return;
    }
    let site = Site::new("").exec("sta1=id -u; busybox ping -c 1 server");
    let mut command = lowered(&site, "666");
    let ended = site.start_as(&mut command).end();
    ended.went_well();
    let log = ended.log("sta1");
    assert!(log.starts_with("0\n") && log.contains("64 bytes from"), "{log}");
}

#[test]
fn a_user_who_may_not_open_the_device_is_told_what_to_do() {
    if !machine_can() {
        return;
    }
    if !is_root() {
        skip("only root makes a device that no other user may open");
        return;
    }
    let site = Site::new("").exec("sta1=true");
    let mut command = lowered(&site, "600");
    let ended = site.start_as(&mut command).end();
    ended.failed();
    assert!(ended.err.contains("permission to open /dev/net/tun"), "{}", ended.err);
    assert!(ended.err.contains("sudo chmod 0666 /dev/net/tun"), "{}", ended.err);
    assert!(!ended.path("").exists(), "nothing was begun");
}

/// The user without privileges.
const NOBODY: u32 = 65_534;

/// On some machines only root may open the device, so this shell gets its own device node.
const AS_NOBODY: &str = r#"
    mknod tun c 10 200 && chmod $MODE tun && mount --bind tun /dev/net/tun &&
    exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
"#;
