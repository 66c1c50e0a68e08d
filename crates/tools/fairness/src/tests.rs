//! Over loopback, IPv4 and IPv6: real sockets, real time, no claim about how long it takes.

use super::*;
use fairwave_wire::fairness::{FlowLabel, NONCE_LEN, Opening};
use fairwave_wire::seal::Key;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const TCP: Protocol = Protocol::Tcp { algorithm: None, rate_bps: None, buffer_bytes: None };
/// 71 datagrams in 200 ms.
const UDP: Protocol = Protocol::Udp { rate_bps: 4_000_000 };
const LIMITS: Limits = Limits { rate_bps: None, bytes: 1 << 40, time_ns: 60_000_000_000 };

fn key() -> Key {
    Key::new(b"a secret of these tests\n").unwrap()
}

fn terms(hosts: u16, repetitions: u16) -> Terms {
    Terms { hosts, duration_ns: 200_000_000, interval_ns: 50_000_000, repetitions }
}

fn both(protocol: Protocol) -> Traffic {
    Traffic { up: true, down: true, parallel: 2, protocol }
}

fn request(server: SocketAddr, name: &str, traffic: Traffic, terms: Terms) -> Request {
    Request { server, key: key(), name: name.to_owned(), traffic, terms, alone: false }
}

/// Does something beside a server, which ends afterwards; what it told, and how many connections
/// it rejected.
fn beside<T>(
    listen: &str,
    limits: Limits,
    job: impl FnOnce(SocketAddr, &AtomicBool) -> T,
) -> (T, Vec<ServerEvent>, u64) {
    let config = ServeConfig { listen: listen.parse().unwrap(), key: key(), limits };
    let mut server = Server::open(config).unwrap();
    let (address, stop) = (server.address().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            let mut events = Vec::new();
            server.run(|| stop.load(Ordering::Relaxed), |event| events.push(event)).unwrap();
            (events, server.rejected())
        });
        let done = job(address, &stop);
        stop.store(true, Ordering::Relaxed);
        let (events, rejected) = served.join().unwrap();
        (done, events, rejected)
    })
}

fn run(request: &Request) -> (Measured, Option<Error>) {
    measure(request, &AtomicBool::new(false), |_| {})
}

fn sum(flow: &Flow) -> u64 {
    flow.bytes.iter().sum()
}

/// Measures two repetitions, for twice as long each time until every flow has counted data: on a
/// busy machine a receiver may not run within the first 200 ms.
fn until_counted(listen: &str, traffic: &Traffic) -> (Measured, Vec<ServerEvent>) {
    for doublings in 0..7 {
        let Terms { duration_ns, interval_ns, .. } = terms(1, 2);
        let [duration_ns, interval_ns] = [duration_ns, interval_ns].map(|ns| ns << doublings);
        let longer = Terms { duration_ns, interval_ns, ..terms(1, 2) };
        let job = |server, _: &_| run(&request(server, "one", traffic.clone(), longer));
        let ((found, error), events, rejected) = beside(listen, LIMITS, job);
        assert!(error.is_none() && rejected == 0, "{listen}: {error:?}, {events:?}");
        let stations = found.repetitions.iter().flat_map(|repetition| &repetition.stations);
        if stations.flat_map(|station| &station.flows).all(|flow| sum(flow) > 0) {
            return (found, events);
        }
    }
    panic!("{listen}: a flow counts nothing within 12.8 s");
}

#[test]
fn flows_of_both_directions_are_counted_by_their_receivers() {
    for (listen, protocol) in [("127.0.0.1:0", TCP), ("[::1]:0", TCP), ("[::1]:0", UDP)] {
        let traffic = both(protocol);
        let (found, events) = until_counted(listen, &traffic);
        assert_eq!(found.repetitions.len(), 2, "{events:?}");
        for (repetition, number) in found.repetitions.iter().zip(0..) {
            let [station] = &repetition.stations[..] else { panic!("{repetition:?}") };
            assert_eq!((repetition.number, station.ending), (number, Ending::Complete));
            let ways: Vec<bool> = station.flows.iter().map(|flow| flow.is_up).collect();
            assert_eq!(ways, [true, true, false, false]);
            for flow in &station.flows {
                assert!(flow.by_receiver && !flow.is_broken, "{flow:?}");
                assert_eq!(
                    (flow.bytes.len(), flow.algorithm.is_some()),
                    (4, traffic.protocol == TCP)
                );
                // Samples of the sender's end for TCP, and of the receiver's for datagrams.
                let Path { retransmitted, rtt_us, lost, jitter_us } = &flow.path;
                let (tcp, udp) = if traffic.protocol == TCP { (1..=4, 0) } else { (0..=0, 4) };
                // On a busy machine a sender may miss the end of the last interval.
                assert!(tcp.contains(&rtt_us.len()), "{flow:?}");
                assert_eq!(retransmitted.len(), rtt_us.len(), "{flow:?}");
                assert_eq!([lost.len(), jitter_us.len()], [udp; 2], "{flow:?}");
                let missing = lost.iter().map(|count| u64::from(*count)).sum::<u64>();
                assert_eq!(missing, flow.lost.unwrap_or(0), "{flow:?}");
            }
        }
        assert!(matches!(events.last(), Some(ServerEvent::Over)), "{events:?}");
    }
}

