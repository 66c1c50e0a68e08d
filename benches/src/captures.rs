//! `cargo xtask captures`: captures of real programs over paths with a known limit, made at both
//! ends, and the number of cases in which `fairwave trace` finds that limit.
//!
//! `captures/make.py` makes them in its own namespaces, which it removes afterwards. Its record of
//! the path (packets dropped, and the programs' own counters) is the reference.
//! `captures/public.py` compares counts of public captures with tshark's.

use crate::machine::words;
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
    /// Instead count the packets of public captures here and with tshark. The directory has a
    /// folder for each project that the captures are from.
    #[arg(long)]
    public: Option<PathBuf>,
}

/// Heading of the section about public captures, the last one of the page.
const PUBLIC: &str = "## Public captures\n";

/// Makes captures, judges them, and writes the page.
pub(crate) fn captures(options: &Options) -> Outcome {
    if let Some(place) = &options.public {
        return public(place);
    }
    let default = || workspace::target().join("captures");
    let place = options.directory.clone().unwrap_or_else(default);
    if !options.judge {
        packages::captures()?;
        let script = root().join("benches/src/captures/make.py");
        run_aside(command("python3", &[&script.to_string_lossy(), &place.to_string_lossy()]))?;
    }
    let program = built()?;
    let cases = names(&place)?.into_iter().map(|name| Case::read(&program, &place, &name));
    let cases: Vec<Case> = cases.collect::<Result<_, _>>()?;
    if cases.is_empty() {
        return Err(format!("{} holds no captures", place.display()));
    }
    let [_, public] = sections()?;
    write(&[&page::page(&cases), "\n", &public])?;
    note(&format!("{} captures judged", 2 * cases.len()));
    Ok(())
}

/// Compares the counts of public captures with tshark's, and writes that section of the page.
fn public(place: &Path) -> Outcome {
    packages::tshark()?;
    let program = built()?;
    let script = root().join("benches/src/captures/public.py");
    let args = [script.as_path(), &program, place].map(|path| path.to_string_lossy().into_owned());
    let section = words("python3", &args.each_ref().map(String::as_str))?;
    let [judged, _] = sections()?;
    write(&[&judged, section.trim_end(), "\n"])
}

/// Builds the program; returns its path.
fn built() -> Result<PathBuf, String> {
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    Ok(workspace::target().join("release/fairwave"))
}

fn page_path() -> PathBuf {
    root().join("results/captures.md")
}

/// The page up to the section about public captures, and that section.
fn sections() -> Result<[String; 2], String> {
    let page = page_path();
    let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let (judged, public) = text.split_at(text.find(PUBLIC).unwrap_or(text.len()));
    Ok([judged.trim_end().to_owned() + "\n\n", public.to_owned()])
}

fn write(parts: &[&str]) -> Outcome {
    let page = page_path();
    fs::write(&page, parts.concat().trim_end().to_owned() + "\n")
        .map_err(|error| format!("{}: {error}", page.display()))?;
    note(&format!("written: {}", page.display()));
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
