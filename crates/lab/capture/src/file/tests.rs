//! Captures from files and streams, whole and damaged.

use super::*;
use fairwave_wire::capture::PACKET_LEN_MAX;
use flate2::write::GzEncoder;
use std::io::Write;

/// A pcap of packets of 60 bytes, the first at second 1.
fn pcap(packets: u32) -> Vec<u8> {
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 1u32];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for number in 1..=packets {
        bytes.extend([number, 0, 60, 60].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend([number as u8; 60]);
    }
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A reader that returns a limited number of bytes at a time.
struct Slowly(Vec<u8>, usize);

impl Read for Slowly {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.1.min(into.len()).min(self.0.len());
        into[..len].copy_from_slice(&self.0[..len]);
        self.0.drain(..len);
        Ok(len)
    }
}

/// Reads to the end; each packet has to be the one that was written.
fn read(bytes: &[u8], piece: usize) -> Result<Facts, Error> {
    let name = Path::new("test.pcap");
    let mut capture = Capture::from_reader(name, Slowly(bytes.to_vec(), piece))?;
    while let Some(packet) = capture.next_packet()? {
        assert_eq!(packet.data, [packet.number as u8; 60]);
        assert_eq!(packet.at, Some(Instant::from_nanos(packet.number * 1_000_000_000)));
    }
    assert!(capture.next_packet()?.is_none(), "the end stays the end");
    Ok(capture.facts())
}

#[test]
fn compression_shows_in_the_content_and_pieces_do_not_matter() {
    let plain = pcap(5000);
    let skippable = [&b"\x51\x2a\x4d\x18\x03\0\0\0abc"[..], &zstd(&plain)].concat();
    let forms = [
        (plain.clone(), None),
        (gzip(&plain), Some(Compression::Gzip)),
        ([gzip(&plain[..1000]), gzip(&plain[1000..])].concat(), Some(Compression::Gzip)),
        (zstd(&plain), Some(Compression::Zstd)),
        ([zstd(&plain[..1000]), zstd(&plain[1000..])].concat(), Some(Compression::Zstd)),
        (skippable, Some(Compression::Zstd)),
    ];
    for (bytes, compression) in forms {
        for piece in [1000, 4097, usize::MAX] {
            let facts = read(&bytes, piece).unwrap();
            assert_eq!((facts.packets, facts.compression), (5000, compression));
            assert_eq!((facts.bytes, facts.broken), (plain.len() as u64, None));
            assert_eq!(facts.format, Some(Format::Pcap));
        }
    }
}

#[test]
fn a_damaged_stream_gives_what_came_before() {
    let plain = pcap(5000);
    let cut = &plain[..plain.len() - 7];
    let broken = read(cut, 999).unwrap().broken.unwrap();
    assert_eq!((broken.packets, broken.offset), (4999, 24 + 4999 * 76));
    assert_eq!(broken.reason, "the file ends 7 bytes before the record does");

    let frames = [zstd(&plain[..1000]), zstd(&plain[1000..])].concat();
    for (mut bytes, name) in [(gzip(&plain), "gzip"), (frames, "zstd")] {
        bytes.truncate(bytes.len() / 2);
        let facts = read(&bytes, 999).unwrap();
        let broken = facts.broken.unwrap();
        assert!(broken.reason.starts_with(&format!("the {name} stream is damaged: ")));
        assert!(broken.packets > 0 && broken.packets < 5000, "{}", broken.packets);
        assert_eq!(broken.offset, 24 + broken.packets * 76);
    }
}

