//! Ports with each other in virtual time, and endpoints on the loopback.

mod attack;
mod flood;
mod forgotten;
mod loss;
mod many;
mod memory;
mod on_path;
mod path;
mod sending;
mod waiting;
pub(crate) mod wakers;

use super::*;
use crate::machine::{Connections, Fact, Id, PortEvent, Settings};
use crate::mtu::Cut;
use bytes::Bytes;
use fairwave_dccp::ccid::Handover;
use fairwave_dccp::{Ccid, Config, Standard, Waiting};
use fairwave_machine::{Machine, contract};
use fairwave_sockets::{Incoming, Outgoing};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::ResetCode;
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::seal::Key;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::thread;

/// The server's port of DCCP.
pub(crate) const PORT: u16 = 17_983;
/// Datagrams of 500 bytes at 400 kbps.
const PACE: Duration = Duration::from_millis(10);
const ONE_WAY: Duration = Duration::from_millis(10);

fn addresses(is_six: bool) -> [SocketAddr; 2] {
    let texts = if is_six {
        ["[2001:db8::1]:0", "[2001:db8::2]:0"]
    } else {
        ["192.0.2.1:0", "192.0.2.2:0"]
    };
    texts.map(|text| text.parse().expect("an address"))
}

fn settings(over: Over, ends: [SocketAddr; 2], ccid: u8, is_client: bool) -> Settings {
    let ccids = if is_client { vec![Ccid(ccid)] } else { vec![Ccid(3), Ccid(2), Ccid(4)] };
    let connection = Config {
        local_port: if is_client { 5_000 } else { PORT },
        remote_port: if is_client { PORT } else { 0 },
        send_ccids: ccids.clone(),
        receive_ccids: ccids,
        service: SERVICE,
        ..Config::default()
    };
    Settings {
        over,
        connection,
        profiles: Standard::default(),
        server: is_client.then_some(ends[1]),
        local: Some(ends[usize::from(!is_client)].ip()),
        max_connections: 16,
        max_half_open: 8,
        reconnect: None,
        secret: Key::new(&[7; 32]).expect("32 bytes are enough"),
    }
}

/// A client that sends, and a server, 10 ms apart.
struct Pair {
    ends: [Connections; 2],
    addresses: [SocketAddr; 2],
    under_way: VecDeque<(Instant, usize, Incoming)>,
    now: Instant,
    events: [Vec<PortEvent>; 2],
    /// Time between datagrams of the client, and time of the next; `None` is unlimited traffic.
    pace: Option<Duration>,
    next: Instant,
    is_stopped: bool,
    /// Datagrams of the client, by number, that are lost.
    lost: Vec<u64>,
    /// Ends whose packets are all lost.
    dead: Vec<usize>,
    /// Application data of a datagram, and bytes of packets that get through whole.
    size: usize,
    takes: usize,
    sent: u64,
}

impl Pair {
    fn new(over: Over, is_six: bool, ccid: u8) -> Self {
        let addresses = addresses(is_six);
        let end = |is_client| Connections::new(settings(over, addresses, ccid, is_client));
        Self {
            ends: [end(true), end(false)],
            addresses,
            under_way: VecDeque::new(),
            now: Instant::ZERO,
            events: [Vec::new(), Vec::new()],
            pace: Some(PACE),
            next: Instant::ZERO,
            is_stopped: false,
            lost: Vec::new(),
            dead: Vec::new(),
            size: 500,
            takes: usize::MAX,
            sent: 0,
        }
    }

    fn report(&mut self, end: usize, fact: Fact) {
        self.is_stopped |= end == 0 && matches!(fact, Fact::Stop);
        self.ends[end].handle(self.now, fact);
        self.drain(end);
    }

    /// The client's connection, once it is established.
    fn open(&self) -> Option<Id> {
        self.events[0].iter().find_map(|event| match event {
            PortEvent::Established(id) => Some(*id),
            _ => None,
        })
    }

    /// Whether the client's application has a datagram to send now.
    fn has_data(&self, id: Id) -> bool {
        let Some(queued) = self.ends[0].queued(id).filter(|_| !self.is_stopped) else {
            return false;
        };
        self.pace.map_or(queued < 4, |_| self.next <= self.now)
    }

