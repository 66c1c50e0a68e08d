//! Each loss is repaired exactly once: `scenarios/repairs.toml`.

use crate::common::{json, scratch};
use std::path::Path;

/// Segments dropped and retransmitted, and timeouts, of the first three seconds.
fn repairs(seed: &str, changes: &[&str]) -> [u64; 3] {
    let place = scratch();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/repairs.toml");
    let scenario = scenario.display().to_string();
    let mut args = vec!["run", &scenario, "--out", "o", "--seed", seed, "--set", "duration=3 s"];
    for change in changes {
        args.extend(["--set", change]);
    }
    let summary = &json(place.path(), &args)["summary"];
    let count = |value: &serde_json::Value| value.as_u64().expect("a count");
    let queues = summary["queues"].as_array().expect("queues");
    let drops = queues.iter().flat_map(|queue| queue.as_object().expect("a queue"));
    let drops = drops.filter(|(name, _)| name.starts_with("drops")).map(|(_, drops)| count(drops));
    let flow = &summary["flows"][0];
    [drops.sum(), count(&flow["retransmissions"]), count(&flow["timeouts"])]
}

/// RACK, with any number of segments and ACKs in the same nanosecond (RFC 8985 section 6.2).
#[test]
fn an_upload_retransmits_what_was_dropped() {
    let [drops, retransmissions, _] =
        repairs("1", &["flow.transfer.from=sta", "flow.transfer.to=server"]);
    assert!(drops > 300 && retransmissions == drops, "{drops} drops, {retransmissions}");
}

/// Without RACK's timer and PRR's bound the upload times out. Then reported segments are not
/// retransmitted (RFC 6675 section 5.1), unless the reports are discarded (RFC 2018 section 8).
#[test]
fn an_upload_that_times_out_retransmits_what_was_dropped() {
    let by_timer = [
        "flow.transfer.from=sta",
        "flow.transfer.to=server",
        "flow.transfer.rack=false",
        "flow.transfer.prr=false",
    ];
    let [drops, retransmissions, timeouts] = repairs("1", &by_timer);
    assert!(drops > 500 && timeouts > 0, "{drops} drops, {timeouts} timeouts");
    assert_eq!(retransmissions, drops);
    let forgets = [&by_timer[..], &["flow.transfer.keep_sacks=false"]].concat();
    let [drops, retransmissions, _] = repairs("1", &forgets);
    assert!(retransmissions > drops + 200, "{drops} drops, {retransmissions}");
}

/// A download loses hundreds of segments in slow start, and none is retransmitted twice.
#[test]
fn a_download_retransmits_what_was_dropped() {
    let [drops, retransmissions, _] = repairs("1", &[]);
    assert!(drops > 300 && retransmissions == drops, "{drops} drops, {retransmissions}");
}
