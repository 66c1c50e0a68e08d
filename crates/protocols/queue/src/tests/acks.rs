//! Policies for ACKs: what may be dropped, who is served, what windows become.

use crate::testing::{Thing, ack, drain, dropped, full, ms};
use crate::{AckFilter, AckSplit, Discipline, DropTail, Limit, WindowClamp};
use fairwave_trace::DropCause::{AckFiltered, QueueFull};
use fairwave_units::{Bytes, Duration, Instant, Seq32};
use fairwave_wire::tcp;

const NOW: Instant = Instant::ZERO;

fn filter(items: impl IntoIterator<Item = Thing>) -> AckFilter<Thing> {
    let mut queue = AckFilter::new(Limit::Packets(100));
    items.into_iter().for_each(|item| queue.push(NOW, item));
    queue
}

fn with_header(mut thing: Thing, change: impl Fn(&mut tcp::Header)) -> Thing {
    if let Some((header, _)) = &mut thing.tcp {
        change(header);
    }
    thing
}

#[test]
fn a_later_ack_takes_the_place_of_an_older_one() {
    // The first ACK of a flow might repeat one from before: it stays.
    let mut queue = filter([ack(0, 1, 100), ack(1, 1, 200), full(2, 7), ack(3, 1, 300)]);
    assert_eq!(dropped(&mut queue), [(1, AckFiltered)]);
    assert_eq!(drain(&mut queue, NOW), [0, 3, 2]);
}

#[test]
fn acks_of_other_flows_are_left_alone() {
    let mut queue = filter([ack(0, 1, 100), ack(1, 1, 200), ack(2, 2, 100), ack(3, 2, 200)]);
    assert_eq!(dropped(&mut queue), []);
    assert_eq!(drain(&mut queue, NOW), [0, 1, 2, 3]);
}

#[test]
fn an_ack_that_left_is_not_replaced() {
    let mut queue = filter([ack(0, 1, 100), ack(1, 1, 200)]);
    assert_eq!(drain(&mut queue, NOW), [0, 1]);
    // Its place is free, and another flow's packet takes it.
    [full(2, 7), full(3, 7), ack(4, 1, 300)].into_iter().for_each(|item| queue.push(NOW, item));
    assert_eq!(dropped(&mut queue), []);
    assert_eq!(drain(&mut queue, NOW), [2, 3, 4]);
}

#[test]
fn duplicate_acks_stay_and_are_not_overtaken() {
    let mut queue =
        filter([ack(0, 1, 100), ack(1, 1, 200), ack(2, 1, 200), ack(3, 1, 200), ack(4, 1, 300)]);
    assert_eq!(dropped(&mut queue), []);
    assert_eq!(drain(&mut queue, NOW), [0, 1, 2, 3, 4]);
}

#[test]
fn old_acks_that_come_late_drop_nothing() {
    let mut queue = filter([ack(0, 1, 100), ack(1, 1, 300), ack(2, 1, 200)]);
    assert_eq!(dropped(&mut queue), []);
}

#[test]
fn acknowledgement_numbers_wrap() {
    let mut queue = filter([ack(0, 1, u32::MAX - 9), ack(1, 1, u32::MAX), ack(2, 1, 5)]);
    assert_eq!(dropped(&mut queue), [(1, AckFiltered)]);
}

