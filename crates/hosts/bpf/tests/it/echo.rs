//! What the kernel's programs conclude from echoed timestamps, against senders and receivers that
//! know each segment's timestamp and each ACK that was lost.

use crate::differential::{driver, plain_acks};
use fairwave_units::{Seed, Stream};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Nanoseconds in a tick of a timestamp.
const TICK: u64 = 1_000_000;

/// An ACK that arrived, and what is true of it.
struct Delivered {
    una: u64,
    echoed: u64,
    /// Sent before this ACK was answered, and when last.
    next: u64,
    sent_at: u64,
    /// From the end of the last ACK to the first segment with the echoed timestamp.
    gap: u64,
}

/// A connection whose sender answers each ACK at once, and whose receiver merges as it likes.
struct History {
    random: Stream,
    /// Offset at which each segment begins, and when it left.
    segments: Vec<(u64, u64)>,
    next: u64,
    now: u64,
}

impl History {
    fn new(seed: u64) -> Self {
        let random = Seed(seed).stream("echoes");
        let mut history = Self { random, segments: Vec::new(), next: 0, now: 7_000 * TICK };
        history.send(10);
        history
    }

    fn send(&mut self, segments: u64) {
        for _ in 0..segments {
            self.segments.push((self.next, self.now));
            self.next += 1 + self.random.below(1_448);
        }
    }

    /// The tick of the segment at an offset.
    fn stamp(&self, at: u64) -> u64 {
        let after = self.segments.partition_point(|(begin, _)| *begin <= at);
        self.segments[after - 1].1 / TICK
    }

    /// Acknowledgements that arrive, each ACK of the receiver being lost with a probability. They
    /// are at least `pause` nanoseconds apart.
    fn acks(&mut self, count: usize, lost: f64, pause: u64) -> Vec<Delivered> {
        let (mut una, mut acked, mut received) = (0, 0, Vec::new());
        while received.len() < count {
            let first = self.segments.partition_point(|(begin, _)| *begin < acked);
            let merged = self.random.below(12) as usize;
            let end = self.segments.get(first + merged + 1).map_or(self.next, |(begin, _)| *begin);
            let (echoed, before) = (self.stamp(acked), acked);
            acked = end;
            let last = end == self.next;
            if !last && self.random.chance(lost) {
                continue;
            }
            let sent_at = self.segments.last().expect("some were sent").1;
            let reached = self.segments.partition_point(|(_, at)| at / TICK < echoed);
            let gap = self.segments.get(reached).map_or(before, |(begin, _)| *begin);
            let gap = gap.saturating_sub(una);
            received.push(Delivered { una: end, echoed, next: self.next, sent_at, gap });
            una = end;
            self.now += pause + self.random.below(3 * TICK);
            let room = 40_u64.saturating_sub(self.segments.len() as u64 - first as u64);
            self.send(room.min(20));
        }
        received
    }
}

/// The gaps that the program finds, and how many ACKs needed but the oldest and the newest note.
fn found(driver: &Path, received: &[Delivered]) -> (Vec<u64>, u64) {
    let mut child = Command::new(driver)
        .arg("echo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the driver starts");
    let rows = received.iter().flat_map(|ack| [ack.una, ack.echoed, ack.next, ack.sent_at, TICK]);
    let input: Vec<u8> = rows.flat_map(u64::to_ne_bytes).collect();
    let mut stdin = child.stdin.take().expect("it is piped");
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut lines: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let plain = plain_acks(&lines.pop().expect("a line at its end"));
    let gaps = lines.iter().map(|line| line.parse().expect("a number")).collect();
    feeder.join().expect("no panic").expect("the driver reads all");
    assert!(child.wait().expect("it ends").success());
    (gaps, plain)
}

/// Compares gaps found with true ones; how many there truly were.
fn compare(lost: f64, pause: u64, holds: impl Fn(u64, u64) -> bool) -> usize {
    let place = tempfile::tempdir().expect("a directory");
    let driver = driver(place.path());
    let mut gaps = 0;
    for seed in 0..6 {
        let received = History::new(seed).acks(2_000, lost, pause);
        let (found, plain) = found(&driver, &received);
        assert_eq!(found.len(), received.len());
        assert!(plain > 0, "seed {seed}: no ACK is plain");
        for (at, (ack, found)) in received.iter().zip(found).enumerate() {
            // What was sent before the first ACK was not noted.
            let true_gap = if at == 0 { 0 } else { ack.gap };
            assert!(holds(found, true_gap), "seed {seed}, ACK {at}: {found} for {true_gap}");
            gaps += usize::from(true_gap > 0);
        }
    }
    gaps
}

#[test]
fn merged_segments_show_no_gap_while_no_ack_is_lost() {
    assert_eq!(compare(0.0, 0, |found, gap| found == 0 && gap == 0), 0);
}

#[test]
fn gaps_of_acks_lost_in_other_ticks_are_found_whole() {
    assert!(compare(0.3, TICK, |found, gap| found == gap) > 1_000);
}

#[test]
fn gaps_within_a_tick_may_be_missed_and_none_is_overstated() {
    assert!(compare(0.3, 0, |found, gap| found <= gap) > 1_000);
}
