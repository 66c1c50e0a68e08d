//! Rate control against the best fixed rate: a saturated station, at distances, widths, numbers
//! of streams and kinds of fading.

use fairwave_dot11::channel::{
    Channel, Config, Input, Mpdu, Output, RadioConfig, RadioId, RateChoice,
};
use fairwave_dot11::rate_control::Algorithm;
use fairwave_dot11::{
    AccessCategory, Capabilities, DATA_OVERHEAD_BYTES, Fading, Format, GuardInterval, Mode, Phy,
    QOS_BYTES, Standard, Width, rate_control,
};
use fairwave_machine::Machine;
use fairwave_units::{Dbm, Duration, Instant, Metres, Seed};
use std::fmt::Write;
use std::fs;

/// UDP payload of an IP packet of 1500 bytes.
const PAYLOAD_BYTES: u32 = 1472;

/// One place on the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    standard: Standard,
    width: Width,
    streams: u8,
    distance: f64,
    fading: Option<Fading>,
}

/// What is simulated and when it is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    warm_up: Duration,
    measured: Duration,
}

impl Place {
    fn phy(&self) -> Phy {
        Phy { width: self.width, ..Phy::new(self.standard) }
    }

    /// As rows of tables begin.
    pub(super) fn title(&self) -> String {
        let name = match self.standard {
            Standard::N => "11n",
            Standard::Ac => "11ac",
            Standard::Ax => "11ax",
            _ => "11a",
        };
        let Self { width, streams, distance, .. } = self;
        format!("{name} {} MHz, {streams}, {distance} m", width.mhz())
    }

    /// Whether frames are aggregated, and there are groups of rates.
    pub(super) fn is_ht(&self) -> bool {
        self.standard != Standard::A
    }

    fn capabilities(&self) -> Capabilities {
        let guard = GuardInterval::Ns800;
        Capabilities { streams: self.streams, guard, ..Capabilities::default() }
    }

    /// Every mode that a radio with these capabilities may choose.
    fn modes(&self) -> Vec<Mode> {
        self.capabilities().modes(self.phy())
    }

    /// Mbps of UDP payload that arrive from an access point that saturates the medium.
    fn goodput(&self, rates: Option<RateChoice>, mode: Mode, times: Times, seed: u64) -> f64 {
        let config = Config { fading: self.fading, ..Config::new(self.phy()) };
        let radio = |name: &str, x, rates| RadioConfig {
            name: name.to_owned(),
            position: (Metres(x), Metres(0.0)),
            power: Dbm(16.0),
            is_access_point: false,
            path: None,
            snr_trace: None,
            roams: false,
            rates,
            capabilities: self.capabilities(),
        };
        let radios = [radio("ap", 0.0, rates), radio("sta", self.distance, None)];
        let mut channel: Channel<()> = Channel::new(config, &radios, Seed(seed), "cell");
        let (own, to, category) = (RadioId(0), RadioId(1), AccessCategory::BestEffort);
        let bytes = 1500 + DATA_OVERHEAD_BYTES + QOS_BYTES;
        let fill = |channel: &mut Channel<()>, now| {
            while channel.is_ready(own, category) || channel.has_room(own, category, to, true) {
                let mpdu = Mpdu { to: Some(to), bytes, mode, category, payload: () };
                channel.handle(now, Input::Send(own, mpdu));
            }
        };
        let from = Instant::ZERO + times.warm_up;
        let end = from + times.measured;
        let mut delivered = 0_u64;
        fill(&mut channel, Instant::ZERO);
        while let Some(now) = channel.deadline().filter(|due| *due <= end) {
            channel.wake(now);
            while let Some(output) = channel.poll(now) {
                let is_delivery = matches!(output, Output::Deliver { .. });
                delivered += u64::from(is_delivery && now > from);
            }
            fill(&mut channel, now);
        }
        f64::from(8 * PAYLOAD_BYTES) * delivered as f64 / (times.measured.as_secs_f64() * 1e6)
    }

    /// Goodput of every mode that does not change, at this place.
    fn all_fixed(&self, times: Times) -> Vec<(Mode, f64)> {
        let fixed = |mode| (mode, self.goodput(None, mode, times, 1));
        self.modes().into_iter().map(fixed).collect()
    }

    /// Mbps that arrive under an algorithm that begins with a rate of its own.
    pub(super) fn controlled(&self, algorithm: Algorithm, times: Times, seed: u64) -> f64 {
        let rates = RateChoice { algorithm: algorithm.into(), initial: None };
        self.goodput(Some(rates), self.modes()[0], times, seed)
    }

    /// What the best of all fixed modes carries. Where nothing varies, `settled` is enough to
    /// find it.
    pub(super) fn fixed(&self, settled: Times, times: Times) -> Fixed {
        let all = self.all_fixed(settled);
        let (best, _) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are modes");
        let mbps = self.goodput(None, *best, times, 1);
        let works_in_part = |(mode, goodput): &(Mode, f64)| {
            mode.rate() > best.rate() && (0.1 * mbps..mbps).contains(goodput)
        };
        Fixed { best: *best, mbps, is_edge: all.iter().any(works_in_part) }
    }

    /// Goodput of each algorithm as a share of that of the best fixed mode.
    fn compare(&self, settled: Times, times: Times) -> Comparison {
        let fixed = self.fixed(settled, times);
        let share = |name| {
            let algorithm = *rate_control::find(name).expect("it is in the list");
            self.controlled(algorithm, times, 1) / fixed.mbps
        };
        Comparison { shares: ALGORITHMS.map(share), fixed }
    }
}

const ALGORITHMS: [&str; 3] = ["arf", "aarf", "minstrel"];

