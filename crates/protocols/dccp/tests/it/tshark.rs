//! What a connection sends is what Wireshark reads: whole sessions, dissected by tshark.

use crate::common;

use crate::common::{MS, Pair, encode};
use bytes::Bytes;
use fairwave_dccp::{Ccid, Config, Input, Packet, Profiles, Standard, State};
use fairwave_machine::line::End::{self, A, B};
use fairwave_machine::line::{Line, Wire};
use fairwave_units::{BitRate, Instant, Seed};
use fairwave_wire::ipv4::{self, PROTOCOL_DCCP};
use fairwave_wire::pcapng::{Interface, LinkType, Section, Writer};
use fairwave_wire::pseudo::Pseudo;
use fairwave_wire::seal::Key;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Severity of a warning in `_ws.expert.severity` (Wireshark's `epan/proto.h`).
const EXPERT_WARNING: u32 = 0x0060_0000;

/// Everything that a connection can negotiate, with this profile.
fn config(ccid: Ccid) -> Config {
    Config {
        service: 0x5343_3a78,
        send_ccids: vec![ccid],
        receive_ccids: vec![ccid],
        // Small, so that a burst of losses leaves it.
        sequence_window: 32,
        sequence_window_max: 32,
        short_seqnos: true,
        ask_ndp_count: true,
        coverage: 2,
        minimum_coverage: 1,
        data_checksum: true,
        ..Config::default()
    }
}

/// A session over a bottleneck that loses packets, from Request to Reset, with data both ways, a
/// slow receiver, and a burst of loss that Syncs mend.
fn session(ccid: Ccid, cookie: bool) -> Pair {
    let wire = Wire {
        delay: MS(15),
        jitter: MS(1),
        loss: 0.02,
        corrupt: 0.02,
        rate: Some(BitRate::mbps(1)),
        queue: Some(10),
        ..Wire::default()
    };
    let key = Key::new(b"sixteen bytes it").unwrap();
    let server = Config { cookie: cookie.then_some(key), ..config(ccid) };
    let profiles: [Box<dyn Profiles>; 2] =
        [Box::new(Standard::default()), Box::new(Standard::default())];
    // Of long packets the last byte is in no header, and not in the coverage: only the CRC tells.
    let line = Line::symmetric(Seed(11), wire).with_corruption(|bytes: &mut Vec<u8>, _| {
        if bytes.len() > 400
            && let Some(last) = bytes.last_mut()
        {
            *last ^= 1;
        }
    });
    let mut pair = Pair::with_profiles([config(ccid), server], [5, 1 << 47], line, profiles);
    pair.open();
    for n in 0..400u32 {
        pair.input(A, Input::Send(Bytes::from(vec![n as u8; 600])));
        if n.is_multiple_of(10) {
            pair.input(B, Input::Send(Bytes::from(vec![n as u8; 61])));
        }
        match n {
            100 => pair.input(B, Input::Slow(true)),
            150 => pair.input(B, Input::Slow(false)),
            200 => pair.line.set_wire(A, Wire { loss: 1.0, ..wire }),
            240 => pair.line.set_wire(A, wire),
            _ => {}
        }
        pair.run_for(MS(10));
    }
    pair.line.set_wire(A, Wire { delay: MS(15), ..Wire::default() });
    pair.line.set_wire(B, Wire { delay: MS(15), ..Wire::default() });
    pair.input(B, Input::Close);
    pair.run_for(MS(5_000));
    assert_eq!(pair.states(), [State::TimeWait, State::Closed], "{pair:?}");
    pair
}

#[test]
fn tshark_dissects_whole_sessions_without_a_fault() {
    for (ccid, cookie) in [(Ccid::TFRC, false), (Ccid::TCP_LIKE, true), (Ccid::TFRC_SP, false)] {
        let pair = session(ccid, cookie);
        let path = written(&format!("dccp-{}", ccid.0), &pair.sent);
        let fields = [
            "_ws.col.Protocol",
            "_ws.malformed",
            "_ws.expert.severity",
            "_ws.expert.message",
            "dccp.checksum.status",
            "dccp.type",
            "dccp.option_type",
            "dccp.seq",
            "dccp.seq_raw",
            "dccp.ack",
            "dccp.ack_raw",
        ];
        let rows = dissected(&path, &fields);
        assert_eq!(rows.len(), pair.sent.len());
        for (row, (at, end, packet)) in rows.iter().zip(&pair.sent) {
            let what = format!("{ccid}, {end:?} at {at}: {packet:?} is {row:?} to tshark");
            assert!(row[0] == "DCCP" && row[1].is_empty(), "{what}");
            let severities = row[2].split(',').filter(|severity| !severity.is_empty());
            let worst = severities.map(|text| text.parse::<u32>().expect("a number")).max();
            assert!(worst.unwrap_or(0) < EXPERT_WARNING, "{what}");
            assert_eq!(row[4], "1", "checksum: {what}");
            let header = packet.header;
            let kinds = packet.options.items();
            let mut kinds: Vec<u8> = kinds
                .flat_map(|item| item.mandatory.then_some(1).into_iter().chain([item.kind]))
                .collect();
            let padding = usize::from(header.options_words) * 4 - packet.options.len();
            kinds.extend(vec![0; padding]);
            let kinds: Vec<String> = kinds.iter().map(u8::to_string).collect();
            assert_eq!(row[5..7], [header.kind.number().to_string(), kinds.join(",")], "{what}");
            // A short number it puts where a relative one would be.
            let number =
                |cells: &[String]| cells.iter().rev().find(|cell| !cell.is_empty()).cloned();
            assert_eq!(number(&row[7..9]), Some(header.seq.to_string()), "{what}");
            let ack = header.kind.ack().map(|ack| ack.to_string());
            assert_eq!(number(&row[9..11]), ack, "{what}");
        }
    }
}

/// The sessions above hold what there is to dissect: every type but plain Data where short
/// numbers or cookies forbid it, and every option that Fairwave sends.
#[test]
fn the_sessions_have_every_type_and_option() {
    let mut types = BTreeSet::new();
    let mut options = BTreeSet::new();
    let mut short = 0;
    for (ccid, cookie) in [(Ccid::TFRC, false), (Ccid::TCP_LIKE, true), (Ccid::TFRC_SP, false)] {
        for (.., packet) in session(ccid, cookie).sent {
            types.insert(packet.header.kind.number());
            options.extend(packet.options.items().map(|item| item.kind));
            short += u32::from(packet.header.short);
        }
    }
    assert_eq!(types, (0..=9).collect(), "packet types");
    let expected = [2, 32, 33, 34, 35, 36, 37, 38, 40, 43, 44, 193, 194, 195];
    assert!(options.is_superset(&expected.into()), "{options:?}");
    assert!(short > 100, "{short} packets with short numbers");
}

fn written(name: &str, sent: &[(Instant, End, Packet<Bytes>)]) -> PathBuf {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let interface = Interface { link_type: LinkType::RawIp, name: None, snap_len: None };
    let interface = writer.add_interface(&interface).unwrap();
    for (at, end, packet) in sent {
        let encoded = encode(packet);
        let segment = &encoded[1..];
        let Pseudo::V4 { source, destination } = common::PSEUDO else { unreachable!("of IPv4") };
        let (source, destination) = match end {
            A => (source, destination),
            B => (destination, source),
        };
        let header = ipv4::Header {
            source,
            destination,
            id: 0,
            ttl: 64,
            tos: encoded[0],
            dont_fragment: true,
            protocol: PROTOCOL_DCCP,
            payload_len: segment.len() as u32,
        };
        let mut bytes = Vec::new();
        header.write(&mut bytes).unwrap();
        bytes.extend(segment);
        writer.write_packet(interface, *at, &bytes, None).unwrap();
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&path, writer.into_inner()).unwrap();
    path
}

/// The fields of every packet, as tshark prints them.
fn dissected(capture: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-T", "fields"]);
    for preference in ["check_checksum:TRUE", "relative_sequence_numbers:FALSE"] {
        command.args(["-o", &format!("dccp.{preference}")]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| {
        panic!("tshark cannot be run ({error}); `cargo xtask test` installs what the tests need")
    });
    assert!(status.success(), "tshark failed: {}", String::from_utf8_lossy(&stderr));
    let line = |line: &str| line.split('\t').map(str::to_owned).collect();
    String::from_utf8(stdout).expect("tshark prints UTF-8").lines().map(line).collect()
}
