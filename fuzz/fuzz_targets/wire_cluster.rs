//! Frames between a lender and a borrower: what parses is written again as it was.

#![no_main]

use fairwave_wire::cluster::Frame;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(frame) = Frame::parse(bytes) {
        let mut out = Vec::new();
        frame.write(&mut out);
        assert_eq!(out, bytes);
    }
});
