//! Who lends is found, and forgotten.

use crate::common;

use crate::common::{
    Net, Sent, Weather, address, at, config, elsewhere, id, kbps, lend, ms, secs, uplink, want,
};
use fairwave_cluster::{Event, Input, To};
use fairwave_units::Seed;
use fairwave_wire::cluster::{ANNOUNCE_LEN, Body};

fn announcements(net: &Net) -> Vec<&Sent> {
    net.sent.iter().filter(|sent| matches!(sent.body(), Body::Announce(_))).collect()
}

fn lending() -> Net {
    let mut net = Net::calm(2);
    net.notify(0, lend(&[uplink(3, kbps(2_000, 10_000))]));
    net
}

#[test]
fn a_lender_is_found_soon() {
    let mut net = lending();
    net.run_until(at(300));
    let neighbours: Vec<_> = net.member(1).neighbours().collect();
    assert_eq!(neighbours.len(), 1);
    assert_eq!((neighbours[0].member, neighbours[0].address), (id(0), address(0)));
    assert_eq!(neighbours[0].name.as_str(), "host 0");
    let offer = neighbours[0].offers[0];
    assert_eq!((offer.uplink, offer.places), (3, 4));
    assert_eq!((offer.nominal, offer.free), (kbps(2_000, 10_000), kbps(1_000, 5_000)));
    assert!(matches!(net.events[1][0].1, Event::Found { member, .. } if member == id(0)));
    assert_eq!(net.member(0).neighbours().count(), 0, "who borrows says nothing");
}

#[test]
fn announcements_come_often_at_first_and_not_in_step() {
    let mut net = lending();
    net.run_until(at(60_000));
    let times: Vec<_> = announcements(&net).iter().map(|sent| sent.at).collect();
    assert!(times[5] < at(10_000), "six within ten seconds: {times:?}");
    let late: Vec<_> = times.windows(2).map(|pair| pair[1].since(pair[0])).skip(5).collect();
    assert!(late.iter().all(|gap| *gap >= ms(4_000) && *gap <= ms(6_000)), "{late:?}");
    assert!(late.windows(2).any(|pair| pair[0] != pair[1]), "with jitter: {late:?}");
}

#[test]
fn a_silent_lender_is_forgotten() {
    let mut net = lending();
    net.run_until(at(10_000));
    net.members[0] = None;
    net.run_until(at(24_000));
    assert_eq!(net.member(1).neighbours().count(), 1, "two announcements may be lost");
    net.run_until(at(28_000));
    assert_eq!(net.member(1).neighbours().count(), 0);
    assert_eq!(net.events[1].last().unwrap().1, Event::Lost { member: id(0) });
    assert_eq!(net.member(1).census(), Default::default());
    assert_eq!(net.next(), None, "and then nothing happens any more");
}

#[test]
fn who_lends_no_more_says_so() {
    let mut net = lending();
    net.run_until(at(1_000));
    net.notify(0, lend(&[]));
    net.run_until(at(1_010));
    assert_eq!(net.member(1).neighbours().count(), 0);
    net.run_until(at(30_000));
    let after = announcements(&net).iter().filter(|sent| sent.at > at(1_000)).count();
    assert_eq!(after, 0);
}

#[test]
fn a_query_is_answered_to_its_sender_alone_and_with_no_more_bytes() {
    let mut net = lending();
    net.run_until(at(20_000));
    net.sent.clear();
    net.notify(1, Input::Want(Some(want(1, kbps(100, 100)))));
    net.run_for(ms(300));
    let query = net.sent.iter().find(|sent| sent.body() == Body::Query).expect("one was sent");
    let answered = query.at + ms(2);
    let answer = announcements(&net).into_iter().find(|sent| sent.at == answered);
    assert_eq!(answer.expect("it was answered").to, To::One(address(1)));
    assert!(answer.unwrap().bytes.len() <= query.bytes.len());
}

#[test]
fn news_of_what_is_free_are_told_at_once() {
    let mut net = lending();
    net.run_until(at(20_000));
    let before = announcements(&net).len();
    net.notify(0, lend(&[uplink(3, kbps(4_000, 10_000))]));
    net.run_for(ms(10));
    assert_eq!(announcements(&net).len(), before + 1);
    assert_eq!(net.member(1).neighbours().next().unwrap().offers[0].nominal.up.0, 4_000_000);
}

#[test]
fn what_came_before_is_not_believed_again() {
    let mut net = lending();
    net.run_until(at(3_000));
    let first = announcements(&net)[0].bytes.clone();
    let last = announcements(&net).last().unwrap().bytes.clone();
    for bytes in [first, last] {
        net.inject(1, elsewhere(9), &bytes);
    }
    assert_eq!(net.member(1).refused().replayed, 2);
    assert_eq!(net.member(1).neighbours().next().unwrap().address, address(0));
}

#[test]
fn one_address_stands_for_few_members_and_the_table_is_bounded() {
    let mut net = Net::calm(1);
    let mut shout = |host: u8, number: usize| {
        let mut liar = common::member(config(number, 1), at(0));
        let mut bytes = Vec::new();
        fairwave_machine::Machine::handle(&mut liar, at(0), lend(&[uplink(1, kbps(1, 1))]));
        fairwave_machine::Machine::wake(&mut liar, at(1_000));
        while let Some(output) = fairwave_machine::Machine::poll(&mut liar, at(1_000)) {
            bytes = output.bytes;
        }
        assert_eq!(bytes.len(), ANNOUNCE_LEN);
        net.inject(0, elsewhere(host), &bytes);
        net.member(0).census().members
    };
    let from_one = (0..20).map(|number| shout(1, 100 + number)).max();
    assert_eq!(from_one, Some(4));
    let from_all = (2..200).map(|host| shout(host, 1_000 + usize::from(host))).max();
    assert_eq!(from_all, Some(64));
    assert_eq!(net.member(0).refused().crowded, 16 + 198 - 60);
    net.run_for(secs(20));
    assert_eq!(net.member(0).census(), Default::default());
}

#[test]
fn half_of_what_is_said_may_be_lost() {
    let weather = Weather { loss: 0.5, duplicate: 0.2, corrupt: 0.1, ..Weather::default() };
    for seed in 0..20 {
        let mut net = Net::new(5, Weather { delay: ms(2), jitter: ms(30), ..weather }, Seed(seed));
        for lender in 0..4 {
            net.notify(lender, lend(&[uplink(1, kbps(1_000, 1_000))]));
        }
        net.run_until(at(16_000));
        assert_eq!(net.member(4).neighbours().count(), 4, "seed {seed}");
    }
}
