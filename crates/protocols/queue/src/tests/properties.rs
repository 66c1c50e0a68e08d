//! What holds of every discipline, whatever comes: each is driven by random calls.

use crate::testing::{Thing, ack, full, random};
use crate::{ALL, Discipline, Limit};
use fairwave_trace::DropCause;
use fairwave_units::{Duration, Instant};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
enum Call {
    Push { flow: u16, kind: u8, bytes: u32 },
    Pop,
    PopTo(u32),
    Withdraw(u32, u64),
    Charge(u32, u64),
    Wait(u64),
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (0..6u16, 0..4u8, 41..1500u32)
            .prop_map(|(flow, kind, bytes)| Call::Push { flow, kind, bytes }),
        2 => Just(Call::Pop),
        1 => (0..7u32).prop_map(Call::PopTo),
        1 => (0..7u32, 1..4u64).prop_map(|(to, nth)| Call::Withdraw(to, nth)),
        1 => (0..7u32, 0..3000u64).prop_map(|(to, us)| Call::Charge(to, us)),
        2 => (0..40_000u64).prop_map(Call::Wait),
    ]
}

/// A queue with a record of what should be in it.
struct Watched {
    queue: Box<dyn Discipline<Thing>>,
    now: Instant,
    next: u64,
    /// Numbers and lengths of what waits.
    held: BTreeMap<u64, u32>,
    /// The last packet of each flow and kind that came out.
    last: BTreeMap<(u16, bool), u64>,
}

impl Watched {
    fn push(&mut self, flow: u16, kind: u8, bytes: u32) {
        let id = self.next;
        self.next += 1;
        let thing = match kind {
            // Every fourth ACK repeats the one before.
            0 => Thing { bytes: 40, ..ack(id, flow, (id - u64::from(id % 4 == 3)) as u32) },
            1 => Thing { bytes, ecn: true, ..full(id, flow) },
            _ => Thing { bytes, ..full(id, flow) },
        };
        self.held.insert(id, thing.bytes);
        self.queue.push(self.now, thing);
        self.collect(&[DropCause::QueueFull, DropCause::AckFiltered, DropCause::Aqm]);
    }

    fn came_out(&mut self, thing: &Thing, name: &str) {
        assert!(self.held.remove(&thing.id).is_some(), "{name}: {} came out twice", thing.id);
        let before = self.last.insert((thing.flow, thing.tcp.is_some()), thing.id);
        assert!(before < Some(thing.id), "{name}: {} overtook", thing.id);
    }

    fn collect(&mut self, causes: &[DropCause]) {
        while let Some((thing, cause)) = self.queue.dropped() {
            assert!(causes.contains(&cause), "{cause:?}");
            assert!(self.held.remove(&thing.id).is_some(), "{} dropped twice", thing.id);
        }
    }

    /// Conservation: what came in has gone out, was dropped, or waits.
    fn check(&self, limit: Limit, name: &str) {
        let bytes: u64 = self.held.values().map(|&b| u64::from(b)).sum();
        let held = (self.held.len() as u32, bytes);
        assert_eq!((self.queue.len(), self.queue.bytes().0), held, "{name}");
        assert!(!limit.is_exceeded(self.queue.len() / 2, self.queue.bytes()), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_lost_doubled_or_overtaken(calls in prop::collection::vec(call(), 1..400)) {
        for kind in ALL {
            let limit = Limit::Packets(20);
            let queue = (kind.spec)(limit).build(random());
            let (held, last) = (BTreeMap::new(), BTreeMap::new());
            let mut watched = Watched { queue, now: Instant::ZERO, next: 0, held, last };
            for call in &calls {
                match *call {
                    Call::Push { flow, kind, bytes } => watched.push(flow, kind, bytes),
                    Call::Pop => {
                        let was_empty = watched.queue.is_empty();
                        let thing = watched.queue.pop(watched.now);
                        watched.collect(&[DropCause::Aqm]);
                        if let Some(thing) = &thing {
                            watched.came_out(thing, kind.name);
                        }
                        // Work is conserved, unless the last ones were dropped.
                        prop_assert!(thing.is_some() || was_empty || watched.queue.is_empty());
                    }
                    Call::PopTo(receiver) => {
                        let peeked = watched.queue.peek_to(receiver);
                        let thing = watched.queue.pop_to(watched.now, receiver);
                        watched.collect(&[DropCause::Aqm]);
                        prop_assert!(peeked.is_some() || thing.is_none());
                        if let Some(thing) = thing {
                            prop_assert_eq!(thing.receiver, receiver);
                            watched.came_out(&thing, kind.name);
                        }
                    }
                    Call::Withdraw(receiver, nth) => {
                        let goes = |thing: &Thing| thing.id.is_multiple_of(nth);
                        if let Some(thing) = watched.queue.withdraw(watched.now, receiver, &goes) {
                            prop_assert!(thing.receiver == receiver && goes(&thing));
                            prop_assert!(watched.held.remove(&thing.id).is_some());
                        }
                        prop_assert!(watched.queue.dropped().is_none());
                    }
                    Call::Charge(to, us) => {
                        let airtime = Duration::from_micros(us);
                        watched.queue.charge(watched.now, to, airtime);
                    }
                    Call::Wait(us) => watched.now += Duration::from_micros(us),
                }
                watched.check(Limit::Packets(20), kind.name);
            }
        }
    }

    /// Whoever keeps packets waiting is served: within as many packets as everybody's quantum
    /// of the smallest packets makes.
    #[test]
    fn nobody_starves(flows in 2..20u16, bytes in 100..1500u32, hog in 1..30u64) {
        for name in ["fq-codel", "airtime-drr", "ack-split"] {
            let kind = ALL.iter().find(|kind| kind.name == name).expect("it is listed");
            let mut queue = (kind.spec)(Limit::Packets(100_000)).build::<Thing>(random());
            let mut id = 0;
            for flow in 0..flows {
                for _ in 0..if flow == 0 { 40 * hog } else { 40 } {
                    queue.push(Instant::ZERO, Thing { bytes, ..full(id, flow) });
                    id += 1;
                }
            }
            queue.push(Instant::ZERO, ack(id, flows, 1));
            let turns = match name {
                "ack-split" => 2,
                _ => (u32::from(flows) + 1) * 1514u32.div_ceil(bytes).max(2) + 2,
            };
            let mut served = BTreeSet::new();
            for _ in 0..turns {
                let thing = queue.pop(Instant::ZERO).expect("enough waits");
                queue.charge(Instant::ZERO, thing.receiver, Duration::from_micros(300));
                served.insert(thing.flow);
            }
            match name {
                "ack-split" => prop_assert!(served.contains(&flows), "{name}: {served:?}"),
                _ => prop_assert_eq!(served.len(), usize::from(flows) + 1, "{}", name),
            }
        }
    }
}
