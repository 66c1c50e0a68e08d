//! TCP-AV beside Reno on a shared link: a deterministic loop of one millisecond a step.

use super::*;

/// The link: 25 Mbps, 10 ms without a queue of 100 segments.
const STEP_US: u64 = 1_000;
const BASE_US: u64 = 10_000;
const BYTES_PER_STEP: u64 = 3_125;
const QUEUE: u64 = 100 * MSS as u64;

/// A sender: its algorithm, and what of it is on the way, by the step at which it left.
struct Sender {
    algorithm: Box<dyn Controller>,
    /// Bytes sent that were not served yet, and those served whose ACKs are on the way back.
    waiting: u64,
    returning: Vec<(u64, u64)>,
    in_flight: u64,
    delivered: u64,
    sent: u64,
    lost: u32,
    recovers_until: u64,
}

impl Sender {
    fn new(algorithm: Box<dyn Controller>) -> Self {
        let returning = Vec::new();
        let (waiting, in_flight, delivered, sent) = (0, 0, 0, 0);
        Self {
            algorithm,
            waiting,
            returning,
            in_flight,
            delivered,
            sent,
            lost: 0,
            recovers_until: 0,
        }
    }

    /// Takes the ACKs that are due, at a round trip of `rtt_us`.
    fn receive(&mut self, step: u64, rtt_us: u64) {
        let due: u64 = self.returning.iter().filter(|(at, _)| *at <= step).map(|(_, b)| b).sum();
        self.returning.retain(|(at, _)| *at > step);
        if due == 0 {
            return;
        }
        self.in_flight -= due;
        self.delivered += due;
        let ack = AckEvent {
            now: Instant::ZERO + Duration::from_micros(step * STEP_US),
            acked: due as u32,
            una: self.delivered,
            delivered: self.delivered,
            rtt: Some(Duration::from_micros(rtt_us)),
            in_recovery: self.delivered < self.recovers_until,
            cwnd_limited: true,
            lost: core::mem::take(&mut self.lost),
            ..AckEvent::default()
        };
        self.algorithm.on_ack(&ack);
    }

    fn send(&mut self) {
        let room = u64::from(self.algorithm.cwnd()).saturating_sub(self.in_flight);
        let bytes = room / u64::from(MSS) * u64::from(MSS);
        self.in_flight += bytes;
        self.waiting += bytes;
        self.sent += bytes;
    }

    /// One segment of it finds the queue full; one reaction a window.
    fn drop_one(&mut self, step: u64) {
        let bytes = u64::from(MSS).min(self.waiting);
        self.waiting -= bytes;
        self.lost += bytes as u32;
        let now = Instant::ZERO + Duration::from_micros(step * STEP_US);
        if self.delivered >= self.recovers_until {
            self.recovers_until = self.sent;
            let loss = LossEvent { now, flight: self.in_flight as u32, una: 0, next: self.sent };
            self.algorithm.on_loss(&loss);
        }
        self.in_flight -= bytes;
        self.sent -= bytes;
    }
}

/// Bytes per second that each sender delivers from `from_s` until `to_s`.
fn run(mut senders: Vec<Sender>, from_s: u64, to_s: u64) -> Vec<u64> {
    let steps = 1_000_000 / STEP_US;
    let mut before = Vec::new();
    for step in 0..to_s * steps {
        if step == from_s * steps {
            before = senders.iter().map(|sender| sender.delivered).collect();
        }
        let queued: u64 = senders.iter().map(|sender| sender.waiting).sum();
        let rtt_us = BASE_US + queued * STEP_US / BYTES_PER_STEP;
        senders.iter_mut().for_each(|sender| sender.receive(step, rtt_us));
        senders.iter_mut().for_each(Sender::send);
        serve(&mut senders, step);
        overflow(&mut senders, step);
    }
    let gained = senders.iter().zip(before).map(|(sender, before)| sender.delivered - before);
    gained.map(|bytes| bytes / (to_s - from_s)).collect()
}

/// The link serves each sender in proportion to what of it waits.
fn serve(senders: &mut [Sender], step: u64) {
    let total: u64 = senders.iter().map(|sender| sender.waiting).sum();
    for sender in senders.iter_mut().filter(|_| total > 0) {
        let share = (BYTES_PER_STEP * sender.waiting / total).min(sender.waiting);
        sender.waiting -= share;
        sender.returning.push((step + BASE_US / STEP_US, share));
    }
}

/// What is beyond the queue is dropped, a segment at a time, from whose turn it is by a low
/// discrepancy sequence over what waits.
fn overflow(senders: &mut [Sender], step: u64) {
    loop {
        let total: u64 = senders.iter().map(|sender| sender.waiting).sum();
        if total <= QUEUE {
            return;
        }
        let mut place = (step * 618_033_989 + total * 7_919) % total;
        let unlucky = senders.iter().position(|sender| {
            let here = place < sender.waiting;
            place = place.saturating_sub(sender.waiting);
            here
        });
        senders[unlucky.expect("the place is below the total")].drop_one(step);
    }
}

fn with_target(mbps: u64, others: usize) -> Vec<Sender> {
    let av = TcpAvConfig { target: Some(BitRate::mbps(mbps)), ..TcpAvConfig::DEFAULT };
    let start = initial(4_000, av);
    let mut senders = vec![Sender::new(Box::new(TcpAv::new(start)))];
    senders.extend((0..others).map(|_| Sender::new(Box::new(Reno::new(start)))));
    senders
}

/// Against four Reno senders and a fair share of 5 Mbps, the mean is the target times 1.05.
#[test]
fn the_mean_is_the_target_with_its_margin() {
    for mbps in [6, 8, 10, 12] {
        let rates = run(with_target(mbps, 4), 20, 120);
        let aimed = mbps * 1_050_000 / 8;
        let apart = rates[0].abs_diff(aimed);
        assert!(apart * 50 <= aimed, "target {mbps} Mbps: {aimed} B/s aimed at, got {rates:?}");
    }
}
