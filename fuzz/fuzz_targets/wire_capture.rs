//! pcap and pcapng: the decoder ends, and gives the same result for the whole file as for pieces.
//! If another library can read the file, the decoder finds every packet that the library finds.

#![no_main]

use fairwave_wire::capture::{Decoder, Error, Record, Step};
use fairwave_wire::pcapng::{Packet, Reader};
use libfuzzer_sys::fuzz_target;

/// The packets of a capture that is decoded in pieces, and the result at its end.
fn read(bytes: &[u8], piece: usize) -> (Vec<Record>, Result<(), Error>) {
    let (mut decoder, mut records, mut shown) = (Decoder::new(), Vec::new(), 0usize);
    let end = loop {
        let Some(rest) = bytes.get(decoder.offset() as usize..) else {
            break decoder.end(bytes.len() as u64);
        };
        match decoder.step(&rest[..shown.min(rest.len())]) {
            Ok(Step::More(_)) if shown >= rest.len() => break decoder.end(bytes.len() as u64),
            Ok(Step::More(needed)) => {
                assert!(needed > shown);
                shown += piece;
            }
            Ok(Step::Skip(len)) => assert!(len > 0),
            Ok(Step::Packet(record)) => {
                assert!(rest.get(record.data.clone()).is_some() && record.len > 0);
                records.push(record);
            }
            Err(error) => break Err(error),
        }
    };
    (records, end)
}

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes, usize::MAX);
    assert_eq!(read(bytes, 37), whole);
    let Ok(reader) = Reader::new(bytes) else { return };
    let Ok(packets) = reader.collect::<Result<Vec<Packet<'_>>, _>>() else { return };
    if whole.1.is_err() {
        return;
    }
    let mut timed = whole.0.iter().filter(|record| record.at.is_some());
    for packet in &packets {
        let same = |record: &Record| {
            record.data.len() == packet.data.len() && record.at == Some(packet.at)
        };
        assert!(timed.any(same), "{packet:?} is missing");
    }
});
