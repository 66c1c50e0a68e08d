//! A recorded run again in virtual time.

use crate::common::{SERVER, STATION, cell, ends, options, receive, try_send, udp};
use fairwave_emulator::drive::{Drive, Inbox, Offload, Turn};
use fairwave_emulator::log::{self, Keep, Writer};
use fairwave_emulator::{Replayed, replay};
use fairwave_linux::clock::Clock;
use fairwave_queue::Limit;
use fairwave_sim::Outcome;
use fairwave_sim::world::World;
use fairwave_trace::{Kind, NodeId, Sample, Sink};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Contents, Datagram};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Keeps every sample as text, and what packets carry.
#[derive(Default)]
struct Everything {
    samples: Vec<String>,
    contents: Vec<Contents>,
}

impl Sink for Everything {
    fn wants(&self, _: Kind) -> bool {
        true
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        self.samples.push(format!("{at:?} {sample:?}"));
    }

    fn note_contents(&mut self, _: &Datagram, contents: Contents) {
        self.contents.push(contents);
    }

    fn taps(&self, _: NodeId) -> bool {
        true
    }
}

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A cell whose queues hold less than the emulator reads at once: whatever the host does between
/// two reads, a burst overflows them.
fn narrow() -> World {
    let mut world = cell();
    for radio in world.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
        radio.queue = Limit::Packets(30).into();
    }
    world
}

/// 400 datagrams of all sizes from the station, in bursts that overflow its queue, and what the
/// server sends back; the outcome, all that was seen, and the record.
fn live(keep: Keep) -> (Outcome, Everything, Vec<u8>) {
    let world = narrow();
    let (ends, [sta, server]) = ends(Offload::Off);
    let file = Memory::default();
    let record = Some(Writer::new(file.clone(), keep).expect("a thread"));
    let mut seen = Everything::default();
    let mut sent = 0u16;
    let mut replies = VecDeque::new();
    let mut on_turn = |turn: &Turn<'_>| {
        if turn.under_way < 40 {
            for _ in 0..90.min(400 - sent) {
                if !try_send(&sta, &udp(SERVER, sent, 100 + u32::from(sent) * 3)) {
                    break;
                }
                sent += 1;
            }
        }
        while let Some(mut packet) = receive(&server) {
            let (there, back) = packet[12..20].split_at_mut(4);
            there.swap_with_slice(back);
            replies.push_back(packet);
        }
        while replies.front().is_some_and(|reply| try_send(&server, reply)) {
            replies.pop_front();
        }
        while receive(&sta).is_some() {}
        let is_over = sent == 400 && turn.under_way == 0 && replies.is_empty();
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let drive = Drive {
        clock: Clock::start(),
        inbox: Inbox::default(),
        associations: None,
        world: &world,
        ends,
        options: options(),
        record,
        stop: None,
    };
    let report = drive.run(&mut seen, &mut on_turn).expect("the world is right");
    let recorded = report.recorded.expect("there was a record");
    assert!(recorded.is_complete(), "{recorded:?}");
    assert_eq!(recorded.packets, report.fidelity.packets_in);
    let bytes = file.0.lock().expect("nobody panicked").clone();
    (report.outcome, seen, bytes)
}

fn again(record: &[u8]) -> (Replayed, Everything) {
    let world = narrow();
    let mut seen = Everything::default();
    let replayed = replay(record, &world, &mut seen, &|_| None).expect("a record");
    (replayed, seen)
}

#[test]
fn a_replay_is_the_same_world() {
    let (outcome, seen, record) = live(Keep::Whole);
    let (replayed, seen_again) = again(&record);
    assert!(replayed.broken.is_none() && replayed.is_complete, "{replayed:?}");
    let drops = seen.samples.iter().filter(|sample| sample.contains("QueueFull")).count();
    assert!(drops > 0, "the queue was never full");
    assert!(seen.samples == seen_again.samples, "other samples");
    assert!(seen.contents == seen_again.contents, "other contents");
    assert_eq!(replayed.outcome, outcome);
}

#[test]
fn heads_give_the_same_world() {
    let (outcome, seen, record) = live(Keep::Heads);
    let (replayed, seen_again) = again(&record);
    assert!(seen.samples == seen_again.samples, "other samples");
    assert_eq!(replayed.outcome, outcome);
}

#[test]
fn a_cut_record_is_replayed_up_to_there() {
    let (_, seen, record) = live(Keep::Whole);
    let (replayed, seen_again) = again(&record[..record.len() / 2]);
    assert!(matches!(replayed.broken, Some(log::Error::Cut { .. })), "{:?}", replayed.broken);
    assert!(!replayed.is_complete);
    let usable = seen_again.samples.len();
    assert!(usable > 100 && seen.samples[..usable] == seen_again.samples);
    assert_eq!(STATION, NodeId(1));
}
