//! Captures hold what is said: messages of SHAKE, the marks of its predecessor, probes, and RTP.

use crate::captured::{Captured, Run};
use fairwave_sim::shared_key;
use fairwave_units::Seed;
use fairwave_wire::datagram::{Transport, patterned};
use fairwave_wire::multi::{self, Preface};
use fairwave_wire::shake::{self, Ack, Body, Side};
use fairwave_wire::{probe, rtp};
use std::collections::{BTreeMap, BTreeSet};

const SIZE: u64 = 2_000_000;

/// A laptop whose second path joins late and leaves early; both are on the same air.
const SHAKE: &str = r#"
duration = "8 s"
cell.standard = "802.11ac"
record = { pcap = true, taps = ["laptop", "server"] }
[[node]]
name = "router"
kind = "access-point"
[[node]]
name = "laptop"
kind = "station"
[[node]]
name = "phone"
kind = "station"
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["router", "server"]
rate = "6 Mbps"
delay = "10 ms"
loss = 0.01
[[link]]
ends = ["phone", "server"]
rate = "8 Mbps"
delay = "30 ms"
loss = 0.01
[[flow]]
name = "upload"
from = "laptop"
to = "server"
transport = "shake"
size = "2 MB"
paths = [{ via = "router" }, { via = "phone", join = "200 ms", leave = "900 ms" }]
"#;

/// A message of a capture, its seal checked, and the payload.
type Message = (shake::Header, Vec<u8>);

fn messages(run: &Run, captured: &[Captured]) -> Vec<Message> {
    let shared = shared_key(Seed(run.seed));
    let message = |(_, payload): &Captured| {
        let claim = shake::parse(payload).expect("a message of SHAKE");
        let key = shake::connection_key(&shared, claim.connection());
        let (header, payload) = claim.open(&key).expect("its seal fits");
        (header, payload.to_vec())
    };
    captured.iter().map(message).collect()
}

fn sent_by(from: Side, messages: &[Message]) -> impl Iterator<Item = &Message> {
    messages.iter().filter(move |(header, _)| header.from == from)
}

fn acks(messages: &[Message]) -> impl Iterator<Item = Ack> {
    let ack = |(header, _): &Message| match header.body {
        Body::Ack(ack) => Some(ack),
        _ => None,
    };
    sent_by(Side::Acceptor, messages).filter_map(ack)
}

#[test]
fn data_on_the_laptops_side_is_what_the_flow_counted() {
    let run = Run::of("shake-data", SHAKE);
    let at_laptop = messages(&run, run.tap("laptop"));
    let flow = &run.summary.flows[0];
    let (mut arrived, mut highest) = (BTreeSet::new(), 0);
    let (mut sent, mut repeated) = ([0; 2], [0; 2]);
    let mut numbers = [0; 2];
    for (header, payload) in sent_by(Side::Opener, &at_laptop) {
        let path = usize::from(header.path);
        assert!(header.number.get() > numbers[path], "each number once, in order");
        numbers[path] = header.number.get();
        let Body::Data(data) = header.body else { continue };
        let expected = patterned(data.seq as u32, payload.len() as u32);
        assert!(*payload == expected, "the stream's bytes at {}", data.seq);
        sent[path] += 1;
        repeated[path] += u64::from(data.seq < highest);
        let end = data.seq + payload.len() as u64 + u64::from(data.fin);
        assert_eq!(data.fin, end > SIZE);
        highest = highest.max(end);
        arrived.extend(data.seq..end);
    }
    assert_eq!((arrived.len() as u64, highest), (SIZE + 1, SIZE + 1), "no gap, and the end");
    let counted = |of: fn(&_) -> u64| flow.paths.iter().map(of).collect::<Vec<u64>>();
    assert_eq!(counted(|path: &fairwave_lab::results::PathSummary| path.sent_packets), sent);
    assert_eq!(counted(|path: &fairwave_lab::results::PathSummary| path.retransmissions), repeated);
    assert_eq!(flow.sent_packets, sent.iter().sum::<u64>());
    assert!(repeated.iter().sum::<u64>() > 0 && sent[1] > 100, "{sent:?}, {repeated:?}");
}

