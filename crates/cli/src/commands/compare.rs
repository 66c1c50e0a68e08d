//! `fairwave compare`: whether two sets of runs differ by more than chance.

use super::show;
use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use clap::Args;
use fairwave_lab::report::compare::CompareOutput;
use fairwave_lab::report::plot::digests;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairwave compare out/before out/after
  fairwave compare out/sweep/n=2 out/sweep/n=8 --metric goodput_mbps
  fairwave compare out/before out/after --page out/differences.html

Points of the same axes are compared, or the only points of both. Where both have the same seeds,
runs of one seed make a pair (Student's paired test); otherwise it is Welch's test. p (Holm) is
corrected for the number of comparisons; figures below 0.05 there differ.";

/// Test whether two sets of runs differ by more than chance
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// Directory of the first runs: of a sweep, of one of its points, or of one run
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Directory of the second runs
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Only compare this figure, such as flow.up.goodput_mbps; may be repeated [default: goodput,
    /// fairness, delay, loss and completion]
    #[arg(long, value_name = "FIGURE")]
    metric: Vec<String>,
    /// Also write the comparison as a page into this file
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Compares every figure that both sets have, or only the named ones.
pub(super) fn run(common: &Common, args: &Compare) -> Result<(), Failure> {
    let (first, second) = (digests(&args.first)?, digests(&args.second)?);
    let names = [&args.first, &args.second].map(|path| path.display().to_string());
    let found = CompareOutput::new(names, [&first, &second], &args.metric)?;
    let runs = [first.len(), second.len()];
    if let Some(file) = &args.page {
        show::write(&fairwave_show::of_comparison(&found, runs), file)?;
    }
    if common.json {
        return Ok(output::print_json(&json!(found))?);
    }
    output::print(&found.text(runs))?;
    if let Some(file) = &args.page {
        output::print(&format!("Page: {}\n", file.display()))?;
    }
    if !found.is_tested() {
        output::warn(
            "one run says nothing about chance: compare at least two runs of each that differ",
        );
    }
    Ok(())
}
