//! Once its buffers are there the loop takes no memory for a packet.

use crate::common::{SERVER, drive, ends, options, send, udp, wire};
use fairwave_emulator::drive::{Offload, Turn};
use std::ops::ControlFlow;

/// Allocations of a run in which so many packets cross.
fn allocations(packets: u64) -> u64 {
    let world = wire();
    let (ends, [sta, server]) = ends(Offload::Off);
    let packet = udp(SERVER, 1, 1200);
    let mut buffer = vec![0; 2048];
    let mut on_turn = |turn: &Turn<'_>| {
        if turn.ends[1].packets_out == packets {
            return ControlFlow::Break(());
        }
        if turn.ends[0].packets_in < packets {
            send(&sta, &packet);
        }
        while rustix::io::read(&server, &mut buffer[..]).is_ok() {}
        ControlFlow::Continue(())
    };
    let mut out = 0;
    let counted = allocation_counter::measure(|| {
        out = drive(&world, ends, options(), &mut on_turn).ends[1].packets_out;
    });
    assert_eq!(out, packets);
    counted.count_total
}

#[test]
fn more_packets_take_no_more_allocations() {
    let seen = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(seen.count_total, 1, "the counter counts");
    let (few, many) = (allocations(200), allocations(2200));
    assert_eq!(few, many);
}
