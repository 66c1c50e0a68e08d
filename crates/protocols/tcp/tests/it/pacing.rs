//! Segments leave at the rate that an algorithm sets, and the algorithm hears the rate at which
//! they arrive.

use fairwave_cc::{AckEvent, Controller, Initial, LossEvent, RateSample, RtoEvent};
use fairwave_machine::Machine;
use fairwave_tcp::{Config, Connection, Input, Segment, Virtual};
use fairwave_units::{BitRate, Duration, Instant, Seq32};
use fairwave_wire::tcp::{Flags, Header};
use std::sync::{Arc, Mutex};

const SEG: u32 = 1_000;

/// 8 Mbps is a segment of 1000 bytes each millisecond.
#[test]
fn segments_are_spaced_by_the_rate() {
    let mut sender = Paced::new(Duration::ZERO);
    sender.write(5);
    assert_eq!(sender.departures(10), [(100, 0), (101, 1), (102, 2), (103, 3), (104, 4)]);
}

/// With a quantum of 4 ms, what 4 ms give leaves at once, and the mean rate is the same.
#[test]
fn a_quantum_makes_bursts_of_the_same_mean() {
    let mut sender = Paced::new(Duration::from_millis(4));
    sender.write(10);
    let at: Vec<u64> = sender.departures(20).iter().map(|(at, _)| *at).collect();
    assert_eq!(at, [100, 100, 100, 100, 104, 104, 104, 104, 108, 108]);
}

/// ACKs open the window, not the pace; and silence is no credit for a burst.
#[test]
fn neither_acks_nor_idleness_hasten_a_paced_sender() {
    let mut sender = Paced::new(Duration::ZERO);
    sender.write(2);
    assert_eq!(sender.departures(50).len(), 2);
    sender.write(6);
    // The rest of this millisecond only: the ACK is taken between two departures.
    assert_eq!(sender.departures(0), [(150, 2)]);
    sender.ack(3);
    assert_eq!(sender.departures(2), [(151, 3), (152, 4)]);
    sender.ack(5);
    assert_eq!(sender.departures(10), [(153, 5), (154, 6), (155, 7)]);
}

/// A retransmission after a timeout does not wait for its turn.
#[test]
fn a_timeout_is_not_paced() {
    let mut sender = Paced::new(Duration::ZERO);
    sender.write(3);
    sender.departures(10);
    let sent = sender.departures(1_500);
    assert_eq!(sent[0], (1_100, 0));
}

/// draft-cheng-iccrg-delivery-rate-estimation sections 3.3 and 3.4: a paced flight of ten that
/// arrives as it was spaced is delivered at the pace, and is application-limited since nothing
/// more waited.
#[test]
fn the_algorithm_hears_the_rate_of_what_it_paced() {
    let mut sender = Paced::new(Duration::ZERO);
    sender.write(10);
    sender.departures(49);
    for n in 1..=10 {
        sender.now = at(149 + u64::from(n));
        sender.ack(n);
    }
    let rates = sender.rates();
    // The first ACK tells of one segment in a round trip of 50 ms.
    assert_eq!(rates[0].rate(), Some(BitRate(160_000)));
    let last = rates.last().expect("ten ACKs");
    // The last left at 109 and arrived at 159: ten in the 59 ms since the flight began.
    assert_eq!((last.delivered, last.interval), (10 * SEG, Duration::from_millis(59)));
    assert!(last.is_app_limited);
    // More waits from now on than the window takes: the next flight is the network's.
    sender.write(200);
    sender.departures(100);
    sender.ack(100);
    sender.departures(100);
    sender.ack(200);
    assert!(!sender.rates().last().expect("two more").is_app_limited);
}

/// A sender with an algorithm of a fixed rate, and what that algorithm heard.
struct Paced {
    end: Connection<Virtual>,
    now: Instant,
    reported: Arc<Mutex<Vec<AckEvent>>>,
}

#[derive(Debug)]
struct FixedRate(Arc<Mutex<Vec<AckEvent>>>);

impl Controller for FixedRate {
    fn name(&self) -> String {
        "fixed-rate".to_owned()
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        self.0.lock().expect("one thread").push(*ack);
    }
    fn on_loss(&mut self, _loss: &LossEvent) {}
    fn on_rto(&mut self, _rto: &RtoEvent) {}
    fn cwnd(&self) -> u32 {
        100 * SEG
    }
    fn ssthresh(&self) -> u32 {
        u32::MAX
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate::mbps(8))
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

impl Paced {
    /// Established at 100 ms.
    fn new(pacing_quantum: Duration) -> Self {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let shared = reported.clone();
        let config =
            Config { mss: SEG as u16, window_scaling: true, pacing_quantum, ..Config::default() };
        let build = Box::new(move |_: Initial| Box::new(FixedRate(shared)) as Box<dyn Controller>);
        let mut paced =
            Self { end: Connection::new(config, Seq32(0), build), now: at(0), reported };
        paced.end.handle(at(0), Input::Open);
        let mut answer =
            Header { seq: Seq32(0), ack: Seq32(1), window: 60_000, ..Header::default() };
        answer.flags = Flags { syn: true, ack: true, ..Flags::default() };
        answer.options = paced.end.poll(at(0)).expect("a SYN").header.options;
        paced.now = at(100);
        paced.segment(answer);
        while paced.end.poll(paced.now).is_some() {}
        paced
    }

    fn segment(&mut self, header: Header) {
        let segment = Segment { header, payload: Virtual(0), ..Segment::default() };
        self.end.handle(self.now, Input::Segment(segment));
    }

    fn write(&mut self, segments: u32) {
        self.end.handle(self.now, Input::Write(Virtual(segments * SEG)));
    }

    fn ack(&mut self, n: u32) {
        let mut header = Header { seq: Seq32(1), ack: Seq32(1) + n * SEG, ..Header::default() };
        header.flags.ack = true;
        header.window = 60_000;
        self.segment(header);
    }

    /// Milliseconds and number of each data segment that leaves in the next `millis`.
    fn departures(&mut self, millis: u64) -> Vec<(u64, u32)> {
        let end = self.now + Duration::from_millis(millis);
        let mut sent = Vec::new();
        loop {
            let now = self.now;
            while let Some(segment) = self.end.poll(now) {
                let number = segment.header.seq.distance(Seq32(1)) / SEG;
                sent.push((now.as_nanos() / 1_000_000, number));
            }
            let Some(next) = self.end.deadline().filter(|at| *at <= end) else { break };
            self.now = next;
            self.end.wake(next);
        }
        self.now = end;
        sent
    }

    fn rates(&self) -> Vec<RateSample> {
        self.reported.lock().expect("one thread").iter().filter_map(|ack| ack.rate).collect()
    }
}