#[test]
fn segments_that_say_more_than_a_number_stay() {
    let mut sack = tcp::SackBlocks::default();
    assert!(sack.push(Seq32(500), Seq32(600)));
    type Change<'c> = &'c dyn Fn(&mut tcp::Header);
    let changes: [(&str, Change<'_>); 7] = [
        ("sack", &|h| h.options.sack = sack),
        ("ece", &|h| h.flags.ece = true),
        ("cwr", &|h| h.flags.cwr = true),
        ("urg", &|h| h.flags.urg = true),
        ("syn", &|h| h.flags.syn = true),
        ("fin", &|h| h.flags.fin = true),
        ("rst", &|h| h.flags.rst = true),
    ];
    for (name, change) in changes {
        let special = with_header(ack(1, 1, 200), change);
        let mut queue = filter([ack(0, 1, 100), special.clone(), ack(2, 1, 300)]);
        assert_eq!(dropped(&mut queue), [], "{name} was dropped");
        // Nor does one of these drop an ordinary ACK before it.
        let special = Thing { id: 2, ..with_header(ack(2, 1, 300), change) };
        let mut queue = filter([ack(0, 1, 100), ack(1, 1, 200), special]);
        assert_eq!(dropped(&mut queue), [], "{name} dropped another");
    }
    let mut data = ack(1, 1, 200);
    data.tcp = data.tcp.map(|(header, _)| (header, 1460));
    assert_eq!(dropped(&mut filter([ack(0, 1, 100), data, ack(2, 1, 300)])), []);
}

#[test]
fn a_replacement_needs_no_room_and_others_do() {
    let mut queue = AckFilter::new(Limit::Packets(2));
    [ack(0, 1, 100), ack(1, 1, 200)].into_iter().for_each(|item| queue.push(NOW, item));
    queue.push(NOW, full(2, 7));
    queue.push(NOW, ack(3, 1, 300));
    assert_eq!(dropped(&mut queue), [(2, QueueFull), (1, AckFiltered)]);
    assert_eq!((queue.len(), queue.bytes()), (2, Bytes(80)));
}

#[test]
fn an_ack_that_passed_an_empty_queue_makes_its_repetition_a_duplicate() {
    let mut queue = filter([]);
    assert!(queue.pass(NOW, ack(0, 1, 100)).is_some());
    assert!(queue.pass(NOW, ack(1, 1, 200)).is_some());
    [ack(2, 1, 200), ack(3, 1, 300)].into_iter().for_each(|item| queue.push(NOW, item));
    assert_eq!(dropped(&mut queue), [], "2 is a duplicate ACK");
}

/// The case for replacing in place. The queue is always long: each time a packet leaves, one of
/// another flow and a newer ACK arrive. At the tail no ACK would ever leave.
#[test]
fn a_flow_whose_acks_come_faster_than_the_queue_moves_is_still_heard() {
    let mut queue = filter((0..50).map(|id| full(id, 7)));
    queue.push(NOW, ack(1000, 1, 100));
    let mut received = 0;
    for round in 0..200 {
        queue.push(NOW, ack(2000 + round, 1, 200 + round as u32));
        queue.push(NOW, full(3000 + round, 7));
        received += u32::from(queue.pop(NOW).is_some_and(|thing| thing.flow == 1));
    }
    // Once in 51 packets at the latest: 50 others wait before each ACK that joins.
    assert!(received >= 3, "{received} ACKs in 200 packets");
}

#[test]
fn split_queues_are_served_by_turns() {
    let mut queue = AckSplit::new(Limit::Packets(3), Limit::Packets(3));
    (0..5).for_each(|id| queue.push(NOW, full(id, 1)));
    (10..15).for_each(|id| queue.push(NOW, ack(id, 1, id as u32)));
    let refused = [3, 4, 13, 14].map(|id| (id, QueueFull));
    assert_eq!(dropped(&mut queue), refused);
    assert_eq!((queue.len(), queue.bytes()), (6, Bytes(3 * 1540)));
    assert_eq!(drain(&mut queue, NOW), [10, 0, 11, 1, 12, 2]);
}

#[test]
fn a_split_queue_alone_is_served_always() {
    let mut queue = AckSplit::new(Limit::Packets(9), Limit::Packets(9));
    (0..3).for_each(|id| queue.push(NOW, full(id, 1)));
    assert_eq!(drain(&mut queue, NOW), [0, 1, 2]);
    (0..2).for_each(|id| queue.push(NOW, full(id, id as u16)));
    (2..4).for_each(|id| queue.push(NOW, ack(id, 1, id as u32)));
    let to = |queue: &mut AckSplit<Thing>| queue.pop_to(NOW, 1).map(|thing| thing.id);
    let order = [to(&mut queue), to(&mut queue), to(&mut queue), to(&mut queue)];
    assert_eq!(order, [Some(2), Some(1), Some(3), None], "0 is for another receiver");
}

/// A SYN, or the SYN-ACK from the other side.
fn syn(flow: u16, back: bool, mss: u16, scale: Option<u8>) -> Thing {
    let mut thing = with_header(ack(0, flow, 0), |header| {
        header.flags.syn = true;
        (header.options.mss, header.options.window_scale) = (Some(mss), scale);
    });
    thing.back = back;
    thing
}

fn window(queue: &mut WindowClamp<Thing>, now: Instant, flow: u16, back: bool) -> u16 {
    let mut item = Thing { back, ..ack(1, flow, 1) };
    queue.beside(now, &mut item);
    item.tcp.map_or(0, |(header, _)| header.window)
}

fn clamp(packets: u32) -> WindowClamp<Thing> {
    WindowClamp::new(Limit::Packets(packets), Duration::from_secs(10))
}

#[test]
fn windows_are_a_share_of_the_buffer_in_segments() {
    let mut queue = clamp(40);
    for flow in 0..3 {
        queue.push(NOW, syn(flow, false, 1460, None));
        queue.beside(NOW, &mut syn(flow, true, 1400, None));
    }
    // floor(40 / 3) = 13 segments of the lesser MSS: 18200 bytes.
    assert_eq!(window(&mut queue, NOW, 0, false), 13 * 1400);
    assert_eq!(window(&mut queue, NOW, 0, true), 13 * 1400);
    // A window that is smaller anyway stays.
    let mut small = with_header(ack(1, 0, 1), |header| header.window = 1000);
    queue.beside(NOW, &mut small);
    assert_eq!(small.tcp.map(|(header, _)| header.window), Some(1000));
}

#[test]
fn scaled_windows_are_clamped_in_their_scale() {
    let mut queue = clamp(100);
    queue.beside(NOW, &mut syn(1, false, 1460, Some(7)));
    queue.beside(NOW, &mut syn(1, true, 1460, Some(4)));
    // 146000 bytes: 1140 units of 128 bytes, 9125 of 16.
    assert_eq!(window(&mut queue, NOW, 1, false), 1140);
    assert_eq!(window(&mut queue, NOW, 1, true), 9125);
    // Scaling counts only where both sides offered it (RFC 7323 section 2.2).
    queue.beside(NOW, &mut syn(2, false, 1460, Some(7)));
    queue.beside(NOW, &mut syn(2, true, 1460, None));
    assert_eq!(window(&mut queue, NOW, 2, false), 65_535, "50 segments are more");
}

#[test]
fn connections_that_fall_silent_leave_their_share() {
    let mut queue = clamp(20);
    for flow in 0..4 {
        queue.beside(NOW, &mut syn(flow, false, 1000, None));
        queue.beside(NOW, &mut syn(flow, true, 1000, None));
    }
    assert_eq!(window(&mut queue, ms(1_000), 0, false), 5_000);
    assert_eq!(window(&mut queue, ms(10_000), 0, false), 5_000, "10 s after the SYNs");
    assert_eq!(window(&mut queue, ms(10_001), 0, false), 20_000, "the others fell silent");
}

/// A connection that was silent does not count, but is clamped when it continues.
#[test]
fn a_connection_that_was_silent_is_clamped_again() {
    let mut queue = clamp(20);
    for flow in 0..2 {
        queue.beside(NOW, &mut syn(flow, false, 1000, None));
        queue.beside(NOW, &mut syn(flow, true, 1000, None));
    }
    assert_eq!(window(&mut queue, ms(11_000), 0, false), 20_000);
    assert_eq!(window(&mut queue, ms(11_001), 1, false), 10_000);
}

#[test]
fn more_connections_than_packets_get_a_segment_each() {
    let mut queue = clamp(2);
    for flow in 0..5 {
        queue.beside(NOW, &mut syn(flow, false, 1000, Some(2)));
        queue.beside(NOW, &mut syn(flow, true, 1000, Some(2)));
    }
    assert_eq!(window(&mut queue, NOW, 0, false), 250, "1000 bytes in units of four");
}

#[test]
fn a_connection_whose_syns_were_not_seen_is_left_alone_and_counts() {
    let mut queue = clamp(10);
    assert_eq!(window(&mut queue, NOW, 1, false), 65_535);
    queue.beside(NOW, &mut syn(2, false, 1000, None));
    assert_eq!(window(&mut queue, NOW, 2, false), 65_535, "one of the SYNs");
    queue.beside(NOW, &mut syn(2, true, 1000, None));
    assert_eq!(window(&mut queue, NOW, 2, false), 5_000);
}

#[test]
fn a_full_clamped_queue_drops_at_its_tail() {
    let mut queue = clamp(2);
    (0..3).for_each(|id| queue.push(NOW, full(id, 1)));
    assert_eq!(dropped(&mut queue), [(2, QueueFull)]);
    let mut plain = DropTail::new(Limit::Packets(2));
    (0..3).for_each(|id| plain.push(NOW, full(id, 1)));
    assert_eq!(drain(&mut queue, NOW), drain(&mut plain, NOW));
}
