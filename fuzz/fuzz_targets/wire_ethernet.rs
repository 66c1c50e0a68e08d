//! Ethernet with any payload: a parsed frame is written back to the same bytes.

#![no_main]

use fairwave_wire::{datagram, ethernet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((header, rest)) = ethernet::parse(bytes) else { return };
    let mut out = Vec::new();
    header.write(&mut out);
    out.extend(rest);
    assert_eq!(out, bytes);
    if header.ether_type == ethernet::EtherType::IPV4 {
        let _ = datagram::parse(rest);
    }
});
