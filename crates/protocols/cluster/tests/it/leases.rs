//! Uplinks are lent: stories of one lender and its borrowers.

use crate::common;

use crate::common::{
    Net, Sent, Weather, address, at, config, id, kbps, lend, ms, secs, uplink, want,
};
use fairwave_cluster::{End, Event, Excess, Held, Input, LeaseId, Limits, Power, Uplink, Way};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::cluster::{Body, Cost, Denial, Rates, Refusal, Revocation};

/// Member 0 lends half of 2 Mbps up and 10 Mbps down.
fn phone() -> Uplink {
    uplink(3, kbps(2_000, 10_000))
}

/// A lender, and so many others of whom the first ones borrow.
fn borrowed(phone: Uplink, borrowers: usize) -> Net {
    let mut net = Net::calm(borrowers + 1);
    net.notify(0, lend(&[phone]));
    net.run_until(at(500));
    for borrower in 1..=borrowers {
        net.notify(borrower, Input::Want(Some(want(1, kbps(9_000, 9_000)))));
    }
    net.run_for(ms(500));
    net
}

fn held(net: &Net, member: usize) -> Held {
    net.member(member).held().next().expect("it has a lease")
}

fn carry(net: &mut Net, lease: LeaseId, way: Way, bytes: u64) -> Result<(), Excess> {
    let now = net.now;
    let result = net.members[0].as_mut().unwrap().carry(now, lease, way, bytes);
    net.drain(0);
    result
}

fn last(net: &Net, member: usize) -> Event {
    net.events[member].last().expect("something was told").1
}

#[test]
fn an_uplink_is_lent_and_becomes_a_path() {
    let net = borrowed(phone(), 1);
    let held = held(&net, 1);
    let quarter = kbps(500, 2_500);
    assert_eq!((held.path, held.over.lender, held.over.uplink), (1, id(0), 3));
    assert_eq!((held.over.address, held.over.rates), (address(0), quarter));
    let join = Event::Join { path: 1, nominal: Some(BitRate(500_000)), over: held.over };
    assert_eq!(last(&net, 1), join);
    let lent = net.member(0).lent().next().unwrap();
    assert_eq!(lent.lease, LeaseId { borrower: id(1), lease: held.over.lease });
    assert!(held.ends <= lent.ends, "{held:?} {lent:?}");
    assert!(matches!(last(&net, 0), Event::Lent { rates, .. } if rates == quarter));
    // Greeting to grant: four round trips of 4 ms, not more messages than that.
    let kinds: Vec<_> = net.sent.iter().map(Sent::body).filter(|body| !body.is_public()).collect();
    assert!(matches!(
        kinds[..],
        [
            Body::Hello { .. },
            Body::Challenge { .. },
            Body::Response { .. },
            Body::Welcome,
            Body::LeaseRequest(_),
            Body::Grant(_)
        ]
    ));
}

#[test]
fn a_lease_lasts_as_long_as_it_is_renewed() {
    let mut net = borrowed(phone(), 1);
    net.run_until(at(120_000));
    assert_eq!(net.paths(1), [1]);
    let joins = net.events[1].iter().filter(|(_, event)| matches!(event, Event::Join { .. }));
    assert_eq!(joins.count(), 1, "renewals are not news");
    // 20 s wanted, renewed after 10.
    let asks = net.sent.iter().filter(|sent| matches!(sent.body(), Body::LeaseRequest(_))).count();
    assert!((11..=13).contains(&asks), "{asks} asks");
}

#[test]
fn a_silent_borrower_loses_its_lease() {
    let mut net = borrowed(phone(), 1);
    let ends = net.member(0).lent().next().unwrap().ends;
    net.members[1] = None;
    net.run_until(ends - ms(1));
    assert_eq!(net.member(0).census().lent, 1);
    net.run_until(ends);
    assert_eq!(net.member(0).census().lent, 0);
    let lease = LeaseId { borrower: id(1), lease: std::num::NonZeroU32::MIN };
    assert_eq!(last(&net, 0), Event::Returned { lease, why: End::Expired, carried: 0 });
    net.run_for(secs(70));
    assert_eq!(net.member(0).census(), Default::default(), "and its session");
}

