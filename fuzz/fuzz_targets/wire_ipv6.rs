//! IPv6 datagrams with extension headers: the receiver's parser and the analyser's give the same
//! result, and it can be written again.

#![no_main]

use fairwave_wire::{ip, ipv6};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((header, payload)) = ipv6::parse(bytes) else { return };
    assert_eq!(payload.len(), header.payload_len as usize);
    let captured = ip::parse(bytes, 0).expect("a receiver accepted it");
    let ends = (header.source.into(), header.destination.into());
    assert_eq!((captured.source, captured.destination), ends);
    assert_eq!((captured.traffic_class, captured.hops), (header.traffic_class, header.hops));
    let mut out = Vec::new();
    header.write(&mut out).expect("what was read is legal");
    out.extend(payload);
    // Without the extensions, the next header may again be one that the parser skips.
    if !matches!(header.protocol, 0 | 43 | 44 | 60) {
        assert_eq!(ipv6::parse(&out), Ok((header, payload)));
    }
});
