//! The access point's loop, with any messages of strangers and of the owner of one station's key,
//! and any report of the radio. No other station's weight rises. An address is only assigned to a
//! station that received a token there. Stations stay few, and no deadline lies in the past.

#![no_main]

use fairwave_machine::Machine;
use fairwave_soc::{
    AccessPoint, Action, ApConfig, ApInput, POLICIES, Policies, Reach, ReceivedFrame, Routed,
    StationView, TableConfig, station_secret,
};
use fairwave_units::{Db, Dbm, Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::routed::{self, Reply, Token};
use fairwave_wire::soc::{self, Answer, CentiDb, Greeting, Plain, Report, SESSION_LEN, Session};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU16;

/// The station whose key the attacker has, and the victim, which must not be affected. All other
/// stations are strangers.
const OWNER: Mac = Mac::local(1);
const VICTIM: Mac = Mac::local(2);
const STATIONS: usize = 8;
const SESSION: Session = Session([5; SESSION_LEN]);
/// Bytes of a step: the kind of input, the time, and 14 for its content.
const STEP: usize = 16;

fn network() -> Key {
    Key::new(&[7; 32]).expect("long enough")
}

fn key_of(station: Mac) -> Key {
    Key::new(&station_secret(&network(), station)).expect("long enough")
}

/// The key that seals a station's reports in this session.
fn session_key_of(station: Mac) -> Key {
    SESSION.key(&key_of(station))
}

/// The victim's greeting before its first report, as an attacker might have recorded it.
fn greeting_of_victim() -> [u8; soc::LEN] {
    Greeting { station: VICTIM, sequence: 1 }.seal(&key_of(VICTIM))
}

fn config() -> ApConfig {
    let pw = POLICIES.iter().find(|kind| kind.name == "pw").expect("it is listed");
    let table = TableConfig {
        max_stations: STATIONS,
        compat: true,
        ..TableConfig::new(Policies::per_class(vec![(pw.curve)(), (pw.curve)()]))
    };
    let tokens = Some(Key::new(&[9; 32]).expect("long enough"));
    ApConfig { tokens, ..ApConfig::new(table, network(), SESSION) }
}

fn report(station: Mac, sequence: u64, made_ms: u32, interval_ms: u16, soc: i16) -> Report {
    Report {
        next: None,
        station,
        ipv4: Ipv4Addr::UNSPECIFIED,
        ipv6: Ipv6Addr::UNSPECIFIED,
        sequence,
        made_ms,
        interval_ms: NonZeroU16::new(interval_ms).unwrap_or(NonZeroU16::MIN),
        soc: CentiDb(soc),
    }
}

/// The most recent token that the owner received at each of two addresses.
#[derive(Default)]
struct Owner {
    tokens: [Option<Token>; 2],
}

fn place(at: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, at)), 4000)
}

fn drain(ap: &mut AccessPoint, now: Instant, owner: &mut Owner) {
    while let Some(action) = ap.poll(now) {
        match action {
            Action::Serve { station, reach, weights } => {
                assert_eq!(weights.len(), 2);
                if let Reach::Address(IpAddr::V4(address)) = reach {
                    let at = usize::from(address.octets()[3]);
                    assert!(station == OWNER && at < 2 && owner.tokens[at].is_some());
                }
                // It reported 4 dB, which pw maps to 0.2, and sends no further reports.
                assert!(station != VICTIM || weights[0].fraction() < 0.201);
            }
            Action::Reply { station, to, payload } => {
                assert!([OWNER, VICTIM].contains(&station), "only with a key there is a reply");
                let reply = Reply::open(&payload, &key_of(station)).expect("it is sealed");
                if station == VICTIM {
                    assert_eq!((reply.sequence, reply.is_believed), (1, false));
                    continue;
                }
                let IpAddr::V4(address) = to.ip() else { unreachable!() };
                if let Some(own) = owner.tokens.get_mut(usize::from(address.octets()[3])) {
                    *own = Some(reply.token);
                }
            }
            Action::Answer { station, payload } => {
                let answer = Answer::open(&payload, &key_of(station)).expect("it is sealed");
                assert_eq!(answer.session, SESSION);
            }
            Action::Stop { .. } => {}
        }
    }
    while ap.event().is_some() {}
    assert!(ap.stations(now).len() <= STATIONS);
}

