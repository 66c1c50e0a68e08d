//! Captures are checked by tshark, which must find nothing malformed and no bad checksum.

use crate::common::{counts, ends_with, frames, scratch, tiny_run, tshark};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Filter for errors in a capture. tshark's findings about TCP, such as retransmissions, are no
/// errors of the frames.
const WRONG: &str = "_ws.malformed || (_ws.expert.severity >= 6291456 && !tcp.analysis.flags) \
                     || ip.checksum.status == 0 || tcp.checksum.status == 0 \
                     || udp.checksum.status == 0 || wlan.fcs.status == 0";

/// Number of frames that pass each of `filters`, after a check that tshark finds no errors.
fn counts_of_right(capture: &Path, filters: &[&str]) -> Vec<usize> {
    let mut counts = counts(&[], capture, &[filters, &[WRONG]].concat());
    let number = counts.pop().expect("a count for each filter");
    if number > 0 {
        let wrong = frames(capture, WRONG);
        panic!("{number} wrong frames, such as {:#?}", &wrong[..wrong.len().min(5)]);
    }
    counts
}

/// Simulates the tiny scenario with these further arguments.
fn simulate(further: &[&str]) -> tempfile::TempDir {
    let place = scratch();
    let args = tiny_run("one");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ends_with(0, place.path(), &[&args, further].concat());
    place
}

/// Simulates the tiny scenario with these settings, checks its capture for errors, and counts the
/// frames that pass each of `filters`.
fn clean(settings: &[&str], filters: &[&str]) -> Vec<usize> {
    let sets = settings.iter().flat_map(|set| ["--set", set]);
    let place = simulate(&["--pcap"].into_iter().chain(sets).collect::<Vec<_>>());
    let capture = place.path().join("one/capture.pcapng");
    let mut counts = counts_of_right(&capture, &[filters, &["tcp"]].concat());
    assert!(counts.pop() > Some(100), "hardly a TCP segment on the air");
    counts
}

/// At its two ends, a connection's capture is like tcpdump's: the handshake comes first, data go
/// one way, nothing is malformed, and at its sender nothing is missing.
#[test]
fn nor_in_captures_of_taps() {
    let place = simulate(&["--tap", "sta1", "--tap", "serv*"]);
    let at = |node: &str| place.path().join(format!("one/capture-{node}.pcapng"));
    // At the station only the upload; at the server also the download.
    for (node, streams) in [("sta1", 1), ("server", 2)] {
        let (whole, right) = ("eth && ip && tcp", "tcp.checksum.status == 1");
        let (opening, handshake) =
            ("tcp.flags == 0x002", "frame.number == 1 && tcp.flags.syn == 1");
        let missing = "tcp.analysis.ack_lost_segment";
        let filters = ["tcp", whole, right, opening, handshake, missing];
        let counts = counts_of_right(&at(node), &filters);
        assert!(counts[1] > 100, "{node}");
        assert_eq!(counts[2], counts[0], "{node}");
        assert_eq!(counts[3], streams, "{node}");
        if node == "sta1" {
            assert_eq!(counts[4..], [1, 0], "the upload begins with its SYN, and misses nothing");
        }
    }
}

/// On the air a converter's address represents the three hosts behind it, in both directions.
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
    // The second node is the converter; the sixth to eighth are the hosts.
    let (converter, hosts) = ("02:00:00:00:00:01", ["10.0.0.6", "10.0.0.7", "10.0.0.8"]);
    let any = |field: &str| hosts.map(|host| format!("{field} == {host}")).join(" || ");
    let up = format!("({}) && wlan.fc.tods == 1 && wlan.sa", any("ip.src"));
    let down = format!("({}) && wlan.fc.fromds == 1 && wlan.da", any("ip.dst"));
    let filters =
        [&up, &down].map(|way| [format!("{way} == {converter}"), format!("{way} != {converter}")]);
    let filters: Vec<&str> = filters.iter().flatten().map(String::as_str).collect();
    let counts = counts_of_right(&capture, &filters);
    assert!(counts[0] > 100 && counts[2] > 100, "{counts:?}");
    assert!(counts[1] == 0 && counts[3] == 0, "{counts:?}");
}

#[test]
fn tshark_finds_nothing_wrong_in_a_capture() {
    let counts = clean(&[], &["wlan.fc.type_subtype == 0x1d", "wlan.fc.type_subtype == 0x08"]);
    assert_ne!(counts[0], 0, "no 802.11 ACK");
    assert_ne!(counts[1], 0, "no beacon");
}

#[test]
fn nor_with_rts_over_802_11b() {
    let settings = ["cell.standard=802.11b", "cell.rts_threshold=500 B"];
    let (rts, cts) = ("wlan.fc.type_subtype == 0x1b", "wlan.fc.type_subtype == 0x1c");
    let counts = clean(&settings, &[rts, cts, "radiotap.datarate == 11"]);
    assert_ne!(counts[0], 0, "no RTS");
    assert_ne!(counts[1], 0, "no CTS");
    assert_ne!(counts[2], 0, "nothing at 11 Mbps");
}

/// Checks that tshark dissects an A-MPDU, its BlockAck and the modulation without errors, and
/// counts the frames that pass each of `filters`.
fn aggregated(settings: &[&str], modulation: &str, filters: &[&str]) -> Vec<usize> {
    let sent = format!("wlan.fc.type_subtype == 0x28 && radiotap.ampdu.reference && {modulation}");
    let (plain, answer) = ("wlan.fc.type_subtype == 0x20", "wlan.fc.type_subtype == 0x19");
    let counts = clean(settings, &[&[answer, &sent, plain], filters].concat());
    assert_ne!(counts[0], 0, "no BlockAck");
    assert!(counts[1] > 100, "hardly an A-MPDU with {modulation}");
    assert_eq!(counts[2], 0, "data without QoS Control");
    counts[3..].to_vec()
}

