//! An access point for tests: a queue, a radio with one frame, a loss of its own.

use crate::{Account, Trial};
use fairwave_units::{Duration, Instant, Seed, Stream};
use fairwave_wire::probe::Record;

/// Properties of the path. Times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Packets that wait, the one on the air aside.
    pub(crate) packets: usize,
    /// Bytes that wait, headers of 28 bytes included.
    pub(crate) bytes: u64,
    /// Time on the air up to the arrival.
    pub(crate) air: u64,
    /// Time from the arrival to when the radio is free.
    pub(crate) ack: u64,
    /// Maximum number of idle slots of 9 us before a frame of a busy radio.
    pub(crate) slots: u64,
    /// Probability that the radio loses a frame.
    pub(crate) loss: f64,
    /// Wait from which on one in `every` frames is dropped at the head, growing more frequent.
    pub(crate) aqm: Option<u64>,
    /// Interval in nanoseconds at which another's packet comes to the queue.
    pub(crate) others: Option<u64>,
    /// Packet behind which the sender has a pause, and its length in nanoseconds.
    pub(crate) pause: Option<(u32, u64)>,
    /// The receiver's clock is ahead by so much.
    pub(crate) offset: i64,
    /// Lead of the receiver's clock, in parts in a million.
    pub(crate) ppm: i64,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            packets: 100,
            bytes: u64::MAX,
            air: 250_000,
            ack: 40_000,
            slots: 15,
            loss: 0.0,
            aqm: None,
            others: None,
            pause: None,
            offset: 0,
            ppm: 0,
        }
    }
}

/// A packet in the buffer: its number, `None` if it is another's, its length, when it came.
type Waiting = (Option<u32>, u64, u64);

struct Buffer<'a> {
    path: &'a Path,
    random: Stream,
    queue: std::collections::VecDeque<Waiting>,
    free_at: u64,
    drops: u64,
    dropped_at: u64,
    arrived: Vec<Record>,
}

impl Buffer<'_> {
    /// Sends frames until `now`.
    fn drain(&mut self, now: u64) {
        while let Some((number, _, came)) = self.queue.front().copied() {
            let begin = self.free_at.max(came);
            if begin > now {
                return;
            }
            self.queue.pop_front();
            if self.is_dropped(begin, came) {
                continue;
            }
            let busy = begin == self.free_at;
            let idle = if busy { self.random.below(self.path.slots + 1) * 9_000 } else { 0 };
            let at = begin + idle + self.path.air;
            self.free_at = at + self.path.ack;
            let lost = self.random.chance(self.path.loss);
            if let Some(number) = number.filter(|_| !lost) {
                let drifted = at as i64 + at as i64 / 1_000_000 * self.path.ppm;
                let arrived = Instant::from_nanos((drifted + self.path.offset) as u64);
                self.arrived.push(Record { number, arrived });
            }
        }
    }

    /// CoDel's algorithm without its refinements: 100 ms after the wait became long a drop, the
    /// next after 100 ms by the root of their number (RFC 8289 section 3.3).
    fn is_dropped(&mut self, now: u64, came: u64) -> bool {
        let Some(target) = self.path.aqm else { return false };
        if now - came < target {
            (self.drops, self.dropped_at) = (0, now);
            return false;
        }
        let wait = 100_000_000.0 / ((self.drops + 1) as f64).sqrt();
        let due = now >= self.dropped_at + wait as u64;
        if due {
            self.drops += 1;
            self.dropped_at += wait as u64;
        }
        due
    }

    fn push(&mut self, now: u64, number: Option<u32>, bytes: u64) {
        let held: u64 = self.queue.iter().map(|(_, bytes, _)| bytes).sum();
        let idle = self.queue.is_empty() && self.free_at <= now;
        if idle || (self.queue.len() < self.path.packets && held + bytes <= self.path.bytes) {
            self.queue.push_back((number, bytes, now));
            self.drain(now);
        }
    }
}

/// Returns the outcome of a trial that begins at `start` and whose train goes at `spacing` ns a
/// packet.
pub(crate) fn through(path: &Path, trial: Trial, start: u64, spacing: u64, seed: u64) -> Account {
    let mut buffer = Buffer {
        path,
        random: Seed(seed).stream("testing/buffer"),
        queue: std::collections::VecDeque::new(),
        free_at: 0,
        drops: 0,
        dropped_at: 0,
        arrived: Vec::new(),
    };
    let mut sent = Vec::new();
    let mut now = start;
    let mut other = start + path.others.unwrap_or(0) / 3;
    for number in 0..trial.packets() {
        while let Some(every) = path.others.filter(|_| other < now + 1_000_000) {
            buffer.drain(other);
            buffer.push(other, None, u64::from(trial.payload_bytes) + 28);
            other += every;
        }
        // The wire takes 1 ms; times here are the buffer's.
        buffer.drain(now + 1_000_000);
        buffer.push(now + 1_000_000, Some(number), u64::from(trial.payload_bytes) + 28);
        sent.push(Instant::from_nanos(now));
        now += if number < trial.spaced { trial.interval.as_nanos() } else { spacing };
        now += path.pause.filter(|(behind, _)| *behind == number).map_or(0, |(_, pause)| pause);
    }
    buffer.drain(u64::MAX / 2);
    Account { trial, sent, arrived: buffer.arrived }
}

/// Ten trials of a size with 20 packets apart and a train of `train`, two seconds apart.
pub(crate) fn ten(path: &Path, payload_bytes: u32, train: u32) -> Vec<Account> {
    let interval = Duration::from_millis(5);
    let trial = Trial { payload_bytes, spaced: 20, interval, train };
    let start = |n: u64| 1_000_000_000 + n * 2_000_000_000;
    (0..10).map(|n| through(path, trial, start(n), 123_000, n)).collect()
}
