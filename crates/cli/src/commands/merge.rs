//! `fairwave merge`: run directories of several machines, joined.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use crate::place::{self, Before};
use clap::Args;
use fairwave_lab::merge::{self, MergeOutput};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairwave merge out/part-* --out out/whole
  fairwave sweep scenarios/ack-loss.toml --out out/whole --resume

The parts are those of `fairwave sweep --shard`. The second command reads the runs that are there
and shows the means of the whole sweep.";

/// Join the run directories that parts of a sweep left
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// Directories of the parts
    #[arg(required = true, value_name = "DIR")]
    parts: Vec<PathBuf>,
}

/// Copies the runs of all parts into `--out`.
pub(super) fn run(common: &Common, args: &Merge) -> Result<(), Failure> {
    if common.out.is_none() {
        return Err(Failure::Usage("merge needs --out DIR, the directory of the whole".to_owned()));
    }
    let whole = place::choose_with(common, "merged", Before::Results)?;
    let merged = merge::merge(&args.parts, whole.path()).map_err(Failure::run)?;
    if common.json {
        return Ok(output::print_json(&json!(merged))?);
    }
    let MergeOutput { copied, already, warnings } = merged;
    let place = whole.path().display();
    let there = if already > 0 { format!("; {already} were there already") } else { String::new() };
    output::print(&format!("{copied} runs joined in {place}{there}\n"))?;
    warnings.iter().for_each(|warning| output::warn(warning));
    Ok(())
}
