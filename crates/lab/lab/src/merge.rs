//! Run directories of several machines, joined into one tree.

use crate::results::{self, Error, is_damaged};
use crate::run::Shard;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest number of parts that a warning names.
const SHOWN: usize = 10;
/// Beginning of the names of files that record parts.
const SHARD: &str = "shard-";

/// Result of a merge: the output of `fairwave merge --json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MergeOutput {
    /// Runs that were copied.
    pub copied: usize,
    /// Runs that were there, with the same scenario and summary.
    pub already: usize,
    /// Parts that had no run, runs that are damaged, and parts that are missing.
    pub warnings: Vec<String>,
}

/// Copies every complete run below the directories `parts` to the same place below `whole`. Its
/// summary, which makes a run complete, is copied last. A damaged run counts as missing: it is
/// replaced in `whole`, and named in a part.
///
/// # Errors
/// No part with a run, two different runs for one place, or a file that cannot be copied.
pub fn merge(parts: &[PathBuf], whole: &Path) -> Result<MergeOutput, Error> {
    fs::create_dir_all(whole).map_err(Error::io(whole))?;
    let (mut merged, mut empty) = (MergeOutput::default(), Vec::new());
    for part in parts {
        let runs = results::run_directories(part)?;
        if runs.is_empty() {
            empty.push(part.display().to_string());
        }
        for run in runs {
            if is_damaged(&run) {
                merged.warnings.push(format!("{}: a damaged run, left out", run.display()));
                continue;
            }
            let place = whole.join(run.strip_prefix(part).unwrap_or(&run));
            match place.join(SUMMARY).exists() && !is_damaged(&place) {
                true if is_same(&run, &place)? => merged.already += 1,
                true => {
                    let other = place.display();
                    return Err(wrong(&run, format!("another run than that in {other}")));
                }
                false => {
                    copy(&run, &place)?;
                    merged.copied += 1;
                }
            }
        }
        for shard in recorded(part)? {
            record(shard, whole)?;
        }
    }
    match parts {
        [part, ..] if empty.len() == parts.len() => {
            return Err(wrong(part, "no complete run is here or in another part".to_owned()));
        }
        _ if empty.is_empty() => {}
        _ => merged.warnings.push(format!("no complete run is in {}", empty.join(", "))),
    }
    merged.warnings.extend(missing(&recorded(whole)?));
    Ok(merged)
}

/// Records in the directory of a part of a sweep that all of its runs were made.
///
/// # Errors
/// If the file cannot be written.
pub fn record(shard: Shard, directory: &Path) -> Result<(), Error> {
    results::write_file(&directory.join(name_of(shard)), b"")
}

fn name_of(shard: Shard) -> String {
    format!("{SHARD}{}-of-{}", shard.number, shard.of)
}

/// Removes the records of parts from a directory whose runs may be replaced.
///
/// # Errors
/// If the directory cannot be read, or a record cannot be removed.
pub fn forget(directory: &Path) -> Result<(), Error> {
    for shard in recorded(directory)? {
        let file = directory.join(name_of(shard));
        fs::remove_file(&file).map_err(Error::io(&file))?;
    }
    Ok(())
}

/// The parts of a sweep that [`record`] recorded in a directory.
fn recorded(directory: &Path) -> Result<Vec<Shard>, Error> {
    let mut shards = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::io(directory))? {
        let name = entry.map_err(Error::io(directory))?.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix(SHARD));
        shards.extend(numbers.and_then(|text| text.replace("-of-", "/").parse::<Shard>().ok()));
    }
    Ok(shards)
}

/// A warning about parts without a record. Of a sweep that was divided in several ways, none.
fn missing(shards: &[Shard]) -> Option<String> {
    let of = shards.first()?.of;
    if shards.iter().any(|shard| shard.of != of) {
        return None;
    }
    let there: BTreeSet<usize> = shards.iter().map(|shard| shard.number).collect();
    let absent = (1..=of).filter(|number| !there.contains(number));
    let absent: Vec<usize> = absent.take(SHOWN + 1).collect();
    (!absent.is_empty()).then(|| {
        let shown: Vec<String> = absent.iter().take(SHOWN).map(usize::to_string).collect();
        let more = if absent.len() > SHOWN { ", ..." } else { "" };
        let list = shown.join(", ");
        format!("of {of} parts, these are missing or not complete: {list}{more}")
    })
}

const SUMMARY: &str = "summary.json";

fn wrong(path: &Path, what: String) -> Error {
    Error::Content { path: path.to_owned(), what }
}

