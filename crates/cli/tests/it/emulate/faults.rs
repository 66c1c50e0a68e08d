//! Faults while an emulation runs: a clear error, the results until then, nothing left behind.

use super::bystanders::audited;
use super::{CELL, Ended, Site, machine_can, node};
use crate::common::scratch;
use fairwave_emulator::emulation::{Manner, timely};
use fairwave_scenario::plan::{Job, Plan};
use serde_json::Value;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Runs a script around the emulator in its own namespaces, and checks that nothing is left.
fn audit(site: Site, script: &str) -> (Ended, String) {
    let mut shell = audited(&site, script);
    let ended = site.start_as(&mut shell).end();
    let printed = format!("{}\n{}", ended.out, ended.err);
    assert_eq!(ended.code, Some(0), "something is left: {printed}");
    let code = fs::read_to_string(ended.place.path().join("code")).expect("it was run");
    (ended, code)
}

#[test]
fn a_device_that_a_program_deletes_ends_the_run_with_results_until_then() {
    if !machine_can() {
        return;
    }
    let programs = "--exec 'sta2=busybox ping -4 -c 1 server' \
        --exec 'sta1@500 ms=ip link del fw0; sleep 5'";
    let (ended, code) = audit(Site::new(""), &format!("$EMULATE {programs}; code=$?"));
    assert_eq!(code, "code 1\n", "{}", ended.err);
    let printed = "the interface of sta1 has vanished";
    assert!(ended.err.contains(printed), "{}", ended.err);
    assert!(ended.err.contains("results are those until then"), "{}", ended.err);
    let summary = ended.summary();
    assert_eq!(summary["valid"], false);
    assert_eq!(node(&summary, "sta2")["packets_out"], 1, "{}", ended.log("sta2"));
}

#[test]
fn a_device_that_goes_down_and_up_loses_packets_and_goes_on() {
    if !machine_can() {
        return;
    }
    let flaps = "for n in 1 2 3; do ip link set fw0 down; sleep 0.05; ip link set fw0 up; done";
    let restore = "ip -6 address add fd46:6169:7277::2/64 dev fw0 nodad";
    // A busy kernel may still lose what arrives for an address that is a moment old.
    let ping = "busybox ping -4 -c 2 -i 0.2 server && \
                until busybox ping -6 -c 1 -W 1 server; do :; done";
    let ended = Site::new("").exec(&format!("sta1={flaps}; {restore}; {ping}")).run();
    ended.went_well();
    assert_eq!(ended.log("sta1").matches("64 bytes from").count(), 3, "{}", ended.log("sta1"));
}

/// Programs that ignore the request to end, one of them before the run ends; and one that ends
/// slowly.
const HANGING: &str = r#"
[[program]]
node = "sta1"
command = "trap '' TERM INT HUP; while :; do sleep 0.1; done"
stop = "100 ms"
[[program]]
node = "sta1"
start = "200 ms"
command = "echo started; trap '' TERM INT HUP; while :; do sleep 0.1; done"
[[program]]
node = "sta2"
command = "trap 'sleep 0.3; echo ended; exit' TERM; while :; do sleep 0.1; done"
"#;

#[test]
fn programs_that_hang_at_their_end_are_killed_and_hold_up_no_other() {
    if !machine_can() {
        return;
    }
    let script = "$EMULATE --for '1 s'; code=$?";
    let (ended, code) = audit(Site::new(HANGING), script);
    assert!(matches!(&*code, "code 0\n" | "code 4\n"), "{code}{}", ended.err);
    // The run did not wait for the first program, whose time for ending is longer than the run.
    assert_eq!(ended.log("sta1-2"), "started\n");
    // The shell also prints how its `sleep` ended.
    assert!(ended.log("sta2").ends_with("ended\n"), "{}", ended.log("sta2"));
    let summary = ended.summary();
    let programs = summary["programs"].as_array().expect("programs are listed");
    for program in programs {
        assert_eq!((&program["ended_by_run"], &program["failed"]), (&true.into(), &false.into()));
    }
    assert_eq!(programs.len(), 3);
}

#[test]
fn a_program_that_a_signal_ends_has_failed_and_the_signal_is_named() {
    if !machine_can() {
        return;
    }
    let ended = Site::new("").exec("sta1=kill -SEGV $$").run();
    ended.failed();
    assert!(ended.err.contains("failed, ended by signal 11"), "{}", ended.err);
    assert!(ended.out.contains("failed, signal 11"), "{}", ended.out);
    let program = &ended.summary()["programs"][0];
    assert_eq!((&program["status"], &program["signal"]), (&Value::Null, &11.into()));
}

