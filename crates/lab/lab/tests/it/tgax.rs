//! Calibration of MAC simulators as the task group of 802.11ax defined it (IEEE 802.11-14/0967r2,
//! part of 11-14/0980), from the catalogue's scenarios: `results/tgax.md`.

use fairwave_scenario::Scenario;
use fairwave_scenario::plan::Plan;
use fairwave_sim::run;
use fairwave_trace::{Discard, FrameBody, Kind, Sample, Sink};
use fairwave_units::{Duration, Instant};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const OVERHEAD: &str = include_str!("../../../../../scenarios/tgax-overhead.toml");
const DEFERRAL: &str = include_str!("../../../../../scenarios/tgax-deferral.toml");

/// Headers of an MSDU: LLC, IP and UDP.
const HEADERS: u32 = 36;
/// MAC header of QoS data, and FCS.
const MAC: u32 = 30;

/// One exchange by the formulas of the document, in microseconds.
struct Exchange {
    ampdu: f64,
    response: f64,
    /// RTS and CTS with a SIFS after each.
    reservation: f64,
}

const SIFS: f64 = 16.0;
const SLOT: f64 = 9.0;
const AIFS: f64 = SIFS + 3.0 * SLOT;

/// Time of a non-HT frame of so many bytes at 6 or 24 Mbps (24 or 96 bits a symbol).
fn legacy(bytes: u32, symbol_bits: u32) -> f64 {
    20.0 + 4.0 * f64::from((16 + 8 * bytes + 6).div_ceil(symbol_bits))
}

impl Exchange {
    /// Two MSDUs of `msdu` bytes in VHT at 20 MHz, MCS 0 or 8, one stream, long guard interval.
    fn new(mcs: u32, msdu: u32, rts: bool) -> Self {
        // Data bits of a symbol, and those of the control frames: the highest basic rate that is
        // not above the data's (802.11-2020, clause 10.6.6.5).
        let (bits, control) = if mcs == 0 { (26, 24) } else { (312, 96) };
        let subframe = 4 + msdu + MAC;
        // The last subframe is not padded (clause 9.7.1).
        let psdu = subframe.next_multiple_of(4) + subframe;
        let symbols = (16 + 8 * psdu + 6).div_ceil(bits);
        let reservation =
            if rts { legacy(20, control) + legacy(14, control) + 2.0 * SIFS } else { 0.0 };
        Self { ampdu: 40.0 + 4.0 * f64::from(symbols), response: legacy(32, control), reservation }
    }

    /// The mean of a whole cycle: half of CWmin is the mean backoff.
    fn cycle(&self) -> f64 {
        self.reservation + self.ampdu + SIFS + self.response + AIFS + 7.5 * SLOT
    }

    /// Megabits of MSDUs a second.
    fn mbps(&self, msdu: u32) -> f64 {
        f64::from(2 * 8 * msdu) / self.cycle()
    }
}

/// Goodput of the flows in megabits of UDP payload a second.
fn simulate(scenario: &Scenario) -> Vec<f64> {
    let outcome =
        run(&scenario.to_world(1), &mut Discard, &mut |_| {}).expect("the world is right");
    outcome.flows.iter().map(|flow| flow.goodput.as_mbps_f64()).collect()
}

/// A point of a test: MCS, length of an MSDU, whether RTS precedes.
fn overhead() -> Vec<(u32, u32, bool, Scenario)> {
    let plan = Plan::parse("tgax-overhead.toml", OVERHEAD, &[]).unwrap_or_else(|e| panic!("{e}"));
    let point = |point: &fairwave_scenario::plan::Point| {
        let value = |key: &str| {
            let (_, value) = point.axes.iter().find(|(axis, _)| axis.contains(key)).expect(key);
            value.trim_matches('"').trim_end_matches(" B").to_owned()
        };
        let number = |key| value(key).parse::<u32>().expect("a number");
        let (mcs, payload) = (number("mcs"), number("payload"));
        (mcs, payload + HEADERS, value("rts") != "off", point.scenario.clone())
    };
    plan.points.iter().map(point).collect()
}

/// The flows of `tgax-deferral.toml` with and without RTS; of `stations` stations.
fn deferral(stations: usize) -> Vec<Vec<f64>> {
    let second = DEFERRAL.find("[[flow]]\nname = \"two\"").expect("the flow is there");
    let sweep = DEFERRAL.find("[sweep]").expect("the sweep is there");
    let text = match stations {
        1 => format!("{}{}", &DEFERRAL[..second], &DEFERRAL[sweep..]),
        _ => DEFERRAL.to_owned(),
    };
    let plan = Plan::parse("tgax-deferral.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    plan.points.iter().map(|point| simulate(&point.scenario)).collect()
}

/// Test, stations, whether RTS precedes, and the sum of the throughputs that ns-3-dev-11ax
/// (lanante/ns-3-dev-11ax, branch 11ax, `wifi-he-validation.rst`) reports.
const NS3: [(&str, usize, bool, f64); 3] =
    [("1a", 1, false, 6.627), ("1b", 1, true, 6.4452), ("2a", 2, false, 3.042 + 3.0528)];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../results/tgax.md")
}

