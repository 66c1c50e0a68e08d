//! A link with known queues in both directions.

use super::field::{Ended, run};
use serde_json::Value;

/// Packets that wait in a queue of 30 whose shaper has already dequeued the next one.
const HELD: [f64; 2] = [29.0, 30.0];
/// Rate of the shaper, which no carried rate exceeds by more than its bucket.
const MAX_MBPS: f64 = 22.0;

fn number(found: &Value, path: &str) -> f64 {
    let value = found.pointer(path).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("{path} is no number: {found:#}"))
}

/// Probes 20 Mbps and 30 packets up, 60000 bytes down: 17 and 24 ms. The client's clock is days
/// ahead.
fn probe_shaped_link() -> Option<Ended> {
    run("
        shape b root handle 1: tbf rate 20mbit burst 3000 limit 1000000
        shape b parent 1: pfifo limit 30
        shape a root tbf rate 20mbit burst 3000 limit 60000
        serve
        within c unshare --time --fork --monotonic 864000 \"$F\" probe 10.9.2.1 \
            --pairing sixteenlettersok --json > found 2> errors
        kill $server; wait $server")
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_figures_of_a_shaped_link_are_those_of_its_queues() {
    let Some(ended) = probe_shaped_link() else { return };
    let found = ended.found();
    let packets = number(&found, "/buffer/packets/value");
    assert!((HELD[0]..=HELD[1]).contains(&packets), "{found:#}");
    for carried in ["/drain_mbps", "/carried_mbps/up", "/carried_mbps/down"] {
        assert!((19.0..21.0).contains(&number(&found, carried)), "{carried}: {found:#}");
    }
    let [idle, up, down, both] = ["idle", "up", "down", "both"]
        .map(|load| number(&found, &format!("/latency_ms/{load}/p50")));
    assert!(up - idle > 12.0 && down - idle > 18.0 && both > up.max(down) + 8.0, "{found:#}");
    let [low, high] = ["low", "high"].map(|end| number(&found, &format!("/buffer/packets/{end}")));
    assert!(low <= HELD[1] && HELD[0] <= high, "{found:#}");
    for way in ["up", "down"] {
        assert!(number(&found, &format!("/one_way_ms/{way}/p50")) < up, "{found:#}");
        assert!(number(&found, &format!("/loss/{way}")) < 0.2, "{found:#}");
    }
    assert!(number(&found, "/drift_ppm").abs() < 200.0, "{found:#}");
}

/// Checks that a probe over a link has its figures. A sender that waits for a processor lets the
/// queue run empty, so no size of a figure is certain here, and a buffer may not be found at all.
#[test]
fn every_figure_is_there_over_a_shaped_link() {
    let Some(ended) = probe_shaped_link() else { return };
    let found = ended.found();
    if found["kind"] == "packets" {
        for unit in ["packets", "bytes", "ms"] {
            // An interval ends at zero where repetitions differ by more than their mean.
            let [low, value, high] = ["low", "value", "high"]
                .map(|part| number(&found, &format!("/buffer/{unit}/{part}")));
            assert!(0.0 < value && 0.0 <= low, "{unit}: {found:#}");
            assert!(low <= value && value <= high, "{unit}: {found:#}");
        }
        // Null where nearly all packets of a slow sender arrived.
        let drained = found["drain_mbps"].as_f64();
        assert!(drained.is_none_or(|mbps| mbps > 0.0 && mbps < MAX_MBPS), "{found:#}");
    }
    for way in ["up", "down"] {
        // Null where a busy machine sent less than the link carries.
        let carried = found["carried_mbps"][way].as_f64();
        let possible = carried.is_none_or(|mbps| mbps > 0.0 && mbps < MAX_MBPS);
        assert!(possible, "{way}: {found:#}");
        assert!(number(&found, &format!("/one_way_ms/{way}/p50")) > 0.0, "{found:#}");
        assert!((0.0..1.0).contains(&number(&found, &format!("/loss/{way}"))), "{found:#}");
    }
    for load in ["idle", "up", "down", "both"] {
        let [p50, p95] = ["p50", "p95"].map(|p| number(&found, &format!("/latency_ms/{load}/{p}")));
        assert!(0.0 < p50 && p50 <= p95, "{load}: {found:#}");
    }
    assert_eq!(found["error"], Value::Null);
    assert!(ended.told().contains("0 found no room"), "{}", ended.told());
}

/// Checks that the script's `code` has this error, and that the results until then are printed.
fn cut_short(ended: &Ended, error: &str) {
    cut_short_by(ended, error, error);
}

/// The same if the command ends for another reason.
fn cut_short_by(ended: &Ended, error: &str, end: &str) {
    let found = ended.found();
    assert_eq!(ended.file("code"), "1\n", "{}", ended.told());
    let told = found["error"].as_str().unwrap_or_default();
    assert!(told.contains(error), "{told}");
    assert!(ended.file("errors").contains(end), "{}", ended.told());
    assert!(number(&found, "/latency_ms/idle/p50") > 0.0, "{found:#}");
}

/// Starts a probe and continues when the server has agreed to its session.
pub(super) const BEGUN: &str = "
    serve
    $probe --json > found 2> errors & client=$!
    until grep -q 'each session has' served; do kill -0 $client; done
";

#[test]
fn a_server_that_goes_and_a_signal_keep_what_was_measured() {
    let last = "code=0; wait $client || code=$?; echo $code > code";
    let Some(ended) = run(&format!("{BEGUN} kill -KILL $server; {last}")) else { return };
    cut_short(&ended, "stopped answering during the run");
    let Some(ended) = run(&format!("{BEGUN} kill -TERM $client; {last}; kill $server")) else {
        return;
    };
    cut_short(&ended, "interrupted");
}

#[test]
fn another_address_in_mid_run_is_named() {
    let moved = "ip -n c address del 10.9.1.1/24 dev a
        ip -n c address add 10.9.1.7/24 dev a
        ip -n c route replace default via 10.9.1.2
        code=0; wait $client || code=$?; echo $code > code; kill $server";
    let Some(ended) = run(&format!("{BEGUN} {moved}")) else { return };
    cut_short(&ended, "changed from 10.9.1.1 to 10.9.1.7");
}

/// A page of memory has room for the figures, but not for the HTML page.
#[test]
fn a_full_disk_is_named_and_what_was_measured_is_printed() {
    let script = "
        mkdir small
        mount -t tmpfs -o size=8k tmpfs small
        serve --max-bytes '150 KB'
        code=0; $probe --json --out small > found 2> errors || code=$?; echo $code > code
        ls small > left
        kill $server";
    let Some(ended) = run(script) else { return };
    cut_short_by(&ended, "--max-bytes", "small/probe.html");
    assert!(ended.file("errors").contains("No space left"), "{}", ended.told());
    assert_eq!(ended.file("left"), "probe.json\n", "no half of a file");
}

/// The count of the paper is over what the link sends meanwhile: 30 packets, and a fifth of those
/// that came at 100 Mbps. A busy sender is slower, and more leave meanwhile.
#[test]
fn the_papers_trains_count_the_packets_before_the_first_gap() {
    let ended = run("
        shape b root handle 1: tbf rate 20mbit burst 3000 limit 1000000
        shape b parent 1: pfifo limit 30
        serve
        within c \"$F\" probe 10.9.2.1 --pairing sixteenlettersok --paper --json > found
        kill $server; wait $server");
    let Some(ended) = ended else { return };
    let found = ended.found();
    let count = number(&found, "/packets_before_gap/value");
    assert!((HELD[0]..10_000.0).contains(&count), "{found:#}");
    let words = found["evidence"].to_string();
    assert_ne!(found["kind"], "bytes", "trains of one size show no unit: {words}");
}

/// The router announces the MTU of its link by ICMP. Full packets of the probe would be cut there,
/// and their pieces would count as packets of a buffer.
#[test]
fn a_lower_mtu_of_the_path_shortens_the_packets_and_is_named() {
    let script = "
        ip -n r link set dev b mtu 1280; ip -n s link set dev b mtu 1280
        shape b root tbf rate 20mbit burst 3000 limit 60000
        serve
        for to in 10.9.2.1 fd09:2::1; do
            within c \"$F\" probe $to --pairing sixteenlettersok --json > found$to 2>> errors
        done
        kill $server";
    let Some(ended) = run(script) else { return };
    for server in ["10.9.2.1", "fd09:2::1"] {
        let found: Value = serde_json::from_str(&ended.file(&format!("found{server}"))).unwrap();
        assert_eq!(found["packet_bytes"], 1_280, "{found:#}");
        let warnings = found["warnings"].as_array().expect("a list");
        let is_named = |warning: &Value| warning.as_str().is_some_and(|w| w.contains("MTU"));
        assert!(warnings.iter().any(is_named), "{found:#}");
    }
}
