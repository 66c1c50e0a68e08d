//! The contract of machines, and that the steady state allocates nothing.

use crate::common::{Anything, MS};
use fairwave_dccp::{
    Ccid, Config, Connection, Event, Input, Packet, Profiles, Standard, State, Virtual,
};
use fairwave_machine::{Machine, contract};
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::dccp::{Header, Kind, Options, Seq48, Side};
use fairwave_wire::ipv4::Ecn;

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS(ms)
}

fn connection(ccid: Ccid, iss: u64) -> Connection<Virtual> {
    let ccids = vec![ccid];
    let config = Config { send_ccids: ccids.clone(), receive_ccids: ccids, ..Config::default() };
    Connection::new(config, Seq48::new(iss), Box::new(Standard::default()))
}

/// A client that nobody answers, with an application that sends and closes.
#[test]
fn an_unanswered_client_keeps_the_contract() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP] {
        let mut client = connection(ccid, 7);
        let inputs = [(at(0), Input::Open), (at(10), Input::Send(Virtual(100)))];
        let out = contract::check(&mut client, inputs, at(400_000));
        assert_eq!(out.len(), 9, "eight Requests and a Reset");
        assert_eq!(client.state(), State::Closed);
    }
}

/// A client that hears random packets: whatever they say, the contract holds.
#[test]
fn a_client_that_hears_noise_keeps_the_contract() {
    for seed in 0..30 {
        let mut draw = Seed(seed).stream("noise");
        let mut client = connection(Ccid(2 + (seed % 3) as u8), 7);
        let mut inputs = vec![(at(0), Input::Open)];
        // The Response makes sense; what comes behind it less and less.
        let response = Kind::Response { ack: Seq48::new(7), service: 0 };
        inputs.push((at(50), Input::Packet(packet(1000, response, &mut draw))));
        for step in 0..300 {
            let now = at(60 + step * 37);
            inputs.push((now, Input::Send(Virtual(draw.below(1400) as u32))));
            let ack = Seq48::new(7 + draw.below(step + 2));
            let kind = match draw.below(20) {
                0 => Kind::Sync { ack },
                1 => Kind::Data,
                2 => Kind::DataAck { ack },
                3 => Kind::SyncAck { ack },
                _ => Kind::Ack { ack },
            };
            let seq = 1000 + step + draw.below(3);
            inputs.push((now, Input::Packet(packet(seq, kind, &mut draw))));
        }
        inputs.push((at(20_000), Input::Close));
        contract::check(&mut client, inputs, at(1_000_000));
        assert_eq!(client.state(), State::Closed, "seed {seed}");
    }
}

/// A packet to the client, now and then with options of random bytes.
fn packet(seq: u64, kind: Kind, draw: &mut fairwave_units::Stream) -> Packet<Virtual> {
    let mut bytes = Vec::new();
    if draw.chance(0.5) {
        // Types that may stand for feedback, and what is known of no Mandatory.
        bytes.push(38 + draw.below(6) as u8);
        let len = draw.below(12) as u8;
        bytes.push(len + 2);
        bytes.extend((0..len).map(|_| draw.next_u64() as u8));
    }
    let options = Options::from_bytes(&bytes);
    let header = Header {
        source_port: 0,
        destination_port: 0,
        ccval: draw.below(16) as u8,
        coverage: 0,
        seq: Seq48::new(seq),
        short: false,
        kind,
        options_words: options.words(),
    };
    let payload = kind.is_data_packet().then_some(Virtual(500));
    Packet { header, options, ecn: Ecn::Ect0, payload }
}

/// A sender and a receiver joined by a wire of a millisecond each way, one packet a step.
struct Bulk {
    a: Connection<Virtual>,
    b: Connection<Virtual>,
    now: Instant,
    /// Packets of A under way, and of B.
    under_way: [Vec<Packet<Virtual>>; 2],
    drop_every: u64,
    data: u64,
}

