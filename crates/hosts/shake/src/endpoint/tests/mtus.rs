//! Paths that take smaller packets than others, from the start or later.

use super::pauses::{rest, start};
use super::*;

impl Net {
    /// A stream carries bytes both ways.
    fn carries(&mut self, streams: [(usize, usize); 2]) {
        let bytes = content(500_000);
        for from in [End::A, End::B] {
            assert!(self.carry(from, streams, &bytes, 5_000) == bytes, "{from:?}");
        }
    }
}

/// The megabyte that a host began to send arrives.
fn delivers(net: &mut Net, from: End, streams: [(usize, usize); 2]) {
    let to = if from == End::A { End::B } else { End::A };
    assert!(rest(net, to, streams[to as usize], 1_000_000) == content(1_000_000), "{from:?}");
}

/// The first of two links is cut.
fn second_carries_on(net: &mut Net, from: End, streams: [(usize, usize); 2]) {
    net.report(End::A, Input::PathDown(0));
    net.works[0] = false;
    delivers(net, from, streams);
    net.carries(streams);
}

fn two() -> Net {
    Net::new(&[wire(20, 10, 0.0), wire(20, 10, 0.0)])
}

/// The second link comes up when the stream is open, and then the first is cut. What it had in
/// flight is too large for the second.
#[test]
fn a_stream_uses_a_path_of_a_smaller_mtu_that_comes_up_later() {
    for from in [End::A, End::B] {
        let mut net = two();
        net.mtus[1] = [1400; 2];
        net.report(End::A, Input::PathDown(1));
        net.ms(300);
        let streams = net.open();
        start(&mut net, from, streams[from as usize], &content(1_000_000));
        net.report(End::A, Input::PathUp(route(1)));
        net.ms(25);
        second_carries_on(&mut net, from, streams);
    }
}

/// A link has another address, behind a tunnel.
#[test]
fn a_stream_uses_a_path_that_comes_back_with_a_smaller_mtu() {
    for from in [End::A, End::B] {
        let mut net = two();
        net.ms(300);
        let streams = net.open();
        start(&mut net, from, streams[from as usize], &content(1_000_000));
        net.mtus[1] = [1300; 2];
        net.report(End::A, Input::PathUp(route(1)));
        net.ms(1_000);
        second_carries_on(&mut net, from, streams);
    }
}

/// Packets vanish without a report, as in a tunnel on the way.
#[test]
fn a_stream_goes_on_when_the_mtu_of_its_path_falls() {
    for from in [End::A, End::B] {
        let mut net = Net::new(&[wire(20, 10, 0.0)]);
        net.ms(300);
        let streams = net.open();
        start(&mut net, from, streams[from as usize], &content(1_000_000));
        net.mtus[0] = [1400; 2];
        delivers(&mut net, from, streams);
        let again = net.open();
        net.carries(again);
    }
}

/// Large packets of the one end vanish, and those of the other arrive.
#[test]
fn a_stream_goes_on_when_the_mtu_falls_in_one_direction() {
    for narrow in [End::A, End::B] {
        let mut net = Net::new(&[wire(20, 10, 0.0)]);
        net.ms(300);
        let streams = net.open();
        start(&mut net, narrow, streams[narrow as usize], &content(1_000_000));
        net.mtus[0][narrow as usize] = 1400;
        delivers(&mut net, narrow, streams);
        let again = net.open();
        net.carries(again);
    }
}

impl Net {
    /// Segments in which a host sends bytes of a stream, if none is lost.
    fn segments(&mut self, from: End, streams: [(usize, usize); 2]) -> u64 {
        let (session, stream) = streams[from as usize];
        let sent = |net: &mut Self| match net.host(from).report(session, stream) {
            Some((CarrierReport::Shake { stats, .. }, _)) => stats.segments,
            other => panic!("{other:?}"),
        };
        let (before, bytes) = (sent(self), content(500_000));
        assert!(self.carry(from, streams, &bytes, 5_000) == bytes, "{from:?}");
        sent(self) - before
    }
}

