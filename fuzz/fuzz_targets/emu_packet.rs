//! Any frame from a kernel: it is split, described, changed and coalesced again.
//!
//! The first bytes are the header that a TUN device puts in front of a frame.

#![no_main]

use fairwave_emulator::offload::{Header, Joiner, Segments};
use fairwave_emulator::packet;
use libfuzzer_sys::fuzz_target;

/// Enough pieces for a segment of any shape; one of 64 KiB may be split into 65,536 pieces.
const PIECES: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let Some((header, frame)) = Header::parse(bytes) else { return };
    let Ok(mut segments) = Segments::new(&header, frame) else { return };
    let (mut joiner, mut piece) = (Joiner::default(), Vec::new());
    let joins_udp = frame.len() % 2 == 0;
    for _ in 0..PIECES {
        if !segments.next_into(&mut piece) {
            break;
        }
        if let Ok(seen) = packet::describe(&piece, piece.len() as u32) {
            assert!(seen.datagram.wire_len() as usize >= piece.len());
            let mut changed = seen.datagram;
            changed.mark_ce();
            packet::apply(&changed, &mut piece);
        }
        if !joiner.offer(&piece, joins_udp) {
            joiner.take();
        }
    }
    joiner.take();
});