#[test]
fn acknowledgements_on_the_servers_side_are_what_the_flow_counted() {
    let run = Run::of("shake-acks", SHAKE);
    let at_server = messages(&run, run.tap("server"));
    let flow = &run.summary.flows[0];
    assert_eq!(acks(&at_server).count() as u64, flow.acks_sent);
    assert_eq!(acks(&at_server).map(|ack| ack.cumulative).max(), Some(SIZE + 1));
    assert!(acks(&at_server).any(|ack| ack.blocks.len() > 1), "losses leave gaps");
    // Each answers data that came on its path, by the time that this was sent.
    let mut came = BTreeMap::new();
    for (header, _) in &at_server {
        match header.body {
            Body::Data(_) => drop(came.insert((header.path, header.number), header.sent_us)),
            Body::Ack(Ack { echo: Some(echo), .. }) => {
                assert_eq!(came.get(&(header.path, echo.number)), Some(&echo.sent_us));
            }
            _ => {}
        }
    }
    let data = sent_by(Side::Opener, &messages(&run, run.tap("laptop")))
        .filter(|(header, _)| matches!(header.body, Body::Data(_)))
        .count();
    assert!(came.len() < data && came.len() > data * 9 / 10, "{} of {data}", came.len());
}

/// On the air and at both ends: nothing that the laptop or the server has not sent, bit by bit.
#[test]
fn every_place_shows_the_same_messages() {
    let run = Run::of("shake-places", SHAKE);
    let both = ["laptop", "server"].map(|node| messages(&run, run.tap(node)));
    let [at_laptop, at_server] = &both;
    let sent: Vec<&Message> =
        sent_by(Side::Opener, at_laptop).chain(sent_by(Side::Acceptor, at_server)).collect();
    let key = |(header, _): &Message| (header.from, header.path, header.number);
    let by_number: BTreeMap<_, _> = sent.iter().map(|message| (key(message), *message)).collect();
    assert_eq!(by_number.len(), sent.len());
    let on_air = messages(&run, run.air());
    for seen in both.iter().flatten().chain(&on_air) {
        assert_eq!(by_number.get(&key(seen)), Some(&seen));
    }
    let distinct: BTreeSet<_> = on_air.iter().map(key).collect();
    assert!(distinct.len() * 10 > by_number.len() * 9, "the laptop sends everything by radio");
    for (kind, expected) in [
        (1, |body: &Body| matches!(body, Body::Join(join) if join.open)),
        (2, |body: &Body| matches!(body, Body::Challenge(_))),
        (3, |body: &Body| matches!(body, Body::Response { .. })),
        (6, |body: &Body| matches!(body, Body::Leave(leave) if leave.path == 1)),
        (7, |body: &Body| matches!(body, Body::Left(_))),
    ] as [(u8, fn(&Body) -> bool); 5]
    {
        assert!(sent.iter().any(|(header, _)| expected(&header.body)), "no message {kind}");
    }
}

#[test]
fn who_has_another_seed_cannot_check_the_seals() {
    let run = Run::of("shake-key", SHAKE);
    let other = shared_key(Seed(run.seed + 1));
    for (_, payload) in run.tap("laptop") {
        let claim = shake::parse(payload).unwrap();
        let key = shake::connection_key(&other, claim.connection());
        assert!(claim.open(&key).is_err());
    }
}

/// Three connections over links that lose; the adaptive split sends some blocks twice.
const MULTI: &str = r#"
duration = "20 s"
record.taps = ["host", "server"]
[[node]]
name = "host"
kind = "host"
[[node]]
name = "phone"
kind = "host"
count = 3
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["host", "phone*"]
rate = "100 Mbps"
[[link]]
ends = ["phone*", "server"]
rate = "2 Mbps"
delay = "20 ms"
loss = 0.02
queue = "50 packets"
[[flow]]
name = "transfer"
from = "host"
to = "server"
transport = "multi-tcp"
size = "1 MB"
split = "adaptive"
block = "5000 B"
paths = [{ via = "phone1" }, { via = "phone2" }, { via = "phone3" }]
"#;

/// The streams of the connections that `from` sends on, by the client's port, put together from
/// every segment that it has sent; copies of a byte are alike.
fn streams(captured: &[Captured], from: u8) -> BTreeMap<u16, Vec<u8>> {
    let mut firsts = BTreeMap::new();
    let mut bytes: BTreeMap<u16, BTreeMap<u32, u8>> = BTreeMap::new();
    for (datagram, payload) in captured {
        let Transport::Tcp(header) = datagram.transport else { panic!("no TCP segment") };
        if datagram.source.octets()[3] != from {
            continue;
        }
        let client = header.source_port.min(header.destination_port);
        if header.flags.syn {
            firsts.insert(client, header.seq + 1);
        }
        let at = header.seq.0.wrapping_sub(firsts[&client].0);
        for (byte, offset) in payload.iter().zip(at..) {
            let before = bytes.entry(client).or_default().insert(offset, *byte);
            assert!(before.is_none_or(|before| before == *byte), "another byte at {offset}");
        }
    }
    let whole = |(client, bytes): (u16, BTreeMap<u32, u8>)| {
        assert!(bytes.keys().copied().eq(0..bytes.len() as u32), "a gap in what was sent");
        (client, bytes.into_values().collect())
    };
    bytes.into_iter().map(whole).collect()
}