/// After a fall, the question for the true MTU is lost and one for a smaller answered. A path takes
/// 1403 bytes in packets of 1500, and 1303 in those of 1400.
#[test]
fn segments_grow_when_the_path_has_shown_a_larger_mtu() {
    for from in [End::A, End::B] {
        let mut net = Net::new(&[wire(20, 10, 0.0)]);
        net.ms(300);
        let streams = net.open();
        net.mtus[0] = [1400; 2];
        let latest = net.now + Duration::from_secs(20);
        while net.client.paths(net.now, streams[0].0)[0].mtu != Some(1400) {
            assert!(net.step(latest), "the fall is not found");
        }
        net.mtus[0] = [1500; 2];
        net.ms(5_000);
        assert_eq!(net.client.paths(net.now, streams[0].0)[0].mtu, Some(1500));
        assert!(net.segments(from, streams) >= 384, "they may have to shrink again");
        net.ms(15_000);
        assert!(net.segments(from, streams) < 370);
    }
}

/// A path of a smaller MTU comes and goes every few seconds: segments in flight are not cut each
/// time.
#[test]
fn segments_stay_small_while_a_path_of_a_smaller_mtu_comes_and_goes() {
    let mut net = two();
    net.mtus[1] = [1400; 2];
    net.ms(300);
    let streams = net.open();
    for _ in 0..5 {
        net.report(End::A, Input::PathDown(1));
        net.ms(4_000);
        assert!(net.segments(End::B, streams) >= 384);
        net.report(End::A, Input::PathUp(route(1)));
        net.ms(2_000);
    }
    net.report(End::A, Input::PathDown(1));
    net.ms(15_000);
    for from in [End::A, End::B] {
        assert!(net.segments(from, streams) < 370, "{from:?}");
    }
}

/// From the start, and for a path that joins a stream later.
#[test]
fn a_stream_uses_a_path_whose_mtu_is_smaller_in_one_direction() {
    for narrow in [End::A, End::B] {
        let mut net = two();
        net.mtus[1][narrow as usize] = 1300;
        net.report(End::A, Input::PathDown(1));
        net.ms(300);
        let streams = net.open();
        start(&mut net, narrow, streams[narrow as usize], &content(1_000_000));
        net.report(End::A, Input::PathUp(route(1)));
        net.ms(25);
        second_carries_on(&mut net, narrow, streams);
    }
}

/// A fifth of the questions or of their answers is lost, at random.
#[test]
fn an_mtu_outlives_random_loss() {
    let mut net = Net::new(&[wire(20, 10, 0.1)]);
    net.ms(3_000);
    let streams = net.open();
    for _ in 0..300 {
        net.ms(1_000);
        assert_eq!(net.client.paths(net.now, streams[0].0)[0].mtu, Some(1500), "{:?}", net.now);
    }
}

/// A peer claims a smaller MSS with each question, one byte at a time. The segments in flight are
/// cut only to the payloads of the MTUs that a path is asked for, of both versions of IP.
#[test]
fn claims_of_ever_smaller_segments_cut_few() {
    let mut net = Net::new(&[wire(20, 10, 0.0)]);
    net.ms(300);
    let streams = net.open();
    net.works[0] = false;
    start(&mut net, End::B, streams[1], &content(1_000_000));
    let (now, (session, stream)) = (net.now, streams[1]);
    let mut sizes = std::collections::BTreeSet::new();
    for mss in (1..=1_500).rev() {
        net.server.with(session, |open| {
            open.take_peer_mss(now, mss);
            sizes.insert(open.streams[stream].mss);
        });
    }
    assert!(sizes.len() <= 6, "{sizes:?}");
    net.works[0] = true;
    delivers(&mut net, End::B, streams);
}
