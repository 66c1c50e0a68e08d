//! Radiotap: any parsed header is written to an equal one, with the same frame behind it.

#![no_main]

use fairwave_wire::radiotap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((header, frame)) = radiotap::parse(bytes) else { return };
    assert!(bytes.ends_with(frame));
    let mut out = Vec::new();
    header.write(&mut out);
    out.extend(frame);
    assert_eq!(radiotap::parse(&out), Ok((header, frame)));
});
