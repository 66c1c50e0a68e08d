//! Our Minstrel beside Linux's, over the grid of distances, widths, streams and fading.
//!
//! Linux's is a program made of its source, which `cargo xtask compare-minstrel` builds and which
//! chooses the rates of our radio (`benches/linux`).

use crate::rates::{LONG, Place, SETTLED, Times, USUAL, WALKING, grid};
use fairwave_dot11::rate_control::{self, Algorithm, Choice, Rate, RateControl, Setup};
use fairwave_units::{Duration, Instant};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Where the program is built, and the table left.
const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/minstrel");
const SEEDS: u64 = 5;

const LINUX: Algorithm = Algorithm {
    name: "linux",
    summary: "Linux's code",
    source: "net/mac80211/rc80211_minstrel_ht.c",
    build: |setup| Box::new(Linux::new(setup)),
};

/// The program and what it is asked.
#[derive(Debug)]
struct Linux {
    program: Child,
    answers: BufReader<ChildStdout>,
    rates: Vec<Rate>,
    /// How many widths each number of streams has.
    widths: usize,
    current: usize,
}

impl Linux {
    fn new(mut setup: Setup) -> Self {
        let rates = setup.rates;
        let last = rates.last().expect("there are rates");
        let streams = usize::from(last.streams);
        let widths = (last.group + 1) / streams;
        // The number of rates in the last group tells the standards from each other.
        let standard = match rates.iter().filter(|rate| rate.group == last.group).count() {
            8 => 0,
            10 => 1,
            12 => 2,
            other => panic!("{other} rates in a group are neither 802.11n, ac nor ax"),
        };
        let seed = setup.stream.below(1 << 31) as usize;
        let words = [standard, streams, widths - 1, seed].map(|word| word.to_string());
        let mut command = Command::new(format!("{DIRECTORY}/minstrel"));
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().expect("`cargo xtask compare-minstrel` builds it");
        let answers = BufReader::new(program.stdout.take().expect("it has a pipe"));
        Self { program, answers, rates, widths, current: 0 }
    }

    fn report(&mut self, verb: &str, now: Instant, rest: &str) {
        let us = now.since(Instant::ZERO) / Duration::from_micros(1);
        let pipe = self.program.stdin.as_mut().expect("it has a pipe");
        writeln!(pipe, "{verb} {us} {rest}").expect("the program reads");
    }
}

impl RateControl for Linux {
    fn choose(&mut self, now: Instant, attempt: u32) -> Choice {
        self.report("choose", now, &attempt.to_string());
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the program answers");
        let words: Vec<usize> = line.split_whitespace().flat_map(str::parse).collect();
        let [streams, width, mcs, sample] = words[..] else { panic!("`{line}` is no answer") };
        let group = (streams - 1) * self.widths + width;
        let first = self.rates.iter().position(|rate| rate.group == group);
        let choice =
            Choice { rate: first.expect("its group is ours") + mcs, is_sample: sample > 0 };
        assert_eq!(self.rates[choice.rate].group, group, "{line}");
        if attempt == 0 && !choice.is_sample {
            self.current = choice.rate;
        }
        choice
    }

    fn current(&self) -> usize {
        self.current
    }

    fn on_attempt(&mut self, now: Instant, _: usize, sent: u32, acknowledged: u32) {
        self.report("hear", now, &format!("{sent} {acknowledged}"));
    }
}

impl Drop for Linux {
    fn drop(&mut self) {
        // Without its input it ends.
        drop(self.program.stdin.take());
        let _ = self.program.wait();
    }
}

/// Goodput over seeds in percent of the best fixed rate.
#[derive(Clone, Copy)]
struct Share {
    mean: f64,
    /// Standard deviation.
    deviation: f64,
}