impl Bulk {
    fn new(ccid: Ccid, profiles: fn() -> Box<dyn Profiles>, drop_every: u64) -> Self {
        let ccids = vec![ccid];
        let config =
            Config { send_ccids: ccids.clone(), receive_ccids: ccids, ..Config::default() };
        let mut bulk = Self {
            a: Connection::new(config.clone(), Seq48::new(1), profiles()),
            b: Connection::new(config, Seq48::new(2), profiles()),
            now: Instant::ZERO,
            under_way: [Vec::with_capacity(4096), Vec::with_capacity(4096)],
            drop_every,
            data: 0,
        };
        bulk.b.handle(bulk.now, Input::Listen);
        bulk.a.handle(bulk.now, Input::Open);
        bulk
    }

    fn round(&mut self) {
        self.now += Duration::from_millis(1);
        while self.a.queued() < 20 {
            self.a.handle(self.now, Input::Send(Virtual(1000)));
        }
        for packet in self.under_way[0].drain(..) {
            self.data += u64::from(packet.payload.is_some());
            if self.drop_every == 0 || !packet.header.seq.value().is_multiple_of(self.drop_every) {
                self.b.handle(self.now, Input::Packet(packet));
            }
        }
        for packet in self.under_way[1].drain(..) {
            self.a.handle(self.now, Input::Packet(packet));
        }
        for (end, out) in [&mut self.a, &mut self.b].into_iter().zip(&mut self.under_way) {
            end.wake(self.now);
            // A wire of at most 50 packets a millisecond.
            while out.len() < 50
                && let Some(packet) = end.poll(self.now)
            {
                out.push(packet);
            }
            while let Some(event) = end.event() {
                assert!(!matches!(event, Event::Failed { .. } | Event::Reset { .. }), "{event:?}");
            }
        }
    }
}

fn check(mut bulk: Bulk, min: u64) {
    let seen = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(seen.count_total, 1, "the counter does not count");
    for _ in 0..4_000 {
        bulk.round();
    }
    let before = bulk.data;
    let counted = allocation_counter::measure(|| {
        for _ in 0..4_000 {
            bulk.round();
        }
    });
    let sent = bulk.data - before;
    assert!(sent > min, "only {sent} were sent: {:?}", bulk.a.stats());
    assert_eq!(counted.count_total, 0, "allocations for {sent} packets: {:?}", bulk.a.stats());
}

fn standard() -> Box<dyn Profiles> {
    Box::new(Standard::default())
}

#[test]
fn ccid_2_allocates_nothing() {
    check(Bulk::new(Ccid::TCP_LIKE, standard, 0), 10_000);
    check(Bulk::new(Ccid::TCP_LIKE, standard, 97), 10_000);
}

#[test]
fn ccid_3_allocates_nothing() {
    check(Bulk::new(Ccid::TFRC, standard, 97), 1_000);
}

#[test]
fn a_connection_allocates_nothing_of_its_own() {
    check(Bulk::new(Ccid(77), || Box::new(Anything), 0), 10_000);
}

/// The two halves may have different profiles.
#[test]
fn the_halves_are_negotiated_apart() {
    let mixed = |send, receive| Config {
        send_ccids: vec![send],
        receive_ccids: vec![receive],
        ..Config::default()
    };
    let mut bulk = Bulk::new(Ccid::TFRC, standard, 0);
    bulk.a = Connection::new(mixed(Ccid::TFRC, Ccid::TCP_LIKE), Seq48::new(1), standard());
    bulk.b = Connection::new(mixed(Ccid::TCP_LIKE, Ccid::TFRC), Seq48::new(2), standard());
    bulk.b.handle(bulk.now, Input::Listen);
    bulk.a.handle(bulk.now, Input::Open);
    for _ in 0..200 {
        bulk.b.handle(bulk.now, Input::Send(Virtual(10)));
        bulk.round();
    }
    use fairwave_dccp::Feature;
    assert_eq!(bulk.a.feature(Side::Local, Feature::Ccid), 3);
    assert_eq!(bulk.a.feature(Side::Remote, Feature::Ccid), 2);
    assert!(bulk.a.stats().data_packets_delivered > 100, "{:?}", bulk.a.stats());
    assert!(bulk.b.stats().data_packets_delivered > 3, "{:?}", bulk.b.stats());
}