#[test]
fn connections_of_a_set_show_their_prefaces_headers_and_blocks() {
    let run = Run::of("multi", MULTI);
    let flow = &run.summary.flows[0];
    assert!(flow.retransmissions > 0, "losses make no trouble");
    let (there, back) = (streams(run.tap("host"), 1), streams(run.tap("server"), 5));
    assert_eq!([there.len(), back.len()], [3, 3]);
    let mut blocks = BTreeMap::new();
    let mut sets = BTreeSet::new();
    for (stream, number) in there.values().chain(back.values()).zip([0, 1, 2].iter().cycle()) {
        let (preface, mut rest) = Preface::parse(stream).unwrap();
        assert_eq!((preface.connection, preface.connections.get()), (*number, 3));
        sets.insert(preface.set);
        while !rest.is_empty() {
            let (header, behind) = multi::Header::parse(rest).unwrap();
            let multi::Header::Block { offset, len } = header else {
                assert!(behind.is_empty(), "nothing follows an end");
                break;
            };
            let (block, behind) = behind.split_at(usize::from(len.get()));
            let expected = patterned(offset as u32, len.get().into());
            assert!(block == expected, "the block at {offset}");
            blocks.insert(offset, u64::from(len.get()));
            rest = behind;
        }
    }
    assert_eq!(sets.len(), 1);
    let ends = blocks.iter().map(|(offset, len)| offset + len);
    assert!(blocks.keys().copied().skip(1).eq(ends.take(blocks.len() - 1)), "blocks side by side");
    assert_eq!(blocks.values().sum::<u64>(), 1_000_000);
}

const PROBE: &str = r#"
duration = "10 s"
record.taps = ["server", "laptop"]
[[node]]
name = "server"
kind = "host"
[[node]]
name = "laptop"
kind = "host"
[[link]]
ends = ["server", "laptop"]
rate = "10 Mbps"
delay = "1 ms"
queue = "50 packets"
[[flow]]
name = "trains"
from = "server"
to = "laptop"
transport = "probe"
rate = "9 Mbps"
payload = "1000 B"
train = 500
trials = 1
spaced = 10
"#;

#[test]
fn probes_show_their_messages() {
    let run = Run::of("probe", PROBE);
    let shared = shared_key(Seed(run.seed));
    let mut session_key = None;
    let mut data = 0;
    for (_, payload) in run.tap("laptop") {
        let head = probe::Head::read(payload).expect("a message of the probe");
        let key = session_key.as_ref().filter(|_| head.is_within_session()).unwrap_or(&shared);
        let (session, message) = probe::open(payload, key).expect("its seal fits");
        match message {
            probe::Message::Start { nonce, cookie, .. } => {
                session_key = Some(probe::session_key(&shared, session, nonce, &cookie));
            }
            probe::Message::Data { .. } => data += 1,
            _ => {}
        }
    }
    let probe = run.summary.flows[0].probe.as_ref().expect("it is a probe");
    assert_eq!((data, &*probe.ended), (510, "complete"));
}

const CALL: &str = r#"
duration = "5 s"
record.taps = ["caller", "callee"]
[[node]]
name = "caller"
kind = "host"
[[node]]
name = "callee"
kind = "host"
[[link]]
ends = ["caller", "callee"]
rate = "2 Mbps"
delay = "20 ms"
queue = "50 packets"
[[flow]]
name = "call"
from = "caller"
to = "callee"
transport = "rtc"
start = "10 ms"
start_rate = "500 kbps"
max_rate = "1 Mbps"
"#;

#[test]
fn calls_show_rtp_and_feedback() {
    let run = Run::of("rtc", CALL);
    let (mut sequences, mut reported) = (Vec::new(), BTreeSet::new());
    for (datagram, payload) in run.tap("caller") {
        if datagram.source.octets()[3] == 1 {
            let (header, media) = rtp::Header::parse(payload).unwrap();
            assert_eq!(header.payload_type, 96);
            let at = (u32::from(datagram.id) << 16) + rtp::HEADER_LEN as u32;
            assert!(*media == *patterned(at, media.len() as u32));
            sequences.push(header.transport_sequence.expect("each has one"));
        } else {
            let (feedback, _) = rtp::Feedback::parse(payload).unwrap();
            reported.extend(sequences.iter().copied().filter(|sequence| {
                usize::from(sequence.wrapping_sub(feedback.base)) < feedback.arrivals.len()
            }));
        }
    }
    assert!(sequences.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)));
    let sent = run.summary.flows[0].sent_packets as usize;
    assert!(sent > 200 && sequences.len() == sent, "{} of {sent}", sequences.len());
    assert!(reported.len() * 10 > sent * 9, "feedback tells of {} in {sent}", reported.len());
}
