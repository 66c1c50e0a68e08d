//! Limits of a lender: servers, rates, bytes of a day, times and numbers of leases.

use super::*;
use proptest::prelude::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn server() -> SocketAddr {
    "9.9.9.9:17995".parse().unwrap()
}

fn borrower(number: u8) -> IpAddr {
    IpAddr::from([192, 168, 1, number])
}

fn ledger(rate: Option<u64>, day_bytes: Option<u64>) -> Ledger {
    let limits = Limits { rate: rate.map(BitRate), day_bytes, ..Limits::default() };
    Ledger::new(limits, Reach::default(), at(0))
}

#[test]
fn a_lease_is_for_one_server_that_the_lender_reaches() {
    let mut ledger = ledger(None, None);
    let lan = "192.168.1.7:80".parse().unwrap();
    assert_eq!(ledger.ask(at(0), borrower(1), lan), Err(Denial::Target));
    let no_port = "9.9.9.9:0".parse().unwrap();
    assert_eq!(ledger.ask(at(0), borrower(1), no_port), Err(Denial::Target));
    let lease = ledger.ask(at(0), borrower(1), server()).unwrap();
    assert_eq!(ledger.renew(at(0), lease), Ok(Terms::default()));
    assert_eq!(ledger.carry(at(0), lease, Way::Up, 1_500), Ok(at(0)));
    let lent = ledger.end(at(0), lease).unwrap();
    assert_eq!((lent.target, lent.up, lent.down), (server(), 1_500, 0));
    assert_eq!(ledger.carry(at(0), lease, Way::Up, 1), Err(Excess::Over(Denial::Full)));
    assert!(ledger.renew(at(0), lease).is_err() && ledger.end(at(0), lease).is_none());
}

#[test]
fn the_rate_is_shared_equally_and_each_way_has_it() {
    let mut ledger = ledger(Some(8_000_000), None);
    let one = ledger.ask(at(0), borrower(1), server()).unwrap();
    assert_eq!(ledger.renew(at(0), one).unwrap().rate, Some(BitRate(8_000_000)));
    let other = ledger.ask(at(0), borrower(2), server()).unwrap();
    assert_eq!(ledger.renew(at(0), one).unwrap().rate, Some(BitRate(4_000_000)));
    // Each bucket of 4 Mbit/s holds 10,000 bytes, and 50,000 more wait for 100 ms.
    // The bucket of all, with 20,000 bytes, owes 40,000 when the other lease begins upwards.
    for (lease, way, departures) in
        [(one, Way::Up, [60, 62]), (other, Way::Down, [60, 62]), (other, Way::Up, [110, 111])]
    {
        let mut carry = |bytes| ledger.carry(at(60), lease, way, bytes);
        assert_eq!([carry(10_000), carry(1_000)], departures.map(|ms| Ok(at(ms))));
        assert_eq!(carry(49_000), Ok(at(160)));
        assert_eq!(carry(500), Err(Excess::Rate));
    }
    ledger.end(at(60), other);
    assert_eq!(ledger.renew(at(60), one).unwrap().rate, Some(BitRate(8_000_000)));
    let dropped: Vec<u64> = ledger.lent().map(|lent| lent.dropped).collect();
    assert_eq!(dropped, [1]);
}

#[test]
fn packets_from_the_server_count_for_the_day_even_if_they_are_dropped() {
    let mut ledger = ledger(Some(8_000_000), Some(250_000));
    let lease = ledger.ask(at(0), borrower(1), server()).unwrap();
    // 8 Mbit/s bring 100,000 bytes in 100 ms.
    for way in [Way::Up, Way::Down] {
        while ledger.carry(at(0), lease, way, 1_000).is_ok() {}
    }
    let lent = ledger.lent().next().unwrap();
    assert_eq!(lent.dropped, 2);
    // The uplink has carried the one that came, and has not carried the one that would leave.
    assert_eq!(ledger.today(), lent.up + lent.down + 1_000);
    while ledger.carry(at(0), lease, Way::Down, 1_000) == Err(Excess::Rate) {}
    assert_eq!(ledger.today(), 250_000, "a flood ends the lease");
}

#[test]
fn the_bytes_of_a_day_end_leases_until_midnight() {
    let mut ledger = ledger(None, Some(10_000));
    let lease = ledger.ask(at(0), borrower(1), server()).unwrap();
    assert_eq!(ledger.carry(at(0), lease, Way::Up, 6_000), Ok(at(0)));
    assert_eq!(ledger.renew(at(0), lease).unwrap().bytes_left, Some(4_000));
    let over = Err(Excess::Over(Denial::Quota));
    assert_eq!(ledger.carry(at(0), lease, Way::Down, 4_001), over);
    assert_eq!(ledger.carry(at(0), lease, Way::Down, 1), over);
    assert_eq!(ledger.renew(at(1), lease), Err(Denial::Quota));
    assert_eq!(ledger.ask(at(1), borrower(2), server()), Err(Denial::Quota));
    assert_eq!(ledger.set_day(1, true), []);
    assert_eq!(ledger.carry(at(2), lease, Way::Up, 10_000), Ok(at(2)));
}

