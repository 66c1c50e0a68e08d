//! Any order of events on any link: no more is lent than may be, both ends agree or come to, and
//! silence empties all tables.

use crate::common::{Net, Weather, at, id, kbps, lend, ms, secs, uplink};
use fairwave_cluster::{Event, Held, Input, LeaseId, Limits, Power, Uplink, Want, Way};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::cluster::Rates;
use proptest::prelude::*;
use std::collections::BTreeMap;

const MEMBERS: usize = 4;
/// Members 0 and 1 lend, all but 0 borrow.
const LENDERS: usize = 2;
const DURATION: Duration = Duration::from_secs(20);

fn limits() -> Limits {
    Limits {
        rates: kbps(1_000, 4_000),
        borrower_rates: kbps(700, 3_000),
        min_share: BitRate(100_000),
        borrowers: 2,
        lease_bytes: 200_000,
        borrower_day_bytes: 400_000,
        day_bytes: 600_000,
    }
}

fn uplinks(count: u8) -> Input {
    let one = |number| Uplink { limits: limits(), ..uplink(number, kbps(2_000, 8_000)) };
    let uplinks: Vec<Uplink> = (1..=count).map(one).collect();
    lend(&uplinks)
}

#[derive(Clone, Debug)]
enum Step {
    Lend(usize, u8),
    Want(usize, u8, u64),
    Power(usize, u8),
    Leave(usize),
    Crash(usize),
    Carry(usize, bool, u64),
    Own(usize, u64),
    Storm(bool),
}

fn steps() -> impl Strategy<Value = Vec<(Step, u64)>> {
    let step = prop_oneof![
        2 => (0..LENDERS, 0..3u8).prop_map(|(lender, count)| Step::Lend(lender, count)),
        4 => (1..MEMBERS, 0..4u8, 50..1_500u64)
            .prop_map(|(member, uplinks, rate)| Step::Want(member, uplinks, rate)),
        1 => (0..LENDERS, 0..100u8).prop_map(|(lender, percent)| Step::Power(lender, percent)),
        1 => (0..MEMBERS).prop_map(Step::Leave),
        1 => (0..MEMBERS).prop_map(Step::Crash),
        4 => (0..LENDERS, any::<bool>(), 1..60_000u64)
            .prop_map(|(lender, up, bytes)| Step::Carry(lender, up, bytes)),
        2 => (0..LENDERS, 1..200_000u64).prop_map(|(lender, bytes)| Step::Own(lender, bytes)),
        1 => any::<bool>().prop_map(Step::Storm),
    ];
    prop::collection::vec((step, 0..15_000u64), 1..30)
}

fn weather(storm: bool) -> Weather {
    let calm = Weather { delay: ms(3), jitter: ms(20), ..Weather::default() };
    let (loss, corrupt) = if storm { (0.6, 0.2) } else { (0.05, 0.02) };
    Weather {
        loss,
        corrupt,
        duplicate: 0.2,
        jitter: if storm { secs(2) } else { calm.jitter },
        ..calm
    }
}

struct Checked {
    net: Net,
    /// When a lender was through with a lease, or was there no more.
    over: BTreeMap<(usize, LeaseId), Instant>,
    crashed: [Instant; MEMBERS],
    starts: [u32; MEMBERS],
    reported: [usize; LENDERS],
}

impl Checked {
    fn new(seed: u64) -> Self {
        Self {
            net: Net::new(MEMBERS, weather(false), Seed(seed)),
            over: BTreeMap::new(),
            crashed: [at(0); MEMBERS],
            starts: [1; MEMBERS],
            reported: [0; LENDERS],
        }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Lend(lender, count) => self.net.notify(lender, uplinks(count)),
            Step::Want(member, uplinks, rate) => {
                let rates = kbps(rate, 4 * rate);
                let (bytes, metered) = (50_000_000, false);
                let want = Want { uplinks, rates, bytes, duration: DURATION, metered };
                self.net.notify(member, Input::Want(Some(want)));
            }
            Step::Power(lender, percent) => {
                self.net.notify(lender, Input::Power(Power { percent, charging: false }));
            }
            Step::Leave(member) => self.net.notify(member, Input::Leave),
            Step::Crash(member) => {
                self.starts[member] += 1;
                self.crashed[member] = self.net.now;
                self.net.restart(member, self.starts[member]);
            }
            Step::Carry(lender, up, bytes) => {
                let leases: Vec<_> =
                    self.net.member(lender).lent().map(|lent| lent.lease).collect();
                let now = self.net.now;
                let way = if up { Way::Up } else { Way::Down };
                for lease in leases {
                    // Packets, until no more may go.
                    let member = self.net.members[lender].as_mut().unwrap();
                    let packets =
                        (0..bytes / 500).take_while(|_| member.carry(now, lease, way, 500).is_ok());
                    packets.for_each(drop);
                    self.net.drain(lender);
                }
            }
            Step::Own(lender, bytes) => {
                let now = self.net.now;
                for number in 1..3 {
                    self.net.members[lender].as_mut().unwrap().own(now, number, Way::Up, bytes);
                }
            }
            Step::Storm(storm) => self.net.set_weather(weather(storm)),
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.net.now + time;
        self.check();
        while self.net.step(end) {
            self.check();
        }
        self.check();
    }

