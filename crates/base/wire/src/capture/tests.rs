//! Captures of every kind, written by hand from their specifications.

use super::*;
use crate::pcapng as written;
use crate::pcapng::LinkType;
use fairwave_units::Instant;
use proptest::prelude::*;

/// Each packet's record and bytes.
type Packets = Vec<(Record, Vec<u8>)>;

/// Packets of a capture shown in pieces of at most `piece` bytes, and how it ends.
fn read(bytes: &[u8], piece: usize) -> (Packets, Result<(), Error>) {
    let (mut decoder, mut packets) = (Decoder::new(), Vec::new());
    let mut shown = 0;
    loop {
        let Some(rest) = bytes.get(decoder.offset() as usize..) else {
            return (packets, decoder.end(bytes.len() as u64));
        };
        match decoder.step(&rest[..shown.min(rest.len())]) {
            Ok(Step::More(_)) if shown >= rest.len() => {
                return (packets, decoder.end(bytes.len() as u64));
            }
            Ok(Step::More(needed)) => {
                assert!(needed > shown, "it asks for {needed} and was shown {shown}");
                shown += piece;
            }
            Ok(Step::Skip(len)) => assert!(len > 0),
            Ok(Step::Packet(record)) => {
                let data = rest[record.data.clone()].to_vec();
                packets.push((record, data));
            }
            Err(error) => return (packets, Err(error)),
        }
    }
}