#[test]
fn a_silent_lender_costs_a_path_in_bounded_time() {
    let mut net = borrowed(phone(), 1);
    net.run_until(at(5_000));
    net.members[0] = None;
    net.run_for(secs(20));
    assert_eq!(net.paths(1), []);
    assert!(matches!(last(&net, 1), Event::Lost { .. } | Event::Leave { why: End::Expired, .. }));
    net.run_for(secs(100));
    assert_eq!(net.member(1).census(), Default::default());
}

#[test]
fn what_is_not_wanted_is_given_back_at_once() {
    let mut net = borrowed(phone(), 1);
    net.notify(1, Input::Want(None));
    assert_eq!(last(&net, 1), Event::Leave { path: 1, why: End::Left });
    net.run_for(ms(10));
    for index in 0..2 {
        let census = net.member(index).census();
        assert_eq!((census.lenders, census.borrowers, census.lent, census.held), (0, 0, 0, 0));
    }
}

#[test]
fn a_lender_that_leaves_tells_its_borrowers() {
    let mut net = borrowed(phone(), 2);
    net.notify(0, Input::Leave);
    net.run_for(ms(10));
    for borrower in 1..3 {
        assert_eq!(net.paths(borrower), []);
        assert!(
            net.events[borrower]
                .iter()
                .any(|(_, e)| matches!(e, Event::Leave { why: End::Left, .. }))
        );
    }
    assert_eq!(net.member(0).census().borrowers, 0);
    net.run_for(secs(15));
    net.notify(1, Input::Leave);
    net.notify(2, Input::Leave);
    net.run_for(secs(30));
    for index in 0..3 {
        assert_eq!(net.member(index).census(), Default::default(), "member {index}");
    }
    assert_eq!(net.next(), None);
}

#[test]
fn a_withdrawn_uplink_may_be_used_until_its_notice_is_over() {
    let mut net = borrowed(phone(), 1);
    let lease = net.only_lease(0);
    net.notify(0, lend(&[]));
    net.run_for(ms(10));
    let why = End::Revoked(Revocation::Withdrawn);
    assert!(net.events[1].iter().any(|(_, e)| *e == Event::Leave { path: 1, why }));
    assert_eq!(carry(&mut net, lease, Way::Up, 1_000), Ok(()), "what flew still gets through");
    net.run_for(ms(1_980));
    assert_eq!(carry(&mut net, lease, Way::Up, 1_000), Ok(()));
    net.run_for(ms(20));
    assert_eq!(carry(&mut net, lease, Way::Up, 1_000), Err(Excess::NoLease));
    assert_eq!(last(&net, 0), Event::Returned { lease, why, carried: 2_000 });
}

/// What is revoked is said until it is noted: the first word is lost.
#[test]
fn a_revocation_that_is_lost_is_said_again() {
    let mut net = borrowed(phone(), 1);
    net.set_weather(Weather { loss: 1.0, ..Weather::default() });
    net.notify(0, lend(&[]));
    net.set_weather(Weather { delay: ms(2), ..Weather::default() });
    assert_eq!(net.paths(1), [1]);
    net.run_for(ms(260));
    assert_eq!(net.paths(1), [], "well within its notice of two seconds");
    net.run_for(secs(3));
    let revoked = net.sent.iter().filter(|sent| matches!(sent.body(), Body::Revoke { .. }));
    assert_eq!(revoked.count(), 2, "and no more, once it is noted");
    assert_eq!(net.member(0).census().lent, 0);
}

#[test]
fn a_low_battery_ends_the_lending_and_a_charger_begins_it_again() {
    let mut net = borrowed(phone(), 1);
    net.notify(0, Input::Power(Power { percent: 29, charging: false }));
    net.run_for(secs(3));
    assert_eq!((net.paths(1), net.member(0).census().lent), (vec![], 0));
    let policy = End::Revoked(Revocation::Policy);
    assert!(net.events[1].iter().any(|(_, e)| *e == Event::Leave { path: 1, why: policy }));
    net.notify(0, Input::Power(Power { percent: 29, charging: true }));
    net.run_for(secs(15));
    assert_eq!(net.paths(1), [1], "asked again after a rest");
}

