//! What is reported, and when it is forgotten.

use super::*;
use fairwave_wire::dccp::{Runs, Seq48};

fn at(value: u64) -> Seq48 {
    Seq48::new(value)
}

fn written(arrivals: &mut Arrivals, seq: u64) -> Options {
    let mut options = Options::new();
    arrivals.write(at(seq), true, &mut options);
    options
}

fn vector(options: &Options) -> (bool, Vec<u8>) {
    let found = options.values().find_map(|value| match value {
        Value::AckVector { nonce_echo, vector } => Some((nonce_echo, vector.to_vec())),
        _ => None,
    });
    found.expect("an Ack Vector")
}

/// RFC 4340 section 11.4, the example with acknowledgement number 100.
#[test]
fn the_vector_of_the_rfc() {
    let mut arrivals = Arrivals::new();
    for seq in (88..=100).filter(|seq| *seq != 99) {
        let ecn = if seq == 94 { Ecn::Ce } else { Ecn::Ect0 };
        assert!(arrivals.take(at(seq), ecn));
    }
    assert_eq!(vector(&written(&mut arrivals, 1)), (false, vec![0, 192, 3, 64, 5]));
}

/// RFC 4340 section 11.7, the example with acknowledgement number 100.
#[test]
fn the_drops_of_the_rfc() {
    let mut arrivals = Arrivals::new();
    for seq in 88..=100 {
        arrivals.take(at(seq), Ecn::Ect0);
    }
    for seq in [99, 94, 93, 92] {
        arrivals.note_dropped(at(seq), DropCode::RECEIVE_BUFFER);
    }
    let options = written(&mut arrivals, 1);
    assert!(options.values().any(|value| value == Value::DataDropped(&[0, 160, 3, 162])));
}

/// RFC 4340 section 12.2: the echo is the parity of the nonces of unmarked packets.
#[test]
fn the_nonce_echo_is_a_parity() {
    let mut arrivals = Arrivals::new();
    for (seq, ecn, echo) in [
        (1, Ecn::Ect1, true),
        (2, Ecn::Ect0, true),
        (3, Ecn::Ect1, false),
        (4, Ecn::Ce, false),
        (5, Ecn::Ect1, true),
    ] {
        arrivals.take(at(seq), ecn);
        assert_eq!(vector(&written(&mut arrivals, seq)).0, echo, "after {seq}");
    }
}

#[test]
fn duplicates_are_known_across_gaps_and_forgotten_packets_count_as_seen() {
    let mut arrivals = Arrivals::new();
    for seq in [10, 12, 5000] {
        assert!(arrivals.take(at(seq), Ecn::NotEct), "{seq}");
        assert!(!arrivals.take(at(seq), Ecn::NotEct), "{seq} again");
    }
    assert!(arrivals.take(at(4999), Ecn::NotEct), "late");
    assert!(!arrivals.take(at(11), Ecn::NotEct), "too late to know");
    assert!(arrivals.take(at(5000 - HISTORY + 1), Ecn::NotEct), "just in time");
}

/// RFC 4340 section 11.4.2: what the other end is known to have been told is not repeated.
#[test]
fn an_acknowledged_acknowledgement_shortens_the_next() {
    let mut arrivals = Arrivals::new();
    for seq in 1..=10 {
        arrivals.take(at(seq), Ecn::NotEct);
    }
    written(&mut arrivals, 700);
    arrivals.take(at(12), Ecn::NotEct);
    assert_eq!(vector(&written(&mut arrivals, 701)).1, [0, 192, 9]);
    arrivals.on_acknowledged(at(699));
    assert_eq!(vector(&written(&mut arrivals, 702)).1, [0, 192, 9], "of no acknowledgement");
    arrivals.on_acknowledged(at(700));
    assert_eq!(vector(&written(&mut arrivals, 703)).1, [0, 192]);
    arrivals.on_acknowledged(at(703));
    assert_eq!(vector(&written(&mut arrivals, 704)).1, [0], "one packet at least");
}

/// Nobody acknowledges and every other packet is lost: the worst that a vector can report.
#[test]
fn the_vector_is_bounded() {
    let mut arrivals = Arrivals::new();
    for seq in 0..20_000 {
        arrivals.take(at(seq * 2), Ecn::NotEct);
        if seq.is_multiple_of(16) {
            arrivals.note_dropped(at(seq * 2), DropCode::CORRUPT);
        }
    }
    let options = written(&mut arrivals, 1);
    let (_, vector) = vector(&options);
    assert_eq!(vector.len(), VECTOR);
    let end = Runs::ack_vector(at(39_998), &vector).end();
    assert_eq!(end, at(39_998 - VECTOR as u64));
    assert!(options.len() < 1008 && arrivals.window.len() == WINDOW);
    assert_eq!(arrivals.drops, WINDOW / 32);
    assert_eq!(arrivals.window.capacity(), WINDOW + 1, "grown");
}
