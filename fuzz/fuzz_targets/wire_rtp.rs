//! RTP and its feedback: any parsed packet can be written, and then parses to the same.

#![no_main]

use fairwave_wire::rtp::{Feedback, HEADER_LEN, Header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((header, payload)) = Header::parse(bytes) {
        assert!(payload.len() <= bytes.len());
        let numbered =
            Header { transport_sequence: header.transport_sequence.or(Some(0)), ..header };
        let again: [u8; HEADER_LEN] = numbered.bytes();
        assert_eq!(Header::parse(&again), Ok((numbered, &[][..])));
    }
    let Ok((feedback, rest)) = Feedback::parse(bytes) else { return };
    assert!(bytes.ends_with(rest));
    let mut again = Vec::new();
    feedback.write(&mut again).expect("no more than can be told was read");
    assert_eq!(Feedback::parse(&again), Ok((feedback, &[][..])));
});