fn text() -> String {
    let (mut formulas, mut published) = (String::new(), String::new());
    for (mcs, msdu, rts, scenario) in overhead() {
        let expected = Exchange::new(mcs, msdu, rts).mbps(msdu);
        let got = mac_mbps(&scenario, msdu);
        let test = if rts { "1b" } else { "1a" };
        let off = 100.0 * (got / expected - 1.0);
        _ = writeln!(
            formulas,
            "| {test} | {mcs} | {msdu} | {expected:.3} | {got:.3} | {off:+.2} % |"
        );
    }
    let ours = [deferral(1), deferral(2)];
    for (test, stations, rts, theirs) in NS3 {
        let got: f64 = ours[stations - 1][usize::from(rts)].iter().sum();
        let off = 100.0 * (got / theirs - 1.0);
        _ = writeln!(published, "| {test} | {theirs:.3} | {got:.3} | {off:+.1} % |");
    }
    let with_rts: f64 = ours[1][1].iter().sum();
    include_str!("tgax.md")
        .replace("FORMULAS\n", &formulas)
        .replace("PUBLISHED\n", &published)
        .replace("WITH_RTS", &format!("{with_rts:.3}"))
}

fn mac_mbps(scenario: &Scenario, msdu: u32) -> f64 {
    simulate(scenario)[0] * f64::from(msdu) / f64::from(msdu - HEADERS)
}

#[test]
fn the_page_of_calibration_is_up_to_date() {
    let found = fs::read_to_string(page()).unwrap_or_default();
    assert!(found == text(), "results/tgax.md: `cargo xtask golden` rewrites it");
}

#[test]
#[ignore = "rewrites the golden page"]
fn bless() {
    fs::write(page(), text()).expect("a writable folder");
}

#[test]
fn throughput_is_that_of_the_formulas() {
    for (mcs, msdu, rts, scenario) in overhead() {
        let (expected, got) = (Exchange::new(mcs, msdu, rts).mbps(msdu), mac_mbps(&scenario, msdu));
        let off = got / expected - 1.0;
        assert!(off.abs() < 0.002, "MCS {mcs}, {msdu} bytes, RTS {rts}: {got} of {expected} Mbps");
    }
}

/// Two stations share alike; the sums are within 3.5 % of ns-3's.
#[test]
fn throughput_is_near_that_of_ns3() {
    let ours = [deferral(1), deferral(2)];
    for (test, stations, rts, theirs) in NS3 {
        let got = &ours[stations - 1][usize::from(rts)];
        let sum: f64 = got.iter().sum();
        assert!((sum / theirs - 1.0).abs() < 0.035, "{test}: {sum} Mbps, ns-3 {theirs} Mbps");
        assert!(got.iter().all(|one| (one * got.len() as f64 / sum - 1.0).abs() < 0.05), "{got:?}");
    }
}

/// Beginnings and ends of frames on the air: a data frame (of the first MPDU), or its BlockAck.
#[derive(Default)]
struct CheckPoints(Vec<(bool, Instant, Instant)>);

impl Sink for CheckPoints {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Frame
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        let Sample::Frame(frame) = sample else { return };
        let is_data = matches!(frame.body, FrameBody::Data(_));
        let end = at + frame.airtime;
        if self.0.last().is_none_or(|(_, begin, _)| *begin != at) {
            self.0.push((is_data, at, end));
        }
    }
}

/// Check points 1 to 5 of test 1a: durations of the A-MPDU, SIFS, BlockAck, and AIFS with backoff.
#[test]
fn check_points_are_at_their_times() {
    let us = |duration: Duration| duration.as_nanos() as f64 / 1e3;
    for (mcs, msdu, _, scenario) in overhead().into_iter().filter(|(_, _, rts, _)| !rts) {
        let mut points = CheckPoints::default();
        run(&scenario.to_world(1), &mut points, &mut |_| {}).expect("the world is right");
        let expected = Exchange::new(mcs, msdu, false);
        let mut backoffs = BTreeSet::new();
        let whole =
            points.0.iter().filter(|(_, begin, _)| *begin > Instant::ZERO + Duration::from_secs(1));
        let frames: Vec<_> = whole.skip_while(|(is_data, ..)| !is_data).take(2000).collect();
        for frame in frames.windows(3).step_by(2) {
            let [(true, cp1, cp2), (false, cp3, cp4), (true, cp5, _)] = *frame else {
                panic!("{frame:?}")
            };
            assert_eq!(us(cp2.since(*cp1)), expected.ampdu, "MCS {mcs}, {msdu} bytes");
            assert_eq!(us(cp3.since(*cp2)), SIFS);
            assert_eq!(us(cp4.since(*cp3)), expected.response);
            let slots = (us(cp5.since(*cp4)) - AIFS) / SLOT;
            assert!(slots >= 0.0 && slots.fract() == 0.0 && slots <= 15.0, "{slots} slots");
            backoffs.insert(slots as u32);
        }
        assert_eq!(backoffs.len(), 16, "MCS {mcs}, {msdu} bytes: {backoffs:?}");
    }
}
