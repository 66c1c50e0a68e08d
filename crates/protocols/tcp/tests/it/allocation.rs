//! In the steady state a connection with virtual payload does not allocate.

use fairwave_cc::Initial;
use fairwave_machine::Machine;
use fairwave_tcp::{Config, Connection, Event, Input, Virtual};
use fairwave_units::{Duration, Instant, Seq32};

/// A sender and a receiver joined by a lossless wire without delay, one flight at a time.
struct Bulk {
    a: Connection<Virtual>,
    b: Connection<Virtual>,
    now: Instant,
    segments: u64,
    /// Every so many data segments one is dropped; zero drops none.
    drop_every: u64,
}

impl Bulk {
    fn new(config: Config, drop_every: u64) -> Self {
        let congestion_control =
            |initial: Initial| fairwave_cc::build("newreno", initial).expect("a listed algorithm");
        let mut bulk = Self {
            a: Connection::new(config, Seq32(1), Box::new(congestion_control)),
            b: Connection::new(config, Seq32(2), Box::new(congestion_control)),
            now: Instant::ZERO,
            segments: 0,
            drop_every,
        };
        bulk.b.handle(bulk.now, Input::Listen);
        bulk.a.handle(bulk.now, Input::Open);
        bulk
    }

    /// Fills the send buffer and moves everything both ends have to send.
    fn round(&mut self) {
        self.now += Duration::from_millis(1);
        self.a.handle(self.now, Input::Write(Virtual(self.a.send_space())));
        for end in [&mut self.a, &mut self.b] {
            end.wake(self.now);
        }
        while let Some(segment) = self.a.poll(self.now) {
            self.segments += 1;
            if self.drop_every == 0 || !self.segments.is_multiple_of(self.drop_every) {
                self.b.handle(self.now, Input::Segment(segment));
            }
            while let Some(Event::Readable) = self.b.event() {
                self.b.read(u32::MAX);
            }
        }
        while let Some(segment) = self.b.poll(self.now) {
            self.a.handle(self.now, Input::Segment(segment));
        }
        while self.a.event().is_some() {}
    }
}

#[test]
fn steady_state_without_loss() {
    check(Bulk::new(Config { send_buffer: 100_000, ..Config::default() }, 0));
}

#[test]
fn steady_state_with_loss_and_sack() {
    check(Bulk::new(Config { send_buffer: 100_000, timestamps: true, ..Config::default() }, 97));
}

#[test]
fn steady_state_with_loss_and_rack() {
    let config =
        Config { send_buffer: 100_000, rack: true, prr: true, ecn: true, ..Config::default() };
    check(Bulk::new(config, 97));
}

fn check(mut bulk: Bulk) {
    let seen = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(seen.count_total, 1, "the counter does not count");
    for _ in 0..2_000 {
        bulk.round();
    }
    let segments = bulk.segments;
    let counted = allocation_counter::measure(|| {
        for _ in 0..2_000 {
            bulk.round();
        }
    });
    let sent = bulk.segments - segments;
    assert!(sent > 2_000, "only {sent} segments were sent: {:?}", bulk.a.stats());
    assert_eq!(counted.count_total, 0, "allocations for {sent} segments");
}
