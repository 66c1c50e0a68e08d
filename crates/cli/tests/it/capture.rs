//! A judge from outside: tshark must find nothing malformed and no bad checksum in a capture.

use crate::common::{ends_with, frames, scratch, tiny_run};
use std::path::{Path, PathBuf};

/// What tshark finds wrong in a capture. Of what it thinks of TCP, retransmissions for instance,
/// frames are not guilty.
fn wrong(capture: &Path) -> Vec<String> {
    let bad = "_ws.malformed || (_ws.expert.severity >= 6291456 && !tcp.analysis.flags) \
               || ip.checksum.status == 0 || tcp.checksum.status == 0 \
               || udp.checksum.status == 0 || wlan.fcs.status == 0";
    frames(capture, bad)
}

/// Simulates the tiny scenario with these further arguments.
fn simulate(further: &[&str]) -> tempfile::TempDir {
    let place = scratch();
    let args = tiny_run("one");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ends_with(0, place.path(), &[&args, further].concat());
    place
}

/// Simulates the tiny scenario with these settings, and finds nothing wrong in its capture.
fn assert_clean(settings: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let sets = settings.iter().flat_map(|set| ["--set", set]);
    let place = simulate(&["--pcap"].into_iter().chain(sets).collect::<Vec<_>>());
    let capture = place.path().join("one/capture.pcapng");

    assert!(frames(&capture, "tcp").len() > 100, "hardly a TCP segment on the air");
    let wrong = wrong(&capture);
    let first = &wrong[..wrong.len().min(5)];
    assert!(wrong.is_empty(), "{} wrong frames, such as {first:#?}", wrong.len());
    (place, capture)
}

/// At its two ends, a connection's capture looks as one of tcpdump's: handshake first, data one
/// way, nothing malformed, and to its sender nothing missing.
#[test]
fn nor_in_captures_of_taps() {
    let place = simulate(&["--tap", "sta1", "--tap", "serv*"]);
    let at = |node: &str| place.path().join(format!("one/capture-{node}.pcapng"));
    let (station, server) = (at("sta1"), at("server"));
    for capture in [&station, &server] {
        assert_eq!(wrong(capture), Vec::<String>::new());
        assert!(frames(capture, "eth && ip && tcp").len() > 100);
        let all = frames(capture, "tcp").len();
        assert_eq!(frames(capture, "tcp.checksum.status == 1").len(), all);
    }
    let handshake = frames(&station, "frame.number == 1 && tcp.flags.syn == 1");
    assert_eq!(handshake.len(), 1, "the upload begins with its SYN");
    let missing = "tcp.analysis.ack_lost_segment";
    assert_eq!(frames(&station, missing), Vec::<String>::new());
    // The upload alone at the station; beside it the download at the server.
    let streams = |capture: &Path| frames(capture, "tcp.flags == 0x002").len();
    assert!(streams(&station) == 1 && streams(&server) == 2);
}

/// On the air a converter's address stands for the three hosts behind it, in either direction.
#[test]
fn a_converter_stands_for_its_hosts_on_the_air() {
    let place = scratch();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scenario = root.join("scenarios/shared-converter.toml").display().to_string();
    let mut args = vec!["run", &*scenario, "--pcap", "--out", "one"];
    for set in ["node.ap.queue=100 packets", "sweep.seeds=1", "warm_up=0 s", "duration=2 s"] {
        args.extend(["--set", set]);
    }
    ends_with(0, place.path(), &args);
    let capture = place.path().join("one/capture.pcapng");
    // The second node is the converter, the sixth to eighth are the hosts.
    let (hosts, converter) = ("{10.0.0.6, 10.0.0.7, 10.0.0.8}", "02:00:00:00:00:01");
    let up = format!("ip.src in {hosts} && wlan.fc.tods == 1 && wlan.sa");
    let down = format!("ip.dst in {hosts} && wlan.fc.fromds == 1 && wlan.da");
    for way in [up, down] {
        assert!(frames(&capture, &format!("{way} == {converter}")).len() > 100, "{way}");
        assert!(frames(&capture, &format!("{way} != {converter}")).is_empty(), "{way}");
    }
    assert_eq!(wrong(&capture), Vec::<String>::new());
}

#[test]
fn tshark_finds_nothing_wrong_in_a_capture() {
    let (_place, capture) = assert_clean(&[]);
    assert!(!frames(&capture, "wlan.fc.type_subtype == 0x1d").is_empty(), "no 802.11 ACK");
    assert!(!frames(&capture, "wlan.fc.type_subtype == 0x08").is_empty(), "no beacon");
}

#[test]
fn nor_with_rts_over_802_11b() {
    let settings = ["cell.standard=802.11b", "cell.rts_threshold=500 B"];
    let (_place, capture) = assert_clean(&settings);
    assert!(!frames(&capture, "wlan.fc.type_subtype == 0x1b").is_empty(), "no RTS");
    assert!(!frames(&capture, "wlan.fc.type_subtype == 0x1c").is_empty(), "no CTS");
    assert!(!frames(&capture, "radiotap.datarate == 11").is_empty(), "nothing at 11 Mbps");
}

