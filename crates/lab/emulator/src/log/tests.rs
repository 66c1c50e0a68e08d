//! Records: what is written comes back, and what is broken is named.

use super::*;
use crate::packet::Endpoints;
use fairwave_trace::NodeId;
use fairwave_units::Instant;
use proptest::prelude::*;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// A file in memory that its test can look into.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no writer panicked").clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no reader panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that takes one write for each permit.
struct Slow(Receiver<()>, Memory);

impl Slow {
    fn new() -> (SyncSender<()>, Self) {
        let (permit, permits) = sync_channel(1 << 10);
        (permit, Self(permits, Memory::default()))
    }
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.recv().map_err(io::Error::other)?;
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const ENDS: Endpoints = Endpoints { source: NodeId(1), destination: NodeId(2) };

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

/// A record of packets, each of its time in microseconds and its length, and of the end at 1 s.
fn record(packets: &[(u64, usize)], keep: Keep) -> Vec<u8> {
    let memory = Memory::default();
    let mut writer = Writer::new(memory.clone(), keep).expect("a thread");
    for &(us, len) in packets {
        writer.packet(at(us), ENDS, &vec![us as u8; len]);
    }
    let recorded = writer.finish(at(1_000_000));
    assert!(recorded.is_complete(), "{recorded:?}");
    assert_eq!(recorded.packets, packets.len() as u64);
    memory.bytes()
}

/// Times and lengths of the packets that can be read, and the error behind them.
fn read(file: &[u8]) -> (Vec<(u64, u32, usize)>, Option<Error>) {
    let mut packets = Vec::new();
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (packets, Some(error)),
    };
    loop {
        match reader.read() {
            Ok(Some(Record::Packet { at, len, bytes, .. })) => {
                packets.push((at.as_nanos() / 1000, len, bytes.len()));
            }
            Ok(Some(Record::Control { .. } | Record::End { .. })) => {}
            Ok(None) => return (packets, None),
            Err(error) => return (packets, Some(error)),
        }
    }
}

#[test]
fn what_is_written_comes_back() {
    let file = record(&[(5, 40), (5, 0), (9, 1500)], Keep::Whole);
    let mut reader = Reader::new(&*file).expect("a record");
    let first = reader.read().expect("right").expect("an entry");
    let bytes: &[u8] = &[5; 40];
    assert_eq!(first, Record::Packet { at: at(5), ends: ENDS, len: 40, bytes });
    let (packets, error) = read(&file);
    assert_eq!(packets, [(5, 40, 40), (5, 0, 0), (9, 1500, 1500)]);
    assert!(error.is_none(), "{error:?}");
}

#[test]
fn heads_are_enough_where_nobody_wants_payload() {
    let file = record(&[(1, 1500), (2, 52)], Keep::Heads);
    assert_eq!(read(&file).0, [(1, 1500, 256), (2, 52, 52)]);
}

#[test]
fn a_cut_record_says_what_is_usable() {
    let file = record(&[(5, 40), (9, 1500)], Keep::Whole);
    let (packets, error) = read(&file[..file.len() - 300]);
    assert_eq!(packets.len(), 1);
    let error = error.expect("it is cut").to_string();
    assert_eq!(error, "the record is cut after 1 entries, at 0.000005s; they are usable");
}

#[test]
fn another_file_and_another_version_are_refused() {
    assert!(matches!(Reader::new(&b"PK\x03\x04 and more"[..]), Err(Error::Magic)));
    assert!(matches!(Reader::new(&b"FWIN"[..]), Err(Error::Magic)));
    assert!(matches!(Reader::new(&b"FWIN\x02\0\0\0"[..]), Err(Error::Version(2))));
}

/// The first block is on its way to a disk that does not take it, the second waits; there is no
/// room for the third, and what comes after it would be behind a hole.
#[test]
fn a_disk_that_cannot_keep_up_delays_nobody() {
    let (permit, slow) = Slow::new();
    let memory = slow.1.clone();
    let mut writer = Writer::with_queue(slow, Keep::Whole, 1).expect("a thread");
    for us in 0..40 {
        writer.packet(at(us), ENDS, &[0; 65_000]);
    }
    (0..99).for_each(|_| permit.send(()).expect("the disk is there"));
    let recorded = writer.finish(at(50));
    assert!(!recorded.is_complete() && recorded.missed > 0, "{recorded:?}");
    assert_eq!(recorded.packets + recorded.missed, 40);
    let (packets, error) = read(&memory.bytes());
    assert!(error.is_none(), "{error:?}");
    assert!(packets.iter().map(|packet| packet.0).eq(0..recorded.packets));
}

#[test]
fn a_full_disk_is_told() {
    let (permit, slow) = Slow::new();
    drop(permit);
    let mut writer = Writer::new(slow, Keep::Whole).expect("a thread");
    writer.packet(at(1), ENDS, &[0; 100]);
    let recorded = writer.finish(at(2));
    assert!(recorded.error.is_some() && !recorded.is_complete());
}

proptest! {
    /// A changed byte costs what is behind it, and nothing before it.
    #[test]
    fn damage_is_found(
        lens in prop::collection::vec(0usize..300, 1..9),
        place in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let packets: Vec<_> = (0..).zip(lens).collect();
        let file = record(&packets, Keep::Whole);
        let mut broken = file.clone();
        let place = place.index(file.len());
        broken[place] ^= 1 << bit;
        let (whole, _) = read(&file);
        let (part, error) = read(&broken);
        prop_assert!(error.is_some() || matches!(place, 6 | 7));
        prop_assert_eq!(&whole[..part.len()], &part);
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&bytes);
        read(&[b"FWIN\x01\0\0\0", &*bytes].concat());
    }
}