/// The link of the flow carries nothing, so that its handshake times out.
#[test]
fn a_flow_on_sockets_that_fails_is_named_and_its_run_is_not_valid() {
    if !machine_can() {
        return;
    }
    let flow = "sysctls = [\"net.ipv4.tcp_syn_retries=1\"]\nends_when_idle = true\n\
        [[node]]\nname = \"lost\"\nkind = \"host\"\n\
        [[link]]\nends = [\"lost\", \"server\"]\nchanges = [{ at = \"1 ms\", up = false }]\n\
        [[flow]]\nname = \"upload\"\nfrom = \"lost\"\nto = \"server\"\nstart = \"10 ms\"\n";
    let ended = Site::new(flow).with(&["--kernel-flows", "upload"]).run();
    ended.failed();
    let printed = "flow upload failed at ";
    assert!(ended.err.contains(printed), "{}", ended.err);
    assert!(ended.err.contains(": connect: Connection timed out"), "{}", ended.err);
    let summary = ended.summary();
    assert_eq!(summary["valid"], false);
    let reason = summary["invalid_reason"].as_str().expect("it says why");
    assert!(reason.contains(printed), "{reason}");
}

#[test]
fn a_program_whose_time_never_came_was_not_started() {
    if !machine_can() {
        return;
    }
    let late = Site::new("").exec("sta1@9 s=true");
    let refused = late.with(&["--for", "100 ms"]).run();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("may start only after the run has ended"), "{}", refused.err);
    // This run ends as soon as its flow is over.
    let more = "kernel_flows = [\"up\"]\nends_when_idle = true\n\
        [[flow]]\nname = \"up\"\nfrom = \"sta2\"\nto = \"server\"\nsize = \"10 KB\"\n";
    let ended = Site::new(more).exec("sta1@9 s=true").with(&["--for", "20 s"]).run();
    ended.went_well();
    assert!(ended.out.contains("not started"), "{}", ended.out);
    let program = &ended.summary()["programs"][0];
    assert_eq!((&program["status"], &program["log"]), (&Value::Null, &Value::Null));
    assert_eq!((&program["ended_by_run"], &program["failed"]), (&false.into(), &false.into()));
}

/// In a time namespace, all clocks except the wall clock differ from the machine's.
#[test]
fn a_run_keeps_its_times_in_a_time_namespace() {
    if !machine_can() {
        return;
    }
    let ping = "sta1@300 ms=busybox ping -4 -c 2 -i 0.2 server";
    let site = Site::new("").exec(ping).with(&["--for", "10 s"]);
    let words = site.command();
    let mut shifted = Command::new("unshare");
    shifted.args(["--user", "--map-root-user", "--time", "--fork"]);
    shifted.args(["--monotonic", "864000", "--boottime", "1728000"]);
    shifted.arg(words.get_program()).args(words.get_args()).current_dir(&site.place);
    let ended = site.start_as(&mut shifted).end();
    ended.went_well();
    assert_eq!(ended.log("sta1").matches("64 bytes from").count(), 2, "{}", ended.log("sta1"));
    let lasted = ended.summary()["simulated_ns"].as_u64().expect("a time");
    assert!((500_000_000..10_000_000_000).contains(&lasted), "it lasted {lasted} ns");
}

/// While the emulator is stopped its clock continues, so the clock jumps from its point of view.
#[test]
fn an_emulator_that_stood_still_says_that_its_run_is_not_valid() {
    if !machine_can() {
        return;
    }
    let flow = "[[flow]]\nname = \"calls\"\nfrom = \"sta2\"\nto = \"server\"\n\
        transport = \"udp\"\ntraffic = \"cbr\"\nrate = \"1 Mbps\"\n";
    let script = "$EMULATE --for '2 s' --exec 'sta1=echo ready; sleep 9' & emulator=$!\n\
        await grep -qs ready out/programs/sta1.log\n\
        kill -STOP $emulator; sleep 1.3; kill -CONT $emulator; wait $emulator; code=$?";
    let (ended, code) = audit(Site::new(flow), script);
    assert_eq!(code, "code 4\n", "{}", ended.err);
    assert!(ended.err.contains("this run is not valid"), "{}", ended.err);
    let summary = ended.summary();
    assert_eq!(summary["valid"], false);
    let max = summary["lateness"]["max_ns"].as_u64().expect("a time");
    assert!(max > 1_000_000_000, "it stood still for longer than {max} ns");
    assert_eq!(summary["simulated_ns"], 2_000_000_000_u64, "it went on to its end");
}

