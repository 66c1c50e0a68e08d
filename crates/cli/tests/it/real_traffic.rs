//! Comparison of `fairwave trace` with tshark: for real Linux TCP over a lossy network, captured by
//! tcpdump, both must give the same analysis.

use crate::common;
use crate::real;

use crate::common::{json, scratch, tiny_run};
use crate::real::Net;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Counts of one end's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sent {
    packets: u64,
    ip_bytes: u64,
    payload_bytes: u64,
    data_packets: u64,
    retransmissions: u64,
    out_of_order: u64,
    syn: u64,
    fin: u64,
}

/// Counts by number of the connection and address of the end.
type Table = BTreeMap<(u64, String), Sent>;

const FIELDS: [&str; 9] = [
    "tcp.stream",
    "ip.src",
    "ip.len",
    "tcp.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.flags.syn",
    "tcp.flags.fin",
];

/// The analysis by tshark. A flag of its analysis is an empty text or a mark.
fn by_tshark(capture: &Path) -> Table {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-Y", "tcp", "-T", "fields", "-r"]).arg(capture);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.output().expect("tshark starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let mut table = Table::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [stream, source, ip_len, len, again, spurious, disorder, syn, fin] = cells[..] else {
            panic!("{line:?}")
        };
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{line:?}"));
        let flag = |text: &str| u64::from(text == "1" || text == "True");
        let sent = table.entry((number(stream), source.to_owned())).or_default();
        sent.packets += 1;
        sent.ip_bytes += number(ip_len);
        sent.payload_bytes += number(len);
        sent.data_packets += u64::from(number(len) > 0);
        sent.retransmissions += u64::from(!again.is_empty() || !spurious.is_empty());
        sent.out_of_order += u64::from(!disorder.is_empty());
        sent.syn += flag(syn);
        sent.fin += flag(fin);
    }
    table
}

/// The analysis by `fairwave trace`.
fn by_fairwave(capture: &Path) -> Table {
    let place = scratch();
    let reported = json(place.path(), &["trace", &capture.display().to_string()]);
    let connections = reported["connections"].as_array().expect("a list of connections");
    let ends = |one: &Value| {
        [("a", "a_sent"), ("b", "b_sent")].map(|(end, sent)| {
            let address =
                one[end].as_str().and_then(|end| Some(end.rsplit_once(':')?.0.to_owned()));
            let number =
                |key: &str| one[sent][key].as_u64().unwrap_or_else(|| panic!("{key}: {one}"));
            let sent = Sent {
                packets: number("packets"),
                ip_bytes: number("ip_bytes"),
                payload_bytes: number("payload_bytes"),
                data_packets: number("data_packets"),
                retransmissions: number("retransmissions"),
                out_of_order: one[sent]["kinds"]["out_of_order"].as_u64().unwrap_or(0),
                syn: number("syn"),
                fin: number("fin"),
            };
            ((one["number"].as_u64().expect("a number"), address.expect("an address")), sent)
        })
    };
    connections.iter().flat_map(ends).filter(|(_, sent)| sent.packets > 0).collect()
}

/// Old segments in a whole capture: retransmitted, or out of order.
#[derive(Clone, Copy, Debug)]
struct Old {
    again: u64,
    disorder: u64,
}

impl Old {
    fn of(table: &Table) -> Self {
        let sum = |part: fn(&Sent) -> u64| table.values().map(part).sum();
        Self { again: sum(|sent| sent.retransmissions), disorder: sum(|sent| sent.out_of_order) }
    }

    fn all(self) -> u64 {
        self.again + self.disorder
    }
}

/// Checks that connections, packets, bytes and flags are equal. Returns the old segments, first by
/// Fairwave, then by tshark. The two distinguish "retransmitted" and "out of order" differently
/// (docs/models/trace.md gives the reason). But the sums must agree, up to one in fifty, or three
/// of a few.
fn compared(capture: &Path) -> (Old, Old) {
    agreeing(capture, by_fairwave(capture), by_tshark(capture))
}

