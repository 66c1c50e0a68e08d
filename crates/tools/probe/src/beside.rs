//! Comparison of pings with the packets of a train at the same time.

use fairwave_probe::delay;
use fairwave_probe::{Account, Ping, Way};
use fairwave_units::{Duration, Instant};

/// A ping and a packet of the train met the same state of a queue if they are no further apart than
/// this.
const NEAR: Duration = Duration::from_millis(5);

/// Waits of pings, and of the packets of the train near them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beside {
    /// Pings that were answered and had a packet near.
    pub(super) pairs: usize,
    /// Median wait of the pings in milliseconds.
    pub(super) greetings_ms: f64,
    /// Median wait of those packets in milliseconds.
    pub(super) train_ms: f64,
}

impl Beside {
    /// Compares pings that take `idle_ms` on an idle path with the train; `None` if none had a
    /// packet near. A sender that pauses lets the queue run empty. Pings are therefore not compared
    /// with the train's longest wait, but with packets of the same moment.
    pub(super) fn of(way: Way, train: &Account, pings: &[Ping], idle_ms: f64) -> Option<Self> {
        let packets = packets(way, train);
        let pair = |ping: &Ping| {
            let round_trip_ms = ping.round_trip()?.as_secs_f64() * 1e3;
            // By this host's clock the time of a packet is known where it was sent or received
            // here.
            let at = if way == Way::There { ping.sent } else { ping.answered? };
            let behind = packets.partition_point(|(time, _)| *time < at);
            let context = packets[behind.saturating_sub(1)..].iter().take(2);
            let apart = |time: Instant| time.since(at).max(at.since(time));
            let (time, wait_ms) = context.min_by_key(|(time, _)| apart(*time))?;
            (apart(*time) <= NEAR).then(|| ((round_trip_ms - idle_ms).max(0.0), *wait_ms))
        };
        let (greetings, train): (Vec<f64>, Vec<f64>) = pings.iter().filter_map(pair).unzip();
        Some(Self {
            pairs: greetings.len(),
            greetings_ms: median(greetings)?,
            train_ms: median(train)?,
        })
    }
}

/// Departure or arrival time of each packet of the train that arrived, in order, and its wait.
fn packets(way: Way, train: &Account) -> Vec<(Instant, f64)> {
    let Some(delays) = delay::delays(std::slice::from_ref(train)).into_iter().next() else {
        return Vec::new();
    };
    let arrived = train.arrived.iter().filter(|record| record.number >= train.trial.spaced);
    let packet = |record: &fairwave_wire::probe::Record| {
        let number = record.number as usize;
        let at = if way == Way::There { *train.sent.get(number)? } else { record.arrived };
        Some((at, (*delays.waits_ms.get(number)?)?))
    };
    let mut packets: Vec<(Instant, f64)> = arrived.filter_map(packet).collect();
    packets.sort_by_key(|(at, _)| *at);
    packets
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_probe::Trial;
    use fairwave_wire::probe::Record;

    const START: u64 = 1_000_000_000;
    const IDLE_MS: f64 = 2.0;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(START + ms * 1_000_000)
    }

    /// A packet alone, then one each millisecond for a second that waits 50 ms, then silence.
    fn train() -> Account {
        let interval = Duration::from_millis(5);
        let trial = Trial { payload_bytes: 1_400, spaced: 1, interval, train: 1_000 };
        let sent: Vec<Instant> = (0..=1_000).map(|number| at(100 + number)).collect();
        let wait = |number: u64| if number == 0 { 1 } else { 51 };
        let record = |number: u64| Record {
            number: number as u32,
            arrived: at(100 + number + wait(number)),
        };
        Account { trial, sent, arrived: (0..=1_000).map(record).collect() }
    }

    /// A ping each 20 ms for four seconds; those during the train wait for `wait` milliseconds.
    fn pings(way: Way, wait: u64) -> Vec<Ping> {
        (0..200)
            .map(|number| {
                let sent = 20 * number;
                let shift = if way == Way::There { 0 } else { 51 };
                let meets = (101 + shift..=1_100 + shift).contains(&sent);
                let round_trip = 2 + if meets { wait } else { 0 };
                let (sent, answered) = match way {
                    Way::There => (at(sent), at(sent + round_trip)),
                    // The answer meets the train.
                    Way::Back => (at(sent.saturating_sub(round_trip)), at(sent)),
                };
                Ping { sent, answered: Some(answered) }
            })
            .collect()
    }

    #[test]
    fn greetings_are_held_against_packets_of_the_same_moment() {
        for way in [Way::There, Way::Back] {
            let shared = Beside::of(way, &train(), &pings(way, 50), IDLE_MS).unwrap();
            assert!((45..55).contains(&shared.pairs), "{shared:?}");
            assert!((shared.greetings_ms - 50.0).abs() < 1.5, "{shared:?}");
            assert!((shared.train_ms - 50.0).abs() < 1.5, "{shared:?}");
            let separate = Beside::of(way, &train(), &pings(way, 0), IDLE_MS).unwrap();
            assert!(separate.greetings_ms < 1.0 && separate.train_ms > 48.0, "{separate:?}");
        }
    }

    #[test]
    fn greetings_far_from_every_packet_tell_nothing() {
        let late: Vec<Ping> = (0..9)
            .map(|number| Ping { sent: at(2_000 + number), answered: Some(at(2_002 + number)) })
            .collect();
        assert_eq!(Beside::of(Way::There, &train(), &late, IDLE_MS), None);
    }
}
