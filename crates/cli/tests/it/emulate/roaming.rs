//! Real stations that leave one access point and join another.

use super::paths::{bins, mean};
use super::{Ended, Site, fairwave, machine_can, node};
use serde_json::Value;
use std::fs;

/// Two cells, a station that is without an access point from 1.5 to 2.3 s, and a server behind
/// both.
const CELLS: &str = r#"# Does a connection survive a handover?
duration = "6 s"
record.bins = "1 s"
[[cell]]
name = "left"
standard = "802.11g"
[[cell]]
name = "right"
standard = "802.11g"
frequency = "2437 MHz"
[[node]]
name = "ap1"
kind = "access-point"
cell = "left"
data_rate = "54 Mbps"
[[node]]
name = "ap2"
kind = "access-point"
cell = "right"
data_rate = "54 Mbps"
[[node]]
name = "sta"
kind = "station"
ap = "ap1"
distance = "4 m"
data_rate = "12 Mbps"
[node.roaming]
handovers = [{ at = "1500 ms", to = "ap2", disconnection = "800 ms" }]
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["ap*", "server"]
delay = "5 ms"
[emulate]
lateness_limit = "1 s"
"#;

/// A run of the two cells with further keys and arguments.
fn roaming(keys: &str, args: &[&str]) -> Ended {
    let site = Site::new("").with(args);
    let scenario = format!("{CELLS}{keys}");
    fs::write(site.place.path().join("cell.toml"), scenario).expect("it is written");
    let ended = site.run();
    ended.went_well();
    ended
}

/// States of the station's device, as `ip monitor` was notified of them by rtnetlink.
fn states(ended: &Ended) -> Vec<String> {
    let log = ended.log("sta");
    let states = log.lines().filter(|line| line.contains(" fw0: ")).filter_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "state").skip(1);
        words.next().map(str::to_owned)
    });
    let mut states: Vec<String> = states.collect();
    states.dedup();
    states
}

/// Program that prints the changes of the station's device.
const MONITOR: &str = "sta=timeout 5 ip -o monitor link; true";

/// A flow of datagrams every 20 ms on the kernel's sockets.
const CALL: &str = r#"kernel_flows = ["*"]
[[flow]]
name = "call"
from = "sta"
to = "server"
transport = "udp"
traffic = "cbr"
payload = "172 B"
interval = "20 ms"
"#;

#[test]
fn a_station_between_access_points_has_no_carrier_and_its_connection_goes_on() {
    if !machine_can() {
        return;
    }
    let flow = r#"kernel_flows = ["*"]
[[flow]]
name = "upload"
from = "sta"
to = "server"
transport = "tcp"
"#;
    let ended = roaming(flow, &["--exec", MONITOR, "--record"]);
    assert_eq!(states(&ended), ["DOWN", "UP"], "{}", ended.log("sta"));
    let summary = ended.summary();
    let silence = summary["flows"][0]["longest_silence_ns"].as_u64().expect("it had a silence");
    // The receiver may read the last segment before the gap late, which shortens what it sees of
    // the 800 ms; with a carrier it would wait for a few milliseconds.
    assert!(silence >= 400_000_000, "nothing passes in the gap: {silence}");
    let bins = bins(&summary);
    assert!(mean(&bins[..1]) > 0.0 && mean(&bins[3..]) > 0.0, "it goes on: {bins:?}");

    // The replay needs no devices: their states follow from the world.
    let place = ended.place.path();
    let again = fairwave(place, &["run", "--replay", "out", "--quiet", "--out", "again"]).output();
    assert!(again.expect("it runs").status.success());
    for name in ["queues", "drops", "stations"].map(|name| format!("{name}.parquet")) {
        let of = |run: &str| fs::read(place.join(run).join(&name)).expect("it is there");
        assert!(of("out") == of("again"), "{name} differs");
    }
}

#[test]
fn packets_of_the_gap_are_dropped_without_a_carrier_and_kept_by_a_dormant_station() {
    if !machine_can() {
        return;
    }
    let counts = |away: &str| {
        let set = format!("emulate.away={away}");
        let ended = roaming(CALL, &["--exec", MONITOR, "--set", &set]);
        let summary = ended.summary();
        let sta = node(&summary, "sta");
        let count = |value: &Value| value.as_u64().expect("a count");
        let sent = count(&summary["flows"][0]["sent_packets"]);
        (states(&ended), [sent, count(&sta["packets_in"]), count(&sta["without_carrier"])])
    };
    let (seen, [sent, entered, dropped]) = counts("no-carrier");
    assert_eq!(seen, ["DOWN", "UP"]);
    assert!(dropped > 0 && entered + dropped == sent, "{sent}, {entered}, {dropped}");
    let (seen, [sent, entered, dropped]) = counts("dormant");
    assert_eq!((seen, dropped), (vec!["DORMANT".to_owned(), "UP".to_owned()], 0));
    assert_eq!(sent, entered);
    let (seen, [sent, entered, dropped]) = counts("up");
    assert_eq!((seen, dropped, sent), (Vec::new(), 0, entered));
}

#[test]
fn dccp_survives_a_handover_that_its_station_notices() {
    if !machine_can() {
        return;
    }
    let flow = r#"away = "dormant"
kernel_flows = ["*"]
[[flow]]
name = "video"
from = "sta"
to = "server"
transport = "dccp"
traffic = "cbr"
payload = "629 B"
interval = "10 ms"
remedies = ["leave-out-sender", "ahead"]
"#;
    let ended = roaming(flow, &[]);
    let why = "video: the remedy \"ahead\" cannot act on sockets";
    assert!(ended.err.contains(why), "{}", ended.err);
    let summary = ended.summary();
    let flow = &summary["flows"][0];
    let received = flow["datagrams"]["received"].as_u64().expect("a count");
    assert!(received > 0 && flow["sent_packets"].as_u64() >= Some(received), "{flow:#}");
    let bins = bins(&summary);
    assert!(mean(&bins[..2]) > 0.0 && mean(&bins[4..]) > 0.0, "it goes on: {bins:?}");
}
