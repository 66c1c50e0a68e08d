//! PSH on the last of the segments that leave together (Linux, `__tcp_transmit_skb`).

use crate::script::{SEG, Script, config};
use fairwave_tcp::{Config, Input, Segment, Virtual};

fn pushes(sent: &[Segment<Virtual>]) -> Vec<bool> {
    sent.iter().map(|segment| segment.header.flags.psh).collect()
}

/// What leaves of 20 segments at once, for an ACK of one and for an ACK of two: a window of ten in
/// congestion avoidance, 100 ms of round trip. By hand: 1.2 times ten segments in 100 ms are 117
/// bytes in a 1024th of a second, so that a packet has the least number of segments, two.
fn pushed(psh_each_burst: bool) -> [Vec<bool>; 3] {
    let config = Config { psh_each_burst, initial_ssthresh: Some(10 * SEG), ..config() };
    let mut script = Script::established(config, "newreno");
    let first = pushes(&script.input(Input::Write(Virtual(20 * SEG))));
    script.after(100);
    let [one, two] = [1, 3].map(|n| {
        let mut header = script.header(crate::script::ACK);
        header.ack = header.ack + n * SEG;
        pushes(&script.arrive(header, 0))
    });
    [first, one, two]
}

#[test]
fn pairs_end_with_psh_and_lone_segments_have_none() {
    let pairs: Vec<bool> = [false, true].repeat(5);
    assert_eq!(pushed(true), [pairs, vec![false], vec![false, true]]);
    assert_eq!(pushed(false), [vec![false; 10], vec![false], vec![false; 2]]);
}

/// The data written ends with PSH in any case.
#[test]
fn what_was_written_ends_with_psh() {
    for psh_each_burst in [false, true] {
        let mut script = Script::established(Config { psh_each_burst, ..config() }, "newreno");
        let sent = script.input(Input::Write(Virtual(3 * SEG)));
        assert_eq!(pushes(&sent), [false, psh_each_burst, true]);
    }
}