/// The best of all fixed modes at one place.
pub(super) struct Fixed {
    best: Mode,
    pub(super) mbps: f64,
    /// Whether a faster mode delivers at least a tenth of what the best one does: algorithms are
    /// then misled by frames that get through by luck.
    pub(super) is_edge: bool,
}

/// The algorithms at one place.
struct Comparison {
    fixed: Fixed,
    shares: [f64; 3],
}

impl Comparison {
    /// The least shares that are asserted where the channel stands still.
    fn bounds(&self) -> [f64; 3] {
        if self.fixed.is_edge { [0.4, 0.4, 0.78] } else { [0.87, 0.95, 0.95] }
    }

    fn check(&self, place: &Place) {
        for (i, share) in self.shares.into_iter().enumerate() {
            let (name, bound) = (ALGORITHMS[i], self.bounds()[i]);
            assert!(
                share >= bound,
                "{name}: {share:.3} of {:.1} Mbps at {place:?}",
                self.fixed.mbps
            );
        }
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Where nothing varies, half a second tells what a mode delivers.
pub(super) const SETTLED: Times = Times { warm_up: ms(100), measured: ms(500) };
pub(super) const USUAL: Times = Times { warm_up: ms(1000), measured: ms(2000) };

fn place(standard: Standard, width: Width, streams: u8, distance: f64) -> Place {
    Place { standard, width, streams, distance, fading: None }
}

/// A link of two radios that stand side by side: every rate works. One MPDU takes the same number
/// of symbols at several of the fastest rates.
#[test]
fn a_perfect_link_runs_at_the_highest_rate() {
    for (width, streams) in [(Width::Mhz40, 1), (Width::Mhz160, 2)] {
        let place = place(Standard::Ax, width, streams, 3.0);
        let comparison = place.compare(SETTLED, USUAL);
        let best = comparison.fixed.best;
        assert_eq!((best.mcs(), best.streams()), (11, streams));
        assert!(comparison.shares.iter().all(|share| *share > 0.99), "{:?}", comparison.shares);
    }
}

#[test]
fn algorithms_keep_up_with_the_best_fixed_rate() {
    for (width, streams) in [(Width::Mhz20, 1), (Width::Mhz80, 2)] {
        for distance in [10.0, 20.0, 40.0] {
            let place = place(Standard::Ax, width, streams, distance);
            place.compare(SETTLED, USUAL).check(&place);
        }
    }
}

/// The whole grid: standards with widths and streams, distances.
pub(super) fn grid(fading: Option<Fading>) -> impl Iterator<Item = Place> {
    let radios = [
        (Standard::A, Width::Mhz20, 1),
        (Standard::N, Width::Mhz20, 1),
        (Standard::N, Width::Mhz40, 2),
        (Standard::Ac, Width::Mhz80, 1),
        (Standard::Ac, Width::Mhz80, 2),
        (Standard::Ax, Width::Mhz20, 1),
        (Standard::Ax, Width::Mhz40, 1),
        (Standard::Ax, Width::Mhz40, 2),
        (Standard::Ax, Width::Mhz80, 2),
        (Standard::Ax, Width::Mhz160, 2),
        (Standard::Ax, Width::Mhz160, 4),
    ];
    let distances = [3.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0];
    radios.into_iter().flat_map(move |(standard, width, streams)| {
        distances.map(move |distance| Place { fading, ..place(standard, width, streams, distance) })
    })
}

/// Rayleigh fading of somebody who walks, at 5 GHz: 1 m/s.
pub(super) const WALKING: Fading = Fading { rice_k: 0.0, doppler_hz: 17.0 };
/// A time in which fading meets its mean.
pub(super) const LONG: Times = Times { warm_up: ms(1000), measured: ms(5000) };

#[test]
#[ignore = "the whole grid: minutes; a slow run of the suite calls it"]
fn slow_algorithms_keep_up_over_the_whole_grid() {
    grid(None).for_each(|place| place.compare(SETTLED, USUAL).check(&place));
}

/// The table of `results/validation.md` between its two marks.
#[test]
#[ignore = "rewrites the table; see results/validation.md"]
fn write_the_table() {
    const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../results/validation.md");
    const MARKS: [&str; 2] = ["<!-- table of rates -->\n", "<!-- end of table -->"];
    let text = fs::read_to_string(DOCUMENT).expect("the document is part of the source");
    let (before, rest) = text.split_once(MARKS[0]).expect("the table has a beginning");
    let (_, after) = rest.split_once(MARKS[1]).expect("the table has an end");
    let table = table();
    let text = format!("{before}{}{table}{}{after}", MARKS[0], MARKS[1]);
    fs::write(DOCUMENT, text).expect("the document can be written");
}

fn table() -> String {
    let mut text = String::from(
        "| PHY, streams, distance | best fixed mode | Mbps | ARF | AARF | Minstrel | \
         walking: Mbps | ARF | AARF | Minstrel |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (still, walking) in grid(None).zip(grid(Some(WALKING))) {
        let title = still.title();
        let (still, walking) = (still.compare(SETTLED, USUAL), walking.compare(LONG, LONG));
        let edge = if still.fixed.is_edge { " *" } else { "" };
        let _ = writeln!(
            text,
            "| {title} | {}{edge} | {:.1} | {} | {:.1} | {} |",
            shown(still.fixed.best),
            still.fixed.mbps,
            still.shares.map(percent).join(" | "),
            walking.fixed.mbps,
            walking.shares.map(percent).join(" | "),
        );
    }
    text
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn shown(mode: Mode) -> String {
    match mode.format() {
        Format::Ofdm => mode.rate().to_string(),
        _ => format!("MCS {}, {} x {} MHz", mode.mcs(), mode.streams(), mode.width().mhz()),
    }
}
