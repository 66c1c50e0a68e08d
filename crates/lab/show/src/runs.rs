//! Pages of a run, of a sweep, and of a study, whose sweeps lie side by side.

use crate::page::{Content, Error, Group, Kind, Page, RunContent, Sheet, tables_in};
use fairwave_lab::lints::lints;
use fairwave_lab::points::{Digest, Point};
use fairwave_lab::report::{Refusal, answer};
use fairwave_lab::results::{Meta, Summary, read_meta, read_scenario, read_summary};
use fairwave_lab::run::root_of;
use fairwave_scenario::Scenario;
use fairwave_text::{mbps, millis};
use fairwave_units::several;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Maximum size of the tables in the page of a sweep. Of a larger one the first seeds are there,
/// and the means of all.
const MAX_SWEEP_BYTES: u64 = 48 << 20;

/// The page of the complete runs in `directory` and below it.
///
/// # Errors
/// If there is no run, or one cannot be read.
pub fn of_runs(directory: &Path) -> Result<Page, Error> {
    let found = Digest::read_all_with_places(directory)?;
    match &found[..] {
        [] => {
            let text = format!("{}: no complete run is there", directory.display());
            Err(Refusal::Results(text).into())
        }
        [(place, _)] => of_run(place),
        found => of_sweep(directory, found),
    }
}

fn of_run(place: &Path) -> Result<Page, Error> {
    let (meta, summary) = (&read_meta(place)?, &read_summary(place)?);
    let scenario = &read_scenario(place).unwrap_or_default();
    let mut page = Finished { meta, summary, scenario }.page(&place.display().to_string(), &[]);
    let mut run = std::mem::take(&mut page.content.runs[0]);
    page.add_tables(place, &mut run)?;
    page.content.runs[0] = run;
    Ok(page)
}

/// A complete run.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// Its origin.
    pub meta: &'a Meta,
    /// Its results.
    pub summary: &'a Summary,
    /// Its resolved scenario.
    pub scenario: &'a str,
}

impl Finished<'_> {
    /// The page of the run, which messages call `name`. `tables` are the names of its tables, in
    /// the order of their numbers; the page has none of their bytes.
    pub fn page(&self, name: &str, tables: &[String]) -> Page {
        let Self { meta, summary, .. } = self;
        let mut content = Content::new(Kind::Run);
        content.sheets = sheets(summary);
        let (seed, seconds) = (meta.seed.0.to_string(), seconds(summary));
        let mut run = RunContent { seed, seconds, ..RunContent::default() };
        run.axes.clone_from(&meta.axes);
        run.tables = tables.iter().cloned().zip(0..).collect();
        let (heading, mut facts) = heading(meta, self.scenario, name);
        facts.push(format!("seed {}", meta.seed.0));
        facts.extend(meta.axes.iter().map(|(key, value)| format!("{key} = {value}")));
        facts.push(format!(
            "{} s, of which the last {} s are measured",
            run.seconds,
            summary.measured_ns as f64 / 1e9
        ));
        let mut answer = answer::of_run(summary);
        answer.extend(lints(summary).into_iter().map(|lint| format!("Caution: {}.", lint.text)));
        content.runs.push(run);
        Page { heading, answer, facts, content, tables: Vec::new() }
    }
}

fn of_sweep(directory: &Path, found: &[(PathBuf, Digest)]) -> Result<Page, Error> {
    let (first, _) = &found[0];
    let text = read_scenario(first).unwrap_or_default();
    let (heading, mut facts) = heading(&read_meta(first)?, &text, &first.display().to_string());
    let mut content = Content::new(Kind::Sweep);
    let mut names: Vec<String> = Vec::new();
    let groups: Vec<usize> = found
        .iter()
        .map(|(place, digest)| {
            let name = group_of(directory, place, digest);
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        })
        .collect();
    for (number, name) in names.into_iter().enumerate() {
        let of_it = groups.iter().zip(found).filter(|(group, _)| **group == number);
        let runs: Vec<Digest> = of_it.map(|(_, (_, digest))| digest.clone()).collect();
        content.groups.push(Group { name, points: Point::all(&runs) });
    }
    facts.push(several(found.len() as u64, "run"));
    let points: u64 = content.groups.iter().map(|group| group.points.len() as u64).sum();
    facts.push(several(points, "point"));
    let is_study = content.groups.len() > 1;
    let heading = if is_study { format!("Results in {}", directory.display()) } else { heading };
    let answer: Vec<String> = match &content.groups[..] {
        [group] => answer::of_points(&group.points),
        groups => vec![format!("{} side by side.", several(groups.len() as u64, "sweep"))],
    };
    let mut page = Page { heading, answer, facts, content, tables: Vec::new() };
    let kept = kept(found)?;
    for ((place, digest), group) in
        found.iter().zip(groups).filter(|(run, _)| kept.contains(run.0.as_path()))
    {
        let seconds = seconds(&read_summary(place)?);
        let axes = digest.axes.iter().cloned().collect();
        let seed = digest.seed.to_string();
        let mut run = RunContent { group, axes, seed, seconds, ..RunContent::default() };
        page.add_tables(place, &mut run)?;
        page.content.runs.push(run);
    }
    if kept.len() < found.len() {
        page.facts.push(format!("tables of {} of the runs", kept.len()));
    }
    Ok(page)
}