#[test]
fn metered_uplinks_are_neither_offered_nor_taken_unasked() {
    let metered = Uplink { cost: Cost::Metered, ..phone() };
    let mut net = borrowed(metered, 1);
    assert_eq!(net.member(1).neighbours().count(), 0);
    // Another lender does not mind; the borrower does.
    let mut careless = config(0, 2);
    careless.lend_metered = true;
    net.members[0] = Some(common::member(careless, net.now));
    net.notify(0, lend(&[metered]));
    net.run_for(secs(5));
    assert_eq!((net.member(1).neighbours().count(), net.paths(1)), (1, vec![]));
    let metered_too = fairwave_cluster::Want { metered: true, ..want(1, kbps(100, 100)) };
    net.notify(1, Input::Want(Some(metered_too)));
    net.run_for(ms(100));
    assert_eq!(net.paths(1), [1]);
    net.notify(1, Input::Want(Some(want(1, kbps(100, 100)))));
    assert_eq!(net.paths(1), []);
}

#[test]
fn borrowers_share_max_min_fairly() {
    let limits = Limits { borrower_rates: kbps(1_000, 5_000), ..phone().limits };
    let mut net = borrowed(Uplink { limits, ..phone() }, 3);
    let rates = |net: &Net| net.member(0).lent().map(|lent| lent.rates).collect::<Vec<_>>();
    let third = Rates { up: BitRate(333_333), down: BitRate(1_666_666) };
    assert_eq!(rates(&net)[0], third);
    // One wants little: the others get what it leaves, and are told.
    net.notify(1, Input::Want(Some(want(1, kbps(100, 100)))));
    net.run_for(ms(100));
    assert_eq!(rates(&net), [kbps(100, 100), kbps(450, 2_450), kbps(450, 2_450)]);
    assert_eq!(held(&net, 2).over.rates, kbps(450, 2_450));
    assert!(matches!(last(&net, 2), Event::Join { nominal: Some(BitRate(450_000)), .. }));
    net.notify(2, Input::Want(None));
    net.run_for(ms(100));
    assert_eq!(held(&net, 3).over.rates, kbps(900, 4_900));
}

#[test]
fn no_more_borrowers_than_places_and_shares_do() {
    let limits = Limits { borrowers: 2, ..phone().limits };
    let net = borrowed(Uplink { limits, ..phone() }, 3);
    assert_eq!(net.member(0).census().lent, 2);
    let full = Event::Denied { lender: id(0), uplink: 3, reason: Denial::Full };
    let denied = |net: &Net| net.events.iter().flatten().filter(|(_, e)| *e == full).count();
    // Whoever hears of the last place being taken does not ask.
    assert!(denied(&net) <= 1);
    let limits = Limits { min_share: BitRate(500_000), ..phone().limits };
    let net = borrowed(Uplink { limits, ..phone() }, 3);
    assert_eq!(net.member(0).census().lent, 2, "a third would get 333 kbps");
    assert!(denied(&net) >= 1);
}

/// Sends packets of 1000 bytes as fast as the lease lets them; bytes carried.
fn pump(net: &mut Net, lease: LeaseId, way: Way, time: Duration) -> u64 {
    let end = net.now + time;
    let mut carried = 0;
    while net.now < end {
        while carry(net, lease, way, 1_000).is_ok() {
            carried += 1_000;
        }
        net.run_for(ms(5));
    }
    carried
}

#[test]
fn a_lease_carries_its_rate_each_way() {
    let mut net = borrowed(phone(), 1);
    let lease = net.only_lease(0);
    // 500 kbps for ten seconds, and a bucket of 100 ms; 2.5 Mbps down.
    let up = pump(&mut net, lease, Way::Up, secs(10));
    assert!((620_000..=632_000).contains(&up), "{up} bytes");
    let down = pump(&mut net, lease, Way::Down, secs(4));
    assert!((1_245_000..=1_282_000).contains(&down), "{down} bytes");
    assert_eq!(net.member(0).lent().next().unwrap().carried, up + down);
    assert_eq!(net.member(0).carried_today(3), up + down);
}