/// The decoder's own words ("Error while reading the block header: failed to fill whole buffer")
/// do not help a user who has a file.
#[test]
fn damage_of_a_compressed_file_is_told_without_the_parts_of_a_decoder() {
    let whole = zstd(&pcap(60));
    let reason = |bytes: &[u8]| {
        let input = Slowly(bytes.to_vec(), usize::MAX);
        let mut capture = Capture::from_reader(Path::new("test.pcap"), input).unwrap();
        loop {
            match capture.next_packet() {
                Ok(Some(_)) => {}
                Ok(None) => break capture.facts().broken.map_or("whole".to_owned(), |b| b.reason),
                Err(error) => break error.to_string(),
            }
        }
    };
    let after = "the zstd stream is damaged: the data behind a frame is not a frame";
    assert_eq!(reason(&[&whole[..], b"rubbish"].concat()), after);
    for cut in 5..whole.len() {
        let reported = reason(&whole[..cut]);
        assert!(
            reported.ends_with("the zstd stream is damaged: it ends too early"),
            "{cut}: {reported}"
        );
    }
    for at in 4..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let reported = reason(&bytes);
        let inner = ["rror", "failed to", "0x", "Block", "Fse", "Huff"];
        assert!(!inner.iter().any(|words| reported.contains(words)), "{at}: {reported}");
    }
}

#[test]
fn a_wrong_checksum_is_damage() {
    for (mut bytes, from_end) in [(gzip(&pcap(50)), 8), (zstd(&pcap(50)), 1)] {
        let at = bytes.len() - from_end;
        bytes[at] ^= 1;
        let facts = read(&bytes, usize::MAX).unwrap();
        assert_eq!(facts.packets, 50);
        assert!(facts.broken.is_some(), "{:?}", facts.compression);
    }
}

#[test]
fn what_is_no_capture_is_an_error() {
    let message = |bytes: &[u8]| read(bytes, usize::MAX).unwrap_err().to_string();
    let text = message(b"hello, world");
    assert_eq!(text, "test.pcap: not a capture: it begins with 68 65 6c 6c (\"hell\")");
    assert_eq!(message(b""), "test.pcap: not a capture: it is only 0 bytes long");
    assert!(message(&gzip(b"hello, world")).contains("not a capture"));
    assert!(message(b"\xfd7zXZ\0...").contains("xz -dc FILE | fairwave trace -"));
    let missing = Capture::open(Path::new("/nowhere/at.all")).err().unwrap().to_string();
    assert!(missing.starts_with("/nowhere/at.all: "), "{missing}");
    let directory = Capture::open(Path::new("/")).err().unwrap().to_string();
    assert_eq!(directory, "/: it is a directory");
}

#[test]
fn the_buffer_grows_to_the_longest_packet_and_no_further() {
    let mut bytes = pcap(1);
    bytes.extend([2, 0, PACKET_LEN_MAX, PACKET_LEN_MAX].into_iter().flat_map(u32::to_le_bytes));
    bytes.resize(bytes.len() + PACKET_LEN_MAX as usize, 2);
    bytes.extend(&pcap(3)[24 + 2 * 76..]);
    let input = Slowly(bytes, usize::MAX);
    let mut capture = Capture::from_reader(Path::new("long"), input).unwrap();
    let mut lens = Vec::new();
    while let Some(packet) = capture.next_packet().unwrap() {
        lens.push(packet.data.len());
    }
    assert_eq!(lens, [60, PACKET_LEN_MAX as usize, 60]);
    assert_eq!(capture.buffer.len(), PACKET_LEN_MAX as usize + 16);
}

#[test]
fn a_regular_file_knows_how_far_it_was_read() {
    let path = std::env::temp_dir().join(format!("fairwave-capture-{}.pcap", std::process::id()));
    std::fs::write(&path, pcap(20_000)).unwrap();
    let mut capture = Capture::open(&path).unwrap();
    capture.next_packet().unwrap();
    let begun = capture.progress().unwrap();
    while capture.next_packet().unwrap().is_some() {}
    std::fs::remove_file(&path).unwrap();
    assert!(begun < 0.5, "{begun}");
    assert_eq!(capture.progress(), Some(1.0));
}

#[test]
fn a_foreign_capture_is_named_with_its_way_out() {
    let snoop = [&b"snoop\0\0\0"[..], &[0, 0, 0, 2, 0, 0, 0, 4]].concat();
    for bytes in [snoop.clone(), gzip(&snoop)] {
        let error = read(&bytes, 1_000).unwrap_err().to_string();
        assert!(error.contains("snoop (Solaris, RFC 1761)"), "{error}");
        assert!(error.contains("editcap"), "{error}");
    }
}
