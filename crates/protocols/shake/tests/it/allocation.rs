//! In the steady state a connection with virtual payload does not allocate.

use fairwave_machine::Machine;
use fairwave_shake::{Config, Connection, Input, Profile, Rules};
use fairwave_tcp::Virtual;
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::shake::{Body, Side};

const PATHS: u8 = 3;

/// A sender and a receiver joined by paths without delay, one flight at a time.
struct Bulk {
    ends: [Connection<Virtual>; 2],
    now: Instant,
    segments: u64,
    /// Every so many segments of data one is dropped; zero drops none.
    drop_every: u64,
}

impl Bulk {
    fn new(profile: Profile, drop_every: u64) -> Self {
        Self::ruled(profile, profile.rules().scheduler.name(), drop_every)
    }

    fn ruled(profile: Profile, scheduler: &str, drop_every: u64) -> Self {
        let config = Config { send_buffer: 200_000, receive_buffer: 150_000, ..profile.config() };
        let rules = || {
            let scheduler = fairwave_shake::scheduler(scheduler).expect("it is listed");
            Rules { scheduler, ..profile.rules() }
        };
        let end = |side, seed| Connection::new(config, rules(), side, 9, Seed(seed));
        let mut ends = [end(Side::Opener, 1), end(Side::Acceptor, 2)];
        for path in 0..PATHS {
            ends[0].handle(Instant::ZERO, Input::Join { path, nominal: None });
        }
        Self { ends, now: Instant::ZERO, segments: 0, drop_every }
    }

    /// Carries everything that end `from` has to send.
    fn carry(&mut self, from: usize) {
        while let Some(segment) = self.ends[from].poll(self.now) {
            if matches!(segment.header.body, Body::Data(_)) {
                self.segments += 1;
                if self.drop_every > 0 && self.segments.is_multiple_of(self.drop_every) {
                    continue;
                }
            }
            self.ends[1 - from].handle(self.now, Input::Segment(segment));
            self.ends[1 - from].read(u32::MAX);
            while self.ends[1 - from].event().is_some() {}
        }
    }

    fn round(&mut self) {
        self.now += Duration::from_millis(5);
        let space = self.ends[0].send_space();
        self.ends[0].handle(self.now, Input::Write(Virtual(space)));
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
fn without_loss() {
    check(Bulk::new(Profile::Modern, 0));
}

#[test]
fn with_loss() {
    check(Bulk::new(Profile::Modern, 97));
}

#[test]
fn with_loss_as_in_the_paper() {
    check(Bulk::new(Profile::Paper, 97));
}

#[test]
fn with_every_segment_on_every_path() {
    check(Bulk::ruled(Profile::Modern, "redundant", 97));
}
