//! 802.11: any parsed frame is written, with a correct check sequence, to an equal one.

#![no_main]

use fairwave_wire::{datagram, dot11};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = dot11::strip_fcs(bytes);
    let Ok((frame, payload)) = dot11::parse(bytes) else { return };
    if matches!(frame, dot11::Frame::Data(_)) {
        let _ = datagram::parse(payload);
    }
    if matches!(frame, dot11::Frame::Amsdu(_)) {
        for (_, payload) in dot11::subframes(payload).flatten() {
            let _ = datagram::parse(payload);
        }
    }
    let mut out = Vec::new();
    dot11::on_air(&frame, &mut out);
    let stripped = dot11::strip_fcs(&out).expect("our own check sequence");
    assert_eq!(dot11::parse(stripped), Ok((frame, &[][..])));
});