    fn offer(&mut self) {
        let Some(id) = self.open() else {
            self.next = self.now;
            return;
        };
        while self.has_data(id) {
            let payload = Bytes::from(vec![0; self.size]);
            self.ends[0].handle(self.now, Fact::Send(id, Waiting { deadline: None, payload }));
            self.next += self.pace.unwrap_or_default();
        }
    }

    fn drain(&mut self, end: usize) {
        loop {
            if end == 0 {
                self.offer();
            }
            let Some(Outgoing { to, ecn, bytes, .. }) = self.ends[end].poll(self.now) else {
                break;
            };
            self.sent += u64::from(end == 0);
            let is_cut = Cut::of(&bytes, self.ends[end].whole()) == Cut::Long;
            if bytes.len() > self.takes && !is_cut {
                continue;
            }
            if self.is_lost(end) || to != self.addresses[1 - end] {
                continue;
            }
            let (from, to) = (self.addresses[end], Some(to.ip()));
            let datagram = Incoming { from, to, ecn, bytes };
            self.under_way.push_back((self.now + ONE_WAY, 1 - end, datagram));
        }
        while let Some(event) = self.ends[end].event() {
            self.events[end].push(event);
        }
    }

    /// The process of an end is killed, or its link breaks: its packets are lost from now on.
    fn is_lost(&self, end: usize) -> bool {
        self.dead.contains(&end) || (end == 0 && self.lost.contains(&self.sent))
    }

    fn run_until(&mut self, until: Instant) {
        loop {
            let arrives = self.under_way.front().map(|(at, ..)| *at);
            let accepts = self.open().is_some_and(|id| self.ends[0].queued(id).is_some());
            let is_paced = self.pace.is_some() && !self.is_stopped && accepts;
            let offers = is_paced.then_some(self.next.max(self.now + Duration::from_nanos(1)));
            let deadlines = [self.ends[0].deadline(), self.ends[1].deadline()];
            let next = [arrives, offers, deadlines[0], deadlines[1]].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = next.max(self.now);
            if arrives == Some(next) {
                let (_, end, datagram) = self.under_way.pop_front().expect("it is there");
                self.report(end, Fact::Arrived(datagram));
            } else {
                let end = usize::from(deadlines[1] == Some(next));
                self.ends[end].wake(self.now);
                self.drain(end);
            }
        }
        self.now = until;
    }

    /// How the connection ended at an end, and what it came to.
    fn ended(&self, end: usize) -> (End, Account) {
        let found = self.events[end].iter().find_map(|event| match event {
            PortEvent::Ended(_, how, account) => Some((*how, **account)),
            _ => None,
        });
        found.expect("it has ended")
    }

