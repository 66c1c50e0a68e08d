//! Two ends that meet, through losses, repetitions and people in between.

use super::*;
use crate::{KEY_LEN, station_secret};
use fairwave_machine::{Machine, contract};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::pair::{Body, Message};
use proptest::prelude::*;

const STATION: Mac = Mac::local(7);
const ACCESS_POINT: Mac = Mac::local(1);

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn network() -> Key {
    Key::new(&[9; KEY_LEN]).unwrap()
}

fn joiner() -> Joiner {
    Joiner::new(STATION, [3; 32], [4; 32], ms(0), ms(20_000))
}

fn registrar() -> Registrar {
    Registrar::new(network(), [5; 32], [6; 32], ms(20_000))
}

/// What both ends said.
#[derive(Default)]
struct Delivered {
    joiner: Vec<JoinerEvent>,
    registrar: Vec<RegistrarEvent>,
}

impl Delivered {
    fn codes(&self) -> (Option<Code>, Option<Code>) {
        let joiner = self.joiner.iter().find_map(|event| match event {
            JoinerEvent::Code { code, .. } => Some(*code),
            _ => None,
        });
        let registrar = self.registrar.iter().find_map(|event| match event {
            RegistrarEvent::Code { code, .. } => Some(*code),
            _ => None,
        });
        (joiner, registrar)
    }

    fn secret(&self) -> Option<[u8; KEY_LEN]> {
        self.joiner.iter().find_map(|event| match event {
            JoinerEvent::Granted(secret) => Some(*secret),
            _ => None,
        })
    }
}

/// Runs both ends for 20 s in steps of 10 ms. `pass` sees each message, says what arrives of it,
/// and may change it; `compare` is asked once.
fn run(
    mut station: Joiner,
    mut access_point: Registrar,
    mut pass: impl FnMut(bool, Message) -> Vec<Message>,
    mut compare: impl FnMut(Code) -> bool,
) -> Delivered {
    let mut delivered = Delivered::default();
    for at in (0..=20_000).step_by(10) {
        let now = ms(at);
        station.wake(now);
        access_point.wake(now);
        loop {
            let mut is_quiet = true;
            while let Some(message) = station.poll(now) {
                is_quiet = false;
                for message in pass(true, message) {
                    access_point.handle(now, RegistrarInput::Message(STATION, message));
                }
            }
            while let Some(message) = access_point.poll(now) {
                is_quiet = false;
                for message in pass(false, message) {
                    station.handle(now, (ACCESS_POINT, message));
                }
            }
            while let Some(event) = access_point.event() {
                delivered.registrar.push(event);
                if let RegistrarEvent::Code { code, .. } = event {
                    access_point.handle(now, RegistrarInput::Compared(compare(code)));
                    is_quiet = false;
                }
            }
            if is_quiet {
                break;
            }
        }
        delivered.joiner.extend(std::iter::from_fn(|| station.event()));
    }
    assert!(station.is_over() && access_point.is_over());
    delivered
}

#[test]
fn a_station_gets_the_key_that_is_its_own_and_both_show_the_same_code() {
    let delivered = run(joiner(), registrar(), |_, message| vec![message], |_| true);
    assert_eq!(delivered.secret(), Some(station_secret(&network(), STATION)));
    let (ours, theirs) = delivered.codes();
    assert!(ours.is_some() && ours == theirs, "{ours:?} {theirs:?}");
    assert_eq!(delivered.registrar.last(), Some(&RegistrarEvent::Granted(STATION)));
    assert_eq!(Code(42_007).to_string(), "042 007");
}

#[test]
fn no_means_no_key_and_the_station_is_told() {
    let delivered = run(joiner(), registrar(), |_, message| vec![message], |_| false);
    assert_eq!(delivered.secret(), None);
    assert_eq!(delivered.joiner.last(), Some(&JoinerEvent::Ended(Ended::Refused)));
    assert_eq!(delivered.registrar.last(), Some(&RegistrarEvent::Ended(Ended::Refused)));
}

#[test]
fn nobody_there_ends_with_the_time() {
    let delivered = run(joiner(), registrar(), |_, _| Vec::new(), |_| true);
    assert_eq!(delivered.joiner, [JoinerEvent::Ended(Ended::TooLate)]);
    assert_eq!(delivered.registrar, [RegistrarEvent::Ended(Ended::TooLate)]);
}

/// Somebody in between who has a key of his own with each end: people see different codes.
#[test]
fn in_between_the_codes_differ() {
    let mut to_station =
        Registrar::new(Key::new(&[8; KEY_LEN]).unwrap(), [66; 32], [67; 32], ms(20_000));
    let mut to_access_point = Joiner::new(STATION, [77; 32], [78; 32], ms(0), ms(20_000));
    to_access_point.wake(ms(0));
    let delivered = run(
        joiner(),
        registrar(),
        |is_from_station, message| {
            let mut passed = Vec::new();
            match is_from_station {
                true => {
                    // The thief speaks with the access point in the station's name.
                    to_station.handle(ms(1), RegistrarInput::Message(STATION, message));
                    passed.extend(std::iter::from_fn(|| to_access_point.poll(ms(1))));
                }
                false => {
                    to_access_point.handle(ms(1), (ACCESS_POINT, message));
                    passed.extend(std::iter::from_fn(|| to_station.poll(ms(1))));
                }
            }
            passed
        },
        |_| false,
    );
    let (ours, theirs) = delivered.codes();
    assert!(ours.is_some() && theirs.is_some() && ours != theirs, "{ours:?} {theirs:?}");
    assert_eq!(delivered.secret(), None);
}

