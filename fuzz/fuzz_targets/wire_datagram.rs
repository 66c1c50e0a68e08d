//! IPv4 with TCP or UDP: any parsed datagram can be written and then parses to the same value.
//!
//! A fuzzer cannot guess checksums, so they are corrected before the parse.

#![no_main]

use fairwave_wire::{datagram, tcp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = datagram::parse(bytes);
    let mut bytes = bytes.to_vec();
    mend(&mut bytes);
    let Ok((value, payload)) = datagram::parse(&bytes) else { return };
    assert_eq!(payload.len(), value.payload_len as usize);
    let mut out = Vec::new();
    match value.write(&mut out) {
        Ok(()) => {
            let (read, payload) = datagram::parse(&out).expect("what is written is legal");
            assert_eq!(read, value);
            assert_eq!(read.first_mismatch(payload), None);
        }
        // Options that were packed more tightly than in our layout may not fit into it, and a
        // segment of the maximum size may become too long.
        Err(datagram::Error::Tcp(tcp::Error::OptionsLength { .. })) => {
            assert!(out.is_empty());
        }
        Err(error) => assert!(value.wire_len() > 65_535, "{error}"),
    }
});

/// Corrects the checksums, if there are any.
fn mend(bytes: &mut [u8]) {
    let Some(&first) = bytes.first() else { return };
    let header_len = usize::from(first & 0xf) * 4;
    if header_len < 20 || bytes.len() < header_len {
        return;
    }
    let total = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
    let sum = checksum(0, &bytes[..10]) + checksum(0, &bytes[12..header_len]);
    bytes[10..12].copy_from_slice(&fold(sum).to_be_bytes());
    let pseudo = checksum(u64::from(bytes[9]), &bytes[12..20]);
    let Some(segment) = bytes.get_mut(header_len..total) else { return };
    if let Some(field) = segment.get_mut(16..18) {
        field.fill(0);
        let sum = checksum(pseudo + segment.len() as u64, segment);
        segment[16..18].copy_from_slice(&fold(sum).to_be_bytes());
    }
}

fn checksum(start: u64, bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).fold(start, u64::wrapping_add)
}

fn fold(sum: u64) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    !(((once & 0xffff) + (once >> 16)) as u16)
}
