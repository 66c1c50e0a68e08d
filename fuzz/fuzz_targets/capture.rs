//! Captures of any kind, compressed or not: the reader ends, with little memory, and its report of
//! a damaged capture is correct.

#![no_main]

use fairwave_capture::file::Capture;
use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read};
use std::path::Path;

/// Uncompressed bytes after which a decompression bomb has been read far enough.
const ENOUGH: u64 = 8 << 20;

fuzz_target!(|bytes: Vec<u8>| {
    let input = Cursor::new(bytes).take(1 << 16);
    let Ok(mut capture) = Capture::from_reader(Path::new("fuzz"), input) else { return };
    let mut packets = 0;
    loop {
        match capture.next_packet() {
            Ok(Some(packet)) => {
                packets += 1;
                assert_eq!(packet.number, packets);
                assert!(packet.original_len as usize >= packet.data.len());
            }
            Ok(None) => break,
            Err(_) => return,
        }
        if capture.facts().bytes > ENOUGH {
            return;
        }
    }
    let facts = capture.facts();
    assert_eq!(facts.packets, packets);
    if let Some(broken) = facts.broken {
        assert!(broken.packets == packets && broken.offset <= facts.bytes);
    }
});