#[test]
fn the_lenders_own_traffic_comes_first() {
    let limits =
        Limits { rates: kbps(2_000, 2_000), borrower_rates: kbps(2_000, 2_000), ..phone().limits };
    let mut net = borrowed(Uplink { limits, ..phone() }, 1);
    let lease = net.only_lease(0);
    // The lender sends 1.5 of its 2 Mbps: nobody asks whether it may.
    let end = net.now + secs(10);
    let mut carried = 0;
    while net.now < end {
        let now = net.now;
        net.members[0].as_mut().unwrap().own(now, 3, Way::Up, 1_875);
        while carry(&mut net, lease, Way::Up, 625).is_ok() {
            carried += 625;
        }
        net.run_for(ms(10));
    }
    // 500 kbps for ten seconds, and what the buckets held.
    assert!((560_000..=660_000).contains(&carried), "{carried} bytes");
    let reported = held(&net, 1).over.rates.up.0;
    assert!((450_000..=550_000).contains(&reported), "told {reported} bit/s");
}

#[test]
fn quotas_end_leases() {
    let limits = Limits { lease_bytes: 10_000, ..phone().limits };
    let mut net = borrowed(Uplink { limits, ..phone() }, 1);
    let lease = net.only_lease(0);
    for _ in 0..10 {
        assert_eq!(carry(&mut net, lease, Way::Down, 1_000), Ok(()));
    }
    assert_eq!(carry(&mut net, lease, Way::Down, 1), Err(Excess::Quota));
    let why = End::Revoked(Revocation::Quota);
    assert_eq!(last(&net, 0), Event::Returned { lease, why, carried: 10_000 });
    assert_eq!(carry(&mut net, lease, Way::Down, 1), Err(Excess::NoLease));
    net.run_for(ms(10));
    assert!(net.events[1].iter().any(|(_, e)| *e == Event::Leave { path: 1, why }));
    // A lease's quota is the lease's: another one may follow.
    net.run_for(secs(16));
    assert_eq!(net.paths(1), [1]);
}

#[test]
fn a_day_has_its_quotas_and_an_end() {
    let limits = Limits { borrower_day_bytes: 10_000, day_bytes: 15_000, ..phone().limits };
    let mut lender = config(0, 1);
    lender.midnight = at(60_000);
    let mut net = Net::calm(3);
    net.members[0] = Some(common::member(lender, at(0)));
    net.notify(0, lend(&[Uplink { limits, ..phone() }]));
    net.run_until(at(500));
    for borrower in 1..3 {
        net.notify(borrower, Input::Want(Some(want(1, kbps(9_000, 9_000)))));
    }
    net.run_for(ms(500));
    let leases: Vec<_> = net.member(0).lent().map(|lent| lent.lease).collect();
    assert_eq!(carry(&mut net, leases[0], Way::Down, 10_000), Ok(()));
    assert_eq!(carry(&mut net, leases[0], Way::Down, 1), Err(Excess::Quota));
    assert_eq!(carry(&mut net, leases[1], Way::Down, 5_001), Err(Excess::Quota));
    net.run_until(at(59_000));
    assert_eq!(net.member(0).census().lent, 1, "the second one has 5000 bytes left");
    let quota = Event::Denied { lender: id(0), uplink: 3, reason: Denial::Quota };
    assert_eq!(net.events[1].iter().filter(|(_, e)| *e == quota).count(), 1, "not asked in vain");
    net.run_until(at(80_000));
    assert_eq!(net.member(0).census().lent, 2, "another day");
}

#[test]
fn a_lender_that_starts_again_frees_its_borrowers_at_its_first_word() {
    let mut net = borrowed(phone(), 1);
    net.run_until(at(5_000));
    net.restart(0, 2);
    net.notify(0, lend(&[phone()]));
    net.run_for(ms(600));
    let left = Event::Leave { path: 1, why: End::Left };
    assert!(net.events[1].iter().any(|(_, event)| *event == left));
    assert_eq!(net.paths(1), [1], "and borrows anew");
    assert_eq!(net.member(0).census().lent, 1);
}

