//! The page results/performance.md.

use super::cost::Cost;
use crate::callgrind::{Events, LINE_BYTES};
use std::collections::{BTreeMap, BTreeSet};

/// Parts with fewer instructions a frame than this in each case are one row.
const MIN_INSTRUCTIONS: f64 = 40.0;

/// Text before the tables.
const HEAD: &str = "# Instructions of a frame, and how they grow

Made by `cargo xtask budget` from {commit}, compiled by {rustc}: scenarios of two durations under
callgrind, the difference divided by the frames on the air. The simulated caches have 32 KiB (L1)
and 8 MiB (last level). [docs/performance.md](../docs/performance.md) explains the tables.

## A frame

";

/// File name of a case's flame graph, beside the page.
pub(super) fn flame(case: &str) -> String {
    let words = case.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("flame-{}.svg", words.join("-").to_lowercase())
}

/// The whole page.
pub(super) fn page(
    commit: &str,
    rustc: &str,
    budgets: &[Cost],
    growth: &[(&'static str, Vec<Cost>)],
) -> String {
    let flame = |cost: &Cost| format!("[{}]({})", cost.name, flame(&cost.name));
    let flames: Vec<String> = budgets.iter().map(flame).collect();
    let rustc: Vec<&str> = rustc.split(' ').take(2).collect();
    let head = HEAD.replace("{commit}", commit).replace("{rustc}", &rustc.join(" "));
    let growth = growth.iter().map(|(title, costs)| grown(title, costs));
    let growth: String = growth.collect();
    let flames = flames.join(", ");
    format!("{head}{}\nFlame graphs: {flames}.\n\n## Growth\n\n{growth}", budget(budgets))
}

/// Instructions a frame by part of the program, a column for each case.
fn budget(costs: &[Cost]) -> String {
    let all: Vec<BTreeMap<String, Events>> = costs.iter().map(Cost::parts).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let of = |name: &str| -> Vec<f64> {
        let each = costs.iter().zip(&all);
        let count =
            |parts: &BTreeMap<String, Events>| parts.get(name).map_or(0, |e| e.instructions);
        each.map(|(cost, parts)| cost.per_frame(count(parts))).collect()
    };
    let mut rows: Vec<(&str, Vec<f64>)> =
        names.iter().map(|name| (name.as_str(), of(name))).collect();
    rows.sort_by(|a, b| b.1.iter().sum::<f64>().total_cmp(&a.1.iter().sum()));
    let (large, small): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(_, counts)| counts.iter().any(|c| *c >= MIN_INSTRUCTIONS));
    let rest = (0..costs.len()).map(|at| small.iter().map(|(_, counts)| counts[at]).sum());
    let count = |of: &dyn Fn(&Cost) -> u64| -> Vec<f64> {
        costs.iter().map(|cost| cost.per_frame(of(cost))).collect()
    };
    let mut text = header("instructions a frame", costs);
    large.iter().for_each(|(name, counts)| text += &row(name, counts));
    text += &row("all others", &rest.collect::<Vec<f64>>());
    text += &row("**all**", &count(&|cost| cost.sum().instructions));
    text.push('\n');
    text += &header("memory, a frame", costs);
    text += &row("reads and writes", &count(&|cost| cost.sum().accesses));
    text += &row("bytes from beyond L1", &count(&|cost| cost.sum().l1_misses * LINE_BYTES));
    text +=
        &row("bytes from main memory", &count(&|cost| cost.sum().last_level_misses * LINE_BYTES));
    let heap: Vec<String> =
        costs.iter().map(|c| format!("{:.2}", c.per_frame(c.heap_calls()))).collect();
    text + &format!("| heap operations | {} |\n", heap.join(" | "))
}

fn header(first: &str, costs: &[Cost]) -> String {
    let names: Vec<&str> = costs.iter().map(|cost| cost.name.as_str()).collect();
    format!("| {first} | {} |\n|---|{}\n", names.join(" | "), "---:|".repeat(names.len()))
}

fn row(name: &str, counts: &[f64]) -> String {
    let counts: Vec<String> = counts.iter().map(|count| format!("{count:.0}")).collect();
    format!("| {name} | {} |\n", counts.join(" | "))
}

/// How the cost of a frame changes along one axis, with the ratio to the first case.
fn grown(title: &str, costs: &[Cost]) -> String {
    let each: Vec<f64> = costs.iter().map(|c| c.per_frame(c.sum().instructions)).collect();
    let ratios: Vec<String> = each.iter().map(|e| format!("{:.2}", e / each[0])).collect();
    let bytes: Vec<f64> =
        costs.iter().map(|c| c.per_frame(c.sum().l1_misses * LINE_BYTES)).collect();
    let mut text = header(title, costs) + &row("instructions a frame", &each);
    text += &format!("| to the first | {} |\n", ratios.join(" | "));
    text + &row("bytes from beyond L1", &bytes) + "\n"
}