/// 127.0.0.2 is an address of every Linux host; the kernel itself would answer from 127.0.0.1.
#[test]
fn a_server_of_all_addresses_sends_datagrams_from_the_one_addressed() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let ((found, error), ..) = beside(listen, LIMITS, |server, _| {
            let at = SocketAddr::from(([127, 0, 0, 2], server.port()));
            run(&request(at, "one", both(UDP), terms(1, 1)))
        });
        assert!(error.is_none(), "{listen}: {error:?}");
        assert_eq!(found.repetitions[0].stations[0].ending, Ending::Complete, "{listen}");
    }
}

#[test]
fn each_interval_is_reported_once_while_a_repetition_runs() {
    for protocol in [TCP, UDP] {
        let (intervals, ..) = beside("127.0.0.1:0", LIMITS, |server, _| {
            let request = request(server, "one", both(protocol.clone()), terms(1, 1));
            let mut intervals = Vec::new();
            let note = |progress| {
                if let Progress::Interval(interval) = progress {
                    intervals.push(interval);
                }
            };
            let (_, error) = measure(&request, &AtomicBool::new(false), note);
            assert!(error.is_none(), "{error:?}");
            intervals
        });
        let numbers: Vec<usize> = intervals.iter().map(|interval| interval.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        for Interval { up, down, retransmitted, jitter_us, .. } in intervals {
            assert!(up.is_some() && down.is_some());
            assert!(retransmitted.is_none() || protocol == TCP);
            assert_eq!(jitter_us.is_some(), protocol == UDP);
        }
    }
}

#[test]
fn hosts_start_together_and_each_gets_the_results_of_all() {
    let ((one, other), events, _) = beside("127.0.0.1:0", LIMITS, |server, _| {
        let start = |name: &'static str| {
            let traffic = Traffic { up: true, down: false, parallel: 1, protocol: UDP };
            move || run(&request(server, name, traffic, terms(2, 1)))
        };
        thread::scope(|scope| {
            let one = scope.spawn(start("one"));
            let other = scope.spawn(start("other"));
            (one.join().unwrap(), other.join().unwrap())
        })
    });
    assert!(one.1.is_none() && other.1.is_none(), "{one:?} {other:?}");
    assert_eq!(one.0, other.0);
    let mut names: Vec<_> = one.0.repetitions[0].stations.iter().map(|s| &s.name).collect();
    names.sort();
    assert_eq!(names, ["one", "other"]);
    let starts = events.iter().filter(|event| matches!(event, ServerEvent::Started(1))).count();
    assert_eq!(starts, 1, "{events:?}");
}

/// Of two hosts one asks for a flow alone. It has one of its four, and the other rests.
#[test]
fn a_flow_is_measured_alone_before_the_repetitions() {
    let ((one, other), events, _) = beside("127.0.0.1:0", LIMITS, |server, _| {
        let of = |name, alone| Request { alone, ..request(server, name, both(TCP), terms(2, 1)) };
        let (one, other) = (of("one", true), of("other", false));
        thread::scope(|scope| {
            let one = scope.spawn(|| run(&one));
            let other = scope.spawn(|| run(&other));
            (one.join().unwrap(), other.join().unwrap())
        })
    });
    assert!(one.1.is_none() && other.1.is_none(), "{one:?} {other:?}");
    assert_eq!(one.0, other.0);
    let [alone, together] = &one.0.repetitions[..] else { panic!("{one:?}") };
    let [station] = &alone.stations[..] else { panic!("{alone:?}") };
    let [flow] = &station.flows[..] else { panic!("{station:?}") };
    assert!(alone.is_alone && flow.is_up && sum(flow) > 0, "{alone:?}");
    assert_eq!((station.name.as_str(), station.ending), ("one", Ending::Complete));
    assert_eq!((together.is_alone, together.number), (false, 0));
    let flows: Vec<usize> = together.stations.iter().map(|station| station.flows.len()).collect();
    assert_eq!(flows, [4, 4]);
    let begun = events.iter().filter(|event| {
        matches!(event, ServerEvent::Alone(_) | ServerEvent::Started(_) | ServerEvent::Over)
    });
    let expected =
        [ServerEvent::Alone("one".to_owned()), ServerEvent::Started(1), ServerEvent::Over];
    assert_eq!(begun.cloned().collect::<Vec<_>>(), expected);
}

