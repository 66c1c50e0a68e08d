//! No station changes another's weight, whatever it sends; memory stays bounded; all is counted.

use super::*;
use proptest::prelude::*;

/// What somebody does who hears everything on the air, can send under any link address, can keep
/// the victim's reports from arriving, and has a registered station of their own.
#[derive(Clone, Copy, Debug)]
enum Attack {
    /// Bytes of a report of the victim, changed.
    Forge { which: usize, bit: usize },
    /// A report with the victim's name, sealed with the attacker's key.
    Impersonate { db: f64, own_link: bool },
    /// A report that the table has had.
    Replay { which: usize },
    /// A report that the table has not had, once a later one is there.
    LetLoose { which: usize },
    /// The beginning of a report.
    Cut { which: usize, len: usize },
    /// Bytes without any sense.
    Noise { seed: u64 },
    /// The paper's format under the victim's link address.
    Plain { db: u32 },
    /// So many good reports of the attacker's own station.
    Flood { count: usize },
    /// A stranger with this number registers, which is what associating with an open network does.
    Associate { index: u32 },
}

fn attacks() -> impl Strategy<Value = Attack> {
    let which = 0usize..100;
    prop_oneof![
        (which.clone(), 0usize..512).prop_map(|(which, bit)| Attack::Forge { which, bit }),
        (-20.0f64..60.0, any::<bool>())
            .prop_map(|(db, own_link)| Attack::Impersonate { db, own_link }),
        which.clone().prop_map(|which| Attack::Replay { which }),
        which.clone().prop_map(|which| Attack::LetLoose { which }),
        (which, 0usize..64).prop_map(|(which, len)| Attack::Cut { which, len }),
        any::<u64>().prop_map(|seed| Attack::Noise { seed }),
        (0u32..99).prop_map(|db| Attack::Plain { db }),
        (1usize..40).prop_map(|count| Attack::Flood { count }),
        (100u32..100_000).prop_map(|index| Attack::Associate { index }),
    ]
}

/// Whether each report of the victim arrives, what it says, and what is done before the next.
type Script = Vec<(bool, f64, Vec<Attack>)>;

const MAX_STATIONS: usize = 16;

struct Fight {
    bench: Bench,
    /// The victim's reports, and whether they arrived.
    reports: Vec<(bool, Report)>,
    /// Reports of the attacker's own station so far.
    own: u64,
    /// What was told to the table under "report" and under "register".
    handled: u64,
}

impl Fight {
    fn new() -> Self {
        let config = TableConfig { max_stations: MAX_STATIONS, compat: true, ..pw() };
        Self { bench: Bench::with(config, &[A, B]), reports: Vec::new(), own: 0, handled: 0 }
    }

    fn send(&mut self, at: u64, from: Mac, bytes: &[u8]) {
        self.handled += 1;
        self.bench.notify(at, TableInput::Report(ReceivedFrame::new(from, bytes)));
    }

    fn honest(&mut self, at: u64, number: u64, db: f64, arrives: bool) {
        let report = report(A, number, at, db);
        self.reports.push((arrives, report));
        if arrives {
            self.send(at, A, &report.seal(&key_of(A)));
        }
    }

    /// The latest report that arrived; numbers below its own are of the past.
    fn latest(&self) -> u64 {
        let arrived = self.reports.iter().filter(|(arrived, _)| *arrived);
        arrived.map(|(_, report)| report.sequence).max().unwrap_or(0)
    }

    fn attack(&mut self, at: u64, attack: Attack) {
        let report_at = |which: usize| self.reports[which % self.reports.len()];
        match attack {
            Attack::Forge { which, bit } => {
                let mut bytes = report_at(which).1.seal(&key_of(A));
                bytes[bit / 8] ^= 1 << (bit % 8);
                self.send(at, A, &bytes);
            }
            Attack::Impersonate { db, own_link } => {
                let bytes = report(A, 1 << 40, at, db).seal(&key_of(B));
                self.send(at, if own_link { B } else { A }, &bytes);
            }
            Attack::Replay { which } | Attack::LetLoose { which } => {
                let (arrived, report) = report_at(which);
                if arrived || report.sequence < self.latest() {
                    self.send(at, A, &report.seal(&key_of(A)));
                }
            }
            Attack::Cut { which, len } => {
                let bytes = report_at(which).1.seal(&key_of(A));
                self.send(at, A, &bytes[..len]);
            }
            Attack::Noise { seed } => {
                let mut stream = fairwave_units::Seed(seed).stream("noise");
                let len = stream.below(100);
                let bytes: Vec<u8> = (0..len).map(|_| stream.below(256) as u8).collect();
                self.send(at, A, &bytes);
            }
            Attack::Plain { db } => {
                let plain = Plain { ipv4: Ipv4Addr::new(10, 0, 0, 1), soc_db: db };
                self.send(at, A, &plain.bytes());
            }
            Attack::Flood { count } => {
                for _ in 0..count {
                    self.own += 1;
                    self.send(at, B, &report(B, self.own, at, 20.0).seal(&key_of(B)));
                }
            }
            Attack::Associate { index } => {
                let unknown = Station { key: None, ..station(Mac::local(index)) };
                self.bench.notify(at, TableInput::Register(unknown));
            }
        }
    }

    /// What the victim's weight did.
    fn weights(&self) -> Vec<(u64, f64)> {
        let of_a = self.bench.changes.iter().filter(|(_, link, _)| *link == A);
        of_a.map(|(at, _, weight)| (*at, *weight)).collect()
    }
}

fn fight(script: &Script, fights: bool) -> Fight {
    let mut fight = Fight::new();
    for (index, (arrives, db, attacks)) in script.iter().enumerate() {
        let number = index as u64 + 1;
        let at = 200 * number;
        fight.honest(at, number, *db, *arrives);
        for (step, attack) in attacks.iter().enumerate().filter(|_| fights) {
            fight.attack(at + 10 * (step as u64 + 1), *attack);
        }
    }
    fight.bench.run_to(100_000);
    fight
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn no_station_changes_anothers_weight(
        script in prop::collection::vec(
            (prop::bool::weighted(0.7), -5.0f64..30.0, prop::collection::vec(attacks(), 0..8)),
            1..40,
        ),
    ) {
        let (peace, war) = (fight(&script, false), fight(&script, true));
        prop_assert_eq!(peace.weights(), war.weights());
        prop_assert!(war.bench.table.len() <= MAX_STATIONS);
        let counters = war.bench.table.counters();
        let refused: u64 = counters.refused.iter().sum();
        let full = counters.refused_for(Refusal::Full);
        prop_assert_eq!(counters.accepted + refused - full, war.handled, "{:?}", counters);
    }
}
