//! Frames of any link, with any bytes, and tunnels in them.
#![no_main]

use fairwave_wire::pcapng::LinkType;
use fairwave_wire::{ip, link, tunnel};
use libfuzzer_sys::fuzz_target;

/// Every supported link type, and one that is not supported.
const LINKS: [u16; 23] = [
    0, 1, 12, 14, 101, 105, 108, 113, 127, 228, 229, 276, 147, 9, 50, 51, 104, 119, 163, 166, 192,
    204, 239,
];

fuzz_target!(|input: (u8, u32, &[u8])| {
    let (which, original_len, bytes) = input;
    let link = LinkType::from_number(LINKS[usize::from(which) % LINKS.len()]);
    if let Some(sent) = link::transmission(link, bytes, original_len) {
        let _ = sent.rate.map(|rate| rate.time(sent.len));
    }
    let Ok(frame) = link::open(link, bytes, original_len) else { return };
    for captured in frame.packets() {
        assert!(captured.bytes.len() <= bytes.len());
        assert!(captured.bytes.len() as u64 <= u64::from(captured.wire_len));
        if let Ok(packet) = ip::parse(captured.bytes, captured.wire_len) {
            packet.checksum();
            let _ = packet.lengthened(original_len);
            if tunnel::inner(&packet).is_none() {
                continue;
            }
            for within in tunnel::packets(captured).1 {
                assert!(within.bytes.len() <= captured.bytes.len());
                assert!(within.bytes.len() as u64 <= u64::from(within.wire_len));
            }
        }
    }
});
