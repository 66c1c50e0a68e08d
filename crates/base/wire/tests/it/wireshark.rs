//! What we read, the dissector of `docs/wireshark` reads, and what we refuse, it calls malformed:
//! every kind of message, whole, cut, and with each of its bytes changed.

use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::datagram::{Contents, Datagram, Transport};
use fairwave_wire::pcapng::{Interface, LinkType, Section, Writer};
use fairwave_wire::probe::{self, Chunk, Limits, Record};
use fairwave_wire::seal::{Key, TAG_LEN};
use fairwave_wire::shake::{self, Ack, Block, Body, Challenge, Data, Echo, Join, Leave, Side};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::process::Command;

fn key() -> Key {
    Key::new(&[7; 16]).unwrap()
}

fn shakes() -> Vec<Vec<u8>> {
    let block = |offset, len| Block {
        offset: NonZeroU32::new(offset).unwrap(),
        len: NonZeroU32::new(len).unwrap(),
    };
    let echo = Some(Echo { number: NonZeroU64::MIN, sent_us: 9 });
    let blocks = [block(1_400, 2_800), block(5_600, 1)].into_iter().collect();
    let ack = Ack { cumulative: 1 << 40, window: 65_536, echo, blocks };
    let bodies: [(Body, &[u8]); 11] = [
        (Body::Join(Join { open: true, nonce: 5, window: 9 }), b""),
        (Body::Join(Join { open: false, nonce: 5, window: 9 }), b""),
        (Body::Challenge(Challenge { nonce: 3, answers: 5, window: 1 }), b""),
        (Body::Response { answers: 3 }, b""),
        (Body::Data(Data { seq: 1 << 33, fin: false }), b"payload"),
        (Body::Data(Data { seq: 0, fin: true }), b""),
        (Body::Ack(ack), b""),
        (Body::Ack(Ack { echo: None, ..ack }), b""),
        (Body::Leave(Leave { path: 2, last: 77 }), b""),
        (Body::Left(Leave { path: 2, last: 77 }), b""),
        (Body::Reset { reason: shake::Reason::NoPath }, b""),
    ];
    let written = |(body, payload): (Body, &[u8])| {
        let (connection, number) = (0xfedc_ba98_7654_3210, NonZeroU64::new(258).unwrap());
        let header =
            shake::Header { connection, from: Side::Opener, path: 1, number, sent_us: 1_000, body };
        let mut bytes = Vec::new();
        header.write(payload, &key(), &mut bytes).unwrap();
        bytes
    };
    bodies.into_iter().map(written).collect()
}

fn probes() -> Vec<Vec<u8>> {
    use probe::Message;
    let (nonce, cookie) = (5, [3; 16]);
    let duration = Duration::from_secs(9);
    let limits = Limits { rate: BitRate(1_000_000), packets: 500, duration };
    let record = |number, ms| {
        let arrived = Instant::ZERO + Duration::from_millis(ms);
        Record { number, arrived }
    };
    let records = vec![record(0, 1), record(2, 900), record(1, 901)];
    let messages = [
        Message::Hello { nonce },
        Message::Challenge { cookie },
        Message::Start { nonce, cookie, wanted: limits },
        Message::Accept { granted: limits },
        Message::Data { train: 1, number: 7, sent: Instant::from_nanos(5) },
        Message::End { train: 1, sent: 500, chunk: 0 },
        Message::Report(Chunk { train: 1, chunk: 0, chunks: 1, records }),
        Message::Done,
        Message::Refuse { reason: probe::Refusal::Busy },
    ];
    let written = |message: Message| {
        let mut bytes = Vec::new();
        message.write(6, &key(), 80, &mut bytes).unwrap();
        bytes
    };
    messages.into_iter().map(written).collect()
}

/// Whether we read these bytes. Seals are out of the question: the dissector does not check them.
fn reads(bytes: &[u8]) -> bool {
    match bytes[..4].try_into().unwrap() {
        shake::MAGIC => shake::parse(bytes).is_ok(),
        _ => {
            let Some(covered) = bytes.len().checked_sub(TAG_LEN) else { return false };
            let tag = key().tag("fairwave probe 1", &[&bytes[..covered]]);
            probe::open(&[&bytes[..covered], &tag.0].concat(), &key()).is_ok()
        }
    }
}

/// The message; its beginnings, from the magic on; and it with each byte changed before its seal.
fn variants(message: &[u8]) -> Vec<Vec<u8>> {
    let cuts = (4..message.len()).map(|len| message[..len].to_vec());
    let changed = (4..message.len() - TAG_LEN).flat_map(|at| {
        [0, 1, 2, 5, 9, 0x40, 0xff].map(|byte| {
            let mut bytes = message.to_vec();
            bytes[at] = byte;
            bytes
        })
    });
    let longer = [message, &[0]].concat();
    [message.to_vec(), longer].into_iter().chain(cuts).chain(changed).collect()
}

fn write(path: &Path, messages: &[Vec<u8>]) {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let interface = Interface { link_type: LinkType::RawIp, name: None, snap_len: None };
    let interface = writer.add_interface(&interface).unwrap();
    for message in messages {
        let datagram = Datagram {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            id: 0,
            ttl: 64,
            tos: 0,
            transport: Transport::Udp { source_port: 50_000, destination_port: 60_100 },
            payload_len: message.len() as u32,
        };
        let mut bytes = Vec::new();
        datagram.write_with(Some(&Contents::bytes(message.clone())), &mut bytes).unwrap();
        writer.write_packet(interface, Instant::ZERO, &bytes, None).unwrap();
    }
    std::fs::write(path, writer.into_inner()).unwrap();
}

/// Numbers of the frames that pass `filter`, counting from zero.
fn frames(capture: &Path, filter: &str) -> BTreeSet<usize> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let script = root.join("docs/wireshark/fairwave.lua");
    let mut tshark = Command::new("tshark");
    tshark.args(["-X", &format!("lua_script:{}", script.display()), "-n", "-T", "fields"]);
    tshark.args(["-e", "frame.number", "-Y", filter, "-r"]).arg(capture);
    let output = tshark.output().unwrap_or_else(|error| {
        panic!("tshark cannot be run ({error}); `cargo xtask test` installs what the tests need")
    });
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark -Y {filter}: {err}");
    let numbers = String::from_utf8(output.stdout).unwrap();
    numbers.lines().map(|line| line.parse::<usize>().unwrap() - 1).collect()
}

#[test]
fn the_dissector_refuses_what_we_refuse_and_nothing_else() {
    for (name, messages) in [("shake", shakes()), ("probe", probes())] {
        assert!(messages.iter().all(|message| reads(message)));
        let all: Vec<Vec<u8>> = messages.iter().flat_map(|message| variants(message)).collect();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dissected-{name}.pcapng"));
        write(&path, &all);
        let fields = format!("fw{name} && !_ws.lua.error");
        assert_eq!(frames(&path, &fields).len(), all.len(), "{name}: dissected without a fault");
        let malformed = frames(&path, &format!("fw{name}.malformed"));
        for (number, bytes) in all.iter().enumerate() {
            let both = (!malformed.contains(&number), reads(bytes));
            assert_eq!(both.0, both.1, "{name}, frame {}: {bytes:02x?}", number + 1);
        }
        let refused = malformed.len() * 10;
        assert!(refused > all.len() && malformed.len() < all.len(), "{refused} of {}", all.len());
    }
}
