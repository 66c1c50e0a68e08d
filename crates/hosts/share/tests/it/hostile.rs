//! Neighbours without the key, neighbours that record and repeat, and borrowers that want more.

use crate::stage::{Stage, borrower, relay, secret, server};
use fairwave_cluster::Limits;
use fairwave_machine::Machine;
use fairwave_share_host::Loan;
use fairwave_share_host::machine::{LoanEvent, LoanInput, LoanOutput, RelayInput};
use fairwave_units::{Seed, Stream};
use fairwave_wire::cluster::Denial;
use fairwave_wire::shake::record::{Datagram, Record};
use proptest::prelude::*;
use std::num::NonZeroU64;

/// A borrower asks for a lease for this address; its datagram follows in any case.
fn asked(target: &str) -> Stage {
    let loan = Loan::new(secret(), target.parse().unwrap(), Seed(5));
    let mut stage = Stage::new(relay(Limits::default()), vec![loan]);
    stage.loan(0, LoanInput::Found);
    stage.loan(0, LoanInput::Local(b"scan".to_vec()));
    stage
}

#[test]
fn a_borrower_does_not_reach_the_lenders_network() {
    for target in [
        "192.168.1.1:80",
        "127.0.0.1:22",
        "10.0.0.1:53",
        "169.254.169.254:80",
        "224.0.0.251:5353",
        "255.255.255.255:67",
        "[::1]:22",
        "[fe80::1]:80",
        "[fd00::1]:80",
        "[ff02::fb]:5353",
        "[::ffff:192.168.1.1]:80",
        "9.9.9.9:0",
    ] {
        let stage = asked(target);
        assert_eq!(stage.events, [(0, LoanEvent::Denied(Denial::Target))], "{target}");
        assert_eq!((stage.sent.len(), stage.opened.len()), (0, 0), "{target}");
    }
    assert_eq!(asked("9.9.9.9:53").sent.len(), 1);
}

#[test]
fn only_the_server_of_a_lease_answers() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    let session = stage.opened[0].0;
    for other in ["9.9.9.9:53", "9.9.9.8:17995", "192.168.1.1:17995"] {
        stage.fact(RelayInput::Uplink(session, other.parse().unwrap(), b"forged".to_vec()));
    }
    stage.fact(RelayInput::Uplink(session ^ 1, server(), b"forged".to_vec()));
    assert_eq!((stage.received.len(), stage.relay.refused().unknown), (0, 4));
}

#[test]
fn repeated_datagrams_are_carried_once() {
    let mut stage =
        Stage::new(relay(Limits::default()), vec![Loan::new(secret(), server(), Seed(6))]);
    stage.repeats = true;
    stage.loan(0, LoanInput::Found);
    for number in 0..50 {
        assert!(stage.carries(0, &[number]));
    }
    assert_eq!((stage.sent.len(), stage.received.len()), (50, 50));
    // A neighbour that has recorded everything plays it again, as the borrower and as itself.
    let recorded = stage.seen.clone();
    for from in [Stage::address(0), borrower(99)] {
        recorded.iter().for_each(|(_, bytes)| stage.local(from, bytes));
    }
    assert_eq!((stage.sent.len(), stage.opened.len()), (50, 1));
    assert!(stage.carries(0, b"on"));
    // Played to a lender that was started anew: a handshake without an end.
    let mut later = Stage::new(relay(Limits::default()), Vec::new());
    recorded.iter().for_each(|(_, bytes)| later.local(borrower(99), bytes));
    assert_eq!((later.sent.len(), later.opened.len(), later.relay.sessions()), (0, 0, 1));
    later.pass(10_000);
    assert_eq!(later.relay.sessions(), 0);
}

#[test]
fn floods_take_bounded_memory_and_harm_no_lease() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    let mut draws: Stream = Seed(8).stream("flood");
    // Handshakes of the key's owner whose answers it never takes, from forged addresses.
    for number in 0..1_000u32 {
        let mut loan = Loan::new(secret(), server(), Seed(1_000 + u64::from(number)));
        Machine::handle(&mut loan, stage.now, LoanInput::Found);
        let Some(LoanOutput::Lender(first)) = Machine::poll(&mut loan, stage.now) else {
            panic!("a handshake")
        };
        stage.local(borrower(number as u8), &first);
        assert!(stage.relay.sessions() <= 65, "{}", stage.relay.sessions());
    }
    // Records of sessions that there are, and of others, sealed with nothing.
    let session = stage.opened[0].0;
    for number in 0..1_000u64 {
        let to = if number % 2 == 0 { session } else { draws.next_u64() as u32 };
        let mut bytes = Vec::new();
        let number = NonZeroU64::new(1 + draws.below(1 << 40)).unwrap();
        Datagram::Record(Record { to, path: 0, number, sealed: &[5; 40] }).write(&mut bytes);
        stage.local(Stage::address(0), &bytes);
    }
    assert!(stage.relay.refused().forged >= 500);
    assert!(stage.carries(0, b"still"));
    assert_eq!(stage.events.len(), 1);
    stage.pass(11_000);
    assert_eq!(stage.relay.sessions(), 1);
    assert!(stage.carries(0, b"and later"));
}