    fn count(&self, end: usize, which: impl Fn(&PortEvent) -> bool) -> usize {
        self.events[end].iter().filter(|event| which(event)).count()
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// 400 kbps in datagrams of 500 bytes are 100 a second. The first round trip is the handshake's.
#[test]
fn every_profile_carries_data_over_both_families_and_inside_udp() {
    for (over, is_six) in [(Over::Ip, false), (Over::Ip, true), (Over::Udp, false)] {
        for ccid in [2, 3, 4] {
            let mut pair = Pair::new(over, is_six, ccid);
            pair.lost = vec![40];
            pair.report(0, Fact::Start);
            pair.run_until(at(20));
            assert!(matches!(pair.events[0][..], [PortEvent::Established(_)]), "{over:?} {ccid}");
            pair.run_until(at(2_020));
            pair.report(0, Fact::Stop);
            pair.run_until(at(5_000));
            let ((sender, here), (receiver, there)) = (pair.ended(0), pair.ended(1));
            assert_eq!((sender, receiver), (End::Closed, End::Closed), "{over:?} {ccid}");
            assert_eq!((here.profiles, there.profiles), ((ccid, ccid), (ccid, ccid)));
            let sent = here.stats.data_packets_sent;
            assert!((150..=201).contains(&sent), "{over:?} {ccid}: {sent}");
            assert_eq!(there.stats.data_packets_delivered, sent - 1, "{over:?} {ccid}");
            assert_eq!(there.missing, 1, "{over:?} {ccid}");
            assert!(pair.ends.iter().all(Connections::is_empty));
            let delivered = pair.count(1, |event| matches!(event, PortEvent::Data(..)));
            assert_eq!(delivered as u64, sent - 1, "{over:?} {ccid}");
        }
    }
}

/// A client with unlimited traffic and its server, established.
fn unlimited(ccid: u8) -> Pair {
    let mut pair = Pair::new(Over::Ip, false, ccid);
    pair.pace = None;
    pair.report(0, Fact::Start);
    pair.run_until(at(300));
    pair
}

/// The queue of a closing connection stays empty, so that traffic without a rate must stop by
/// itself. The figures so far are part of the end.
#[test]
fn a_server_that_ends_in_mid_run_ends_its_client() {
    for ccid in [2, 3, 4] {
        let mut pair = unlimited(ccid);
        pair.report(1, Fact::Stop);
        pair.run_until(at(5_000));
        let ((here, sent), (there, _)) = (pair.ended(0), pair.ended(1));
        assert_eq!((here, there), (End::ClosedEarly, End::Closed), "{ccid}");
        assert!(sent.stats.data_packets_sent > 0, "{ccid}");
        assert!(sent.stats.unsent < 100, "{ccid}: {}", sent.stats.unsent);
    }
}

#[test]
fn a_silent_peer_ends_a_connection_with_the_figures_so_far() {
    for ccid in [2, 3, 4] {
        let mut pair = unlimited(ccid);
        pair.dead = vec![0, 1];
        pair.run_until(at(15_000));
        assert!(!pair.ends[0].is_empty(), "{ccid}: a short outage is no end");
        pair.run_until(at(16_000));
        let (here, sent) = pair.ended(0);
        assert_eq!(here, End::TimedOut, "{ccid}");
        assert!(sent.stats.data_packets_sent > 0, "{ccid}");
        assert!(!pair.ends[1].is_empty(), "{ccid}: an application may be idle");
        pair.run_until(at(200_000));
        assert_eq!(pair.ended(1).0, End::TimedOut, "{ccid}");
    }
}

/// A port that ICMP reports as closed counts once the server is silent as well.
#[test]
fn icmp_ends_a_connection_only_if_the_server_is_silent() {
    let mut pair = unlimited(3);
    pair.report(0, Fact::Refused);
    assert!(!pair.ends[0].is_empty());
    pair.dead = vec![1];
    pair.run_until(at(4_000));
    pair.report(0, Fact::Refused);
    assert!(!pair.ends[0].is_empty());
    pair.run_until(at(8_000));
    pair.report(0, Fact::Refused);
    assert_eq!(pair.ended(0).0, End::Refused);
    let mut pair = unlimited(3);
    pair.dead = vec![1];
    pair.report(0, Fact::Stop);
    pair.run_until(at(1_000));
    pair.report(0, Fact::Abandon);
    assert_eq!(pair.ended(0).0, End::TimedOut, "its Close was not answered");
}

#[test]
fn an_endpoint_keeps_the_contract_of_machines() {
    let addresses = addresses(false);
    let mut client = Connections::new(settings(Over::Udp, addresses, 3, true));
    let junk = Incoming { from: addresses[1], to: None, ecn: Ecn::NotEct, bytes: vec![1; 40] };
    let facts = [(at(0), Fact::Start), (at(30), Fact::Arrived(junk)), (at(900), Fact::Stop)];
    let sent = contract::check(&mut client, facts, at(400_000));
    assert!(!sent.is_empty());
}

#[test]
fn a_client_of_another_service_is_refused_and_one_that_nobody_answers_gives_up() {
    let mut pair = Pair::new(Over::Ip, false, 3);
    pair.ends[1] = {
        let mut settings = settings(Over::Ip, pair.addresses, 3, false);
        settings.connection.service = 1;
        Connections::new(settings)
    };
    pair.report(0, Fact::Start);
    pair.run_until(at(1_000));
    assert_eq!(pair.ended(0).0, End::Reset(ResetCode::BAD_SERVICE_CODE, [0; 3]));
    let mut pair = Pair::new(Over::Ip, false, 3);
    pair.lost = (1..100).collect();
    pair.report(0, Fact::Start);
    pair.run_until(at(400_000));
    assert_eq!(pair.ended(0).0, End::TimedOut);
}

/// The bytes of a Request from a port.
fn request(port: u16) -> Vec<u8> {
    let mut settings = settings(Over::Udp, addresses(false), 2, true);
    settings.connection.local_port = port;
    let mut client = Connections::new(settings);
    client.handle(at(0), Fact::Start);
    client.poll(at(0)).expect("a Request").bytes
}

#[test]
fn packets_of_nobody_are_reset_and_those_for_other_ports_are_not() {
    let addresses = addresses(false);
    let mut server = Connections::new(settings(Over::Udp, addresses, 2, false));
    let data = |port: u16| {
        let [a, b] = port.to_be_bytes();
        // Data, type 2, with a number of 48 bits.
        vec![0, 9, a, b, 4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 7]
    };
    let mut answers = |bytes: Vec<u8>| {
        let (from, to) = (addresses[0], Some(addresses[1].ip()));
        server.handle(at(0), Fact::Arrived(Incoming { from, to, ecn: Ecn::NotEct, bytes }));
        std::iter::from_fn(|| server.poll(at(0))).map(|answer| answer.bytes).collect::<Vec<_>>()
    };
    let reset = answers(data(PORT));
    // Type 7, and "No Connection", 3.
    assert!(matches!(&reset[..], [bytes] if bytes[8] == 7 << 1 | 1 && bytes[24] == 3), "{reset:?}");
    assert!(answers(data(9)).is_empty());
    assert_eq!(server.ignored().foreign, 1);
}

proptest! {
    /// Whatever a stranger sends, over IP and inside UDP.
    #[test]
    fn hostile_bytes_make_no_connection(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        is_ip: bool,
        is_client: bool,
    ) {
        let ends = addresses(false);
        let over = if is_ip { Over::Ip } else { Over::Udp };
        let mut end = Connections::new(settings(over, ends, 3, is_client));
        let before = request(1);
        // Half of a good packet, then noise.
        let mixed = [&before[..12], &bytes].concat();
        for bytes in [bytes, mixed] {
            let len = bytes.len();
            let (from, to) = (ends[0], Some(ends[1].ip()));
            end.handle(at(0), Fact::Arrived(Incoming { from, to, ecn: Ecn::Ce, bytes }));
            let answers: Vec<_> = std::iter::from_fn(|| end.poll(at(0))).collect();
            prop_assert!(answers.len() <= 1, "{answers:?} for {len} B");
        }
    }
}

/// A client that opens its connection again, after 300 ms of traffic.
fn lasting() -> Pair {
    let mut pair = Pair::new(Over::Udp, false, 3);
    let settings = settings(Over::Udp, pair.addresses, 3, true);
    let reconnect = Some(Duration::from_secs(60));
    pair.ends[0] = Connections::new(Settings { reconnect, ..settings });
    pair.report(0, Fact::Start);
    pair.run_until(at(300));
    pair
}

/// RFC 4340 section 8.1.1: a connection is that of two addresses and two ports. The counters and
/// the datagrams that wait go on in the next one.
#[test]
fn a_new_address_has_a_new_connection_with_the_same_name() {
    let mut pair = lasting();
    let id = pair.open().expect("it is established");
    let (_, port) = pair.ends[0].ends(id).expect("it is there");
    let before = pair.ends[0].account(id).expect("it is there").stats;
    pair.addresses[0] = "192.0.2.9:0".parse().expect("an address");
    pair.report(0, Fact::Moved(pair.addresses[0].ip()));
    pair.run_until(at(1_300));
    assert_eq!(pair.count(0, |event| matches!(event, PortEvent::Restored(_))), 1);
    assert_eq!(pair.count(1, |event| matches!(event, PortEvent::Established(_))), 2);
    assert_ne!(pair.ends[0].ends(id).map(|(_, port)| port), Some(port));
    let after = pair.ends[0].account(id).expect("it is there");
    assert_eq!(after.restored, 1);
    // 100 datagrams in this second, and no counter has begun again.
    let sent = after.stats.data_packets_sent - before.data_packets_sent;
    assert!((95..=101).contains(&sent), "{sent}");
    assert_eq!((after.stats.unsent, after.dropped), (0, Dropped::default()));
    pair.report(0, Fact::Stop);
    pair.run_until(at(4_000));
    assert_eq!(pair.ended(0).0, End::Closed);
}

/// The kernel does not send from an address that the host no longer has.
#[test]
fn a_connection_that_is_being_opened_follows_the_address() {
    let mut client = Connections::new(settings(Over::Udp, addresses(false), 3, true));
    client.handle(at(0), Fact::Start);
    let moved: IpAddr = "192.0.2.9".parse().expect("an address");
    let from = |client: &mut Connections, ms| client.poll(at(ms)).and_then(|it| it.from);
    assert_eq!(from(&mut client, 0), Some(addresses(false)[0].ip()));
    client.handle(at(50), Fact::Moved(moved));
    assert_eq!((from(&mut client, 50), from(&mut client, 50)), (Some(moved), None));
}

#[test]
fn a_lost_server_that_comes_back_is_connected_again_and_one_that_does_not_is_an_end() {
    for comes_back in [true, false] {
        let mut pair = lasting();
        pair.dead = vec![0, 1];
        pair.run_until(at(20_000));
        let id = pair.open().expect("it was established");
        let is_reopening = |pair: &Pair| pair.ends[0].account(id).map(|it| it.is_reopening);
        assert_eq!(is_reopening(&pair), Some(true));
        assert_eq!(pair.count(0, |event| matches!(event, PortEvent::Ended(..))), 0);
        if comes_back {
            // Another process, which knows nothing of the connection.
            pair.ends[1] = Connections::new(settings(Over::Udp, pair.addresses, 3, false));
            pair.dead.clear();
        }
        pair.run_until(at(100_000));
        let restored = pair.count(0, |event| matches!(event, PortEvent::Restored(_)));
        assert_eq!(restored, usize::from(comes_back));
        if comes_back {
            assert_eq!(is_reopening(&pair), Some(false));
        } else {
            assert_eq!(pair.ended(0).0, End::TimedOut);
        }
    }
}

/// A link that is gone for 2 s, with notices and without. The packets of the gap are lost: without
/// a notice they are a loss event, and the nofeedback timer halves the rate again and again.
#[test]
fn a_handover_that_is_notified_leaves_rate_and_loss_event_rate_as_they_were() {
    let sender_after = |is_notified: bool| {
        let mut pair = Pair::new(Over::Udp, false, 3);
        let mut settings = settings(Over::Udp, pair.addresses, 3, true);
        settings.profiles.tfrc_sender.remedies = remedies();
        pair.ends[0] = Connections::new(settings);
        let host = pair.addresses[1].ip();
        let notify = |pair: &mut Pair, handover| {
            if is_notified {
                pair.report(0, Fact::Handover(host, handover));
            }
        };
        pair.report(0, Fact::Start);
        pair.run_until(at(2_000));
        let id = pair.open().expect("it is established");
        let sender = |pair: &Pair| {
            let account = pair.ends[0].account(id).expect("it is there");
            account.stats.sender.expect("it has a profile")
        };
        let before = sender(&pair).rate.expect("TFRC has one");
        notify(&mut pair, Handover::Started);
        pair.dead = vec![0, 1];
        pair.run_until(at(4_000));
        pair.dead.clear();
        notify(&mut pair, Handover::Ended { free: None });
        pair.run_until(at(4_060));
        let after = sender(&pair);
        (after.rate.expect("TFRC has one") / before, after.loss_event_rate)
    };
    let ((notified, p), (silent, _)) = (sender_after(true), sender_after(false));
    assert_eq!(p, Some(0.0));
    assert!(
        notified > 0.5 && silent < notified / 4.0,
        "{notified} and {silent} of the rate before"
    );
}

/// A server that was started again answers with "No Connection" (RFC 4340 section 8.3.1).
#[test]
fn a_reset_of_an_unknown_connection_opens_another() {
    let mut pair = lasting();
    pair.ends[1] = Connections::new(settings(Over::Udp, pair.addresses, 3, false));
    pair.run_until(at(1_000));
    assert_eq!(pair.count(0, |event| matches!(event, PortEvent::Restored(_))), 1);
    assert_eq!(pair.count(0, |event| matches!(event, PortEvent::Ended(..))), 0);
}

/// Inside UDP over the kernel's loopback: nobody needs root.
pub(crate) fn over_udp(with: Addressee, ccid: u8, udp_port: u16) -> Request {
    Request { over: Over::Udp, udp_port, ccids: vec![Ccid(ccid)], ..Request::new(with) }
}

#[test]
fn a_loopback_carries_datagrams_of_either_family_both_ways() {
    for (any, ccid) in [("127.0.0.1:9", 3), ("[::1]:9", 2)] {
        let at: SocketAddr = any.parse().expect("an address");
        let port = Port::open(&over_udp(Addressee::Anybody(at), ccid, 0)).expect("a socket");
        let server = blocking::Endpoint::new(port).expect("it runs");
        let udp_port = server.address().port();
        let port = Port::open(&over_udp(Addressee::Server(at), ccid, udp_port)).expect("a socket");
        let client = blocking::Endpoint::new(port).expect("it runs");
        let (one, other) = (Bytes::from(vec![1; 1_000]), Bytes::from(vec![2; 700]));
        thread::scope(|scope| {
            let answering = scope.spawn(|| {
                let accepted = server.accept().expect("a connection");
                let mut received = 0;
                while let Some(data) = accepted.recv() {
                    assert_eq!(data, one);
                    received += 1;
                    // The client may be closing already.
                    let _ = accepted.send(other.clone(), None);
                }
                received
            });
            let connection = client.connect().expect("a connection");
            for _ in 0..200 {
                connection.send(one.clone(), None).expect("it is open");
            }
            assert_eq!(connection.recv(), Some(other.clone()));
            let (end, account) = connection.close().expect("an end");
            assert_eq!((end, account.profiles), (End::Closed, (ccid, ccid)), "{any}");
            assert_eq!(account.stats.data_packets_sent, 200, "{any}");
            assert_eq!(answering.join().expect("it ends"), 200, "{any}");
        });
    }
}

/// A server and a client over the loopback.
fn blocking_ends() -> (blocking::Endpoint, blocking::Endpoint) {
    let open = |end, port| {
        let port = Port::open(&over_udp(end, 3, port)).expect("a socket");
        blocking::Endpoint::new(port).expect("it runs")
    };
    let address = "127.0.0.1:9".parse().expect("an address");
    let server = open(Addressee::Anybody(address), 0);
    let client = open(Addressee::Server(address), server.address().port());
    (server, client)
}

/// Another connection takes the place of the present one, whose user learns of its end.
#[test]
fn a_second_connection_ends_the_first() {
    let (server, client) = blocking_ends();
    let first = client.connect().expect("a connection");
    let second = client.connect().expect("another one");
    assert_eq!(first.recv(), None);
    let accepted = server.accept().expect("the first");
    assert_eq!(accepted.recv(), None);
    assert_eq!(second.close().map(|(end, _)| end), Some(End::Closed));
}

/// The host has 127.0.0.1 and 127.0.0.2; the kernel itself would answer from the first.
#[test]
fn a_listener_at_all_addresses_answers_from_the_one_that_was_addressed() {
    for any in ["0.0.0.0:9", "[::]:9"] {
        let any = Addressee::Anybody(any.parse().expect("an address"));
        let server = blocking::Endpoint::new(Port::open(&over_udp(any, 3, 0)).expect("a socket"));
        let server = server.expect("it runs");
        let to = Addressee::Server("127.0.0.2:9".parse().expect("an address"));
        let request = over_udp(to, 3, server.address().port());
        let client = blocking::Endpoint::new(Port::open(&request).expect("a socket"));
        let connection = client.expect("it runs").connect().expect("an answer");
        assert_eq!(connection.close().map(|(end, _)| end), Some(End::Closed));
    }
}

#[test]
fn a_port_where_nobody_listens_is_told() {
    let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("it tells");
    drop(free);
    let with = Addressee::Server(SocketAddr::new(address.ip(), PORT));
    let port = Port::open(&over_udp(with, 3, address.port())).expect("a socket");
    let client = blocking::Endpoint::new(port).expect("it runs");
    let refused = client.connect();
    let is_told = matches!(refused, Err(ConnectError::Refused(Error::NobodyListens(_))));
    assert!(is_told, "{refused:?}");
}
