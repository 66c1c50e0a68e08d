//! The loop: what goes in comes out, and what cannot is counted.

use crate::common::{self, SERVER, STATION, cell, drive, ends, options, receive, send, udp, wire};
use fairwave_emulator::address;
use fairwave_emulator::drive::{Drive, Error, Inbox, Offload, Options, Stopped, Turn, Way};
use fairwave_emulator::meter::{Limits, Verdict};
use fairwave_emulator::offload::{Gso, HEADER_LEN, Header};
use fairwave_linux::clock::Clock;
use fairwave_trace::{Discard, NodeId};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::ip;
use fairwave_wire::tcp::{self, Flags};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Turns until `done` says so.
fn until(mut done: impl FnMut() -> bool) -> impl FnMut(&Turn<'_>) -> ControlFlow<()> {
    move |_| if done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

#[test]
fn a_packet_crosses_the_cell_and_takes_its_time() {
    let world = cell();
    let (ends, [sta, server]) = ends(Offload::Off);
    send(&sta, &udp(SERVER, 3, 1200));
    let mut came = None;
    let mut on_turn = |turn: &Turn<'_>| {
        came = receive(&server).map(|packet| (packet, turn.now));
        if came.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = drive(&world, ends, options(), &mut on_turn);
    let (packet, at) = came.expect("it came");
    assert_eq!(packet, udp(SERVER, 3, 1200));
    // The link alone takes 1 ms.
    assert!(at >= Instant::ZERO + Duration::from_millis(1), "{at}");
    assert!(matches!(report.stopped, Stopped::Asked));
    let [sta, server] = report.ends[..] else { panic!("two ends") };
    assert_eq!((sta.packets_in, sta.bytes_in, server.packets_out), (1, 1228, 1));
    assert_eq!(report.fidelity.packets.count, 1);
    assert!(report.fidelity.events.count > 2);
}

/// A large segment is cut at one end. On a line without delay all of it arrives at one instant,
/// and is written as one.
#[test]
fn a_large_segment_goes_in_and_comes_out_as_one() {
    let world = wire();
    let (ends, [sta, server]) = ends(Offload::On);
    let header = tcp::Header {
        source_port: 1,
        destination_port: 2,
        seq: Seq32(9),
        flags: Flags { ack: true, psh: true, ..Flags::default() },
        ..tcp::Header::default()
    };
    let (source, destination) = (address::v4(STATION), address::v4(SERVER));
    let transport = Transport::Tcp(header);
    let value =
        Datagram { source, destination, id: 1, ttl: 64, tos: 0, transport, payload_len: 10_000 };
    let mut frame = vec![1, 1];
    for word in [40u16, 1448, 20, 16] {
        frame.extend(word.to_ne_bytes());
    }
    value.write(&mut frame).expect("it fits");
    send(&sta, &frame);
    let mut came = None;
    let report = drive(
        &world,
        ends,
        options(),
        &mut until(|| {
            came = receive(&server);
            came.is_some()
        }),
    );
    let came = came.expect("it came");
    let (header, packet) = Header::parse(&came).expect("a header");
    assert_eq!(header.gso_size, 1448);
    let differs = |at: &usize| packet[*at] != frame[HEADER_LEN + at];
    let differing: Vec<_> = (0..packet.len()).filter(differs).collect();
    assert!(differing.iter().all(|at| (36..38).contains(at)), "but for the sum: {differing:?}");
    assert_eq!(packet.len(), frame.len() - HEADER_LEN);
    assert_eq!((report.ends[0].packets_in, report.ends[1].packets_out), (7, 7));
    assert_eq!(report.fidelity.packets.count, 7);
}

/// The same of datagrams of UDP, which a kernel hands over at once.
#[test]
fn datagrams_go_in_at_once_and_come_out_as_one() {
    let world = wire();
    let (ends, [sta, server]) = ends(Offload::On);
    let mut frame = vec![1, 5];
    for word in [28u16, 1000, 20, 6] {
        frame.extend(word.to_ne_bytes());
    }
    frame.extend(udp(SERVER, 3, 2500));
    send(&sta, &frame);
    let mut came = None;
    let mut arrived = || {
        came = receive(&server);
        came.is_some()
    };
    let report = drive(&world, ends, options(), &mut until(&mut arrived));
    let came = came.expect("it came");
    let (header, packet) = Header::parse(&came).expect("a header");
    assert_eq!((header.gso, header.gso_size), (Gso::Udp, 1000));
    assert_eq!(packet[28..], udp(SERVER, 3, 2500)[28..]);
    assert_eq!((report.ends[0].packets_in, report.ends[1].packets_out), (3, 3));
    assert_eq!(report.fidelity.packets.count, 3, "each has its lateness");
}

#[test]
fn what_is_for_nobody_is_answered() {
    let world = wire();
    let (ends, [sta, _server]) = ends(Offload::Off);
    send(&sta, &udp(NodeId(77), 3, 100));
    send(&sta, &udp(common::AP, 3, 100));
    let mut answers = Vec::new();
    let report = drive(
        &world,
        ends,
        options(),
        &mut until(|| {
            answers.extend(receive(&sta));
            answers.len() == 2
        }),
    );
    for answer in &answers {
        let read = ip::parse(answer, 0).expect("a packet");
        assert_eq!(read.source, address::v4(common::AP), "its router says so");
        assert_eq!(read.destination, address::v4(STATION));
        assert_eq!(read.transport, ip::Transport::Other(1));
    }
    assert_eq!(report.ends[0].unreachable, 2);
}

#[test]
fn a_gateway_gets_what_is_for_no_node() {
    let world = wire();
    let (mut ends, [sta, server]) = ends(Offload::Off);
    ends[0].way = Way::Addressed { gateway: Some(SERVER) };
    let mut packet = udp(NodeId(0), 3, 100);
    packet[16..20].copy_from_slice(&[192, 0, 2, 1]);
    send(&sta, &packet);
    let mut came = None;
    drive(
        &world,
        ends,
        options(),
        &mut until(|| {
            came = receive(&server);
            came.is_some()
        }),
    );
    assert_eq!(came, Some(packet));
}

/// Frames of two interfaces, with the header of a packet socket in front: one with a packet for an
/// address of no node, padded, and one that holds none.
#[test]
fn whole_frames_pass_between_bridged_ends_as_they_are() {
    let world = wire();
    let (mut ends, [one, other]) = ends(Offload::On);
    (ends[0].way, ends[1].way) = (Way::Bridged { to: SERVER }, Way::Bridged { to: STATION });
    let mut packet = udp(NodeId(0), 3, 4);
    // An address of the form of a path's, through a node that does not exist.
    packet[12..16].copy_from_slice(&[10, 128, 0, 100]);
    packet[16..20].copy_from_slice(&[192, 0, 2, 255]);
    let frame = |number: [u8; 2], body: &[u8]| {
        [&[0; HEADER_LEN][..], &[255; 6], &[2, 0, 0, 0, 0, 9], &number, body].concat()
    };
    let whole = [frame([8, 0], &packet), frame([8, 6], &[7; 46])];
    let padded = [&whole[0][..], &[0; 14]].concat();
    send(&one, &padded);
    send(&other, &whole[1]);
    let (mut there, mut back) = (None, None);
    let report = drive(
        &world,
        ends,
        options(),
        &mut until(|| {
            there = there.take().or_else(|| receive(&other));
            back = back.take().or_else(|| receive(&one));
            there.is_some() && back.is_some()
        }),
    );
    assert_eq!(there.as_ref(), Some(&whole[0]), "padding is the next card's business");
    assert_eq!(back.as_ref(), Some(&whole[1]));
    assert_eq!(report.ends.iter().map(|end| end.packets_out).sum::<u64>(), 2);
}

/// 46 datagrams of 1424 bytes, which a kernel hands over at once, make a frame of 65,546 bytes.
#[test]
fn a_bridged_frame_may_be_longer_than_an_ip_packet() {
    let world = wire();
    let (mut ends, [one, _other]) = ends(Offload::On);
    (ends[0].way, ends[1].way) = (Way::Bridged { to: SERVER }, Way::Bridged { to: STATION });
    let mut frame = vec![1, 5];
    for word in [42u16, 1424, 34, 6] {
        frame.extend(word.to_ne_bytes());
    }
    frame.extend([[2; 6], [4; 6]].concat());
    frame.extend([8, 0]);
    frame.extend(udp(SERVER, 3, 46 * 1424));
    assert_eq!(frame.len(), HEADER_LEN + 65_546);
    send(&one, &frame);
    let mut came = 0;
    let report = drive(&world, ends, options(), &mut |turn| {
        came = turn.ends[0].packets_in + turn.ends[0].lost_at_read;
        if came > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((report.ends[0].packets_in, report.ends[0].lost_at_read), (46, 0));
}

/// An end that always has more than is read in a turn: how long that waited nobody knows, but not
/// longer than since the end was empty.
#[test]
fn a_sender_that_is_faster_than_the_loop_makes_a_run_invalid() {
    let world = wire();
    let (ends, [sta, server]) = ends(Offload::Off);
    let options = Options { reads_per_turn: 1, ..options() };
    let limits = Limits { lateness_p99: Duration::from_millis(1), lost: 1.0 };
    let options = Options { limits, ..options };
    let end = Instant::ZERO + Duration::from_millis(20);
    let packet = udp(SERVER, 3, 10);
    let mut on_turn = |turn: &Turn<'_>| {
        while common::try_send(&sta, &packet) {}
        while receive(&server).is_some() {}
        // A turn may wait for a processor longer than until `end`.
        let is_over = turn.now > end && turn.ends[0].packets_in > 200;
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = drive(&world, ends, options, &mut on_turn);
    let reads = report.fidelity.reads;
    assert!(reads.count > 100 && reads.p99 > Duration::from_millis(5), "{reads:?}");
    assert!(matches!(report.verdict(), Verdict::Invalid(_)));
}

/// As many packets as a turn reads, and nothing more until later: none of them waited.
#[test]
fn a_turn_that_reads_all_there_is_leaves_nobody_waiting() {
    let world = wire();
    let (ends, [sta, server]) = ends(Offload::Off);
    let options = Options { reads_per_turn: 1, ..options() };
    let packet = udp(SERVER, 3, 10);
    let (mut sent, mut next) = (0, Instant::ZERO);
    let mut on_turn = |turn: &Turn<'_>| {
        let arrived = turn.ends[1].packets_out;
        while receive(&server).is_some() {}
        if sent == arrived && turn.now >= next {
            send(&sta, &packet);
            (sent, next) = (sent + 1, turn.now + Duration::from_millis(20));
        }
        if arrived == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = drive(&world, ends, options, &mut on_turn);
    let reads = report.fidelity.reads;
    assert_eq!((reads.count, reads.most), (5, Duration::ZERO), "{reads:?}");
}

#[test]
fn what_does_not_enter_is_counted() {
    let world = wire();
    let (ends, [sta, _server]) = ends(Offload::Off);
    let mut broadcast = udp(SERVER, 3, 10);
    broadcast[16..20].copy_from_slice(&[255; 4]);
    send(&sta, &broadcast);
    send(&sta, &[0x45, 0]);
    send(&sta, b"no packet at all");
    let mut on_turn = |turn: &Turn<'_>| match turn.ends[0].packets_in {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let report = drive(&world, ends, options(), &mut on_turn);
    assert_eq!((report.ends[0].multicast, report.ends[0].malformed), (1, 2));
    assert_eq!(report.fidelity.packets_lost, 0, "the emulator is not to blame");
}

/// A program that does not read: the socket takes some packets, and the others are lost, counted
/// and make the run invalid.
#[test]
fn a_full_interface_loses_packets_and_is_told() {
    let world = wire();
    let (ends, [sta, _server]) = ends(Offload::Off);
    let (mut sent, total) = (0, 3000);
    let mut on_turn = |turn: &Turn<'_>| {
        for _ in 0..16 {
            let done = sent == total;
            if !done && rustix::io::write(&sta, &udp(SERVER, 1, 1400)).is_ok() {
                sent += 1;
            }
        }
        let ended = turn.ends[1].packets_out + turn.ends[1].lost_at_write;
        if ended == total { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let limits = Limits { lateness_p99: common::PATIENCE, ..Limits::default() };
    let report = drive(&world, ends, Options { limits, ..options() }, &mut on_turn);
    let lost = report.ends[1].lost_at_write;
    assert!(lost > 0 && report.fidelity.packets_lost == lost);
    let reason = format!("the emulator itself lost {lost} of 3000 packets");
    assert_eq!(report.verdict(), Verdict::Invalid(reason));
}

#[test]
fn packets_under_way_are_bounded() {
    let world = cell();
    let (ends, [sta, _server]) = ends(Offload::Off);
    (0..20).for_each(|id| send(&sta, &udp(SERVER, id, 1000)));
    let mut on_turn = |turn: &Turn<'_>| match turn.ends[0].packets_in {
        20 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let report = drive(&world, ends, Options { max_packets: 5, ..options() }, &mut on_turn);
    let lost = report.ends[0].lost_at_read;
    assert!(lost > 0 && lost <= 15, "{lost}");
}

/// The other side of the station's socket goes away.
#[test]
fn a_vanished_interface_is_named_and_results_are_kept() {
    let world = cell();
    let (ends, [sta, _server]) = ends(Offload::Off);
    let mut sta = Some(sta);
    let report = drive(&world, ends, options(), &mut |_| {
        sta = None;
        ControlFlow::Continue(())
    });
    let Stopped::Failed(error @ Error::Vanished { .. }) = &report.stopped else {
        panic!("{:?}", report.stopped)
    };
    assert!(error.to_string().starts_with("the interface of sta has vanished: "), "{error}");
    assert_eq!(report.verdict(), Verdict::Invalid(error.to_string()));
    assert_eq!(report.outcome.stations.len(), 2);
}

#[test]
fn a_run_ends_in_time_or_when_it_is_told() {
    let world = cell();
    let short = Options { end: Some(Instant::from_nanos(3_000_000)), ..options() };
    let report = drive(&world, Vec::new(), short.clone(), &mut |_| ControlFlow::Continue(()));
    assert!(matches!(report.stopped, Stopped::End));
    assert_eq!(report.outcome.simulated, Duration::from_millis(3));

    let stop = Some(Arc::new(AtomicBool::new(true)));
    let (ends, _programs) = ends(Offload::Off);
    let drive = Drive {
        clock: Clock::start(),
        inbox: Inbox::default(),
        associations: None,
        world: &world,
        ends,
        options: options(),
        record: None,
        stop,
    };
    let report = drive.run(&mut Discard, &mut |_| ControlFlow::Continue(())).expect("it runs");
    assert!(matches!(report.stopped, Stopped::Asked));
}

/// Whatever the machine does: with a limit of nothing a run with events is invalid, and says why.
#[test]
fn a_late_run_is_invalid() {
    let world = cell();
    let limits = Limits { lateness_p99: Duration::ZERO, ..Limits::default() };
    let end = Some(Instant::from_nanos(300_000_000));
    let options = Options { end, limits, measures_host: true, ..options() };
    let report = drive(&world, Vec::new(), options, &mut |_| ControlFlow::Continue(()));
    let Verdict::Invalid(reason) = report.verdict() else { panic!("it is valid") };
    assert!(reason.contains("the limit is 0") && reason.contains("a bare timer"), "{reason}");
    assert!(report.fidelity.reference.is_some_and(|host| host.count > 0));
    assert!(report.fidelity.cpu_load > 0.0);
}

#[test]
fn an_end_needs_a_node_of_its_own() {
    let world = wire();
    let (mut ends, _programs) = ends(Offload::Off);
    ends[1].node = STATION;
    let drive = Drive {
        clock: Clock::start(),
        inbox: Inbox::default(),
        associations: None,
        world: &world,
        ends,
        options: options(),
        record: None,
        stop: None,
    };
    let refused = drive.run(&mut Discard, &mut |_| ControlFlow::Continue(()));
    assert!(refused.is_err());
}
