//! What an Ethernet converter does to the packets of one sender: section 5 of the paper.
//!
//! As the paper does, captures at the terminal and at the wired host are laid side by side.
//! Beside each run through a converter stands one of a station that has the radio itself.

mod claims;
mod figures;
mod passages;

use fairwave_lab::run::Run;
use fairwave_lab::stats::{Estimate, mean};
use fairwave_study::measure::{over, ratio};
use fairwave_study::{Error, Experiment, Findings, Results};
use passages::Passages;

const TCP: &str = "converter-tcp";
const UDP: &str = "converter-udp";
const LOAD: &str = "converter-load";
const BLOCKING: &str = "converter-blocking";
const FROM: &str = "flow.up.from";
const RATE: &str = "flow.up.rate";
/// A terminal behind a converter, and one that has the radio itself.
const WIRED: &str = "pc";
const RADIO: &str = "sta";

pub(super) const TCP_EXPERIMENT: Experiment = Experiment {
    name: TCP,
    file: "studies/fairness/converter-tcp.toml",
    text: include_str!("../../../../../studies/fairness/converter-tcp.toml"),
    quick: &["sweep.seeds=1"],
    series: true,
};
pub(super) const UDP_EXPERIMENT: Experiment = Experiment {
    name: UDP,
    file: "studies/fairness/converter-udp.toml",
    text: include_str!("../../../../../studies/fairness/converter-udp.toml"),
    quick: &["sweep.seeds=1"],
    series: true,
};
pub(super) const LOAD_EXPERIMENT: Experiment = Experiment {
    name: LOAD,
    file: "studies/fairness/converter-load.toml",
    text: include_str!("../../../../../studies/fairness/converter-load.toml"),
    quick: &["sweep.seeds=1"],
    series: false,
};
pub(super) const BLOCKING_EXPERIMENT: Experiment = Experiment {
    name: BLOCKING,
    file: "studies/fairness/converter-blocking.toml",
    text: include_str!("../../../../../studies/fairness/converter-blocking.toml"),
    quick: &["sweep.seeds=1"],
    series: false,
};

/// Both captures of the runs of one experiment from one kind of terminal.
struct Point<'r> {
    runs: Vec<&'r Run>,
    passages: Vec<Passages>,
}

impl<'r> Point<'r> {
    fn read(results: &'r Results, experiment: &str, from: &str) -> Result<Self, Error> {
        let runs = results.select(experiment, &[(FROM, from)]);
        let captures = |run: &&Run| Some((run.tap(from)?, run.tap("server")?));
        let pairs = runs.iter().filter_map(captures);
        let passages = pairs.map(|(sender, server)| Passages::between(&sender, &server));
        let passages = passages.collect::<Result<_, _>>()?;
        Ok(Self { runs, passages })
    }

    /// Over its runs, what is measured of each.
    fn over(&self, value: impl Fn(&Passages) -> Option<f64>) -> Option<Estimate> {
        Estimate::of(&self.passages.iter().filter_map(value).collect::<Vec<_>>())
    }
}

/// Everything that the experiments show.
struct Shown<'r> {
    tcp: [Point<'r>; 2],
    udp: [Point<'r>; 2],
    loads: Vec<Load>,
    /// Share that arrived of what was sent as fast as the interface took it, and Mbps.
    blocking: [Option<(Estimate, f64)>; 2],
}

/// Runs at one offered load.
struct Load {
    offered_mbps: f64,
    /// Share of the datagrams that arrived.
    share: Estimate,
}

impl<'r> Shown<'r> {
    fn read(results: &'r Results) -> Result<Self, Error> {
        let points = |experiment| -> Result<[Point<'r>; 2], Error> {
            let [wired, radio] = [WIRED, RADIO].map(|from| Point::read(results, experiment, from));
            Ok([wired?, radio?])
        };
        Ok(Self {
            tcp: points(TCP)?,
            udp: points(UDP)?,
            loads: loads(results),
            blocking: [WIRED, RADIO].map(|from| blocking(results, from)),
        })
    }

    /// What a station that has the radio itself sends in Mbps, its interface never empty.
    fn capacity_mbps(&self) -> Option<f64> {
        self.blocking[1].map(|(_, mbps)| mbps)
    }
}

fn loads(results: &Results) -> Vec<Load> {
    let load = |rate: &String| {
        let offered_mbps = rate.split(' ').next()?.parse().ok()?;
        let share = over(&results.select(LOAD, &[(RATE, rate)]), arrived)?;
        Some(Load { offered_mbps, share })
    };
    results.axis(LOAD, RATE).iter().filter_map(load).collect()
}

fn blocking(results: &Results, from: &str) -> Option<(Estimate, f64)> {
    let runs = results.select(BLOCKING, &[(FROM, from)]);
    let mbps: Vec<f64> = runs.iter().map(|run| goodput_mbps(run)).collect();
    Some((over(&runs, arrived)?, mean(&mbps)?))
}

/// Datagrams received of those sent.
fn arrived(run: &Run) -> f64 {
    let flow = run.summary.flows.first();
    let received = flow.and_then(|flow| flow.datagrams.as_ref()).map_or(0, |d| d.received);
    ratio(received, flow.map_or(0, |flow| flow.sent_packets))
}

fn goodput_mbps(run: &Run) -> f64 {
    run.summary.flows.first().map_or(0.0, |flow| flow.goodput_bps as f64 / 1e6)
}

/// Judges and draws, from captures and summaries.
pub(super) fn findings(results: &Results) -> Result<Findings, Error> {
    let shown = Shown::read(results)?;
    Ok(Findings {
        claims: claims::all(&shown),
        exhibits: figures::exhibits(&shown),
        tables: figures::tables(&shown),
        explanations: claims::explanations(&shown),
    })
}

#[cfg(test)]
mod tests;
