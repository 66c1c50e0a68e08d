//! Two judges of the same packets: real Linux TCP over a network that loses packets, captured by
//! tcpdump, has to be for `fairwave trace` what it is for tshark.

mod common;
mod real;

use common::{json, scratch, tiny_run};
use real::Net;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What one end of a connection sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sent {
    packets: u64,
    ip_bytes: u64,
    payload_bytes: u64,
    data_packets: u64,
    retransmissions: u64,
    syn: u64,
    fin: u64,
}

/// By number of the connection and address of the end.
type Table = BTreeMap<(u64, String), Sent>;

const FIELDS: [&str; 8] = [
    "tcp.stream",
    "ip.src",
    "ip.len",
    "tcp.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.flags.syn",
    "tcp.flags.fin",
];

/// What tshark says. A flag of its analysis is an empty text or a mark.
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
        let [stream, source, ip_len, len, again, spurious, syn, fin] = cells[..] else {
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
        sent.syn += flag(syn);
        sent.fin += flag(fin);
    }
    table
}

/// What `fairwave trace` says.
fn by_fairwave(capture: &Path) -> Table {
    let place = scratch();
    let told = json(place.path(), &["trace", &capture.display().to_string()]);
    let connections = told["connections"].as_array().expect("a list of connections");
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
                syn: number("syn"),
                fin: number("fin"),
            };
            ((one["number"].as_u64().expect("a number"), address.expect("an address")), sent)
        })
    };
    connections.iter().flat_map(ends).filter(|(_, sent)| sent.packets > 0).collect()
}

/// Everything but retransmissions has to be the same; those are given back, ours and theirs.
fn same_but_for_retransmissions(capture: &Path) -> (u64, u64) {
    let (ours, theirs) = (by_fairwave(capture), by_tshark(capture));
    let sum = |table: &Table| table.values().map(|sent| sent.retransmissions).sum::<u64>();
    let counts = (sum(&ours), sum(&theirs));
    let counted = |mut table: Table| {
        table.values_mut().for_each(|sent| sent.retransmissions = 0);
        table
    };
    let (ours, theirs) = (counted(ours), counted(theirs));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (key, sent) in &ours {
        assert_eq!(sent, &theirs[key], "{key:?} of {}", capture.display());
    }
    counts
}

/// At most one in twenty retransmissions, or three of a few, may be told otherwise;
/// docs/models/trace.md says which.
fn close(ours: u64, theirs: u64, what: &str) {
    let most = 3.max(theirs / 20);
    assert!(ours.abs_diff(theirs) <= most, "{what}: {ours} retransmissions, {theirs} by tshark");
}

#[expect(clippy::print_stderr, reason = "a test that proves nothing has to say so")]
fn skipped() -> bool {
    let why = real::missing();
    if let Some(why) = &why {
        eprintln!("SKIPPED, nothing was tested: {why}");
    }
    why.is_some()
}

#[test]
fn random_loss_of_data() {
    if skipped() {
        return;
    }
    let (place, net) = (scratch(), Net::new(1));
    net.lose("iifname r1 tcp dport 5001", 20);
    let captures = net.transfer(place.path(), 3, 1_500_000);
    let (ours, theirs) = same_but_for_retransmissions(&captures[0]);
    assert!(theirs > 30, "two in a hundred segments are lost, but {theirs} are sent again");
    close(ours, theirs, "at the sender");
    let (ours, theirs) = same_but_for_retransmissions(&captures[1]);
    close(ours, theirs, "at the receiver");
}

#[test]
fn random_loss_of_acks_with_segments_that_the_card_cuts() {
    if skipped() {
        return;
    }
    let (place, net) = (scratch(), Net::new(64));
    net.lose("iifname r2 tcp sport 5001", 300);
    for capture in net.transfer(place.path(), 2, 20_000_000) {
        let (ours, theirs) = same_but_for_retransmissions(&capture);
        close(ours, theirs, "with lost ACKs");
    }
}

#[test]
fn a_queue_that_overflows() {
    if skipped() {
        return;
    }
    let (place, net) = (scratch(), Net::new(1));
    net.bottleneck("100mbit", 20_000);
    let captures = net.transfer(place.path(), 4, 1_000_000);
    let (ours, theirs) = same_but_for_retransmissions(&captures[0]);
    assert!(theirs > 0, "the queue did not overflow");
    close(ours, theirs, "at the sender");
}

#[test]
fn a_capture_of_the_simulator() {
    if skipped() {
        return;
    }
    let place = scratch();
    let args = tiny_run("one");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    common::ends_with(0, place.path(), &[&args[..], &["--pcap"]].concat());
    let (ours, theirs) = same_but_for_retransmissions(&place.path().join("one/capture.pcapng"));
    close(ours, theirs, "on the air");
}
