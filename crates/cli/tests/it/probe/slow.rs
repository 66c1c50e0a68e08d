//! Every queue of this machine's kernel that `cargo xtask probe-links` has; part of `cargo xtask
//! test --slow`.

use super::field::apart;
use serde_json::Value;

/// Name, kind, packets and arguments of tc, one link a line.
const LINKS: &str = include_str!("../../../../../benches/src/probe_links/host.links");

#[test]
#[ignore = "three minutes: cargo test -p fairwave-cli --test it -- probe::slow --ignored"]
fn kinds_and_counts_of_known_queues_are_right() {
    let script = format!(
        "DATA={}/tests/data RATE='100 Mbps'\n\
         . \"$DATA/probe-links.sh\" > links << 'END'\n{LINKS}END",
        env!("CARGO_MANIFEST_DIR")
    );
    let Some(ended) = apart(&script) else { return };
    let lines = ended.file("links");
    let lines: Vec<&str> = lines.lines().filter_map(|line| line.strip_prefix("LINK ")).collect();
    assert_eq!(lines.len(), LINKS.lines().count(), "{}", ended.told());
    for line in lines {
        let fields: Vec<&str> = line.splitn(4, '|').collect();
        let found: Value = serde_json::from_str(fields[3]).expect(line);
        assert_eq!(found["kind"], fields[1], "{line}");
        let packets = fields[2].parse().ok();
        let Some(packets) = packets else {
            assert_eq!(found["buffer"], Value::Null, "{line}");
            continue;
        };
        let packets: f64 = packets;
        let count = found["buffer"]["packets"]["value"].as_f64().expect(line);
        // A shaper of Linux holds the next packet outside of its queue.
        assert!((count - packets).abs() <= (0.02 * packets).max(1.0), "{line}");
    }
}
