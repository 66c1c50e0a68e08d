//! Priorities that the opener gives to paths act at both ends.

use super::*;

/// Bytes that the client has received on each path.
fn received(net: &Net, session: usize) -> [u64; 2] {
    let paths = net.client.paths(net.now, session);
    [paths[0].bytes_received, paths[1].bytes_received]
}

/// A download: the end that sends has the priority from the other.
#[test]
fn a_metered_path_is_used_only_where_the_other_fails() {
    let mut net = Net::new(&[wire(20, 10, 0.0), wire(20, 5, 0.0)]);
    net.report(End::A, Input::Prioritize(1, Priority::Backup));
    net.ms(300);
    let streams = net.open();
    let bytes = content(1_000_000);
    assert!(net.carry(End::B, streams, &bytes, 10_000) == bytes);
    let received = |net: &Net| received(net, streams[0].0);
    let [regular, metered] = received(&net);
    assert!(regular > 1_000_000 && metered < 20_000, "{regular} and {metered}");
    // It takes over, and gives the data back.
    net.report(End::A, Input::PathDown(0));
    assert!(net.carry(End::B, streams, &bytes, 10_000) == bytes);
    let [_, metered] = received(&net);
    assert!(metered > 900_000, "{metered}");
    net.report(End::A, Input::PathUp(route(0)));
    net.ms(2_000);
    let before = received(&net);
    assert!(net.carry(End::B, streams, &bytes, 10_000) == bytes);
    let after = received(&net);
    assert!(after[0] - before[0] > 1_000_000, "{before:?} {after:?}");
    assert!(after[1] - before[1] < 20_000, "{before:?} {after:?}");
}

/// A path becomes one at risk while a download runs, and is none afterwards.
#[test]
fn a_path_at_risk_is_relieved_at_once() {
    let mut net = Net::new(&[wire(20, 10, 0.0), wire(20, 10, 0.0)]);
    net.ms(300);
    let streams = net.open();
    let bytes = content(2_000_000);
    assert!(net.carry(End::B, streams, &bytes, 10_000) == bytes);
    net.report(End::A, Input::Prioritize(1, Priority::Standby));
    net.ms(100);
    let received = |net: &Net| received(net, streams[0].0);
    let before = received(&net);
    assert!(net.carry(End::B, streams, &bytes, 10_000) == bytes);
    let after = received(&net);
    assert!(after[1] - before[1] < 20_000, "{before:?} {after:?}");
}
