//! Timeouts inferred from the counts of segments sent and acknowledged on a path (TCP SHAKE section
//! 2.3), beside those inferred from the arrival of each segment.

use crate::common::{self, ID};
use fairwave_machine::Machine;
use fairwave_shake::{Config, Connection, Input, LossDetection, Profile, Segment, TimeoutRule};
use fairwave_tcp::Virtual;
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::shake::{Ack, Block, Blocks, Body, Challenge, Data, Echo, Header, Side};
use std::num::{NonZeroU32, NonZeroU64};

const MSS: u32 = 1460;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// An opener with the paper's profile, and the peer that answers it by hand.
struct Opener {
    end: Connection<Virtual>,
    /// The peer's last number on each path.
    numbers: [u64; 2],
    sent: Vec<Header>,
}

impl Opener {
    /// Sends `segments` at the time 0, as its windows of `initial` segments permit, over `paths`.
    fn new(config: Config, paths: u8, initial: u32, segments: u32) -> Self {
        let config = Config { initial_window: initial * MSS, ..config };
        let end = Connection::new(config, common::rules(), Side::Opener, ID, Seed(7));
        let mut opener = Self { end, numbers: [0; 2], sent: Vec::new() };
        for path in 0..paths {
            opener.end.handle(at(0), Input::Join { path, nominal: None });
            let Some(Body::Join(join)) = opener.end.poll(at(0)).map(|join| join.header.body) else {
                panic!("no join");
            };
            let challenge = Challenge { nonce: 1, answers: join.nonce, window: 52_560 };
            opener.answer(at(0), path, Body::Challenge(challenge));
        }
        opener.end.handle(at(0), Input::Write(Virtual(segments * MSS)));
        opener.drain(at(0));
        opener
    }

    fn answer(&mut self, now: Instant, path: u8, body: Body) {
        let number = &mut self.numbers[usize::from(path)];
        *number += 1;
        let number = NonZeroU64::new(*number).unwrap();
        let header =
            Header { connection: ID, from: Side::Acceptor, path, number, sent_us: 0, body };
        self.end.handle(now, Input::Segment(Segment { header, payload: Virtual(0) }));
        self.drain(now);
    }

    fn drain(&mut self, now: Instant) {
        while let Some(segment) = self.end.poll(now) {
            self.sent.push(segment.header);
        }
    }

    /// The messages of data that were sent, by path, number and place in segments.
    fn data(&self) -> Vec<(u8, u64, u64)> {
        let data = self.sent.iter().filter_map(|header| match header.body {
            Body::Data(Data { seq, .. }) => {
                Some((header.path, header.number.get(), seq / u64::from(MSS)))
            }
            _ => None,
        });
        data.collect()
    }

    /// An acknowledgement of the first `segments`, and of those in `sacked`, that echoes the
    /// message `number` of a path.
    fn acknowledge(&mut self, ms: u64, of: (u8, u64), segments: u64, sacked: Option<(u32, u32)>) {
        let mut blocks = Blocks::default();
        if let Some((offset, len)) = sacked {
            let [offset, len] = [offset, len].map(|n| NonZeroU32::new(n * MSS).unwrap());
            assert!(blocks.push(Block { offset, len }));
        }
        let echo = Some(Echo { number: NonZeroU64::new(of.1).unwrap(), sent_us: 0 });
        let cumulative = segments * u64::from(MSS);
        self.answer(at(ms), of.0, Body::Ack(Ack { cumulative, window: 52_560, echo, blocks }));
    }

    fn flight(&self, path: usize) -> u32 {
        self.end.paths().nth(path).expect("it was joined").flight / MSS
    }

    /// The timers run until `ms`; returns how many expired since the start.
    fn run_until(&mut self, ms: u64) -> u64 {
        while let Some(due) = self.end.deadline().filter(|due| *due <= at(ms)) {
            self.end.wake(due);
            self.drain(due);
        }
        self.end.stats().timeouts
    }
}

fn paper(timeouts: TimeoutRule) -> Config {
    Config { timeouts, ..Profile::Paper.config() }
}

