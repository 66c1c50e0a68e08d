//! Segments of the store of results: any bytes yield a head, records and an end.

#![no_main]

use fairwave_lab::store::record::{self, End, RECORD_HEAD_BYTES};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let mut file = Cursor::new(bytes);
    record::read_head(&mut file).expect("a slice can be read");
    let (records, end, rest) = record::scan(&mut file, 0).expect("a slice can be read");
    assert!(end <= bytes.len() as u64);
    assert_eq!(rest == End::Whole, end == bytes.len() as u64);
    let mut next = 0;
    for found in records {
        assert_eq!(found.offset, next, "records leave no gap");
        next += RECORD_HEAD_BYTES as u64 + u64::from(found.length);
        record::content(&mut file, &found).expect("a slice can be read");
    }
    assert_eq!(next, end);
    // Elsewhere a checksum prevents damaged content from reaching this function.
    record::unpacked(bytes);
});