/// The time of flows alone counts: 200 ms of each of two hosts, and one repetition of 200 ms.
#[test]
fn the_time_of_flows_alone_is_within_the_limit_of_the_server() {
    let limits = Limits { time_ns: 399_000_000, ..LIMITS };
    let (reported, ..) = beside("127.0.0.1:0", limits, |server, _| {
        let request = Request { alone: true, ..request(server, "one", both(TCP), terms(1, 1)) };
        run(&request).1.unwrap().to_string()
    });
    assert!(reported.contains("--max-time"), "{reported}");
}

#[test]
fn a_host_that_does_not_fit_is_told_why() {
    let limits = Limits { time_ns: 300_000_000, ..LIMITS };
    let (reported, ..) = beside("127.0.0.1:0", limits, |server, _| {
        let reported =
            |traffic, terms| run(&request(server, "one", traffic, terms)).1.unwrap().to_string();
        let algorithm = Some("nobodys".to_owned());
        let strange = Protocol::Tcp { algorithm, rate_bps: None, buffer_bytes: Some(64_000) };
        let down = Traffic { up: false, ..both(strange.clone()) };
        let uneven = Terms { interval_ns: 70_000_000, ..terms(1, 1) };
        [
            reported(both(TCP), terms(1, 2)),
            reported(both(strange), terms(1, 1)),
            reported(down, terms(1, 1)),
            reported(both(TCP), uneven),
            reported(both(TCP), terms(33, 1)),
            run(&request(server, &"x".repeat(33), both(TCP), terms(1, 1))).1.unwrap().to_string(),
        ]
    });
    let remedies =
        ["--max-time", "there are", "it has", "whole number", "between 1 and 32", "to 32 bytes"];
    for (reported, remedy) in reported.iter().zip(remedies) {
        assert!(reported.contains(remedy), "{reported}");
    }
}

#[test]
fn the_caps_of_the_server_hold() {
    let limits = Limits { bytes: 30_000, rate_bps: Some(8_000_000), ..LIMITS };
    let job = |server, _: &_| run(&request(server, "one", both(TCP), terms(1, 2)));
    let ((found, _), ..) = beside("127.0.0.1:0", limits, job);
    let station = &found.repetitions[0].stations[0];
    assert_eq!(station.ending, Ending::UsedUp);
    assert_eq!(
        station.traffic.protocol,
        Protocol::Tcp { algorithm: None, rate_bps: Some(4_000_000), buffer_bytes: None }
    );
    assert_eq!(found.repetitions.len(), 1, "nothing is left for the second");
}

#[test]
fn another_key_gets_no_byte_and_is_told_what_to_do() {
    let (reported, events, rejected) = beside("127.0.0.1:0", LIMITS, |server, _| {
        let stranger = Key::new(b"another secret of them").unwrap();
        let request = Request { key: stranger, ..request(server, "one", both(TCP), terms(1, 1)) };
        run(&request).1.unwrap().to_string()
    });
    assert!(reported.contains("same --key or --pairing"), "{reported}");
    assert_eq!((events, rejected), (vec![], 1));
}

#[test]
fn nobody_there_is_an_error_that_says_what_to_do() {
    let unused = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let reported = run(&request(unused, "one", both(TCP), terms(1, 1))).1.unwrap().to_string();
    assert!(reported.contains("fairwave fairness serve"), "{reported}");
}

/// The server ends as soon as it hears that hosts have begun.
#[test]
fn a_server_that_ends_in_mid_run_leaves_what_was_counted() {
    let config = ServeConfig { listen: "127.0.0.1:0".parse().unwrap(), key: key(), limits: LIMITS };
    let mut server = Server::open(config).unwrap();
    let address = server.address().unwrap();
    let endless = Terms { duration_ns: 50_000_000_000, ..terms(1, 1) };
    let (found, error) = thread::scope(|scope| {
        scope.spawn(move || {
            let has_begun = std::cell::Cell::new(false);
            let events = |reported| has_begun.set(matches!(reported, ServerEvent::Started(..)));
            server.run(|| has_begun.get(), events).unwrap();
        });
        run(&request(address, "one", both(TCP), endless))
    });
    assert!(matches!(error, Some(Error::Gone { .. })), "{error:?}");
    assert_eq!(found.repetitions[0].stations[0].ending, Ending::Open);
}