#[test]
fn nor_with_a_mpdus_of_802_11n() {
    let errors = "cell.errors={ data = 0.1, control = 0.05 }";
    let settings = ["cell.standard=802.11n", "cell.width=40 MHz", errors];
    let modulation = "radiotap.mcs.index == 7 && radiotap.mcs.bw == 1";
    let (last, all) = ("radiotap.ampdu.flags.last == 1", "radiotap.ampdu.reference");
    let again = "wlan.fc.retry == 1 && wlan.fc.type_subtype == 0x28";
    let counts = aggregated(&settings, modulation, &[last, all, again]);
    let (last, all, again) = (counts[0], counts[1], counts[2]);
    assert!(last > 10 && all > 2 * last, "{last} A-MPDUs of {all} MPDUs");
    assert!(again > 10, "a tenth of the MPDUs is lost, but {again} are sent again");
}

#[test]
fn nor_with_a_msdus_of_802_11ac() {
    let settings = ["cell.standard=802.11ac", "cell.amsdu_size=7935 B"];
    let modulation = "radiotap.vht.mcs.0 == 9 && radiotap.vht.nss.0 == 1";
    let counts = aggregated(&settings, modulation, &["wlan.qos.amsdupresent == 1"]);
    assert_ne!(counts[0], 0, "no A-MSDU");
}

#[test]
fn nor_with_long_block_acks_of_802_11ax() {
    let of_256 = "wlan.fc.type_subtype == 0x19 && wlan.fixed.ssc.fragment == 4";
    let modulation = "radiotap.he.data_3.data_mcs == 11";
    let counts = aggregated(&["cell.standard=802.11ax"], modulation, &[of_256]);
    assert_ne!(counts[0], 0, "no BlockAck of 256");
}

#[test]
fn the_filter_knows_what_a_good_checksum_is() {
    let good = "tcp.checksum.status == 1 && wlan.fcs.status == 1";
    let counts = clean(&[], &["tcp", good]);
    assert_eq!(counts[0], counts[1], "every segment's checksum and FCS are there and verified");
}

/// The simulator carries the options of DCCP packets beside the datagrams; captures contain them.
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
        // After the handshake, every acknowledgement of CCID 3 has a receive rate, intervals and an
        // elapsed time.
        let feedback = "dccp.type == 3 && dccp.ccid3_receive_rate";
        let whole = "dccp.type == 3 && dccp.ccid3_loss_intervals && dccp.elapsed_time";
        let unverified = "dccp && !(dccp.checksum.status == 1)";
        let request = "dccp.type == 0 && dccp.feature_number == 1";
        let filters = ["dccp", unverified, feedback, whole, request];
        let counts = counts_of_right(&capture, &filters);
        assert!(counts[0] > 200, "{name}");
        assert_eq!(counts[1], 0, "{name}");
        assert!(counts[2] > 10, "{} in {name}", counts[2]);
        assert_eq!(counts[3], counts[2], "{name}");
        assert_ne!(counts[4], 0, "{name}");
        numbers_are_those_of_tshark(&capture);
    }
}

/// Compares the counts of missing, late and duplicate packets with the numbers that tshark reads.
fn numbers_are_those_of_tshark(capture: &Path) {
    let fields = ["-e", "ip.src", "-e", "dccp.seq_raw", "-Y", "dccp && !(wlan.fc.retry == 1)"];
    let rows = tshark(&[&["-n", "-T", "fields"], &fields[..]].concat(), capture);
    let mut numbers = BTreeMap::<&str, Vec<u64>>::new();
    for row in &rows {
        let (source, number) = row.split_once('\t').expect("two cells");
        numbers.entry(source).or_default().push(number.parse().expect("a number"));
    }
    let place = scratch();
    let trace = ends_with(0, place.path(), &["trace", "--json", &capture.display().to_string()]);
    let trace: Value = serde_json::from_str(&trace.0).expect("JSON");
    assert_eq!(trace["capture"]["ip"]["other"], 0);
    let [stream] = &trace["dccp"].as_array().expect("a list")[..] else { panic!("{trace:#}") };
    assert_eq!(numbers.len(), 2);
    for (end, sent) in [("a", "a_sent"), ("b", "b_sent")] {
        let address = stream[end].as_str().expect("an end").split(':').next().expect("an address");
        let came = &numbers[address];
        let reported: BTreeSet<u64> = came.iter().copied().collect();
        let (first, last) = (reported.first().expect("one"), reported.last().expect("one"));
        let lost = (last - first + 1) as usize - reported.len();
        let of = |key: &str| stream[sent]["numbers"][key].as_u64().map(|count| count as usize);
        assert_eq!(stream[sent]["packets"].as_u64(), Some(came.len() as u64), "{address}");
        assert_eq!(of("lost"), Some(lost), "{address}");
        assert_eq!(of("duplicates"), Some(came.len() - reported.len()), "{address}");
        // A late number is smaller than the maximum so far, and was not seen before.
        let mut seen = BTreeSet::new();
        let late = came.iter().filter(|&&one| seen.insert(one) && seen.last() > Some(&one)).count();
        assert_eq!(of("reordered"), Some(late), "{address}");
    }
}
