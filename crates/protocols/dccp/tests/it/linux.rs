//! Packets that Linux 6.1 sent in the guest of `cargo xtask vm dccp`, from the DCCP header on. They
//! came from 10.79.0.2 to 10.79.0.1, by CCID 3.

mod negotiation;

use bytes::Bytes;
use fairwave_dccp::{Ccid, Config, Connection, Event, Input, Packet, Standard, State};
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{self, Kind, Options, Seq48, Side, Value};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::pseudo::Pseudo;

/// A Response. It states or asks for every feature that Linux knows, most of them mandatory: Ack
/// Ratio 0, no Ack Vectors, NDP Counts and Loss Event Rate (192) both ways.
const RESPONSE: &str = "1389e80d1600593c0300fb1662ab2760000045cfc8f252e24657415600002906\
    00214cb621050103032305010303012004020001200404012005050000220406002004060020040701012204070101\
    2204c001012004c001";
/// An acknowledgement of the first data: Receive Rate and Loss Event Rate alone.
const FEEDBACK: &str = "1389e80d090076ab0700fb1662ab2761000045cfc8f252e4c20600000000c006ffffffff";
/// A Request, with the same demands.
const REQUEST: &str = "93ee138913005550010075b16ddf8128465741562906005114cc20040103220401030120\
    0402000120040401200505000022040600200406002004070101220407010122\
    04c001012004c001";
const SERVICE: u32 = 0x4657_4156;

fn packet(hex: &str) -> Packet<Bytes> {
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
        .collect();
    let pseudo = Pseudo::V4 { source: [10, 79, 0, 2].into(), destination: [10, 79, 0, 1].into() };
    let read = dccp::parse(&bytes, pseudo).expect("its checksum is right");
    let options = Options::from_bytes(read.options);
    Packet { header: read.header, options, ecn: Ecn::NotEct, payload: None }
}

fn connection(local_port: u16, remote_port: u16, iss: u64) -> Connection<Bytes> {
    let config = Config { local_port, remote_port, ..config_by(&[3]) };
    Connection::new(config, Seq48::new(iss), Box::new(Standard::default()))
}

/// The configuration of an end with these profiles in both directions.
fn config_by(ccids: &[u8]) -> Config {
    let ccids: Vec<Ccid> = ccids.iter().map(|ccid| Ccid(*ccid)).collect();
    Config {
        service: SERVICE,
        send_ccids: ccids.clone(),
        receive_ccids: ccids,
        ..Config::default()
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// What is confirmed of a feature of an end.
fn confirmed(packet: &Packet<Bytes>, wanted: Side, number: u8) -> Option<u8> {
    packet.options.values().find_map(|value| match value {
        Value::Confirm { side, feature, values } if side == wanted && feature == number => {
            values.first().copied()
        }
        _ => None,
    })
}

/// The Response was answered with a Reset, "Mandatory Error".
#[test]
fn linux_as_a_server_by_ccid_3_is_not_reset() {
    let mut client = connection(0xe80d, 5001, 0x45cf_c8f2_52e2);
    client.handle(at(0), Input::Open);
    let request = client.poll(at(0)).expect("a Request");
    assert_eq!(request.header.kind, Kind::Request { service: SERVICE });
    client.handle(at(40), Input::Packet(packet(RESPONSE)));
    let ack = client.poll(at(40)).expect("an Ack");
    assert!(matches!(ack.header.kind, Kind::Ack { .. }), "{ack:?}");
    assert_eq!(client.state(), State::PartOpen);
    for side in [Side::Local, Side::Remote] {
        assert_eq!(confirmed(&ack, side, 192), Some(1), "Send Loss Event Rate");
    }
    assert_eq!(confirmed(&ack, Side::Local, 7), Some(1), "Send NDP Count");
    // Data go at the initial rate for the handshake's 40 ms, 4380 bytes a round trip at most,
    // instead of a packet a second, and the feedback on them has a tenth in the round-trip time.
    client.handle(at(41), Input::Send(Bytes::from_static(&[0; 1400])));
    let data = client.poll(at(41)).expect("data");
    assert_eq!(data.header.seq, Seq48::new(0x45cf_c8f2_52e4));
    client.handle(at(91), Input::Packet(packet(FEEDBACK)));
    let known = client.stats().sender.expect("a profile");
    assert_eq!((known.loss_event_rate, known.receive_rate), (Some(0.0), Some(0.0)));
    assert_eq!(known.rtt, Some(Duration::from_millis(41)));
    assert!(known.rate.is_some_and(|rate| rate > 100_000.0), "{known:?}");
}

/// So was the Request.
#[test]
fn linux_as_a_client_by_ccid_3_is_not_reset() {
    let mut server = connection(5001, 0, 0x4427_1db7_02c9);
    server.handle(at(0), Input::Listen);
    server.handle(at(1), Input::Packet(packet(REQUEST)));
    let response = server.poll(at(1)).expect("a Response");
    assert!(matches!(response.header.kind, Kind::Response { .. }), "{response:?}");
    for side in [Side::Local, Side::Remote] {
        assert_eq!(confirmed(&response, side, 192), Some(1), "Send Loss Event Rate");
    }
    assert!(
        !std::iter::from_fn(|| server.event()).any(|event| matches!(event, Event::Failed { .. }))
    );
}
