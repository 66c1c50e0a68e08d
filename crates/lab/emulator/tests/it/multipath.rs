//! A flow over the kernel's MPTCP (RFC 8684) on the loopback interface: one path.

use crate::traffic::{UNTIL_DONE, V4, only, run, spec};
use fairwave_cc::TcpAvConfig;
use fairwave_emulator::traffic::{Connection, Load, Writes};
use fairwave_units::Bytes;
use std::fs;
use std::io::Write;

/// Connections that the kernel has accepted as MPTCP so far (`MPCapableACKRX`).
fn accepted() -> u64 {
    let text = fs::read_to_string("/proc/net/netstat").expect("the kernel counts");
    let mut lines = text.lines().filter(|line| line.starts_with("MPTcpExt:"));
    let (names, counts) = (lines.next().expect("names"), lines.next().expect("counts"));
    let place = names.split(' ').position(|name| name == "MPCapableACKRX").expect("it has it");
    counts.split(' ').nth(place).and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn a_transfer_over_mptcp_arrives_whole() {
    let enabled = fs::read_to_string("/proc/sys/net/mptcp/enabled");
    if !enabled.as_ref().is_ok_and(|text| text.trim() == "1") {
        let why = format!("SKIPPED: this kernel has no MPTCP: {enabled:?}\n");
        std::io::stderr().write_all(why.as_bytes()).expect("stderr is open");
        return;
    }
    let before = accepted();
    let flow = Load::Connection(Connection {
        through: None,
        is_multipath: true,
        congestion_control: "reno".to_owned(),
        av: TcpAvConfig::DEFAULT,
        mss: None,
        send_buffer: None,
        receive_buffer: None,
        no_delay: true,
        acks_at_once: false,
        writes: Writes::Bulk(Some(Bytes(5_000_000))),
    });
    let flow = only(run(vec![spec(0, V4, flow)], UNTIL_DONE));
    assert_eq!(flow.failure, None);
    let end = flow.outcome.at_end;
    assert_eq!(end.delivered_bytes, 5_000_000);
    assert!(end.sent_packets > 0 && end.is_of_kernel, "the kernel tells of the first subflow");
    assert_eq!(accepted(), before + 1, "it did not fall back to TCP");
}