    fn check(&mut self) {
        for lender in 0..LENDERS {
            let events = &self.net.events[lender];
            for (at, event) in &events[self.reported[lender]..] {
                if let Event::Returned { lease, .. } = event {
                    self.over.insert((lender, *lease), *at);
                }
            }
            self.reported[lender] = events.len();
            self.check_limits(lender);
        }
        for member in 1..MEMBERS {
            let mut paths = self.net.paths(member);
            let held: Vec<Held> = self.net.member(member).held().collect();
            if self.crashed[member] == at(0) {
                let mut known: Vec<u8> = held.iter().map(|held| held.path).collect();
                paths.sort_unstable();
                known.sort_unstable();
                assert_eq!(paths, known, "events tell what there is");
            }
            for held in held {
                self.check_held(member, &held);
            }
        }
    }

    /// Never is more lent than may be.
    fn check_limits(&self, lender: usize) {
        let limits = limits();
        for number in 1..3 {
            let leases = self.net.member(lender).lent().filter(|lent| lent.uplink == number);
            let (mut sum, mut count) = (Rates::default(), 0);
            for lent in leases {
                assert!(lent.rates.is_within(limits.borrower_rates), "{lent:?}");
                assert!(lent.carried <= limits.lease_bytes, "{lent:?}");
                assert!(lent.ends <= self.net.now + secs(30) && lent.ends > self.net.now);
                sum = Rates {
                    up: BitRate(sum.up.0 + lent.rates.up.0),
                    down: BitRate(sum.down.0 + lent.rates.down.0),
                };
                count += 1;
            }
            assert!(sum.is_within(limits.rates) && count <= limits.borrowers, "{sum:?} {count}");
            assert!(self.net.member(lender).carried_today(number) <= limits.day_bytes);
        }
    }

    /// What a borrower holds is known to its lender, or was until not long ago.
    fn check_held(&self, member: usize, held: &Held) {
        let lender = (0..LENDERS).find(|index| id(*index) == held.over.lender).unwrap();
        let lease = LeaseId { borrower: id(member), lease: held.over.lease };
        let now = self.net.now;
        assert!(held.ends > now && held.ends <= now + DURATION, "{held:?} at {now}");
        match self.net.member(lender).lent().find(|lent| lent.lease == lease) {
            Some(lent) => assert!(held.ends <= lent.ends || lent.is_revoked, "{held:?} {lent:?}"),
            None => {
                let returned = self.over.get(&(lender, lease)).copied().unwrap_or(at(0));
                let over = returned.max(self.crashed[lender]);
                assert!(over > at(0), "{held:?} was never given");
                assert!(held.ends <= over + DURATION, "{held:?} over since {over}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn limits_agreement_and_oblivion(seed: u64, steps in steps()) {
        let mut checked = Checked::new(seed);
        for lender in 0..LENDERS {
            checked.apply(&Step::Lend(lender, 2));
        }
        for (step, pause) in steps {
            checked.apply(&step);
            checked.pass(ms(pause));
        }
        // They go one after the other, the last ones without a word that gets through.
        checked.apply(&Step::Leave(0));
        checked.apply(&Step::Leave(2));
        checked.pass(ms(100));
        checked.net.set_weather(Weather { loss: 1.0, ..Weather::default() });
        checked.apply(&Step::Leave(1));
        checked.apply(&Step::Leave(3));
        checked.pass(secs(100));
        for member in 0..MEMBERS {
            let census = checked.net.member(member).census();
            prop_assert_eq!(census, Default::default(), "member {} of seed {}", member, seed);
            let paths = checked.net.paths(member);
            prop_assert!(checked.crashed[member] > at(0) || paths.is_empty(), "{:?}", paths);
        }
        prop_assert_eq!(checked.net.next(), None);
    }

    /// Over any span no more goes over an uplink than is lent of it, and over a lease than it has.
    #[test]
    fn rates_hold_over_any_span(
        seed: u64, packets in prop::collection::vec((0..2usize, 40..1_500u64, 0..40u64), 1..400),
    ) {
        let mut net = Net::calm(3);
        net.notify(0, uplinks(1));
        net.run_until(at(500));
        for borrower in 1..3 {
            let (bytes, duration, metered) = (50_000_000, secs(20), false);
            let rates = kbps(10_000, 10_000);
            let want = Want { uplinks: 1, rates, bytes, duration, metered };
            net.notify(borrower, Input::Want(Some(want)));
        }
        net.run_for(ms(500 + seed % 100));
        let leases: Vec<_> = net.member(0).lent().collect();
        prop_assert_eq!(leases.len(), 2);
        let start = net.now;
        let mut carried = [0; 2];
        for (which, bytes, pause) in packets {
            let now = net.now;
            let member = net.members[0].as_mut().unwrap();
            if member.carry(now, leases[which].lease, Way::Up, bytes).is_ok() {
                carried[which] += bytes;
            }
            net.run_for(ms(pause));
            let span = net.now.since(start).as_millis();
            // Half of 1 Mbps each: 62.5 bytes in a millisecond, buckets of 6250 and 12 500.
            for carried in carried {
                prop_assert!(carried <= 6_250 + span * 125 / 2 + 1, "{} in {} ms", carried, span);
            }
            prop_assert!(carried[0] + carried[1] <= 12_500 + span * 125);
        }
    }
}
