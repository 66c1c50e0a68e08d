//! `cargo xtask captures`: captures of real programs over paths with a known limit, made at both
//! ends, and the number of cases in which `fairwave trace` finds that limit.
//!
//! `captures/make.py` makes them in its own namespaces, which it removes afterwards. Its record of
//! the path (packets dropped, and the programs' own counters) is the reference.

use crate::packages;
use case::Case;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::shell::{Outcome, cargo, command, note, root, run_aside};
use xtask::workspace;

mod case;
mod page;

/// Options of `captures`.
#[derive(Args)]
pub(crate) struct Options {
    /// Directory of the captures (default: `captures` in the target directory).
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Judge existing captures, without making any.
    #[arg(long)]
    judge: bool,
}

/// Makes captures, judges them, and writes the page.
pub(crate) fn captures(options: &Options) -> Outcome {
    let default = || workspace::target().join("captures");
    let place = options.directory.clone().unwrap_or_else(default);
    if !options.judge {
        packages::captures()?;
        let script = root().join("benches/src/captures/make.py");
        run_aside(command("python3", &[&script.to_string_lossy(), &place.to_string_lossy()]))?;
    }
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    let program = workspace::target().join("release/fairwave");
    let cases = names(&place)?.into_iter().map(|name| Case::read(&program, &place, &name));
    let cases: Vec<Case> = cases.collect::<Result<_, _>>()?;
    if cases.is_empty() {
        return Err(format!("{} holds no captures", place.display()));
    }
    let page = root().join("results/captures.md");
    fs::write(&page, page::page(&cases)).map_err(|error| format!("{}: {error}", page.display()))?;
    note(&format!("{} captures judged: {}", 2 * cases.len(), page.display()));
    Ok(())
}

/// Names of the cases in a directory: each has a file with its reference.
fn names(place: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.strip_suffix(".json")?.to_owned())).collect();
    names.sort();
    Ok(names)
}
