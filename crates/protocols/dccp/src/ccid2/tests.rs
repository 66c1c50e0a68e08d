//! Windows by hand from RFC 4341.

use super::acks::AckRatio;
use super::*;
use crate::ccid::{Arrived, Feedback, Permit, Receiver, Sender, Sent};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Arrival, DropCode, Dropped, Kind, Options, Seq48, Value};
use fairwave_wire::ipv4::Ecn;
use std::collections::VecDeque;

const SIZE: u32 = 1000;

fn seq(n: u64) -> Seq48 {
    Seq48::new(n)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A sender that sends whatever it may, numbered from 1.
struct Script {
    sender: Ccid2Sender,
    next: u64,
    received: u64,
}

impl Script {
    fn new() -> Self {
        Self { sender: Ccid2Sender::new(), next: 1, received: 1 }
    }

    /// Sends up to `most` packets; how many.
    fn send(&mut self, ms: u64, max: u32) -> u32 {
        let mut sent = 0;
        while sent < max && self.sender.permit(at(ms), SIZE) == Permit::Now {
            let packet = Sent {
                seq: seq(self.next),
                data: Some(SIZE),
                wire_len: SIZE + 16,
                ecn: Ecn::Ect0,
                more: true,
            };
            self.sender.on_sent(at(ms), &packet);
            self.next += 1;
            sent += 1;
        }
        sent
    }

    /// An acknowledgement of `ack` with these runs.
    fn receive(&mut self, ms: u64, ack: u64, runs: &[(Arrival, u64)]) {
        let vector: Vec<u8> = runs.iter().map(|(state, count)| state.byte(*count)).collect();
        self.receive_options(ms, ack, &[Value::AckVector { nonce_echo: false, vector: &vector }]);
    }

    fn receive_options(&mut self, ms: u64, ack: u64, values: &[Value<'_>]) {
        let mut options = Options::new();
        for value in values {
            options.push(*value).unwrap();
        }
        self.received += 1;
        let kind = Kind::Ack { ack: seq(ack) };
        let feedback = Feedback {
            seq: seq(self.received),
            kind,
            ack: seq(ack),
            ecn: Ecn::Ect0,
            options: &options,
        };
        self.sender.on_feedback(at(ms), &feedback);
    }

    fn windows(&self) -> (u32, u32, u32) {
        let stats = self.sender.stats();
        (stats.cwnd.unwrap(), stats.ssthresh.unwrap(), stats.pipe.unwrap())
    }
}

use Arrival::{Marked, Missing, Received};

/// RFC 3390, in packets: min(4, max(2, 4380 / s)).
#[test]
fn the_initial_window() {
    for (bytes, packets) in [(0, 4), (629, 4), (1095, 4), (1460, 3), (2190, 2), (4000, 2)] {
        let mut sender = Ccid2Sender::new();
        assert_eq!(sender.permit(at(0), bytes), Permit::Now);
        assert_eq!(sender.stats().cwnd, Some(packets), "{bytes} bytes");
    }
}

/// One packet for two acknowledged ones, at most Ack Ratio / 2 an acknowledgement.
#[test]
fn slow_start_grows_by_half() {
    let mut script = Script::new();
    assert_eq!(script.send(0, 100), 4);
    script.receive(100, 2, &[(Received, 2)]);
    assert_eq!(script.windows(), (5, u32::MAX, 2));
    script.receive(100, 4, &[(Received, 4)]);
    assert_eq!(script.windows(), (6, u32::MAX, 0), "1 and 2 do not count again");
    assert_eq!(script.send(100, 100), 6);
    script.receive(200, 10, &[(Received, 6)]);
    assert_eq!(script.windows().0, 7, "six at once count as two");
}

/// A window that the application does not fill does not grow.
#[test]
fn an_application_limited_window_stays() {
    let mut script = Script::new();
    for round in 0..10 {
        assert_eq!(script.send(100 * round, 2), 2);
        script.receive(100 * round + 50, 2 * round + 2, &[(Received, 2)]);
    }
    assert_eq!(script.windows(), (4, u32::MAX, 0));
}

/// Three later packets give a packet up; several of one window are one event.
#[test]
fn losses_of_a_window_are_one_event() {
    let mut script = Script::new();
    script.send(0, 4);
    script.receive(100, 4, &[(Received, 4)]);
    script.send(100, 5);
    // 5 and 6 are missing, 7 and 8 came: too few.
    script.receive(200, 8, &[(Received, 2), (Missing, 2), (Received, 4)]);
    let (cwnd, _, pipe) = script.windows();
    assert_eq!((cwnd, pipe), (6, 3));
    script.receive(201, 9, &[(Received, 3), (Missing, 2), (Received, 4)]);
    assert_eq!(script.windows(), (3, 3, 0), "halved once");
    assert_eq!(script.sender.stats().congestion_events, 1);
    // One of them was only late: pipe does not fall again.
    script.send(201, 3);
    script.receive(202, 9, &[(Received, 4), (Missing, 1), (Received, 4)]);
    assert_eq!(script.windows().2, 3);
}

/// At or above ssthresh one packet a window.
#[test]
fn avoidance_grows_by_one_a_window() {
    let mut script = Script::new();
    script.send(0, 4);
    script.receive(100, 4, &[(Marked, 1), (Received, 3)]);
    assert_eq!(script.windows(), (2, 2, 0), "a mark halves");
    for round in 1..=4 {
        let first = script.next;
        assert_eq!(u64::from(script.send(100 * round, 100)), round + 1);
        script.receive(100 * round + 50, first + round, &[(Received, round + 1)]);
        assert_eq!(u64::from(script.windows().0), round + 2, "round {round}");
    }
}

/// Round trips from one loss to the next if each `each`th packet is lost and each other one is
/// acknowledged at once.
fn rounds_between_losses(each: u64) -> f64 {
    let (mut script, mut acks) = (Script::new(), VecDeque::new());
    let (mut now, mut began) = (0, None);
    loop {
        let first = script.next;
        script.send(now, 100);
        acks.extend(
            (first..script.next).filter(|n| !n.is_multiple_of(each)).map(|n| (now + 1_000, n)),
        );
        let (at, ack) = acks.pop_front().expect("some are in flight");
        now = at;
        let state = |n: u64| if n.is_multiple_of(each) { Missing } else { Received };
        let runs: Vec<_> = (0..ack.min(40)).map(|back| (state(ack - back), 1)).collect();
        script.receive(now, ack, &runs);
        match (script.sender.stats().congestion_events, began) {
            (100, None) => began = Some(now),
            (300, Some(began)) => return (now - began) as f64 / 1_000.0 / 200.0,
            _ => {}
        }
    }
}

/// RFC 4341 section 5. Of a loss in 100 packets: two windows of 7, as the first growth is for a
/// window without the loss, then 8, 9 and so on up to 15. Linux takes 8.0 and 4.7, as it counts
/// packets acknowledged with the loss towards the next growth.
#[test]
fn a_window_with_a_loss_does_not_count_towards_growth() {
    let found = [100, 33].map(rounds_between_losses);
    assert!((9.3..9.7).contains(&found[0]) && (5.8..6.2).contains(&found[1]), "{found:?}");
}

/// RFC 6298 with a first sample of 100 ms: 100 + 4 * 50 = 300, but at least 400; then doubled.
#[test]
fn a_timeout_leaves_one_packet() {
    let mut script = Script::new();
    script.send(0, 4);
    script.receive(100, 4, &[(Received, 4)]);
    assert_eq!(script.send(100, 100), 5);
    assert_eq!(script.sender.deadline(), Some(at(500)));
    script.sender.wake(at(499));
    assert_eq!(script.sender.stats().timeouts, 0, "early");
    script.sender.wake(at(500));
    assert_eq!(script.windows(), (1, 2, 0));
    assert_eq!(script.send(500, 100), 1);
    assert_eq!(script.sender.deadline(), Some(at(500 + 800)));
    // What was given up arrives after all: pipe is not touched.
    script.receive(510, 9, &[(Received, 9)]);
    assert_eq!(script.windows().2, 1);
}

/// RFC 4341 section 5.2.
#[test]
fn a_full_receive_buffer_takes_one_packet_each() {
    let mut script = Script::new();
    script.send(0, 4);
    let all = [Received.byte(4)];
    let vector = Value::AckVector { nonce_echo: false, vector: &all };
    let dropped = [Dropped::Dropped(DropCode::RECEIVE_BUFFER).byte(2)];
    script.receive_options(100, 4, &[vector, Value::DataDropped(&dropped)]);
    assert_eq!(script.windows(), (2, 4, 0), "left slow start at 4");
    script.receive_options(101, 4, &[vector, Value::DataDropped(&dropped)]);
    assert_eq!(script.windows().0, 2, "not again for the same");
    let harmless = [Dropped::Dropped(DropCode::PROTOCOL).byte(4)];
    script.receive_options(102, 4, &[vector, Value::DataDropped(&harmless)]);
    assert_eq!(script.windows().0, 2);
}

#[test]
fn a_slow_receiver_stops_growth_for_a_round_trip() {
    let mut script = Script::new();
    script.send(0, 4);
    script.receive(100, 2, &[(Received, 2)]);
    let vector = [Received.byte(4)];
    let vector = Value::AckVector { nonce_echo: false, vector: &vector };
    script.receive_options(100, 4, &[vector, Value::SlowReceiver]);
    assert_eq!(script.windows(), (5, 5, 0));
}

/// RFC 4341 section 6.1: doubled for lost acknowledgements, at most half the window.
#[test]
fn the_ack_ratio_follows_the_acknowledgements() {
    let mut acks = AckRatio::new();
    for n in [1, 2, 4, 5] {
        acks.on_packet(seq(n), false);
    }
    acks.on_window(20);
    assert_eq!(acks.get(), 2, "two overtook number 3");
    acks.on_packet(seq(6), false);
    acks.on_window(20);
    assert_eq!(acks.get(), 4);
    acks.on_packet(seq(7), true);
    acks.on_window(20);
    assert_eq!(acks.get(), 8, "a mark counts too");
    acks.on_packet(seq(8), true);
    acks.on_window(20);
    assert_eq!(acks.get(), 10, "half of 20");
    acks.fit(5);
    assert_eq!(acks.get(), 3);
    // 40 / (9 - 3) = 6 windows without loss lower it by one.
    for window in 1..=6 {
        assert_eq!(acks.get(), 3, "window {window}");
        acks.on_window(40);
    }
    assert_eq!(acks.get(), 2);
    acks.on_window(40);
    assert_eq!(acks.get(), 2);
    // Each packet of a window below four, unless acknowledgements get lost.
    for (cwnd, ratio) in [(3, 1), (1, 1), (2, 1), (3, 1), (4, 2), (3, 1)] {
        acks.fit(cwnd);
        assert_eq!(acks.get(), ratio, "{cwnd}");
    }
    acks.on_packet(seq(9), true);
    acks.on_window(3);
    assert_eq!(acks.get(), 2, "half of 3, rounded up");
    acks.on_window(3);
    assert_eq!(acks.get(), 1, "3 / (4 - 2) windows without loss");
}

/// RFC 6298: a first sample of 100 ms, then one of 60. The host ran 20 and 40 ms after the
/// acknowledgements, so that samples up to then are 120 and 100 ms: (7 * 120 + 100) / 8 = 117.5.
#[test]
fn the_wait_of_an_acknowledgement_is_part_of_its_round_trip() {
    let mut script = Script::new();
    let rtt = |script: &Script| script.sender.stats().rtt.map(Duration::as_micros);
    script.send(0, 4);
    script.receive(100, 4, &[(Received, 4)]);
    script.sender.act(at(120));
    assert_eq!(rtt(&script), Some(120_000));
    script.send(120, 1);
    script.receive(180, 5, &[(Received, 5)]);
    script.sender.act(at(220));
    assert_eq!(rtt(&script), Some(117_500));
    script.sender.act(at(400));
    assert_eq!(rtt(&script), Some(117_500), "nothing waits");
}

/// A reordered acknowledgement is none that is lost.
#[test]
fn late_acknowledgements_are_not_lost() {
    let mut acks = AckRatio::new();
    for n in [1, 2, 4, 5, 3, 6, 7, 100, 101, 102, 99] {
        acks.on_packet(seq(n), false);
        if n == 7 {
            acks.on_window(20);
            assert_eq!(acks.get(), 2);
        }
    }
    acks.on_window(20);
    assert_eq!(acks.get(), 4, "92 were lost");
}

#[test]
fn the_receiver_acknowledges_by_ratio_delay_and_disorder() {
    let options = Options::new();
    let mut receiver = Ccid2Receiver::new();
    let take = |receiver: &mut Ccid2Receiver, ms: u64, n: u64, ecn: Ecn| {
        let (kind, data, wire_len) = (Kind::Data, Some(SIZE), SIZE + 16);
        let arrived =
            Arrived { seq: seq(n), kind, data, wire_len, ccval: 0, ecn, options: &options };
        receiver.on_packet(at(ms), &arrived);
        receiver.is_due(at(ms))
    };
    let clear = |receiver: &mut Ccid2Receiver| {
        receiver.acknowledge(at(0), seq(0), &mut Options::new());
        assert!(!receiver.is_due(at(9999)) && receiver.deadline().is_none());
    };
    assert!(!take(&mut receiver, 0, 1, Ecn::Ect0));
    assert_eq!(receiver.deadline(), Some(at(200)));
    assert!(receiver.is_due(at(200)), "delayed by 200 ms at most");
    assert!(take(&mut receiver, 10, 2, Ecn::Ect0), "two by default");
    clear(&mut receiver);
    receiver.set_ack_ratio(3);
    assert!(!take(&mut receiver, 20, 3, Ecn::Ect0) && !take(&mut receiver, 20, 4, Ecn::Ect0));
    assert!(take(&mut receiver, 20, 5, Ecn::Ect0));
    clear(&mut receiver);
    assert!(take(&mut receiver, 30, 7, Ecn::Ect0), "a gap");
    clear(&mut receiver);
    assert!(take(&mut receiver, 40, 8, Ecn::Ce), "a mark");
}