/// The input that the bytes of a step encode.
fn input(step: &[u8; STEP], number: u64, now: Instant, owner: &Owner) -> ApInput {
    let [kind, _, a, b, c, d, e, ..] = *step;
    let millis = (now.as_nanos() / 1_000_000) as u32;
    let made = millis.wrapping_sub(u32::from(c) * 16);
    let soc = i16::from_be_bytes([d, e]);
    let sequence = if a & 1 == 0 { number } else { u64::from(b) };
    let own = report(OWNER, sequence, made, u16::from(b), soc).seal(&session_key_of(OWNER));
    let unknown = Mac::local(3 + u32::from(a));
    match kind % 13 {
        0 => ApInput::Report(ReceivedFrame::new(OWNER, &own)),
        // A report in another station's name, sealed with the owner's key.
        1 => {
            let forged = report(VICTIM, sequence, made, u16::from(b), soc);
            let forged = forged.seal(&session_key_of(OWNER));
            ApInput::Report(ReceivedFrame::new(if a & 2 == 0 { VICTIM } else { OWNER }, &forged))
        }
        2 => ApInput::Report(ReceivedFrame::new(unknown, &step[2..])),
        3 | 4 => {
            let token = owner.tokens[usize::from(b & 1)].unwrap_or_default();
            let from = place(a % 4);
            // The owner only receives replies at the first two addresses.
            ApInput::Datagram(Routed::new(from, &routed::datagram(&own, token)))
        }
        5 => ApInput::Datagram(Routed::new(place(a), &own[..usize::from(b).min(own.len())])),
        6 => {
            let view =
                StationView { signal: Some(Dbm(f64::from(soc))), ..StationView::new(unknown) };
            ApInput::Seen(view)
        }
        7 => ApInput::Report(ReceivedFrame::new(VICTIM, &greeting_of_victim())),
        8 => {
            let greeting = routed::datagram(&greeting_of_victim(), Token::default());
            ApInput::Datagram(Routed::new(place(a % 4), &greeting))
        }
        9 => {
            // A report of an earlier session, sealed with the station's own key, in the same
            // format.
            let old = report(OWNER, sequence, made, u16::from(b), soc).seal(&key_of(OWNER));
            ApInput::Report(ReceivedFrame::new(OWNER, &old))
        }
        10 => {
            let greeting = Greeting { station: OWNER, sequence }.seal(&key_of(OWNER));
            ApInput::Report(ReceivedFrame::new(OWNER, &greeting))
        }
        11 => {
            // The paper's format, which anybody can send in anybody's name.
            let plain = Plain { ipv4: Ipv4Addr::LOCALHOST, soc_db: u32::from(d) };
            let from = if a & 1 == 0 { VICTIM } else { unknown };
            ApInput::Report(ReceivedFrame::new(from, &plain.written(None)))
        }
        _ if a & 1 == 0 => ApInput::Joined(unknown),
        _ => ApInput::Left(if a & 2 == 0 { OWNER } else { unknown }),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (mut ap, mut owner) = (AccessPoint::new(config()), Owner::default());
    let mut now = Instant::ZERO;
    let first = report(VICTIM, 1, 0, 200, 400).seal(&session_key_of(VICTIM));
    ap.handle(now, ApInput::Report(ReceivedFrame::new(VICTIM, &first)));
    drain(&mut ap, now, &mut owner);
    let victim = |ap: &AccessPoint, now| {
        ap.stations(now).iter().find(|one| one.link == VICTIM).and_then(|one| one.soc)
    };
    assert_eq!(victim(&ap, now), Some(Db(4.0)));
    for (number, step) in bytes.chunks_exact(STEP).take(200).enumerate() {
        let step: &[u8; STEP] = step.try_into().expect("a whole one");
        let end = now + Duration::from_millis(u64::from(step[1]) * u64::from(step[1]) / 8);
        while let Some(deadline) = ap.deadline().filter(|deadline| *deadline <= end) {
            now = deadline.max(now);
            ap.wake(now);
            drain(&mut ap, now, &mut owner);
            assert!(ap.deadline().is_none_or(|deadline| deadline > now), "it does not wake");
        }
        now = end;
        // A victim that has expired has the initial weight again; no attack is needed for that.
        if victim(&ap, now).is_none() {
            return;
        }
        ap.handle(now, input(step, number as u64 + 2, now, &owner));
        drain(&mut ap, now, &mut owner);
    }
});
