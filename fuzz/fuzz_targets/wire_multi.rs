//! Prefaces and block headers: any parsed one is written to the same bytes.

#![no_main]

use fairwave_wire::multi::{Header, Preface};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut out = Vec::new();
    if let Ok((preface, rest)) = Preface::parse(bytes) {
        preface.write(&mut out).expect("what parses can be written");
        assert_eq!([&out[..], rest].concat(), bytes);
    }
    out.clear();
    if let Ok((header, rest)) = Header::parse(bytes) {
        header.write(&mut out).expect("what parses can be written");
        assert_eq!([&out[..], rest].concat(), bytes);
    }
});
