//! `cargo xtask bench-shake`: SHAKE by the code of `fairwave shake`, and the kernel's MPTCP,
//! alternately over the same emulated paths.

mod combinations;
mod links;
mod measured;
mod page;

use crate::machine::{conditions, load};
use clap::Args;
use combinations::{Combination, all};
use measured::{Carrier, measured};
use page::Row;
use std::collections::BTreeMap;
use std::fs;
use xtask::shell::{Outcome, cargo, note, root, run_aside};

/// Options of `bench-shake`.
#[derive(Args)]
pub(crate) struct Options {
    /// Write results/emulated/shake-paths.md and its CSV.
    #[arg(long)]
    record: bool,
    /// Measure only combinations whose name contains this text.
    #[arg(long)]
    only: Option<String>,
    /// Instead: pauses when a link fails, processor time and memory, over two veth pairs; --record
    /// adds them to benches/runs/DATE-shake.md.
    #[arg(long, conflicts_with = "only")]
    links: bool,
}

/// Measures all combinations, and prints or records the page.
pub(crate) fn bench(options: &Options) -> Outcome {
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    if options.links {
        return links::bench(options.record);
    }
    let before = load();
    let is_chosen = |one: &Combination| options.only.as_ref().is_none_or(|w| one.name.contains(w));
    let chosen: Vec<Combination> = all().into_iter().filter(is_chosen).collect();
    let mut alone = BTreeMap::new();
    let mut rows = Vec::new();
    for (number, one) in (1..).zip(&chosen) {
        note(&format!("bench-shake: {number} of {}: {}", chosen.len(), one.name));
        for carrier in Carrier::ALL {
            let together = measured(one, &one.lines, carrier)?;
            let mut singles = Vec::new();
            for line in &one.lines {
                let key = (carrier, one.key(line));
                if !alone.contains_key(&key) {
                    alone.insert(key.clone(), measured(one, &[*line], carrier)?);
                }
                singles.push(alone[&key].clone());
            }
            rows.push(Row { combination: one.clone(), carrier, together, singles });
        }
    }
    let facts = conditions(&before)?;
    let (page, csv) = (page::page(&facts, &rows), page::csv(&rows));
    println!("{page}");
    if options.record {
        for (name, text) in [("shake-paths.md", &page), ("shake-paths.csv", &csv)] {
            let file = root().join("results/emulated").join(name);
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
            note(&format!("wrote {}", file.display()));
        }
    }
    Ok(())
}
