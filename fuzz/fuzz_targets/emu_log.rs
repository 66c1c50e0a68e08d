//! Records of emulated runs: any bytes yield entries and at most one error.

#![no_main]

use fairwave_emulator::log::{Reader, Record};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    let mut last = reader.until();
    while let Ok(Some(record)) = reader.read() {
        let (Record::Packet { at, .. } | Record::Control { at, .. } | Record::End { at, .. }) =
            record;
        assert!(at >= last, "time goes backwards");
        last = at;
    }
});
