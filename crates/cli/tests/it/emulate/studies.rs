//! Studies with the kernel's sockets, beside the simulator.

use super::{Ended, Site, fairwave, machine_can, scratch};
use crate::common::json;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Points of the experiment: two access points, two numbers of terminals of each kind.
const POINTS: u64 = 8;

#[test]
fn a_study_runs_with_the_kernels_sockets_and_in_the_simulator() {
    let place = scratch();
    let args = "reproduce fairness --host emulate --seeds 1 --realtime --json --quiet --out out";
    let args: Vec<&str> = args.split(' ').chain(["--for", "1200 ms"]).collect();
    let output = fairwave(place.path(), &args).output().expect("it runs");
    let text: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let left_out = text["left_out"].as_array().expect("a list").iter();
    let late: u64 = left_out.map(|left| left["runs"].as_u64().expect("a number")).sum();
    assert_eq!(text["runs"].as_u64().unwrap() + late, POINTS, "{text:#}");
    assert_eq!(output.status.code(), Some(if late == 0 { 0 } else { 4 }), "{text:#}");
    for claim in text["claims"].as_array().expect("a list") {
        assert_eq!(claim["simulator"]["id"], claim["kernel"]["id"]);
    }
    // A single seed has no interval, which both hosts report.
    let claim = &text["claims"][0];
    assert_eq!(claim["simulator"]["criterion"], claim["kernel"]["criterion"]);
    for host in ["kernel", "simulator"] {
        let points = inside(&place.path().join("out").join(host).join("mixes"));
        let runs: Vec<Value> = points
            .iter()
            .flat_map(|point| inside(point))
            .map(|run| fs::read(run.join("summary.json")).expect("a summary"))
            .map(|summary| serde_json::from_slice(&summary).expect("JSON"))
            .collect();
        assert_eq!(runs.len() as u64, POINTS);
        // Only runs in real time can be invalid; in virtual time there is no lateness.
        let is_real = |run: &Value| run["valid"].is_boolean();
        assert!(runs.iter().all(|run| is_real(run) == (host == "kernel")), "{host}");
        // A late run may have carried nothing in its second, and is marked invalid for it.
        let is_late = |run: &Value| run["valid"] == false;
        let carried = |run: &Value| run["totals"]["goodput_bps"].as_u64().expect("a number") > 0;
        assert!(runs.iter().all(|run| is_late(run) || carried(run)), "{host}");
    }
    let page = fs::read_to_string(place.path().join("out/report.html")).expect("a report");
    for shown in ["id=\"BUF-2\"", "Simulator: ", "Kernel: "] {
        assert!(page.contains(shown), "not on the page: {shown}");
    }
    // Two runs in real time never have the same lateness, so equal summaries were not made anew.
    let before = in_time(place.path());
    let again: Vec<&str> = args.into_iter().chain(["--resume"]).collect();
    fairwave(place.path(), &again).output().expect("it runs");
    let after = in_time(place.path());
    assert!(before.iter().all(|run| after.contains(run)), "what is complete is kept");
    // The same directory is refused with other values, since its runs would be lost.
    let others: Vec<&str> =
        again.iter().map(|word| if *word == "1200 ms" { "1300 ms" } else { word }).collect();
    let refused = fairwave(place.path(), &others).output().expect("it runs");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains("do not belong to this study") && why.contains("--force"), "{why}");
    assert_eq!(in_time(place.path()), after);
}

/// The summaries of the kernel's runs that kept real time.
fn in_time(place: &Path) -> Vec<Vec<u8>> {
    let summaries = inside(&place.join("out/kernel/mixes"))
        .iter()
        .flat_map(|point| inside(point))
        .map(|run| fs::read(run.join("summary.json")).expect("a summary"))
        .collect::<Vec<_>>();
    let is_valid =
        |run: &Vec<u8>| serde_json::from_slice::<Value>(run).expect("JSON")["valid"] == true;
    summaries.into_iter().filter(is_valid).collect()
}

/// The directories in a directory.
fn inside(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn what_does_not_go_with_a_kernel_is_refused_with_its_reason() {
    let refused = |args: &str, why: &str| {
        let args: Vec<&str> = args.split(' ').collect();
        let output = fairwave(scratch().path(), &args).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(why), "{text}");
    };
    let of_simulator = ["--from out", "--map ACK-4", "--store kept", "--no-store", "--verbose"];
    for option in of_simulator {
        let name = option.split(' ').next().unwrap_or_default();
        let why = format!("{name} does not go with --host emulate");
        refused(&format!("reproduce ack-loss --host emulate {option}"), &why);
    }
    refused(
        "reproduce ack-loss --host emulate --map ACK-4 --at attempts=7 --confirm",
        "--map does not go with --host emulate",
    );
    refused("reproduce ack-loss --host emulate --only none", "there are: uploads, up-down");
    refused("reproduce ack-loss --only uploads", "--only goes with --host emulate alone");
    refused("reproduce ack-loss --resume", "--resume goes with --host emulate or --map alone");
    refused("reproduce ack-loss --seeds 2", "--seeds goes with --host emulate alone");
    refused("reproduce ack-loss --host emulate --seeds 0", "--seeds 0");
    refused("reproduce ack-loss --host nowhere", "[possible values: simulator, emulate]");
}