#[test]
fn a_borrower_that_starts_again_has_its_old_lease_freed() {
    let mut net = borrowed(phone(), 1);
    let old = net.only_lease(0);
    net.run_until(at(5_000));
    net.restart(1, 2);
    net.notify(1, Input::Want(Some(want(1, kbps(9_000, 9_000)))));
    net.run_for(secs(7));
    let returned = Event::Returned { lease: old, why: End::Left, carried: 0 };
    assert!(net.events[0].iter().any(|(_, event)| *event == returned));
    assert_eq!((net.member(0).census().lent, net.member(0).census().borrowers), (1, 1));
}

#[test]
fn the_widest_uplinks_are_taken_and_others_when_they_go() {
    let mut net = Net::calm(4);
    for (lender, down) in [(0, 4_000), (1, 8_000), (2, 6_000)] {
        net.notify(lender, lend(&[uplink(1, kbps(1_000, down))]));
    }
    net.run_until(at(500));
    net.notify(3, Input::Want(Some(want(2, kbps(9_000, 9_000)))));
    net.run_for(ms(500));
    let lenders = |net: &Net| net.member(3).held().map(|held| held.over.lender).collect::<Vec<_>>();
    assert_eq!(lenders(&net), [id(1), id(2)]);
    net.notify(1, Input::Leave);
    net.run_for(ms(500));
    assert_eq!(lenders(&net), [id(0), id(2)]);
    assert_eq!(net.paths(3).len(), 2);
    net.notify(3, Input::Want(Some(want(1, kbps(9_000, 9_000)))));
    net.run_for(ms(100));
    assert_eq!((lenders(&net).len(), net.paths(3).len()), (1, 1));
}

/// Whoever has another secret hears nobody and is heard by nobody.
#[test]
fn another_cluster_on_the_same_link() {
    let mut net = Net::calm(2);
    let other = fairwave_wire::seal::Key::new(b"the secret of another one").unwrap();
    let unknown = fairwave_cluster::Member::new(config(1, 1), other.clone(), other, at(0));
    net.members[1] = Some(unknown.unwrap());
    net.notify(0, lend(&[phone()]));
    net.notify(1, Input::Want(Some(want(1, kbps(100, 100)))));
    net.run_until(at(10_000));
    assert!(net.member(1).refused().foreign > 4 && net.member(0).refused().foreign >= 4);
    assert_eq!((net.member(1).census(), net.member(0).census()), Default::default());
}

#[test]
fn who_lends_nothing_any_more_refuses_with_a_reason() {
    let mut net = Net::calm(2);
    net.notify(0, lend(&[phone()]));
    net.run_until(at(500));
    // The goodbye is lost.
    net.set_weather(Weather { loss: 1.0, ..Weather::default() });
    net.notify(0, lend(&[]));
    net.set_weather(Weather { delay: ms(2), ..Weather::default() });
    net.notify(1, Input::Want(Some(want(1, kbps(100, 100)))));
    net.run_for(ms(100));
    let refused = Event::Refused { lender: id(0), reason: Refusal::NotLending };
    assert!(net.events[1].iter().any(|(_, event)| *event == refused));
}

/// A lease outlives any single message that is lost, and most that are.
#[test]
fn leases_in_bad_weather() {
    let weather =
        Weather { loss: 0.3, duplicate: 0.1, corrupt: 0.05, delay: ms(5), jitter: ms(40) };
    for seed in 0..20 {
        let mut net = Net::new(3, weather, Seed(seed));
        net.notify(0, lend(&[phone()]));
        for borrower in 1..3 {
            net.notify(borrower, Input::Want(Some(want(1, kbps(500, 500)))));
        }
        net.run_until(at(40_000));
        let before: usize = (1..3).map(|borrower| net.paths(borrower).len()).sum();
        assert_eq!(before, 2, "seed {seed}: {:?}", net.events);
        net.run_until(Instant::ZERO + secs(240));
        let leaves = net.events.iter().flatten();
        let leaves = leaves.filter(|(_, event)| matches!(event, Event::Leave { .. })).count();
        assert!(leaves <= 2, "seed {seed}: {leaves} leases were lost");
    }
}
