//! Captures are read back, and damaged ones say where they broke.

use super::*;
use crate::testing::hex;
use proptest::prelude::*;

fn section() -> Section {
    Section { hardware: None, os: Some("none".into()), application: Some("fairwave".into()) }
}

fn begun(link_type: LinkType) -> (Writer<Vec<u8>>, InterfaceId) {
    let mut writer = Writer::new(Vec::new(), &section()).unwrap();
    let id = writer
        .add_interface(&Interface { link_type, name: Some("w".into()), snap_len: None })
        .unwrap();
    (writer, id)
}

/// A capture of two packets, the first of which begins at byte 92.
fn capture() -> Vec<u8> {
    let (mut writer, id) = begun(LinkType::Radiotap);
    writer.write_packet(id, Instant::from_nanos(0x1_0000_0002), &[1, 2, 3, 4, 5], None).unwrap();
    writer.write_packet(id, Instant::from_nanos(7), &[9], Some("hi")).unwrap();
    writer.into_inner()
}

#[test]
fn a_capture_in_hex() {
    let section = "0a0d0d0a 34000000 4d3c2b1a 0100 0000 ffffffffffffffff \
                   0300 0400 6e6f6e65 0400 0800 6661697277617665 0000 0000 34000000";
    let interface = "01000000 28000000 7f00 0000 00000000 \
                     0200 0100 77000000 0900 0100 09000000 0000 0000 28000000";
    let first = "06000000 28000000 00000000 01000000 02000000 05000000 05000000 \
                 0102030405000000 28000000";
    let second = "06000000 30000000 00000000 00000000 07000000 01000000 01000000 \
                  09000000 0100 0200 68690000 0000 0000 30000000";
    let expected = [section, interface, first, second].concat().replace(' ', "");
    assert_eq!(hex(&capture()), expected);
}

#[test]
fn packets_come_back_with_times_and_comments() {
    let bytes = capture();
    let packets: Vec<Packet<'_>> = Reader::new(&bytes).unwrap().map(Result::unwrap).collect();
    assert_eq!(packets.len(), 2);
    assert_eq!(packets[0].at, Instant::from_nanos(0x1_0000_0002));
    assert_eq!(packets[0].link_type, LinkType::Radiotap);
    assert_eq!((&*packets[0].data, packets[0].original_len), (&[1u8, 2, 3, 4, 5][..], 5));
    assert_eq!((packets[0].comment.as_deref(), packets[1].comment.as_deref()), (None, Some("hi")));
}

#[test]
fn a_cut_file_yields_what_is_whole_and_says_where_it_broke() {
    let bytes = capture();
    let cut = &bytes[..bytes.len() - 3];
    let mut reader = Reader::new(cut).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().data.len(), 5);
    let error = reader.next().unwrap().unwrap_err().to_string();
    assert!(error.starts_with("block 3 at offset 132 is broken: "), "{error}");
    assert!(reader.next().is_none());
}

#[test]
fn damage_in_a_block_is_located() {
    let mut bytes = capture();
    bytes[92 + 8] = 5;
    let error = Reader::new(&bytes).unwrap().next().unwrap().unwrap_err();
    assert!(error.to_string().starts_with("block 2 at offset 92 is broken: "), "{error}");
    bytes[0] = 0;
    let error = Reader::new(&bytes).unwrap_err();
    assert!(error.to_string().starts_with("block 0 at offset 0 is broken: "), "{error}");
}

#[test]
fn a_failing_sink_is_told_with_its_reason() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no space left on device"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = Writer::new(Full, &Section::default()).err().unwrap();
    assert_eq!(error.to_string(), "cannot write the capture: no space left on device");
}

#[test]
fn texts_that_do_not_fit_are_refused_and_nothing_is_written() {
    let (mut writer, id) = begun(LinkType::Ethernet);
    let long = "x".repeat(65_536);
    let error = writer.write_packet(id, Instant::ZERO, &[], Some(&long)).unwrap_err();
    assert_eq!(error.to_string(), "comment of 65536 bytes does not fit, the limit is 65535");
    let (other, _) = begun(LinkType::Ethernet);
    assert_eq!(writer.into_inner(), other.into_inner());
}

#[test]
fn an_interface_of_another_writer_is_refused() {
    let (_, id) = begun(LinkType::Ethernet);
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let error = writer.write_packet(id, Instant::ZERO, &[], None).unwrap_err();
    assert!(error.to_string().starts_with("cannot write enhanced packet: "), "{error}");
}

#[test]
fn a_failing_sink_is_reported_as_such() {
    let error = Writer::new(&mut [0u8; 4][..], &Section::default()).err().unwrap();
    assert!(matches!(error, Error::Io(_)), "{error}");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        link_type in 0u16..300,
        packets in prop::collection::vec(
            (any::<u64>(), any::<Vec<u8>>(), any::<Option<String>>()), 0..8,
        ),
    ) {
        let link_type = LinkType::from_number(link_type);
        let (mut writer, id) = begun(link_type);
        for (nanos, data, comment) in &packets {
            let at = Instant::from_nanos(*nanos);
            writer.write_packet(id, at, data, comment.as_deref()).unwrap();
        }
        let bytes = writer.into_inner();
        let read: Vec<Packet<'_>> = Reader::new(&bytes).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), packets.len());
        for (packet, (nanos, data, comment)) in read.iter().zip(&packets) {
            prop_assert_eq!(packet.link_type, link_type);
            prop_assert_eq!(packet.at.as_nanos(), *nanos);
            prop_assert_eq!(&*packet.data, data.as_slice());
            prop_assert_eq!(&packet.comment, comment);
        }
    }

    #[test]
    fn damaged_files_do_not_panic(at: prop::sample::Index, byte: u8) {
        let mut bytes = capture();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(reader) = Reader::new(&bytes) {
            prop_assert!(reader.count() <= 3);
        }
    }
}