#[test]
fn who_breaks_off_gets_what_was_counted_and_the_others_go_on() {
    let ((one, other), events, _) = beside("127.0.0.1:0", LIMITS, |server, _| {
        let traffic = Traffic { up: true, down: false, parallel: 1, protocol: UDP };
        let long = Terms { duration_ns: 1_000_000_000, ..terms(2, 1) };
        let (stop, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
        let on_start = |progress| {
            stop.store(matches!(progress, Progress::Running(_)), Ordering::Relaxed);
        };
        let requests = ["one", "other"].map(|name| request(server, name, traffic.clone(), long));
        thread::scope(|scope| {
            let one = scope.spawn(|| measure(&requests[0], &stop, on_start));
            let other = scope.spawn(|| measure(&requests[1], &go_on, |_| {}));
            (one.join().unwrap(), other.join().unwrap())
        })
    });
    assert!(matches!(one.1, Some(Error::Stopped)), "{one:?}");
    let left = events.iter().filter(|event| matches!(event, ServerEvent::Left(_))).count();
    assert_eq!(left, 1, "{events:?}");
    fn station<'a>(found: &'a Measured, name: &str) -> &'a Station {
        found.repetitions[0].stations.iter().find(|s| s.name == name).unwrap()
    }
    let ending = |found: &Measured, name| station(found, name).ending;
    assert_eq!(ending(&one.0, "one"), Ending::Left);
    assert!(other.1.is_none(), "{other:?}");
    assert_eq!(
        (ending(&other.0, "one"), ending(&other.0, "other")),
        (Ending::Left, Ending::Complete)
    );
    // Means are over the intervals that were, not over those that were planned.
    let intervals = |found: &Measured, name| station(found, name).flows[0].bytes.len();
    assert!(intervals(&one.0, "one") < 20 && intervals(&other.0, "one") < 20, "{one:?}");
    assert_eq!(intervals(&other.0, "other"), 20);
}

/// Connects and says nothing, noise, a whole opening again and again, and half of one.
fn flood(server: SocketAddr) -> Vec<TcpStream> {
    let label = FlowLabel { session: 1, repetition: 0, flow: 0 };
    let recorded = Opening::Control([7; NONCE_LEN]).write(&key());
    let unknown = Opening::Flow(label).write(&key());
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut held = Vec::new();
    for _ in 0..10 {
        for bytes in [&[][..], &[0xff; 200], &recorded, &recorded[..20], &unknown] {
            let mut stream = TcpStream::connect(server).unwrap();
            // The server may have closed it already.
            let _ = stream.write_all(bytes);
            let _ = udp.send_to(bytes, server);
            held.push(stream);
        }
    }
    held
}

/// Who has the key and says what it likes: a frame longer than any, one with a wrong seal, a
/// message that is none, and a report before it has joined.
fn misuse(server: SocketAddr) -> Vec<(TcpStream, link::Link)> {
    let open = || {
        let stream = TcpStream::connect(server).unwrap();
        let raw = stream.try_clone().unwrap();
        (raw, link::greet(stream, &key(), fairwave_linux::clock::Clock::start()).unwrap().0)
    };
    let held: Vec<_> = (0..4).map(|_| open()).collect();
    (&held[0].0).write_all(&[0xff; 40]).unwrap();
    (&held[1].0).write_all(&[0, 0, 0, 4, 0, 0, 0, 0]).unwrap();
    (&held[1].0).write_all(&[7; 16]).unwrap();
    held[2].1.send(&"no message").unwrap();
    held[3].1.send(&message::ToServer::Report(message::Report::default())).unwrap();
    held
}

#[test]
fn hostile_clients_leave_the_run_of_another_whole() {
    let ((found, error), events, rejected) = beside("127.0.0.1:0", LIMITS, |server, _| {
        let held = flood(server);
        // Each of them is shut out, and hears nothing more.
        for (mut raw, _link) in misuse(server) {
            // An end, or a reset where something was not read.
            assert!(matches!(raw.read(&mut [0; 1]), Ok(0) | Err(_)));
        }
        let done = run(&request(server, "one", both(UDP), terms(1, 1)));
        // A recorded opening gets a challenge, shorter than itself, and nothing that follows.
        let mut replayed = &held[2];
        let mut answer = [0; 100];
        assert_eq!(replayed.read(&mut answer).unwrap(), fairwave_wire::fairness::CHALLENGE_LEN);
        done
    });
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found.repetitions[0].stations[0].ending, Ending::Complete);
    assert!(matches!(events[0], ServerEvent::Joined(..)), "{events:?}");
    assert!(rejected > 0, "the noise is counted");
}
