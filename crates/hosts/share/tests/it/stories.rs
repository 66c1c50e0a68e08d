//! Stories of leases.

use crate::stage::{Stage, at, psk, relay, secret, server};
use fairwave_cluster::{Limits, Reach};
use fairwave_machine::{Machine, contract};
use fairwave_share_host::Loan;
use fairwave_share_host::machine::{LoanEvent, LoanInput, RelayEvent, RelayInput};
use fairwave_units::{BitRate, Seed};
use fairwave_wire::cluster::{Denial, Terms};

#[test]
fn a_borrower_gets_a_lease_with_its_bandwidth_and_datagrams_pass_both_ways() {
    let limits = Limits { rate: Some(BitRate::mbps(10)), ..Limits::default() };
    let mut stage = Stage::borrowed(limits, 1);
    let terms = Terms { rate: Some(BitRate::mbps(10)), bytes_left: None };
    assert_eq!(stage.events, [(0, LoanEvent::Granted(terms))]);
    assert_eq!(stage.opened.len(), 1);
    assert_eq!(stage.opened[0].1, server());
    stage.pass(100);
    assert!(stage.carries(0, b"one") && stage.carries(0, b"another"));
    // Renewals go on, and nothing else is observed.
    stage.pass(60_000);
    assert_eq!((stage.events.len(), stage.observed.len(), stage.shut.len()), (1, 1, 0));
    stage.loan(0, LoanInput::Close);
    assert_eq!(stage.shut, [stage.opened[0].0]);
    assert_eq!(stage.relay.sessions(), 0);
}

#[test]
fn two_borrowers_share_the_rate_and_learn_of_it() {
    let limits = Limits { rate: Some(BitRate::mbps(10)), ..Limits::default() };
    let mut stage = Stage::borrowed(limits, 2);
    stage.pass(2_000);
    let half = Terms { rate: Some(BitRate::mbps(5)), bytes_left: None };
    assert!(stage.events.contains(&(0, LoanEvent::Granted(half))), "{:?}", stage.events);
    stage.loan(1, LoanInput::Close);
    stage.pass(2_000);
    let whole = Terms { rate: Some(BitRate::mbps(10)), bytes_left: None };
    assert_eq!(stage.events.last(), Some(&(0, LoanEvent::Granted(whole))));
}

#[test]
fn reasons_reach_the_borrower() {
    let limits = Limits { day_bytes: Some(1_000), ..Limits::default() };
    let mut stage = Stage::borrowed(limits, 1);
    assert!(stage.carries(0, &[7; 400]));
    assert!(!stage.carries(0, &[7; 400]));
    assert_eq!(stage.events.last(), Some(&(0, LoanEvent::Denied(Denial::Quota))));
    stage.fact(RelayInput::Day(1, true));
    stage.pass(6_000);
    assert!(matches!(stage.events.last(), Some((0, LoanEvent::Granted(_)))));
    stage.fact(RelayInput::Day(1, false));
    assert_eq!(stage.events.last(), Some(&(0, LoanEvent::Denied(Denial::Closed))));
    stage.fact(RelayInput::Day(1, true));
    stage.pass(6_000);
    let session = stage.opened.last().unwrap().0;
    stage.fact(RelayInput::NoUplink(session));
    assert_eq!(stage.events.last(), Some(&(0, LoanEvent::Denied(Denial::Uplink))));
}

#[test]
fn a_lease_ends_with_the_first_report_of_networks_that_forbids_its_server() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    let own = |net: &str| {
        RelayInput::Reach(Reach { own: vec![net.parse().unwrap()], ..Reach::default() })
    };
    stage.fact(own("9.9.8.0/24"));
    assert!(stage.carries(0, b"elsewhere"));
    stage.fact(own("9.9.9.0/24"));
    assert_eq!(stage.events.last(), Some(&(0, LoanEvent::Denied(Denial::Target))));
    assert_eq!(stage.shut, [stage.opened[0].0]);
    assert!(!stage.carries(0, b"inside"));
    // Later requests do not get it back.
    stage.pass(20_000);
    assert_eq!((stage.opened.len(), stage.events.len()), (1, 2));
}

#[test]
fn nothing_is_granted_before_there_is_an_uplink() {
    let loan = Loan::new(secret(), server(), Seed(5));
    let mut stage = Stage::new(relay(Limits::default()), vec![loan]);
    stage.has_uplink = false;
    stage.loan(0, LoanInput::Found);
    stage.pass(20_000);
    assert_eq!(stage.events, [(0, LoanEvent::Denied(Denial::Uplink))]);
    assert_eq!(stage.observed.len(), 1, "{:?}", stage.observed);
    stage.has_uplink = true;
    stage.pass(6_000);
    assert!(matches!(stage.observed.last(), Some(RelayEvent::Lent(_))), "{:?}", stage.observed);
    assert!(stage.carries(0, b"now"));
}

