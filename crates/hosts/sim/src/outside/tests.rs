//! Packets from outside: each handle comes back once.

use super::*;
use fairwave_units::Duration;
use proptest::prelude::*;

const HERE: NodeId = NodeId(0);
const THERE: NodeId = NodeId(2);
const BETWEEN: NodeId = NodeId(1);

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn packet(handle: u64) -> OutsidePacket {
    let category = AccessCategory::Voice;
    OutsidePacket::opaque(handle, HERE, THERE, category, (1, 2), 1000)
}

fn events(outside: &mut Outside) -> Vec<(u64, OutsideFate)> {
    core::iter::from_fn(|| outside.take()).map(|event| (event.handle, event.fate)).collect()
}

#[test]
fn an_opaque_packet_is_as_long_as_it_says() {
    assert_eq!(packet(0).datagram.wire_len(), 1000);
    let short = OutsidePacket::opaque(0, HERE, THERE, AccessCategory::Voice, (1, 2), 20);
    assert_eq!(short.datagram.wire_len(), 28);
}

#[test]
fn a_handle_comes_back_with_its_end() {
    let mut outside = Outside::default();
    let first = outside.enter(&packet(7), at(0));
    let second = outside.enter(&packet(8), at(0));
    assert!(outside.passes(&first, BETWEEN));
    outside.dropped(&second, DropCause::QueueFull, at(1));
    outside.arrives(&first, at(2));
    let lost = OutsideFate::Lost(DropCause::QueueFull);
    let arrived = OutsideFate::Arrived(first.datagram);
    assert_eq!(events(&mut outside), [(8, lost), (7, arrived)]);
    assert!(!outside.passes(&first, THERE), "it has ended");
    assert_eq!(category(&first), AccessCategory::Voice, "its radio is done with it later");
}

#[test]
fn a_place_that_is_used_again_is_another_packets() {
    let mut outside = Outside::default();
    let old = outside.enter(&packet(1), at(0));
    outside.arrives(&old, at(1));
    let new = outside.enter(&packet(2), at(1));
    assert_eq!(old.number, new.number);
    outside.sent(&old, HERE, at(2));
    outside.arrives(&old, at(2));
    outside.end_unheld(|_, _| false);
    assert_eq!(events(&mut outside).len(), 1, "the old one, once");
    assert!(outside.passes(&new, BETWEEN));
}

/// A radio gave it up, and its receiver had it: it is not lost.
#[test]
fn what_was_given_up_may_still_arrive() {
    let mut outside = Outside::default();
    let (seen, held, gone) = (packet(1), packet(2), packet(3));
    let [seen, held, gone] = [seen, held, gone].map(|packet| outside.enter(&packet, at(0)));
    assert!(outside.passes(&seen, BETWEEN), "it was decoded before the radio gave it up");
    for packet in [&seen, &held, &gone] {
        outside.sent(packet, HERE, at(1));
        outside.dropped(packet, DropCause::RetryLimit, at(1));
    }
    assert_eq!(events(&mut outside), [], "more may happen at this time");
    outside.end_unheld(|number, _| number == held.number);
    let lost = OutsideFate::Lost(DropCause::RetryLimit);
    assert_eq!(events(&mut outside), [(3, lost)]);
    assert!(outside.passes(&held, BETWEEN), "it had been held back");
    outside.end_unheld(|_, _| false);
    outside.arrives(&seen, at(5000));
    outside.arrives(&held, at(5000));
    outside.arrives(&gone, at(5000));
    assert_eq!(events(&mut outside).len(), 2);
}

proptest! {
    /// Whatever happens to packets and to stale copies of them, no handle comes back twice, and
    /// none is forgotten.
    #[test]
    fn every_handle_comes_back_once(steps in prop::collection::vec((0..7u8, 0..8usize), 1..400)) {
        let mut outside = Outside::default();
        let (mut packets, mut back): (Vec<Packet>, Vec<u64>) = Default::default();
        let mut now = Instant::ZERO;
        for (step, which) in steps {
            now += Duration::from_millis(1);
            if step == 0 || packets.is_empty() {
                packets.push(outside.enter(&packet(packets.len() as u64), now));
                continue;
            }
            let copy = packets[packets.len().saturating_sub(1 + which)];
            match step {
                1 => drop(outside.passes(&copy, BETWEEN)),
                2 => outside.sent(&copy, BETWEEN, now),
                3 => outside.dropped(&copy, DropCause::QueueFull, now),
                4 => outside.arrives(&copy, now),
                5 => outside.end_unheld(|number, _| number % 3 == 0),
                _ => back.extend(outside.take().map(|event| event.handle)),
            }
        }
        for copy in &packets {
            outside.dropped(copy, DropCause::NoRoute, now);
        }
        back.extend(core::iter::from_fn(|| outside.take()).map(|event| event.handle));
        back.sort_unstable();
        prop_assert_eq!(back, (0..packets.len() as u64).collect::<Vec<_>>());
    }
}
