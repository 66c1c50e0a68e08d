//! In the steady state a set of connections with virtual payload does not allocate.

use crate::multi_common::{config, ends};
use fairwave_machine::Machine;
use fairwave_shake::multi::{Config, Input, Multi, Split};
use fairwave_tcp::{self as tcp, Virtual};
use fairwave_units::{Duration, Instant};

const CONNECTIONS: usize = 3;

/// Two ends joined by lines without delay, one flight at a time.
struct Bulk {
    ends: [Multi<Virtual>; 2],
    now: Instant,
    segments: u64,
    /// Every so many segments of data one is dropped; zero drops none.
    drop_every: u64,
}

impl Bulk {
    fn new(split: Split, drop_every: u64) -> Self {
        let tcp = tcp::Config { send_buffer: 100_000, ..tcp::Config::default() };
        let buffers = (200_000, 150_000);
        let (send_buffer, receive_buffer) = buffers;
        let set = Config { send_buffer, receive_buffer, ..config(split, CONNECTIONS) };
        let mut ends = ends(&set, tcp, CONNECTIONS);
        for end in [1, 0] {
            ends[end].handle(Instant::ZERO, Input::Start);
        }
        Self { ends, now: Instant::ZERO, segments: 0, drop_every }
    }

    fn carry(&mut self, from: usize) {
        loop {
            for connection in 0..CONNECTIONS as u8 {
                while let Some(mark) = self.ends[from].reported(connection) {
                    self.ends[1 - from].handle(self.now, Input::Told(connection, mark));
                }
            }
            let Some((connection, segment)) = self.ends[from].poll(self.now) else { break };
            if segment.payload != Virtual(0) {
                self.segments += 1;
                if self.drop_every > 0 && self.segments.is_multiple_of(self.drop_every) {
                    continue;
                }
            }
            self.ends[1 - from].handle(self.now, Input::Segment(connection, segment));
            while self.ends[1 - from].read(u32::MAX).is_some() {}
            while self.ends[1 - from].event().is_some() {}
        }
    }

    fn round(&mut self) {
        self.now += Duration::from_millis(5);
        for _ in 0..4 {
            let space = self.ends[0].send_space();
            self.ends[0].handle(self.now, Input::Write(Virtual(space)));
        }
        for end in [0, 1] {
            self.ends[end].wake(self.now);
        }
        self.carry(0);
        self.carry(1);
    }
}

fn check(mut bulk: Bulk) {
    let seen = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(seen.count_total, 1, "the counter does not count");
    (0..3_000).for_each(|_| bulk.round());
    let before = bulk.segments;
    let counted = allocation_counter::measure(|| (0..2_000).for_each(|_| bulk.round()));
    let sent = bulk.segments - before;
    assert!(sent > 2_000, "only {sent} segments were sent: {:?}", bulk.ends[0].stats());
    assert_eq!(counted.count_total, 0, "allocations for {sent} segments");
}

#[test]
fn by_weight() {
    check(Bulk::new(Split::Weighted, 0));
}

#[test]
fn by_weight_with_loss() {
    check(Bulk::new(Split::Weighted, 97));
}

#[test]
fn adaptively() {
    check(Bulk::new(Split::Adaptive, 0));
}

#[test]
fn adaptively_with_loss() {
    check(Bulk::new(Split::Adaptive, 97));
}
