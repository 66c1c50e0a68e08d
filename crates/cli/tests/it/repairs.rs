//! Each loss is repaired once: `scenarios/repairs.toml`.

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

/// Slow start loses more than a thousand segments and, in this seed, times out; what was reported
/// is not retransmitted then (RFC 6675 section 5.1), unless it is forgotten (RFC 2018 section 8).
#[test]
fn a_download_that_times_out_retransmits_what_was_dropped() {
    let [drops, retransmissions, timeouts] = repairs("16", &[]);
    assert!(drops > 1_000 && timeouts > 0, "{drops} drops, {timeouts} timeouts");
    assert_eq!(retransmissions, drops);
    let [drops, retransmissions, _] = repairs("16", &["flow.transfer.keep_sacks=false"]);
    assert!(retransmissions > drops + 500, "{drops} drops, {retransmissions}");
}