#[test]
fn an_address_gets_no_more_than_its_leases_and_others_still_get_theirs() {
    let mut stage = Stage::borrowed(Limits { max_per_address: 1, ..Limits::default() }, 2);
    let mut greedy = Loan::new(secret(), server(), Seed(77));
    Machine::handle(&mut greedy, stage.now, LoanInput::Found);
    // The second session of the first borrower's address, in its place.
    std::mem::swap(&mut stage.loans[0], &mut greedy);
    stage.loan(0, LoanInput::Found);
    assert_eq!(stage.events.last(), Some(&(0, LoanEvent::Denied(Denial::Full))));
    assert_eq!(stage.opened.len(), 2);
    assert!(stage.carries(1, b"other"));
}

/// A host with the key has a session of its own, and asks under another borrower's address, at
/// which it receives nothing.
#[test]
fn a_forged_address_ends_no_lease() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    stage.pass(100);
    let mut forger = Loan::new(secret(), server(), Seed(78));
    forger.handle(stage.now, LoanInput::Found);
    for from in [borrower(99), Stage::address(0)] {
        let mut answers = Vec::new();
        while let Some(LoanOutput::Lender(bytes)) = forger.poll(stage.now) {
            answers.extend(stage.answers(from, bytes));
        }
        for bytes in answers {
            forger.handle(stage.now, LoanInput::Lender(bytes));
        }
    }
    assert!(matches!(forger.event(), Some(LoanEvent::Granted(_))));
    assert_eq!(stage.relay.ledger().lent().count(), 2);
    assert!(stage.carries(0, b"still"));
}

/// The handshake's answer goes to the borrower's address and to the forger's: it proves neither.
#[test]
fn an_answer_at_two_addresses_ends_no_lease() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    stage.pass(100);
    let mut forger = Loan::new(secret(), server(), Seed(78));
    forger.handle(stage.now, LoanInput::Found);
    let Some(LoanOutput::Lender(first)) = forger.poll(stage.now) else { panic!("no initiation") };
    stage.answers(Stage::address(0), first.clone());
    for bytes in stage.answers(borrower(99), first) {
        forger.handle(stage.now, LoanInput::Lender(bytes));
    }
    while let Some(LoanOutput::Lender(bytes)) = forger.poll(stage.now) {
        stage.answers(Stage::address(0), bytes);
    }
    assert_eq!(stage.relay.ledger().lent().count(), 2);
    assert!(stage.carries(0, b"still"));
}

proptest! {
    /// Datagrams changed, cut, repeated and sent from elsewhere, between honest ones: nothing but
    /// what the borrower sent leaves the uplink, each once, for its server.
    #[test]
    fn whatever_a_neighbour_does_to_datagrams(
        acts in prop::collection::vec((0..6u8, any::<prop::sample::Index>(), any::<u16>()), 1..60),
    ) {
        let mut stage = Stage::borrowed(Limits::default(), 1);
        let mut honest = 0u32;
        for (act, which, value) in acts {
            let (from, mut bytes) = stage.seen[which.index(stage.seen.len())].clone();
            match act {
                0 | 1 => {
                    honest += 1;
                    prop_assert!(stage.carries(0, &honest.to_be_bytes()));
                }
                2 => {
                    let at = usize::from(value) % bytes.len();
                    bytes[at] ^= 1 << (value % 8);
                    stage.local(from, &bytes);
                }
                3 => stage.local(from, &bytes[..usize::from(value) % bytes.len()]),
                4 => stage.local(borrower(value as u8), &bytes),
                _ => stage.loan(0, LoanInput::Lender(bytes)),
            }
        }
        prop_assert_eq!(stage.sent.len(), honest as usize);
        prop_assert!(stage.sent.iter().all(|(_, to, _)| *to == server()));
        prop_assert!(stage.relay.sessions() <= 66);
        prop_assert!(stage.carries(0, b"last"));
    }
}