/// The runs whose tables fit: the first seed of each point, then the second, as far as there is
/// room.
fn kept(found: &[(PathBuf, Digest)]) -> Result<BTreeSet<&Path>, Error> {
    let mut order = ranked(found);
    order.sort_by_key(|(rank, _)| *rank);
    let mut room = MAX_SWEEP_BYTES;
    let mut kept = BTreeSet::new();
    for (_, place) in order {
        let mut size = 0;
        for (_, path) in tables_in(place)? {
            size += std::fs::metadata(path)?.len();
        }
        let Some(left) = room.checked_sub(size) else { break };
        room = left;
        kept.insert(place);
    }
    Ok(kept)
}

/// Each run directory with its number among the runs of its point.
fn ranked(found: &[(PathBuf, Digest)]) -> Vec<(usize, &Path)> {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    let mut ranked = Vec::new();
    for (place, digest) in found {
        let count = counts.entry((place.parent(), &digest.axes)).or_default();
        ranked.push((*count, place.as_path()));
        *count += 1;
    }
    ranked
}

/// The name of the sweep of a run: its path without the directories of its point and its seed.
fn group_of(directory: &Path, place: &Path, digest: &Digest) -> String {
    let inner = place.strip_prefix(directory).unwrap_or(place);
    root_of(inner, &digest.axes, digest.seed).to_string_lossy().into_owned()
}

/// The question of a run's scenario, or its title; and, in the first case, the title as a fact.
fn heading(meta: &Meta, text: &str, name: &str) -> (String, Vec<String>) {
    let title = Scenario::parse("scenario.toml", text).map(|found| found.title).unwrap_or_default();
    match (meta.question.is_empty(), title.is_empty()) {
        (false, false) => (meta.question.clone(), vec![title]),
        (false, true) => (meta.question.clone(), Vec::new()),
        (true, false) => (title, Vec::new()),
        (true, true) => (format!("Run in {name}"), Vec::new()),
    }
}

fn seconds(summary: &Summary) -> f64 {
    summary.simulated_ns as f64 / 1e9
}

/// The flows of a run, in numbers.
fn sheets(summary: &Summary) -> Vec<Sheet> {
    let heads = [
        "flow",
        "Mbps",
        "packets",
        "retransmitted",
        "timeouts",
        "ACKs lost",
        "median ms",
        "p99 ms",
    ];
    let or_dash = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), millis);
    let row = |flow: &fairwave_lab::results::FlowSummary| {
        vec![
            flow.name.clone(),
            mbps(flow.goodput_bps),
            flow.sent_packets.to_string(),
            flow.retransmissions.to_string(),
            flow.timeouts.to_string(),
            flow.acks_dropped.to_string(),
            or_dash(flow.delay.as_ref().map(|delay| delay.p50_ns)),
            or_dash(flow.delay.as_ref().map(|delay| delay.p99_ns)),
        ]
    };
    vec![Sheet {
        title: "Flows in the measured span".to_owned(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: summary.flows.iter().map(row).collect(),
        note: None,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comparison of each run with all before it would take minutes.
    #[test]
    fn runs_of_a_large_sweep_are_ranked_in_one_pass() {
        let run = |point: usize, seed: u64| {
            let place = PathBuf::from(format!("out/n={point}/seed-{seed}"));
            let axes = vec![("n".to_owned(), point.to_string())];
            (place, Digest { axes, seed, is_simulated: true, metrics: Vec::new() })
        };
        let found: Vec<(PathBuf, Digest)> =
            (0..10_000).flat_map(|point| [1, 2, 3].map(|seed| run(point, seed))).collect();
        let ranks: Vec<usize> = ranked(&found).into_iter().map(|(rank, _)| rank).collect();
        assert_eq!(ranks.len(), found.len());
        assert!(ranks.chunks(3).all(|ranks| ranks == [0, 1, 2]));
    }
}
