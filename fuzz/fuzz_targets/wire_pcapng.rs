//! Capture files: the reader ends, and the packets that it yields can be written and read again.

#![no_main]

use fairwave_wire::pcapng::{Interface, Packet, Reader, Section, Writer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = Reader::new(bytes) else { return };
    let packets: Vec<Packet<'_>> = reader.map_while(Result::ok).collect();
    let mut writer = Writer::new(Vec::new(), &Section::default()).expect("a vector takes all");
    for packet in &packets {
        let interface = Interface { link_type: packet.link_type, name: None, snap_len: None };
        let id = writer.add_interface(&interface).expect("a link type from a file");
        let comment = packet.comment.as_deref();
        writer.write_packet(id, packet.at, &packet.data, comment).expect("a packet from a file");
    }
    let bytes = writer.into_inner();
    let read: Vec<Packet<'_>> = Reader::new(&bytes)
        .expect("our own header")
        .map(|packet| packet.expect("our own packet"))
        .collect();
    assert_eq!(read.len(), packets.len());
    for (read, packet) in read.iter().zip(&packets) {
        let same =
            (read.at, &read.data, &read.comment) == (packet.at, &packet.data, &packet.comment);
        assert!(same && read.link_type == packet.link_type, "{read:?} is not {packet:?}");
    }
});
