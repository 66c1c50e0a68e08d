//! A station and an access point that exchange datagrams over the loopback interface. Each has a
//! virtual clock of its own.

use super::*;
use crate::source::Fixed;
use fairwave_machine::Machine;
use fairwave_soc::{
    AccessPoint, Action, ApConfig, ApInput, KEY_LEN, POLICIES, Policies, Refusal, Routed,
    TableConfig,
};
use fairwave_units::Db;
use fairwave_wire::soc::SESSION_LEN;
use std::net::UdpSocket;

const INTERVAL: Duration = Duration::from_millis(200);

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn key() -> Key {
    Key::new(&[7; KEY_LEN]).unwrap()
}

/// A station that sends datagrams to `socket`.
fn station(socket: &UdpSocket, epoch: u32, now: Instant) -> Station {
    let plan = StationPlan {
        interface: "lo".to_owned(),
        to: Some(socket.local_addr().unwrap()),
        secret: Some(Secret::Network(key())),
        interval: INTERVAL,
        piggyback: false,
        filter: FilterSpec::Mean,
        epoch,
        source: Box::new(Fixed(Db(10.0))),
    };
    Station::open(&plan, now).unwrap()
}

/// A station and its access point, whose clock is ahead by `ahead`.
struct Bench {
    station: Station,
    ap: AccessPoint,
    socket: UdpSocket,
    ahead: Duration,
}

impl Bench {
    fn new(epoch: u32) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let table = TableConfig::new(Policies::per_host((POLICIES[0].curve)()));
        let tokens = Some(Key::new(&[9; KEY_LEN]).unwrap());
        let config = ApConfig { tokens, ..ApConfig::new(table, key(), Session([5; SESSION_LEN])) };
        let station = station(&socket, epoch, Instant::ZERO);
        Self { station, ap: AccessPoint::new(config), socket, ahead: Duration::ZERO }
    }

    /// Lets the station report at `now`, and lets both receive what the other sent.
    fn turn(&mut self, now: Instant) {
        self.station.reporter.handle(now, ReporterInput::Snr(Db(10.0)));
        self.station.report(now).unwrap();
        let mut bytes = [0; 256];
        let at = now + self.ahead;
        while let Ok((length, from)) = self.socket.recv_from(&mut bytes) {
            self.ap.handle(at, ApInput::Datagram(Routed::new(from, &bytes[..length])));
        }
        while let Some(action) = self.ap.poll(at) {
            if let Action::Reply { to, payload, .. } = action {
                self.socket.send_to(&payload, to).unwrap();
            }
        }
        self.station.listen(now).unwrap();
    }

    /// The same for each report from `from` until `to`, in milliseconds. Returns how many reports
    /// were accepted.
    fn turns(&mut self, from: u64, to: u64) -> u64 {
        let before = self.ap.table_counters().accepted;
        (from..to).step_by(200).for_each(|now| self.turn(ms(now)));
        self.ap.table_counters().accepted - before
    }

    fn refused(&self, why: Refusal) -> u64 {
        self.ap.table_counters().refused_for(why)
    }
}

#[test]
fn a_flood_of_messages_leaves_time_for_reports() {
    let mut bench = Bench::new(1);
    // Without an answer yet, the station's address is known from its greeting.
    bench.station.reporter.handle(ms(200), ReporterInput::Snr(Db(10.0)));
    bench.station.report(ms(200)).unwrap();
    let (_, station) = bench.socket.recv_from(&mut [0; 256]).unwrap();
    for _ in 0..2 * BATCH {
        bench.socket.send_to(&[0; 80], station).unwrap();
    }
    for turns in 1..=2 {
        bench.station.listen(ms(200)).unwrap();
        assert_eq!(bench.station.counts.refused, turns * BATCH as u64);
    }
}

/// The station's clock stands still for ten seconds, and the access point's does not.
#[test]
fn reports_after_a_suspend_are_accepted_from_the_next_session_on() {
    let mut bench = Bench::new(1);
    assert!(bench.turns(200, 2_000) > 0);
    bench.ahead = Duration::from_secs(10);
    bench.turns(2_000, 8_000);
    assert!(bench.refused(Refusal::Stale) > 0, "they are late at first");
    assert_eq!(bench.turns(8_000, 10_000), 10);
}

/// The station is started twice, and at the second time the date has gone back.
#[test]
fn reports_after_a_start_at_an_earlier_date_are_accepted_from_the_next_session_on() {
    let mut bench = Bench::new(2);
    assert!(bench.turns(200, 2_000) > 0);
    bench.station = station(&bench.socket, 1, ms(2_000));
    bench.turns(2_200, 9_000);
    assert!(bench.refused(Refusal::Replayed) > 0, "they have low numbers at first");
    assert_eq!(bench.turns(9_000, 11_000), 10);
}