#[test]
fn a_date_that_goes_back_gives_no_bytes() {
    let mut ledger = ledger(None, Some(10_000));
    ledger.set_day(20_000, true);
    let lease = ledger.ask(at(0), borrower(1), server()).unwrap();
    assert_eq!(ledger.carry(at(0), lease, Way::Up, 6_000), Ok(at(0)));
    ledger.set_day(19_999, true);
    assert_eq!(ledger.today(), 6_000);
    assert_eq!(ledger.carry(at(1), lease, Way::Up, 4_001), Err(Excess::Over(Denial::Quota)));
    // The next midnight of the clock as it is now.
    ledger.set_day(20_000, true);
    assert_eq!(ledger.today(), 0);
}

#[test]
fn outside_its_hours_it_lends_nothing() {
    let mut ledger = ledger(None, None);
    let lease = ledger.ask(at(0), borrower(1), server()).unwrap();
    assert_eq!(ledger.set_day(0, false), [lease]);
    assert_eq!(ledger.carry(at(0), lease, Way::Up, 1), Err(Excess::Over(Denial::Closed)));
    assert_eq!(ledger.ask(at(0), borrower(1), server()), Err(Denial::Closed));
    ledger.set_day(0, true);
    assert_eq!(ledger.carry(at(0), lease, Way::Up, 1), Ok(at(0)));
}

#[test]
fn a_lease_ends_when_its_server_is_in_a_network_of_the_lender() {
    let mut ledger = ledger(None, None);
    let lease = ledger.ask(at(0), borrower(1), server()).unwrap();
    let own = |net: &str| Reach { own: vec![net.parse().unwrap()], ..Reach::default() };
    assert_eq!(ledger.set_reach(own("9.9.8.0/24")), [], "another network");
    assert_eq!(ledger.renew(at(1), lease), Ok(Terms::default()));
    assert_eq!(ledger.set_reach(own("9.9.9.0/24")), [lease]);
    let allow = vec!["9.9.9.9/32".parse().unwrap()];
    assert_eq!(ledger.set_reach(Reach { allow, ..own("9.9.9.0/24") }), [], "allowed");
}

#[test]
fn leases_are_bounded_in_all_and_for_one_address() {
    let mut ledger = ledger(None, None);
    let limits = Limits::default();
    let mapped: IpAddr = "::ffff:192.168.1.1".parse().unwrap();
    for count in 0..limits.max_per_address {
        let from = if count == 0 { mapped } else { borrower(1) };
        assert!(ledger.ask(at(0), from, server()).is_ok());
    }
    assert_eq!(ledger.ask(at(0), borrower(1), server()), Err(Denial::Full));
    let more = (2..100).filter(|host| ledger.ask(at(0), borrower(*host), server()).is_ok());
    assert_eq!(more.count(), limits.max_leases - limits.max_per_address);
    assert_eq!(ledger.lent().count(), limits.max_leases);
}

/// An action of one of the borrowers.
#[derive(Clone, Copy, Debug)]
enum Act {
    Ask(u8),
    End(usize),
    Carry(usize, bool, u64),
    Midnight,
}

fn acts() -> impl Strategy<Value = Vec<(u64, Act)>> {
    let act = prop_oneof![
        1 => (0..6u8).prop_map(Act::Ask),
        1 => (0..20usize).prop_map(Act::End),
        12 => (0..20usize, any::<bool>(), 1..3_000u64)
            .prop_map(|(place, is_up, len)| Act::Carry(place, is_up, len)),
        1 => Just(Act::Midnight),
    ];
    prop::collection::vec((0..40u64, act), 1..300)
}

proptest! {
    /// Whatever borrowers ask for: at each departure, all packets until then are within the rate
    /// and one bucket, each way. Packets of a lease keep their order. A day has its bytes at most.
    #[test]
    fn no_history_carries_more_than_the_limits(
        rate in 100_000..20_000_000u64, day_bytes in 1_000..400_000u64, acts in acts(),
    ) {
        let mut ledger = ledger(Some(rate), Some(day_bytes));
        let (mut now, mut day, mut today) = (0, 0, 0);
        let mut departures: Vec<(Instant, LeaseId, Way, u64)> = Vec::new();
        let mut leases = Vec::new();
        for (pause, act) in acts {
            now += pause;
            match act {
                Act::Ask(host) => leases.extend(ledger.ask(at(now), borrower(host), server())),
                Act::End(place) if place < leases.len() => {
                    prop_assert!(ledger.end(at(now), leases.swap_remove(place)).is_some());
                }
                Act::Carry(place, is_up, len) if place < leases.len() => {
                    let way = if is_up { Way::Up } else { Way::Down };
                    if let Ok(departure) = ledger.carry(at(now), leases[place], way, len) {
                        let mut same = departures.iter().filter(|(_, lease, known, _)| {
                            (*lease, *known) == (leases[place], way)
                        });
                        prop_assert!(same.all(|(before, ..)| *before <= departure));
                        departures.push((departure, leases[place], way, len));
                        today += len;
                    }
                }
                Act::Midnight => {
                    day += 1;
                    today = 0;
                    ledger.set_day(day, true);
                }
                _ => {}
            }
            prop_assert!(today <= day_bytes && ledger.today() >= today);
            prop_assert!(ledger.lent().count() == leases.len() && leases.len() <= 16);
        }
        departures.sort_by_key(|(departure, ..)| *departure);
        let mut carried = [0; 2];
        for (departure, _, way, len) in departures {
            carried[way as usize] += len;
            let ns = u128::from(departure.since(at(0)).as_nanos());
            let filled = u128::from(rate) * ns / 8_000_000_000;
            let bound = u128::from(depth(BitRate(rate))) + filled;
            prop_assert!(u128::from(carried[way as usize]) <= bound, "{:?} of {}", carried, bound);
        }
    }
}