/// Whether two runs have the same scenario and the same results.
fn is_same(one: &Path, other: &Path) -> Result<bool, Error> {
    for name in ["scenario.toml", SUMMARY] {
        let read = |place: &Path| {
            let file = place.join(name);
            fs::read(&file).map_err(Error::io(&file))
        };
        if read(one)? != read(other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn copy(run: &Path, place: &Path) -> Result<(), Error> {
    fs::create_dir_all(place).map_err(Error::io(place))?;
    let mut files = Vec::new();
    for entry in fs::read_dir(run).map_err(Error::io(run))? {
        let file = entry.map_err(Error::io(run))?.path();
        if file.is_file() {
            files.push(file);
        }
    }
    files.sort_by_key(|file| file.ends_with(SUMMARY));
    for file in files {
        let to = place.join(file.file_name().unwrap_or_default());
        // A killed merge leaves no incomplete file of this name.
        let mut original = fs::File::open(&file).map_err(Error::io(&file))?;
        results::write_file_from(&to, &mut original)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error;

    fn run_in(place: &Path, summary: &str) -> Result<(), Box<dyn error::Error>> {
        fs::create_dir_all(place)?;
        fs::write(place.join("scenario.toml"), "seed = 1")?;
        fs::write(place.join("meta.json"), "{}")?;
        fs::write(place.join(SUMMARY), format!("\"{summary}\""))?;
        Ok(())
    }

    fn joined(copied: usize, already: usize) -> MergeOutput {
        MergeOutput { copied, already, warnings: Vec::new() }
    }

    #[test]
    fn parts_become_a_whole_once() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, b, whole] = ["a", "b", "whole"].map(|name| place.path().join(name));
        run_in(&a.join("n=1/seed-1"), "one")?;
        run_in(&b.join("n=1/seed-2"), "two")?;
        fs::create_dir_all(b.join("n=1/seed-3"))?;
        let parts = [a.clone(), b];
        assert_eq!(merge(&parts, &whole)?, joined(2, 0));
        assert_eq!(fs::read_to_string(whole.join("n=1/seed-2").join(SUMMARY))?, "\"two\"");
        assert!(!whole.join("n=1/seed-3").exists(), "a run that is not complete");
        assert_eq!(merge(&parts, &whole)?, joined(0, 2));

        run_in(&a.join("n=1/seed-1"), "changed")?;
        let refused = merge(&parts, &whole).expect_err("two runs for one place");
        assert!(refused.to_string().contains("another run than that in"), "{refused}");
        let empty = place.path().join("empty");
        fs::create_dir_all(&empty)?;
        let refused = merge(&[empty], &whole).expect_err("nothing to join");
        assert!(refused.to_string().contains("no complete run"), "{refused}");
        Ok(())
    }

    /// Parts of a sweep of two runs, the third of which was lost at first.
    #[test]
    fn parts_without_runs_and_lost_parts_are_named() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, b, c, whole] = ["a", "b", "c", "whole"].map(|name| place.path().join(name));
        run_in(&a.join("seed-1"), "one")?;
        run_in(&c.join("seed-2"), "two")?;
        fs::create_dir_all(&b)?;
        for (part, number) in [(&a, "1/4"), (&b, "4/4")] {
            record(number.parse()?, part)?;
        }
        let merged = merge(&[a.clone(), b.clone()], &whole)?;
        assert_eq!((merged.copied, merged.already), (1, 0));
        let empty = format!("no complete run is in {}", b.display());
        let missing = "of 4 parts, these are missing or not complete: 2, 3".to_owned();
        assert_eq!(merged.warnings, [empty, missing]);

        record("2/4".parse()?, &c)?;
        let merged = merge(std::slice::from_ref(&c), &whole)?;
        assert_eq!(merged.warnings, ["of 4 parts, these are missing or not complete: 3"]);
        record("3/4".parse()?, &c)?;
        assert_eq!(merge(&[a, c], &whole)?, joined(0, 2));
        Ok(())
    }

    /// As a power failure leaves files that were not on the disk yet.
    #[test]
    fn a_damaged_run_is_left_out_and_replaced() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, b, whole] = ["a", "b", "whole"].map(|name| place.path().join(name));
        run_in(&a.join("seed-1"), "one")?;
        run_in(&a.join("seed-2"), "two")?;
        run_in(&b.join("seed-1"), "one")?;
        for (name, content) in [(SUMMARY, "{"), ("meta.json", ""), ("scenario.toml", "\0")] {
            let damaged = a.join("seed-1");
            run_in(&damaged, "one")?;
            fs::write(damaged.join(name), content)?;
            let merged = merge(std::slice::from_ref(&a), &whole.join(name))?;
            let warning = format!("{}: a damaged run, left out", damaged.display());
            assert_eq!((merged.copied, merged.warnings), (1, vec![warning]));
            assert!(!whole.join(name).join("seed-1").exists());
        }
        let damaged = whole.join("seed-1");
        run_in(&damaged, "one")?;
        fs::write(damaged.join(SUMMARY), "")?;
        assert_eq!(merge(&[b], &whole)?, joined(1, 0));
        assert_eq!(fs::read_to_string(damaged.join(SUMMARY))?, "\"one\"");
        Ok(())
    }

    /// A name that a killed process left does not stand for a run.
    #[test]
    fn a_summary_appears_as_a_whole() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [part, whole] = ["part", "whole"].map(|name| place.path().join(name));
        run_in(&part, "one")?;
        fs::create_dir_all(&whole)?;
        // The name under which a summary is copied is taken: the copy fails before its end.
        fs::create_dir(whole.join("summary.json.partial"))?;
        merge(std::slice::from_ref(&part), &whole).expect_err("it cannot be copied");
        assert!(!whole.join(SUMMARY).exists());
        fs::remove_dir(whole.join("summary.json.partial"))?;
        assert_eq!(merge(&[part], &whole)?, joined(1, 0));
        Ok(())
    }
}
