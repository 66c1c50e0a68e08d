//! Cost of a report for `soc::AccessPoint` while 200 stations report every 20 ms, in nanoseconds:
//! the minimum of many rounds, which is hardly disturbed by other programs on the same core, and
//! the median.
//!
//! `soc-reports ROUNDS` makes ROUNDS rounds, for a profiler: the difference of two lengths gives
//! the instructions per report, without the set-up.

use fairwave_machine::Machine;
use fairwave_soc::{
    AccessPoint, ApConfig, ApInput, POLICIES, Policies, ReceivedFrame, TableConfig, station_secret,
};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::{CentiDb, Report, SESSION_LEN, Session};
use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

const STATIONS: u32 = 200;
const INTERVAL_MS: u64 = 20;
/// Time for which reports are gathered, slightly shorter than in `fairwave soc ap`.
const GATHER_MS: u64 = 10;
const ROUNDS: u64 = 500;
const SESSION: Session = Session([5; SESSION_LEN]);

fn main() -> Result<(), String> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |text| text.parse());
    let rounds = rounds.map_err(|error| format!("rounds: {error}"))?;
    let mut crowd = Crowd::new();
    let all: Vec<Vec<ReceivedFrame>> = (1..=rounds).map(|round| crowd.sealed(round)).collect();
    let mut times: Vec<f64> =
        all.iter().zip(1..).map(|(reports, round)| crowd.take(round, reports)).collect();
    times.sort_by(f64::total_cmp);
    let (min, median) = (times[0], times[times.len() / 2]);
    print(&format!(
        "{STATIONS} stations: {min:.0} ns a report at least, {median:.0} in the median"
    ));
    Ok(())
}

struct Crowd {
    ap: AccessPoint,
    keys: Vec<(Mac, Key)>,
}

impl Crowd {
    fn new() -> Self {
        let network = Key::new(&[7; 32]).expect("it is long enough");
        let own = |station| Key::new(&station_secret(&network, station)).expect("long enough");
        let stations = (0..STATIONS).map(|number| Mac::local(number + 16));
        let keys = stations.map(|station| (station, SESSION.key(&own(station)))).collect();
        let pw = POLICIES.iter().find(|kind| kind.name == "pw").expect("it is listed");
        let table = TableConfig::new(Policies::per_host((pw.curve)()));
        // All first reports arrive together, unlike those of a real crowd: do not pace them.
        let strangers_pace = Duration::ZERO;
        let config = ApConfig { strangers_pace, ..ApConfig::new(table, network, SESSION) };
        Self { ap: AccessPoint::new(config), keys }
    }

    /// Each station's report of a round, in an order that differs from that of the addresses.
    fn sealed(&self, round: u64) -> Vec<ReceivedFrame> {
        // 73 and the number of stations have no common factor, so each station has its turn.
        let order = (0..self.keys.len()).map(|index| index * 73 % self.keys.len());
        let seal = |index: usize| {
            let (station, key) = &self.keys[index];
            let report = Report {
                next: None,
                station: *station,
                ipv4: Ipv4Addr::UNSPECIFIED,
                ipv6: Ipv6Addr::UNSPECIFIED,
                sequence: round,
                made_ms: (round * INTERVAL_MS) as u32,
                interval_ms: NonZeroU16::new(INTERVAL_MS as u16).expect("it is not 0"),
                soc: CentiDb::from_db(4.0 + (index % 10) as f64),
            };
            ReceivedFrame::new(*station, &report.seal(key))
        };
        order.map(seal).collect()
    }

    /// Handles a round's reports. Returns the nanoseconds per report.
    #[expect(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        reason = "a bench reads the clock, and nothing else does"
    )]
    fn take(&mut self, round: u64, reports: &[ReceivedFrame]) -> f64 {
        let start = std::time::Instant::now();
        let wakes = INTERVAL_MS / GATHER_MS;
        let at_once = reports.len().div_ceil(wakes as usize);
        for (some, wake) in reports.chunks(at_once).zip(0..) {
            let now = Instant::ZERO + Duration::from_millis(round * INTERVAL_MS + wake * GATHER_MS);
            self.ap.foresee(some);
            for received in some {
                self.ap.handle(now, ApInput::Report(*received));
            }
            if self.ap.deadline().is_some_and(|due| due <= now) {
                self.ap.wake(now);
            }
            while let Some(action) = self.ap.poll(now) {
                black_box(action);
            }
            while let Some(decision) = self.ap.event() {
                black_box(decision);
            }
        }
        let spent = start.elapsed().as_secs_f64() * 1e9 / reports.len() as f64;
        let accepted = self.ap.table_counters().accepted;
        assert_eq!(accepted, round * u64::from(STATIONS), "a report was refused");
        spent
    }
}

#[expect(clippy::print_stdout, reason = "a program's answer")]
fn print(line: &str) {
    println!("{line}");
}