fn whole(bytes: &[u8]) -> Packets {
    let (packets, end) = read(bytes, usize::MAX);
    assert_eq!(end, Ok(()));
    packets
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn nanos(record: &Record) -> Option<u64> {
    record.at.map(Instant::as_nanos)
}

/// Two packets, the first of them cut: the second begins at byte 42.
const PCAP: &str = "d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000 \
                    02000000 03000000 02000000 05000000 aabb \
                    04000000 05000000 01000000 01000000 cc";

#[test]
fn a_pcap_in_hex() {
    let bytes = hex(PCAP);
    let packets = whole(&bytes);
    let (first, data) = &packets[0];
    assert_eq!(
        (nanos(first), first.original_len, &data[..]),
        (Some(2_000_003_000), 5, &[0xaa, 0xbb][..])
    );
    assert_eq!((first.len, first.interface, first.link_type), (18, 0, LinkType::Ethernet));
    let (second, data) = &packets[1];
    assert_eq!(
        (nanos(second), second.original_len, &data[..]),
        (Some(4_000_005_000), 1, &[0xcc][..])
    );
    assert_eq!(packets.len(), 2);
}

#[test]
fn the_other_byte_order_and_nanoseconds() {
    let big = "a1b23c4d 0002 0004 00000000 00000000 0000ffff 00000065 \
               00000002 00000003 00000002 00000005 aabb";
    let (record, data) = &whole(&hex(big))[0];
    assert_eq!((nanos(record), record.link_type), (Some(2_000_000_003), LinkType::RawIp));
    assert_eq!(data[..], [0xaa, 0xbb]);
}

#[test]
fn records_of_kuznetzovs_patch_are_longer() {
    let patched = "34cdb2a1 0200 0400 00000000 00000000 ffff0000 01000000 \
                   02000000 03000000 02000000 02000000 07000000 0008 00 00 aabb \
                   02000000 04000000 01000000 01000000 07000000 0008 00 00 cc";
    let packets = whole(&hex(patched));
    assert_eq!((&packets[0].1[..], &packets[1].1[..]), (&[0xaa, 0xbb][..], &[0xcc][..]));
    assert_eq!(nanos(&packets[1].0), Some(2_000_004_000));
}

#[test]
fn a_check_sequence_behind_frames_is_no_part_of_their_type() {
    let with_fcs = PCAP.replace("ffff0000 01000000", "ffff0000 01000024");
    assert_eq!(whole(&hex(&with_fcs))[0].0.link_type, LinkType::Ethernet);
}

/// Versions up to 2.2 have the length on the wire first, those of 2.3 either.
#[test]
fn lengths_of_old_versions_are_swapped() {
    let old = |version: &str, lengths: &str| {
        let new = PCAP.replace("0200 0400", version);
        let packets = whole(&hex(&new.replace("02000000 05000000 aabb", lengths)));
        let (record, data) = &packets[0];
        assert_eq!((record.original_len, &data[..]), (5, &[0xaa, 0xbb][..]), "{version} {lengths}");
        assert_eq!(packets.len(), 2);
    };
    let swapped = "05000000 02000000 aabb";
    for version in ["0200 0000", "0200 0100", "0200 0200", "0200 0300", "1f02 0000"] {
        old(version, swapped);
    }
    old("0200 0300", "02000000 05000000 aabb");
    old("0200 0400", "02000000 05000000 aabb");
    let unknown = hex(&PCAP.replace("0200 0400", "0300 0400"));
    let fault = Fault::Version { major: 3, minor: 4 };
    assert_eq!(read(&unknown, 9).1, Err(Error::Broken { offset: 0, packets: 0, fault }));
}

/// A section of two interfaces, both byte orders by turns.
fn blocks(big: bool) -> Vec<u8> {
    let u16 = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let u32 = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let block = |kind: u32, body: &[&[u8]]| {
        let body = body.concat();
        let len = u32(body.len() as u32 + 12);
        [&u32(kind)[..], &len, &body, &len].concat()
    };
    let unknown_len = [0xff; 8];
    let section = block(0x0a0d_0d0a, &[&u32(0x1a2b_3c4d), &u16(1), &u16(0), &unknown_len]);
    let plain = block(1, &[&u16(1), &u16(0), &u32(3)]);
    let offset = if big { 5i64.to_be_bytes() } else { 5i64.to_le_bytes() };
    let options = [&u16(9)[..], &u16(1), &[9, 0, 0, 0], &u16(14), &u16(8), &offset, &u32(0)];
    let precise = block(1, &[&u16(127), &u16(0), &u32(0), &options.concat()]);
    let comment = [&u16(1)[..], &u16(2), b"hi\0\0", &u32(0)].concat();
    let packets = [
        block(6, &[&u32(1), &u32(1), &u32(2), &u32(5), &u32(9), b"enhan\0\0\0", &comment]),
        block(0x0bad, &[&u32(32473), b"customs!"]),
        block(2, &[&u16(0), &u16(4), &u32(0), &u32(7), &u32(4), &u32(4), b"obso"]),
        block(3, &[&u32(60), b"sim\0"]),
        block(6, &[&u32(0), &u32(0), &u32(8), &u32(0), &u32(0)]),
    ];
    [section, plain, precise, packets.concat()].concat()
}

#[test]
fn a_pcapng_of_every_kind_of_block() {
    for big in [false, true] {
        let packets = whole(&blocks(big));
        let found: Vec<_> = packets
            .iter()
            .map(|(r, data)| (r.interface, nanos(r), r.original_len, &data[..]))
            .collect();
        let expected: [(u32, Option<u64>, u32, &[u8]); 4] = [
            (1, Some(5_000_000_000 + (1 << 32) + 2), 9, b"enhan"),
            (0, Some(7_000), 4, b"obso"),
            (0, None, 60, b"sim"),
            (0, Some(8_000), 0, b""),
        ];
        assert_eq!(found, expected, "big endian: {big}");
        assert_eq!(packets[0].0.link_type, LinkType::Radiotap);
    }
}

#[test]
fn a_new_section_has_its_own_order_and_interfaces() {
    let both = [blocks(false), blocks(true), blocks(false)].concat();
    assert_eq!(whole(&both).len(), 12);
    let header_only = &blocks(true)[..28];
    let late = [&blocks(false)[..], header_only, &blocks(true)[28 + 20 + 44..]].concat();
    let (packets, end) = read(&late, usize::MAX);
    assert_eq!(packets.len(), 4);
    let fault = Fault::Interface { interface: 1, described: 0 };
    let offset = blocks(false).len() as u64 + 28;
    assert_eq!(end, Err(Error::Broken { offset, packets: 4, fault }));
}

#[test]
fn a_block_that_nobody_needs_may_be_of_any_length() {
    let mut long = blocks(false);
    let offset = long.len() as u64;
    let len = BLOCK_LEN_MAX + 4;
    long.extend([0x0bad_u32.to_le_bytes(), len.to_le_bytes()].concat());
    long.resize(long.len() + len as usize - 12, 7);
    long.extend(len.to_le_bytes());
    assert_eq!(whole(&[&long[..], &blocks(false)].concat()).len(), 8);
    long.truncate(long.len() - 10);
    let broken = Error::Broken { offset, packets: 4, fault: Fault::Truncated { missing: 10 } };
    assert_eq!(read(&long, usize::MAX).1, Err(broken));
}

#[test]
fn what_is_no_capture_is_told_from_what_is_cut() {
    let end = |bytes: &[u8]| read(bytes, usize::MAX).1.unwrap_err().to_string();
    assert_eq!(end(b""), "not a capture: it is only 0 bytes long");
    assert_eq!(end(b"\xd4\xc3"), "not a capture: it is only 2 bytes long");
    assert_eq!(end(b"GIF89a"), "not a capture: it begins with 47 49 46 38 (\"GIF8\")");
    let cut = end(&hex(PCAP)[..20]);
    assert_eq!(
        cut,
        "broken at byte 0, behind packet 0: the file ends 4 bytes before the record does"
    );
    let cut = end(&hex(PCAP)[..50]);
    assert_eq!(
        cut,
        "broken at byte 42, behind packet 1: the file ends 8 bytes before the record does"
    );
    assert_eq!(read(&hex(PCAP)[..42], 7).1, Ok(()), "it ends between two packets");
}

#[test]
fn damage_is_named_with_its_place() {
    let broken = |at: usize, bytes: &[u8]| {
        let mut capture = blocks(false);
        capture[at..at + bytes.len()].copy_from_slice(bytes);
        let (packets, end) = read(&capture, usize::MAX);
        let Err(Error::Broken { offset, packets: reported, fault }) = end else {
            panic!("byte {at}: {end:?}");
        };
        assert_eq!(reported as usize, packets.len());
        (offset, fault)
    };
    // Section header at 0, interfaces at 28 and 48, the first packet at 92.
    assert_eq!(broken(8, &[0]).1, Fault::ByteOrder(0x003c_2b1a));
    assert_eq!(broken(12, &[9]), (0, Fault::Version { major: 9, minor: 0 }));
    assert_eq!(broken(32, &[22]), (28, Fault::BlockShape { kind: 1, len: 22 }));
    assert_eq!(broken(32, &[12, 0, 0, 0]).0, 28);
    assert_eq!(broken(68, &[20]), (48, Fault::Resolution(20)));
    assert_eq!(broken(96, &[252, 255, 255]), (92, Fault::BlockLength { len: 0x00ff_fffc }));
    assert_eq!(broken(100, &[2]), (92, Fault::Interface { interface: 2, described: 2 }));
    assert_eq!(broken(112, &[33]), (92, Fault::Overfull { len: 33, room: 20 }));
    assert_eq!(broken(114, &[0x20]), (92, Fault::PacketLength { len: 0x0020_0005 }));
}

#[test]
fn a_hostile_length_in_a_pcap_is_refused() {
    let huge = PCAP.replace("01000000 01000000 cc", "01001000 01000000 cc");
    let fault = Fault::PacketLength { len: 0x0010_0001 };
    assert_eq!(read(&hex(&huge), 9).1, Err(Error::Broken { offset: 42, packets: 1, fault }));
}

/// A second and a half beside 4 s is 5.5 s, and what follows is read.
#[test]
fn a_part_of_a_second_above_one_is_carried_and_counted() {
    let odd = hex(&PCAP.replace("04000000 05000000", "04000000 60e31600"));
    let mut decoder = Decoder::new();
    let (mut start, mut times) = (0, Vec::new());
    while start < odd.len() {
        match decoder.step(&odd[start..]).expect("it is whole") {
            Step::Packet(record) => {
                times.push((record.at.map(Instant::as_nanos), record.is_carried));
                start += record.len;
            }
            Step::Skip(len) => start += len as usize,
            Step::More(needed) => panic!("{needed} bytes are wanted at {start}"),
        }
    }
    assert_eq!(times[1], (Some(5_500_000_000), true));
    assert_eq!(times.iter().filter(|(_, is_carried)| *is_carried).count(), 1);
    assert_eq!((decoder.packets(), decoder.carried()), (times.len() as u64, 1));
}

proptest! {
    /// What the library that Fairwave writes with says of a file, this reader says too.
    #[test]
    fn what_is_written_is_read_in_pieces_of_any_size(
        link_type in 0u16..300,
        piece in 1usize..200,
        packets in prop::collection::vec(
            (any::<u64>(), any::<Vec<u8>>(), any::<Option<String>>()), 0..8,
        ),
    ) {
        let link_type = LinkType::from_number(link_type);
        let mut writer = written::Writer::new(Vec::new(), &written::Section::default()).unwrap();
        let interface = written::Interface { link_type, name: None, snap_len: None };
        let id = writer.add_interface(&interface).unwrap();
        for (nanos, data, comment) in &packets {
            writer.write_packet(id, Instant::from_nanos(*nanos), data, comment.as_deref()).unwrap();
        }
        let bytes = writer.into_inner();
        let (found, end) = read(&bytes, piece);
        prop_assert_eq!(end, Ok(()));
        prop_assert_eq!(found.len(), packets.len());
        for ((record, found), (at, data, _)) in found.iter().zip(&packets) {
            prop_assert_eq!((nanos(record), found, record.link_type), (Some(*at), data, link_type));
        }
    }

    #[test]
    fn damaged_and_cut_files_end_the_same_in_any_pieces(
        big: bool,
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
        piece in 1usize..64,
    ) {
        let mut bytes = if big { blocks(true) } else { hex(PCAP) };
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len() + 1));
        prop_assert_eq!(read(&bytes, piece), read(&bytes, usize::MAX));
    }
}