/// An A-MPDU, its BlockAck and the modulation are dissected, and nothing is wrong with them.
fn assert_aggregated(settings: &[&str], modulation: &str) -> (tempfile::TempDir, PathBuf) {
    let (place, capture) = assert_clean(settings);
    assert!(!frames(&capture, "wlan.fc.type_subtype == 0x19").is_empty(), "no BlockAck");
    let sent = format!("wlan.fc.type_subtype == 0x28 && radiotap.ampdu.reference && {modulation}");
    assert!(frames(&capture, &sent).len() > 100, "hardly an A-MPDU with {modulation}");
    let plain = frames(&capture, "wlan.fc.type_subtype == 0x20").len();
    assert_eq!(plain, 0, "data without QoS Control");
    (place, capture)
}

#[test]
fn nor_with_a_mpdus_of_802_11n() {
    let errors = "cell.errors={ data = 0.1, control = 0.05 }";
    let settings = ["cell.standard=802.11n", "cell.width=40 MHz", errors];
    let modulation = "radiotap.mcs.index == 7 && radiotap.mcs.bw == 1";
    let (_place, capture) = assert_aggregated(&settings, modulation);
    let last = frames(&capture, "radiotap.ampdu.flags.last == 1").len();
    let all = frames(&capture, "radiotap.ampdu.reference").len();
    assert!(last > 10 && all > 2 * last, "{last} A-MPDUs of {all} MPDUs");
    let again = frames(&capture, "wlan.fc.retry == 1 && wlan.fc.type_subtype == 0x28").len();
    assert!(again > 10, "a tenth of the MPDUs is lost, but {again} are sent again");
}

#[test]
fn nor_with_a_msdus_of_802_11ac() {
    let settings = ["cell.standard=802.11ac", "cell.amsdu_size=7935 B"];
    let modulation = "radiotap.vht.mcs.0 == 9 && radiotap.vht.nss.0 == 1";
    let (_place, capture) = assert_aggregated(&settings, modulation);
    assert!(!frames(&capture, "wlan.qos.amsdupresent == 1").is_empty(), "no A-MSDU");
}

#[test]
fn nor_with_long_block_acks_of_802_11ax() {
    let modulation = "radiotap.he.data_3.data_mcs == 11";
    let (_place, capture) = assert_aggregated(&["cell.standard=802.11ax"], modulation);
    let of_256 = "wlan.fc.type_subtype == 0x19 && wlan.fixed.ssc.fragment == 4";
    assert!(!frames(&capture, of_256).is_empty(), "no BlockAck of 256");
}

#[test]
fn the_filter_knows_what_a_good_checksum_is() {
    let place = scratch();
    let args = tiny_run("one");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ends_with(0, place.path(), &[&args[..], &["--pcap"]].concat());
    let capture = place.path().join("one/capture.pcapng");
    let all = frames(&capture, "tcp").len();
    let good = frames(&capture, "tcp.checksum.status == 1 && wlan.fcs.status == 1").len();
    assert_eq!(all, good, "every segment's checksum and FCS are there and verified");
}

/// The options of DCCP packets travel beside the simulated datagrams; in captures they are there.
#[test]
fn dccp_is_captured_with_its_options() {
    let scenario = r#"# Does a capture of DCCP hold what tshark wants to see?
title = "A station streams over DCCP: for tests"
duration = "3 s"
cell.standard = "802.11b"
[[node]]
name = "ap"
kind = "access-point"
data_rate = "11 Mbps"
[[node]]
name = "sta"
kind = "station"
data_rate = "11 Mbps"
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["ap", "server"]
delay = "5 ms"
loss = 0.02
[[flow]]
name = "up"
from = "sta"
to = "server"
transport = "dccp"
traffic = "cbr"
payload = "629 B"
interval = "10 ms"
"#;
    let place = scratch();
    std::fs::write(place.path().join("dccp.toml"), scenario).expect("it can be written");
    let run = ["run", "dccp.toml", "--pcap", "--tap", "server", "--out", "one"];
    ends_with(0, place.path(), &run);
    for name in ["capture", "capture-server"] {
        let capture = place.path().join(format!("one/{name}.pcapng"));
        assert_eq!(wrong(&capture), Vec::<String>::new(), "{name}");
        assert!(frames(&capture, "dccp").len() > 200, "{name}");
        assert_eq!(frames(&capture, "dccp && !(dccp.checksum.status == 1)"), Vec::<String>::new());
        // Every acknowledgement of CCID 3 has a receive rate, intervals and an elapsed time, once
        // the handshake is over.
        let feedback = frames(&capture, "dccp.type == 3 && dccp.ccid3_receive_rate").len();
        let intervals = "dccp.ccid3_loss_intervals && dccp.elapsed_time";
        assert!(feedback > 10, "{feedback} in {name}");
        assert_eq!(frames(&capture, &format!("dccp.type == 3 && {intervals}")).len(), feedback);
        assert!(!frames(&capture, "dccp.type == 0 && dccp.feature_number == 1").is_empty());
    }
}