impl Share {
    fn measure(place: &Place, algorithm: Algorithm, times: Times, fixed_mbps: f64) -> Self {
        let share = |seed| 100.0 * place.controlled(algorithm, times, seed) / fixed_mbps;
        let all: Vec<f64> = (1..=SEEDS).map(share).collect();
        let mean = all.iter().sum::<f64>() / SEEDS as f64;
        let squares: f64 = all.iter().map(|x| (x - mean) * (x - mean)).sum();
        Self { mean, deviation: (squares / (SEEDS - 1) as f64).sqrt() }
    }

    fn shown(self) -> String {
        format!("{:.1} (sd {:.1})", self.mean, self.deviation)
    }
}

/// Ours and Linux's at one place, and whether that is at the edge of a rate.
struct Pair {
    is_edge: bool,
    mbps: f64,
    shares: [Share; 2],
}

impl Pair {
    fn measure(place: &Place, settled: Times, times: Times) -> Self {
        let fixed = place.fixed(settled, times);
        let ours = *rate_control::find("minstrel").expect("it is in the list");
        let shares = [ours, LINUX].map(|own| Share::measure(place, own, times, fixed.mbps));
        Self { is_edge: fixed.is_edge, mbps: fixed.mbps, shares }
    }

    fn cells(&self) -> String {
        let [ours, linux] = self.shares.map(Share::shown);
        format!("{:.1} | {ours} | {linux}", self.mbps)
    }
}

/// The means of both over places.
fn mean_row(name: &str, pairs: &[&Pair]) -> String {
    let n = pairs.len() as f64;
    let mean = |i: usize| pairs.iter().map(|pair| pair.shares[i].mean).sum::<f64>() / n;
    let minimum = |i: usize| {
        let means = pairs.iter().map(|pair| pair.shares[i].mean);
        means.fold(f64::INFINITY, f64::min)
    };
    format!(
        "| {name} | {} | {:.1} | {:.1} | {:.1} | {:.1} |\n",
        pairs.len(),
        mean(0),
        mean(1),
        minimum(0),
        minimum(1)
    )
}

#[test]
#[ignore = "needs a program that `cargo xtask compare-minstrel` builds before it calls this"]
fn ours_carries_what_linux_does() {
    let mut table = String::from(
        "| PHY, streams, distance | still: best fixed rate, Mbps | ours, % | Linux, % | \
         walking: Mbps | ours, % | Linux, % |\n|---|---|---|---|---|---|---|\n",
    );
    let (mut still, mut walking) = (Vec::new(), Vec::new());
    for (place, faded) in grid(None).zip(grid(Some(WALKING))).filter(|(place, _)| place.is_ht()) {
        let pair = Pair::measure(&place, SETTLED, USUAL);
        let faded = Pair::measure(&faded, LONG, LONG);
        let edge = if pair.is_edge { " *" } else { "" };
        let cells = [pair.cells(), faded.cells()].join(" | ");
        let _ = writeln!(table, "| {}{edge} | {cells} |", place.title());
        still.push(pair);
        walking.push(faded);
    }
    let (edges, others): (Vec<&Pair>, Vec<&Pair>) = still.iter().partition(|pair| pair.is_edge);
    let walking: Vec<&Pair> = walking.iter().collect();
    table += "\n| places | how many | ours, mean % | Linux | ours, least % | Linux |\n\
              |---|---|---|---|---|---|\n";
    let parts =
        [("still, edge of a rate (*)", edges), ("still, others", others), ("walking", walking)];
    parts.iter().for_each(|(name, pairs)| table += &mean_row(name, pairs));
    fs::write(format!("{DIRECTORY}/table.md"), table).expect("the directory can be written");
    for (name, pairs) in parts {
        let mean = |i: usize| pairs.iter().map(|pair| pair.shares[i].mean).sum::<f64>();
        let gap = (mean(0) - mean(1)) / pairs.len() as f64;
        assert!(gap.abs() < 2.0, "{name}: ours carries {gap:+.1} % more than Linux's");
    }
}