#[test]
fn a_run_whose_keeper_was_killed_is_not_valid() {
    if !machine_can() {
        return;
    }
    // In their PID namespace the programs see the keeper as init, which they cannot kill. A process
    // outside with the permission can.
    let script = "$EMULATE --for '30 s' --exec 'sta1=echo ready; sleep 29' & emulator=$!\n\
        await grep -qs ready out/programs/sta1.log\n\
        keepers=$(cat /proc/$emulator/task/*/children)\n\
        for child in $keepers; do\n\
        grep -qs '^fairwave-keeper' /proc/$child/cmdline && kill -KILL $child\n\
        done; wait $emulator; code=$?";
    let (ended, code) = audit(Site::new(""), script);
    assert_eq!(code, "code 1\n", "{}", ended.err);
    let printed =
        "the keeper process has ended (signal: 9 (SIGKILL)); results are those until then";
    assert!(ended.err.contains(printed), "{}", ended.err);
    let summary = ended.summary();
    assert_eq!(summary["valid"], false);
    assert!(summary["simulated_ns"].as_u64().expect("a time") < 29_000_000_000);
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing_behind() {
    if !machine_can() {
        return;
    }
    let script = "mkdir out; mount -t tmpfs -o size=256k tmpfs out\n\
        $EMULATE --force --record --pcap --for '3 s' \
        --exec 'server=exec iperf3 -s -1' \
        --exec 'sta1@300 ms=iperf3 -u -b 10M -t 5 -c server'\n\
        code=$?; ls out; umount out";
    let (ended, code) = audit(Site::new(""), script);
    assert_eq!(code, "code 1\n", "{}\n{}", ended.out, ended.err);
    assert!(ended.err.contains("No space left on device"), "{}", ended.err);
}

#[test]
fn a_world_that_the_machine_cannot_keep_up_with_is_given_up() {
    if !machine_can() {
        return;
    }
    // More packets than any processor simulates in real time: twenty million a second.
    let many = "[[node]]\nname = \"more\"\nkind = \"host\"\ncount = 20\n\
        [[link]]\nends = [\"more*\", \"server\"]\n\
        [[flow]]\nname = \"load\"\nfrom = \"more*\"\nto = \"server\"\n\
        transport = \"udp\"\ntraffic = \"cbr\"\npayload = \"60 B\"\ninterval = \"1 us\"\n";
    let site = Site::new(&format!("nodes = [\"sta*\", \"server\"]\n{many}"))
        .with(&["--for", "60 s"])
        .exec("sta1=sleep 100");
    let ended = site.run();
    assert!(matches!(ended.code, Some(1 | 4)), "{:?} {}", ended.code, ended.err);
    let printed = "the machine cannot keep up with it";
    assert!(ended.err.contains(printed), "{}", ended.err);
    assert_eq!(ended.summary()["valid"], false);
}

#[test]
fn a_machine_without_tun_devices_or_namespaces_is_told_what_to_do() {
    if !machine_can() {
        return;
    }
    let hide = "mount -t tmpfs tmpfs /dev/net; $EMULATE; code=$?; umount /dev/net";
    let (ended, code) = audit(Site::new(""), hide);
    assert_eq!(code, "code 1\n");
    assert!(ended.err.contains("/dev/net/tun"), "{}", ended.err);
    assert!(ended.err.contains("sudo modprobe tun"), "{}", ended.err);
    let forbid = "echo 0 > /proc/sys/user/max_net_namespaces; $EMULATE; code=$?";
    let (ended, code) = audit(Site::new(""), forbid);
    assert_eq!(code, "code 1\n");
    assert!(ended.err.contains("permission to make namespaces"), "{}", ended.err);
    assert!(ended.err.contains("max_net_namespaces"), "{}", ended.err);
}

#[test]
fn what_stands_in_the_place_of_the_control_socket_is_named() {
    if !machine_can() {
        return;
    }
    let site = Site::new("").with(&["--for", "1 s", "--force"]);
    fs::create_dir_all(site.place.path().join("out/control.sock")).expect("a directory");
    let ended = site.run();
    ended.failed();
    assert!(ended.err.contains("out/control.sock: Is a directory"), "{}", ended.err);
}

#[test]
fn a_time_that_is_none_is_refused_in_the_name_of_its_option() {
    if !machine_can() {
        return;
    }
    let ended = Site::new("").with(&["--for", "0 s"]).run();
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    let is_named = ended.err.contains("--for '0 s'") && !ended.err.contains("--set");
    assert!(is_named, "{}", ended.err);
}

/// Threads of programs and of the control socket wait for the loop's end.
#[test]
fn a_panic_of_the_loop_ends_the_run() {
    if !machine_can() {
        return;
    }
    fairwave_netns::set_own_program(Path::new(env!("CARGO_BIN_EXE_fairwave")));
    let place = scratch();
    let text = format!("# Does a bug end the run?\n{CELL}");
    let plan = Plan::parse("cell.toml", &text, &[]).expect("a scenario");
    let manner = Manner { realtime: false, stop: Arc::default(), program: "fairwave".into() };
    let job = Job { point: 0, seed: 1 };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        timely(&plan, job, &place.path().join("out"), &manner, &mut |_| panic!("a bug"))
    }));
    let bug = ended.expect_err("it panics");
    assert_eq!(bug.downcast_ref(), Some(&"a bug"));
}
