//! The contract of a machine, for a lender and a borrower, with peers that answer and that do not.

use crate::common;

use crate::common::{at, config, elsewhere, id, kbps, lend, member, ms, uplink, want};
use fairwave_cluster::{Input, Member, Power, To};
use fairwave_machine::{Machine, contract};
use fairwave_units::{Duration, Instant};

/// What reaches one of two members, and when, as they talk over a link of 3 ms.
fn conversation(of: usize) -> Vec<(Instant, Input)> {
    let mut ends: Vec<Member> = (0..2).map(|index| member(config(index, 1), at(0))).collect();
    let own = [
        (0, 0, lend(&[uplink(1, kbps(1_000, 1_000))])),
        (1, 700, Input::Want(Some(want(1, kbps(100, 100))))),
        (0, 30_000, Input::Power(Power { percent: 5, charging: false })),
        (0, 40_000, Input::Power(Power { percent: 5, charging: true })),
        (1, 70_000, Input::Want(Some(want(2, kbps(300, 100))))),
        (1, 90_000, Input::Leave),
    ];
    let mut due: Vec<(Instant, usize, Input)> =
        own.into_iter().map(|(end, ms, input)| (at(ms), end, input)).collect();
    let mut received = Vec::new();
    loop {
        let input = due.iter().enumerate().min_by_key(|(place, (at, ..))| (*at, *place));
        let input = input.map(|(place, (at, ..))| (*at, place));
        let wake = (0..2).filter_map(|end| Some((ends[end].deadline()?, end))).min();
        let now = match (input, wake) {
            (Some((input, place)), wake) if wake.is_none_or(|(wake, _)| input <= wake) => {
                let (_, end, fact) = due.remove(place);
                if end == of {
                    received.push((input, fact.clone()));
                }
                ends[end].handle(input, fact);
                input
            }
            (_, Some((wake, end))) if wake < at(100_000) => {
                ends[end].wake(wake);
                wake
            }
            _ => return received,
        };
        for (end, member) in ends.iter_mut().enumerate() {
            while let Some(output) = member.poll(now) {
                let from = common::address(end);
                assert!(output.to == To::All || output.to == To::One(common::address(1 - end)));
                let datagram = Input::Datagram { from, bytes: output.bytes };
                due.push((now + ms(3), 1 - end, datagram));
            }
            while member.event().is_some() {}
        }
    }
}

fn end() -> Instant {
    Instant::ZERO + Duration::from_secs(400)
}

#[test]
fn a_lender() {
    let inputs = conversation(0);
    assert!(inputs.len() > 12, "{} inputs", inputs.len());
    let mut machine = member(config(0, 1), at(0));
    let out = contract::check(&mut machine, inputs, end());
    assert!(out.len() > 80, "it announces on: {}", out.len());
    assert_eq!(machine.census(), Default::default());
}

#[test]
fn a_borrower() {
    let inputs = conversation(1);
    let mut machine = member(config(1, 1), at(0));
    let out = contract::check(&mut machine, inputs, end());
    assert!(out.len() > 12, "{} messages", out.len());
    assert_eq!((machine.census(), machine.deadline()), (Default::default(), None));
}

/// Announcements and no more: nobody answers what the borrower says.
#[test]
fn a_borrower_whose_lenders_are_deaf() {
    let announcements = conversation(1).into_iter().filter(|(_, input)| match input {
        Input::Datagram { bytes, .. } => bytes[5] == 1,
        _ => true,
    });
    let mut machine = member(config(1, 1), at(0));
    let out = contract::check(&mut machine, announcements, end());
    assert!(out.len() > 12);
    assert_eq!(machine.census(), Default::default());
}

/// Messages of the borrower, played to a lender that has a secret of its own for cookies.
#[test]
fn a_lender_that_hears_what_was_said_to_another() {
    let mut other = config(0, 2);
    other.id = id(0);
    let mut machine = member(other, at(0));
    let out = contract::check(&mut machine, conversation(0), end());
    assert!(out.iter().all(|(_, output)| output.bytes.len() <= 252));
    assert_eq!((machine.census().lent, machine.census().borrowers), (0, 0));
    assert!(machine.refused().cookie >= 1);
    machine.handle(end(), Input::Datagram { from: elsewhere(1), bytes: vec![0; 300] });
    assert_eq!(machine.refused().malformed, 1);
}
