//! Figures and tables from the captures and summaries of the converter's experiments.

use super::experiments::{BLOCKING, FROM, LOAD, RADIO, RATE, TCP, UDP, WIRED};
use super::passages::Passages;
use fairwave_lab::run::Run;
use fairwave_lab::stats::{Estimate, mean};
use fairwave_study::measure::{over, ratio};
use fairwave_study::{Error, Results};

/// Both captures of the runs of one experiment from one kind of terminal.
pub(super) struct Point<'r> {
    pub(super) runs: Vec<&'r Run>,
    pub(super) passages: Vec<Passages>,
}

impl<'r> Point<'r> {
    pub(super) fn read(results: &'r Results, experiment: &str, from: &str) -> Result<Self, Error> {
        let runs = results.select(experiment, &[(FROM, from)]);
        let captures = |run: &&Run| Some((run.tap(from)?, run.tap("server")?));
        let pairs = runs.iter().filter_map(captures);
        let passages = pairs.map(|(sender, server)| Passages::between(&sender, &server));
        let passages = passages.collect::<Result<_, _>>()?;
        Ok(Self { runs, passages })
    }

    /// Over its runs, what is measured of each.
    pub(super) fn over(&self, value: impl Fn(&Passages) -> Option<f64>) -> Option<Estimate> {
        Estimate::of(&self.passages.iter().filter_map(value).collect::<Vec<_>>())
    }
}

/// Everything that the experiments show.
pub(super) struct Shown<'r> {
    pub(super) tcp: [Point<'r>; 2],
    pub(super) udp: [Point<'r>; 2],
    pub(super) loads: Vec<Load>,
    /// Share that arrived of what was sent as fast as the interface took it, and Mbps.
    pub(super) blocking: [Option<(Estimate, f64)>; 2],
}

/// Runs at one offered load.
pub(super) struct Load {
    pub(super) offered_mbps: f64,
    /// Share of the datagrams that arrived.
    pub(super) share: Estimate,
}

impl<'r> Shown<'r> {
    pub(super) fn read(results: &'r Results) -> Result<Self, Error> {
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

    /// Rate in Mbps of a station that has the radio itself, its interface never empty.
    pub(super) fn capacity_mbps(&self) -> Option<f64> {
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
pub(super) fn arrived(run: &Run) -> f64 {
    let flow = run.summary.flows.first();
    let received = flow.and_then(|flow| flow.datagrams.as_ref()).map_or(0, |d| d.received);
    ratio(received, flow.map_or(0, |flow| flow.sent_packets))
}

/// Goodput of the datagrams in Mbps.
pub(super) fn goodput_mbps(run: &Run) -> f64 {
    run.summary.flows.first().map_or(0.0, |flow| flow.goodput_bps as f64 / 1e6)
}
