//! DCCP packets, bare and inside UDP: any parsed packet can be written and then parses to the same
//! value. An option with a known meaning can be written again and then has the same meaning.
//!
//! A fuzzer cannot guess checksums, so they are corrected before the parse.

#![no_main]

use fairwave_wire::dccp::{self, Items, Options, Runs, Seq48};
use fairwave_wire::ipv4::PROTOCOL_DCCP;
use fairwave_wire::pseudo::Pseudo;
use fairwave_wire::udp;
use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;

const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PSEUDO: Pseudo = Pseudo::V4 { source: SOURCE, destination: DESTINATION };

fuzz_target!(|bytes: &[u8]| {
    let _ = dccp::parse(bytes, PSEUDO);
    let _ = dccp::parse_udp(bytes, PSEUDO);
    let mut bytes = bytes.to_vec();
    mend(&mut bytes);
    let Ok(read) = dccp::parse(&bytes, PSEUDO) else { return };
    options(read.options);
    let options = Options::from_bytes(read.options);
    let mut out = Vec::new();
    read.header.write(&mut out, PSEUDO, &options, read.payload).expect("what was read is legal");
    assert_eq!(dccp::parse(&out, PSEUDO), Ok(read));
    let mut out = Vec::new();
    let ports = udp::Header { source_port: 1, destination_port: dccp::UDP_PORT };
    let written = dccp::write_udp(&mut out, ports, &read.header, PSEUDO, &options, read.payload);
    match written {
        Ok(()) => assert_eq!(dccp::parse_udp(&out, PSEUDO), Ok((ports, read))),
        Err(error) => assert!(bytes.len() > 65_000, "{error}"),
    }
});

/// Writes every option with a known meaning, and checks that it parses to the same.
fn options(bytes: &[u8]) {
    for item in Items::new(bytes) {
        let Ok(value) = item.value() else { continue };
        let mut again = Options::new();
        again.push(value).expect("it came out of an option");
        assert_eq!(again.values().next(), Some(value));
        let _ = Runs::ack_vector(Seq48::ZERO, item.data).end();
        let _ = Runs::data_dropped(Seq48::ZERO, item.data).end();
    }
}

/// Corrects the checksum for the coverage field's value, as far as possible.
fn mend(bytes: &mut [u8]) {
    if bytes.len() < 12 || bytes.len() > 65_515 {
        return;
    }
    let (offset, coverage) = (usize::from(bytes[4]) * 4, usize::from(bytes[5] & 0xf));
    let end = match coverage {
        0 => bytes.len(),
        words => (offset + (words - 1) * 4).min(bytes.len()),
    };
    bytes[6..8].fill(0);
    let pseudo = sum(&SOURCE.octets()) + sum(&DESTINATION.octets());
    let total = pseudo + u64::from(PROTOCOL_DCCP) + bytes.len() as u64 + sum(&bytes[..end]);
    let once = (total & 0xffff) + (total >> 16);
    let folded = !(((once & 0xffff) + (once >> 16)) as u16);
    bytes[6..8].copy_from_slice(&folded.to_be_bytes());
}

fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}