/// The first of two acknowledgements is lost, and the second acknowledges both segments. By counts
/// one of two is missing: the timer, which the second has set at 100 ms to 500 ms + 4 * 250 ms,
/// expires on the tick after 1.6 s. All data has arrived, so that nothing is retransmitted, but the
/// window is one segment.
#[test]
fn a_lost_acknowledgement_is_a_timeout_by_counts_alone() {
    for (rule, flight, timeouts) in [(TimeoutRule::Counts, 1, 1), (TimeoutRule::Arrivals, 0, 0)] {
        let mut opener = Opener::new(paper(rule), 1, 2, 2);
        assert_eq!(opener.data().len(), 2);
        let (path, second, _) = opener.data()[1];
        opener.acknowledge(100, (path, second), 2, None);
        assert_eq!(opener.flight(0), flight, "{rule:?}");
        assert_eq!(opener.run_until(1_999), 0, "{rule:?}");
        assert_eq!(opener.run_until(2_000), timeouts, "{rule:?}");
        assert_eq!(opener.data().len(), 2, "{rule:?}");
        let cwnd = opener.end.paths().next().expect("it was joined").cwnd / MSS;
        assert_eq!(cwnd, if timeouts > 0 { 1 } else { 4 }, "{rule:?}");
    }
}

/// The first of three segments is lost. The acknowledgements of the others count for the first two,
/// and the timeout retransmits the first, whose count was another's, without a rewind too.
#[test]
fn a_timeout_retransmits_the_missing_segment_and_not_the_one_not_counted() {
    for timeout_rewinds in [true, false] {
        let config = Config { timeout_rewinds, ..paper(TimeoutRule::Counts) };
        let mut opener = Opener::new(config, 1, 3, 3);
        let [first, second, third] = opener.data()[..] else { panic!("{:?}", opener.data()) };
        opener.acknowledge(100, (0, second.1), 0, Some((1, 1)));
        assert_eq!(opener.flight(0), 2);
        opener.acknowledge(200, (0, third.1), 0, Some((1, 2)));
        assert_eq!(opener.flight(0), 1);
        assert_eq!(opener.run_until(1_499), 0);
        assert_eq!(opener.run_until(1_500), 1);
        let resent = opener.data()[3..].iter().map(|data| data.2).collect::<Vec<_>>();
        assert_eq!(resent, [first.2], "rewinds: {timeout_rewinds}");
    }
}

/// Fast retransmit repairs a loss; the count of its path stays short, and its timer expires.
#[test]
fn a_repaired_loss_stays_in_the_counts() {
    let config =
        Config { loss_detection: LossDetection::Duplicates(3), ..paper(TimeoutRule::Counts) };
    let mut opener = Opener::new(config, 1, 4, 4);
    let sent = opener.data();
    for (later, data) in sent[1..].iter().enumerate() {
        opener.acknowledge(100 + later as u64, (0, data.1), 0, Some((1, later as u32 + 1)));
    }
    let repeated = opener.data()[4];
    assert_eq!((repeated.2, opener.flight(0)), (0, 2), "the one not counted, and the repeated one");
    opener.acknowledge(200, (0, repeated.1), 4, None);
    assert_eq!((opener.flight(0), opener.run_until(1_499)), (1, 0));
    assert_eq!(opener.run_until(1_500), 1);
    assert_eq!(opener.end.stats().losses_found, 1);
}

/// Counts are a path's own: what its sibling's acknowledgement shows to have arrived stays in
/// flight.
#[test]
fn acknowledgements_of_other_paths_do_not_count() {
    let mut opener = Opener::new(paper(TimeoutRule::Counts), 2, 1, 2);
    let [first, second] = opener.data()[..] else { panic!("{:?}", opener.data()) };
    assert_ne!(first.0, second.0);
    opener.acknowledge(100, (second.0, second.1), 2, None);
    let flights = [first.0, second.0].map(|path| opener.flight(usize::from(path)));
    assert_eq!(flights, [1, 0]);
    // The first path has no sample: 6 s as in 4.3BSD.
    assert_eq!((opener.run_until(5_999), opener.run_until(6_000)), (0, 1));
}