#[test]
fn a_lease_gets_another_socket_when_the_interface_is_replugged() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    stage.fact(RelayInput::Replugged);
    assert_eq!(stage.opened, [stage.opened[0]; 2]);
    assert_eq!((stage.events.len(), stage.observed.len(), stage.shut.len()), (1, 1, 0));
    assert!(stage.carries(0, b"again"));
    stage.has_uplink = false;
    stage.fact(RelayInput::Replugged);
    assert_eq!(stage.events.last(), Some(&(0, LoanEvent::Denied(Denial::Uplink))));
}

#[test]
fn a_lender_that_comes_back_lends_again() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    // It was killed: the new one knows nothing of the session.
    stage.relay = relay(Limits::default());
    assert!(!stage.carries(0, b"lost"));
    stage.pass(10_000);
    let kinds: Vec<bool> =
        stage.events.iter().map(|(_, event)| matches!(event, LoanEvent::Granted(_))).collect();
    assert_eq!(kinds, [true, false, true], "{:?}", stage.events);
    assert_eq!(stage.events[1].1, LoanEvent::Lost);
    assert!(stage.carries(0, b"again"));
}

/// The link between the two is silent for a while, three times. The borrower's farewell to its old
/// session arrives, or is lost.
#[test]
fn a_borrower_that_was_cut_off_has_one_lease() {
    let limits = Limits { rate: Some(BitRate::mbps(10)), ..Limits::default() };
    let whole = Terms { rate: Some(BitRate::mbps(10)), bytes_left: None };
    for is_cut in [[true, true], [false, true]] {
        let mut stage = Stage::borrowed(limits, 1);
        for _ in 0..3 {
            stage.is_cut = is_cut;
            let before = stage.events.len();
            while stage.events.len() == before {
                stage.pass(100);
            }
            assert_eq!(stage.events[before..], [(0, LoanEvent::Lost)]);
            let left = usize::from(is_cut[0]);
            assert_eq!(stage.relay.ledger().lent().count(), left, "{is_cut:?}");
            stage.is_cut = [false; 2];
            stage.pass(2_000);
            assert_eq!(stage.relay.ledger().lent().count(), 1, "{is_cut:?}");
            assert_eq!(stage.events[before + 1..], [(0, LoanEvent::Granted(whole))]);
            assert!(stage.carries(0, b"again"));
        }
    }
}

#[test]
fn a_borrower_that_vanishes_leaves_nothing() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    stage.loans.clear();
    stage.pass(20_000);
    assert_eq!((stage.relay.sessions(), stage.shut.len()), (0, 1));
    assert!(matches!(stage.observed.last(), Some(RelayEvent::Ended(_))));
    assert_eq!(stage.relay.deadline(), None);
}

#[test]
fn a_lender_that_goes_tells_its_borrowers() {
    let mut stage = Stage::borrowed(Limits::default(), 1);
    stage.fact(RelayInput::Close);
    // This one stays: the borrower's next handshake comes at once.
    assert_eq!(stage.events[1], (0, LoanEvent::Lost));
    assert!(matches!(stage.events[2..], [(0, LoanEvent::Granted(_))]));
}

#[test]
fn nobody_answers_a_borrower_with_another_key() {
    let loan = Loan::new(psk(b"a secret of other hosts"), server(), Seed(9));
    let mut stage = Stage::new(relay(Limits::default()), vec![loan]);
    stage.loan(0, LoanInput::Found);
    stage.pass(20_000);
    assert_eq!(stage.events, [(0, LoanEvent::Unanswered)]);
    assert_eq!((stage.relay.sessions(), stage.relay.refused().strangers), (0, 5));
    assert_eq!(stage.loans[0].deadline(), None);
}

#[test]
fn both_machines_meet_the_contract() {
    let mut loan = Loan::new(secret(), server(), Seed(3));
    let facts = [
        (at(0), LoanInput::Found),
        (at(10), LoanInput::Local(vec![1; 100])),
        (at(20), LoanInput::Lender(vec![3; 60])),
        (at(30_000), LoanInput::Found),
        (at(31_000), LoanInput::Close),
    ];
    let out = contract::check(&mut loan, facts.to_vec(), at(60_000));
    assert_eq!(out.len(), 5 + 3, "attempts before and after");

    let mut first = Loan::new(secret(), server(), Seed(4));
    first.handle(at(0), LoanInput::Found);
    let Some(fairwave_share_host::machine::LoanOutput::Lender(bytes)) = first.poll(at(0)) else {
        panic!("a handshake")
    };
    let local = |bytes: &[u8]| {
        let (from, to, bytes) = (Stage::address(0), None, bytes.to_vec());
        let ecn = fairwave_wire::ipv4::Ecn::NotEct;
        RelayInput::Local(fairwave_machine::datagram::Incoming { from, to, ecn, bytes })
    };
    let facts = [
        (at(0), local(&bytes)),
        (at(1), local(&bytes)),
        (at(2), local(&[9; 40])),
        (at(3), RelayInput::Day(1, false)),
        (at(4), RelayInput::Uplink(7, server(), vec![1])),
        (at(5), RelayInput::NoUplink(7)),
    ];
    let mut relay = relay(Limits::default());
    let out = contract::check(&mut relay, facts.to_vec(), at(60_000));
    assert_eq!(out.len(), 2, "the same answer twice");
    assert_eq!(relay.sessions(), 0);
}
