//! Converts rounds to medians, and these to a table, JSON and a dated section.

use super::growth::Growth;
use super::measure::Round;
use super::pairs::Pair;
use super::spread::{Spread, aligned};
use serde_json::{Value, json};

/// A case's figures.
pub(crate) struct Case {
    title: &'static str,
    target: f64,
    theirs: Spread,
    ours: Spread,
    frames_per_s: Spread,
    events_per_s: Spread,
}

/// The machine and the builds.
pub(crate) struct Conditions {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) load_before: String,
    pub(crate) load_after: String,
    pub(crate) ns3: String,
    pub(crate) rustc: String,
    pub(crate) compiler: String,
    pub(crate) commit: String,
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
}

impl Case {
    /// The figures from at least one round.
    pub(crate) fn new(pair: &Pair, rounds: &[Round]) -> Self {
        let over = |figure: fn(&Round) -> f64| Spread::of(rounds.iter().map(figure));
        Self {
            title: pair.title,
            target: pair.target,
            theirs: over(|round| round.theirs),
            ours: over(|round| round.ours),
            frames_per_s: over(|round| round.frames_per_s),
            events_per_s: over(|round| round.events_per_s),
        }
    }

    fn ratio(&self) -> f64 {
        self.theirs.median() / self.ours.median()
    }

    fn ns_per_frame(&self) -> f64 {
        1e9 / self.frames_per_s.median()
    }

    fn row(&self) -> [String; 8] {
        [
            self.title.to_owned(),
            self.theirs.shown(2),
            self.ours.shown(4),
            format!("{:.0}", self.ratio()),
            format!("{:.0}", self.target),
            format!("{:.0}", self.frames_per_s.median()),
            format!("{:.0}", self.ns_per_frame()),
            format!("{:.0}", self.events_per_s.median()),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "case": self.title,
            "ns3_cpu_s_per_simulated_s": self.theirs.json(),
            "ours_cpu_s_per_simulated_s": self.ours.json(),
            "ratio": self.ratio(),
            "target": self.target,
            "ours_frames_per_cpu_s": self.frames_per_s.json(),
            "ours_ns_per_frame": self.ns_per_frame(),
            "ours_events_per_cpu_s": self.events_per_s.json(),
        })
    }
}

/// Heads of the table's columns.
const HEADS: [&str; 8] = [
    "case",
    "ns-3, CPU s per simulated s",
    "ours",
    "ratio",
    "target",
    "our frames per CPU s",
    "ns per frame",
    "our events per CPU s",
];

/// Medians with ranges in brackets, as Markdown that is also aligned on a terminal.
pub(crate) fn table(cases: &[Case]) -> String {
    let rows: Vec<_> = cases.iter().map(Case::row).collect();
    aligned(&HEADS.map(str::to_owned), &rows)
}

/// A paragraph on the conditions of the measurement.
pub(crate) fn reported(conditions: &Conditions) -> String {
    let c = conditions;
    format!(
        "{}, {} cores, load average {} before and {} after, of which these runs are 1.\n\
         Ours: commit {}, {}, release profile.\n\
         ns-3: Debian's libns3-dev {}, programs built by g++ {} -O3.\n\
         User CPU time; median (range) of {} rounds, ns-3 for {} s of traffic each.\n",
        c.processor,
        c.cores,
        c.load_before,
        c.load_after,
        c.commit,
        c.rustc,
        c.ns3,
        c.compiler,
        c.rounds,
        c.seconds,
    )
}

/// The section that `--record` appends.
pub(crate) fn section(cases: &[Case], growth: &Growth, conditions: &Conditions) -> String {
    let (commit, reported) = (&conditions.commit, reported(conditions));
    format!("## Commit {commit}\n\n{reported}\n{}\n{}", table(cases), growth.table())
}

/// The output of `--json`.
pub(crate) fn json(cases: &[Case], growth: &Growth, conditions: &Conditions) -> Value {
    let c = conditions;
    json!({
        "cases": cases.iter().map(Case::json).collect::<Vec<_>>(),
        "growth": growth.json(),
        "processor": c.processor,
        "cores": c.cores,
        "load_before": c.load_before,
        "load_after": c.load_after,
        "commit": c.commit,
        "rustc": c.rustc,
        "ns3": c.ns3,
        "compiler": c.compiler,
        "rounds": c.rounds,
        "ns3_seconds": c.seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> Case {
        let round = |theirs, ours| Round { theirs, ours, frames_per_s: 5e5, events_per_s: 1e6 };
        let rounds = [round(0.9, 0.004), round(0.7, 0.002), round(0.8, 0.005)];
        Case::new(&super::super::pairs::PAIRS[0], &rounds)
    }

    #[test]
    fn the_ratio_is_of_the_medians() {
        let row = case().row();
        assert_eq!(row[1], "0.80 (0.70-0.90)");
        assert_eq!(row[2], "0.0040 (0.0020-0.0050)");
        assert_eq!(row[3..], ["200", "100", "500000", "2000", "1000000"]);
        assert_eq!(case().json()["ours_ns_per_frame"], 2000.0);
    }

    #[test]
    fn a_tables_lines_are_equally_long() {
        let table = table(&[case()]);
        let widths: Vec<usize> = table.lines().map(str::len).collect();
        assert_eq!(widths, [widths[0]; 3], "\n{table}");
    }
}
