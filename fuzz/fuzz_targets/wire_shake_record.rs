//! Datagrams of SHAKE's sessions and the frames in them: what parses is written again as it was.

#![no_main]

use fairwave_wire::shake::record::{Datagram, Frame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(datagram) = Datagram::parse(bytes) {
        let mut out = Vec::new();
        datagram.write(&mut out);
        assert_eq!(out, bytes);
    }
    if let Ok(frame) = Frame::parse(bytes) {
        let mut out = Vec::new();
        frame.write(&mut out).expect("what parses can be written");
        assert_eq!(out, bytes);
    }
});