fn agreeing(capture: &Path, ours: Table, theirs: Table) -> (Old, Old) {
    let (old, theirs_old) = (Old::of(&ours), Old::of(&theirs));
    let counted = |mut table: Table| {
        table.values_mut().for_each(|sent| (sent.retransmissions, sent.out_of_order) = (0, 0));
        table
    };
    let (ours, theirs) = (counted(ours), counted(theirs));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (key, sent) in &ours {
        assert_eq!(sent, &theirs[key], "{key:?} of {}", capture.display());
    }
    let maximum = 3.max(theirs_old.all() / 50);
    let differ = old.all().abs_diff(theirs_old.all()) > maximum;
    assert!(!differ, "{}: {old:?}, by tshark {theirs_old:?}", capture.display());
    (old, theirs_old)
}

#[test]
fn random_loss_of_data() {
    if real::skipped() {
        return;
    }
    let (place, net) = (scratch(), Net::new(1));
    net.lose("iifname r1 tcp dport 5001", 20);
    let [at_sender, at_receiver] = net.transfer(place.path(), 3, 1_500_000);
    let (ours, theirs) = compared(&at_sender);
    assert!(theirs.all() > 20, "two in a hundred segments are lost: {theirs:?}");
    assert_eq!(ours.disorder, 0, "a sender's own link reorders nothing");
    compared(&at_receiver);
    lost_between(&at_sender, &at_receiver, net.lost());
}

/// Two captures together show the packets that the router lost, and that it delayed the others only
/// briefly. Some may overtake others, since two processors forward for one router.
fn lost_between(sent: &Path, received: &Path, lost: u64) {
    let place = scratch();
    let [sent, received] = [sent, received].map(|path| path.display().to_string());
    let reported = json(place.path(), &["trace", &sent, &received, "--same-clock"]);
    let ways = reported["ways"].as_array().expect("a list of ways");
    assert_eq!(ways.len(), 2 * 3 + 1, "three connections, and the last datagram");
    let sum = |key: &str| ways.iter().map(|way| way[key].as_u64().unwrap_or(0)).sum::<u64>();
    assert_eq!(sum("lost"), lost);
    for way in ways {
        let to_receiver = way["b"].as_str().expect("an address").starts_with("10.77.2.2");
        let first = if to_receiver { "first" } else { "second" };
        assert_eq!(way["passes_first"], first, "{way}");
        assert_eq!(way["all"]["alone"][usize::from(to_receiver)], 0, "{way}");
        let delay = way["shift"]["p50_ns"].as_i64().expect("a time");
        assert!(delay.abs() < 50_000_000 && (delay > 0) == to_receiver, "{way}");
    }
}

#[test]
fn random_loss_of_acks_with_segments_that_the_card_cuts() {
    if real::skipped() {
        return;
    }
    let (place, net) = (scratch(), Net::new(64));
    net.lose("iifname r2 tcp sport 5001", 300);
    net.transfer(place.path(), 2, 20_000_000).iter().for_each(|capture| {
        compared(capture);
    });
}

#[test]
fn a_queue_that_overflows() {
    if real::skipped() {
        return;
    }
    let (place, net) = (scratch(), Net::new(1));
    net.bottleneck("100mbit", 20_000);
    let [at_sender, at_receiver] = net.transfer(place.path(), 4, 1_000_000);
    let (ours, theirs) = compared(&at_sender);
    assert!(theirs.all() > 0, "the queue did not overflow");
    assert_eq!(ours.disorder, 0, "a sender's own link reorders nothing");
    compared(&at_receiver);
}

/// On the air an unacknowledged frame is repeated, which is no retransmission by TCP. tshark
/// therefore only gets the first of each.
#[test]
fn a_capture_of_the_simulator() {
    if real::skipped() {
        return;
    }
    let place = scratch();
    let args = tiny_run("one");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    common::ends_with(0, place.path(), &[&args[..], &["--pcap"]].concat());
    let capture = place.path().join("one/capture.pcapng");
    let once = place.path().join("once.pcapng");
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-Y", "!(wlan.fc.retry == 1)", "-w"]).arg(&once).arg("-r").arg(&capture);
    assert!(tshark.output().expect("tshark starts").status.success());
    agreeing(&capture, by_fairwave(&capture), by_tshark(&once));
    let reported = |capture: &Path| {
        let reported = json(place.path(), &["trace", &capture.display().to_string()]);
        reported["capture"].clone()
    };
    let (all, once) = (reported(&capture), reported(&once));
    let packets = |reported: &Value| reported["packets"].as_u64().expect("a count");
    assert_eq!(all["frames"]["repeated"], packets(&all) - packets(&once));
    assert!(packets(&all) > packets(&once), "nothing came again on the air");
}
