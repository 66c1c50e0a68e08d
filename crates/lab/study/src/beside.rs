//! A study on two hosts: its scenarios in the simulator, and in real time with a kernel's sockets.
//!
//! Both are judged by the same criteria, claim by claim. Runs that the kernel could not carry are
//! named, and not simulated in its place.

mod page;

pub mod terminal;

use crate::claim::{Claim, Verdict};
use crate::definition::Study;
use crate::evidence::NO_RUN;
use crate::findings::{Findings, ResultTable};
use crate::json::ClaimSummary;
use crate::markdown::result_table;
use crate::md::{table, text};
use crate::measure::NO_RUNS;
use crate::results::Results;
use crate::values::measurements;
use fairwave_units::several;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// Runs that the kernel did not carry, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The experiment.
    pub experiment: String,
    /// Number of its runs.
    pub runs: usize,
    /// Reason, as a sentence without a full stop.
    pub why: String,
}

/// The runs of a study on one host, and its findings.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The runs.
    pub results: Results,
    /// Claims, figures and tables of these runs.
    pub findings: Findings,
}

/// A study on both hosts.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The scenarios in the simulator.
    pub simulator: Judged,
    /// The same scenarios with the sockets of this machine's kernel.
    pub kernel: Judged,
    /// The kernel's release, such as `6.18.5`.
    pub release: String,
    /// Runs that the kernel did not carry.
    pub left_out: Vec<LeftOut>,
    /// Runs that were late, and were run once more for that.
    pub repeated: usize,
    /// Wall-clock time in seconds; none where runs were not made now.
    pub wall_s: Option<f64>,
}

/// Output of `fairwave reproduce --host emulate --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ReproduceBesideOutput")]
pub struct BesideSummary {
    /// Name of the study.
    pub study: &'static str,
    /// Always `emulate`: the kernel runs in real time, beside the simulator.
    pub host: &'static str,
    /// The kernel's release.
    pub kernel: String,
    /// Its claims, in the order of the paper, then questions of ours.
    pub claims: Vec<ClaimBeside>,
    /// Runs that the kernel did not carry.
    pub left_out: Vec<LeftOut>,
    /// Parts of the study that do not run in real time at all, and the reasons.
    pub not_emulated: &'static [&'static str],
    /// Runs on the kernel's sockets that are judged.
    pub runs: usize,
    /// Runs that were late, and were run once more for that.
    pub repeated: usize,
    /// Whether it was the quick form, with fewer seeds and shorter runs.
    pub quick: bool,
    /// Wall-clock time of both hosts together.
    pub wall_s: Option<f64>,
    /// Version of Fairwave.
    pub fairwave_version: &'static str,
}

/// A claim on both hosts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimBeside {
    /// Its identifier, such as `ACK-1`.
    pub id: &'static str,
    /// Its outcome in the simulator.
    pub simulator: ClaimSummary,
    /// Its outcome with the kernel's sockets.
    pub kernel: ClaimSummary,
}

impl Beside {
    /// The claims of both hosts, side by side, that of the simulator first; without those of which
    /// neither host measured anything.
    pub fn claims(&self) -> impl Iterator<Item = (&Claim, &Claim)> {
        self.pairs().filter(|(simulator, kernel)| !is_blank(simulator, kernel))
    }

    /// The tables of both hosts in one, the kernel's row below the simulator's; without rows and
    /// tables of which nothing was run.
    fn tables(&self) -> impl Iterator<Item = ResultTable> {
        let [simulator, kernel] = [&self.simulator, &self.kernel].map(|of| &of.findings.tables);
        let pairs = simulator.iter().zip(kernel);
        pairs.map(|(simulator, kernel)| both(simulator, kernel)).filter(|t| !t.rows.is_empty())
    }

    fn pairs(&self) -> impl Iterator<Item = (&Claim, &Claim)> {
        self.simulator.findings.claims.iter().zip(&self.kernel.findings.claims)
    }