/// A flow through a proxy uses Fairwave's own, which runs in that node, to reach its sink.
#[test]
fn a_flow_with_a_proxy_passes_fairwaves() {
    if !machine_can() {
        return;
    }
    let more = "kernel_flows = [\"up\"]\n\
        [[node]]\nname = \"far\"\nkind = \"host\"\n\
        [[node]]\nname = \"middle\"\nkind = \"host\"\n\
        [[link]]\nends = [\"far\", \"middle\"]\nrate = \"50 Mbps\"\n\
        [[link]]\nends = [\"middle\", \"server\"]\nrate = \"50 Mbps\"\n\
        [[flow]]\nname = \"up\"\nfrom = \"far\"\nto = \"server\"\nsize = \"200 KB\"\n\
        proxy = { at = \"middle\", congestion_control = \"reno\" }\n";
    let ended = Site::new(more).with(&["--for", "2 s"]).run();
    ended.went_well();
    let summary = ended.summary();
    let flow = &summary["flows"][0];
    assert!(flow["completion_ns"].as_u64() > Some(0), "all has arrived: {flow}");
    let programs = summary["programs"].as_array().expect("programs");
    assert_eq!((programs.len(), &programs[0]["node"]), (1, &Value::from("middle")), "{programs:?}");
    let text = fs::read_to_string(ended.path("programs/middle.log")).expect("it has a log");
    assert!(text.contains("\"opened\": 1") && text.contains("\"bytes_up\": 200000"), "{text}");
}

/// The run ends when the transfer is complete, long before the scenario's duration.
#[test]
fn the_simulation_beside_a_run_is_as_long_as_the_run() {
    if !machine_can() {
        return;
    }
    let more = "kernel_flows = [\"up\"]\nends_when_idle = true\n\
        [[node]]\nname = \"far\"\nkind = \"host\"\n\
        [[link]]\nends = [\"far\", \"server\"]\nrate = \"5 Mbps\"\n\
        [[flow]]\nname = \"up\"\nfrom = \"far\"\nto = \"server\"\nsize = \"500 KB\"\n";
    let ended = Site::new(more).with(&["--beside-simulation", "--json"]).run();
    ended.went_well();
    let out: Value = serde_json::from_str(&ended.out).expect("it is JSON");
    let difference = &out["agreement"]["flows"][0]["goodput_difference"];
    let off = difference.as_f64().expect("a difference").abs();
    assert!(off < 0.5, "{}", out["agreement"]);
}

/// Two flows on sockets of the kernel, without and with delayed ACKs. Segments are 2.4 ms apart, so
/// that all are read one by one on an idle machine.
fn eager_and_lazy() -> Ended {
    let more = "kernel_flows = [\"eager\", \"lazy\"]\n\
        [[node]]\nname = \"far\"\nkind = \"host\"\ncount = 2\n\
        [[link]]\nends = [\"far*\", \"server\"]\nrate = \"5 Mbps\"\n\
        [[flow]]\nname = \"eager\"\nfrom = \"far1\"\nto = \"server\"\ndelayed_ack = \"off\"\n\
        [[flow]]\nname = \"lazy\"\nfrom = \"far2\"\nto = \"server\"\n";
    let ended = Site::new(more).with(&["--for", "3 s", "--record"]).run();
    ended.went_well();
    ended
}

/// ACKs for each segment of the two flows.
fn acks_for_each(summary: &Value) -> [f64; 2] {
    [0, 1].map(|place: usize| {
        let flow = &summary["flows"][place];
        let [acks, sent] = ["acks_sent", "sent_packets"].map(|key| flow[key].as_f64());
        acks.expect("a count") / sent.expect("a count")
    })
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_a_receiver_of_the_kernel_acknowledges_every_second_segment() {
    if !machine_can() {
        return;
    }
    let ended = eager_and_lazy();
    let [eager, lazy] = acks_for_each(&ended.summary());
    assert!(eager > 1.25 * lazy && lazy > 0.3, "{eager} and {lazy} ACKs for each segment");
}

#[test]
fn flows_of_the_kernel_acknowledge_and_a_replay_names_them() {
    if !machine_can() {
        return;
    }
    let ended = eager_and_lazy();
    let [eager, lazy] = acks_for_each(&ended.summary());
    // Segments that waited for a processor are acknowledged together, by either receiver.
    assert!(eager > 0.0 && lazy > 0.0, "{eager} and {lazy} ACKs for each segment");

    // The record contains their packets.
    let place = ended.place.path();
    let output = fairwave(place, &["run", "--replay", "out", "--quiet", "--out", "again"]).output();
    let output = output.expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("sockets of the kernel carried eager, lazy: the replay"), "{text}");
    let tables = String::from_utf8_lossy(&output.stdout).into_owned();
    for word in ["eager", "starved"] {
        assert!(!tables.contains(word), "zeros would say that nothing was sent: {tables}");
    }
    assert!(!text.contains("it sent nothing"), "{text}");
    let printed = json(place, &["run", "--replay", "out", "--out", "printed"]);
    assert_eq!(printed["summary"]["flows"], Value::Array(Vec::new()), "rows of zeros");
    assert_eq!(printed["summary"]["totals"]["starved_flows"], 0);
    let kept = fs::read_to_string(place.join("printed/summary.json")).expect("it is there");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(kept, printed["summary"], "the file says what is printed");
    let why = printed["warnings"].to_string();
    assert!(why.contains("sockets of the kernel carried eager, lazy: the replay"), "{why}");
    for name in ["queues", "drops", "stations"].map(|name| format!("{name}.parquet")) {
        let of = |run: &str| fs::read(place.join(run).join(&name)).expect("it is there");
        assert!(of("out") == of("again"), "{name} differs");
    }
}
