//! Datagrams with a deadline over lines of virtual time.

use super::*;

const FLOW: u32 = 7;

impl Net {
    /// Sends datagrams of 1,000 bytes each `us` microseconds from one end, `count` of them, and
    /// returns the numbers of those that arrive, with their delays.
    fn call(&mut self, from: End, us: u64, count: u32, lifetime: Duration) -> Vec<(u32, Duration)> {
        let to = if from == End::A { End::B } else { End::A };
        let session = |net: &Self, end| match end {
            End::A => net.client.session().expect("connected"),
            End::B => 0,
        };
        let (here, there) = (session(self, from), session(self, to));
        let (start, mut arrived) = (self.now, Vec::new());
        for number in 0..count + 1_000_000u32.div_ceil(us as u32) {
            let at = start + Duration::from_micros(us * u64::from(number));
            while self.step(at) {
                arrived.extend(self.read(to, there).map(|sent| {
                    (sent, self.now.since(start + Duration::from_micros(us * u64::from(sent))))
                }));
            }
            if number < count {
                let payload = [&number.to_be_bytes()[..], &[0; 996]].concat();
                let now = self.now;
                let host = self.host(from);
                host.send_datagram(now, here, FLOW, payload.into(), lifetime).expect("it fits");
                self.drain(from);
            }
        }
        arrived
    }

    /// The number in a datagram that has arrived.
    fn read(&mut self, end: End, session: usize) -> Option<u32> {
        let now = self.now;
        let payload = self.host(end).receive_datagram(now, session, FLOW)?;
        Some(u32::from_be_bytes(*payload.first_chunk().expect("a number")))
    }
}

fn connected(wires: &[Wire], mode: Mode) -> Net {
    let config = Config { mode, ..Config::new(psk()) };
    let mut net = Net::with(wires, &config);
    net.ms(300);
    net.open();
    net
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 1 Mbps in either direction goes over the path of 10 ms, and not over that of 60 ms.
#[test]
fn datagrams_take_the_path_that_delivers_first() {
    for from in [End::A, End::B] {
        let mut net = connected(&[wire(20, 60, 0.0), wire(20, 10, 0.0)], Mode::Shake);
        let arrived = net.call(from, 8_000, 500, ms(500));
        assert_eq!(arrived.len(), 500);
        // The server has not measured the paths before its first datagram.
        let late = arrived.iter().filter(|(_, delay)| *delay > ms(12)).count();
        assert!(late < 20, "{late} of 500");
    }
}

/// A call of 3 Mbps over two links of 2 Mbps: one alone would lose a third.
#[test]
fn a_call_uses_two_links_where_one_is_too_narrow() {
    let mut net = connected(&[wire(2, 10, 0.0), wire(2, 15, 0.0)], Mode::Shake);
    let arrived = net.call(End::A, 2_667, 3_000, ms(200));
    assert!(arrived.len() > 2_900, "{} of 3000", arrived.len());
    let late = arrived.iter().filter(|(_, delay)| *delay > ms(200)).count();
    assert!(late < 30, "{late} came late");
    let bytes: Vec<_> = net.client.paths(net.now, 0).iter().map(|path| path.bytes_sent).collect();
    assert!(bytes.iter().all(|bytes| *bytes > 900_000), "{bytes:?}");
}

/// Each datagram arrives once, although each link loses a tenth: 99 % of them.
#[test]
fn redundant_datagrams_arrive_once() {
    let wires = [wire(20, 10, 0.1), wire(20, 15, 0.1)];
    let mut net = connected(&wires, Mode::Redundant);
    let mut arrived: Vec<_> = net.call(End::A, 8_000, 1_000, ms(500));
    arrived.sort_unstable();
    arrived.dedup_by_key(|(number, _)| *number);
    assert!(arrived.len() > 975, "{}", arrived.len());
    assert_eq!(net.server.datagrams(0).received as usize, arrived.len());
}

/// Of 4 Mbps a link of 2 Mbps carries half. The others are dropped before they are sent, so that
/// the queue of the link does not make all of them late: it would be 200 ms at the end of the first
/// half second and 4 s at the end. What is known of the queue is a round-trip time old.
#[test]
fn datagrams_that_would_come_too_late_are_not_sent() {
    let deep = Wire { queue: Some(100_000), ..wire(2, 10, 0.0) };
    let mut net = connected(&[deep], Mode::Shake);
    let arrived = net.call(End::A, 2_000, 4_000, ms(100));
    let stats = net.client.datagrams(0);
    assert_eq!(stats.sent + stats.dropped, 4_000);
    assert!(stats.dropped > 1_500, "{stats:?}");
    let in_time = arrived.iter().filter(|(_, delay)| *delay <= ms(100)).count();
    let last = arrived.iter().map(|(_, delay)| *delay).max().expect("some arrive");
    assert!(in_time > 650 && last < ms(400), "{in_time} of {}, {last} at most", arrived.len());
}

/// When the path in use falls silent, the other takes over before the second is over.
#[test]
fn a_silent_path_is_left_at_once() {
    let mut net = connected(&[wire(20, 10, 0.0), wire(20, 30, 0.0)], Mode::Shake);
    net.call(End::A, 8_000, 50, ms(500));
    net.works[0] = false;
    let arrived = net.call(End::A, 8_000, 250, ms(500));
    let first = arrived.first().expect("some arrive").0;
    assert!(first < 30, "the first to arrive is {first}");
    assert!(arrived.len() > 215, "{}", arrived.len());
}

/// Datagrams for a peer that has not shown its keys are not sent, and neither are long ones.
#[test]
fn datagrams_need_a_session_and_have_to_fit() {
    let mut net = Net::new(&[wire(20, 10, 0.0)]);
    let refused = |host: &mut Endpoint, len: usize| {
        host.send_datagram(Instant::ZERO, 0, FLOW, vec![0; len].into(), ms(500))
    };
    assert_eq!(refused(&mut net.client, 1), Err(DatagramError::NoSession));
    net.ms(300);
    // 1500 bytes without IPv4, UDP, the record's head, its tag, and the frame's head.
    let max = 1500 - 20 - 8 - 16 - 16 - 15;
    assert_eq!(refused(&mut net.client, max + 1), Err(DatagramError::TooLong { max }));
    assert_eq!(net.client.datagrams(0).dropped, 1);
    assert_eq!(refused(&mut net.client, max), Ok(()));
}

/// A call of 3.2 Mbps over one regular path: only the questions of each second go over a metered
/// one. When the regular path is gone, the metered one carries the call, by the time that it takes.
#[test]
fn a_call_leaves_a_metered_path_alone() {
    for from in [End::A, End::B] {
        let mut net = connected(&[wire(20, 10, 0.0), wire(20, 5, 0.0)], Mode::Shake);
        net.report(End::A, Input::Prioritize(1, Priority::Backup));
        net.ms(300);
        let bytes = |net: &Net| {
            let path = net.client.paths(net.now, 0)[1];
            path.bytes_sent + path.bytes_received
        };
        let before = bytes(&net);
        assert_eq!(net.call(from, 2_500, 4_000, ms(500)).len(), 4_000);
        let spent = bytes(&net) - before;
        assert!(spent < 10_000, "{spent} bytes in 10 s");
        net.works[0] = false;
        let arrived = net.call(from, 2_500, 800, ms(500));
        assert!(arrived.len() > 500, "{} of 800", arrived.len());
        assert!(bytes(&net) - before > 500_000);
    }
}