    /// Returns the value that is printed as JSON.
    pub fn to_json(&self, study: &dyn Study) -> Value {
        let of = |(simulator, kernel): (&Claim, &Claim)| ClaimBeside {
            id: simulator.id,
            simulator: ClaimSummary::of(simulator),
            kernel: ClaimSummary::of(kernel),
        };
        json!(BesideSummary {
            study: study.name(),
            host: "emulate",
            kernel: self.release.clone(),
            claims: self.pairs().map(of).collect(),
            left_out: self.left_out.clone(),
            not_emulated: study.not_emulated(),
            runs: self.kernel.results.effort().runs,
            repeated: self.repeated,
            quick: self.kernel.results.quick,
            wall_s: self.wall_s,
            fairwave_version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// Returns the runs of both hosts, and those that were left out, in sentences.
    pub fn provenance(&self, study: &dyn Study) -> Vec<String> {
        let (kernel, simulator) = (self.kernel.results.effort(), self.simulator.results.effort());
        let mut sentences = vec![format!(
            "{} of {} s in all with the sockets of Linux {}, {}, and {} of the same scenarios in \
             the simulator with its stack linux-6; seeds {}.",
            several(kernel.runs, "run"),
            kernel.simulated_s(),
            self.release,
            self.order(study),
            several(simulator.runs, "run"),
            simulator.listed_seeds(),
        )];
        match self.repeated {
            0 => {}
            1 => sentences.push("1 run was late, and was run once more.".to_owned()),
            late => sentences.push(format!("{late} runs were late, and were run once more.")),
        }
        sentences.extend(self.left_out.iter().map(|left| {
            let LeftOut { experiment, why, .. } = left;
            format!("Left out: {} of {experiment}: {why}.", several(left.runs, "run"))
        }));
        let blank: Vec<&str> = self
            .pairs()
            .filter(|(simulator, kernel)| is_blank(simulator, kernel))
            .map(|(simulator, _)| simulator.id)
            .collect();
        if !blank.is_empty() {
            sentences.push(format!("Not judged, as nothing of it was run: {}.", blank.join(", ")));
        }
        sentences.extend(study.not_emulated().iter().map(|&why| why.to_owned()));
        sentences
    }

    /// The order of the runs on the kernel's sockets.
    fn order(&self, study: &dyn Study) -> String {
        let runs = self.kernel.results.runs.keys();
        let at_once = runs.map(|experiment| study.emulated_at_once(experiment)).max();
        match at_once.filter(|at_once| *at_once > 1) {
            None => "one after the other".to_owned(),
            Some(at_once) => format!("up to {at_once} at once where rates are low"),
        }
    }

    /// Returns the page in Markdown. `command` is the command line that gives such results. Times
    /// are of the machine, so that two such pages differ as two measurements do.
    pub fn markdown(&self, study: &dyn Study, command: &str) -> String {
        let header = ["Claim", "Simulator", "Kernel", "Statement"].map(str::to_owned);
        let verdicts = self.claims().map(|(simulator, kernel)| {
            let words = [simulator, kernel].map(|claim| claim.verdict.word().to_owned());
            let [simulator_word, kernel_word] = words;
            vec![simulator.id.to_owned(), simulator_word, kernel_word, text(simulator.statement)]
        });
        let mut page = format!(
            "# Study {} with a real kernel\n\n\
             Written by `{command} --markdown`; do not edit.\n\n{}.\n\n",
            study.name(),
            text(study.paper()),
        );
        page.extend(self.provenance(study).iter().map(|line| format!("- {}\n", text(line))));
        page.push_str(&format!("\n## Claims\n\n{}\n", table(&header, verdicts)));
        page.push_str("## How each verdict was reached\n\n");
        page.extend(self.claims().map(|(simulator, kernel)| reached(simulator, kernel)));
        page.push_str("## Results\n\nMeans with half widths of 95 % confidence intervals.\n\n");
        page.extend(self.tables().map(|table| result_table(&table)));
        page.truncate(page.trim_end().len());
        page.push('\n');
        page
    }
}

/// Joins two tables of the same results row by row; rows of the longer one stand at the end. Equal
/// tables depend on neither host, such as that of weights, and stand once.
fn both(simulator: &ResultTable, kernel: &ResultTable) -> ResultTable {
    if simulator == kernel {
        return simulator.clone();
    }
    let of = |host: &str, table: &ResultTable, at: usize| {
        let row = table.rows.get(at).filter(|row| was_run(row))?;
        Some(std::iter::once(host.to_owned()).chain(row.iter().cloned()).collect())
    };
    let longest = simulator.rows.len().max(kernel.rows.len());
    let pair = |at| [of("simulator", simulator, at), of("kernel", kernel, at)];
    let header = std::iter::once("Run by".to_owned()).chain(simulator.header.iter().cloned());
    ResultTable {
        title: simulator.title.clone(),
        header: header.collect(),
        rows: (0..longest).flat_map(pair).flatten().collect(),
    }
}

/// Whether more than half of a row's cells have values of runs.
fn was_run(row: &[String]) -> bool {
    2 * row.iter().filter(|cell| *cell == NO_RUNS).count() < row.len()
}

/// Whether neither host measured anything of a claim that decides it: it has no values, none that
/// is known, or no run of its experiments.
fn is_blank(simulator: &Claim, kernel: &Claim) -> bool {
    let lacks = |claim: &Claim| {
        let without_runs =
            matches!(&claim.verdict, Verdict::Undecided(why) if why.starts_with(NO_RUN));
        without_runs || claim.measured.values().all(Value::is_null)
    };
    lacks(simulator) && lacks(kernel)
}

/// Verdict, reason and measurements of a claim on each host.
fn reached(simulator: &Claim, kernel: &Claim) -> String {
    let line = |host: &str, claim: &Claim| {
        let reason = claim.verdict.reason().map(|why| format!(" ({})", text(why)));
        let values: Vec<String> = measurements(claim)
            .into_iter()
            .map(|(name, value)| format!("`{name}` {}", text(&value)))
            .collect();
        let (word, reason) = (claim.verdict.word(), reason.unwrap_or_default());
        let note = if values.is_empty() { String::new() } else { text(&claim.note) };
        format!("- {host}: {word}{reason}. {}. {note}\n", values.join(", "))
    };
    let criterion = format!("- Criterion: {}\n", text(&simulator.criterion));
    let lines = [line("Simulator", simulator), line("Kernel", kernel), criterion].concat();
    format!("### {}\n\n{lines}\n", simulator.id)
}

#[cfg(test)]
mod tests;
