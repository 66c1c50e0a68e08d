//! Captures at tapped nodes: which packets, when, and with whose addresses.

use fairwave_lab::results::{self, Meta};
use fairwave_lab::run::{self, Output, Run};
use fairwave_scenario::plan::Plan;
use fairwave_units::Instant;
use fairwave_wire::datagram::{self, Datagram};
use fairwave_wire::ethernet::{self, EtherType, Mac};
use fairwave_wire::pcapng::{LinkType, Reader};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Two hosts behind one converter; the nodes are numbered in this order.
const BED: &str = r#"
duration = "1 s"
cell.standard = "802.11g"
[[node]]
name = "ap"
kind = "access-point"
data_rate = "54 Mbps"
[[node]]
name = "conv"
kind = "converter"
data_rate = "54 Mbps"
[[node]]
name = "pc"
kind = "host"
count = 2
[[node]]
name = "server"
kind = "host"
[[node]]
name = "sta"
kind = "station"
data_rate = "54 Mbps"
[[link]]
ends = ["pc*", "conv"]
[[link]]
ends = ["ap", "server"]
delay = "2.5 ms"
[[flow]]
name = "up"
from = "pc1"
to = "server"
transport = "udp"
traffic = "cbr"
payload = "1000 B"
interval = "10 ms"
stop = "995 ms"
"#;
const CONVERTER: u32 = 1;
const PC1: u32 = 2;
const SERVER: u32 = 4;
const STATION: u32 = 5;

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn simulate(directory: &Path, taps: &str, appended: &str) -> Run {
    let sets = [format!("record.taps={taps}")];
    let text = format!("{BED}{appended}");
    let plan = Plan::parse("bed.toml", &text, &sets).unwrap_or_else(|e| panic!("{e}"));
    let output = Output::Full(directory);
    run::execute(&plan, plan.jobs()[0], output, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"))
}

struct Seen {
    at: Instant,
    source: Mac,
    destination: Mac,
    datagram: Datagram,
}

/// What a tap's capture holds.
fn seen(run: &Run, node: &str) -> Vec<Seen> {
    let path = run.tap(node).expect("a run directory");
    let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut seen = Vec::new();
    for packet in Reader::new(&bytes).unwrap() {
        let packet = packet.unwrap();
        assert_eq!(packet.link_type, LinkType::Ethernet);
        let (header, rest) = ethernet::parse(&packet.data).unwrap();
        assert_eq!(header.ether_type, EtherType::IPV4);
        let (datagram, payload) = datagram::parse(rest).unwrap();
        assert_eq!(datagram.first_mismatch(payload), None);
        let ethernet::Header { source, destination, .. } = header;
        seen.push(Seen { at: packet.at, source, destination, datagram });
    }
    seen
}

fn mac(node: u32) -> Mac {
    Mac::local(node)
}

/// Sender, converter and server see the same datagrams: at once, after the wire, after air and
/// pipe; the converter's address stands for the host from the air on.
#[test]
fn every_tap_sees_the_packets_of_its_place() {
    let place = scratch();
    let directory = place.path();
    let run = simulate(directory, "[\"pc*\", \"server\", \"conv\", \"ap\"]", "");
    let [pc, converter, ap, server] = ["pc1", "conv", "ap", "server"].map(|node| seen(&run, node));
    assert!(seen(&run, "pc2").is_empty());
    assert_eq!([pc.len(), converter.len(), ap.len(), server.len()], [100; 4]);
    for (i, packet) in pc.iter().enumerate() {
        assert_eq!(packet.at.as_nanos(), 10_000_000 * i as u64);
        assert_eq!((packet.source, packet.destination), (mac(PC1), mac(SERVER)));
        // 1028 bytes of IP at 100 Mbps.
        assert_eq!(converter[i].at.since(packet.at).as_nanos(), 82_240);
        assert_eq!(converter[i].source, mac(PC1));
        assert_eq!((ap[i].source, server[i].source), (mac(CONVERTER), mac(CONVERTER)));
        assert_eq!(server[i].at.since(ap[i].at).as_nanos(), 2_582_240);
        let there = [&converter[i], &ap[i], &server[i]].map(|seen| seen.datagram);
        assert_eq!(there, [packet.datagram; 3]);
    }
    let Meta { taps, .. } = results::read_meta(directory).unwrap();
    let files: Vec<_> = taps.iter().map(|(node, file)| format!("{node} {file}")).collect();
    assert_eq!(files[2..4], ["pc1 capture-pc1.pcapng", "pc2 capture-pc2.pcapng"]);
    // The next run here taps nothing, and leaves nothing of this one's.
    simulate(directory, "[]", "");
    assert!(!directory.join(&taps["pc1"]).exists());
    assert!(results::read_meta(directory).unwrap().taps.is_empty());
}

/// Towards the hosts: the converter's address as far as the converter, then theirs. A station
/// sees packets as an end host; a converter those on its wire, once.
#[test]
fn addresses_and_sides_hold_the_other_way_too() {
    let place = scratch();
    let directory = place.path();
    let flows = r#"
[[flow]]
name = "down"
from = "server"
to = "pc2"
transport = "udp"
traffic = "cbr"
payload = "100 B"
interval = "20 ms"
stop = "995 ms"
[[flow]]
name = "across"
from = "sta"
to = "pc1"
transport = "udp"
traffic = "cbr"
payload = "200 B"
interval = "20 ms"
stop = "995 ms"
"#;
    let run = simulate(directory, "[\"pc*\", \"server\", \"conv\", \"sta\"]", flows);
    let len = |seen: &&Seen| seen.datagram.payload_len;
    let all = ["server", "conv", "pc2", "sta", "pc1"].map(|node| seen(&run, node));
    let [server, converter, pc2, station, pc1] = &all;
    let down = |seen: &[Seen]| -> Vec<(Mac, Mac)> {
        let those = seen.iter().filter(|seen| len(seen) == 100);
        those.map(|seen| (seen.source, seen.destination)).collect()
    };
    assert_eq!(down(server), vec![(mac(SERVER), mac(CONVERTER)); 50]);
    assert_eq!(down(pc2), vec![(mac(SERVER), mac(PC1 + 1)); 50]);
    assert_eq!(down(converter), down(pc2));
    let to_host = station.iter().filter(|seen| len(seen) == 200);
    assert_eq!(to_host.clone().count(), 50);
    assert!(to_host.into_iter().all(|seen| seen.destination == mac(CONVERTER)));
    let at_host = pc1.iter().find(|seen| len(seen) == 200).expect("one arrived");
    assert_eq!((at_host.source, at_host.destination), (mac(STATION), mac(PC1)));
    for seen in all {
        assert!(seen.is_sorted_by_key(|seen| seen.at));
    }
}

/// The same bytes again, and with a snap length the first of each packet.
#[test]
fn captures_are_the_same_bytes_and_may_be_short() {
    let places = [scratch(), scratch(), scratch()];
    let [first, again, short] = places.each_ref().map(TempDir::path);
    let read = |run: &Run| fs::read(run.tap("server").unwrap()).unwrap();
    let whole = read(&simulate(first, "[\"server\"]", ""));
    assert_eq!(whole, read(&simulate(again, "[\"server\", \"s*\"]", "")));
    let cut = read(&simulate(short, "[\"server\"]", "[record]\nsnap_length = \"96 B\"\n"));
    let packets = |bytes: &[u8]| -> Vec<(usize, u32, Instant)> {
        let each = Reader::new(bytes).unwrap().map(|packet| packet.unwrap());
        each.map(|packet| (packet.data.len(), packet.original_len, packet.at)).collect()
    };
    let (whole, cut) = (packets(&whole), packets(&cut));
    assert!(whole.len() == 100 && whole.iter().all(|(kept, len, _)| (*kept, *len) == (1042, 1042)));
    let kept: Vec<_> = whole.iter().map(|(_, len, at)| (96, *len, *at)).collect();
    assert_eq!(cut, kept);
}