#[test]
fn a_key_of_small_order_is_not_taken() {
    let body = Body::Offer { public: [0; 32], commitment: [1; 32] };
    let offer = Message { station: STATION, body };
    let mut station = joiner();
    station.handle(ms(1), (ACCESS_POINT, offer));
    assert!(station.poll(ms(1)).is_none() && station.event().is_none());
}

/// Somebody who knows everything that is said before a station is bound to its key still knows
/// nothing of the code: two access points that differ in the nonce alone show other codes, and
/// each says its nonce to one station, once that has shown its key.
#[test]
fn nobody_can_choose_a_key_by_the_code_that_it_will_give() {
    let codes: Vec<Code> = [[6; 32], [7; 32]]
        .into_iter()
        .map(|nonce| {
            let mut access_point = Registrar::new(network(), [5; 32], nonce, ms(20_000));
            let mut notify = |station, body| {
                let message = Message { station, body };
                access_point.handle(ms(1), RegistrarInput::Message(station, message));
                std::iter::from_fn(|| access_point.poll(ms(1))).collect::<Vec<_>>()
            };
            // A thief tries station after station, and does not show what he has committed to.
            for number in 20..30 {
                let printed = notify(Mac::local(number), Body::Hello { commitment: [9; 32] });
                let [Message { body: Body::Offer { commitment, .. }, .. }] = printed[..] else {
                    panic!("{printed:?}");
                };
                assert!(commitment != nonce);
            }
            let mut station = joiner();
            station.wake(ms(1));
            let hello = station.poll(ms(1)).unwrap();
            let offer = notify(STATION, hello.body)[0];
            station.handle(ms(1), (ACCESS_POINT, offer));
            let printed = notify(STATION, station.poll(ms(1)).unwrap().body);
            assert!(
                matches!(printed[..], [Message { body: Body::Opened { .. }, .. }]),
                "{printed:?}"
            );
            // From now on there is no other station.
            assert_eq!(notify(Mac::local(20), Body::Hello { commitment: [9; 32] }), []);
            match access_point.event() {
                Some(RegistrarEvent::Code { station: STATION, code }) => code,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_ne!(codes[0], codes[1]);
}

#[test]
fn a_nonce_that_was_not_committed_to_gives_no_code() {
    let change = |_, message: Message| match message.body {
        Body::Opened { mut nonce } => {
            nonce[31] ^= 1;
            vec![Message { body: Body::Opened { nonce }, ..message }]
        }
        _ => vec![message],
    };
    let delivered = run(joiner(), registrar(), change, |_| true);
    assert_eq!(delivered.joiner, [JoinerEvent::Ended(Ended::TooLate)]);
}

#[test]
fn what_is_not_what_was_committed_to_is_not_compared() {
    let change = |is_from_station, message: Message| match message.body {
        Body::Reveal { mut public, nonce } if is_from_station => {
            public[0] ^= 1;
            vec![Message { body: Body::Reveal { public, nonce }, ..message }]
        }
        _ => vec![message],
    };
    let delivered = run(joiner(), registrar(), change, |_| true);
    assert_eq!(delivered.registrar, [RegistrarEvent::Ended(Ended::TooLate)]);
}

proptest! {
    /// Whatever is lost or comes twice: what arrives at last is the station's own key, or nothing.
    #[test]
    fn losses_and_repetitions_change_no_key(fates in prop::collection::vec(0..3usize, 40)) {
        let mut fates = fates.into_iter();
        let pass = |_, message| vec![message; fates.next().unwrap_or(1)];
        let delivered = run(joiner(), registrar(), pass, |_| true);
        let expected = station_secret(&network(), STATION);
        let joiner = &delivered.joiner;
        prop_assert!(delivered.secret().is_none_or(|key| key == expected));
        prop_assert!(delivered.secret().is_some(), "later messages all arrive: {joiner:?}");
    }

    /// Strangers who say anything in any name get nothing, and stop nothing.
    #[test]
    fn strangers_get_no_key(
        printed in prop::collection::vec((0..4u32, 0..7u8, any::<[u8; 32]>()), 0..30),
    ) {
        let mut printed = printed.into_iter();
        let mut station = joiner();
        let mut access_point = registrar();
        let mut now = 0;
        for (number, kind, bytes) in printed.by_ref() {
            now += 100;
            let mut proof = [0; 16];
            proof.copy_from_slice(&bytes[..16]);
            let body = match kind {
                0 => Body::Hello { commitment: bytes },
                1 => Body::Offer { public: bytes, commitment: bytes },
                2 => Body::Reveal { public: bytes, nonce: bytes },
                3 => Body::Grant { sealed: [bytes[0]; 48] },
                4 => Body::Done { proof },
                5 => Body::Opened { nonce: bytes },
                _ => Body::Refused { proof },
            };
            let from = Mac::local(number + 1);
            let message = Message { station: Mac::local(number % 2 + 7), body };
            access_point.handle(ms(now), RegistrarInput::Message(from, message));
            access_point.handle(ms(now), RegistrarInput::Message(message.station, message));
            station.handle(ms(now), (from, message));
            station.wake(ms(now));
            while let Some(message) = access_point.poll(ms(now)) {
                let is_offer = matches!(message.body, Body::Offer { .. });
                prop_assert!(is_offer, "{:?}", message);
            }
        }
        prop_assert!(!std::iter::from_fn(|| station.event())
            .any(|event| matches!(event, JoinerEvent::Granted(_))));
    }

    #[test]
    fn both_ends_keep_the_contract(gaps in prop::collection::vec(0..900u64, 1..40)) {
        let inputs = gaps.iter().scan(0, |at, gap| {
            *at += gap;
            let body = Body::Offer { public: [5; 32], commitment: [5; 32] };
            Some((ms(*at), (ACCESS_POINT, Message { station: STATION, body })))
        });
        contract::check(&mut joiner(), inputs, ms(60_000));
    }
}
